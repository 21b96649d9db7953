#include "key/change.h"

#include "base/clock.h"

#include <assert.h>

enum { MATERIAL_MAX_BITS = KEY_MATERIAL_MAX * 8 };

static void change_free(struct change *ch)
{
    if (ch == NULL)
        return;
    fl_secret_free(ch->material);
    key_object_free(ch->object);
    fl_secret_free(ch->made);
    free(ch);
}
FL_AUTO_DEFINE(change);

/* ---- what may be asked for
 * ------------------------------------------------------------------------------------------- */

static enum fl_status check_create(const struct key_change *c, uint32_t bits, struct fl_error *err)
{
    if (c->attribute_count > KEY_ATTRIBUTES_MAX)
        return fl_fail(err, FL_USAGE, 0, "%zu attributes, where at most %d are allowed", c->attribute_count,
                       KEY_ATTRIBUTES_MAX);
    if (bits % 8 != 0 || bits > MATERIAL_MAX_BITS)
        return fl_fail(err, FL_USAGE, 0, "a key of %u bits, where multiples of 8 up to %d are allowed", bits,
                       MATERIAL_MAX_BITS);
    return FL_OK;
}

static enum fl_status check(const struct keys *k, const struct key_change *c, struct fl_error *err)
{
    if (c->name.len == 0 || c->name.len > KEY_NAME_MAX)
        return fl_fail(err, FL_USAGE, 0, "a key name of %zu bytes, where 1 to %d are allowed", c->name.len,
                       KEY_NAME_MAX);
    if (k->store == NULL && c->home == NULL)
        return fl_fail(err, FL_USAGE, 0, "keys in memory have no thread to answer on: a change needs a home");
    return FL_OK;
}

enum fl_status change_exists(const struct change *ch, struct fl_error *err)
{
    return fl_fail(err, FL_EXISTS, 0, "key '%.*s' exists already", (int)FL_MIN(ch->name.len, (size_t)100),
                   (const char *)ch->name.at);
}

enum fl_status change_missing(const struct change *ch, struct fl_error *err)
{
    return fl_fail(err, FL_NOT_FOUND, 0, "there is no key '%.*s'", (int)FL_MIN(ch->name.len, (size_t)100),
                   (const char *)ch->name.at);
}

/* ---- building
 * ---------------------------------------------------------------------------------------------------------- */

/* Material of so many bits: the given one, which must fit, or a fresh one. Leaves a copy for the caller. */
static enum fl_status set_material(struct change *ch, struct key_object *o, struct fl_error *err)
{
    uint32_t bits = o->key.bits;

