/* token_world.h - what tests of the token manager share: a manager on fake reactors, and its callers.
 *
 * Owns: a world its manager and reactors. Thread: the test's.                                                         */
#ifndef TOKEN_WORLD_H
#define TOKEN_WORLD_H

#include "fake_token_reactor.h"
#include "token/identifier.h"
#include "token/inside.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOW INT64_C(1796089057106)
#define DAY INT64_C(86400000)

struct world {
    struct io_reactors   reactors;
    struct tokens_config config;
    struct tokens       *tokens;
};

/* One call, with what came of it. */
struct call {
    struct token_op op;
    unsigned        done; /* how often it was called */
};

/* An issued token, taken apart. */
struct issued {
    struct fl_arena         arena;
    struct token            token;
    struct token_identifier id;
};

static inline void world_init(struct world *w)
{
    memset(w, 0, sizeof *w);
    fake_reactors_init(&w->reactors);
    atomic_store(&fake_wall, NOW);
    w->config = (struct tokens_config){
        .key_bits = 64,
        .key_update_ns = 86400 * FL_NS_PER_S,
        .max_lifetime_ns = 604800 * FL_NS_PER_S,
        .renew_interval_ns = 86400 * FL_NS_PER_S,
        .removal_scan_ns = 3600 * FL_NS_PER_S,
        .removal_grace_ns = 600 * FL_NS_PER_S,
        .reactors = &w->reactors,
        .wall_ms = fake_wall_ms,
    };
}

static inline void world_open(struct world *w)
{
    struct fl_error err = { 0 };

    if (tokens_open(&w->tokens, &w->config, &err) != FL_OK)
        fail_msg("%s", err.text);
    fake_reactors_begin(&w->reactors);
}

static inline void world_close(struct world *w)
{
    fake_reactors_end(&w->reactors);
    tokens_close(w->tokens);
    w->tokens = NULL;
    w->reactors.hooks = 0;
}

static inline void on_call_done(struct token_op *op)
{
    struct call *c = FL_CONTAINER(op, struct call, op);

    c->done++;
}

