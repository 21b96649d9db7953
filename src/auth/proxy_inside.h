/* auth/proxy_inside.h - proxy rules with another source of addresses, for tests and fuzzing.
 *
 * Owns:    see auth/auth.h. Thread: start. Blocks: as long as the resolver does.                                      */
#ifndef AUTH_PROXY_INSIDE_H
#define AUTH_PROXY_INSIDE_H

#include "auth/auth.h"

struct proxy_net; /* addresses of one rule */
/* Adds the addresses of a host name by proxy_net_add; a sentence when it has none. */
typedef enum fl_status (*proxy_resolver)(const char *host, struct proxy_net *into, struct fl_error *err);

/* One IPv4 (4 bytes) or IPv6 (16) address, or a network of bits leading bits. False without memory. */
bool proxy_net_add(struct proxy_net *n, const uint8_t *address, size_t len, unsigned bits);

FL_CHECKED enum fl_status proxies_new_with(struct auth_proxies **out, const struct fl_strings *rules,
                                           proxy_resolver resolve, struct fl_error *err);

#endif
