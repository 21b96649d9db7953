#include "token/keys.h"

#include "base/rcu.h"

#include <pthread.h>
#include <stdatomic.h>

struct token_key {
    struct rcu_head   rcu;
    struct fl_secret *secret;
    int32_t           id;
    _Atomic int64_t   expiry_ms;
};

struct ring {
    struct rcu_head   rcu;
    struct token_key *current;
    size_t            count;
    struct token_key *keys[];
};

struct token_keys {
    pthread_mutex_t changing; /* never taken by readers */
    struct ring    *ring;     /* RCU; never NULL */
};

/* ---- keys and rings ---------------------------------------------------------------------------------------------- */

static void free_key_now(struct token_key *key)
{
    if (key == NULL)
        return;
    fl_secret_free(key->secret);
    free(key);
}

static void free_key(struct rcu_head *head)
{
    free_key_now(FL_CONTAINER(head, struct token_key, rcu));
}

static void free_ring(struct rcu_head *head)
{
    free(FL_CONTAINER(head, struct ring, rcu));
}

static struct ring *ring_new(size_t count)
{
    return calloc(1, sizeof(struct ring) + count * sizeof(struct token_key *));
}

static struct token_key *key_new(int32_t id, int64_t expiry_ms, struct fl_slice bytes)
{
    struct token_key *key = calloc(1, sizeof *key);

    if (key == NULL || (key->secret = fl_secret_copy(bytes)) == NULL) {
        free_key_now(key);
        return NULL;
    }
    key->id = id;
    atomic_store(&key->expiry_ms, expiry_ms);
    return key;
}

struct token_keys *token_keys_new(void)
{
    FL_AUTO(token_keys) k = calloc(1, sizeof *k);

    if (k == NULL)
        return NULL;
    pthread_mutex_init(&k->changing, NULL);
    k->ring = ring_new(0);
    return k->ring == NULL ? NULL : FL_TAKE(k);
}

void token_keys_free(struct token_keys *k)
{
    if (k == NULL)
        return;
    for (size_t i = 0; k->ring != NULL && i < k->ring->count; i++)
        free_key_now(k->ring->keys[i]);
    free(k->ring);
    pthread_mutex_destroy(&k->changing);
    free(k);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static struct token_key *find_in(const struct ring *ring, int32_t id)
{
    for (size_t i = 0; i < ring->count; i++)
        if (ring->keys[i]->id == id)
            return ring->keys[i];
    return NULL;
}

const struct token_key *token_keys_current(struct token_keys *k)
{
    return fl_rcu_read(&k->ring)->current;
}

const struct token_key *token_keys_find(struct token_keys *k, int32_t id)
{
    return find_in(fl_rcu_read(&k->ring), id);
}

bool token_keys_expired(struct token_keys *k, int64_t now_ms, int32_t *id)
{
    const struct ring *ring = fl_rcu_read(&k->ring);

    for (size_t i = 0; i < ring->count; i++)
        if (ring->keys[i] != ring->current && token_key_expiry_ms(ring->keys[i]) < now_ms) {
            *id = ring->keys[i]->id;
            return true;
        }
    return false;
}

int32_t token_key_id(const struct token_key *key)
{
    return key->id;
}

int64_t token_key_expiry_ms(const struct token_key *key)
{
    return atomic_load_explicit(&key->expiry_ms, memory_order_relaxed);
}

struct fl_slice token_key_bytes(const struct token_key *key)
{
    return fl_secret_slice(key->secret);
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

/* The ring without `gone` (or NULL) and with `added` (or NULL) becomes the ring; the old one goes after its readers. */
static enum fl_status replace_ring(struct token_keys *k, struct token_key *gone, struct token_key *added, bool current)
{
    struct ring *old = k->ring, *ring = ring_new(old->count + 1);

    if (ring == NULL)
        return FL_NO_MEMORY;
    for (size_t i = 0; i < old->count; i++)
        if (old->keys[i] != gone)
            ring->keys[ring->count++] = old->keys[i];
    if (added != NULL)
        ring->keys[ring->count++] = added;
    ring->current = current ? added : old->current == gone ? NULL : old->current;
    fl_rcu_publish(&k->ring, ring);
    fl_rcu_free(&old->rcu, free_ring);
    if (gone != NULL)
        fl_rcu_free(&gone->rcu, free_key);
    return FL_OK;
}

enum fl_status token_keys_add(struct token_keys *k, int32_t id, int64_t expiry_ms, struct fl_slice bytes, bool current)
{
    struct token_key *key = key_new(id, expiry_ms, bytes), *there;
    enum fl_status    s = FL_NO_MEMORY;

    if (key == NULL)
        return s;
    pthread_mutex_lock(&k->changing);
    there = find_in(k->ring, id);
    s = replace_ring(k, there, key, current || (there != NULL && there == k->ring->current));
    pthread_mutex_unlock(&k->changing);
    if (s != FL_OK)
        free_key_now(key);
    return s;
}

enum fl_status token_keys_extend(struct token_keys *k, int32_t id, int64_t expiry_ms)
{
    struct token_key *key;

    pthread_mutex_lock(&k->changing);
    if ((key = find_in(k->ring, id)) != NULL)
        atomic_store_explicit(&key->expiry_ms, expiry_ms, memory_order_relaxed);
    pthread_mutex_unlock(&k->changing);
    return key == NULL ? FL_NOT_FOUND : FL_OK;
}

enum fl_status token_keys_drop(struct token_keys *k, int32_t id)
{
    struct token_key *key;
    enum fl_status    s = FL_NOT_FOUND;

    pthread_mutex_lock(&k->changing);
    if ((key = find_in(k->ring, id)) != NULL)
        s = replace_ring(k, key, NULL, false);
    pthread_mutex_unlock(&k->changing);
    return s;
}
