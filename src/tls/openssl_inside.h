/* tls/openssl_inside.h - shared by the files of the OpenSSL provider. */
#ifndef TLS_OPENSSL_INSIDE_H
#define TLS_OPENSSL_INSIDE_H

#include "tls/provider.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

/* Like fl_fail, with the reason of OpenSSL's first error appended; empties its queue. */
#define openssl_fail(err, status, ...) openssl_reason((err), fl_fail((err), (status), 0, __VA_ARGS__))
enum fl_status openssl_reason(struct fl_error *err, enum fl_status status);

enum fl_status openssl_context_new(void **out, const struct tls_config *config, struct fl_error *err);
void           openssl_context_free(void *context);
void           openssl_summary(const void *context, char *text, size_t room);

BIO_METHOD *openssl_bio_method(void); /* made once; NULL without memory */

struct openssl_context {
    SSL_CTX       *ctx;
    bool           client, verify;
    unsigned char *alpn; /* as on the wire: length, name, ... */
    size_t         alpn_len;
};

struct openssl_engine {
    struct tls_engine base;
    SSL              *ssl;
    bool              client, verify;
    enum fl_status    failed; /* the failure that is answered for ever; FL_OK: none */
    char              text[240];
};

enum fl_status openssl_export(struct tls_engine *e, enum tls_fact what, struct fl_buf *out, struct fl_error *err);

#endif
