/* base/arena.h - memory of one request: taken in order, given back all at once.
 *
 * Owns:    its blocks. The first is kept over resets, so a steady load allocates nothing.
 * Thread:  owner.   Blocks: never.                                                                                    */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "featherlock/slice.h"

struct fl_arena_block;
struct fl_arena {
    struct fl_arena_block *first, *current;
    size_t                 block_bytes; /* size of an ordinary block */
    size_t                 used, limit; /* bytes handed out since the reset, and how many may be */
};

void  fl_arena_init(struct fl_arena *a, size_t block_bytes, size_t limit); /* allocates nothing yet */
void  fl_arena_done(struct fl_arena *a);
void  fl_arena_reset(struct fl_arena *a);              /* everything taken is gone; keeps one block */
void *fl_arena_take(struct fl_arena *a, size_t bytes); /* 16-byte aligned, not zeroed; NULL past limit or memory */
/* Copies; .at == NULL tells failure (also for an empty slice: then .at is not NULL on success). NUL-terminated too. */
struct fl_slice fl_arena_copy(struct fl_arena *a, struct fl_slice s);

#endif
