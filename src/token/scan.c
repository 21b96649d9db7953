#include "token/inside.h"

#include "base/clock.h"
#include "base/log.h"

/* The walk over all tokens for those that expired longer ago than the grace (clocks of servers differ). A turn looks at
 * a bounded number and asks the store to remove at most a batch; the next turn comes after the batch is done, so other
 * work comes in between. What the walk saw is advice: the store removes a token only if its own record is still that
 * old. */

enum { BETWEEN_TURNS_MS = 1 };

static struct tokens *tokens_of(struct token_store_op *op)
{
    return FL_CONTAINER(op, struct token_expiry, op)->tokens;
}

static enum fl_status publish_expired(struct token_store_op *op)
{
    struct tokens *t = tokens_of(op);
    enum fl_status s = token_table_expire(t->table, op->number, op->before_ms);

    if (s == FL_OK)
        token_count(&t->expired);
    return s == FL_NOT_FOUND ? FL_OK : s; /* gone already is as good */
}

static void scan_failed(struct tokens *t, const struct fl_error *err)
{
    token_count(&t->failures);
    if (!t->scan.failed) /* once a scan; nobody else hears of it */
        fl_warn("token", "expired tokens could not be removed (tried again at the next scan): %s", err->text);
    t->scan.failed = true;
}

static void scan_turn(struct io_timer *timer);

static void end_turn(struct tokens *t)
{
    struct token_scan *s = &t->scan;

    s->running = !s->place.end && !s->failed;
    if (!s->running)
        return;
    s->timer.fire = scan_turn;
    io_timer_start(t->upkeep, &s->timer, BETWEEN_TURNS_MS * FL_NS_PER_MS);
}

static void on_expired(struct token_store_op *op)
{
    struct tokens *t = tokens_of(op);

    if (op->status != FL_OK && op->status != FL_EXISTS)
        scan_failed(t, &op->err);
    if (--t->scan.under_way == 0)
        end_turn(t);
}

static void expire(struct tokens *t, struct token_store_op *op, int32_t number)
{
    struct fl_error err;

    op->verb = TOKEN_STORE_EXPIRE;
    op->home = t->upkeep;
    op->number = number;
    op->before_ms = t->scan.before_ms;
    op->publish = publish_expired;
    op->done = on_expired;
    if (t->backend->submit(t->store, op, &err) == FL_OK)
        t->scan.under_way++;
    else
        scan_failed(t, &err);
}

static void scan_turn(struct io_timer *timer)
{
    struct tokens     *t = FL_CONTAINER(timer, struct tokens, scan.timer);
    struct token_scan *s = &t->scan;
    int32_t            numbers[SCAN_BATCH];
    size_t             found = token_table_past(t->table, &s->place, SCAN_SLOTS, s->before_ms, numbers, SCAN_BATCH);

    for (size_t i = 0; i < found && !s->failed; i++)
        expire(t, &s->batch[i].op, numbers[i]);
    if (s->under_way == 0)
        end_turn(t);
}

void token_scan_if_due(struct tokens *t)
{
    struct token_scan *s = &t->scan;
    int64_t            now = token_now_ms(t), since = now - s->last_ms;

    if (s->running || (since >= 0 && since < t->scan_ms))
        return;
    s->running = true;
    s->failed = false;
    s->last_ms = now;
    s->before_ms = now - t->grace_ms;
    s->place = (struct slab_place){ 0 };
    scan_turn(&s->timer);
}
