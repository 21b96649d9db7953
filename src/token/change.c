#include "base/clock.h"
#include "token/inside.h"
#include "token/sign.h"

#include <inttypes.h>

/* Renew and cancel: the checks of 5.6 and 5.7 in their order, then the store. It alone decides whether the token is
 * there, since a cancel may be on its way before a renewal; the look here only spares it what can't succeed. */

static struct token_work *work_of(struct token_store_op *op)
{
    return FL_CONTAINER(op, struct token_work, store);
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

static void put_id(struct fl_buf *b, const char *before, const struct token_work *w, const char *after)
{
    fl_buf_put_str(b, before);
    token_identifier_describe(b, &w->fields);
    fl_buf_put_str(b, after);
}

static enum token_fault too_old(struct token_work *w, int64_t now)
{
    struct fl_buf *b = &w->op->out_text;

    token_put_name(b, w->caller);
    put_id(b, " tried to renew an expired token (", w, ") max expiration date: ");
    token_put_date(b, w->fields.max_ms);
    FL_BUF_LIT(b, " currentTime: ");
    token_put_date(b, now);
    return TOKEN_INVALID_TOKEN;
}

static enum token_fault refused(struct token_work *w, const char *before, const char *after, enum token_fault fault)
{
    token_put_name(&w->op->out_text, w->caller);
    put_id(&w->op->out_text, before, w, after);
    return fault;
}

static enum token_fault other_renewer(struct token_work *w)
{
    refused(w, " tries to renew a token (", ") with non-matching renewer ", TOKEN_ACCESS_CONTROL);
    token_put_name(&w->op->out_text, w->fields.renewer);
    return TOKEN_ACCESS_CONTROL;
}

static enum token_fault no_master_key(struct token_work *w)
{
    struct fl_buf *b = &w->op->out_text;

    fl_buf_printf(b, "Unable to find master key for keyId=%" PRId32, w->fields.master_key_id);
    put_id(b, " from cache. Failed to renew an unexpired token (", w, ") with sequenceNumber=");
    fl_buf_put_i64(b, w->fields.sequence);
    return TOKEN_INVALID_TOKEN;
}

static enum token_fault unknown(struct token_work *w)
{
    put_id(&w->op->out_text, w->op->kind == TOKEN_RENEW ? "Renewal request for unknown token (" : "Token not found (",
           w, ")");
    return TOKEN_INVALID_TOKEN;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* The bytes as presented are signed again, not the fields: Java does so too. */
static bool signed_by(const struct token_work *w, const struct token_key *key)
{
    uint8_t password[TOKEN_PASSWORD_MAX];
    size_t  len = token_password_bytes(w->tokens->algorithm);
    bool    same =
        token_sign(w->tokens->algorithm, token_key_bytes(key), w->presented.identifier, password, NULL) == FL_OK &&
        fl_equal_ct(fl_slice_of(password, len), w->presented.password);

    fl_wipe(password, sizeof password);
    return same;
}

static bool certainly_unknown(struct token_work *w)
{
    struct tokens *t = w->tokens;

    return t->backend->table_is_whole && token_table_find(t->table, w->presented.identifier, &w->fields) == NULL;
}

static enum token_fault check_renew(struct token_work *w, int64_t now)
{
    const struct token_key *key;

    if (w->fields.max_ms < now)
        return too_old(w, now);
    if (w->fields.renewer.len == 0)
        return refused(w, " tried to renew a token (", ") without a renewer", TOKEN_ACCESS_CONTROL);
    if (!fl_slice_equal(w->fields.renewer, w->caller))
        return other_renewer(w);
    if ((key = token_keys_find(w->tokens->keys, w->fields.master_key_id)) == NULL)
        return no_master_key(w);
    if (!signed_by(w, key))
        return refused(w, " is trying to renew a token (", ") with wrong password", TOKEN_ACCESS_CONTROL);
    return certainly_unknown(w) ? unknown(w) : TOKEN_NO_FAULT;
}

static enum token_fault check_cancel(struct token_work *w)
{
    bool owns = fl_slice_equal(w->fields.owner, w->caller);
    bool renews = w->fields.renewer.len > 0 && fl_slice_equal(w->fields.renewer, w->caller);

