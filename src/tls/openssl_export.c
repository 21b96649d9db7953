/* tls/openssl_export.c - what a finished handshake tells. */
#include "tls/openssl_inside.h"

#include <openssl/x509.h>

static enum fl_status put(struct fl_buf *out, const void *bytes, size_t len, struct fl_error *err)
{
    return fl_buf_put(out, bytes, len) ? FL_OK : fl_fail(err, FL_NO_MEMORY, 0, "no room for %zu bytes", len);
}

static enum fl_status nothing(const char *what, struct fl_error *err)
{
    return fl_fail(err, FL_NOT_FOUND, 0, "no %s", what);
}

static enum fl_status put_alpn(const SSL *ssl, struct fl_buf *out, struct fl_error *err)
{
    const unsigned char *name;
    unsigned             len;

    SSL_get0_alpn_selected(ssl, &name, &len);
    return len == 0 ? nothing("ALPN protocol was agreed", err) : put(out, name, len, err);
}

static enum fl_status put_subject(const SSL *ssl, struct fl_buf *out, struct fl_error *err)
{
    X509          *peer = SSL_get0_peer_certificate(ssl);
    BIO           *text;
    char          *at;
    long           len;
    enum fl_status s = FL_NO_MEMORY;

    if (peer == NULL)
        return nothing("certificate of the peer", err);
    if ((text = BIO_new(BIO_s_mem())) == NULL)
        return openssl_fail(err, FL_NO_MEMORY, "the peer's subject");
    if (X509_NAME_print_ex(text, X509_get_subject_name(peer), 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0) {
        len = BIO_get_mem_data(text, &at);
        s = put(out, at, (size_t)len, err);
    }
    BIO_free(text);
    return s;
}

static enum fl_status put_certificate(const SSL *ssl, struct fl_buf *out, struct fl_error *err)
{
    X509          *peer = SSL_get0_peer_certificate(ssl);
    unsigned char *der = NULL;
    int            len;
    enum fl_status s;

    if (peer == NULL)
        return nothing("certificate of the peer", err);
    if ((len = i2d_X509(peer, &der)) < 0)
        return openssl_fail(err, FL_NO_MEMORY, "the peer's certificate");
    s = put(out, der, (size_t)len, err);
    OPENSSL_free(der);
    return s;
}

/* RFC 5929 4.1: the hash of the certificate's signature, but SHA-256 for MD5 and SHA-1, and where there is none. */
static const EVP_MD *binding_hash(const X509 *certificate)
{
    int nid = NID_undef;

    if (X509_get_signature_info((X509 *)(uintptr_t)certificate, &nid, NULL, NULL, NULL) != 1 || nid == NID_md5 ||
        nid == NID_sha1 || nid == NID_undef || nid == NID_md5_sha1)
        return EVP_sha256();
    return EVP_get_digestbynid(nid) != NULL ? EVP_get_digestbynid(nid) : EVP_sha256();
}

static enum fl_status put_end_point(const struct openssl_engine *e, struct fl_buf *out, struct fl_error *err)
{
    X509         *server = e->client ? SSL_get0_peer_certificate(e->ssl) : SSL_get_certificate(e->ssl);
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned      len;

    if (server == NULL)
        return nothing("certificate of the server", err);
    if (X509_digest(server, binding_hash(server), hash, &len) != 1)
        return openssl_fail(err, FL_SYSTEM, "the hash of the server's certificate");
    return put(out, hash, len, err);
}

/* RFC 9266 2: in TLS 1.2 only with the extended master secret, which both our versions of OpenSSL always use. */
static enum fl_status put_exporter(SSL *ssl, struct fl_buf *out, struct fl_error *err)
{
    static const char label[] = "EXPORTER-Channel-Binding";
    unsigned char     bytes[32];

    if (SSL_version(ssl) < TLS1_3_VERSION && SSL_get_extms_support(ssl) != 1)
        return nothing("extended master secret, which this channel binding needs", err);
    if (SSL_export_keying_material(ssl, bytes, sizeof bytes, label, sizeof label - 1, (const unsigned char *)"", 0,
                                   1) != 1)
        return openssl_fail(err, FL_SYSTEM, "the channel binding");
    return put(out, bytes, sizeof bytes, err);
}

static enum fl_status put_text(struct fl_buf *out, const char *text, struct fl_error *err)
{
    return put(out, text, strlen(text), err);
}

enum fl_status openssl_export(struct tls_engine *base, enum tls_fact what, struct fl_buf *out, struct fl_error *err)
{
    struct openssl_engine *e = FL_CONTAINER(base, struct openssl_engine, base);

    if (SSL_in_init(e->ssl))
        return nothing("finished handshake", err);
    switch (what) {
    case TLS_FACT_VERSION: return put_text(out, SSL_get_version(e->ssl), err);
    case TLS_FACT_CIPHER: return put_text(out, SSL_get_cipher_name(e->ssl), err);
    case TLS_FACT_ALPN: return put_alpn(e->ssl, out, err);
    case TLS_FACT_RESUMED: return put_text(out, SSL_session_reused(e->ssl) ? "yes" : "no", err);
    case TLS_FACT_PEER_SUBJECT: return put_subject(e->ssl, out, err);
    case TLS_FACT_PEER_CERTIFICATE: return put_certificate(e->ssl, out, err);
    case TLS_FACT_SERVER_END_POINT: return put_end_point(e, out, err);
    case TLS_FACT_EXPORTER: return put_exporter(e->ssl, out, err);
    }
    return fl_fail(err, FL_USAGE, 0, "fact %d of a TLS session, where 0 to %d are known", (int)what,
                   (int)TLS_FACT_EXPORTER);
}
