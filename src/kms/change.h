/* kms/change.h - one change of the keys on its way to the store: what is parked, and what its answer needs.
 *
 * The call in the request's arena stays valid while the client is there; whatever is needed when the client has gone
 * is copied into the job.
 * Owns:    itself: malloc'ed by kms_change_new, freed when its change is done. Thread: owner. Blocks: never. */
#ifndef KMS_CHANGE_H
#define KMS_CHANGE_H

#include "kms/call.h"

struct kms_change {
    struct key_change   change; /* first: done gives it back */
    struct http_ticket  ticket;
    struct kms         *kms;
    struct kms_call    *call; /* only after http_unpark has found the exchange */
    struct kms_reactor *here;
    enum audit_op       op;
    struct fl_slice     user, name, text; /* copies, behind the struct; name as it was asked for */
    bool                user_material, strip;
};

/* NULL: refused for want of memory. text: the audit line's tail, without what only success can tell. */
struct kms_change *kms_change_new(struct kms_call *c, enum key_change_kind kind, enum audit_op op,
                                  struct fl_slice text);
/* Submits and parks. The change's slices must be set; they are copied. */
void kms_change_go(struct kms_call *c, struct kms_change *j);

#endif
