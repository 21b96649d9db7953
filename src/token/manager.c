#include "base/clock.h"
#include "base/rcu.h"
#include "token/inside.h"
#include "token/record.h"

#include <inttypes.h>

enum { WAKE_MS = 5000 }; /* the longest between two looks at whether something is due, as in Hadoop */

int64_t token_now_ms(const struct tokens *t)
{
    return t->wall_ms(t->wall_arg);
}

void token_count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static int64_t machine_wall_ms(void *arg)
{
    (void)arg;
    return fl_wall_ms();
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static enum fl_status take_time(int64_t *ms, const char *what, uint64_t ns, uint64_t least_ms, struct fl_error *err)
{
    const uint64_t most_ms = UINT64_C(100) * 365 * 86400 * 1000;
    uint64_t       given = ns / FL_NS_PER_MS;

    if (given < least_ms || given > most_ms)
        return fl_fail(err, FL_USAGE, 0, "%s of %" PRIu64 " ms, where %" PRIu64 " to %" PRIu64 " are allowed", what,
                       given, least_ms, most_ms);
    *ms = (int64_t)given;
    return FL_OK;
}

static enum fl_status take_settings(struct tokens *t, const struct tokens_config *c, struct fl_error *err)
{
    enum fl_status s;

    if (c->key_bits < 8 || c->key_bits > 4096 || c->key_bits % 8 != 0)
        return fl_fail(err, FL_USAGE, 0, "master keys of %u bits, where multiples of 8 from 8 to 4096 are allowed",
                       c->key_bits);
    if ((unsigned)c->algorithm > TOKEN_HMAC_SHA512)
        return fl_fail(err, FL_USAGE, 0, "there is no token algorithm %u", (unsigned)c->algorithm);
    if ((s = take_time(&t->key_update_ms, "key update interval", c->key_update_ns, 1, err)) != FL_OK ||
        (s = take_time(&t->max_lifetime_ms, "token lifetime", c->max_lifetime_ns, 1, err)) != FL_OK ||
        (s = take_time(&t->renew_interval_ms, "token renewal", c->renew_interval_ns, 1, err)) != FL_OK ||
        (s = take_time(&t->scan_ms, "removal scan interval", c->removal_scan_ns, 1, err)) != FL_OK ||
        (s = take_time(&t->grace_ms, "removal grace", c->removal_grace_ns, 0, err)) != FL_OK)
        return s;
    t->algorithm = c->algorithm;
    t->key_bytes = c->key_bits / 8;
    t->wall_ms = c->wall_ms != NULL ? c->wall_ms : machine_wall_ms;
    t->wall_arg = c->wall_arg;
    t->backend = c->backend != NULL ? c->backend : c->store != NULL ? &token_store_lmdb : &token_store_memory;
    return FL_OK;
}

/* ---- waiting for the store, at the start ------------------------------------------------------------------------- */

static void on_waited(struct token_store_op *op)
{
    struct token_wait *w = op->context;

    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_signal(&w->came);
    pthread_mutex_unlock(&w->lock);
}

static void wait_here(struct token_wait *w)
{
    fl_rcu_offline(); /* the store's thread may wait for readers */
    pthread_mutex_lock(&w->lock);
    while (!w->over)
        pthread_cond_wait(&w->came, &w->lock);
    pthread_mutex_unlock(&w->lock);
    fl_rcu_online();
}

enum fl_status token_store_wait(struct tokens *t, struct token_store_op *op, struct fl_error *err)
{
    enum fl_status s;

    op->home = NULL;
    op->context = &t->wait;
    t->wait.over = false;
    op->done = on_waited;
    if ((s = t->backend->submit(t->store, op, err)) != FL_OK)
        return s;
    wait_here(&t->wait);
    if (op->status != FL_OK && err != NULL)
        *err = op->err;
    return op->status;
}

/* ---- what is due ------------------------------------------------------------------------------------------------- */

static void start_wake(struct tokens *t)
{
    int64_t ms = FL_MIN(FL_MIN(t->key_update_ms, t->scan_ms), (int64_t)WAKE_MS);

    io_timer_start(t->upkeep, &t->wake, (uint64_t)ms * FL_NS_PER_MS);
}

static void on_wake(struct io_timer *timer)
{
    struct tokens *t = FL_CONTAINER(timer, struct tokens, wake);

    token_roll_if_due(t);
    token_scan_if_due(t);
    start_wake(t);
}

static void on_begin(struct io_reactor *r, void *arg)
{
    struct tokens *t = arg;

    if (io_reactor_index(r) != 0)
        return;
    t->upkeep = r;
    t->wake.fire = on_wake;
    start_wake(t);
}

static void on_end(struct io_reactor *r, void *arg)
{
    struct tokens *t = arg;

    if (io_reactor_index(r) != 0)
        return;
    io_timer_stop(&t->wake);
    io_timer_stop(&t->scan.timer);
}

static enum fl_status hook_upkeep(struct tokens *t, struct io_reactors *reactors, struct fl_error *err)
{
    struct io_hook hook = { .begin = on_begin, .end = on_end, .arg = t };

    return reactors == NULL ? FL_OK : io_reactors_hook(reactors, &hook, err);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

/* The operations of upkeep are made once, with the store's room for each. */
static enum fl_status give_rooms(struct tokens *t, struct fl_error *err)
{
    size_t   each = (t->backend->room_bytes + 15) / 16 * 16, count = 2 + SCAN_BATCH;
    uint8_t *at = calloc(count, each > 0 ? each : 16);

    if (at == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the operations of the token store");
    t->rooms = at;
    t->numbers.refill.room = at;
    t->roll.op.room = at + each;
    for (unsigned i = 0; i < SCAN_BATCH; i++) {
        t->scan.batch[i].tokens = t;
        t->scan.batch[i].op.room = at + (2 + i) * each;
    }
    return FL_OK;
}

static enum fl_status make_parts(struct tokens *t, struct fl_error *err)
{
    enum fl_status s;

    if (pthread_mutex_init(&t->works_lock, NULL) != 0 || pthread_mutex_init(&t->wait.lock, NULL) != 0 ||
        pthread_cond_init(&t->wait.came, NULL) != 0)
        return fl_fail(err, FL_SYSTEM, 0, "no lock for token operations");
    if ((s = token_numbers_init(t, err)) != FL_OK || (s = give_rooms(t, err)) != FL_OK)
        return s;
    t->table = token_table_new();
    t->keys = token_keys_new();
    if (t->table == NULL || t->keys == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the table of tokens");
    return FL_OK;
}

static enum fl_status start(struct tokens *t, const struct tokens_config *config, struct fl_error *err)
{
    void          *arg = config->backend != NULL ? config->backend_arg : config->store;
    enum fl_status s = t->backend->open(&t->store, arg, t, err);

    if (s != FL_OK) {
        t->store = NULL;
        return s;
    }
    t->opened = true;
    if (token_roll_first(t, err) != FL_OK)
        return fl_fail_in(err, "the first master key");
    if (token_numbers_first(t, err) != FL_OK)
        return fl_fail_in(err, "the first token numbers");
    return hook_upkeep(t, config->reactors, err);
}

enum fl_status tokens_open(struct tokens **out, const struct tokens_config *config, struct fl_error *err)
{
    struct tokens *t = calloc(1, sizeof *t);
    enum fl_status s;

    if (t == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the token manager");
    if ((s = take_settings(t, config, err)) != FL_OK) {
        free(t);
        return s;
    }
    if ((s = make_parts(t, err)) != FL_OK || (s = start(t, config, err)) != FL_OK) {
        tokens_close(t);
        return s;
    }
    *out = t;
    return FL_OK;
}

void tokens_close(struct tokens *t)
{
    if (t == NULL)
        return;
    if (t->opened)
        t->backend->close(t->store);
    while (t->works != NULL)
        token_work_free(t->works);
    token_roll_done(t);
    token_table_free(t->table);
    token_keys_free(t->keys);
    token_numbers_done(t);
    pthread_mutex_destroy(&t->works_lock);
    pthread_mutex_destroy(&t->wait.lock);
    pthread_cond_destroy(&t->wait.came);
    free(t->rooms);
    free(t);
}

void tokens_stats(struct tokens *t, struct tokens_stats *out)
{
    *out = (struct tokens_stats){
        .live = token_table_live(t->table),
        .created = atomic_load_explicit(&t->created, memory_order_relaxed),
        .renewed = atomic_load_explicit(&t->renewed, memory_order_relaxed),
        .cancelled = atomic_load_explicit(&t->cancelled, memory_order_relaxed),
        .expired = atomic_load_explicit(&t->expired, memory_order_relaxed),
        .failures = atomic_load_explicit(&t->failures, memory_order_relaxed),
        .created_ns = atomic_load_explicit(&t->store_ns[TOKEN_CREATE], memory_order_relaxed),
        .renewed_ns = atomic_load_explicit(&t->store_ns[TOKEN_RENEW], memory_order_relaxed),
        .cancelled_ns = atomic_load_explicit(&t->store_ns[TOKEN_CANCEL], memory_order_relaxed),
        .current_key_id = atomic_load_explicit(&t->current_key_id, memory_order_relaxed),
    };
}

/* ---- what stores tell -------------------------------------------------------------------------------------------- */

static enum fl_status check_record(const struct token_record *r, struct fl_error *err)
{
    if (r->identifier.len > TOKEN_IDENTIFIER_MAX)
        return fl_fail(err, FL_MALFORMED, 0, "identifier of %zu bytes, where at most %d are allowed", r->identifier.len,
                       TOKEN_IDENTIFIER_MAX);
    if (r->fields.sequence < 1)
        return fl_fail(err, FL_MALFORMED, 0, "token number %" PRId32 ", where 1 to %d are allowed", r->fields.sequence,
                       INT32_MAX);
    return FL_OK;
}

/* Whether an entry is this very token, of which only the renew date may have changed. */
static bool is_record(const struct token_entry *e, const struct token_record *r)
{
    return fl_slice_equal(token_entry_identifier(e), r->identifier) &&
           fl_equal_ct(token_entry_password(e), r->password);
}

static enum fl_status add_record(struct tokens *t, const struct token_record *r, struct fl_error *err)
{
    struct token_entry *e = token_entry_new(t->table, r->identifier, r->password.len, r->fields.sequence, r->renew_ms);

    if (e == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for token %" PRId32, r->fields.sequence);
    memcpy(token_entry_password_room(e), r->password.at, r->password.len);
    if (token_table_add(t->table, e) == FL_OK)
        return FL_OK;
    token_entry_discard(e);
    return fl_fail(err, FL_EXISTS, 0, "there are two tokens with number %" PRId32, r->fields.sequence);
}

enum fl_status tokens_learn_token(struct tokens *t, struct fl_slice record, struct fl_error *err)
{
    struct token_record r;
    struct token_entry *there;
    enum fl_status      s;

    if ((s = token_record_get(record, &r, err)) != FL_OK || (s = check_record(&r, err)) != FL_OK)
        return s;
    there = token_table_at(t->table, r.fields.sequence);
    if (there != NULL && is_record(there, &r) && token_table_renew(there, r.renew_ms) == FL_OK)
        return FL_OK;
    tokens_forget_token(t, r.fields.sequence);
    return add_record(t, &r, err);
}

void tokens_learnt_many(struct tokens *t)
{
    token_table_fit(t->table);
}

void tokens_forget_token(struct tokens *t, int32_t number)
{
    struct token_entry *e = token_table_at(t->table, number);

    if (e != NULL)
        FL_IGNORE(token_table_remove(t->table, e)); /* cancelled meanwhile: gone as well */
}

enum fl_status tokens_learn_key(struct tokens *t, struct fl_slice record, struct fl_error *err)
{
    struct token_key_record k;
    enum fl_status          s = token_key_record_get(record, &k, err);

    if (s != FL_OK)
        return s;
    s = token_keys_add(t->keys, k.id, k.expiry_ms, k.key, false);
    return s == FL_OK ? s : fl_fail(err, s, 0, "no memory for master key %" PRId32, k.id);
}

void tokens_forget_key(struct tokens *t, int32_t key_id)
{
    FL_IGNORE(token_keys_drop(t->keys, key_id)); /* unknown: nothing to forget */
}
