/* The token manager with the memory store: what clients see, in the words of Hadoop. */
#include "token_world.h"

static void start(struct world *w)
{
    world_init(w);
    world_open(w);
}

/* ---- verification --------------------------------------------------------------------------------------------------- */

static void a_token_just_issued_verifies_at_once(void **state)
{
    struct world  w;
    struct issued t;

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    assert_accepted(&w, &t);
    assert_int_equal(t.id.sequence, 1);
    assert_int_equal(t.id.master_key_id, 1);
    assert_int_equal(t.id.issue_ms, NOW);
    assert_int_equal(t.id.max_ms, NOW + 7 * DAY);
    assert_int_equal(t.token.password.len, 20);
    assert_true(fl_slice_equal(t.token.kind, FL_LIT("kms-dt")));
    issued_done(&t);
    world_close(&w);
}

static void all_fields_of_a_request_reach_the_token(void **state)
{
    struct world  w;
    struct issued t;
    struct call   c = create_call("bob", "rm");

    (void)state;
    start(&w);
    c.op.real_user = FL_LIT("oozie");
    c.op.service = FL_LIT("kms://http@kms01.example.com:9600/kms");
    call_submit(&w, &c);
    call_finish(&c);
    issued_of(&t, &c);
    assert_true(fl_slice_equal(t.id.owner, FL_LIT("bob")));
    assert_true(fl_slice_equal(t.id.renewer, FL_LIT("rm")));
    assert_true(fl_slice_equal(t.id.real_user, FL_LIT("oozie")));
    assert_true(fl_slice_equal(t.token.service, FL_LIT("kms://http@kms01.example.com:9600/kms")));
    token_op_done(&c.op);
    issued_done(&t);
    world_close(&w);
}

static void every_algorithm_issues_passwords_of_its_length(void **state)
{
    static const size_t bytes[] = { 20, 32, 48, 64 };

    (void)state;
    for (unsigned a = TOKEN_HMAC_SHA1; a <= TOKEN_HMAC_SHA512; a++) {
        struct world  w;
        struct issued t;

        world_init(&w);
        w.config.algorithm = (enum token_algorithm)a;
        w.config.key_bits = 256;
        world_open(&w);
        issue(&w, &t, "alice", "yarn");
        assert_int_equal(t.token.password.len, bytes[a]);
        assert_accepted(&w, &t);
        assert_changed(&w, TOKEN_RENEW, &t, "yarn");
        issued_done(&t);
        world_close(&w);
    }
}

static void an_altered_identifier_is_unknown(void **state)
{
    struct world            w;
    struct issued           t, other;
    struct token_identifier id;

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    id = t.id;
    id.owner = FL_LIT("mallory");
    alter(&other, &t, &id);
    assert_unknown(&w, &other);
    issued_done(&other);
    id = t.id;
    id.max_ms++;
    alter(&other, &t, &id);
    assert_unknown(&w, &other);
    issued_done(&other);
    id = t.id;
    id.sequence = 999999;
    alter(&other, &t, &id);
    assert_unknown(&w, &other);
    issued_done(&other);
    issued_done(&t);
    world_close(&w);
}

/* Captured: bytes behind the identifier's last field are ignored, and equality is by value. */
static void an_identifier_with_other_bytes_and_equal_fields_verifies(void **state)
{
    struct world  w;
    struct issued t, longer;
    uint8_t       bytes[256];

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    longer = t;
    memcpy(bytes, t.token.identifier.at, t.token.identifier.len);
    memcpy(bytes + t.token.identifier.len, "zz", 2);
    longer.token.identifier = fl_slice_of(bytes, t.token.identifier.len + 2);
    assert_int_equal(token_identifier_get(longer.token.identifier, &longer.id, NULL), FL_OK);
    assert_accepted(&w, &longer);
    assert_changed(&w, TOKEN_CANCEL, &longer, "alice");
    assert_unknown(&w, &t);
    issued_done(&t);
    world_close(&w);
}

