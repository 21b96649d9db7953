/* The token manager over a scripted store: what must hold while the store is slow, fails or answers in another order.
 * The cases follow HADOOP-20045: creation in stages, none of which delays or deceives a verifier. */
#include "base/log.h"
#include "token_scripted.h"

/* Issues tokens until the next creation needs a range that isn't there. */
static void use_up_numbers(struct scripted *s)
{
    struct tokens *t = s->w.tokens;

    while (t->numbers.next != t->numbers.end || t->numbers.spare_next != t->numbers.spare_end) {
        struct issued i;

        issue(&s->w, &i, "alice", "yarn");
        issued_done(&i);
    }
}

/* ---- creation held ------------------------------------------------------------------------------------------------------ */

static void a_cached_token_verifies_while_a_creation_waits_for_its_number(void **state)
{
    struct scripted *s = start();
    struct issued    cached, fresh;
    struct call      c = create_call("bob", "rm");

    (void)state;
    issue(&s->w, &cached, "alice", "yarn");
    s->f.hold[TOKEN_STORE_NUMBERS] = true;
    use_up_numbers(s);
    call_submit(&s->w, &c);
    deliver(s);
    assert_int_equal(c.done, 0);
    assert_accepted(&s->w, &cached);
    assert_changed(&s->w, TOKEN_RENEW, &cached, "yarn"); /* and renewals don't wait either */
    fake_store_go(&s->f, TOKEN_STORE_NUMBERS);
    deliver(s);
    call_finish(&c);
    issued_of(&fresh, &c);
    assert_accepted(&s->w, &fresh);
    token_op_done(&c.op);
    issued_done(&fresh);
    issued_done(&cached);
    finish(s);
}

static void a_cached_token_verifies_while_a_creation_is_being_stored(void **state)
{
    struct scripted *s = start();
    struct issued    cached, other;
    struct call      c = create_call("bob", "rm");

    (void)state;
    issue(&s->w, &cached, "alice", "yarn");
    s->f.hold[TOKEN_STORE_CREATE] = true;
    call_submit(&s->w, &c);
    deliver(s);
    assert_int_equal(c.done, 0);
    assert_accepted(&s->w, &cached);
    assert_changed(&s->w, TOKEN_RENEW, &cached, "yarn");
    s->f.hold[TOKEN_STORE_CREATE] = false; /* another creation passes it */
    issue(&s->w, &other, "carol", "");
    assert_accepted(&s->w, &other);
    assert_int_equal(c.done, 0);
    fake_store_go(&s->f, TOKEN_STORE_CREATE);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_OK);
    token_op_done(&c.op);
    issued_done(&other);
    issued_done(&cached);
    finish(s);
}

/* What is on its way to the store as a token, taken apart. */
static void under_way(struct issued *i, const struct token_store_op *op)
{
    struct token  t = { .identifier = op->identifier, .password = op->password };
    struct fl_buf url;

    fl_buf_init(&url, 0);
    assert_true(token_put_url(&url, &t));
    take_apart(i, fl_buf_slice(&url));
    fl_buf_done(&url);
}

static void a_token_is_unknown_until_it_is_stored_and_known_before_it_is_answered(void **state)
{
    struct scripted       *s = start();
    struct call            c = create_call("bob", "rm");
    struct token_store_op *op;
    struct issued          t;

    (void)state;
    s->f.hold[TOKEN_STORE_CREATE] = true;
    call_submit(&s->w, &c);
    op = fake_store_take(&s->f, TOKEN_STORE_CREATE);
    under_way(&t, op);
    assert_unknown(&s->w, &t);
    assert_int_equal(fake_store_carry_out(&s->f, op), FL_OK);
    assert_accepted(&s->w, &t);
    assert_int_equal(c.done, 0);
    fake_store_reply(&s->f, op, FL_OK);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_OK);
    token_op_done(&c.op);
    issued_done(&t);
    finish(s);
}

