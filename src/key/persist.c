#include "key/change.h"
#include "key/record.h"

/* A change as a job of the store: checked and written inside the transaction against the records, which show what the
 * jobs before it have done, and published when the commit is durable. */

/* ---- writing
 * ------------------------------------------------------------------------------------------------------------- */

static enum fl_status write_record(struct store_txn *t, const struct key *k, struct fl_error *err)
{
    uint8_t        at[STORE_NAME_KEY_MAX];
    size_t         len = store_name_key(k->name, at);
    struct fl_buf  b;
    enum fl_status s;

    fl_buf_init(&b, KEY_RECORD_MAX);
    if (key_record_put(&b, k))
        s = store_put(t, STORE_KEYS, fl_slice_of(at, len), fl_buf_slice(&b), err);
    else
        s = fl_fail(err, FL_USAGE, 0, "description and attributes of a key of more than %d MiB, or no memory for them",
                    KEY_RECORD_MAX >> 20);
    fl_buf_done(&b);
    return s;
}

static enum fl_status write_version(struct store_txn *t, const struct key *k, struct fl_error *err)
{
    uint8_t         at[KEY_VERSION_KEY_MAX];
    uint32_t        number = key_current(k);
    size_t          len = key_version_key(k->name, number, at);
    struct fl_slice material = fl_secret_slice(k->versions[number]);
    struct fl_buf   b;
    enum fl_status  s;

    fl_buf_init(&b, 0);
    /* At once: a buffer that grows leaves copies of the material behind. */
    s = fl_buf_reserve(&b, 16 + k->name.len + material.len, err);
    if (s == FL_OK && key_version_put(&b, k->name, number, material))
        s = store_put(t, STORE_KEY_VERSIONS, fl_slice_of(at, len), fl_buf_slice(&b), err);
    if (b.data != NULL)
        fl_wipe(b.data, b.cap);
    fl_buf_done(&b);
    return s;
}

/* The record first, whose size is checked before anything is written. */
static enum fl_status write_new(struct store_txn *t, const struct key *k, struct fl_error *err)
{
    enum fl_status s = write_record(t, k, err);

    return s == FL_OK ? write_version(t, k, err) : s;
}

/* ---- the three kinds
 * -------------------------------------------------------------------------------------------------------- */

/* FL_NOT_FOUND: no such key. *decoded is valid until apply returns and to be given to key_record_done. */
static enum fl_status read_record(const struct change *ch, struct store_txn *t, struct key *decoded,
                                  struct fl_error *err)
{
    uint8_t         at[STORE_NAME_KEY_MAX];
    size_t          len = store_name_key(ch->name, at);
    struct fl_slice value;
    enum fl_status  s = store_get(t, STORE_KEYS, fl_slice_of(at, len), &value, err);

    if (s == FL_NOT_FOUND)
        return change_missing(ch, err);
    return s == FL_OK ? key_record_decode(value, decoded, err) : s;
}

static enum fl_status apply_create(struct change *ch, struct store_txn *t, struct fl_error *err)
{
    struct key     there = { .attributes = NULL };
    enum fl_status s = read_record(ch, t, &there, err);

    key_record_done(&there);
    if (s == FL_OK)
        return change_exists(ch, err);
    return s == FL_NOT_FOUND ? write_new(t, &ch->object->key, err) : s;
}

/* The store runs a job again when the transaction failed: what was built is given up, but not given material. */
static void take_back(struct change *ch)
{
    if (ch->object == NULL)
        return;
    fl_secret_free(ch->material);
    ch->material = FL_TAKE(ch->object->slots[key_current(&ch->object->key)]);
    key_object_free(ch->object);
    ch->object = NULL;
}

static enum fl_status apply_roll(struct change *ch, struct store_txn *t, struct fl_error *err)
{
    struct key     there = { .attributes = NULL };
    enum fl_status s;

    take_back(ch);
    if ((s = read_record(ch, t, &there, err)) != FL_OK)
        return s;
    s = change_build_rolled(ch, &there, err);
    key_record_done(&there);
    return s == FL_OK ? write_new(t, &ch->object->key, err) : s;
}

static enum fl_status apply_delete(struct change *ch, struct store_txn *t, struct fl_error *err)
{
    uint8_t        at[KEY_VERSION_KEY_MAX];
    size_t         len = store_name_key(ch->name, at);
    struct key     there = { .attributes = NULL };
    enum fl_status s = read_record(ch, t, &there, err);

