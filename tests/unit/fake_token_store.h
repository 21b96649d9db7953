/* fake_token_store.h - a token store that does what the test says: slow, failing, interrupted, or out of order.
 *
 * It has a "disk" of its own (tokens with their renew dates, two counters). Operations of a verb that is held wait
 * until the test takes them; others are carried out inside submit. A held one is ended by fake_store_go (carried out,
 * published, answered), fake_store_fail, or in two steps: fake_store_carry_out and fake_store_reply.
 * Owns: its records. Thread: any; holding and taking: the test's.                                                     */
#ifndef FAKE_TOKEN_STORE_H
#define FAKE_TOKEN_STORE_H

#include "token/identifier.h"
#include "token/record.h"
#include "token/store.h"

#include <assert.h>
#include <pthread.h>

enum { FAKE_RECORDS = 4096, FAKE_KEYS = 64, FAKE_VERBS = TOKEN_STORE_EXPIRE + 1 };

struct fake_store {
    pthread_mutex_t        lock;
    bool                   hold[FAKE_VERBS];
    enum fl_status         refuse[FAKE_VERBS];    /* submit itself says no */
    enum fl_status         fail_next[FAKE_VERBS]; /* the next one fails at once */
    unsigned               seen[FAKE_VERBS], under_way, most_under_way[FAKE_VERBS];
    int32_t                numbers, key_ids, last_count;
    struct token_store_op *waiting, **waiting_end;
    unsigned               opened;
    struct {
        int32_t         number;
        int64_t         renew_ms;
        struct fl_slice identifier, password; /* malloc'ed */
    } records[FAKE_RECORDS];
    unsigned count;
    int32_t  keys[FAKE_KEYS];
    unsigned key_count;
};

static void fake_store_init(struct fake_store *f)
{
    memset(f, 0, sizeof *f);
    pthread_mutex_init(&f->lock, NULL);
    f->waiting_end = &f->waiting;
}

static struct fl_slice fake_copy(struct fl_slice s)
{
    uint8_t *at = malloc(s.len + 1);

    assert(at != NULL);
    memcpy(at, s.at, s.len);
    return fl_slice_of(at, s.len);
}

static void fake_store_done(struct fake_store *f)
{
    for (unsigned i = 0; i < f->count; i++) {
        free((void *)(uintptr_t)f->records[i].identifier.at);
        free((void *)(uintptr_t)f->records[i].password.at);
    }
    pthread_mutex_destroy(&f->lock);
}

static int fake_find(const struct fake_store *f, int32_t number)
{
    for (unsigned i = 0; i < f->count; i++)
        if (f->records[i].number == number)
            return (int)i;
    return -1;
}

/* The record of the very token, or -1. */
static int fake_find_same(const struct fake_store *f, const struct token_store_op *op)
{
    int                     i = fake_find(f, op->fields.sequence);
    struct token_identifier own;

    if (i < 0 || token_identifier_get(f->records[i].identifier, &own, NULL) != FL_OK ||
        !token_identifier_same(&own, &op->fields))
        return -1;
    return i;
}

static enum fl_status fake_create(struct fake_store *f, const struct token_store_op *op)
{
    if (fake_find(f, op->fields.sequence) >= 0)
        return FL_EXISTS;
    assert(f->count < FAKE_RECORDS);
    f->records[f->count].number = op->fields.sequence;
    f->records[f->count].renew_ms = op->renew_ms;
    f->records[f->count].identifier = fake_copy(op->identifier);
    f->records[f->count].password = fake_copy(op->password);
    f->count++;
    return FL_OK;
}

static void fake_erase(struct fake_store *f, int i)
{
    free((void *)(uintptr_t)f->records[i].identifier.at);
    free((void *)(uintptr_t)f->records[i].password.at);
    f->records[i] = f->records[--f->count];
}

static enum fl_status fake_add_key(struct fake_store *f, struct token_store_op *op)
{
    assert(f->key_count < FAKE_KEYS);
    op->key_id = ++f->key_ids;
    f->keys[f->key_count++] = op->key_id;
    return FL_OK;
}

static enum fl_status fake_drop_key(struct fake_store *f, int32_t id)
{
    for (unsigned i = 0; i < f->key_count; i++)
        if (f->keys[i] == id)
            f->keys[i] = f->keys[--f->key_count];
    return FL_OK;
}

static enum fl_status fake_expire(struct fake_store *f, const struct token_store_op *op)
{
    int i = fake_find(f, op->number);

    if (i >= 0 && f->records[i].renew_ms >= op->before_ms)
        return FL_EXISTS;
    if (i >= 0)
        fake_erase(f, i);
    return FL_OK;
}

static enum fl_status fake_reserve(struct fake_store *f, struct token_store_op *op)
{
    enum fl_status s = token_store_range("token numbers", f->numbers, op->count, &op->granted, &op->err);

    f->last_count = op->count;
    if (s == FL_OK) {
        op->first = f->numbers + 1;
        f->numbers += op->granted;
    }
    return s;
}

