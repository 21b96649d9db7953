#include "token/identifier.h"
#include "token/inside.h"
#include "token/record.h"

#include "base/rcu.h"

#include <inttypes.h>

/* The store in the data folder. Each operation is one store job: apply inside the shared transaction, publish after the
 * commit in its order, done by mail. Keys of records are big-endian numbers, records are Hadoop's own, sealed by the
 * store. Counters hold the last number that was reserved, which is durable before anyone uses it, so a number is never
 * given out twice, whatever happens. */

enum { MANY = 1024 }; /* loaded records between two moments in which the table may grow */

struct lmdb {
    struct store  *store;
    struct tokens *manager;
    int32_t        numbers_seen, key_ids_seen; /* the highest in the records: no counter below it is believed */
    uint64_t       loaded;
};

struct job {
    struct store_job       job;
    struct token_store_op *op;
    struct lmdb           *lmdb;
};

static const char NUMBERS[] = "token numbers", KEY_IDS[] = "master key ids";

/* ---- records ----------------------------------------------------------------------------------------------------- */

struct number_key {
    uint8_t bytes[4];
};

static struct fl_slice key_of(struct number_key *k, int32_t number)
{
    token_write_be32(k->bytes, (uint32_t)number);
    return fl_slice_of(k->bytes, sizeof k->bytes);
}

/* Puts what `b` holds, which is wiped whatever comes of it: a growing buffer leaves no other copy, as it was reserved
 * at once. */
static enum fl_status put_and_wipe(struct store_txn *txn, enum store_table table, int32_t number, struct fl_buf *b,
                                   struct fl_error *err)
{
    struct number_key k;
    enum fl_status    s = b->failed ? fl_fail(err, FL_NO_MEMORY, 0, "no memory for a record")
                                    : store_put(txn, table, key_of(&k, number), fl_buf_slice(b), err);

    if (b->data != NULL)
        fl_wipe(b->data, b->cap);
    fl_buf_done(b);
    return s;
}

static enum fl_status put_token(struct store_txn *txn, int32_t number, struct fl_slice identifier, int64_t renew_ms,
                                struct fl_slice password, struct fl_error *err)
{
    struct fl_buf b;

    fl_buf_init(&b, 0);
    if (fl_buf_reserve(&b, identifier.len + 12 + password.len, NULL) == FL_OK)
        token_record_put(&b, identifier, renew_ms, password);
    else
        b.failed = true;
    return put_and_wipe(txn, STORE_TOKENS, number, &b, err);
}

static enum fl_status put_key(struct store_txn *txn, const struct token_key_record *k, struct fl_error *err)
{
    struct fl_buf b;

    fl_buf_init(&b, 0);
    if (fl_buf_reserve(&b, 32 + k->key.len, NULL) == FL_OK)
        token_key_record_put(&b, k);
    else
        b.failed = true;
    return put_and_wipe(txn, STORE_MASTER_KEYS, k->id, &b, err);
}

/* The stored token with this number, if it is the one presented. */
static enum fl_status get_token(struct store_txn *txn, const struct token_store_op *op, struct token_record *r,
                                struct fl_error *err)
{
    struct number_key k;
    struct fl_slice   value;
    enum fl_status    s = store_get(txn, STORE_TOKENS, key_of(&k, op->fields.sequence), &value, err);

    if (s == FL_OK)
        s = token_record_get(value, r, err);
    if (s == FL_OK && !fl_slice_equal(r->identifier, op->identifier) && !token_identifier_same(&r->fields, &op->fields))
        s = fl_fail(err, FL_NOT_FOUND, 0, "another token has number %" PRId32, op->fields.sequence);
    return s;
}

/* ---- what each verb does in the transaction ---------------------------------------------------------------------- */

static enum fl_status reserve(struct store_txn *txn, const char *name, int32_t seen, int32_t wanted, int32_t *first,
                              int32_t *granted, struct fl_error *err)
{
    struct fl_slice   value;
    struct number_key last;
    int32_t           counter = 0;
    enum fl_status    s = store_get(txn, STORE_COUNTERS, fl_slice_str(name), &value, err);

    if (s != FL_OK && s != FL_NOT_FOUND)
        return s;
    if (s == FL_OK && value.len != sizeof last.bytes)
        return fl_fail(err, FL_MALFORMED, 0, "the counter of %s has %zu bytes, not 4", name, value.len);
    if (s == FL_OK)
        counter = token_read_be32(value.at);
    if (counter >= 0)
        counter = FL_MAX(counter, seen);
    if ((s = token_store_range(name, counter, wanted, granted, err)) != FL_OK)
        return s;
    *first = counter + 1;
    return store_put(txn, STORE_COUNTERS, fl_slice_str(name), key_of(&last, counter + *granted), err);
}