static inline void call_submit(struct world *w, struct call *c)
{
    struct fl_error err = { 0 };

    c->done = 0;
    c->op.done = on_call_done;
    if (c->op.home == NULL)
        c->op.home = &w->reactors.at[0];
    if (tokens_submit(w->tokens, &c->op, &err) != FL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(c->done, 0); /* never inside submit */
}

/* Delivers mail until the call is answered, waiting for another thread where there is one. */
static inline void call_finish(struct call *c)
{
    while (c->done == 0)
        fake_run_one(c->op.home);
    assert_int_equal(c->done, 1);
}

static inline struct call create_call(const char *owner, const char *renewer)
{
    return (struct call){ .op = { .kind = TOKEN_CREATE,
                                  .owner = fl_slice_str(owner),
                                  .renewer = fl_slice_str(renewer),
                                  .real_user = FL_LIT(""),
                                  .service = FL_LIT("") } };
}

static inline void take_apart(struct issued *i, struct fl_slice url)
{
    fl_arena_init(&i->arena, 512, 1 << 20);
    assert_int_equal(token_from_url(url, &i->arena, &i->token, NULL), FL_OK);
    assert_int_equal(token_identifier_get(i->token.identifier, &i->id, NULL), FL_OK);
}

static inline void issued_of(struct issued *i, struct call *c)
{
    if (c->op.status != FL_OK)
        fail_msg("%s", c->op.err.text);
    take_apart(i, fl_buf_slice(&c->op.out_url));
}

static inline void issue(struct world *w, struct issued *i, const char *owner, const char *renewer)
{
    struct call c = create_call(owner, renewer);

    call_submit(w, &c);
    call_finish(&c);
    issued_of(i, &c);
    assert_int_equal(c.op.expiry_ms, i->id.issue_ms + (int64_t)(w->config.renew_interval_ns / FL_NS_PER_MS));
    token_op_done(&c.op);
}

static inline void issued_done(struct issued *i)
{
    fl_arena_done(&i->arena);
}

static inline enum fl_status verify(struct world *w, const struct issued *i, struct fl_error *err)
{
    return tokens_verify(w->tokens, &i->token, &i->id, fake_wall_ms(NULL), err);
}

static inline void assert_accepted(struct world *w, const struct issued *i)
{
    struct fl_error err = { 0 };

    if (verify(w, i, &err) != FL_OK)
        fail_msg("refused: %s", err.text);
}

static inline void assert_unknown(struct world *w, const struct issued *i)
{
    struct fl_error err = { 0 };

    assert_int_equal(verify(w, i, &err), FL_DENIED);
    assert_string_equal(err.text, "Token for real user: , can't be found in cache");
}

static inline struct call change_call(enum token_op_kind kind, const struct issued *i, const char *caller)
{
    return (struct call){ .op = { .kind = kind, .caller = fl_slice_str(caller), .presented = &i->token } };
}

/* Renews or cancels and waits; the call is to be ended by token_op_done. */
static inline struct call *change(struct world *w, struct call *c, enum token_op_kind kind, const struct issued *i,
                                  const char *caller)
{
    *c = change_call(kind, i, caller);
    call_submit(w, c);
    call_finish(c);
    return c;
}

static inline void assert_changed(struct world *w, enum token_op_kind kind, const struct issued *i, const char *caller)
{
    struct call c;

    change(w, &c, kind, i, caller);
    if (c.op.status != FL_OK)
        fail_msg("%s", c.op.err.text);
    token_op_done(&c.op);
}

/* The whole sentence, with <id> standing for the identifier. */
static inline void assert_sentence(struct fl_buf *got, const struct token_identifier *id, const char *wanted)
{
    const char   *mark = strstr(wanted, "<id>");
    struct fl_buf b;

    fl_buf_init(&b, 0);
    assert_true(fl_buf_put(&b, wanted, mark == NULL ? strlen(wanted) : (size_t)(mark - wanted)));
    if (mark != NULL) {
        assert_true(token_identifier_describe(&b, id));
        assert_true(fl_buf_put_str(&b, mark + 4));
    }
    assert_true(fl_buf_put_byte(got, 0) && fl_buf_put_byte(&b, 0));
    assert_string_equal((const char *)fl_buf_slice(got).at, (const char *)fl_buf_slice(&b).at);
    fl_buf_done(&b);
}

static inline void assert_refused(struct world *w, enum token_op_kind kind, const struct issued *i, const char *caller,
                                  enum token_fault fault, const char *sentence)
{
    struct call c;

    change(w, &c, kind, i, caller);
    assert_int_equal(c.op.status, FL_DENIED);
    assert_int_equal(c.op.fault, fault);
    assert_memory_equal(c.op.err.text, sentence, 4);
    assert_sentence(&c.op.out_text, &i->id, sentence);
    token_op_done(&c.op);
}

static inline struct tokens_stats stats_of(struct world *w)
{
    struct tokens_stats s;

    tokens_stats(w->tokens, &s);
    return s;
}

/* Rewrites the identifier of an issued token and keeps its password. */
static inline void alter(struct issued *out, const struct issued *from, const struct token_identifier *id)
{
    struct fl_buf b;

    *out = *from;
    fl_arena_init(&out->arena, 512, 1 << 20);
    fl_buf_init(&b, 0);
    assert_true(token_identifier_put(&b, id));
    out->token.identifier = fl_arena_copy(&out->arena, fl_buf_slice(&b));
    fl_buf_done(&b);
    assert_int_equal(token_identifier_get(out->token.identifier, &out->id, NULL), FL_OK);
}

static int rcu_on(void **state)
{
    (void)state;
    fl_rcu_register();
    return 0;
}

static int rcu_off(void **state)
{
    (void)state;
    fl_rcu_unregister();
    return 0;
}

#endif
