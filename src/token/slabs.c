#include "token/slabs.h"

#include "base/secret.h"

#include <pthread.h>
#include <sys/mman.h>

/* Sizes: each 16 bytes to 256, then four steps a doubling, so that little of a slot is wasted. A chunk lies at a
 * multiple of its size, so its header is found from any slot. */
enum {
    FINE_STEP = 16,
    FINE_MAX = 256,
    FINE_CLASSES = FINE_MAX / FINE_STEP,
    COARSE_CLASSES = 4 * 8, /* 256 bytes to 64 KiB */
    CLASSES = FINE_CLASSES + COARSE_CLASSES,
    CHUNK_BYTES = 256 * 1024,
    CHUNK_HEAD = 64,
};

struct slab_chunk {
    struct token_slabs          *slabs;
    _Atomic(struct slab_chunk *) next; /* in the order of their making */
    uint32_t class, slot_bytes, slots;
    _Atomic uint32_t carved; /* slots handed out at least once; the rest was never touched */
};
_Static_assert(sizeof(struct slab_chunk) <= CHUNK_HEAD, "a chunk's header has its place");

struct free_slot {
    struct slab_head  head;
    struct free_slot *next;
};

struct token_slabs {
    pthread_mutex_t              lock;
    _Atomic(struct slab_chunk *) first;
    struct slab_chunk           *last, *carving[CLASSES]; /* carving: where slots of a class are untouched */
    struct free_slot            *given[CLASSES];
    _Atomic size_t               bytes;
};

static unsigned class_of(size_t bytes)
{
    unsigned doubling = 0;

    if (bytes <= FINE_MAX)
        return bytes <= FINE_STEP ? 0 : (unsigned)((bytes + FINE_STEP - 1) / FINE_STEP - 1);
    while (bytes > (size_t)FINE_MAX << (doubling + 1))
        doubling++;
    bytes -= (size_t)FINE_MAX << doubling;
    return FINE_CLASSES + 4 * doubling + (unsigned)((bytes - 1) / (((size_t)FINE_MAX << doubling) / 4));
}

static size_t class_bytes(unsigned class)
{
    unsigned doubling;

    if (class < FINE_CLASSES)
        return (class + 1) * (size_t)FINE_STEP;
    doubling = (class - FINE_CLASSES) / 4;
    return ((size_t)FINE_MAX << doubling) / 4 * (5 + (class - FINE_CLASSES) % 4);
}

struct token_slabs *token_slabs_new(void)
{
    struct token_slabs *s = calloc(1, sizeof *s);

    if (s != NULL)
        pthread_mutex_init(&s->lock, NULL);
    return s;
}

static struct free_slot *slot_at(struct slab_chunk *c, uint32_t slot)
{
    return (struct free_slot *)(void *)((uint8_t *)c + CHUNK_HEAD + (size_t)slot * c->slot_bytes);
}

void token_slabs_free(struct token_slabs *s)
{
    struct slab_chunk *c, *next;

    if (s == NULL)
        return;
    for (c = atomic_load(&s->first); c != NULL; c = next) {
        next = atomic_load(&c->next);
        fl_wipe(slot_at(c, 0), (size_t)atomic_load(&c->carved) * c->slot_bytes);
        munmap(c, CHUNK_BYTES);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* Twice the size is mapped and what lies outside the aligned middle given back. */
static void *map_aligned(void)
{
    uint8_t *at =
        mmap(NULL, 2 * CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uintptr_t skip;

    if (at == MAP_FAILED)
        return NULL;
    skip = (CHUNK_BYTES - (uintptr_t)at % CHUNK_BYTES) % CHUNK_BYTES;
    if (skip > 0)
        munmap(at, skip);
    if (skip < CHUNK_BYTES)
        munmap(at + skip + CHUNK_BYTES, CHUNK_BYTES - skip);
    return at + skip;
}

static struct slab_chunk *add_chunk(struct token_slabs *s, unsigned class)
{
    struct slab_chunk *c = map_aligned();

    if (c == NULL)
        return NULL;
    madvise(c, CHUNK_BYTES, MADV_DONTDUMP); /* refused only by kernels that write no dumps of it anyway */
    c->slabs = s;
    c->class = class;
    c->slot_bytes = (uint32_t)class_bytes(class);
    c->slots = (CHUNK_BYTES - CHUNK_HEAD) / c->slot_bytes;
    atomic_fetch_add(&s->bytes, (size_t)CHUNK_BYTES);
    atomic_store_explicit(s->last == NULL ? &s->first : &s->last->next, c, memory_order_release);
    s->last = c;
    return s->carving[class] = c;
}

static struct free_slot *carve(struct token_slabs *s, unsigned class)
{
    struct slab_chunk *c = s->carving[class];
    uint32_t           carved;
    struct free_slot  *slot;

    if (c == NULL || atomic_load_explicit(&c->carved, memory_order_relaxed) == c->slots)
        c = add_chunk(s, class);
    if (c == NULL)
        return NULL;
    carved = atomic_load_explicit(&c->carved, memory_order_relaxed);
    slot = slot_at(c, carved);
    atomic_store_explicit(&slot->head.mark, SLAB_FREE, memory_order_relaxed);
    atomic_store_explicit(&c->carved, carved + 1, memory_order_release); /* after the mark, for the walk */
    return slot;
}

void *token_slab_take(struct token_slabs *s, size_t bytes)
{
    unsigned class = class_of(FL_MAX(bytes, sizeof(struct free_slot)));
    struct free_slot *slot;

    if (bytes > SLAB_SLOT_MAX)
        return NULL;
    pthread_mutex_lock(&s->lock);
    slot = s->given[class];
    if (slot != NULL)
        s->given[class] = slot->next;
    else
        slot = carve(s, class);
    pthread_mutex_unlock(&s->lock);
    return slot;
}

void token_slab_give(void *at)
{
    struct free_slot   *slot = at;
    struct slab_chunk  *c = (struct slab_chunk *)(void *)((uint8_t *)at - (uintptr_t)at % CHUNK_BYTES);
    struct token_slabs *s = c->slabs;

    atomic_store_explicit(&slot->head.mark, SLAB_FREE, memory_order_release);
    fl_wipe((uint8_t *)at + sizeof slot->head, c->slot_bytes - sizeof slot->head);
    pthread_mutex_lock(&s->lock);
    slot->next = s->given[c->class];
    s->given[c->class] = slot;
    pthread_mutex_unlock(&s->lock);
}

size_t token_slabs_below(struct token_slabs *s, struct slab_place *place, unsigned slots, int64_t below,
                         int32_t *numbers, size_t room)
{
    size_t found = 0;

    if (place->chunk == NULL && !place->end)
        place->chunk = atomic_load_explicit(&s->first, memory_order_acquire);
    while (place->chunk != NULL && slots > 0 && found < room) {
        struct slab_chunk *c = place->chunk;

        if (place->slot == atomic_load_explicit(&c->carved, memory_order_acquire)) {
            place->chunk = atomic_load_explicit(&c->next, memory_order_acquire);
            place->slot = 0;
        } else {
            struct slab_head *head = &slot_at(c, place->slot++)->head;
            int64_t           mark = atomic_load_explicit(&head->mark, memory_order_acquire);

            slots--;
            if (mark != SLAB_FREE && mark < below)
                numbers[found++] = atomic_load_explicit(&head->number, memory_order_relaxed);
        }
    }
    place->end = place->chunk == NULL;
    return found;
}

size_t token_slabs_bytes(struct token_slabs *s)
{
    return atomic_load(&s->bytes);
}
