/* key/hash.h - SipHash-2-4 (Aumasson and Bernstein, 2012): names come from users, so that the table's hash is keyed.
 *
 * Owns: nothing. Thread: any. Blocks: never. */
#ifndef KEY_HASH_H
#define KEY_HASH_H

#include "featherlock/slice.h"

struct key_hash_seed {
    uint64_t k0, k1;
};
uint64_t key_hash(const struct key_hash_seed *seed, struct fl_slice bytes);

#endif
