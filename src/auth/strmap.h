/* auth/strmap.h - a hash table from (tag, name) to a small number, built once and then only read.
 *
 * Owns:    its slots; names are borrowed and must live as long as the map.
 * Thread:  owner while it is built, any afterwards.   Blocks: never.                                                  */
#ifndef AUTH_STRMAP_H
#define AUTH_STRMAP_H

#include "featherlock/slice.h"

struct auth_strmap_slot {
    uint64_t        hash; /* 0: free */
    struct fl_slice name;
    uint32_t        tag, value;
};
struct auth_strmap {
    struct auth_strmap_slot *slots;
    size_t                   cap, used; /* cap: a power of two, or 0 */
};

void auth_strmap_done(struct auth_strmap *m);
/* Adds or replaces. False without memory. */
bool auth_strmap_put(struct auth_strmap *m, uint32_t tag, struct fl_slice name, uint32_t value);
bool auth_strmap_get(const struct auth_strmap *m, uint32_t tag, struct fl_slice name, uint32_t *value);

uint64_t auth_strmap_hash(uint32_t tag, struct fl_slice name); /* never 0 */

#endif
