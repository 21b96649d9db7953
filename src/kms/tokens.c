/* Operations on delegation tokens: get, renew, cancel. Served on any path; parameters come from the query only. */
#include "kms/call.h"

#include "kms/words.h"

#include <string.h>

static const struct operation {
    const char *name;
    const char *method;
    bool        needs_caller;
} operations[] = {
    [KMS_T_GET] = { "GETDELEGATIONTOKEN", "GET", true },
    [KMS_T_RENEW] = { "RENEWDELEGATIONTOKEN", "PUT", true },
    [KMS_T_CANCEL] = { "CANCELDELEGATIONTOKEN", "PUT", false },
};

enum { WORDS_MAX = 1 << 20 };

#define CANNOT_CANCEL "Invalid delegation token, cannot cancel"

enum kms_token_op kms_token_op_of(const struct kms_call *c)
{
    struct fl_slice op = c->query.value[KMS_P_OP];

    if (op.len == 0 || c->r->method == HTTP_OPTIONS)
        return KMS_T_NONE;
    for (int i = 0; i < KMS_T_NONE; i++)
        if (fl_slice_equal_nocase(op, fl_slice_str(operations[i].name)))
            return (enum kms_token_op)i;
    return KMS_T_NONE;
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static FL_PRINTF(4, 5) void refuse_page(struct kms_call *c, int status, bool clear_cookie, const char *format, ...)
{
    struct fl_slice message = FL_LIT("Forbidden");
    struct fl_buf   words;
    va_list         args;

    fl_buf_init(&words, WORDS_MAX);
    va_start(args, format);
    if (kms_words_put(&words, format, args))
        message = fl_buf_slice(&words);
    va_end(args);
    kms_send_page(c, &(struct kms_page){ .status = status, .message = message, .clear_cookie = clear_cookie });
    fl_buf_done(&words);
}

/* What a token's decoder said: an IOException is the operation's answer, anything else is thrown. */
static void refuse_undecodable(struct kms_call *c, enum kms_token_op op, const struct fl_error *err)
{
    if (strncmp(err->text, "java.io.", 8) != 0)
        kms_throw(c, fl_slice_str(err->text));
    else if (op == KMS_T_CANCEL)
        refuse_page(c, 404, false, "%s", CANNOT_CANCEL);
    else
        refuse_page(c, 403, true, "%s", err->text);
}

static void refuse_unauthenticated(struct kms_call *c)
{
    const struct kms_authenticator *a = c->kms->authenticator;

    kms_send(c, &(struct kms_answer){ .status = a->token_operation_status,
                                      .content_type = "text/plain;charset=utf-8",
                                      .challenge = a->challenge });
}

/* ---- on its way -------------------------------------------------------------------------------------------------- */

struct token_job {
    struct token_op    op; /* first: done gives it back */
    struct http_ticket ticket;
    struct kms_call   *call; /* only after http_unpark */
    enum kms_token_op  kind;
};

static void answer_refused(struct kms_call *c, const struct token_job *j)
{
    static const char *const classes[] = {
        [TOKEN_NO_FAULT] = "java.io.IOException",
        [TOKEN_INVALID_TOKEN] = "org.apache.hadoop.security.token.SecretManager$InvalidToken",
        [TOKEN_ACCESS_CONTROL] = "org.apache.hadoop.security.AccessControlException",
        [TOKEN_IO] = "java.io.IOException",
        [TOKEN_RUNTIME] = "java.lang.RuntimeException",
    };
    const struct token_op *op = &j->op;
    struct fl_slice        sentence = fl_buf_slice(&op->out_text);

    if (sentence.len == 0)
        sentence = fl_slice_str(op->err.text);
    /* An outcome that is unknown, or no room: the client is sent to another host. */
    if (op->status == FL_TIMEOUT || op->status == FL_BUSY || op->status == FL_CLOSED)
        kms_refuse_text(c, KMS_F_BUSY, fl_slice_str(op->err.text));
    else if (op->fault == TOKEN_RUNTIME)
        kms_throw(c, fl_slice_str(op->err.text));
    else if (j->kind == KMS_T_CANCEL)
        refuse_page(c, 404, false, "%s", CANNOT_CANCEL);
    else
        refuse_page(c, 403, true, "%s: %.*s", classes[op->fault], FL_SLICE_ARGS(sentence));
}

static void answer(struct kms_call *c, struct token_job *j)
{
    struct fl_buf *b;

    c->set_cookie = false;
    if (j->op.status != FL_OK) {
        answer_refused(c, j);
        return;
    }
    b = kms_body(c);
    switch (j->kind) {
    case KMS_T_GET:
        FL_BUF_LIT(b, "{\"Token\":{\"urlString\":\"");
        fl_buf_put_slice(b, fl_buf_slice(&j->op.out_url));
        FL_BUF_LIT(b, "\"}}");
        kms_send_json(c, b);
        break;
    case KMS_T_RENEW:
        FL_BUF_LIT(b, "{\"long\":");
        fl_buf_put_i64(b, j->op.expiry_ms);
        FL_BUF_LIT(b, "}");
        kms_send_json(c, b);
        break;
    default: kms_send_empty(c);
    }
}

static void operation_done(struct token_op *op)
{
    struct token_job     *j = FL_CONTAINER(op, struct token_job, op);
    struct http_exchange *x = http_unpark(j->ticket);

    if (x != NULL) {
        j->call->x = x;
        j->call->now_ms = io_now_wall_ms(http_reactor_of(x));
        answer(j->call, j);
    }
    token_op_done(op);
    free(j);
}

/* Takes *op's inputs, which tokens_submit copies. */
static void go(struct kms_call *c, enum kms_token_op kind, const struct token_op *op)
{
    struct token_job *j = calloc(1, sizeof *j);
    struct fl_error   err;

    if (j == NULL) {
        kms_refuse_no_memory(c);
        return;
    }
    j->op = *op;
    j->op.home = http_reactor_of(c->x);
    j->op.done = operation_done;
    j->call = c;
    j->kind = kind;
    if (tokens_submit(c->kms->tokens, &j->op, &err) == FL_OK) {
        j->ticket = http_park(c->x);
        return;
    }
    j->op.status = err.status;
    j->op.err = err;
    answer(c, j);
    token_op_done(&j->op);
    free(j);
}

/* ---- the three --------------------------------------------------------------------------------------------------- */

static void get(struct kms_call *c)
{
    struct fl_slice renewer = c->query.value[KMS_P_RENEWER];

    kms_meter(c, KMS_M_TOKEN_CREATE);
    if (!kms_take_name(c, renewer.at == NULL ? c->user_short : renewer, &renewer))
        return;
    go(c, KMS_T_GET,
       &(struct token_op){ .kind = TOKEN_CREATE,
                           .owner = c->user,
                           .renewer = renewer,
                           .real_user = c->real_user,
                           .service = c->query.value[KMS_P_SERVICE] });
}

/* The token that is to be renewed or cancelled. False: answered. */
static FL_CHECKED bool presented(struct kms_call *c, enum kms_token_op op, struct token *t, struct token_identifier *id)
{
    struct fl_slice text = c->query.value[KMS_P_TOKEN];
    struct fl_error err;

    if (text.at == NULL) {
        refuse_page(c, 400, false, "Operation [%s] requires the parameter [token]", operations[op].name);
        return false;
    }
    if (token_from_url(text, c->arena, t, &err) != FL_OK || token_identifier_get(t->identifier, id, &err) != FL_OK) {
        refuse_undecodable(c, op, &err);
        return false;
    }
    return true;
}

static void renew(struct kms_call *c)
{
    struct token            t;
    struct token_identifier id;

    kms_meter(c, KMS_M_TOKEN_RENEW);
    if (presented(c, KMS_T_RENEW, &t, &id))
        go(c, KMS_T_RENEW, &(struct token_op){ .kind = TOKEN_RENEW, .caller = c->user_short, .presented = &t });
}

/* Java's client sends nothing but the token: whoever holds one that verifies may cancel it. */
static void cancel(struct kms_call *c, bool authenticated)
{
    struct token            t;
    struct token_identifier id;
    struct fl_slice         caller = c->user_short;

    kms_meter(c, KMS_M_TOKEN_CANCEL);
    if (!presented(c, KMS_T_CANCEL, &t, &id))
        return;
    if (!authenticated) {
        if (tokens_verify(c->kms->tokens, &t, &id, c->now_ms, NULL) != FL_OK) {
            refuse_page(c, 404, false, "%s", CANNOT_CANCEL);
            return;
        }
        caller = auth_short_name(id.owner);
    }
    go(c, KMS_T_CANCEL, &(struct token_op){ .kind = TOKEN_CANCEL, .caller = caller, .presented = &t });
}

/* Who asks: the cookie's user, else, where the operation needs one, the authenticator's. False: answered. */
static FL_CHECKED bool find_caller(struct kms_call *c, enum kms_token_op op, const struct auth_cookie *cookie,
                                   bool *found)
{
    struct auth_cookie fresh;
    bool               answered = false;

    *found = true;
    if (cookie != NULL) {
        c->user = cookie->user;
    } else if (!operations[op].needs_caller) {
        *found = false;
        return true;
    } else if (c->kms->authenticator->authenticate(c, &fresh, &answered)) {
        c->user = fresh.user;
    } else {
        if (!answered)
            refuse_unauthenticated(c);
        return false;
    }
    return kms_take_name(c, c->user, &c->user_short) && kms_act_for(c, c->user_short);
}

void kms_token_operation(struct kms_call *c, enum kms_token_op op, const struct auth_cookie *cookie)
{
    bool authenticated;

    if (!fl_slice_equal(c->r->method_text, fl_slice_str(operations[op].method))) {
        refuse_page(c, 400, false, "Wrong HTTP method [%.*s] for operation [%s], it should be [%s]",
                    FL_SLICE_ARGS(c->r->method_text), operations[op].name, operations[op].method);
        return;
    }
    if (!find_caller(c, op, cookie, &authenticated))
        return;
    if (op == KMS_T_GET)
        get(c);
    else if (op == KMS_T_RENEW)
        renew(c);
    else
        cancel(c, authenticated);
}
