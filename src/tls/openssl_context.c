/* tls/openssl_context.c - a policy becomes an SSL_CTX, or a sentence that says which file or name is wrong. */
#include "tls/openssl_inside.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CIPHERS                                                                        \
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:" \
    "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384"
/* AES-128 first: the cheapest at every record size where there are AES instructions. */
#define DEFAULT_CIPHERSUITES "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"
#define GROUPS "X25519:P-256:P-384"
enum { SESSION_SECONDS = 3600, SECURE_HEAP = 1 << 20, SECURE_LEAST = 16 };

enum fl_status openssl_reason(struct fl_error *err, enum fl_status status)
{
    unsigned long code = ERR_peek_error(); /* the first is the cause, the later ones tell the way up */
    const char   *reason = ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
    size_t        len = err != NULL ? strlen(err->text) : 0;

    if (err != NULL)
        snprintf(err->text + len, sizeof err->text - len, ": %s", reason != NULL ? reason : "no reason given");
    ERR_clear_error();
    return status;
}

/* OpenSSL keeps private keys in its secure heap if there is one: locked, left out of core dumps, wiped. Where it can't be
 * made, or the limit of locked memory is reached, TLS works all the same. The heap is of the process and stays. */
static void make_secure_heap(void)
{
    FL_IGNORE(!CRYPTO_secure_malloc_init(SECURE_HEAP, SECURE_LEAST));
    ERR_clear_error();
}

/* ---- files ---------------------------------------------------------------------------------------------------------- */

/* OpenSSL's own sentence for a file that can't be opened names neither file nor cause. */
static enum fl_status check_readable(const char *what, const char *path, struct fl_error *err)
{
    FILE *f = fopen(path, "re");

    if (f == NULL)
        return fl_fail(err, FL_SYSTEM, errno, "cannot read the %s file '%s'", what, path);
    fclose(f);
    return FL_OK;
}

static int no_passphrase(char *into, int room, int writing, void *asked)
{
    (void)into, (void)room, (void)writing;
    *(bool *)asked = true;
    return -1; /* never ask on a terminal */
}

static enum fl_status load_certificate(SSL_CTX *ctx, const char *path, struct fl_error *err)
{
    enum fl_status s = check_readable("certificate", path, err);

    if (s != FL_OK)
        return s;
    if (SSL_CTX_use_certificate_chain_file(ctx, path) != 1)
        return openssl_fail(err, FL_MALFORMED, "no usable certificate chain (PEM, leaf first) in '%s'", path);
    return FL_OK;
}

static enum fl_status read_key(EVP_PKEY **key, const char *path, struct fl_error *err)
{
    bool           asked = false;
    enum fl_status s = check_readable("private key", path, err);
    BIO           *file;

    if (s != FL_OK)
        return s;
    if ((file = BIO_new_file(path, "r")) == NULL)
        return openssl_fail(err, FL_SYSTEM, "cannot read the private key file '%s'", path);
    *key = PEM_read_bio_PrivateKey(file, NULL, no_passphrase, &asked);
    BIO_free(file);
    if (*key != NULL)
        return FL_OK;
    if (asked) {
        ERR_clear_error();
        return fl_fail(err, FL_DENIED, 0, "the private key in '%s' is encrypted: give one without a passphrase", path);
    }
    return openssl_fail(err, FL_MALFORMED, "no usable private key (PEM) in '%s'", path);
}

static enum fl_status load_key(SSL_CTX *ctx, const struct tls_config *config, struct fl_error *err)
{
    const char    *path = config->private_key_file != NULL ? config->private_key_file : config->certificate_file;
    EVP_PKEY      *key = NULL;
    enum fl_status s = read_key(&key, path, err);

    if (s != FL_OK)
        return s;
    if (X509_check_private_key(SSL_CTX_get0_certificate(ctx), key) != 1)
        s = openssl_fail(err, FL_MALFORMED, "the private key in '%s' doesn't belong to the certificate in '%s'", path,
                         config->certificate_file);
    else if (SSL_CTX_use_PrivateKey(ctx, key) != 1)
        s = openssl_fail(err, FL_MALFORMED, "the private key in '%s' is refused", path);
    EVP_PKEY_free(key);
    return s;
}

static enum fl_status load_trust(SSL_CTX *ctx, const struct tls_config *config, struct fl_error *err)
{
    STACK_OF(X509_NAME) * names;
    enum fl_status s;

