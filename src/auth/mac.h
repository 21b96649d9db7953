/* auth/mac.h - HMAC-SHA256 under a few long-lived secrets, fast.
 *
 * Owns:    one keyed context a secret and thread, given back when the thread ends.
 * Thread:  any.   Blocks: never.                                                                                      */
#ifndef AUTH_MAC_H
#define AUTH_MAC_H

#include "base/buf.h"

enum { AUTH_MAC_LEN = 32 };

/* Ids tell secrets apart; none is given twice in the life of the process, so a context can't outlive its meaning. */
uint64_t auth_mac_id(void);
/* False only when the library fails. key is read the first time a thread meets id. */
bool auth_mac(uint64_t id, struct fl_slice key, struct fl_slice text, uint8_t out[AUTH_MAC_LEN]);

#endif