static void an_unknown_token_names_its_real_user(void **state)
{
    struct world            w;
    struct issued           t, other;
    struct token_identifier id;
    struct fl_error         err;

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    id = t.id;
    id.real_user = FL_LIT("oozie");
    alter(&other, &t, &id);
    assert_int_equal(verify(&w, &other, &err), FL_DENIED);
    assert_string_equal(err.text, "Token for real user: oozie, can't be found in cache");
    issued_done(&other);
    issued_done(&t);
    world_close(&w);
}

static void assert_wrong_password(struct world *w, const struct issued *t)
{
    struct fl_error err;
    struct fl_buf   whole;

    fl_buf_init(&whole, 0);
    assert_int_equal(verify(w, t, &err), FL_DENIED);
    assert_memory_equal(err.text, "token (kms-dt owner=alice, renewer=yarn, ", 40);
    assert_int_equal(tokens_verify_tell(w->tokens, &t->token, &t->id, fake_wall_ms(NULL), &whole), FL_DENIED);
    assert_sentence(&whole, &t->id, "token (<id>) is invalid, password doesn't match");
    fl_buf_done(&whole);
}

static void a_wrong_password_is_refused_whatever_its_length(void **state)
{
    struct world  w;
    struct issued t, bad;
    uint8_t       password[64] = { 0 };

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    bad = t;
    memcpy(password, t.token.password.at, t.token.password.len);
    password[19] ^= 1;
    bad.token.password = fl_slice_of(password, 20);
    assert_wrong_password(&w, &bad);
    password[19] ^= 1;
    bad.token.password = fl_slice_of(password, 10);
    assert_wrong_password(&w, &bad);
    bad.token.password = fl_slice_of(password, 21);
    assert_wrong_password(&w, &bad);
    bad.token.password = fl_slice_of(password, 0);
    assert_wrong_password(&w, &bad);
    issued_done(&t);
    world_close(&w);
}

/* 5.5: expired comes before the password; without a real user two blanks follow "Token". */
static void an_expired_token_tells_both_times(void **state)
{
    struct world    w;
    struct issued   t;
    struct fl_error err;

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    atomic_store(&fake_wall, NOW + DAY);
    assert_accepted(&w, &t);
    atomic_store(&fake_wall, NOW + DAY + 1);
    assert_int_equal(verify(&w, &t, &err), FL_DENIED);
    assert_string_equal(err.text, "Token  has expired, current time: 2026-12-02 01:37:37,107+0000 expected renewal "
                                  "time: 2026-12-02 01:37:37,106+0000");
    t.token.password.len--;
    assert_int_equal(verify(&w, &t, &err), FL_DENIED);
    assert_memory_equal(err.text, "Token  has expired", 18);
    issued_done(&t);
    world_close(&w);
}

static void a_sentence_with_long_names_is_told_whole(void **state)
{
    struct world    w;
    struct issued   t;
    char            name[2000];
    struct fl_buf   whole;
    struct fl_error err;

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    start(&w);
    issue(&w, &t, name, "yarn");
    t.token.password.len--;
    fl_buf_init(&whole, 0);
    assert_int_equal(verify(&w, &t, &err), FL_DENIED);
    assert_memory_equal(err.text, "token (kms-dt owner=", 20);
    assert_int_equal(tokens_verify_tell(w.tokens, &t.token, &t.id, NOW, &whole), FL_DENIED);
    assert_sentence(&whole, &t.id, "token (<id>) is invalid, password doesn't match");
    fl_buf_done(&whole);
    issued_done(&t);
    world_close(&w);
}

/* ---- renewal ----------------------------------------------------------------------------------------------------------- */

static void a_renewal_moves_the_date_on(void **state)
{
    struct world  w;
    struct issued t;
    struct call   c;

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    atomic_store(&fake_wall, NOW + DAY + 1); /* expired, but not removed and below its max date: still renewable */
    change(&w, &c, TOKEN_RENEW, &t, "yarn");
    assert_int_equal(c.op.status, FL_OK);
    assert_int_equal(c.op.expiry_ms, NOW + 2 * DAY + 1);
    token_op_done(&c.op);
    assert_accepted(&w, &t);
    assert_int_equal(stats_of(&w).renewed, 1);
    issued_done(&t);
    world_close(&w);
}