    if (config->ca_file == NULL) {
        if (config->client && !config->insecure_noverify && SSL_CTX_set_default_verify_paths(ctx) != 1)
            return openssl_fail(err, FL_SYSTEM, "cannot load the system's trusted certificates");
        return FL_OK;
    }
    if ((s = check_readable("CA", config->ca_file, err)) != FL_OK)
        return s;
    if (SSL_CTX_load_verify_file(ctx, config->ca_file) != 1)
        return openssl_fail(err, FL_MALFORMED, "no usable CA certificates (PEM) in '%s'", config->ca_file);
    if (config->client)
        return FL_OK;
    if ((names = SSL_load_client_CA_file(config->ca_file)) == NULL)
        return openssl_fail(err, FL_MALFORMED, "no usable CA certificates (PEM) in '%s'", config->ca_file);
    SSL_CTX_set_client_CA_list(ctx, names); /* owns them now */
    return FL_OK;
}

static enum fl_status load_files(SSL_CTX *ctx, const struct tls_config *config, struct fl_error *err)
{
    enum fl_status s = FL_OK;

    if (config->certificate_file == NULL && !config->client)
        return fl_fail(err, FL_USAGE, 0, "a TLS server needs a certificate file");
    if (config->certificate_file == NULL && config->private_key_file != NULL)
        return fl_fail(err, FL_USAGE, 0, "private key file '%s' without a certificate file", config->private_key_file);
    if (config->certificate_file != NULL && (s = load_certificate(ctx, config->certificate_file, err)) == FL_OK)
        s = load_key(ctx, config, err);
    return s == FL_OK ? load_trust(ctx, config, err) : s;
}

/* ---- ciphers and protocols --------------------------------------------------------------------------------------------- */

/* OpenSSL skips names that it doesn't know, so a typing error would silently shorten the list. */
static enum fl_status check_names(SSL_CTX *ctx, const char *what, int (*set)(SSL_CTX *, const char *), const char *list,
                                  struct fl_error *err)
{
    char name[100];

    for (const char *at = list; *at != '\0';) {
        size_t len = strcspn(at, ":, ");

        if (len >= sizeof name)
            return fl_fail(err, FL_USAGE, 0, "%s name of %zu bytes in '%s'", what, len, list);
        memcpy(name, at, len);
        name[len] = '\0';
        if (len > 0 && strchr("!-+@", name[0]) == NULL && set(ctx, name) != 1) {
            ERR_clear_error();
            return fl_fail(err, FL_USAGE, 0, "unknown %s '%s' in '%s' (wanted are OpenSSL's names)", what, name, list);
        }
        at += len;
        at += strspn(at, ":, ");
    }
    return FL_OK;
}

static enum fl_status set_ciphers(SSL_CTX *ctx, const struct tls_config *config, struct fl_error *err)
{
    const char    *ciphers = config->ciphers != NULL ? config->ciphers : DEFAULT_CIPHERS;
    const char    *suites = config->ciphersuites != NULL ? config->ciphersuites : DEFAULT_CIPHERSUITES;
    enum fl_status s = check_names(ctx, "TLS 1.2 cipher", SSL_CTX_set_cipher_list, ciphers, err);

    if (s != FL_OK || (s = check_names(ctx, "TLS 1.3 cipher suite", SSL_CTX_set_ciphersuites, suites, err)) != FL_OK)
        return s;
    if (SSL_CTX_set_cipher_list(ctx, ciphers) != 1)
        return openssl_fail(err, FL_USAGE, "TLS 1.2 ciphers '%s'", ciphers);
    if (SSL_CTX_set_ciphersuites(ctx, suites) != 1)
        return openssl_fail(err, FL_USAGE, "TLS 1.3 cipher suites '%s'", suites);
    if (SSL_CTX_set1_groups_list(ctx, GROUPS) != 1)
        return openssl_fail(err, FL_SYSTEM, "key exchange groups '%s'", GROUPS);
    return FL_OK;
}

static enum fl_status set_versions(SSL_CTX *ctx, const struct tls_config *config, struct fl_error *err)
{
    int least = config->min_protocol == TLS_VERSION_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;

    if (SSL_CTX_set_min_proto_version(ctx, least) != 1)
        return openssl_fail(err, FL_SYSTEM, "the least protocol version");
    SSL_CTX_set_options(ctx, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS); /* an idle connection holds no record buffers */
    return FL_OK;
}

static enum fl_status encode_alpn(struct openssl_context *c, const char *list, struct fl_error *err)
{
    size_t len = strlen(list);

