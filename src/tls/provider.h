/* tls/provider.h - what a TLS library must be able to do: contexts, and engines that work on memory alone.
 *
 * An engine takes ciphertext from its `in` and adds ciphertext to its `out`; it knows no socket, so bytes that it has not
 * used are always ours. The transport (tls/transport.c) and the tests move them.
 * Owns:    a context is counted by tls/context.c; an engine owns its buffers, whose memory is malloc'ed
 *          (who runs it may lend them memory, and take it back while they are empty).
 * Thread:  a context is any's once made; an engine is the owner's. Blocks: context_new reads files.                   */
#ifndef TLS_PROVIDER_H
#define TLS_PROVIDER_H

#include "tls/tls.h"

struct tls_engine {
    const struct tls_provider *provider;
    struct fl_buf              in, out;
};

struct tls_provider {
    const char *name;

    enum fl_status (*context_new)(void **out, const struct tls_config *config, struct fl_error *err);
    void (*context_free)(void *context);
    void (*summary)(const void *context, char *text, size_t room);

    /* peer_name: client only. */
    enum fl_status (*engine_new)(struct tls_engine **out, void *context, const char *peer_name, struct fl_error *err);
    /* Handshake. FL_OK: over; FL_WANT_READ; FL_MALFORMED, FL_DENIED: failed, and an alert is in out. A failed engine
     * fails in the same way for ever. */
    enum fl_status (*step)(struct tls_engine *e, struct fl_error *err);
    /* Adds one record's plaintext to *plain, at most its room. FL_OK; FL_WANT_READ; FL_CLOSED: close_notify. */
    enum fl_status (*read)(struct tls_engine *e, struct fl_buf *plain, struct fl_error *err);
    /* Encrypts up to limit bytes of v[0..n) into out. */
    enum fl_status (*write)(struct tls_engine *e, const struct iovec *v, int n, size_t limit, size_t *taken,
                            struct fl_error *err);
    bool (*pending)(const struct tls_engine *e); /* plaintext is held inside */
    void (*shutdown)(struct tls_engine *e);      /* close_notify into out */
    enum fl_status (*export)(struct tls_engine *e, enum tls_fact what, struct fl_buf *out, struct fl_error *err);
    /* Ends the session after its handshake without a close_notify: both sides go on in plaintext. Bytes that came and
     * were not used are appended to *left. FL_MALFORMED if a record was begun. */
    enum fl_status (*detach)(struct tls_engine *e, struct fl_buf *left, struct fl_error *err);
    void (*free)(struct tls_engine *e);
};

extern const struct tls_provider tls_provider_openssl;

/* NULL name: the default. FL_USAGE names those that exist. */
FL_CHECKED enum fl_status tls_provider_find(const struct tls_provider **out, const char *name, struct fl_error *err);

struct tls_context *tls_context_ref(struct tls_context *t);
struct tls_context *tls_holder_ref(struct tls_holder *h); /* what is current; the caller gives it to tls_context_free */
/* An engine of this context; the context must outlive it. */
FL_CHECKED enum fl_status tls_context_engine(struct tls_context *t, struct tls_engine **out, const char *peer_name,
                                             struct fl_error *err);

#endif
