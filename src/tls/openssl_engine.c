/* tls/openssl_engine.c - one TLS session of OpenSSL between two memory buffers.
 *
 * The error queue of the thread is empty whenever no function of ours runs: so success needs no clearing, and
 * SSL_get_error sees the errors of its call alone.                                                                    */
#include "tls/openssl_inside.h"

#include "io/transport.h"

#include <arpa/inet.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the BIO: SSL pulls from in and pushes to out ------------------------------------------------------------------ */

static int bio_read(BIO *bio, char *into, size_t room, size_t *got)
{
    struct tls_engine *e = BIO_get_data(bio);
    struct fl_slice    in = fl_buf_slice(&e->in);

    BIO_clear_retry_flags(bio);
    *got = FL_MIN(room, in.len);
    if (*got == 0 || in.at == NULL) {
        BIO_set_retry_read(bio);
        return 0;
    }
    memcpy(into, in.at, *got);
    fl_buf_consume(&e->in, *got);
    return 1;
}

static int bio_write(BIO *bio, const char *bytes, size_t len, size_t *taken)
{
    struct tls_engine *e = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    *taken = fl_buf_put(&e->out, bytes, len) ? len : 0;
    return *taken == len;
}

static long bio_ctrl(BIO *bio, int what, long n, void *at)
{
    (void)bio, (void)n, (void)at;
    return what == BIO_CTRL_FLUSH; /* what is in out leaves at the end of the turn */
}

static BIO_METHOD    *method;
static pthread_once_t method_once = PTHREAD_ONCE_INIT;

static void make_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "featherlock buffers");

    if (m == NULL)
        return;
    BIO_meth_set_read_ex(m, bio_read);
    BIO_meth_set_write_ex(m, bio_write);
    BIO_meth_set_ctrl(m, bio_ctrl);
    method = m;
}

BIO_METHOD *openssl_bio_method(void)
{
    pthread_once(&method_once, make_method);
    return method;
}

/* ---- making ------------------------------------------------------------------------------------------------------------ */

static struct openssl_engine *mine(struct tls_engine *e)
{
    return FL_CONTAINER(e, struct openssl_engine, base);
}

static void engine_free(struct tls_engine *base)
{
    struct openssl_engine *e;

    if (base == NULL)
        return;
    e = mine(base);
    SSL_free(e->ssl); /* and the BIO */
    fl_buf_done(&base->in);
    fl_buf_done(&base->out);
    free(e);
}

static bool is_address(const char *name)
{
    unsigned char bytes[16];

    return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

/* RFC 6066 3: literal addresses are not permitted in SNI. */
static enum fl_status set_peer_name(struct openssl_engine *e, const char *name, struct fl_error *err)
{
    if (name == NULL && e->verify)
        return fl_fail(err, FL_USAGE, 0, "no name of the server to check its certificate against");
    if (name == NULL)
        return FL_OK;
    if (is_address(name)) {
        if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(e->ssl), name) != 1)
            return openssl_fail(err, FL_USAGE, "server address '%s'", name);
        return FL_OK;
    }
    SSL_set_hostflags(e->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (SSL_set1_host(e->ssl, name) != 1 || SSL_set_tlsext_host_name(e->ssl, name) != 1)
        return openssl_fail(err, FL_USAGE, "server name '%s'", name);
    return FL_OK;
}

static enum fl_status make_ssl(struct openssl_engine *e, struct openssl_context *c, struct fl_error *err)
{
    BIO *bio;

    if ((e->ssl = SSL_new(c->ctx)) == NULL || (bio = BIO_new(openssl_bio_method())) == NULL)
        return openssl_fail(err, FL_NO_MEMORY, "cannot make a TLS session");
    BIO_set_data(bio, &e->base);
    BIO_set_init(bio, 1);
    SSL_set_bio(e->ssl, bio, bio);
    if (c->client)
        SSL_set_connect_state(e->ssl);
    else
        SSL_set_accept_state(e->ssl);
    return FL_OK;
}

static void free_half(struct openssl_engine **e)
{
    engine_free(*e == NULL ? NULL : &(*e)->base);
}

static enum fl_status engine_new(struct tls_engine **out, void *context, const char *peer_name, struct fl_error *err)
{
    __attribute__((cleanup(free_half))) struct openssl_engine *e = calloc(1, sizeof *e);
    struct openssl_context                                    *c = context;
    enum fl_status                                             s;

    if (e == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a TLS session");
    e->base.provider = &tls_provider_openssl;
    fl_buf_init(&e->base.in, 0);
    fl_buf_init(&e->base.out, 0);
    e->client = c->client;
    e->verify = c->verify;
    if ((s = make_ssl(e, c, err)) != FL_OK || (c->client && (s = set_peer_name(e, peer_name, err)) != FL_OK))
        return s;
    *out = &FL_TAKE(e)->base;
    return FL_OK;
}

/* ---- failing ------------------------------------------------------------------------------------------------------------- */

static enum fl_status again(const struct openssl_engine *e, struct fl_error *err)
{
    return fl_fail(err, e->failed, 0, "%s", e->text);
}

/* What a reader of the log needs to know, in this order: a certificate that was refused, then OpenSSL's reason. */
static enum fl_status fail(struct openssl_engine *e, const char *doing, struct fl_error *err)
{
    unsigned long code = ERR_peek_error(); /* the first is the cause */
    const char   *reason = ERR_reason_error_string(code);
    long          verified = SSL_get_verify_result(e->ssl);

