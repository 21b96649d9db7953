/* What a store tells the token manager unasked, and how the two begin and end together. */
#include "base/log.h"
#include "token_scripted.h"

/* ---- what a shared store tells ------------------------------------------------------------------------------------------------------ */

static void record_of(struct fl_buf *b, const struct issued *i, int64_t renew_ms)
{
    fl_buf_init(b, 0);
    assert_true(token_record_put(b, i->token.identifier, renew_ms, i->token.password));
}

static void changes_made_elsewhere_are_learnt(void **state)
{
    struct scripted *s = start();
    struct issued    t, other;
    struct fl_buf    record;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    record_of(&record, &t, NOW + 3 * DAY);
    assert_int_equal(tokens_learn_token(s->w.tokens, fl_buf_slice(&record), NULL), FL_OK);
    fl_buf_done(&record);
    atomic_store(&fake_wall, NOW + 2 * DAY);
    assert_accepted(&s->w, &t);
    tokens_forget_token(s->w.tokens, t.id.sequence);
    assert_unknown(&s->w, &t);
    tokens_forget_token(s->w.tokens, t.id.sequence);
    record_of(&record, &t, NOW + 3 * DAY);
    assert_int_equal(tokens_learn_token(s->w.tokens, fl_buf_slice(&record), NULL), FL_OK);
    assert_accepted(&s->w, &t);
    fl_buf_done(&record);
    other = t; /* the same number with another password takes its place */
    other.token.password = FL_LIT("twelve bytes");
    record_of(&record, &other, NOW + 3 * DAY);
    assert_int_equal(tokens_learn_token(s->w.tokens, fl_buf_slice(&record), NULL), FL_OK);
    assert_accepted(&s->w, &other);
    assert_int_equal(verify(&s->w, &t, NULL), FL_DENIED);
    assert_int_equal(stats_of(&s->w).live, 1);
    fl_buf_done(&record);
    issued_done(&t);
    finish(s);
}

static void records_that_are_none_are_refused(void **state)
{
    struct scripted        *s = start();
    struct token_identifier id = { .owner = FL_LIT("alice"), .sequence = -5, .master_key_id = 1 };
    struct fl_buf           identifier, record;
    struct fl_error         err;

    (void)state;
    assert_int_equal(tokens_learn_token(s->w.tokens, FL_LIT("no token"), &err), FL_MALFORMED);
    fl_buf_init(&identifier, 0);
    fl_buf_init(&record, 0);
    assert_true(token_identifier_put(&identifier, &id));
    assert_true(token_record_put(&record, fl_buf_slice(&identifier), NOW, FL_LIT("password")));
    assert_int_equal(tokens_learn_token(s->w.tokens, fl_buf_slice(&record), &err), FL_MALFORMED);
    assert_string_equal(err.text, "token number -5, where 1 to 2147483647 are allowed");
    assert_int_equal(tokens_learn_key(s->w.tokens, FL_LIT("\x02"), &err), FL_MALFORMED);
    fl_buf_done(&identifier);
    fl_buf_done(&record);
    finish(s);
}

static void learn_number(struct scripted *s, int32_t number)
{
    struct token_identifier id = {
        .owner = FL_LIT("alice"), .sequence = number, .master_key_id = 1, .max_ms = NOW + DAY
    };
    struct fl_buf identifier, record;

    fl_buf_init(&identifier, 0);
    fl_buf_init(&record, 0);
    assert_true(token_identifier_put(&identifier, &id));
    assert_true(token_record_put(&record, fl_buf_slice(&identifier), NOW + DAY, FL_LIT("password")));
    assert_int_equal(tokens_learn_token(s->w.tokens, fl_buf_slice(&record), NULL), FL_OK);
    fl_buf_done(&identifier);
    fl_buf_done(&record);
}

/* The second time each must be found, or it would be there twice. */
static void many_are_learnt_and_found_in_a_table_that_grows(void **state)
{
    enum { MANY = 9000 };
    struct scripted *s = start();

    (void)state;
    for (int32_t time = 0; time < 2; time++)
        for (int32_t n = 1; n <= MANY; n++) {
            learn_number(s, n);
            if (n % 1000 == 0)
                tokens_learnt_many(s->w.tokens);
        }
    assert_int_equal(stats_of(&s->w).live, MANY);
    finish(s);
}

