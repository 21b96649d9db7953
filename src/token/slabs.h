/* token/slabs.h - memory of token entries: slots of a few sizes, left out of core dumps, wiped when given back.
 *
 * Chunks are taken from the system as slots are needed and kept until the end, so a walk over all slots needs no lock
 * and its place in them stays good for ever.
 * Owns:    the chunks. Thread: any (one short lock; not in verification). Blocks: never.                              */
#ifndef TOKEN_SLABS_H
#define TOKEN_SLABS_H

#include "base/own.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SLAB_SLOT_MAX = 64 * 1024 };
/* What the walk reads of a slot while others write it: the beginning of whatever lies there. A slot is free, or about
 * to be used, while `mark` is SLAB_FREE. Neither is wiped. */
struct slab_head {
    _Atomic int64_t mark;
    _Atomic int32_t number;
};
#define SLAB_FREE INT64_MIN

struct token_slabs;
struct token_slabs *token_slabs_new(void);
void                token_slabs_free(struct token_slabs *s); /* wipes and unmaps everything; NULL is fine */
FL_AUTO_DEFINE(token_slabs);

/* A slot of at least `bytes` (to SLAB_SLOT_MAX), its mark SLAB_FREE, the rest not zeroed. NULL without memory. */
void *token_slab_take(struct token_slabs *s, size_t bytes);
/* Marks it free and wipes all behind its head. */
void token_slab_give(void *slot);

/* A place in the walk; zeroed: the beginning. */
struct slab_place {
    struct slab_chunk *chunk;
    uint32_t           slot;
    bool               end;
};
/* Visits at most `slots` slots from the place on, and hands out the numbers of those in use whose mark is below
 * `below`, at most `room` of them. place->end is set when all have been visited. */
size_t token_slabs_below(struct token_slabs *s, struct slab_place *place, unsigned slots, int64_t below,
                         int32_t *numbers, size_t room);
size_t token_slabs_bytes(struct token_slabs *s); /* mapped */

#endif
