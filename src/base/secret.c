#include "base/secret.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/* Slots of one size lie side by side in an arena: a few pages between two that can't be touched, so that running over
 * the end of an arena stops the program. A slot too large to share pages has an arena of its own. */
enum {
    SMALLEST_SLOT = 64, /* a header and a key of up to 40 bytes */
    SHARED_CLASSES = 7, /* slots of 64, 128, … 4096 bytes */
    SHARED_ARENA_BYTES = 32 * 1024,
    MAX_SLOTS = SHARED_ARENA_BYTES / SMALLEST_SLOT,
    WORD_BITS = 64,
    MAX_LEN = 64 * 1024,
};

struct fl_secret {
    struct arena *arena; /* NULL: given back already, or wiped by a fork */
    uint64_t      len;
    uint64_t      seal; /* tells an overrun of the slot before, or a stray pointer, when the secret is freed */
    _Alignas(8) uint8_t bytes[];
};

struct arena {
    struct arena *next;
    uint8_t      *at; /* the first slot; a guard page lies before it and one behind the last */
    size_t        bytes, slot_bytes, slots, used;
    bool          locked;
    uint64_t      taken[MAX_SLOTS / WORD_BITS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena   *classes[SHARED_CLASSES];
static size_t          unlocked_bytes;
static pid_t           first_user; /* any other process is a child of it, to which older secrets are zeros */

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static uint64_t seal_of(const struct fl_secret *s)
{
    return (uint64_t)(uintptr_t)s ^ UINT64_C(0x5ec2e75ea1ed0bad);
}

/* The class whose slots hold so many bytes, or SHARED_CLASSES if none does. */
static unsigned class_of(size_t slot_bytes)
{
    unsigned class = 0;

    while (class < SHARED_CLASSES && (size_t)SMALLEST_SLOT << class < slot_bytes)
        class ++;
    return class;
}

static uint8_t *map_guarded(size_t bytes)
{
    size_t   page = page_bytes();
    uint8_t *all = mmap(NULL, bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (all == MAP_FAILED)
        return NULL;
    if (mprotect(all + page, bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(all, bytes + 2 * page);
        return NULL;
    }
    return all + page;
}

static struct arena *new_arena(size_t slot_bytes, size_t bytes)
{
    struct arena *a = calloc(1, sizeof *a);

    if (a == NULL)
        return NULL;
    a->bytes = bytes;
    a->slot_bytes = slot_bytes;
    a->slots = bytes / slot_bytes;
    a->at = map_guarded(bytes);
    if (a->at == NULL) {
        free(a);
        return NULL;
    }
    /* Best effort, all three: an old kernel or a small RLIMIT_MEMLOCK must not keep the program from starting. What
     * could not be locked is counted for the operator. */
    madvise(a->at, bytes, MADV_DONTDUMP);
    madvise(a->at, bytes, MADV_WIPEONFORK);
    a->locked = mlock(a->at, bytes) == 0;
    if (!a->locked)
        unlocked_bytes += bytes;
    if (first_user == 0)
        first_user = getpid();
    return a;
}

static void free_arena(struct arena *a)
{
    size_t page = page_bytes();

    if (!a->locked)
        unlocked_bytes -= a->bytes;
    munmap(a->at - page, a->bytes + 2 * page);
    free(a);
}

/* The number of a slot that nobody has. The arena is not full. */
static size_t free_slot(const struct arena *a)
{
    size_t word = 0;

    while (a->taken[word] == UINT64_MAX)
        word++;
    return word * WORD_BITS + (size_t)__builtin_ctzll(~a->taken[word]);
}

static struct fl_secret *take_slot(struct arena *a)
{
    size_t            slot = free_slot(a);
    struct fl_secret *s = (struct fl_secret *)(void *)(a->at + slot * a->slot_bytes);

    a->taken[slot / WORD_BITS] |= UINT64_C(1) << slot % WORD_BITS;
    a->used++;
    s->arena = a;
    s->seal = seal_of(s);
    return s;
}

static struct fl_secret *take_shared(unsigned class)
{
    struct arena *a = classes[class];

    while (a != NULL && a->used == a->slots)
        a = a->next;
    if (a == NULL) {
        a = new_arena((size_t)SMALLEST_SLOT << class, SHARED_ARENA_BYTES);
        if (a == NULL)
            return NULL;
        a->next = classes[class];
        classes[class] = a;
    }
    return take_slot(a);
}

static struct fl_secret *take_alone(size_t slot_bytes)
{
    size_t        page = page_bytes(), bytes = (slot_bytes + page - 1) / page * page;
    struct arena *a = new_arena(bytes, bytes);

    return a == NULL ? NULL : take_slot(a);
}

struct fl_secret *fl_secret_new(size_t len)
{
    size_t slot_bytes = sizeof(struct fl_secret) + len;
    unsigned class = class_of(slot_bytes);
    struct fl_secret *s;

    if (len == 0 || len > MAX_LEN)
        return NULL;
    pthread_mutex_lock(&lock);
    s = class < SHARED_CLASSES ? take_shared(class) : take_alone(slot_bytes);
    pthread_mutex_unlock(&lock);
    if (s != NULL)
        s->len = len;
    return s;
}

struct fl_secret *fl_secret_copy(struct fl_slice bytes)
{
    struct fl_secret *s = fl_secret_new(bytes.len);

    if (s != NULL)
        memcpy(s->bytes, bytes.at, bytes.len);
    return s;
}

struct fl_secret *fl_secret_random(size_t len)
{
    FL_AUTO(fl_secret) s = fl_secret_new(len);

    if (s == NULL || fl_random(s->bytes, len, NULL) != FL_OK)
        return NULL;
    return FL_TAKE(s);
}

/* A steady load would map and unmap for ever, so a class keeps its last arena. */
static void drop_if_spare(struct arena *a, unsigned class)
{
    struct arena **at = &classes[class];

    if (a->used > 0 || (classes[class] == a && a->next == NULL))
        return;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    free_arena(a);
}

static void give_back(struct arena *a, struct fl_secret *s)
{
    size_t slot = (size_t)((uint8_t *)s - a->at) / a->slot_bytes;
    unsigned class = class_of(a->slot_bytes);

    explicit_bzero(s, a->slot_bytes); /* with the header: the next secret starts from zeros */
    a->taken[slot / WORD_BITS] &= ~(UINT64_C(1) << slot % WORD_BITS);
    a->used--;
    if (class < SHARED_CLASSES)
        drop_if_spare(a, class);
    else
        free_arena(a);
}

void fl_secret_free(struct fl_secret *s)
{
    if (s == NULL)
        return;
    pthread_mutex_lock(&lock);
    if (s->seal == seal_of(s)) {
        give_back(s->arena, s);
    } else if (s->seal != 0 || getpid() == first_user) { /* else the fork has wiped it: nothing to give back */
        fputs("fl_secret_free: freed twice, or overwritten by its neighbour\n", stderr);
        abort();
    }
    pthread_mutex_unlock(&lock);
}

struct fl_slice fl_secret_slice(const struct fl_secret *s)
{
    return fl_slice_of(s->bytes, s->len);
}

uint8_t *fl_secret_bytes(struct fl_secret *s)
{
    return s->bytes;
}

size_t fl_secret_unlocked_bytes(void)
{
    size_t bytes;

    pthread_mutex_lock(&lock);
    bytes = unlocked_bytes;
    pthread_mutex_unlock(&lock);
    return bytes;
}

bool fl_equal_ct(struct fl_slice a, struct fl_slice b)
{
    return a.len == b.len && (a.len == 0 || CRYPTO_memcmp(a.at, b.at, a.len) == 0);
}

void fl_wipe(void *at, size_t len)
{
    if (len > 0)
        explicit_bzero(at, len);
}

enum fl_status fl_random(void *at, size_t len, struct fl_error *err)
{
    uint8_t *next = at;

    while (len > 0) {
        ssize_t n = getrandom(next, len, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fl_fail(err, FL_SYSTEM, errno, "cannot get %zu random bytes from the system", len);
        next += n;
        len -= (size_t)n;
    }
    return FL_OK;
}