static enum fl_status add_key(struct store_txn *txn, const struct lmdb *l, struct token_store_op *op,
                              struct fl_error *err)
{
    int32_t        granted;
    enum fl_status s = reserve(txn, KEY_IDS, l->key_ids_seen, 1, &op->key_id, &granted, err);

    if (s != FL_OK)
        return s;
    return put_key(txn, &(struct token_key_record){ .id = op->key_id, .expiry_ms = op->expiry_ms, .key = op->key },
                   err);
}

static enum fl_status extend_key(struct store_txn *txn, const struct token_store_op *op, struct fl_error *err)
{
    struct number_key       k;
    struct fl_slice         value;
    struct token_key_record r;
    enum fl_status          s = store_get(txn, STORE_MASTER_KEYS, key_of(&k, op->key_id), &value, err);

    if (s != FL_OK || (s = token_key_record_get(value, &r, err)) != FL_OK)
        return s;
    r.expiry_ms = op->expiry_ms;
    return put_key(txn, &r, err);
}

static enum fl_status drop(struct store_txn *txn, enum store_table table, int32_t number, struct fl_error *err)
{
    struct number_key k;
    enum fl_status    s = store_delete(txn, table, key_of(&k, number), err);

    return s == FL_NOT_FOUND ? FL_OK : s;
}

static enum fl_status create(struct store_txn *txn, const struct token_store_op *op, struct fl_error *err)
{
    struct number_key k;
    struct fl_slice   there;
    enum fl_status    s = store_get(txn, STORE_TOKENS, key_of(&k, op->fields.sequence), &there, err);

    if (s == FL_OK)
        return fl_fail(err, FL_EXISTS, 0, "token %" PRId32 " exists already", op->fields.sequence);
    if (s != FL_NOT_FOUND)
        return s;
    return put_token(txn, op->fields.sequence, op->identifier, op->renew_ms, op->password, err);
}

static enum fl_status renew(struct store_txn *txn, const struct token_store_op *op, struct fl_error *err)
{
    struct token_record r;
    enum fl_status      s = get_token(txn, op, &r, err);

    return s == FL_OK ? put_token(txn, r.fields.sequence, r.identifier, op->renew_ms, r.password, err) : s;
}

static enum fl_status cancel(struct store_txn *txn, const struct token_store_op *op, struct fl_error *err)
{
    struct token_record r;
    struct number_key   k;
    enum fl_status      s = get_token(txn, op, &r, err);

    return s == FL_OK ? store_delete(txn, STORE_TOKENS, key_of(&k, op->fields.sequence), err) : s;
}

static enum fl_status expire(struct store_txn *txn, const struct token_store_op *op, struct fl_error *err)
{
    struct number_key   k;
    struct token_record r;
    struct fl_slice     value;
    enum fl_status      s = store_get(txn, STORE_TOKENS, key_of(&k, op->number), &value, err);

    if (s == FL_NOT_FOUND)
        return FL_OK;
    if (s != FL_OK || (s = token_record_get(value, &r, err)) != FL_OK)
        return s;
    if (r.renew_ms >= op->before_ms)
        return fl_fail(err, FL_EXISTS, 0, "token %" PRId32 " was renewed", op->number);
    return drop(txn, STORE_TOKENS, op->number, err);
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static enum fl_status apply(struct store_job *sj, struct store_txn *txn, struct fl_error *err)
{
    struct job            *j = FL_CONTAINER(sj, struct job, job);
    struct token_store_op *op = j->op;

    switch (op->verb) {
    case TOKEN_STORE_NUMBERS:
        return reserve(txn, NUMBERS, j->lmdb->numbers_seen, op->count, &op->first, &op->granted, err);
    case TOKEN_STORE_ADD_KEY: return add_key(txn, j->lmdb, op, err);
    case TOKEN_STORE_EXTEND_KEY: return extend_key(txn, op, err);
    case TOKEN_STORE_DROP_KEY: return drop(txn, STORE_MASTER_KEYS, op->key_id, err);
    case TOKEN_STORE_CREATE: return create(txn, op, err);
    case TOKEN_STORE_RENEW: return renew(txn, op, err);
    case TOKEN_STORE_CANCEL: return cancel(txn, op, err);
    case TOKEN_STORE_EXPIRE: return expire(txn, op, err);
    }
    return fl_fail(err, FL_USAGE, 0, "unknown operation %d of the token store", (int)op->verb);
}

/* The table follows the records, so publishing can't be refused but for memory (a new ring of keys); then the record
 * remains, and the caller is told. */
static void committed(struct store_job *sj)
{
    struct token_store_op *op = FL_CONTAINER(sj, struct job, job)->op;

    op->status = op->publish == NULL ? FL_OK : op->publish(op);
    if (op->status != FL_OK)
        fl_fail(&op->err, op->status, 0, "what was stored could not be taken into the tables of tokens");
}

static void done(struct store_job *sj)
{
    struct token_store_op *op = FL_CONTAINER(sj, struct job, job)->op;

    if (sj->status != FL_OK) { /* else committed has set it */
        op->status = sj->status;
        op->err = sj->err;
    }
    op->done(op);
}

static enum fl_status submit(void *self, struct token_store_op *op, struct fl_error *err)
{
    struct lmdb *l = self;
    struct job  *j = op->room;

