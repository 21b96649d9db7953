/* kms/server.h - starting and ending the KMS, in pieces that a test or another program can use.
 *
 * Owns:    struct kms and everything in it. Thread: start. Blocks: yes. */
#ifndef KMS_SERVER_H
#define KMS_SERVER_H

#include "kms/call.h"

/* Opens everything but runs nothing. Ports are bound first, then --user is taken on, then the stores are opened. The
 * configuration moves into *out. On failure everything is undone. */
FL_CHECKED enum fl_status kms_new(struct kms **out, struct kms_config *config, struct fl_error *err);
FL_CHECKED enum fl_status kms_start(struct kms *k, struct fl_error *err); /* runs the reactors */
void                      kms_stop(struct kms *k);                        /* drains, waits */
void                      kms_free(struct kms *k); /* after stop, or never started; NULL is fine */

/* " http=… https=…": the addresses for the ready line. */
void kms_addresses(const struct kms *k, struct fl_buf *out);
/* Looks at ACL file and certificates, and with force takes them anew; reopens the audit file then. Blocking thread. */
void kms_reload(struct kms *k, bool force);

/* notify.c: one datagram to $NOTIFY_SOCKET; nothing where there is none. */
void kms_notify(const char *state);

#endif
