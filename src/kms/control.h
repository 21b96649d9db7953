/* kms/control.h - the operator's door: HTTP on the Unix socket DATA_DIR/control.sock, for who may enter the data folder.
 *
 *   POST /backup?file=/absolute/path   a consistent copy of the store; 200, or 4xx/5xx with a sentence
 *
 * Owns:    its listener and service; a backup under way. Thread: kms_control_open: start. Blocks: never; a worker copies. */
#ifndef KMS_CONTROL_H
#define KMS_CONTROL_H

#include "kms/call.h"

struct kms_control;
/* Nothing where the server has no store: *out is NULL then. */
FL_CHECKED enum fl_status kms_control_open(struct kms_control **out, struct kms *k, struct fl_error *err);
void                      kms_control_free(struct kms_control *c); /* after the reactors ended */

#endif