    e->failed = FL_MALFORMED;
    if (e->base.out.failed) {
        e->failed = FL_NO_MEMORY;
        snprintf(e->text, sizeof e->text, "%s: no room for ciphertext", doing);
    } else if (e->verify && verified != X509_V_OK && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        e->failed = FL_DENIED;
        snprintf(e->text, sizeof e->text, "%s: the peer's certificate is refused: %s", doing,
                 X509_verify_cert_error_string(verified));
    } else if (ERR_GET_REASON(code) == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
        e->failed = FL_DENIED;
        snprintf(e->text, sizeof e->text, "%s: the peer gave no certificate, which is demanded here", doing);
    } else {
        snprintf(e->text, sizeof e->text, "%s: %s", doing, reason != NULL ? reason : "failed without a reason");
    }
    ERR_clear_error();
    return again(e, err);
}

/* After a call that did not succeed. */
static enum fl_status judge(struct openssl_engine *e, const char *doing, struct fl_error *err)
{
    switch (SSL_get_error(e->ssl, 0)) {
    case SSL_ERROR_WANT_READ: ERR_clear_error(); return FL_WANT_READ;
    case SSL_ERROR_ZERO_RETURN: ERR_clear_error(); return FL_CLOSED;
    default: return fail(e, doing, err);
    }
}

/* ---- running ------------------------------------------------------------------------------------------------------------- */

static enum fl_status step(struct tls_engine *base, struct fl_error *err)
{
    struct openssl_engine *e = mine(base);
    enum fl_status         s;

    if (e->failed != FL_OK)
        return again(e, err);
    if (SSL_do_handshake(e->ssl) == 1)
        return FL_OK;
    s = judge(e, "TLS handshake", err);
    return s == FL_CLOSED ? fail(e, "TLS handshake", err) : s;
}

static enum fl_status engine_read(struct tls_engine *base, struct fl_buf *plain, struct fl_error *err)
{
    struct openssl_engine *e = mine(base);
    size_t                 got;

    if (e->failed != FL_OK)
        return again(e, err);
    if (SSL_read_ex(e->ssl, fl_buf_tail(plain), io_room(plain), &got) != 1)
        return judge(e, "TLS read", err);
    fl_buf_added(plain, got);
    return FL_OK;
}

static enum fl_status engine_write(struct tls_engine *base, const struct iovec *v, int n, size_t limit, size_t *taken,
                                   struct fl_error *err)
{
    struct openssl_engine *e = mine(base);
    size_t                 done;

    *taken = 0;
    if (e->failed != FL_OK)
        return again(e, err);
    for (int i = 0; i < n && *taken < limit; i++) {
        size_t len = FL_MIN(v[i].iov_len, limit - *taken);

        if (len > 0 && SSL_write_ex(e->ssl, v[i].iov_base, len, &done) != 1)
            return judge(e, "TLS write", err);
        *taken += len;
    }
    return FL_OK;
}

static bool pending(const struct tls_engine *base)
{
    const struct openssl_engine *e = FL_CONTAINER(base, const struct openssl_engine, base);

    return SSL_pending(e->ssl) > 0;
}

static void shut_down(struct tls_engine *base)
{
    struct openssl_engine *e = mine(base);

    if (e->failed != FL_OK || SSL_in_init(e->ssl))
        return; /* there is no session to end */
    SSL_shutdown(e->ssl);
    ERR_clear_error();
}

static enum fl_status detach(struct tls_engine *base, struct fl_buf *left, struct fl_error *err)
{
    struct openssl_engine *e = mine(base);

    if (e->failed != FL_OK)
        return again(e, err);
    if (SSL_in_init(e->ssl) || SSL_has_pending(e->ssl))
        return fl_fail(err, FL_MALFORMED, 0, "TLS can't be left in the middle of a %s",
                       SSL_in_init(e->ssl) ? "handshake" : "record");
    if (!fl_buf_put_slice(left, fl_buf_slice(&base->in)))
        return fl_fail(err, FL_NO_MEMORY, 0, "no room for %zu bytes after TLS", fl_buf_len(&base->in));
    fl_buf_consume(&base->in, fl_buf_len(&base->in));
    SSL_set_shutdown(e->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* the session stays good for resumption */
    e->failed = FL_CLOSED;
    snprintf(e->text, sizeof e->text, "TLS was left for plaintext");
    return FL_OK;
}

const struct tls_provider tls_provider_openssl = {
    .name = "openssl",
    .context_new = openssl_context_new,
    .context_free = openssl_context_free,
    .summary = openssl_summary,
    .engine_new = engine_new,
    .step = step,
    .read = engine_read,
    .write = engine_write,
    .pending = pending,
    .shutdown = shut_down,
    .export = openssl_export,
    .detach = detach,
    .free = engine_free,
};
