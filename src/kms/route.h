/* kms/route.h - from a request's path to a resource, and which methods it has.
 *
 * Owns:    nothing; names point into the path or the arena. Thread: any. Blocks: never.
 * Source:  docs/protocol/hadoop-kms.md, "Ground rules" and "Endpoint table" */
#ifndef KMS_ROUTE_H
#define KMS_ROUTE_H

#include "base/arena.h"
#include "featherlock/status.h"

enum kms_resource {
    KMS_R_OUTSIDE, /* not below /kms: the container's */
    KMS_R_UNKNOWN, /* below /kms, but nothing is there */
    KMS_R_BARE,    /* "/kms" itself, named with a slash in messages */
    KMS_R_ROOT,    /* /kms/v1 */
    KMS_R_KEYS,
    KMS_R_NAMES,
    KMS_R_METADATAS, /* /keys/metadata */
    KMS_R_KEY,
    KMS_R_INVALIDATE,
    KMS_R_CURRENT,
    KMS_R_METADATA,
    KMS_R_VERSIONS,
    KMS_R_KEY_EEK,
    KMS_R_BATCH,
    KMS_R_VERSION,
    KMS_R_VERSION_EEK,
    KMS_RESOURCES
};

struct kms_route {
    enum kms_resource resource;
    struct fl_slice   name; /* key or version name, decoded; of resources that have one */
};

/* FL_MALFORMED: the container's 400, whose reason is err's text: the path has an escape that is none, an escaped NUL,
 * climbs above its beginning, or has "..;". FL_NO_MEMORY. */
FL_CHECKED enum fl_status kms_route_find(struct fl_slice path, struct fl_arena *a, struct kms_route *out,
                                         struct fl_error *err);

/* For the Allow header; "OPTIONS" alone for the root. */
const char *kms_route_allow(enum kms_resource r);

#endif