static void a_creation_that_failed_leaves_no_entry_and_no_token(void **state)
{
    struct scripted *s = start();
    struct call      c = create_call("bob", "rm");
    struct issued    t;

    (void)state;
    s->f.hold[TOKEN_STORE_CREATE] = true;
    call_submit(&s->w, &c);
    under_way(&t, s->f.waiting);
    fake_store_fail(&s->f, TOKEN_STORE_CREATE, FL_SYSTEM);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_SYSTEM);
    assert_int_equal(c.op.fault, TOKEN_RUNTIME);
    assert_string_equal(c.op.err.text, "the scripted store says system");
    assert_int_equal(fl_buf_len(&c.op.out_url), 0);
    assert_unknown(&s->w, &t);
    assert_int_equal(stats_of(&s->w).live, 0);
    assert_int_equal(stats_of(&s->w).created, 0);
    assert_int_equal(stats_of(&s->w).failures, 1);
    token_op_done(&c.op);
    issued_done(&t);
    finish(s);
}

static void a_store_that_takes_nothing_fails_the_call_by_mail(void **state)
{
    struct scripted *s = start();
    struct call      c = create_call("bob", "rm");

    (void)state;
    s->f.refuse[TOKEN_STORE_CREATE] = FL_BUSY;
    call_submit(&s->w, &c);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_BUSY);
    assert_string_equal(c.op.err.text, "the scripted store takes nothing");
    assert_int_equal(fl_buf_len(&c.op.out_url), 0);
    token_op_done(&c.op);
    finish(s);
}

/* A counter that was set back, or a peer that took numbers without it: Java fails, here the next number is tried. */
static void a_taken_number_is_passed_over(void **state)
{
    struct scripted *s = start();
    struct issued    first, second, third;

    (void)state;
    issue(&s->w, &first, "alice", "yarn");
    s->f.records[0].number = first.id.sequence + 1;
    issue(&s->w, &second, "alice", "yarn");
    assert_int_equal(second.id.sequence, first.id.sequence + 2);
    issue(&s->w, &third, "alice", "yarn");
    assert_int_equal(third.id.sequence, first.id.sequence + 3);
    issued_done(&third);
    issued_done(&second);
    issued_done(&first);
    finish(s);
}

static void three_taken_numbers_fail_the_call(void **state)
{
    struct scripted *s = start();
    struct call      c = create_call("alice", "yarn");

    (void)state;
    s->f.hold[TOKEN_STORE_CREATE] = true;
    call_submit(&s->w, &c);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(c.done, 0);
        fake_store_fail(&s->f, TOKEN_STORE_CREATE, FL_EXISTS);
        deliver(s);
    }
    assert_int_equal(c.done, 1);
    assert_int_equal(c.op.status, FL_EXISTS);
    assert_string_equal(c.op.err.text, "token number 3 is taken, as were the 2 before it that were tried");
    token_op_done(&c.op);
    finish(s);
}

/* ---- numbers -------------------------------------------------------------------------------------------------------------- */

static void the_next_range_is_fetched_before_it_is_needed(void **state)
{
    struct scripted *s = start();
    struct issued    t;

    (void)state;
    assert_int_equal(s->f.seen[TOKEN_STORE_NUMBERS], 1); /* at the start */
    for (int i = 0; i < 250; i++) {
        issue(&s->w, &t, "alice", "yarn");
        assert_int_equal(t.id.sequence, i + 1);
        issued_done(&t);
    }
    assert_int_equal(s->f.seen[TOKEN_STORE_NUMBERS], 3);
    assert_int_equal(s->f.numbers, 300);
    finish(s);
}

static void one_refill_at_a_time_serves_all_who_wait_in_their_order(void **state)
{
    struct scripted *s = start();
    struct call      calls[5];

    (void)state;
    s->f.hold[TOKEN_STORE_NUMBERS] = true;
    use_up_numbers(s);
    for (int i = 0; i < 5; i++) {
        calls[i] = create_call("alice", "yarn");
        calls[i].op.home = &s->w.reactors.at[i % 2];
        call_submit(&s->w, &calls[i]);
    }
    assert_int_equal(s->f.seen[TOKEN_STORE_NUMBERS], 2);
    fake_store_go(&s->f, TOKEN_STORE_NUMBERS);
    deliver(s);
    for (int i = 0; i < 5; i++) {
        struct issued t;

        call_finish(&calls[i]);
        issued_of(&t, &calls[i]);
        assert_int_equal(t.id.sequence, 101 + i);
        issued_done(&t);
        token_op_done(&calls[i].op);
    }
    finish(s);
}