static enum fl_status fake_on_disk(struct fake_store *f, struct token_store_op *op)
{
    int i;

    switch (op->verb) {
    case TOKEN_STORE_NUMBERS: return fake_reserve(f, op);
    case TOKEN_STORE_ADD_KEY: return fake_add_key(f, op);
    case TOKEN_STORE_EXTEND_KEY: return FL_OK;
    case TOKEN_STORE_DROP_KEY: return fake_drop_key(f, op->key_id);
    case TOKEN_STORE_CREATE: return fake_create(f, op);
    case TOKEN_STORE_EXPIRE: return fake_expire(f, op);
    case TOKEN_STORE_RENEW:
        if ((i = fake_find_same(f, op)) >= 0)
            f->records[i].renew_ms = op->renew_ms;
        return i < 0 ? FL_NOT_FOUND : FL_OK;
    case TOKEN_STORE_CANCEL:
        if ((i = fake_find_same(f, op)) >= 0)
            fake_erase(f, i);
        return i < 0 ? FL_NOT_FOUND : FL_OK;
    }
    abort();
}

/* On disk, and then into the tables; the answer still waits. */
static enum fl_status fake_store_carry_out(struct fake_store *f, struct token_store_op *op)
{
    enum fl_status s;

    pthread_mutex_lock(&f->lock);
    s = fake_on_disk(f, op);
    pthread_mutex_unlock(&f->lock);
    if (s == FL_OK && op->publish != NULL)
        FL_IGNORE(op->publish(op)); /* the table follows the disk; it may lack what the disk has */
    return s;
}

static void fake_store_reply(struct fake_store *f, struct token_store_op *op, enum fl_status s)
{
    pthread_mutex_lock(&f->lock);
    f->under_way--;
    pthread_mutex_unlock(&f->lock);
    if (s != FL_OK && s != FL_DENIED)
        fl_fail(&op->err, s, 0, "the scripted store says %s", fl_status_name(s));
    token_store_answer(op, s);
}

/* The oldest operation of this verb that is held; NULL: none. */
static struct token_store_op *fake_store_take(struct fake_store *f, enum token_store_verb verb)
{
    struct token_store_op **at = &f->waiting, *op;

    while (*at != NULL && (*at)->verb != verb)
        at = &(*at)->next;
    if ((op = *at) == NULL)
        return NULL;
    if ((*at = op->next) == NULL)
        f->waiting_end = at;
    return op;
}

__attribute__((unused)) static void fake_store_go(struct fake_store *f, enum token_store_verb verb)
{
    struct token_store_op *op = fake_store_take(f, verb);

    assert(op != NULL);
    fake_store_reply(f, op, fake_store_carry_out(f, op));
}

__attribute__((unused)) static void fake_store_fail(struct fake_store *f, enum token_store_verb verb, enum fl_status s)
{
    struct token_store_op *op = fake_store_take(f, verb);

    assert(op != NULL);
    fake_store_reply(f, op, s);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

static enum fl_status fake_store_open(void **self, void *arg, struct tokens *manager, struct fl_error *err)
{
    struct fake_store *f = arg;

    (void)manager;
    (void)err;
    f->opened++;
    *self = f;
    return FL_OK;
}

static void fake_store_close(void *self)
{
    struct fake_store *f = self;

    f->opened--;
}

static void fake_count(struct fake_store *f, enum token_store_verb verb)
{
    f->seen[verb]++;
    f->under_way++;
    if (f->under_way > f->most_under_way[verb])
        f->most_under_way[verb] = f->under_way;
}

static enum fl_status fake_store_submit(void *self, struct token_store_op *op, struct fl_error *err)
{
    struct fake_store *f = self;
    enum fl_status     fail;
    bool               hold;

    if (f->refuse[op->verb] != FL_OK)
        return fl_fail(err, f->refuse[op->verb], 0, "the scripted store takes nothing");
    pthread_mutex_lock(&f->lock);
    fake_count(f, op->verb);
    hold = f->hold[op->verb];
    fail = f->fail_next[op->verb];
    f->fail_next[op->verb] = FL_OK;
    op->next = NULL;
    if (hold) {
        *f->waiting_end = op;
        f->waiting_end = &op->next;
    }
    pthread_mutex_unlock(&f->lock);
    if (!hold)
        fake_store_reply(f, op, fail != FL_OK ? fail : fake_store_carry_out(f, op));
    return FL_OK;
}

static const struct token_store fake_token_store = {
    .name = "scripted",
    .table_is_whole = true,
    .room_bytes = 8,
    .open = fake_store_open,
    .close = fake_store_close,
    .submit = fake_store_submit,
};
/* As a store shared with others: its table lacks tokens. */
__attribute__((unused)) static const struct token_store fake_shared_token_store = {
    .name = "scripted, shared",
    .room_bytes = 8,
    .open = fake_store_open,
    .close = fake_store_close,
    .submit = fake_store_submit,
};

#endif