    if (ch->material == NULL && (ch->material = fl_secret_random(bits / 8)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for key material of %u bits", bits);
    /* Hadoop's words: clients show them. */
    if (fl_secret_slice(ch->material).len * 8 != bits)
        return fl_fail(err, FL_USAGE, 0, "Wrong key length. Required %u, but got %zu", bits,
                       fl_secret_slice(ch->material).len * 8);
    fl_secret_free(ch->made);
    if ((ch->made = fl_secret_copy(fl_secret_slice(ch->material))) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for key material of %u bits", bits);
    o->slots[o->key.version_count - 1] = FL_TAKE(ch->material);
    return FL_OK;
}

enum fl_status change_build_rolled(struct change *ch, const struct key *now, struct fl_error *err)
{
    if (now->version_count == UINT32_MAX - 1)
        return fl_fail(err, FL_USAGE, 0, "the key has %u versions, the most there can be", now->version_count);
    if ((ch->object = key_object_new(now, now->version_count + 1)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a key of %u versions", now->version_count + 1);
    return set_material(ch, ch->object, err);
}

static enum fl_status build_created(struct change *ch, const struct key_change *c, struct fl_error *err)
{
    struct key model = {
        .name = c->name,
        .cipher = c->cipher.at != NULL ? c->cipher : FL_LIT(KEY_DEFAULT_CIPHER),
        .bits = c->bits > 0 ? c->bits : KEY_DEFAULT_BITS,
        .has_description = c->has_description,
        .description = c->has_description ? c->description : FL_LIT(""),
        .attributes = c->attributes,
        .attribute_count = c->attribute_count,
        .created_wall_ms = fl_wall_ms(),
    };
    enum fl_status s = check_create(c, model.bits, err);

    if (s != FL_OK)
        return s;
    if ((ch->object = key_object_new(&model, 1)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a key");
    return set_material(ch, ch->object, err);
}

/* ---- taking effect
 * ------------------------------------------------------------------------------------------------------- */

void change_publish(struct change *ch)
{
    struct key_object *o = FL_TAKE(ch->object);
    struct key_object *old = ch->caller->kind == KEY_CREATE ? NULL : key_table_find(ch->keys, ch->name);

    switch (ch->caller->kind) {
    case KEY_CREATE:
        ch->caller->version = 0;
        key_table_add(ch->keys, o);
        break;
    case KEY_ROLL:
        assert(old != NULL &&
               old->key.version_count == o->key.version_count - 1); /* the store's order is the table's */
        ch->caller->version = key_current(&o->key);
        key_object_inherit(o, old);
        key_table_replace(ch->keys, old, o);
        break;
    case KEY_DELETE:
        assert(old != NULL);
        key_table_remove(ch->keys, old);
        break;
    }
}

/* At home: the caller's again, and then nothing of ours is touched any more. */
void change_answer(struct store_job *j)
{
    struct change     *ch = FL_CONTAINER(j, struct change, job);
    struct key_change *c = ch->caller;

    c->status = j->status;
    c->err = j->err;
    if (c->status == FL_OK)
        c->made = FL_TAKE(ch->made);
    c->private_ = NULL;
    change_free(ch);
    c->done(c);
}

void key_change_done(struct key_change *c)
{
    fl_secret_free(c->made);
    c->made = NULL;
}

/* ---- in memory: the store's order is that of a lock
 * -------------------------------------------------------------------- */

static enum fl_status apply_in_memory(struct change *ch, struct fl_error *err)
{
    struct key_object *old = key_table_find(ch->keys, ch->name);

    if (ch->caller->kind == KEY_CREATE)
        return old != NULL ? change_exists(ch, err) : FL_OK;
    if (old == NULL)
        return change_missing(ch, err);
    return ch->caller->kind == KEY_ROLL ? change_build_rolled(ch, &old->key, err) : FL_OK;
}

static void deliver(struct io_mail *m)
{
    change_answer(FL_CONTAINER(m, struct store_job, mail));
}

static void change_in_memory(struct change *ch)
{
    struct io_reactor *home = ch->caller->home;

    pthread_mutex_lock(&ch->keys->order);
    ch->job.status = apply_in_memory(ch, &ch->job.err);
    if (ch->job.status == FL_OK)
        change_publish(ch);
    pthread_mutex_unlock(&ch->keys->order);
    ch->job.mail.deliver = deliver;
    io_post(home, &ch->job.mail);
}

enum fl_status keys_submit(struct keys *k, struct key_change *c, struct fl_error *err)
{
    FL_AUTO(fl_secret) material = FL_TAKE(c->material);
    FL_AUTO(change) ch = NULL;
    enum fl_status s = check(k, c, err);

    if (s != FL_OK)
        return s;
    if ((ch = calloc(1, sizeof *ch + c->name.len)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a change of a key");
    ch->keys = k;
    ch->caller = c;
    ch->material = FL_TAKE(material);
    ch->name = fl_slice_of(ch->name_bytes, c->name.len);
    memcpy(ch->name_bytes, c->name.at, c->name.len);
    if (c->kind == KEY_CREATE && (s = build_created(ch, c, err)) != FL_OK)
        return s;
    c->made = NULL;
    c->private_ = ch;
    if (k->store == NULL) {
        change_in_memory(FL_TAKE(ch));
        return FL_OK;
    }
    if ((s = change_persist(ch, err)) == FL_OK)
        ch = NULL; /* the store's thread may have freed it already */
    return s;
}
