/* The token manager over the embedded database: what is kept over a restart, and when a change shows. */
#include "token_world.h"

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

struct kept {
    struct world        w;
    struct store_config config;
    struct store       *store;
    char                folder[64], data[96], password[96];
};

static void kept_init(struct kept *k)
{
    memset(k, 0, sizeof *k);
    (void)!snprintf(k->folder, sizeof k->folder, "/tmp/token_lmdb.XXXXXX");
    assert_non_null(mkdtemp(k->folder));
    (void)!snprintf(k->data, sizeof k->data, "%s/data", k->folder);
    (void)!snprintf(k->password, sizeof k->password, "%s/password", k->folder);
    k->config = (struct store_config){
        .data_dir = k->data, .password_file = k->password, .make_password = true, .map_bytes = 64 << 20
    };
    world_init(&k->w);
}

static void kept_open(struct kept *k)
{
    struct fl_error err = { 0 };

    if (store_open(&k->store, &k->config, &err) != FL_OK)
        fail_msg("%s", err.text);
    k->w.config.store = k->store;
    world_open(&k->w);
}

static void kept_close(struct kept *k)
{
    world_close(&k->w);
    fl_rcu_offline();
    store_close(k->store);
    fl_rcu_online();
}

static void reopen(struct kept *k)
{
    kept_close(k);
    kept_open(k);
}

static int remove_one(const char *path, const struct stat *s, int type, struct FTW *place)
{
    (void)s;
    (void)type;
    (void)place;
    return remove(path);
}