static void a_renewal_ends_at_the_max_date(void **state)
{
    struct world  w;
    struct issued t;
    struct call   c;

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    atomic_store(&fake_wall, NOW + 7 * DAY - 1000);
    change(&w, &c, TOKEN_RENEW, &t, "yarn");
    assert_int_equal(c.op.status, FL_OK);
    assert_int_equal(c.op.expiry_ms, t.id.max_ms);
    token_op_done(&c.op);
    issued_done(&t);
    world_close(&w);
}

static void renewals_are_refused_in_the_order_and_words_of_hadoop(void **state)
{
    struct world            w;
    struct issued           t, bad, plain;
    struct token_identifier id;

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    issue(&w, &plain, "alice", "");
    assert_refused(&w, TOKEN_RENEW, &plain, "alice", TOKEN_ACCESS_CONTROL,
                   "alice tried to renew a token (<id>) without a renewer");
    assert_refused(&w, TOKEN_RENEW, &t, "alice", TOKEN_ACCESS_CONTROL,
                   "alice tries to renew a token (<id>) with non-matching renewer yarn");
    id = t.id;
    id.master_key_id = 99;
    alter(&bad, &t, &id);
    assert_refused(&w, TOKEN_RENEW, &bad, "yarn", TOKEN_INVALID_TOKEN,
                   "Unable to find master key for keyId=99 from cache. Failed to renew an unexpired token (<id>) with "
                   "sequenceNumber=1");
    issued_done(&bad);
    id = t.id;
    id.sequence = 999999;
    alter(&bad, &t, &id);
    assert_refused(&w, TOKEN_RENEW, &bad, "yarn", TOKEN_ACCESS_CONTROL,
                   "yarn is trying to renew a token (<id>) with wrong password");
    issued_done(&bad);
    bad = t;
    bad.token.password.len--;
    assert_refused(&w, TOKEN_RENEW, &bad, "yarn", TOKEN_ACCESS_CONTROL,
                   "yarn is trying to renew a token (<id>) with wrong password");
    assert_changed(&w, TOKEN_CANCEL, &t, "alice");
    assert_refused(&w, TOKEN_RENEW, &t, "yarn", TOKEN_INVALID_TOKEN, "Renewal request for unknown token (<id>)");
    atomic_store(&fake_wall, t.id.max_ms + 1);
    assert_refused(&w, TOKEN_RENEW, &t, "mallory", TOKEN_INVALID_TOKEN,
                   "mallory tried to renew an expired token (<id>) max expiration date: 2026-12-08 01:37:37,106+0000 "
                   "currentTime: 2026-12-08 01:37:37,107+0000");
    issued_done(&plain);
    issued_done(&t);
    world_close(&w);
}

static void a_presented_identifier_that_is_none_fails_in_the_words_of_java(void **state)
{
    static const uint8_t five[] = { 5 };
    struct world         w;
    struct issued        t = { 0 };
    struct call          c;

    (void)state;
    start(&w);
    t.token.identifier = fl_slice_of(five, 1);
    change(&w, &c, TOKEN_RENEW, &t, "yarn");
    assert_int_equal(c.op.status, FL_MALFORMED);
    assert_int_equal(c.op.fault, TOKEN_IO);
    assert_string_equal(c.op.err.text, "java.io.IOException: Unknown version of delegation token 5");
    token_op_done(&c.op);
    t.token.identifier.len = 0;
    change(&w, &c, TOKEN_CANCEL, &t, "yarn");
    assert_string_equal(c.op.err.text, "java.io.EOFException");
    token_op_done(&c.op);
    world_close(&w);
}

/* ---- cancel -------------------------------------------------------------------------------------------------------------- */