    if (w->fields.owner.len == 0) {
        put_id(&w->op->out_text, "Token with no owner (", w, ")");
        return TOKEN_INVALID_TOKEN;
    }
    if (!owns && !renews)
        return refused(w, " is not authorized to cancel the token (", ")", TOKEN_ACCESS_CONTROL);
    return certainly_unknown(w) ? unknown(w) : TOKEN_NO_FAULT;
}

/* ---- the store --------------------------------------------------------------------------------------------------- */

static enum fl_status publish_renewed(struct token_store_op *op)
{
    struct tokens      *t = work_of(op)->tokens;
    struct token_entry *e = token_table_find(t->table, op->identifier, &op->fields);
    enum fl_status      s = e == NULL ? FL_NOT_FOUND : token_table_renew(e, op->renew_ms);

    if (s == FL_OK)
        token_count(&t->renewed);
    return s;
}

static enum fl_status publish_cancelled(struct token_store_op *op)
{
    struct tokens      *t = work_of(op)->tokens;
    struct token_entry *e = token_table_find(t->table, op->identifier, &op->fields);
    enum fl_status      s = e == NULL ? FL_NOT_FOUND : token_table_remove(t->table, e);

    if (s == FL_OK)
        token_count(&t->cancelled);
    return s;
}

static void end_not_found(struct token_work *w)
{
    struct fl_error why;

    unknown(w);
    fl_fail(&why, FL_DENIED, 0, "%.*s", FL_SLICE_ARGS(fl_buf_slice(&w->op->out_text)));
    token_work_end(w, FL_DENIED, TOKEN_INVALID_TOKEN, &why);
}

static void on_changed(struct token_store_op *op)
{
    struct token_work *w = work_of(op);

    if (op->status == FL_NOT_FOUND) {
        end_not_found(w);
        return;
    }
    if (op->status == FL_OK)
        token_work_took(w);
    else
        token_count(&w->tokens->failures);
    if (op->status == FL_OK && w->op->kind == TOKEN_RENEW)
        w->op->expiry_ms = op->renew_ms;
    token_work_end(w, op->status, TOKEN_RUNTIME, &op->err);
}

static void ask_store(struct token_work *w, int64_t now)
{
    struct tokens  *t = w->tokens;
    struct fl_error err;
    enum fl_status  s;

    w->store.verb = w->op->kind == TOKEN_RENEW ? TOKEN_STORE_RENEW : TOKEN_STORE_CANCEL;
    w->store.identifier = w->presented.identifier;
    w->store.fields = w->fields;
    w->store.renew_ms = FL_MIN(w->fields.max_ms, now + t->renew_interval_ms);
    w->store.publish = w->op->kind == TOKEN_RENEW ? publish_renewed : publish_cancelled;
    w->store.done = on_changed;
    w->asked_ns = fl_now_ns();
    s = t->backend->submit(t->store, &w->store, &err);
    if (s == FL_OK)
        return;
    token_count(&t->failures);
    token_work_end_later(w, s, TOKEN_RUNTIME, &err);
}

void token_change_start(struct token_work *w)
{
    int64_t          now = token_now_ms(w->tokens);
    struct fl_error  err;
    enum token_fault fault;

    if (token_identifier_get(w->presented.identifier, &w->fields, &err) != FL_OK) {
        token_work_end_later(w, FL_MALFORMED, TOKEN_IO, &err);
        return;
    }
    fault = w->op->kind == TOKEN_RENEW ? check_renew(w, now) : check_cancel(w);
    if (fault == TOKEN_NO_FAULT)
        ask_store(w, now);
    else
        token_work_refuse(w, fault);
}