static void kept_done(struct kept *k)
{
    kept_close(k);
    assert_int_equal(nftw(k->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* ---- over a restart ---------------------------------------------------------------------------------------------------- */

static void tokens_keys_and_dates_are_kept(void **state)
{
    struct kept   k;
    struct issued first, renewed, cancelled;

    (void)state;
    kept_init(&k);
    kept_open(&k);
    issue(&k.w, &first, "alice", "yarn");
    issue(&k.w, &renewed, "bob", "rm");
    issue(&k.w, &cancelled, "carol", "yarn");
    atomic_store(&fake_wall, NOW + DAY);
    assert_changed(&k.w, TOKEN_RENEW, &renewed, "rm");
    assert_changed(&k.w, TOKEN_CANCEL, &cancelled, "carol");
    reopen(&k);
    assert_accepted(&k.w, &first);
    assert_unknown(&k.w, &cancelled);
    atomic_store(&fake_wall, NOW + 2 * DAY);
    assert_int_equal(verify(&k.w, &first, NULL), FL_DENIED);
    assert_accepted(&k.w, &renewed);
    assert_changed(&k.w, TOKEN_RENEW, &first, "yarn"); /* needs the master key of the first run */
    assert_accepted(&k.w, &first);
    assert_int_equal(stats_of(&k.w).live, 2);
    issued_done(&first);
    issued_done(&renewed);
    issued_done(&cancelled);
    kept_done(&k);
}

static void numbers_and_key_ids_are_never_used_again(void **state)
{
    struct kept   k;
    struct issued t;
    int32_t       last = 0;

    (void)state;
    kept_init(&k);
    kept_open(&k);
    for (int run = 1; run <= 3; run++) {
        for (int i = 0; i < 5; i++) {
            issue(&k.w, &t, "alice", "yarn");
            assert_true(t.id.sequence > last);
            assert_int_equal(t.id.master_key_id, run);
            last = t.id.sequence;
            issued_done(&t);
        }
        assert_int_equal(last, 100 * (run - 1) + 5); /* the rest of a range is lost with its process */
        reopen(&k);
    }
    kept_done(&k);
}

static void an_expired_key_and_expired_tokens_go_from_the_folder(void **state)
{
    struct kept   k;
    struct issued t;

    (void)state;
    kept_init(&k);
    kept_open(&k);
    issue(&k.w, &t, "alice", "yarn");
    atomic_fetch_add(&fake_wall, 30 * DAY);
    reopen(&k); /* the start rolls, which drops what expired */
    assert_null(token_keys_find(k.w.tokens->keys, 1));
    assert_non_null(token_keys_find(k.w.tokens->keys, 2));
    assert_int_equal(stats_of(&k.w).live, 1);
    fake_pass(&k.w.reactors, 5000);
    while (stats_of(&k.w).live > 0)
        fake_run_one(&k.w.reactors.at[0]);
    assert_int_equal(stats_of(&k.w).expired, 1);
    reopen(&k);
    assert_int_equal(stats_of(&k.w).live, 0);
    assert_null(token_keys_find(k.w.tokens->keys, 1));
    issued_done(&t);
    kept_done(&k);
}

/* ---- order of changes ------------------------------------------------------------------------------------------------------ */

static void nothing_shows_before_its_commit(void **state)
{
    struct kept   k;
    struct issued t, fresh;
    struct call   create = create_call("bob", "rm"), cancel;

    (void)state;
    kept_init(&k);
    k.config.test_hold = true;
    assert_int_equal(store_open(&k.store, &k.config, NULL), FL_OK);
    store_test_release(k.store, 1000); /* the start, and the first token */
    k.w.config.store = k.store;
    world_open(&k.w);
    issue(&k.w, &t, "alice", "yarn");
    kept_close(&k);

    assert_int_equal(store_open(&k.store, &k.config, NULL), FL_OK);
    store_test_release(k.store, 2); /* a key and a range */
    k.w.config.store = k.store;
    world_open(&k.w);
    cancel = change_call(TOKEN_CANCEL, &t, "alice");
    call_submit(&k.w, &cancel);
    call_submit(&k.w, &create);
    assert_accepted(&k.w, &t);
    assert_int_equal(stats_of(&k.w).created, 0);
    assert_int_equal(cancel.done + create.done, 0);
    store_test_release(k.store, 1000);
    call_finish(&cancel);
    assert_int_equal(cancel.op.status, FL_OK);
    assert_unknown(&k.w, &t);
    call_finish(&create);
    issued_of(&fresh, &create);
    assert_accepted(&k.w, &fresh);
    token_op_done(&cancel.op);
    token_op_done(&create.op);
    issued_done(&t);
    issued_done(&fresh);
    kept_done(&k);
}

static void of_a_cancel_and_renewals_at_once_the_cancel_wins(void **state)
{
    struct kept   k;
    struct issued t;
    struct call   calls[9];

    (void)state;
    kept_init(&k);
    kept_open(&k);
    for (int round = 0; round < 20; round++) {
        issue(&k.w, &t, "alice", "yarn");
        for (int i = 0; i < 9; i++) {
            calls[i] = i == 4 ? change_call(TOKEN_CANCEL, &t, "alice") : change_call(TOKEN_RENEW, &t, "yarn");
            call_submit(&k.w, &calls[i]);
        }
        for (int i = 0; i < 9; i++) {
            call_finish(&calls[i]);
            assert_int_equal(calls[i].op.status, i <= 4 ? FL_OK : FL_DENIED);
            token_op_done(&calls[i].op);
        }
        assert_unknown(&k.w, &t);
        issued_done(&t);
    }
    reopen(&k);
    assert_int_equal(stats_of(&k.w).live, 0);
    kept_done(&k);
}

/* ---- the folder's bytes ------------------------------------------------------------------------------------------------------- */

static bool file_holds(const char *path, struct fl_slice needle)
{
    FILE    *f = fopen(path, "rb");
    uint8_t *bytes = malloc(65 << 20);
    size_t   len;
    bool     found;

    assert_non_null(f);
    assert_non_null(bytes);
    len = fread(bytes, 1, 65 << 20, f);
    assert_true(len > 0);
    found = memmem(bytes, len, needle.at, needle.len) != NULL;
    free(bytes);
    fclose(f);
    return found;
}

static void passwords_and_master_keys_are_sealed_in_the_folder(void **state)
{
    struct kept   k;
    struct issued t;
    char          path[128];
    uint8_t       key[8];

    (void)state;
    kept_init(&k);
    kept_open(&k);
    issue(&k.w, &t, "alice", "yarn");
    memcpy(key, token_key_bytes(token_keys_current(k.w.tokens->keys)).at, sizeof key);
    assert_true(snprintf(path, sizeof path, "%s/data.mdb", k.data) < (int)sizeof path);
    assert_int_equal(access(path, R_OK), 0);
    assert_true(file_holds(path, FL_LIT("token numbers"))); /* names of counters are no secret: the search works */
    assert_false(file_holds(path, t.token.password));
    assert_false(file_holds(path, fl_slice_of(key, sizeof key)));
    assert_false(file_holds(path, t.token.identifier));
    issued_done(&t);
    kept_done(&k);
}

/* ---- a spoilt store --------------------------------------------------------------------------------------------------------------- */

struct spoil {
    struct store_job job;
    enum store_table table;
    struct fl_slice  key, value;
    struct call      over;
};

static enum fl_status put_spoilt(struct store_job *j, struct store_txn *t, struct fl_error *err)
{
    struct spoil *s = FL_CONTAINER(j, struct spoil, job);

    return store_put(t, s->table, s->key, s->value, err);
}

static void spoilt(struct store_job *j)
{
    FL_CONTAINER(j, struct spoil, job)->over.done++;
}

static void spoil(struct kept *k, enum store_table table, struct fl_slice key, struct fl_slice value)
{
    struct spoil s = { .job = { .home = &k->w.reactors.at[0], .apply = put_spoilt, .done = spoilt },
                       .table = table,
                       .key = key,
                       .value = value };

    assert_int_equal(store_submit(k->store, &s.job, NULL), FL_OK);
    while (s.over.done == 0)
        fake_run_one(&k->w.reactors.at[0]);
    assert_int_equal(s.job.status, FL_OK);
}

static void assert_open_fails(struct kept *k, const char *sentence)
{
    struct fl_error err;

    kept_close(k);
    assert_int_equal(store_open(&k->store, &k->config, NULL), FL_OK);
    k->w.config.store = k->store;
    assert_int_equal(tokens_open(&k->w.tokens, &k->w.config, &err), FL_MALFORMED);
    assert_string_equal(err.text, sentence);
    fl_rcu_offline();
    store_close(k->store);
    fl_rcu_online();
    assert_int_equal(nftw(k->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void records_that_are_none_stop_the_start_with_their_number(void **state)
{
    struct kept k;

    (void)state;
    kept_init(&k);
    kept_open(&k);
    spoil(&k, STORE_TOKENS, fl_slice_of("\0\0\1\2", 4), FL_LIT("no token"));
    assert_open_fails(&k, "stored token 258: java.io.IOException: Unknown version of delegation token 110");
    kept_init(&k);
    kept_open(&k);
    spoil(&k, STORE_MASTER_KEYS, fl_slice_of("\0\0\0\7", 4), fl_slice_of("\7\0\0", 3));
    assert_open_fails(&k, "stored master key 7: master key 7 of 0 bytes, where 1 to 1024 are allowed");
    kept_init(&k);
    kept_open(&k);
    spoil(&k, STORE_COUNTERS, FL_LIT("token numbers"), FL_LIT("abc"));
    assert_open_fails(&k, "the first token numbers: the counter of token numbers has 3 bytes, not 4");
}

/* A counter that lies below what was issued (an old backup of it) is not believed. */
static void a_counter_that_was_set_back_skips_forward(void **state)
{
    struct kept   k;
    struct issued t;

    (void)state;
    kept_init(&k);
    kept_open(&k);
    for (int i = 0; i < 5; i++) {
        issue(&k.w, &t, "alice", "yarn");
        issued_done(&t);
    }
    spoil(&k, STORE_COUNTERS, FL_LIT("token numbers"), fl_slice_of("\0\0\0\2", 4));
    reopen(&k);
    issue(&k.w, &t, "alice", "yarn");
    assert_int_equal(t.id.sequence, 6);
    issued_done(&t);
    kept_done(&k);
}

static void the_last_number_of_32_bits_is_the_end(void **state)
{
    struct kept   k;
    struct issued t;
    struct call   c = create_call("alice", "yarn");

    (void)state;
    kept_init(&k);
    kept_open(&k);
    spoil(&k, STORE_COUNTERS, FL_LIT("token numbers"), fl_slice_of("\x7f\xff\xff\xfd", 4));
    reopen(&k);
    issue(&k.w, &t, "alice", "yarn");
    assert_int_equal(t.id.sequence, INT32_MAX - 1);
    issued_done(&t);
    issue(&k.w, &t, "alice", "yarn");
    assert_int_equal(t.id.sequence, INT32_MAX);
    issued_done(&t);
    call_submit(&k.w, &c);
    call_finish(&c);
    assert_int_equal(c.op.status, FL_DENIED);
    assert_string_equal(c.op.err.text, "no token numbers are left: the counter stands at its end, 2147483647");
    token_op_done(&c.op);
    kept_done(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_keys_and_dates_are_kept),
        cmocka_unit_test(numbers_and_key_ids_are_never_used_again),
        cmocka_unit_test(an_expired_key_and_expired_tokens_go_from_the_folder),
        cmocka_unit_test(nothing_shows_before_its_commit),
        cmocka_unit_test(of_a_cancel_and_renewals_at_once_the_cancel_wins),
        cmocka_unit_test(passwords_and_master_keys_are_sealed_in_the_folder),
        cmocka_unit_test(records_that_are_none_stop_the_start_with_their_number),
        cmocka_unit_test(a_counter_that_was_set_back_skips_forward),
        cmocka_unit_test(the_last_number_of_32_bits_is_the_end),
    };

    return cmocka_run_group_tests(tests, rcu_on, rcu_off);
}