    *j = (struct job){ .job = { .home = op->home, .apply = apply, .committed = committed, .done = done },
                       .op = op,
                       .lmdb = l };
    return store_submit(l->store, &j->job, err);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static enum fl_status load_token(void *ctx, struct fl_slice key, struct fl_slice value, struct fl_error *err)
{
    struct lmdb *l = ctx;

    if (key.len != 4)
        return fl_fail(err, FL_MALFORMED, 0, "a stored token's number has %zu bytes, not 4", key.len);
    if (tokens_learn_token(l->manager, value, err) != FL_OK)
        return fl_fail_in(err, "stored token %" PRId32, token_read_be32(key.at));
    l->numbers_seen = FL_MAX(l->numbers_seen, token_read_be32(key.at));
    if (++l->loaded % MANY == 0)
        tokens_learnt_many(l->manager);
    return FL_OK;
}

static enum fl_status load_key(void *ctx, struct fl_slice key, struct fl_slice value, struct fl_error *err)
{
    struct lmdb *l = ctx;

    if (key.len != 4)
        return fl_fail(err, FL_MALFORMED, 0, "a stored master key's id has %zu bytes, not 4", key.len);
    if (tokens_learn_key(l->manager, value, err) != FL_OK)
        return fl_fail_in(err, "stored master key %" PRId32, token_read_be32(key.at));
    l->key_ids_seen = FL_MAX(l->key_ids_seen, token_read_be32(key.at));
    return FL_OK;
}

static enum fl_status open_lmdb(void **self, void *arg, struct tokens *manager, struct fl_error *err)
{
    struct lmdb   *l = calloc(1, sizeof *l);
    enum fl_status s;

    if (l == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the token store");
    l->store = arg;
    l->manager = manager;
    if ((s = store_scan(l->store, STORE_MASTER_KEYS, load_key, l, err)) != FL_OK ||
        (s = store_scan(l->store, STORE_TOKENS, load_token, l, err)) != FL_OK) {
        free(l);
        return s;
    }
    *self = l;
    return FL_OK;
}

/* A last job that changes nothing comes after all others: when it is done, no callback into the manager is to come on
 * the store's thread. */
static enum fl_status apply_nothing(struct store_job *j, struct store_txn *txn, struct fl_error *err)
{
    (void)j;
    (void)txn;
    (void)err;
    return FL_OK;
}

struct last_job {
    struct store_job job;
    pthread_mutex_t  lock;
    pthread_cond_t   came;
    bool             over;
};

static void last_done(struct store_job *j)
{
    struct last_job *last = FL_CONTAINER(j, struct last_job, job);

    pthread_mutex_lock(&last->lock);
    last->over = true;
    pthread_cond_signal(&last->came);
    pthread_mutex_unlock(&last->lock);
}

static void close_lmdb(void *self)
{
    struct lmdb    *l = self;
    struct last_job last = { .job = { .apply = apply_nothing, .done = last_done },
                             .lock = PTHREAD_MUTEX_INITIALIZER,
                             .came = PTHREAD_COND_INITIALIZER };

    if (store_submit(l->store, &last.job, NULL) == FL_OK) {
        fl_rcu_offline();
        pthread_mutex_lock(&last.lock);
        while (!last.over)
            pthread_cond_wait(&last.came, &last.lock);
        pthread_mutex_unlock(&last.lock);
        fl_rcu_online();
    }
    pthread_mutex_destroy(&last.lock);
    pthread_cond_destroy(&last.came);
    free(l);
}

const struct token_store token_store_lmdb = {
    .name = "lmdb",
    .table_is_whole = true,
    .room_bytes = sizeof(struct job),
    .open = open_lmdb,
    .close = close_lmdb,
    .submit = submit,
};
