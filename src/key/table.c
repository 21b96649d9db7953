#include "key/table.h"

#include <assert.h>

enum { BUCKETS_AT_START = 64, BUCKETS_AT_MOST = 1 << 22 };

static int has_name(struct cds_lfht_node *node, const void *name)
{
    const struct key_object *o = key_object_at(node);

    fl_rcu_told_acquire_(o);
    return fl_slice_equal(o->key.name, *(const struct fl_slice *)name);
}

struct key_object *key_table_find(struct keys *k, struct fl_slice name)
{
    struct cds_lfht_iter  at;
    struct cds_lfht_node *node;

    cds_lfht_lookup(k->table, key_hash(&k->seed, name), has_name, &name, &at);
    node = cds_lfht_iter_get_node(&at);
    return node == NULL ? NULL : key_object_at(node);
}

void key_table_add(struct keys *k, struct key_object *o)
{
    fl_rcu_told_release_(o);
    cds_lfht_add(k->table, key_hash(&k->seed, o->key.name), &o->node);
    __atomic_fetch_add(&k->count, 1, __ATOMIC_RELAXED);
}

void key_table_replace(struct keys *k, struct key_object *old, struct key_object *o)
{
    struct cds_lfht_iter at;
    uint64_t             hash = key_hash(&k->seed, o->key.name);
    int                  replaced;

    fl_rcu_told_release_(o);
    cds_lfht_lookup(k->table, hash, has_name, &o->key.name, &at);
    assert(cds_lfht_iter_get_node(&at) == &old->node);
    replaced = cds_lfht_replace(k->table, &at, hash, has_name, &o->key.name, &o->node);
    assert(replaced == 0); /* nobody else changes the table */
    (void)replaced;
    key_object_retire(old);
}

void key_table_remove(struct keys *k, struct key_object *o)
{
    int removed = cds_lfht_del(k->table, &o->node);

    assert(removed == 0);
    (void)removed;
    __atomic_fetch_sub(&k->count, 1, __ATOMIC_RELAXED);
    key_object_retire(o);
}

static void free_table(struct keys *k)
{
    struct cds_lfht_iter  at;
    struct cds_lfht_node *node;

    cds_lfht_first(k->table, &at);
    while ((node = cds_lfht_iter_get_node(&at)) != NULL) {
        cds_lfht_next(k->table, &at);
        key_table_remove(k, key_object_at(node));
    }
}

/* A registered thread is online, as the header demands. */
bool key_table_enter(void)
{
    if (rcu_read_ongoing())
        return false;
    fl_rcu_register();
    return true;
}

void key_table_leave(bool became)
{
    if (became)
        fl_rcu_unregister();
}

/* Waits for a change of the table's size that may be under way, which waits for every reader: so not as one. */
static void destroy_table(struct keys *k)
{
    bool reader = rcu_read_ongoing();

    if (reader)
        fl_rcu_offline();
    cds_lfht_destroy(k->table, NULL);
    fl_rcu_barrier(); /* materials are wiped when this returns */
    if (reader)
        fl_rcu_online();
}

void keys_close(struct keys *k)
{
    bool became;

    if (k == NULL)
        return;
    if (k->table != NULL) {
        if (k->store != NULL)
            store_settle(k->store); /* changes on their way publish to the table */
        became = key_table_enter();
        free_table(k);
        key_table_leave(became);
        destroy_table(k);
    }
    pthread_mutex_destroy(&k->order);
    free(k);
}

static void close_half_open(struct keys **k)
{
    keys_close(*k);
}

enum fl_status keys_open(struct keys **out, const struct keys_config *config, struct fl_error *err)
{
    __attribute__((cleanup(close_half_open))) struct keys *k = calloc(1, sizeof *k);
    enum fl_status                                         s;

    if (k == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the table of keys");
    pthread_mutex_init(&k->order, NULL);
    k->store = config->store;
    if ((s = fl_random(&k->seed, sizeof k->seed, err)) != FL_OK)
        return s;
    /* Without accounting the table grows by the lengths of chains alone, to a hundred buckets a key. */
    k->table = cds_lfht_new(BUCKETS_AT_START, BUCKETS_AT_START, BUCKETS_AT_MOST,
                            CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
    if (k->table == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the table of keys");
    if (k->store != NULL && (s = keys_load(k, err)) != FL_OK)
        return s;
    *out = FL_TAKE(k);
    return FL_OK;
}

const struct key *keys_find(struct keys *k, struct fl_slice name)
{
    const struct key_object *o = key_table_find(k, name);

    return o == NULL ? NULL : &o->key;
}

/* UINT32_MAX unless digits are what printing a number of 32 bits gives: "00", "+1" and " 1" are other names. */
static uint32_t plain_decimal(struct fl_slice digits)
{
    uint64_t n = 0;

    if (digits.len == 0 || digits.len > 10 || (digits.len > 1 && digits.at[0] == (uint8_t)'0'))
        return UINT32_MAX;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.at[i] < '0' || digits.at[i] > '9')
            return UINT32_MAX;
        n = n * 10 + (digits.at[i] - '0');
    }
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

enum fl_status key_version_split(struct fl_slice version_name, struct fl_slice *name, uint32_t *version,
                                 struct fl_error *err)
{
    size_t at = fl_slice_find_last(version_name, '@');

    if (at == SIZE_MAX)
        return fl_fail(err, FL_MALFORMED, 0, "version name '%.*s' has no '@'", FL_SLICE_ARGS(version_name));
    *name = fl_slice_of(version_name.at, at);
    *version = plain_decimal(fl_slice_from(version_name, at + 1));
    return FL_OK;
}

const struct key *keys_find_version(struct keys *k, struct fl_slice version_name, uint32_t *version)
{
    struct fl_slice   name = { NULL, 0 };
    const struct key *key;
    uint32_t          number = UINT32_MAX;

    if (key_version_split(version_name, &name, &number, NULL) != FL_OK)
        return NULL;
    key = keys_find(k, name);
    if (key == NULL || number >= key->version_count)
        return NULL;
    *version = number;
    return key;
}

size_t keys_count(struct keys *k)
{
    return __atomic_load_n(&k->count, __ATOMIC_RELAXED);
}

void keys_each(struct keys *k, void (*each)(void *ctx, const struct key *key), void *ctx)
{
    struct cds_lfht_iter  at;
    struct cds_lfht_node *node;

    cds_lfht_first(k->table, &at);
    while ((node = cds_lfht_iter_get_node(&at)) != NULL) {
        struct key_object *o = key_object_at(node);
        fl_rcu_told_acquire_(o);
        each(ctx, &o->key);
        cds_lfht_next(k->table, &at);
    }
}