    if ((c->alpn = malloc(len + 1)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for ALPN '%s'", list);
    for (const char *at = list; *at != '\0';) {
        size_t n = strcspn(at, ",");

        if (n == 0 || n > 255)
            return fl_fail(err, FL_USAGE, 0, "ALPN '%s': a name of %zu bytes, where 1 to 255 are allowed", list, n);
        c->alpn[c->alpn_len++] = (unsigned char)n;
        memcpy(c->alpn + c->alpn_len, at, n);
        c->alpn_len += n;
        at += n;
        at += *at == ',';
    }
    return FL_OK;
}

/* RFC 7301 3.2: the server prefers; no common protocol is a fatal alert. */
static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *in,
                       unsigned in_len, void *arg)
{
    const struct openssl_context *c = arg;

    (void)ssl;
    if (SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, c->alpn, (unsigned)c->alpn_len, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    return SSL_TLSEXT_ERR_OK;
}

static enum fl_status set_alpn(struct openssl_context *c, const struct tls_config *config, struct fl_error *err)
{
    enum fl_status s;

    if (config->alpn == NULL)
        return FL_OK;
    if ((s = encode_alpn(c, config->alpn, err)) != FL_OK)
        return s;
    if (!config->client)
        SSL_CTX_set_alpn_select_cb(c->ctx, select_alpn, c);
    else if (SSL_CTX_set_alpn_protos(c->ctx, c->alpn, (unsigned)c->alpn_len) != 0)
        return openssl_fail(err, FL_SYSTEM, "ALPN '%s'", config->alpn);
    return FL_OK;
}

/* ---- sessions and verification ------------------------------------------------------------------------------------------ */

static void set_sessions(SSL_CTX *ctx, const struct tls_config *config)
{
    static const unsigned char id[] = "featherlock";
    unsigned tickets = config->tickets == 0 ? 1 : config->tickets == TLS_NO_TICKETS ? 0 : config->tickets;

    if (config->client) {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
        return;
    }
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_SERVER);
    /* Sessions that checked a client certificate resume only where this id is the same. */
    SSL_CTX_set_session_id_context(ctx, id, sizeof id - 1);
    SSL_CTX_set_timeout(ctx, SESSION_SECONDS);
    SSL_CTX_set_num_tickets(ctx, tickets);
    if (tickets == 0)
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
}

static void set_verification(struct openssl_context *c, const struct tls_config *config)
{
    c->verify = config->client ? !config->insecure_noverify : config->ca_file != NULL;
    SSL_CTX_set_verify(c->ctx, c->verify ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE, NULL);
}

static enum fl_status make_ctx(struct openssl_context *c, struct fl_error *err)
{
    c->ctx = SSL_CTX_new(c->client ? TLS_client_method() : TLS_server_method());
    return c->ctx != NULL ? FL_OK : openssl_fail(err, FL_SYSTEM, "cannot make a TLS context");
}

static enum fl_status fill(struct openssl_context *c, const struct tls_config *config, struct fl_error *err)
{
    enum fl_status s = make_ctx(c, err);

    if (s != FL_OK || (s = set_versions(c->ctx, config, err)) != FL_OK ||
        (s = set_ciphers(c->ctx, config, err)) != FL_OK || (s = set_alpn(c, config, err)) != FL_OK ||
        (s = load_files(c->ctx, config, err)) != FL_OK)
        return s;
    set_sessions(c->ctx, config);
    set_verification(c, config);
    return FL_OK;
}

enum fl_status openssl_context_new(void **out, const struct tls_config *config, struct fl_error *err)
{
    static pthread_once_t   once = PTHREAD_ONCE_INIT;
    struct openssl_context *c;
    enum fl_status          s;

    ERR_clear_error();
    pthread_once(&once, make_secure_heap);
    if (openssl_bio_method() == NULL || (c = calloc(1, sizeof *c)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a TLS context");
    c->client = config->client;
    if ((s = fill(c, config, err)) != FL_OK) {
        openssl_context_free(c);
        return s;
    }
    *out = c;
    return FL_OK;
}

void openssl_context_free(void *context)
{
    struct openssl_context *c = context;

    if (c == NULL)
        return;
    SSL_CTX_free(c->ctx);
    free(c->alpn);
    free(c);
}

static void put_time(const ASN1_TIME *at, char *text, size_t room)
{
    struct tm tm;

    if (ASN1_TIME_to_tm(at, &tm) != 1 || strftime(text, room, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
        snprintf(text, room, "an unreadable date");
}

void openssl_summary(const void *context, char *text, size_t room)
{
    const struct openssl_context *c = context;
    X509                         *leaf = SSL_CTX_get0_certificate(c->ctx);
    char                          subject[200], until[40];

    if (leaf == NULL) {
        snprintf(text, room, "no certificate");
        return;
    }
    X509_NAME_oneline(X509_get_subject_name(leaf), subject, sizeof subject);
    put_time(X509_get0_notAfter(leaf), until, sizeof until);
    snprintf(text, room, "certificate of %s, valid until %s", subject, until);
}
