/* The token manager without memory: each allocation fails once, and nothing is lost, leaked or half done. */
#include "token_world.h"

#include <setjmp.h>

#include "fake_malloc.c"

static bool submitted(struct world *w, struct call *c)
{
    c->op.home = &w->reactors.at[0];
    c->op.done = on_call_done;
    if (tokens_submit(w->tokens, &c->op, NULL) != FL_OK)
        return false;
    call_finish(c);
    return c->op.status == FL_OK;
}

static bool change_and_check(struct world *w, const struct issued *t, enum token_op_kind kind, const char *caller)
{
    struct call c = change_call(kind, t, caller);
    bool        good = submitted(w, &c);

    if (!good && c.done > 0)
        assert_int_equal(c.op.status, FL_NO_MEMORY);
    token_op_done(&c.op);
    return good;
}

/* The token of a call that succeeded, or the proof that one that failed gave nothing. */
static bool create_and_check(struct world *w, struct issued *t, struct call *c)
{
    if (!submitted(w, c)) {
        assert_int_equal(fl_buf_len(&c->op.out_url), 0);
        assert_int_equal(stats_of(w).live, 0);
        return false;
    }
    fl_arena_init(&t->arena, 512, 4096);
    if (token_from_url(fl_buf_slice(&c->op.out_url), &t->arena, &t->token, NULL) != FL_OK)
        return false;
    assert_int_equal(token_identifier_get(t->token.identifier, &t->id, NULL), FL_OK);
    assert_accepted(w, t);
    return true;
}

static bool live(struct world *w)
{
    struct issued t = { 0 };
    struct call   c = create_call("alice", "yarn");
    bool          good = create_and_check(w, &t, &c) && change_and_check(w, &t, TOKEN_RENEW, "yarn") &&
                change_and_check(w, &t, TOKEN_CANCEL, "alice");

    token_op_done(&c.op);
    fl_arena_done(&t.arena);
    return good;
}

static bool open_live_close(void)
{
    struct world w;
    bool         good;

    world_init(&w);
    if (tokens_open(&w.tokens, &w.config, NULL) != FL_OK)
        return false;
    fake_reactors_begin(&w.reactors);
    good = live(&w);
    world_close(&w);
    return good;
}

static void a_whole_life_survives_each_failing_allocation(void **state)
{
    (void)state;
    assert_true(open_live_close()); /* what is made once a process and thread isn't counted below */
    fail_each_allocation_once(open_live_close);
}

/* A sentence that finds no memory is still a refusal. */
static void a_refusal_without_memory_is_a_refusal(void **state)
{
    struct world  w;
    struct issued t;

    (void)state;
    world_init(&w);
    world_open(&w);
    issue(&w, &t, "alice", "yarn");
    for (unsigned n = 2; n <= 4; n++) { /* 1 is the operation itself */
        struct call c = change_call(TOKEN_CANCEL, &t, "mallory");

        fake_allocations = 0;
        fake_failing = n;
        assert_false(submitted(&w, &c));
        fake_failing = 0;
        assert_int_equal(c.done, 1);
        assert_int_equal(c.op.fault, TOKEN_ACCESS_CONTROL);
        token_op_done(&c.op);
        assert_accepted(&w, &t);
    }
    issued_done(&t);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_life_survives_each_failing_allocation),
        cmocka_unit_test(a_refusal_without_memory_is_a_refusal),
    };

    return cmocka_run_group_tests(tests, rcu_on, rcu_off);
}
