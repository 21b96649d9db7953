#include "base/clock.h"
#include "base/encode.h"
#include "token/inside.h"

#include <assert.h>

/* ---- the list of what is under way ------------------------------------------------------------------------------- */

static void link_in(struct tokens *t, struct token_work *w)
{
    pthread_mutex_lock(&t->works_lock);
    w->after = t->works;
    if (w->after != NULL)
        w->after->before = w;
    t->works = w;
    pthread_mutex_unlock(&t->works_lock);
}

static void link_out(struct tokens *t, struct token_work *w)
{
    pthread_mutex_lock(&t->works_lock);
    if (w->before != NULL)
        w->before->after = w->after;
    else
        t->works = w->after;
    if (w->after != NULL)
        w->after->before = w->before;
    pthread_mutex_unlock(&t->works_lock);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static struct fl_slice keep(uint8_t **at, struct fl_slice s)
{
    struct fl_slice kept = fl_slice_of(*at, s.len);

    if (s.len > 0)
        memcpy(*at, s.at, s.len);
    *at += s.len;
    return kept;
}

static size_t bytes_of(const struct token_op *op)
{
    size_t sum = op->caller.len + op->owner.len + op->renewer.len + op->real_user.len + op->service.len;

    if (op->presented != NULL)
        sum += op->presented->identifier.len + op->presented->password.len;
    return sum;
}

static void copy_inputs(struct token_work *w, const struct token_op *op, uint8_t *at)
{
    w->caller = keep(&at, op->caller);
    w->owner = keep(&at, op->owner);
    w->renewer = keep(&at, op->renewer);
    w->real_user = keep(&at, op->real_user);
    w->service = keep(&at, op->service);
    if (op->presented == NULL)
        return;
    w->presented.identifier = keep(&at, op->presented->identifier);
    w->presented.password = keep(&at, op->presented->password);
}

enum fl_status token_work_new(struct token_work **out, struct tokens *t, struct token_op *op, struct fl_error *err)
{
    size_t             room = (t->backend->room_bytes + 15) / 16 * 16, bytes = sizeof **out + room + bytes_of(op);
    struct token_work *w;

    if (atomic_fetch_add(&t->under_way, 1) >= WORK_MAX) {
        atomic_fetch_sub(&t->under_way, 1);
        return fl_fail(err, FL_BUSY, 0, "%d token operations are under way, no more are taken", WORK_MAX);
    }
    w = aligned_alloc(_Alignof(struct token_work), (bytes + 15) / 16 * 16);
    if (w == NULL) {
        atomic_fetch_sub(&t->under_way, 1);
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a token operation of %zu bytes", bytes);
    }
    memset(w, 0, sizeof *w + room);
    w->bytes = bytes;
    w->tokens = t;
    w->op = op;
    w->home = w->store.home = op->home;
    w->store.room = w->data;
    copy_inputs(w, op, w->data + room);
    link_in(t, w);
    *out = w;
    return FL_OK;
}

void token_work_free(struct token_work *w)
{
    struct tokens *t = w->tokens;

    link_out(t, w);
    token_entry_discard(w->entry);
    fl_wipe(w, w->bytes);
    free(w);
    atomic_fetch_sub(&t->under_way, 1);
}

void token_work_took(struct token_work *w)
{
    atomic_fetch_add_explicit(&w->tokens->store_ns[w->op->kind], fl_now_ns() - w->asked_ns, memory_order_relaxed);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void set_outcome(struct token_op *op, enum fl_status status, enum token_fault fault, const struct fl_error *why)
{
    op->status = status;
    op->fault = status == FL_OK ? TOKEN_NO_FAULT : fault;
    if (status != FL_OK && why != NULL)
        op->err = *why;
}

void token_work_end(struct token_work *w, enum fl_status status, enum token_fault fault, const struct fl_error *why)
{
    struct token_op *op = w->op;

    set_outcome(op, status, fault, why);
    op->private_ = NULL;
    token_work_free(w);
    op->done(op);
}

static void deliver_end(struct io_mail *m)
{
    struct token_work *w = FL_CONTAINER(m, struct token_work, mail);
    struct token_op   *op = w->op;

    token_work_end(w, op->status, op->fault, NULL);
}

void token_work_end_later(struct token_work *w, enum fl_status status, enum token_fault fault,
                          const struct fl_error *why)
{
    set_outcome(w->op, status, fault, why);
    w->mail.deliver = deliver_end;
    io_post(w->home, &w->mail);
}

void token_work_refuse(struct token_work *w, enum token_fault fault)
{
    struct fl_slice text = fl_buf_slice(&w->op->out_text);
    struct fl_error why;

    if (w->op->out_text.failed)
        fl_fail(&why, FL_NO_MEMORY, 0, "no memory for the sentence of a refusal");
    else
        fl_fail(&why, FL_DENIED, 0, "%.*s", FL_SLICE_ARGS(text));
    token_work_end_later(w, why.status, fault, &why);
}

/* ---- the face ---------------------------------------------------------------------------------------------------- */

static enum fl_status check_text(const char *what, struct fl_slice text, struct fl_error *err)
{
    if (text.len > TOKEN_IDENTIFIER_MAX)
        return fl_fail(err, FL_USAGE, 0, "%s of %zu bytes, where at most %d are allowed", what, text.len,
                       TOKEN_IDENTIFIER_MAX);
    if (!fl_utf8_valid(text)) /* Java would read it as another name */
        return fl_fail(err, FL_USAGE, 0, "%s is not UTF-8", what);
    return FL_OK;
}

static enum fl_status check_create(const struct token_op *op, struct fl_error *err)
{
    enum { NUMBERS_MAX = 1 + 3 * 5 + 2 * 9 + 2 * 5 }; /* what isn't text in an identifier */
    size_t         sum = op->owner.len + op->renewer.len + op->real_user.len;
    enum fl_status s;

    if (op->owner.len == 0)
        return fl_fail(err, FL_USAGE, 0, "a token needs an owner");
    if ((s = check_text("owner", op->owner, err)) != FL_OK || (s = check_text("renewer", op->renewer, err)) != FL_OK ||
        (s = check_text("real user", op->real_user, err)) != FL_OK ||
        (s = check_text("service", op->service, err)) != FL_OK)
        return s;
    if (sum > TOKEN_IDENTIFIER_MAX - NUMBERS_MAX)
        return fl_fail(err, FL_USAGE, 0, "owner, renewer and real user of %zu bytes, where at most %d are allowed", sum,
                       TOKEN_IDENTIFIER_MAX - NUMBERS_MAX);
    return FL_OK;
}

static enum fl_status check_op(const struct token_op *op, struct fl_error *err)
{
    assert(op->home != NULL && op->done != NULL);
    if (op->kind == TOKEN_CREATE)
        return check_create(op, err);
    assert(op->presented != NULL);
    return FL_OK;
}

enum fl_status tokens_submit(struct tokens *t, struct token_op *op, struct fl_error *err)
{
    struct token_work *w = NULL;
    enum fl_status     s;

    op->status = FL_OK;
    op->fault = TOKEN_NO_FAULT;
    op->expiry_ms = 0;
    op->err = (struct fl_error){ 0 };
    fl_buf_init(&op->out_url, 0);
    fl_buf_init(&op->out_text, 0);
    if ((s = check_op(op, err)) != FL_OK || (s = token_work_new(&w, t, op, err)) != FL_OK)
        return s;
    op->private_ = w;
    if (op->kind == TOKEN_CREATE)
        token_create_start(w);
    else
        token_change_start(w);
    return FL_OK;
}

void token_op_done(struct token_op *op)
{
    if (op->out_url.data != NULL)
        fl_wipe(op->out_url.data, op->out_url.cap);
    fl_buf_done(&op->out_url);
    fl_buf_done(&op->out_text);
}
