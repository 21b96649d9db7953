/* Who asks: cookie, else delegation token, else the authenticator; then doAs.
 *
 * The order and every answer on the way are the Java filter's: a valid cookie wins over a token, a token that is there
 * must be right, and an operation on tokens is never authenticated by a token. */
#include "kms/call.h"
#include "kms/words.h"

#include <stdio.h>

/* ---- the ways to authenticate ------------------------------------------------------------------------------------ */

/* The name that the request gives is believed. */
static bool simple(struct kms_call *c, struct auth_cookie *cookie, bool *answered)
{
    struct fl_slice user = c->query.value[KMS_P_USER_NAME];

    *answered = false;
    if (user.at == NULL)
        return false;
    if (user.len == 0 || fl_slice_find(user, '&') != SIZE_MAX) {
        struct fl_slice why = FL_LIT("java.lang.IllegalArgumentException: userName is NULL, empty or contains a '&'");

        kms_send_page(
            c, &(struct kms_page){ .status = 500, .message = why, .reason = FL_LIT("Server Error"), .thrown = true });
        *answered = true;
        return false;
    }
    *cookie = (struct auth_cookie){ .user = user,
                                    .principal = user,
                                    .type = fl_slice_str(c->kms->authenticator->cookie_type) };
    return true;
}

static const struct kms_authenticator authenticators[] = {
    { "simple", "simple-dt", "PseudoAuth", 403, simple },
};

const struct kms_authenticator *kms_authenticator_at(int index)
{
    return &authenticators[index];
}

/* ---- the cookie -------------------------------------------------------------------------------------------------- */

enum cookie_state { COOKIE_NONE, COOKIE_GOOD, COOKIE_BAD };

static bool is_ascii(struct fl_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] >= 0x80)
            return false;
    return true;
}

static enum cookie_state read_cookie(struct kms_call *c, struct auth_cookie *cookie, struct fl_error *why)
{
    struct fl_slice value;

    for (size_t i = 0; i < c->r->header_count; i++) {
        const struct http_header *h = &c->r->headers[i];

        if (!fl_slice_equal_nocase(h->name, FL_LIT("Cookie")) || !auth_cookie_find(h->value, "hadoop.auth", &value))
            continue;
        if (!is_ascii(value)) /* the container drops such a cookie */
            return COOKIE_NONE;
        return auth_cookie_verify(c->kms->cookies, value, c->now_ms, cookie, why) == FL_OK ? COOKIE_GOOD : COOKIE_BAD;
    }
    return COOKIE_NONE;
}

/* A sliding window moves with every request; cookies that outlive the browser have none. */
static void slide(struct kms_call *c, const struct auth_cookie *cookie)
{
    const struct kms_config *f = &c->kms->config;

    if (f->cookie_inactive_ns == 0 || f->cookie_persistent)
        return;
    c->cookie = *cookie;
    c->cookie.inactive_ms = c->now_ms + (int64_t)(f->cookie_inactive_ns / 1000000);
    c->set_cookie = true;
}

/* ---- the delegation token ---------------------------------------------------------------------------------------- */

static void refuse_undecodable(struct kms_call *c, const struct fl_error *err)
{
    kms_meter(c, KMS_M_TOKEN_REFUSED);
    kms_refuse_text(c, KMS_F_AUTHENTICATION, fl_slice_str(err->text));
}

/* The verdict is asked for again, now with its whole sentence: names may be longer than an error's text. */
static void refuse_unverified(struct kms_call *c, const struct token *t, const struct token_identifier *id)
{
    struct fl_buf *b = &c->here->text;

    kms_meter(c, KMS_M_TOKEN_REFUSED);
    fl_buf_clear(b);
    FL_BUF_LIT(b, "org.apache.hadoop.security.token.SecretManager$InvalidToken: ");
    FL_IGNORE(tokens_verify_tell(c->kms->tokens, t, id, c->now_ms, b)); /* refused a moment ago, and it stays so */
    kms_refuse_text(c, KMS_F_AUTHENTICATION, fl_buf_slice(b));
}

/* False: answered. */
static FL_CHECKED bool by_token(struct kms_call *c, struct fl_slice url_text)
{
    struct token            t;
    struct token_identifier id;
    struct fl_error         err;

    if (token_from_url(url_text, c->arena, &t, &err) != FL_OK ||
        token_identifier_get(t.identifier, &id, &err) != FL_OK) {
        refuse_undecodable(c, &err);
        return false;
    }
    if (tokens_verify(c->kms->tokens, &t, &id, c->now_ms, NULL) != FL_OK) {
        refuse_unverified(c, &t, &id);
        return false;
    }
    kms_meter(c, KMS_M_TOKEN_VERIFIED);
    c->user = id.owner;
    c->user_short = auth_short_name(id.owner);
    return kms_stand_behind(c, id.real_user);
}

/* ---- names of users ----------------------------------------------------------------------------------------------- */

void kms_throw(struct kms_call *c, struct fl_slice what)
{
    kms_send_page(
        c, &(struct kms_page){ .status = 500, .message = what, .reason = FL_LIT("Server Error"), .thrown = true });
}

bool kms_take_name(struct kms_call *c, struct fl_slice name, struct fl_slice *short_name)
{
    struct fl_buf *b = &c->here->text;

    *short_name = auth_short_name(name);
    if (!auth_name_malformed(name))
        return true;
    fl_buf_clear(b);
    FL_BUF_LIT(b, "java.lang.IllegalArgumentException: Malformed Kerberos name: ");
    fl_buf_put_slice(b, name);
    kms_throw(c, fl_buf_slice(b));
    return false;
}