/* Where the table may lack tokens, the store is asked for what isn't there. */
static void a_shared_store_is_asked_about_unknown_tokens(void **state)
{
    static struct fake_store f;
    struct world             w;
    struct issued            t;
    struct call              c;

    (void)state;
    world_init(&w);
    fake_store_init(&f);
    w.config.backend = &fake_shared_token_store;
    w.config.backend_arg = &f;
    world_open(&w);
    issue(&w, &t, "alice", "yarn");
    tokens_forget_token(w.tokens, t.id.sequence);
    change(&w, &c, TOKEN_RENEW, &t, "yarn");
    assert_int_equal(c.op.status, FL_OK);
    token_op_done(&c.op);
    change(&w, &c, TOKEN_CANCEL, &t, "alice");
    assert_int_equal(c.op.status, FL_OK);
    token_op_done(&c.op);
    assert_refused(&w, TOKEN_CANCEL, &t, "alice", TOKEN_INVALID_TOKEN, "Token not found (<id>)");
    issued_done(&t);
    world_close(&w);
    fake_store_done(&f);
}

/* ---- start and end -------------------------------------------------------------------------------------------------------------------- */

static void assert_start_fails(enum token_store_verb verb, const char *sentence)
{
    static struct fake_store f;
    struct world             w;
    struct fl_error          err;

    world_init(&w);
    fake_store_init(&f);
    f.fail_next[verb] = FL_SYSTEM;
    w.config.backend = &fake_token_store;
    w.config.backend_arg = &f;
    assert_int_equal(tokens_open(&w.tokens, &w.config, &err), FL_SYSTEM);
    assert_string_equal(err.text, sentence);
    assert_int_equal(f.opened, 0);
    fake_store_done(&f);
}

static void a_start_without_the_store_fails(void **state)
{
    (void)state;
    assert_start_fails(TOKEN_STORE_ADD_KEY, "the first master key: the scripted store says system");
    assert_start_fails(TOKEN_STORE_NUMBERS, "the first token numbers: the scripted store says system");
}

static void what_is_under_way_at_the_end_is_dropped(void **state)
{
    struct scripted *s = start();
    struct call      calls[3] = { create_call("alice", "yarn"), create_call("bob", "") };
    struct issued    t;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    s->f.hold[TOKEN_STORE_CREATE] = s->f.hold[TOKEN_STORE_CANCEL] = true;
    call_submit(&s->w, &calls[0]);
    call_submit(&s->w, &calls[1]);
    calls[2] = change_call(TOKEN_CANCEL, &t, "alice");
    call_submit(&s->w, &calls[2]);
    finish(s);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(calls[i].done, 0);
        token_op_done(&calls[i].op);
    }
    issued_done(&t);
}

static void too_many_operations_are_refused(void **state)
{
    struct scripted *s = start();
    struct call      c = create_call("alice", "yarn");
    struct fl_error  err;

    (void)state;
    atomic_store(&s->w.tokens->under_way, WORK_MAX);
    c.op.home = &s->w.reactors.at[0];
    c.op.done = on_call_done;
    assert_int_equal(tokens_submit(s->w.tokens, &c.op, &err), FL_BUSY);
    assert_string_equal(err.text, "65536 token operations are under way, no more are taken");
    token_op_done(&c.op);
    atomic_store(&s->w.tokens->under_way, 0);
    finish(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_made_elsewhere_are_learnt),
        cmocka_unit_test(records_that_are_none_are_refused),
        cmocka_unit_test(many_are_learnt_and_found_in_a_table_that_grows),
        cmocka_unit_test(a_shared_store_is_asked_about_unknown_tokens),
        cmocka_unit_test(a_start_without_the_store_fails),
        cmocka_unit_test(what_is_under_way_at_the_end_is_dropped),
        cmocka_unit_test(too_many_operations_are_refused),
    };

    fl_log_setup(FL_LOG_NONE, false, 2);
    return cmocka_run_group_tests(tests, rcu_on, rcu_off);
}
