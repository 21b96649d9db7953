#include "token/store.h"

#include <stdatomic.h>

/* The store that keeps nothing beyond the process: the manager's tables are all there is, so publishing is the change,
 * at once. Renewals, cancels and expiry that race are decided by the table's entries. */

struct memory {
    _Atomic int32_t numbers, key_ids; /* the last that were given out */
};

static enum fl_status open_memory(void **self, void *arg, struct tokens *manager, struct fl_error *err)
{
    struct memory *m = calloc(1, sizeof *m);

    (void)arg;
    (void)manager;
    if (m == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the token store");
    *self = m;
    return FL_OK;
}

static enum fl_status reserve(_Atomic int32_t *counter, const char *what, int32_t wanted, int32_t *first,
                              int32_t *granted, struct fl_error *err)
{
    int32_t        at = atomic_load(counter);
    enum fl_status s;

    *granted = 0;
    do
        if ((s = token_store_range(what, at, wanted, granted, err)) != FL_OK)
            return s;
    while (!atomic_compare_exchange_weak(counter, &at, at + *granted));
    *first = at + 1;
    return FL_OK;
}

static enum fl_status add_key(struct memory *m, struct token_store_op *op)
{
    int32_t        granted;
    enum fl_status s = reserve(&m->key_ids, "master key ids", 1, &op->key_id, &granted, &op->err);

    return s == FL_OK ? op->publish(op) : s;
}

static enum fl_status submit(void *self, struct token_store_op *op, struct fl_error *err)
{
    struct memory *m = self;
    enum fl_status s;

    (void)err;
    switch (op->verb) {
    case TOKEN_STORE_NUMBERS:
        s = reserve(&m->numbers, "token numbers", op->count, &op->first, &op->granted, &op->err);
        break;
    case TOKEN_STORE_ADD_KEY: s = add_key(m, op); break;
    default: s = op->publish(op); break;
    }
    token_store_answer(op, s);
    return FL_OK;
}

const struct token_store token_store_memory = {
    .name = "memory",
    .table_is_whole = true,
    .open = open_memory,
    .close = free,
    .submit = submit,
};

/* ---- what stores share ------------------------------------------------------------------------------------------- */

enum fl_status token_store_range(const char *what, int32_t counter, int32_t wanted, int32_t *granted,
                                 struct fl_error *err)
{
    if (counter < 0)
        return fl_fail(err, FL_MALFORMED, 0, "the counter of %s stands at %d, where 0 to %d is possible", what, counter,
                       INT32_MAX);
    if (counter == INT32_MAX)
        return fl_fail(err, FL_DENIED, 0, "no %s are left: the counter stands at its end, %d", what, INT32_MAX);
    *granted = FL_MIN(wanted, INT32_MAX - counter);
    return FL_OK;
}

static void deliver(struct io_mail *m)
{
    struct token_store_op *op = FL_CONTAINER(m, struct token_store_op, mail);

    op->done(op);
}

void token_store_answer(struct token_store_op *op, enum fl_status status)
{
    op->status = status;
    if (op->home == NULL) {
        op->done(op);
        return;
    }
    op->mail.deliver = deliver;
    io_post(op->home, &op->mail);
}
