/* bench/kms.h - the KMS scenario: prepares a key and tokens, checks the server, makes the requests of a mix.
 *
 * Owns:    the requests' bytes and its blocking session. Thread: main. Blocks: yes, while it talks to the server. */
#ifndef BENCH_KMS_H
#define BENCH_KMS_H

#include "bench/load.h"
#include "http/http.h"
#include "tls/tls.h"

struct kms_bench_config {
    const char              *url; /* http://host:port/kms */
    const char              *user, *key, *renewer;
    unsigned                 tokens;     /* how many take turns in verification */
    const struct tls_config *tls;        /* NULL for http */
    uint64_t                 timeout_ns; /* of each request */
};

struct kms_bench {
    struct load_target target;
    struct fl_slice   *verify; /* verify_count requests */
    size_t             verify_count;
    struct fl_slice    create;
    struct fl_buf      bytes; /* what the slices point into */
    struct tls_client  tls;
};

/* Makes the key if it isn't there, gets the tokens, and checks that a real token is accepted, a forged one and none at
 * all are refused. FL_DENIED: the server failed a check, err says which. */
FL_CHECKED enum fl_status kms_bench_prepare(struct kms_bench *out, const struct kms_bench_config *config,
                                            struct fl_error *err);
void                      kms_bench_done(struct kms_bench *b);

#endif
