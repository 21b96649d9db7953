/* tests/unit/tls_rig.h - certificates made on the spot, and a blocking OpenSSL client. Included by tls_*.c. */
#ifndef TLS_RIG_H
#define TLS_RIG_H

#include "io_rig.h"

#include "tls/provider.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

struct tls_identity {
    EVP_PKEY *key;
    X509     *certificate;
    char      cert_file[160], key_file[160];
};

/* Two authorities; ours signs server and client, the other one a stranger. */
struct tls_files {
    char                dir[100];
    struct tls_identity ca, server, client, other_ca, stranger, rsa_server;
};

RIG void tls_add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX      ctx;
    X509_EXTENSION *extension;

    X509V3_set_ctx(&ctx, issuer, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

RIG void tls_write_files(struct tls_identity *id, const char *dir, const char *name)
{
    FILE *f;

    snprintf(id->cert_file, sizeof id->cert_file, "%s/%s.pem", dir, name);
    snprintf(id->key_file, sizeof id->key_file, "%s/%s.key", dir, name);
    assert_non_null(f = fopen(id->cert_file, "w"));
    assert_int_equal(PEM_write_X509(f, id->certificate), 1);
    fclose(f);
    assert_non_null(f = fopen(id->key_file, "w"));
    assert_int_equal(PEM_write_PrivateKey(f, id->key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(f);
}

RIG void tls_make(struct tls_identity *id, const struct tls_identity *issuer, const char *dir, const char *name,
                  bool rsa)
{
    static long serial;
    X509       *x = X509_new();
    X509_NAME  *subject = X509_get_subject_name(x);

    id->key = rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256");
    id->certificate = x;
    assert_non_null(id->key);
    X509_set_version(x, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(issuer != NULL ? issuer->certificate : x));
    X509_set_pubkey(x, id->key);
    tls_add_extension(x, issuer != NULL ? issuer->certificate : x, NID_basic_constraints,
                      issuer == NULL ? "critical,CA:TRUE" : "CA:FALSE");
    tls_add_extension(x, issuer != NULL ? issuer->certificate : x, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    assert_true(X509_sign(x, issuer != NULL ? issuer->key : id->key, EVP_sha256()) > 0);
    tls_write_files(id, dir, name);
}

RIG void tls_files_make(struct tls_files *f)
{
    rig_temp_path(f->dir, sizeof f->dir, "tls");
    assert_int_equal(mkdir(f->dir, 0700), 0);
    tls_make(&f->ca, NULL, f->dir, "ca", false);
    tls_make(&f->server, &f->ca, f->dir, "server", false);
    tls_make(&f->rsa_server, &f->ca, f->dir, "rsa-server", true);
    tls_make(&f->client, &f->ca, f->dir, "client", false);
    tls_make(&f->other_ca, NULL, f->dir, "other-ca", false);
    tls_make(&f->stranger, &f->other_ca, f->dir, "stranger", false);
}

RIG void tls_files_remove(struct tls_files *f)
{
    struct tls_identity *all[] = { &f->ca, &f->server, &f->rsa_server, &f->client, &f->other_ca, &f->stranger };

    for (size_t i = 0; i < FL_COUNT(all); i++) {
        unlink(all[i]->cert_file);
        unlink(all[i]->key_file);
        X509_free(all[i]->certificate);
        EVP_PKEY_free(all[i]->key);
    }
    assert_int_equal(rmdir(f->dir), 0);
}

RIG struct tls_config tls_server_config(const struct tls_files *f)
{
    return (struct tls_config){ .certificate_file = f->server.cert_file, .private_key_file = f->server.key_file };
}

RIG struct tls_config tls_client_config(const struct tls_files *f)
{
    return (struct tls_config){ .client = true, .ca_file = f->ca.cert_file };
}

/* ---- a client that blocks ---- */

struct tls_dial {
    int                        version; /* 0: any */
    const struct tls_identity *identity;
    const char                *alpn; /* as on the wire */
    const char                *ciphers;
    SSL_SESSION               *session;
    SSL_CTX                   *ctx; /* reused when given; else made, and freed by tls_hang_up */
};

RIG SSL_CTX *tls_dial_ctx(const struct tls_dial *dial)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    assert_non_null(ctx);
    if (dial->version != 0) {
        SSL_CTX_set_min_proto_version(ctx, dial->version);
        SSL_CTX_set_max_proto_version(ctx, dial->version);
    }
    if (dial->version != 0 && dial->version < TLS1_2_VERSION)
        SSL_CTX_set_security_level(ctx, 0);
    if (dial->identity != NULL) {
        assert_int_equal(SSL_CTX_use_certificate(ctx, dial->identity->certificate), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey(ctx, dial->identity->key), 1);
    }
    if (dial->alpn != NULL)
        SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)dial->alpn, (unsigned)strlen(dial->alpn));
    if (dial->ciphers != NULL)
        assert_int_equal(SSL_CTX_set_cipher_list(ctx, dial->ciphers), 1);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    return ctx;
}

/* Connected, not yet shaken. */
RIG SSL *tls_call(struct rig *rig, const struct tls_dial *dial)
{
    static const struct tls_dial plain;
    SSL_CTX                     *ctx;
    SSL                         *ssl;

    dial = dial != NULL ? dial : &plain;
    ctx = dial->ctx != NULL ? dial->ctx : tls_dial_ctx(dial);
    assert_non_null(ssl = SSL_new(ctx));
    if (dial->ctx == NULL)
        SSL_CTX_free(ctx);
    if (dial->session != NULL)
        assert_int_equal(SSL_set_session(ssl, dial->session), 1);
    SSL_set_fd(ssl, rig_connect(rig));
    return ssl;
}

RIG void tls_hang_up(SSL *ssl)
{
    int fd = SSL_get_fd(ssl);

    SSL_shutdown(ssl);
    ERR_clear_error();
    SSL_free(ssl);
    close(fd);
}

RIG void tls_say(SSL *ssl, const void *bytes, size_t len)
{
    size_t done;

    assert_int_equal(SSL_write_ex(ssl, bytes, len, &done), 1);
    assert_int_equal(done, len);
}

RIG void tls_hear(SSL *ssl, void *bytes, size_t len)
{
    size_t done;

    for (char *at = bytes; len > 0; at += done, len -= done)
        assert_int_equal(SSL_read_ex(ssl, at, len, &done), 1);
}

RIG void tls_expect(SSL *ssl, const char *text)
{
    char got[512] = "";

    assert_true(strlen(text) < sizeof got);
    tls_hear(ssl, got, strlen(text));
    assert_string_equal(got, text);
}

#endif
