#include "base/arena.h"

#include "base/own.h"

enum { ALIGN = 16, GROWN_BLOCK = 1 << 20 };

struct fl_arena_block {
    struct fl_arena_block *next;
    size_t                 size, used;
    _Alignas(ALIGN) uint8_t bytes[];
};

void fl_arena_init(struct fl_arena *a, size_t block_bytes, size_t limit)
{
    *a = (struct fl_arena){ .block_bytes = block_bytes, .limit = limit };
}

static void free_after(struct fl_arena_block *block)
{
    struct fl_arena_block *next;

    for (struct fl_arena_block *b = block; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
}

void fl_arena_done(struct fl_arena *a)
{
    free_after(a->first);
    fl_arena_init(a, a->block_bytes, a->limit);
}

void fl_arena_reset(struct fl_arena *a)
{
    a->used = 0;
    a->current = a->first;
    if (a->first == NULL)
        return;
    free_after(a->first->next);
    a->first->next = NULL;
    a->first->used = 0;
    if (a->first->size > a->block_bytes) { /* a single big request must not keep its memory for ever */
        free(a->first);
        a->first = a->current = NULL;
    }
}

/* A big request doubles what it has: blocks of that size go back to the system when they are freed, while ten thousand
 * small ones stay in malloc's heap, below whatever was allocated after them. */
static struct fl_arena_block *add_block(struct fl_arena *a, size_t bytes)
{
    size_t                 grown = FL_MIN(a->used, (size_t)GROWN_BLOCK);
    size_t                 size = FL_MAX(bytes, FL_MAX(a->block_bytes, grown));
    struct fl_arena_block *b = size > SIZE_MAX - sizeof *b ? NULL : malloc(sizeof *b + size);

    if (b == NULL)
        return NULL;
    *b = (struct fl_arena_block){ .size = size };
    if (a->current == NULL)
        a->first = b;
    else
        a->current->next = b;
    a->current = b;
    return b;
}

void *fl_arena_take(struct fl_arena *a, size_t bytes)
{
    size_t                 need = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct fl_arena_block *b = a->current;
    void                  *at;

    if (need < bytes || need > a->limit - a->used)
        return NULL;
    if (b == NULL || b->size - b->used < need)
        b = add_block(a, need);
    if (b == NULL)
        return NULL;
    at = b->bytes + b->used;
    b->used += need;
    a->used += need;
    return at;
}

struct fl_slice fl_arena_copy(struct fl_arena *a, struct fl_slice s)
{
    uint8_t *at = s.len == SIZE_MAX ? NULL : fl_arena_take(a, s.len + 1);

    if (at == NULL)
        return (struct fl_slice){ NULL, 0 };
    if (s.len > 0)
        memcpy(at, s.at, s.len);
    at[s.len] = '\0';
    return fl_slice_of(at, s.len);
}