static void owner_or_renewer_cancel_whatever_the_password(void **state)
{
    struct world  w;
    struct issued a, b;

    (void)state;
    start(&w);
    issue(&w, &a, "alice", "yarn");
    issue(&w, &b, "alice", "yarn");
    a.token.password.len = 0;
    assert_changed(&w, TOKEN_CANCEL, &a, "alice");
    atomic_store(&fake_wall, NOW + 30 * DAY); /* expired too */
    assert_changed(&w, TOKEN_CANCEL, &b, "yarn");
    assert_unknown(&w, &a);
    assert_unknown(&w, &b);
    assert_int_equal(stats_of(&w).cancelled, 2);
    assert_int_equal(stats_of(&w).live, 0);
    issued_done(&a);
    issued_done(&b);
    world_close(&w);
}

static void cancels_are_refused_in_the_order_and_words_of_hadoop(void **state)
{
    struct world            w;
    struct issued           t, plain, none;
    struct token_identifier id;

    (void)state;
    start(&w);
    issue(&w, &t, "alice", "yarn");
    issue(&w, &plain, "alice", "");
    id = t.id;
    id.owner = FL_LIT("");
    alter(&none, &t, &id);
    assert_refused(&w, TOKEN_CANCEL, &none, "", TOKEN_INVALID_TOKEN, "Token with no owner (<id>)");
    issued_done(&none);
    assert_refused(&w, TOKEN_CANCEL, &t, "mallory", TOKEN_ACCESS_CONTROL,
                   "mallory is not authorized to cancel the token (<id>)");
    assert_refused(&w, TOKEN_CANCEL, &plain, "", TOKEN_ACCESS_CONTROL,
                   " is not authorized to cancel the token (<id>)"); /* an empty renewer never matches */
    assert_changed(&w, TOKEN_CANCEL, &t, "alice");
    assert_refused(&w, TOKEN_CANCEL, &t, "alice", TOKEN_INVALID_TOKEN, "Token not found (<id>)");
    issued_done(&plain);
    issued_done(&t);
    world_close(&w);
}

/* ---- requests that can't be ------------------------------------------------------------------------------------------------ */

static void assert_usage(struct world *w, struct call *c, const char *sentence)
{
    struct fl_error err;

    c->op.home = &w->reactors.at[0];
    c->op.done = on_call_done;
    assert_int_equal(tokens_submit(w->tokens, &c->op, &err), FL_USAGE);
    assert_string_equal(err.text, sentence);
    assert_int_equal(fake_run(&w->reactors.at[0]), 0);
    token_op_done(&c->op);
}

static void a_request_without_owner_or_with_names_that_cannot_be_is_refused(void **state)
{
    static char  name[40000];
    struct world w;
    struct call  c = create_call("", "yarn");

    (void)state;
    start(&w);
    assert_usage(&w, &c, "a token needs an owner");
    c = create_call("alice", "ya\xffrn");
    assert_usage(&w, &c, "renewer is not UTF-8");
    memset(name, 'x', sizeof name - 1);
    c = create_call(name, "yarn");
    assert_usage(&w, &c, "owner of 39999 bytes, where at most 32768 are allowed");
    name[32768] = 0;
    c = create_call(name, "yarn");
    assert_usage(&w, &c, "owner, renewer and real user of 32772 bytes, where at most 32724 are allowed");
    name[32720] = 0;
    c = create_call(name, "yarn");
    call_submit(&w, &c);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_OK);
    token_op_done(&c.op);
    world_close(&w);
}

static void assert_setting_refused(struct world *w, const char *sentence)
{
    struct fl_error err;

    assert_int_equal(tokens_open(&w->tokens, &w->config, &err), FL_USAGE);
    assert_string_equal(err.text, sentence);
    world_init(w);
}

static void settings_out_of_range_are_refused(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.config.key_bits = 60;
    assert_setting_refused(&w, "master keys of 60 bits, where multiples of 8 from 8 to 4096 are allowed");
    w.config.key_bits = 0;
    assert_setting_refused(&w, "master keys of 0 bits, where multiples of 8 from 8 to 4096 are allowed");
    w.config.max_lifetime_ns = 999999;
    assert_setting_refused(&w, "token lifetime of 0 ms, where 1 to 3153600000000 are allowed");
    w.config.key_update_ns = UINT64_MAX;
    assert_setting_refused(&w, "key update interval of 18446744073709 ms, where 1 to 3153600000000 are allowed");
    w.config.algorithm = (enum token_algorithm)7;
    assert_setting_refused(&w, "there is no token algorithm 7");
}

