/* Master keys that roll and expired tokens that go, by a clock turned by hand, over a scripted store. */
#include "base/log.h"
#include "token_scripted.h"

/* ---- master keys ------------------------------------------------------------------------------------------------------------- */

static void roll(struct scripted *s)
{
    int32_t before = stats_of(&s->w).current_key_id;

    atomic_fetch_add(&fake_wall, DAY - 5000);
    assert_true(fake_pass(&s->w.reactors, 5000) >= 1);
    assert_int_equal(stats_of(&s->w).current_key_id, before + 1);
}

static void a_key_that_rolls_between_prepare_and_persist_does_no_harm(void **state)
{
    struct scripted *s = start();
    struct call      c = create_call("alice", "yarn");
    struct issued    t;

    (void)state;
    s->f.hold[TOKEN_STORE_CREATE] = true;
    call_submit(&s->w, &c);
    roll(s);
    fake_store_go(&s->f, TOKEN_STORE_CREATE);
    call_finish(&c);
    issued_of(&t, &c);
    assert_int_equal(t.id.master_key_id, 1);
    assert_accepted(&s->w, &t);
    assert_changed(&s->w, TOKEN_RENEW, &t, "yarn"); /* the old key lives as long as the token may */
    token_op_done(&c.op);
    issued_done(&t);
    finish(s);
}

static void keys_roll_every_interval_and_are_dropped_when_expired(void **state)
{
    struct scripted *s = start();
    struct issued    old, now;

    (void)state;
    issue(&s->w, &old, "alice", "yarn");
    assert_int_equal(s->f.key_count, 1); /* one a start: Java's second roll isn't needed */
    for (int day = 1; day <= 7; day++)
        roll(s);
    assert_int_equal(s->f.key_count, 8);
    /* Key 1 was replaced on day 1 and then given 7 days more. */
    assert_true(token_keys_find(s->w.tokens->keys, 1) != NULL);
    roll(s);
    assert_int_equal(s->f.key_count, 9);
    roll(s);
    assert_null(token_keys_find(s->w.tokens->keys, 1));
    assert_int_equal(s->f.key_count, 9);
    issue(&s->w, &now, "alice", "yarn");
    assert_int_equal(now.id.master_key_id, 10);
    issued_done(&old);
    issued_done(&now);
    finish(s);
}

static void nothing_rolls_before_its_time(void **state)
{
    struct scripted *s = start();

    (void)state;
    assert_true(fake_pass(&s->w.reactors, DAY - 10000) > 1000);
    assert_int_equal(stats_of(&s->w).current_key_id, 1);
    fake_pass(&s->w.reactors, 20000);
    assert_int_equal(stats_of(&s->w).current_key_id, 2);
    finish(s);
}

static void a_roll_that_fails_is_tried_again_and_its_key_is_not_used(void **state)
{
    struct scripted *s = start();
    struct issued    t;

    (void)state;
    atomic_fetch_add(&fake_wall, DAY);
    s->f.fail_next[TOKEN_STORE_ADD_KEY] = FL_TIMEOUT;
    fake_pass(&s->w.reactors, 5000);
    assert_int_equal(stats_of(&s->w).current_key_id, 1);
    assert_int_equal(stats_of(&s->w).failures, 1);
    issue(&s->w, &t, "alice", "yarn");
    assert_int_equal(t.id.master_key_id, 1);
    fake_pass(&s->w.reactors, 5000);
    assert_int_equal(stats_of(&s->w).current_key_id, 2);
    issued_done(&t);
    finish(s);
}

/* A key is used only after the store has it. */
static void a_key_is_not_used_while_it_is_being_stored(void **state)
{
    struct scripted *s = start();
    struct issued    t;

    (void)state;
    s->f.hold[TOKEN_STORE_ADD_KEY] = true;
    atomic_fetch_add(&fake_wall, DAY);
    fake_pass(&s->w.reactors, 5000);
    issue(&s->w, &t, "alice", "yarn");
    assert_int_equal(t.id.master_key_id, 1);
    issued_done(&t);
    fake_pass(&s->w.reactors, 60000); /* no second roll beside it */
    assert_int_equal(s->f.seen[TOKEN_STORE_ADD_KEY], 2);
    fake_store_go(&s->f, TOKEN_STORE_ADD_KEY);
    deliver(s);
    issue(&s->w, &t, "alice", "yarn");
    assert_int_equal(t.id.master_key_id, 2);
    issued_done(&t);
    finish(s);
}

static void a_clock_set_back_makes_the_roll_due(void **state)
{
    struct scripted *s = start();

    (void)state;
    atomic_store(&fake_wall, NOW - 30 * DAY);
    fake_pass(&s->w.reactors, 5000);
    assert_int_equal(stats_of(&s->w).current_key_id, 2);
    finish(s);
}

/* ---- the expiry scan ------------------------------------------------------------------------------------------------------------ */

