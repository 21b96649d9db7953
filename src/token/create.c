#include "base/clock.h"
#include "token/inside.h"
#include "token/sign.h"

/* Creation in stages: allocate a number (numbers.c), prepare, persist, publish. No stage holds anything that a verifier
 * or another stage needs, so a slow store delays nobody but those who wait for it. */

static void on_created(struct token_store_op *op);

static struct token_work *work_of(struct token_store_op *op)
{
    return FL_CONTAINER(op, struct token_work, store);
}

/* No token may leave with a failure. */
static void drop_outputs(struct token_work *w)
{
    struct fl_buf *url = &w->op->out_url;

    if (url->data != NULL)
        fl_wipe(url->data, url->cap);
    fl_buf_clear(url);
    token_entry_discard(w->entry);
    w->entry = NULL;
}

/* ---- prepare ----------------------------------------------------------------------------------------------------- */

/* The identifier goes into an entry of its own, made now so that publishing can't fail for want of memory. */
static enum fl_status make_entry(struct token_work *w, const struct token_identifier *id, int64_t renew_ms,
                                 struct fl_error *err)
{
    struct tokens *t = w->tokens;
    struct fl_buf  bytes;

    fl_buf_init(&bytes, TOKEN_IDENTIFIER_MAX);
    if (token_identifier_put(&bytes, id))
        w->entry =
            token_entry_new(t->table, fl_buf_slice(&bytes), token_password_bytes(t->algorithm), id->sequence, renew_ms);
    fl_buf_done(&bytes);
    return w->entry != NULL ? FL_OK : fl_fail(err, FL_NO_MEMORY, 0, "no memory for token %d", id->sequence);
}

static enum fl_status put_url(struct token_work *w, struct fl_error *err)
{
    struct token whole = { .identifier = token_entry_identifier(w->entry),
                           .password = token_entry_password(w->entry),
                           .kind = FL_LIT(TOKEN_KIND),
                           .service = w->service };

    if (!token_put_url(&w->op->out_url, &whole))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the URL string of token %d", w->number);
    return FL_OK;
}

static enum fl_status prepare(struct token_work *w, struct fl_error *err)
{
    struct tokens          *t = w->tokens;
    const struct token_key *key = token_keys_current(t->keys);
    int64_t                 now = token_now_ms(t);
    struct token_identifier id = { .owner = w->owner,
                                   .renewer = w->renewer,
                                   .real_user = w->real_user,
                                   .issue_ms = now,
                                   .max_ms = now + t->max_lifetime_ms,
                                   .sequence = w->number };
    enum fl_status          s;

    if (key == NULL)
        return fl_fail(err, FL_SYSTEM, 0, "there is no master key");
    id.master_key_id = token_key_id(key);
    /* 5.4: the first renew date isn't capped by the max date. */
    w->store.renew_ms = now + t->renew_interval_ms;
    if ((s = make_entry(w, &id, w->store.renew_ms, err)) != FL_OK ||
        (s = token_sign(t->algorithm, token_key_bytes(key), token_entry_identifier(w->entry),
                        token_entry_password_room(w->entry), err)) != FL_OK)
        return s;
    w->store.fields = id;
    w->store.identifier = token_entry_identifier(w->entry);
    w->store.password = token_entry_password(w->entry);
    return put_url(w, err);
}

/* ---- persist and publish ----------------------------------------------------------------------------------------- */

static enum fl_status publish_created(struct token_store_op *op)
{
    struct token_work *w = work_of(op);
    enum fl_status     s = token_table_add(w->tokens->table, w->entry);

    if (s == FL_OK) {
        w->entry = NULL; /* the table's */
        token_count(&w->tokens->created);
    }
    return s;
}

static void prepare_and_persist(struct token_work *w)
{
    struct tokens  *t = w->tokens;
    struct fl_error err;
    enum fl_status  s = prepare(w, &err);

    if (s == FL_OK) {
        w->store.verb = TOKEN_STORE_CREATE;
        w->store.publish = publish_created;
        w->store.done = on_created;
        w->asked_ns = fl_now_ns();
        s = t->backend->submit(t->store, &w->store, &err);
    }
    if (s == FL_OK)
        return;
    token_count(&t->failures);
    drop_outputs(w);
    token_work_end_later(w, s, TOKEN_RUNTIME, &err);
}

void token_create_start(struct token_work *w)
{
    w->attempts++;
    if (token_numbers_take(w))
        prepare_and_persist(w);
}

void token_create_numbered(struct token_work *w)
{
    if (w->status == FL_OK)
        prepare_and_persist(w);
    else
        token_work_end(w, w->status, TOKEN_RUNTIME, &w->err);
}

static void on_created(struct token_store_op *op)
{
    struct token_work *w = work_of(op);
    struct fl_error    err = op->err;

    if (op->status == FL_OK) {
        token_work_took(w);
        w->op->expiry_ms = op->renew_ms;
        token_work_end(w, FL_OK, TOKEN_NO_FAULT, NULL);
        return;
    }
    drop_outputs(w);
    if (op->status == FL_EXISTS) { /* a counter that was set back, or others who don't use it */
        if (w->attempts < CREATE_ATTEMPTS) {
            token_create_start(w);
            return;
        }
        fl_fail(&err, FL_EXISTS, 0, "token number %d is taken, as were the %d before it that were tried", w->number,
                CREATE_ATTEMPTS - 1);
    }
    token_count(&w->tokens->failures);
    token_work_end(w, op->status, TOKEN_RUNTIME, &err);
}