/* ---- threads ----------------------------------------------------------------------------------------------------------------- */

enum { EACH = 3000 };

struct issuer {
    struct world  *world;
    unsigned       reactor;
    int32_t        numbers[EACH];
    struct issued *watched; /* verified all the while */
};

static void *issue_many(void *arg)
{
    struct issuer *me = arg;

    fl_rcu_register();
    for (unsigned i = 0; i < EACH; i++) {
        struct call   c = create_call("alice", "yarn");
        struct issued t;

        c.op.home = &me->world->reactors.at[me->reactor];
        call_submit(me->world, &c);
        call_finish(&c);
        issued_of(&t, &c);
        me->numbers[i] = t.id.sequence;
        assert_accepted(me->world, &t);
        assert_accepted(me->world, me->watched);
        token_op_done(&c.op);
        if (i % 3 == 0)
            assert_accepted(me->world, &t);
        issued_done(&t);
        fl_rcu_offline();
        fl_rcu_online();
    }
    fl_rcu_unregister();
    return NULL;
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static void two_threads_issue_unique_numbers(void **state)
{
    static struct issuer issuers[2];
    static int32_t       all[2 * EACH];
    struct world         w;
    struct issued        watched;
    pthread_t            threads[2];

    (void)state;
    start(&w);
    issue(&w, &watched, "bob", "");
    fl_rcu_offline();
    for (unsigned i = 0; i < 2; i++) {
        issuers[i].world = &w;
        issuers[i].reactor = 1 + i;
        issuers[i].watched = &watched;
        assert_int_equal(pthread_create(&threads[i], NULL, issue_many, &issuers[i]), 0);
    }
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    fl_rcu_online();
    memcpy(all, issuers[0].numbers, sizeof issuers[0].numbers);
    memcpy(all + EACH, issuers[1].numbers, sizeof issuers[1].numbers);
    qsort(all, 2 * EACH, sizeof *all, by_number);
    for (unsigned i = 1; i < 2 * EACH; i++)
        assert_true(all[i - 1] < all[i]);
    assert_int_equal(stats_of(&w).live, 2 * EACH + 1);
    issued_done(&watched);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_just_issued_verifies_at_once),
        cmocka_unit_test(all_fields_of_a_request_reach_the_token),
        cmocka_unit_test(every_algorithm_issues_passwords_of_its_length),
        cmocka_unit_test(an_altered_identifier_is_unknown),
        cmocka_unit_test(an_identifier_with_other_bytes_and_equal_fields_verifies),
        cmocka_unit_test(an_unknown_token_names_its_real_user),
        cmocka_unit_test(a_wrong_password_is_refused_whatever_its_length),
        cmocka_unit_test(an_expired_token_tells_both_times),
        cmocka_unit_test(a_sentence_with_long_names_is_told_whole),
        cmocka_unit_test(a_renewal_moves_the_date_on),
        cmocka_unit_test(a_renewal_ends_at_the_max_date),
        cmocka_unit_test(renewals_are_refused_in_the_order_and_words_of_hadoop),
        cmocka_unit_test(a_presented_identifier_that_is_none_fails_in_the_words_of_java),
        cmocka_unit_test(owner_or_renewer_cancel_whatever_the_password),
        cmocka_unit_test(cancels_are_refused_in_the_order_and_words_of_hadoop),
        cmocka_unit_test(a_request_without_owner_or_with_names_that_cannot_be_is_refused),
        cmocka_unit_test(settings_out_of_range_are_refused),
        cmocka_unit_test(two_threads_issue_unique_numbers),
    };

    return cmocka_run_group_tests(tests, rcu_on, rcu_off);
}