static void an_interrupted_refill_aborts_its_calls_and_consumes_nothing(void **state)
{
    struct scripted *s = start();
    struct call      calls[3];
    struct issued    t;

    (void)state;
    s->f.hold[TOKEN_STORE_NUMBERS] = true;
    use_up_numbers(s);
    for (int i = 0; i < 3; i++) {
        calls[i] = create_call("alice", "yarn");
        call_submit(&s->w, &calls[i]);
    }
    fake_store_fail(&s->f, TOKEN_STORE_NUMBERS, FL_TIMEOUT);
    deliver(s);
    for (int i = 0; i < 3; i++) {
        call_finish(&calls[i]);
        assert_int_equal(calls[i].op.status, FL_TIMEOUT);
        assert_int_equal(calls[i].op.fault, TOKEN_RUNTIME);
        assert_string_equal(calls[i].op.err.text, "the scripted store says timeout");
        token_op_done(&calls[i].op);
    }
    assert_int_equal(s->f.seen[TOKEN_STORE_CREATE], 100);
    s->f.hold[TOKEN_STORE_NUMBERS] = false;
    issue(&s->w, &t, "alice", "yarn");
    assert_int_equal(t.id.sequence, 101);
    issued_done(&t);
    finish(s);
}

/* The range in use is not lost when the one fetched ahead fails. */
static void a_refill_ahead_of_need_may_fail_unnoticed(void **state)
{
    struct scripted *s = start();
    struct issued    t;

    (void)state;
    for (int i = 0; i < 150; i++) {
        if (i == 50)
            s->f.fail_next[TOKEN_STORE_NUMBERS] = FL_SYSTEM;
        issue(&s->w, &t, "alice", "yarn");
        assert_int_equal(t.id.sequence, i + 1);
        issued_done(&t);
    }
    assert_int_equal(stats_of(&s->w).failures, 1);
    finish(s);
}

static void a_range_doubles_when_it_is_used_up_too_fast_and_shrinks_when_idle(void **state)
{
    static struct call calls[400];
    struct scripted   *s = start();
    int32_t            size;

    (void)state;
    s->f.hold[TOKEN_STORE_NUMBERS] = true;
    for (int i = 0; i < 400; i++) {
        calls[i] = create_call("alice", "yarn");
        call_submit(&s->w, &calls[i]);
    }
    s->f.hold[TOKEN_STORE_NUMBERS] = false;
    assert_int_equal(s->f.last_count, 100);
    fake_store_go(&s->f, TOKEN_STORE_NUMBERS);
    for (int i = 0; i < 400; i++) {
        call_finish(&calls[i]);
        assert_int_equal(calls[i].op.status, FL_OK);
        token_op_done(&calls[i].op);
    }
    assert_true(s->f.last_count >= 200);
    size = s->w.tokens->numbers.want;
    for (int i = 0; s->w.tokens->numbers.want >= size; i++) { /* now each refill is answered at once */
        struct issued t;

        assert_true(i < 20000 && s->f.count < FAKE_RECORDS);
        issue(&s->w, &t, "alice", "yarn");
        assert_changed(&s->w, TOKEN_CANCEL, &t, "alice");
        issued_done(&t);
    }
    assert_int_equal(s->w.tokens->numbers.want, size / 2);
    finish(s);
}