static void only_tokens_expired_for_longer_than_the_grace_are_removed(void **state)
{
    struct scripted *s = start();
    struct issued    t, fresh;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    fake_pass(&s->w.reactors, DAY + 599000); /* just inside the grace */
    issue(&s->w, &fresh, "alice", "yarn");
    s->w.tokens->scan.last_ms = 0;
    fake_pass(&s->w.reactors, 500);
    assert_int_equal(s->f.count, 2);
    fake_pass(&s->w.reactors, 3600000 + 10000);
    assert_int_equal(s->f.count, 1);
    assert_int_equal(stats_of(&s->w).expired, 1);
    assert_unknown(&s->w, &t);
    assert_accepted(&s->w, &fresh);
    issued_done(&t);
    issued_done(&fresh);
    finish(s);
}

static void the_scan_comes_in_batches_and_lets_others_in_between(void **state)
{
    struct scripted *s = start();
    struct issued    t;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        issue(&s->w, &t, "alice", "yarn");
        issued_done(&t);
    }
    atomic_fetch_add(&fake_wall, 3 * DAY);
    s->f.most_under_way[TOKEN_STORE_EXPIRE] = 0;
    s->f.hold[TOKEN_STORE_EXPIRE] = true;
    fake_pass(&s->w.reactors, 5000);
    assert_int_equal(s->f.under_way, 64);
    fake_pass(&s->w.reactors, 60000); /* no more while these aren't done */
    assert_int_equal(s->f.most_under_way[TOKEN_STORE_EXPIRE], 64);
    while (s->f.under_way > 0)
        fake_store_go(&s->f, TOKEN_STORE_EXPIRE);
    deliver(s);
    assert_int_equal(s->f.count, 1000 - 64);
    s->f.hold[TOKEN_STORE_EXPIRE] = false;
    assert_true(fake_pass(&s->w.reactors, 1000) >= 14);
    assert_int_equal(s->f.count, 0);
    assert_int_equal(stats_of(&s->w).expired, 1000);
    assert_int_equal(stats_of(&s->w).live, 0);
    finish(s);
}

static void a_token_renewed_while_the_scan_asks_stays(void **state)
{
    struct scripted *s = start();
    struct issued    t;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    atomic_fetch_add(&fake_wall, 2 * DAY);
    s->f.hold[TOKEN_STORE_EXPIRE] = true;
    fake_pass(&s->w.reactors, 5000);
    assert_int_equal(s->f.seen[TOKEN_STORE_EXPIRE], 1);
    assert_changed(&s->w, TOKEN_RENEW, &t, "yarn");
    fake_store_go(&s->f, TOKEN_STORE_EXPIRE);
    deliver(s);
    assert_int_equal(s->f.count, 1);
    assert_accepted(&s->w, &t);
    assert_int_equal(stats_of(&s->w).failures, 0);
    issued_done(&t);
    finish(s);
}

static void a_renewal_that_comes_after_expiry_finds_nothing(void **state)
{
    struct scripted *s = start();
    struct issued    t;
    struct call      c;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    atomic_fetch_add(&fake_wall, 2 * DAY);
    s->f.hold[TOKEN_STORE_RENEW] = true;
    c = change_call(TOKEN_RENEW, &t, "yarn");
    call_submit(&s->w, &c);
    fake_pass(&s->w.reactors, 5000);
    assert_int_equal(s->f.count, 0);
    fake_store_go(&s->f, TOKEN_STORE_RENEW);
    call_finish(&c);
    assert_sentence(&c.op.out_text, &t.id, "Renewal request for unknown token (<id>)");
    token_op_done(&c.op);
    issued_done(&t);
    finish(s);
}

static void a_scan_that_fails_ends_and_comes_again(void **state)
{
    struct scripted *s = start();
    struct issued    t;

    (void)state;
    issue(&s->w, &t, "alice", "yarn");
    atomic_fetch_add(&fake_wall, 2 * DAY);
    s->f.fail_next[TOKEN_STORE_EXPIRE] = FL_SYSTEM;
    fake_pass(&s->w.reactors, 5000);
    assert_int_equal(s->f.count, 1);
    assert_int_equal(stats_of(&s->w).failures, 1);
    fake_pass(&s->w.reactors, 3600000 + 10000);
    assert_int_equal(s->f.count, 0);
    issued_done(&t);
    finish(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_rolls_between_prepare_and_persist_does_no_harm),
        cmocka_unit_test(keys_roll_every_interval_and_are_dropped_when_expired),
        cmocka_unit_test(nothing_rolls_before_its_time),
        cmocka_unit_test(a_roll_that_fails_is_tried_again_and_its_key_is_not_used),
        cmocka_unit_test(a_key_is_not_used_while_it_is_being_stored),
        cmocka_unit_test(a_clock_set_back_makes_the_roll_due),
        cmocka_unit_test(only_tokens_expired_for_longer_than_the_grace_are_removed),
        cmocka_unit_test(the_scan_comes_in_batches_and_lets_others_in_between),
        cmocka_unit_test(a_token_renewed_while_the_scan_asks_stays),
        cmocka_unit_test(a_renewal_that_comes_after_expiry_finds_nothing),
        cmocka_unit_test(a_scan_that_fails_ends_and_comes_again),
    };

    fl_log_setup(FL_LOG_NONE, false, 2);
    return cmocka_run_group_tests(tests, rcu_on, rcu_off);
}