    key_record_done(&there);
    if (s == FL_OK)
        s = store_delete(t, STORE_KEYS, fl_slice_of(at, len), err);
    for (uint32_t i = 0; s == FL_OK && i < there.version_count; i++) {
        len = key_version_key(ch->name, i, at);
        s = store_delete(t, STORE_KEY_VERSIONS, fl_slice_of(at, len), err);
    }
    return s;
}

static enum fl_status apply(struct store_job *j, struct store_txn *t, struct fl_error *err)
{
    struct change *ch = FL_CONTAINER(j, struct change, job);

    switch (ch->caller->kind) {
    case KEY_CREATE: return apply_create(ch, t, err);
    case KEY_ROLL: return apply_roll(ch, t, err);
    default: return apply_delete(ch, t, err);
    }
}

static void committed(struct store_job *j)
{
    change_publish(FL_CONTAINER(j, struct change, job));
}

enum fl_status change_persist(struct change *ch, struct fl_error *err)
{
    ch->job.home = ch->caller->home;
    ch->job.apply = apply;
    ch->job.committed = committed;
    ch->job.done = change_answer;
    return store_submit(ch->keys->store, &ch->job, err);
}

/* ---- start: on the store's thread, which is registered with RCU, before there are readers
 * --------------------------------- */

static enum fl_status misplaced(const char *what, struct fl_slice name, struct fl_error *err)
{
    return fl_fail(err, FL_MALFORMED, 0, "%s of key '%.*s' lies where it doesn't belong: the store is damaged", what,
                   (int)FL_MIN(name.len, (size_t)100), (const char *)name.at);
}

static enum fl_status load_key(void *ctx, struct fl_slice at, struct fl_slice value, struct fl_error *err)
{
    struct keys       *k = ctx;
    struct key         decoded;
    struct key_object *o;
    uint8_t            right[STORE_NAME_KEY_MAX];
    enum fl_status     s = key_record_decode(value, &decoded, err);

    if (s != FL_OK)
        return s;
    if (!fl_slice_equal(at, fl_slice_of(right, store_name_key(decoded.name, right)))) {
        key_record_done(&decoded);
        return misplaced("the record", decoded.name, err);
    }
    o = key_object_new(&decoded, decoded.version_count);
    key_record_done(&decoded);
    if (o == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the keys of the store");
    key_table_add(k, o);
    return FL_OK;
}

static enum fl_status load_version(void *ctx, struct fl_slice at, struct fl_slice value, struct fl_error *err)
{
    struct keys              *k = ctx;
    struct key_version_record v = { .number = 0 };
    struct key_object        *o;
    uint8_t                   right[KEY_VERSION_KEY_MAX];
    enum fl_status            s = key_version_decode(value, &v, err);

    if (s != FL_OK)
        return s;
    o = key_table_find(k, v.name);
    if (o == NULL || v.number >= o->key.version_count ||
        !fl_slice_equal(at, fl_slice_of(right, key_version_key(v.name, v.number, right))))
        return misplaced("a version", v.name, err);
    if (v.material.len * 8 != o->key.bits)
        return fl_fail(err, FL_MALFORMED, 0,
                       "version %u of key '%.*s' has %zu bits instead of %u: the store is damaged", v.number,
                       (int)FL_MIN(v.name.len, (size_t)100), (const char *)v.name.at, v.material.len * 8, o->key.bits);
    if ((o->slots[v.number] = fl_secret_copy(v.material)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the material of the store's keys");
    return FL_OK;
}

struct missing {
    const struct key *key;
    uint32_t          version;
};

static void find_missing(void *ctx, const struct key *key)
{
    struct missing *m = ctx;

    for (uint32_t i = 0; m->key == NULL && i < key->version_count; i++)
        if (key->versions[i] == NULL)
            *m = (struct missing){ key, i };
}

enum fl_status keys_load(struct keys *k, struct fl_error *err)
{
    struct missing m = { .key = NULL };
    bool           became;
    enum fl_status s = store_scan(k->store, STORE_KEYS, load_key, k, err);

    if (s == FL_OK)
        s = store_scan(k->store, STORE_KEY_VERSIONS, load_version, k, err);
    if (s != FL_OK)
        return s;
    became = key_table_enter();
    keys_each(k, find_missing, &m);
    key_table_leave(became);
    if (m.key != NULL)
        return fl_fail(err, FL_MALFORMED, 0,
                       "the material of version %u of key '%.*s' is missing: the store is damaged", m.version,
                       (int)FL_MIN(m.key->name.len, (size_t)100), (const char *)m.key->name.at);
    return FL_OK;
}