bool kms_stand_behind(struct kms_call *c, struct fl_slice real)
{
    struct fl_slice real_short = auth_short_name(real);
    uint8_t        *at;

    c->real_user = real;
    if (real.len == 0)
        return true;
    if ((at = fl_arena_take(c->arena, real_short.len + 1)) == NULL) {
        kms_refuse_no_memory(c);
        return false;
    }
    at[0] = '~';
    memcpy(at + 1, real_short.at, real_short.len);
    c->behind = fl_slice_of(at, real_short.len + 1);
    return true;
}

/* ---- doAs -------------------------------------------------------------------------------------------------------- */

static void refuse_host(struct kms_call *c, struct fl_slice shown)
{
    kms_refuse(c, KMS_F_AUTHORIZATION, "Unauthorized connection for super-user: %.*s from IP /%s", FL_SLICE_ARGS(shown),
               io_conn_peer_text(http_conn_of(c->x)));
}

bool kms_act_for(struct kms_call *c, struct fl_slice shown)
{
    struct fl_slice            wanted = c->query.value[KMS_P_DO_AS], wanted_short;
    const struct auth_proxies *proxies = c->kms->proxies;
    enum acl_answer            answer;

    if (wanted.at == NULL)
        return true;
    if (wanted.len == 0) {
        kms_throw(c, FL_LIT("java.lang.IllegalArgumentException: Null user"));
        return false;
    }
    if (!kms_take_name(c, wanted, &wanted_short))
        return false;
    answer = auth_proxy_user_allowed(proxies, c->user_short, wanted_short, NULL);
    if (answer == ACL_NEEDS_GROUPS) {
        if (!kms_need_groups(c, wanted_short))
            return false;
        answer = auth_proxy_user_allowed(proxies, c->user_short, wanted_short, &c->groups);
    }
    if (answer != ACL_YES) {
        kms_refuse(c, KMS_F_AUTHORIZATION, "User: %.*s is not allowed to impersonate %.*s", FL_SLICE_ARGS(shown),
                   FL_SLICE_ARGS(wanted));
        return false;
    }
    if (!auth_proxy_host_allowed(proxies, c->user_short, io_conn_peer_text(http_conn_of(c->x)))) {
        refuse_host(c, shown);
        return false;
    }
    if (!kms_stand_behind(c, c->user))
        return false;
    c->user = wanted;
    c->user_short = wanted_short;
    return true;
}

/* ---- the filter -------------------------------------------------------------------------------------------------- */

static void note_unauthenticated(struct kms_call *c, struct fl_slice why)
{
    struct fl_slice url = kms_url(c, false);
    struct fl_buf  *b = &c->here->head;

    if (c->r->method == HTTP_OPTIONS) /* the probe of every client */
        return;
    fl_buf_clear(b);
    fl_buf_printf(b, "RemoteHost:%s Method:", io_conn_peer_text(http_conn_of(c->x)));
    fl_buf_put_slice(b, c->r->method_text);
    FL_BUF_LIT(b, " URL:");
    kms_words_put_masked(b, url);
    FL_BUF_LIT(b, " ErrorMsg:'");
    fl_buf_put_slice(b, why);
    FL_BUF_LIT(b, "'");
    kms_note(c, &(struct kms_note){ .status = AUDIT_UNAUTHENTICATED,
                                    .op = AUDIT_OPS,
                                    .text = fl_arena_copy(c->arena, fl_buf_slice(b)) });
}

static void challenge(struct kms_call *c, enum cookie_state state, const struct fl_error *cookie_fault)
{
    struct fl_slice why = state == COOKIE_BAD ? fl_slice_str(cookie_fault->text) : FL_LIT("Authentication required");

    note_unauthenticated(c, why);
    kms_send_page(
        c, &(struct kms_page){
               .status = 401, .message = why, .challenge = c->kms->authenticator->challenge, .clear_cookie = true });
}

/* The token's text: of the header, else of the query; .at NULL where there is none. */
static struct fl_slice presented(const struct kms_call *c)
{
    const struct fl_slice *header = http_header_find(c->r, "X-Hadoop-Delegation-Token");

    if (header == NULL)
        return c->query.value[KMS_P_DELEGATION];
    return header->at == NULL ? FL_LIT("") : *header;
}

/* Whoever has neither cookie nor token. */
static FL_CHECKED bool by_authenticator(struct kms_call *c, enum cookie_state state,
                                        const struct fl_error *cookie_fault)
{
    bool answered;

    if (!c->kms->authenticator->authenticate(c, &c->cookie, &answered)) {
        if (!answered)
            challenge(c, state, cookie_fault);
        return false;
    }
    c->set_cookie = true;
    c->user = c->cookie.principal;
    return true;
}

bool kms_filter(struct kms_call *c)
{
    struct auth_cookie cookie;
    struct fl_error    fault;
    enum cookie_state  state = read_cookie(c, &cookie, &fault);
    enum kms_token_op  op = kms_token_op_of(c);
    struct fl_slice    token;

    if (op != KMS_T_NONE) {
        kms_token_operation(c, op, state == COOKIE_GOOD ? &cookie : NULL);
        return false;
    }
    if (state == COOKIE_GOOD) {
        c->user = cookie.principal;
        slide(c, &cookie);
    } else if ((token = presented(c)).at != NULL) {
        return by_token(c, token);
    } else if (!by_authenticator(c, state, &fault)) {
        return false;
    }
    return kms_take_name(c, c->user, &c->user_short) && kms_act_for(c, c->user);
}
