/* kms/query.h - the parameters that the KMS reads from a query string, taken in one pass.
 *
 * Owns:    nothing; values point into the query or, where they had escapes, into the arena. Thread: any. Blocks: never.
 * Source:  docs/protocol/hadoop-kms.md, "Ground rules" */
#ifndef KMS_QUERY_H
#define KMS_QUERY_H

#include "base/arena.h"
#include "featherlock/status.h"

enum kms_parameter {
    KMS_P_USER_NAME,
    KMS_P_DO_AS, /* in any case */
    KMS_P_DELEGATION,
    KMS_P_OP,
    KMS_P_RENEWER,
    KMS_P_SERVICE,
    KMS_P_TOKEN,
    KMS_P_EEK_OP,
    KMS_P_NUM_KEYS,
    KMS_PARAMETERS
};

struct kms_query {
    struct fl_slice value[KMS_PARAMETERS]; /* .at NULL: absent; the first of several */
    bool            seen[KMS_PARAMETERS]; /* "name" without '=' is seen: the resources' is empty, the filter's absent */
};

/* FL_NO_MEMORY only: escapes that are none stay as they are. */
FL_CHECKED enum fl_status kms_query_read(struct kms_query *q, struct fl_slice query, struct fl_arena *a,
                                         struct fl_error *err);
/* The next value of the repeatable parameter `key`; advances *query. False at the end or, with *err_status set, out
 * of memory. */
bool kms_query_next_key(struct fl_slice *query, struct fl_arena *a, struct fl_slice *value, enum fl_status *status);

#endif
