#include "token/inside.h"

static void on_refill(struct token_store_op *op);

enum fl_status token_numbers_init(struct tokens *t, struct fl_error *err)
{
    struct token_numbers *n = &t->numbers;

    if (pthread_mutex_init(&n->lock, NULL) != 0)
        return fl_fail(err, FL_SYSTEM, 0, "no lock for token numbers");
    n->want = RANGE_MIN;
    n->waiting_end = &n->waiting;
    n->refill.verb = TOKEN_STORE_NUMBERS;
    return FL_OK;
}

void token_numbers_done(struct tokens *t)
{
    pthread_mutex_destroy(&t->numbers.lock);
}

static struct tokens *tokens_of(struct token_store_op *refill)
{
    return FL_CONTAINER(refill, struct tokens, numbers.refill);
}

/* ---- under the lock ---------------------------------------------------------------------------------------------- */

static bool take_one(struct token_numbers *n, int32_t *number)
{
    if (n->next == n->end) {
        n->next = n->spare_next;
        n->end = n->spare_end;
        n->spare_next = n->spare_end = 0;
    }
    if (n->next == n->end)
        return false;
    *number = (int32_t)n->next++;
    n->taken++;
    return true;
}

static void wait_for_one(struct token_numbers *n, struct token_work *w)
{
    w->next = NULL;
    *n->waiting_end = w;
    n->waiting_end = &w->next;
}

/* True when a refill is to be started, which the caller then does, and nobody else until it has ended. */
static bool refill_wanted(struct token_numbers *n)
{
    bool enough = n->spare_next != n->spare_end || n->end - n->next >= n->want / 2;

    if (n->refilling || (n->waiting == NULL && enough))
        return false;
    n->refilling = true;
    n->taken = 0;
    return true;
}

/* A range is too small when it is used up within two times that a refill takes, which caps creation at its size a
 * round trip, and too large when eight refills in a row came sixteen times faster than it was used. */
static void adapt(struct token_numbers *n)
{
    if (n->waiting != NULL || n->taken > n->want / 2) {
        n->want = FL_MIN(2 * n->want, RANGE_MAX);
        n->calm = 0;
    } else if (n->taken >= n->want / 16) {
        n->calm = 0;
    } else if (++n->calm == 8) {
        n->want = FL_MAX(n->want / 2, RANGE_MIN);
        n->calm = 0;
    }
}

static void add_range(struct token_numbers *n, int32_t first, int32_t count)
{
    if (n->next == n->end) {
        n->next = first;
        n->end = (int64_t)first + count;
    } else {
        n->spare_next = first;
        n->spare_end = (int64_t)first + count;
    }
}

/* Those who get a number of what there is (in the order of their coming), or all of them when the refill failed. */
static struct token_work *served(struct token_numbers *n, const struct token_store_op *refill)
{
    struct token_work *first = n->waiting, **end = &first;

    while (*end != NULL && (refill->status != FL_OK || take_one(n, &(*end)->number))) {
        (*end)->status = refill->status;
        if (refill->status != FL_OK)
            (*end)->err = refill->err;
        end = &(*end)->next;
    }
    n->waiting = *end;
    if (n->waiting == NULL)
        n->waiting_end = &n->waiting;
    *end = NULL;
    return first;
}

/* ---- without it -------------------------------------------------------------------------------------------------- */

static void deliver_number(struct io_mail *m)
{
    token_create_numbered(FL_CONTAINER(m, struct token_work, mail));
}

static void send_home(struct token_work *w)
{
    struct token_work *next;

    for (; w != NULL; w = next) {
        next = w->next;
        w->mail.deliver = deliver_number;
        io_post(w->home, &w->mail);
    }
}

static void start_refill(struct tokens *t, struct io_reactor *home)
{
    struct token_store_op *op = &t->numbers.refill;

    struct fl_error err;
    enum fl_status  s;

    op->home = home;
    op->count = t->numbers.want;
    op->done = on_refill;
    s = t->backend->submit(t->store, op, &err); /* if taken, op may have been answered on another thread by now */
    if (s == FL_OK)
        return;
    op->status = s;
    op->err = err;
    on_refill(op); /* those who wait are told by mail, so this is no callback inside submit */
}

static void on_refill(struct token_store_op *op)
{
    struct tokens        *t = tokens_of(op);
    struct token_numbers *n = &t->numbers;
    struct token_work    *ready;
    bool                  again;

    pthread_mutex_lock(&n->lock);
    if (op->status == FL_OK) {
        adapt(n);
        add_range(n, op->first, op->granted);
    } else {
        token_count(&t->failures);
    }
    ready = served(n, op);
    n->refilling = false;
    again = n->waiting != NULL && refill_wanted(n);
    pthread_mutex_unlock(&n->lock);
    send_home(ready);
    if (again)
        start_refill(t, op->home);
}

bool token_numbers_take(struct token_work *w)
{
    struct tokens        *t = w->tokens;
    struct token_numbers *n = &t->numbers;
    bool                  got, refill;

    pthread_mutex_lock(&n->lock);
    /* Who waits already comes first. */
    got = n->waiting == NULL && take_one(n, &w->number);
    if (!got)
        wait_for_one(n, w);
    refill = refill_wanted(n);
    pthread_mutex_unlock(&n->lock);
    if (refill)
        start_refill(t, w->home);
    return got;
}

enum fl_status token_numbers_first(struct tokens *t, struct fl_error *err)
{
    struct token_numbers *n = &t->numbers;
    enum fl_status        s;

    n->refill.count = n->want;
    if ((s = token_store_wait(t, &n->refill, err)) != FL_OK)
        return s;
    add_range(n, n->refill.first, n->refill.granted);
    return FL_OK;
}
