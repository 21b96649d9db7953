#include "token/inside.h"

#include "base/log.h"

/* The roll of 5.2, one operation of the store after the other: expired keys are dropped, the current one is given the
 * life of the youngest token it may have signed, a new one is made and becomes current. Java rolls twice at its start
 * and so uses two key ids; once is enough. A step that fails ends the roll, and the next wake begins it anew. */

static void on_step(struct token_store_op *op);

static struct tokens *tokens_of(struct token_store_op *op)
{
    return FL_CONTAINER(op, struct tokens, roll.op);
}

static enum fl_status publish_dropped(struct token_store_op *op)
{
    enum fl_status s = token_keys_drop(tokens_of(op)->keys, op->key_id);

    return s == FL_NOT_FOUND ? FL_OK : s;
}

static enum fl_status publish_extended(struct token_store_op *op)
{
    return token_keys_extend(tokens_of(op)->keys, op->key_id, op->expiry_ms);
}

static enum fl_status publish_added(struct token_store_op *op)
{
    struct tokens *t = tokens_of(op);
    enum fl_status s = token_keys_add(t->keys, op->key_id, op->expiry_ms, op->key, true);

    if (s == FL_OK)
        atomic_store(&t->current_key_id, op->key_id);
    return s;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void drop_step(struct token_store_op *op)
{
    op->verb = TOKEN_STORE_DROP_KEY;
    op->publish = publish_dropped;
}

static void extend_step(struct tokens *t, const struct token_key *current, int64_t now)
{
    struct token_store_op *op = &t->roll.op;

    op->verb = TOKEN_STORE_EXTEND_KEY;
    op->key_id = token_key_id(current);
    op->expiry_ms = now + t->max_lifetime_ms;
    op->publish = publish_extended;
}

static enum fl_status add_step(struct tokens *t, int64_t now, struct fl_error *err)
{
    struct token_store_op *op = &t->roll.op;

    fl_secret_free(t->roll.key);
    t->roll.key = fl_secret_random(t->key_bytes);
    if (t->roll.key == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory or no randomness for a master key");
    op->verb = TOKEN_STORE_ADD_KEY;
    op->key_id = 0;
    op->key = fl_secret_slice(t->roll.key);
    op->expiry_ms = now + t->key_update_ms + t->max_lifetime_ms;
    op->publish = publish_added;
    return FL_OK;
}

/* What comes after the last step that succeeded. FL_NOT_FOUND: the roll is complete. */
static enum fl_status next_step(struct tokens *t, bool first, struct fl_error *err)
{
    struct token_store_op  *op = &t->roll.op;
    const struct token_key *current = token_keys_current(t->keys);
    int64_t                 now = token_now_ms(t);

    if (!first && op->verb == TOKEN_STORE_ADD_KEY)
        return FL_NOT_FOUND;
    if ((first || op->verb == TOKEN_STORE_DROP_KEY) && token_keys_expired(t->keys, now, &op->key_id)) {
        drop_step(op);
        return FL_OK;
    }
    if (current != NULL && (first || op->verb == TOKEN_STORE_DROP_KEY)) {
        extend_step(t, current, now);
        return FL_OK;
    }
    return add_step(t, now, err);
}

/* ---- a whole roll ------------------------------------------------------------------------------------------------ */

static void end_roll(struct tokens *t, enum fl_status status, const struct fl_error *err)
{
    struct token_roll *r = &t->roll;

    r->running = false;
    fl_secret_free(r->key);
    r->key = NULL;
    if (status == FL_OK) {
        r->last_ms = token_now_ms(t);
        return;
    }
    token_count(&t->failures);
    /* No caller is there to be told, and an operator must know: tokens can't be made for ever without a new key. */
    fl_warn("token", "the master key could not be rolled (tried again at the next wake): %s", err->text);
}

static void step(struct tokens *t, bool first)
{
    struct token_store_op *op = &t->roll.op;
    struct fl_error        err;
    enum fl_status         s = next_step(t, first, &err);

    if (s == FL_OK) {
        op->home = t->upkeep;
        op->done = on_step;
        s = t->backend->submit(t->store, op, &err);
        if (s == FL_OK)
            return;
    }
    end_roll(t, s == FL_NOT_FOUND ? FL_OK : s, &err);
}

static void on_step(struct token_store_op *op)
{
    struct tokens *t = tokens_of(op);

    if (op->status == FL_OK)
        step(t, false);
    else
        end_roll(t, op->status, &op->err);
}

/* A clock that was set back makes it due too: better one key too many than none for a long time. */
void token_roll_if_due(struct tokens *t)
{
    int64_t since = token_now_ms(t) - t->roll.last_ms;

    if (t->roll.running || (since >= 0 && since < t->key_update_ms))
        return;
    t->roll.running = true;
    step(t, true);
}

enum fl_status token_roll_first(struct tokens *t, struct fl_error *err)
{
    enum fl_status s;

    for (bool first = true; (s = next_step(t, first, err)) == FL_OK; first = false)
        if ((s = token_store_wait(t, &t->roll.op, err)) != FL_OK)
            return s;
    if (s != FL_NOT_FOUND)
        return s;
    end_roll(t, FL_OK, NULL);
    return FL_OK;
}

void token_roll_done(struct tokens *t)
{
    fl_secret_free(t->roll.key);
}