static void numbers_end_at_the_largest_of_32_bits_and_never_wrap(void **state)
{
    struct scripted *s = start();
    struct call      c;
    struct issued    t;

    (void)state;
    s->f.hold[TOKEN_STORE_NUMBERS] = true;
    use_up_numbers(s);
    s->f.numbers = INT32_MAX - 7; /* others used them */
    s->f.hold[TOKEN_STORE_NUMBERS] = false;
    fake_store_go(&s->f, TOKEN_STORE_NUMBERS);
    deliver(s);
    for (int i = 6; i >= 0; i--) {
        issue(&s->w, &t, "alice", "yarn");
        assert_int_equal(t.id.sequence, INT32_MAX - i);
        assert_accepted(&s->w, &t);
        issued_done(&t);
    }
    c = create_call("alice", "yarn");
    call_submit(&s->w, &c);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_DENIED);
    assert_int_equal(c.op.fault, TOKEN_RUNTIME);
    assert_string_equal(c.op.err.text, "no token numbers are left: the counter stands at its end, 2147483647");
    assert_int_equal(s->f.numbers, INT32_MAX);
    token_op_done(&c.op);
    finish(s);
}

/* ---- races in scripted orders ---------------------------------------------------------------------------------------------- */

static void a_renewal_that_comes_after_a_cancel_does_not_resurrect(void **state)
{
    struct scripted *s = start();
    struct issued    t;
    struct call      renew, cancel;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    s->f.hold[TOKEN_STORE_RENEW] = s->f.hold[TOKEN_STORE_CANCEL] = true;
    renew = change_call(TOKEN_RENEW, &t, "yarn");
    cancel = change_call(TOKEN_CANCEL, &t, "alice");
    call_submit(&s->w, &renew);
    call_submit(&s->w, &cancel);
    fake_store_go(&s->f, TOKEN_STORE_CANCEL);
    call_finish(&cancel);
    assert_int_equal(cancel.op.status, FL_OK);
    assert_unknown(&s->w, &t);
    fake_store_go(&s->f, TOKEN_STORE_RENEW);
    call_finish(&renew);
    assert_int_equal(renew.op.status, FL_DENIED);
    assert_int_equal(renew.op.fault, TOKEN_INVALID_TOKEN);
    assert_sentence(&renew.op.out_text, &t.id, "Renewal request for unknown token (<id>)");
    assert_unknown(&s->w, &t);
    assert_int_equal(s->f.count, 0);
    token_op_done(&renew.op);
    token_op_done(&cancel.op);
    issued_done(&t);
    finish(s);
}

static void a_cancel_that_comes_after_a_renewal_wins(void **state)
{
    struct scripted *s = start();
    struct issued    t;
    struct call      renew, cancel;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    s->f.hold[TOKEN_STORE_RENEW] = s->f.hold[TOKEN_STORE_CANCEL] = true;
    cancel = change_call(TOKEN_CANCEL, &t, "alice");
    renew = change_call(TOKEN_RENEW, &t, "yarn");
    call_submit(&s->w, &cancel);
    call_submit(&s->w, &renew);
    fake_store_go(&s->f, TOKEN_STORE_RENEW);
    fake_store_go(&s->f, TOKEN_STORE_CANCEL);
    call_finish(&renew);
    call_finish(&cancel);
    assert_int_equal(renew.op.status, FL_OK);
    assert_int_equal(cancel.op.status, FL_OK);
    assert_unknown(&s->w, &t);
    token_op_done(&renew.op);
    token_op_done(&cancel.op);
    issued_done(&t);
    finish(s);
}

static void two_cancels_remove_once(void **state)
{
    struct scripted *s = start();
    struct issued    t;
    struct call      first, second;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    s->f.hold[TOKEN_STORE_CANCEL] = true;
    first = change_call(TOKEN_CANCEL, &t, "alice");
    second = change_call(TOKEN_CANCEL, &t, "yarn");
    call_submit(&s->w, &first);
    call_submit(&s->w, &second);
    fake_store_go(&s->f, TOKEN_STORE_CANCEL);
    fake_store_go(&s->f, TOKEN_STORE_CANCEL);
    call_finish(&first);
    call_finish(&second);
    assert_int_equal(first.op.status, FL_OK);
    assert_sentence(&second.op.out_text, &t.id, "Token not found (<id>)");
    assert_int_equal(stats_of(&s->w).cancelled, 1);
    token_op_done(&first.op);
    token_op_done(&second.op);
    issued_done(&t);
    finish(s);
}

