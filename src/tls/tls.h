/* tls/tls.h - the face of the TLS layer: a policy, a context made from it, and the transport that io/ runs.
 *
 * Owns:    contexts (counted); a connection's engine, freed with the connection.
 * Thread:  contexts are made on any thread that may block (start, worker) and published; the rest is the owner's.
 * Blocks:  tls_context_new reads files; nothing else blocks.                                                          */
#ifndef TLS_TLS_H
#define TLS_TLS_H

#include "io/io.h"

enum tls_version { TLS_VERSION_DEFAULT, TLS_VERSION_1_2, TLS_VERSION_1_3 };

/* What the flags say. Defaults are safe: TLS 1.2 at least, AEAD suites with forward secrecy. */
struct tls_config {
    const char      *provider;         /* NULL: "openssl" */
    const char      *certificate_file; /* PEM chain, leaf first; required on a server */
    const char      *private_key_file; /* PEM; NULL: in certificate_file */
    const char      *ca_file;          /* server: client certificates are demanded and checked; client: trust */
    enum tls_version min_protocol;
    const char      *ciphers;      /* TLS 1.2 list, OpenSSL's names; NULL: default */
    const char      *ciphersuites; /* TLS 1.3 list; NULL: default */
    const char      *alpn;         /* comma list, preferred first; NULL: none */
    bool             client;
    bool             insecure_noverify; /* client: any certificate is taken */
    unsigned         tickets;           /* TLS 1.3 tickets a full handshake; 0: the default, 1 */
};
#define TLS_NO_TICKETS UINT32_MAX

struct tls_context;
FL_CHECKED enum fl_status tls_context_new(struct tls_context **out, const struct tls_config *config,
                                          struct fl_error *err);
void                      tls_context_free(struct tls_context *t);
FL_AUTO_DEFINE(tls_context);
const char *tls_context_summary(const struct tls_context *t); /* subject, expiry, for the log */

/* A place where the current context stands; listeners hold it, reload swaps it whole or not at all. */
struct tls_holder;
FL_CHECKED enum fl_status tls_holder_new(struct tls_holder **out, const struct tls_config *config,
                                         struct fl_error *err);
void                      tls_holder_free(struct tls_holder *h); /* after the reactors ended */
/* Builds a new context from the same config and publishes it; on failure the old one stays. Blocking thread. */
FL_CHECKED enum fl_status tls_holder_reload(struct tls_holder *h, struct fl_error *err);
/* True if one of its files is another than at the last load (device, inode, size, mtime). Blocking thread. */
bool tls_holder_changed(const struct tls_holder *h);

/* For io_listen_config.attach and io_connect_config.attach; arg is the holder. */
enum fl_status tls_attach_server(struct io_conn *c, void *holder, struct fl_error *err);
/* Client: arg is a struct tls_client, which stays until on_open or on_close; name is checked against the certificate and
 * sent as SNI unless an address. */
struct tls_client {
    struct tls_context *context;
    const char         *name;
};
enum fl_status tls_attach_client(struct io_conn *c, void *client, struct fl_error *err);

/* What is known of a finished handshake. */
enum tls_fact {
    TLS_FACT_VERSION,          /* "TLSv1.3" */
    TLS_FACT_CIPHER,           /* "TLS_AES_128_GCM_SHA256" */
    TLS_FACT_ALPN,             /* the protocol that was agreed */
    TLS_FACT_RESUMED,          /* "yes" or "no" */
    TLS_FACT_PEER_SUBJECT,     /* RFC 2253 text of the peer's certificate's subject */
    TLS_FACT_PEER_CERTIFICATE, /* DER */
    TLS_FACT_SERVER_END_POINT, /* channel binding, RFC 5929 4: hash of the server's certificate */
    TLS_FACT_EXPORTER,         /* channel binding, RFC 9266: 32 bytes */
};
/* Appends it to *out. FL_NOT_FOUND: there is no such thing (no ALPN agreed, no certificate, not TLS). Owner. */
FL_CHECKED enum fl_status tls_conn_export(struct io_conn *c, enum tls_fact what, struct fl_buf *out,
                                          struct fl_error *err);

#endif