/* The cancel is durable, then gone from the table, then answered; if it fails the token stays. */
static void a_cancel_takes_effect_before_its_answer_and_not_when_it_fails(void **state)
{
    struct scripted       *s = start();
    struct token_store_op *op;
    struct issued          t;
    struct call            c;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    s->f.fail_next[TOKEN_STORE_CANCEL] = FL_TIMEOUT;
    change(&s->w, &c, TOKEN_CANCEL, &t, "alice");
    assert_int_equal(c.op.status, FL_TIMEOUT);
    assert_int_equal(c.op.fault, TOKEN_RUNTIME); /* not "invalid": the token is good, and lives on */
    assert_accepted(&s->w, &t);
    token_op_done(&c.op);
    s->f.hold[TOKEN_STORE_CANCEL] = true;
    c = change_call(TOKEN_CANCEL, &t, "alice");
    call_submit(&s->w, &c);
    assert_accepted(&s->w, &t);
    op = fake_store_take(&s->f, TOKEN_STORE_CANCEL);
    assert_int_equal(fake_store_carry_out(&s->f, op), FL_OK);
    assert_unknown(&s->w, &t);
    assert_int_equal(c.done, 0);
    fake_store_reply(&s->f, op, FL_OK);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_OK);
    token_op_done(&c.op);
    issued_done(&t);
    finish(s);
}

static void a_renewal_shows_only_when_it_is_stored(void **state)
{
    struct scripted *s = start();
    struct issued    t;
    struct call      c;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    atomic_store(&fake_wall, NOW + DAY + 1);
    s->f.hold[TOKEN_STORE_RENEW] = true;
    c = change_call(TOKEN_RENEW, &t, "yarn");
    call_submit(&s->w, &c);
    assert_int_equal(verify(&s->w, &t, NULL), FL_DENIED);
    fake_store_fail(&s->f, TOKEN_STORE_RENEW, FL_SYSTEM);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_SYSTEM);
    assert_int_equal(c.op.fault, TOKEN_RUNTIME);
    assert_int_equal(verify(&s->w, &t, NULL), FL_DENIED);
    token_op_done(&c.op);
    c = change_call(TOKEN_RENEW, &t, "yarn");
    call_submit(&s->w, &c);
    fake_store_go(&s->f, TOKEN_STORE_RENEW);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_OK);
    assert_accepted(&s->w, &t);
    token_op_done(&c.op);
    issued_done(&t);
    finish(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cached_token_verifies_while_a_creation_waits_for_its_number),
        cmocka_unit_test(a_cached_token_verifies_while_a_creation_is_being_stored),
        cmocka_unit_test(a_token_is_unknown_until_it_is_stored_and_known_before_it_is_answered),
        cmocka_unit_test(a_creation_that_failed_leaves_no_entry_and_no_token),
        cmocka_unit_test(a_store_that_takes_nothing_fails_the_call_by_mail),
        cmocka_unit_test(a_taken_number_is_passed_over),
        cmocka_unit_test(three_taken_numbers_fail_the_call),
        cmocka_unit_test(the_next_range_is_fetched_before_it_is_needed),
        cmocka_unit_test(one_refill_at_a_time_serves_all_who_wait_in_their_order),
        cmocka_unit_test(an_interrupted_refill_aborts_its_calls_and_consumes_nothing),
        cmocka_unit_test(a_refill_ahead_of_need_may_fail_unnoticed),
        cmocka_unit_test(a_range_doubles_when_it_is_used_up_too_fast_and_shrinks_when_idle),
        cmocka_unit_test(numbers_end_at_the_largest_of_32_bits_and_never_wrap),
        cmocka_unit_test(a_renewal_that_comes_after_a_cancel_does_not_resurrect),
        cmocka_unit_test(a_cancel_that_comes_after_a_renewal_wins),
        cmocka_unit_test(two_cancels_remove_once),
        cmocka_unit_test(a_cancel_takes_effect_before_its_answer_and_not_when_it_fails),
        cmocka_unit_test(a_renewal_shows_only_when_it_is_stored),
    };

    fl_log_setup(FL_LOG_NONE, false, 2);
    return cmocka_run_group_tests(tests, rcu_on, rcu_off);
}
