#include "fake_home.c"
#include "store_rig.h"

#include "base/rcu.h"
#include "key/key.h"
#include "key/record.h"

static struct keys *keys;

static void on_done(struct key_change *c)
{
    (void)c;
}

static struct key_change change_of(enum key_change_kind kind, struct fl_slice name)
{
    return (struct key_change){ .kind = kind, .name = name, .home = fake_home_here(), .done = on_done };
}

static void wait_for_answer(void)
{
    fl_rcu_offline();
    fake_home_turn();
    fl_rcu_online();
}

static enum fl_status make(struct key_change *c)
{
    enum fl_status s = keys_submit(keys, c, &c->err);

    if (s != FL_OK)
        return s;
    wait_for_answer();
    return c->status;
}

static enum fl_status make_plain(enum key_change_kind kind, struct fl_slice name)
{
    struct key_change c = change_of(kind, name);
    enum fl_status    s = make(&c);

    key_change_done(&c);
    return s;
}

static enum fl_status try_open_keys(struct rig *r, struct fl_error *err)
{
    struct keys_config config = { .store = r->store };

    return keys_open(&keys, &config, err);
}

static void open_keys(struct rig *r)
{
    struct fl_error err = { .text = "" };

    rig_open(r);
    if (try_open_keys(r, &err) != FL_OK)
        fail_msg("%s", err.text);
}

static void close_keys(struct rig *r)
{
    keys_close(keys);
    keys = NULL;
    rig_close(r);
}

static void reopen_keys(struct rig *r)
{
    close_keys(r);
    open_keys(r);
}

static int begin(void **state)
{
    rig_begin(state);
    fl_rcu_register();
    open_keys(*state);
    return 0;
}

static int end(void **state)
{
    close_keys(*state);
    fl_rcu_unregister();
    fl_rcu_barrier();
    return rig_end(state);
}

static void keys_come_back_as_they_were(void **state)
{
    static const struct key_attribute attributes[] = { { FL_LIT("z"), FL_LIT("1") },
                                                       { FL_LIT("a"), FL_LIT("\xc3\xa4\0x") },
                                                       { FL_LIT(""), FL_LIT("") } };
    struct key_change                 c = change_of(KEY_CREATE, FL_LIT("k"));
    struct fl_secret                 *made[4];
    const struct key                 *k;
    int64_t                           created;

    c.bits = 256;
    c.cipher = FL_LIT("AES/CTR/NoPadding");
    c.has_description = true;
    c.description = FL_LIT("");
    c.attributes = attributes;
    c.attribute_count = FL_COUNT(attributes);
    assert_int_equal(make(&c), FL_OK);
    made[0] = c.made;
    created = keys_find(keys, FL_LIT("k"))->created_wall_ms;
    for (uint32_t i = 1; i < 4; i++) {
        c = change_of(KEY_ROLL, FL_LIT("k"));
        assert_int_equal(make(&c), FL_OK);
        assert_int_equal(c.version, i);
        made[i] = c.made;
    }
    for (int round = 0; round < 2; round++) {
        k = keys_find(keys, FL_LIT("k"));
        assert_int_equal(k->bits, 256);
        assert_true(fl_slice_equal(k->cipher, FL_LIT("AES/CTR/NoPadding")));
        assert_true(k->has_description && k->description.len == 0); /* empty is not absent */
        assert_int_equal(k->attribute_count, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_true(fl_slice_equal(k->attributes[i].name, attributes[i].name));
            assert_true(fl_slice_equal(k->attributes[i].value, attributes[i].value));
        }
        assert_true(k->created_wall_ms == created);
        assert_int_equal(k->version_count, 4);
        for (int i = 0; i < 4; i++)
            assert_true(fl_equal_ct(fl_secret_slice(k->versions[i]), fl_secret_slice(made[i])));
        reopen_keys(*state);
    }
    for (int i = 0; i < 4; i++)
        fl_secret_free(made[i]);
}

static void odd_names_are_kept_apart(void **state)
{
    static uint8_t  x[KEY_NAME_MAX];
    struct fl_slice names[] = {
        FL_LIT("a"),
        FL_LIT("\0"),
        FL_LIT("a\0"),
        FL_LIT("a@0"),
        FL_LIT("@"),
        FL_LIT("a/b"),
        FL_LIT("a\0\0\0\0"),
        FL_LIT("\xf0\x9f\x94\x91"),
        FL_LIT("\xff\xfe"), /* no UTF-8 */
        fl_slice_of(x, 400),
        fl_slice_of(x, 401),
        fl_slice_of(x, 402),
        fl_slice_of(x, KEY_NAME_MAX - 1),
        fl_slice_of(x, KEY_NAME_MAX),
    };

    for (size_t i = 0; i < FL_COUNT(names); i++) {
        assert_int_equal(make_plain(KEY_CREATE, names[i]), FL_OK);
        for (size_t roll = 0; roll < i; roll++) /* each has its own count of versions */
            assert_int_equal(make_plain(KEY_ROLL, names[i]), FL_OK);
    }
    reopen_keys(*state);
    assert_int_equal(keys_count(keys), FL_COUNT(names));
    for (size_t i = 0; i < FL_COUNT(names); i++) {
        assert_int_equal(keys_find(keys, names[i])->version_count, i + 1);
        assert_int_equal(make_plain(KEY_CREATE, names[i]), FL_EXISTS);
    }
    for (size_t i = 0; i < FL_COUNT(names); i++)
        assert_int_equal(make_plain(KEY_DELETE, names[i]), FL_OK);
    reopen_keys(*state);
    assert_int_equal(keys_count(keys), 0);
}

static enum fl_status count(void *ctx, struct fl_slice key, struct fl_slice value, struct fl_error *err)
{
    (void)key;
    (void)value;
    (void)err;
    ++*(unsigned *)ctx;
    return FL_OK;
}

static unsigned records(struct rig *r, enum store_table table)
{
    unsigned n = 0;

    assert_int_equal(store_scan(r->store, table, count, &n, NULL), FL_OK);
    return n;
}

static void deletion_leaves_no_record(void **state)
{
    struct rig *r = *state;

    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("k")), FL_OK);
    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("other")), FL_OK);
    assert_int_equal(make_plain(KEY_ROLL, FL_LIT("k")), FL_OK);
    assert_int_equal(records(r, STORE_KEYS), 2);
    assert_int_equal(records(r, STORE_KEY_VERSIONS), 3);
    assert_int_equal(make_plain(KEY_DELETE, FL_LIT("k")), FL_OK);
    assert_int_equal(records(r, STORE_KEYS), 1);
    assert_int_equal(records(r, STORE_KEY_VERSIONS), 1);
    assert_null(keys_find(keys, FL_LIT("k")));
    assert_int_equal(make_plain(KEY_ROLL, FL_LIT("k")), FL_NOT_FOUND);
    assert_int_equal(make_plain(KEY_DELETE, FL_LIT("k")), FL_NOT_FOUND);
    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("k")), FL_OK); /* begins anew */
    assert_int_equal(keys_find(keys, FL_LIT("k"))->version_count, 1);
}

/* Nothing shows before the commit; then everything in order, in one commit, each judged after those before it. */
static void changes_of_one_commit_follow_each_other(void **state)
{
    struct rig                       *r = *state;
    struct key_change                 c[8];
    static const enum key_change_kind kinds[8] = { KEY_CREATE, KEY_CREATE, KEY_ROLL,   KEY_ROLL,
                                                   KEY_DELETE, KEY_ROLL,   KEY_CREATE, KEY_ROLL };
    static const enum fl_status expected[8] = { FL_OK, FL_EXISTS, FL_OK, FL_OK, FL_OK, FL_NOT_FOUND, FL_OK, FL_OK };
    static const uint32_t       versions[8] = { 0, 0, 1, 2, 0, 0, 0, 1 };
    struct key_change           first = change_of(KEY_CREATE, FL_LIT("first"));
    struct store_stats          stats;

    close_keys(r);
    r->config.test_hold = true;
    open_keys(r);
    assert_int_equal(keys_submit(keys, &first, NULL), FL_OK);
    rig_wait_until_taken(r);
    for (int i = 0; i < 8; i++) {
        c[i] = change_of(kinds[i], FL_LIT("k"));
        assert_int_equal(keys_submit(keys, &c[i], NULL), FL_OK);
    }
    assert_null(keys_find(keys, FL_LIT("first")));
    store_test_release(r->store, 2);
    for (int i = 0; i < 9; i++)
        wait_for_answer();
    for (int i = 0; i < 8; i++) {
        assert_int_equal(c[i].status, expected[i]);
        if (c[i].status == FL_OK && kinds[i] != KEY_DELETE) {
            assert_int_equal(c[i].version, versions[i]);
            assert_non_null(c[i].made);
        }
    }
    store_stats(r->store, &stats);
    assert_int_equal(stats.commits, 2);
    assert_int_equal(keys_find(keys, FL_LIT("k"))->version_count, 2);
    assert_true(fl_equal_ct(fl_secret_slice(keys_find(keys, FL_LIT("k"))->versions[1]), fl_secret_slice(c[7].made)));
    for (int i = 0; i < 8; i++)
        key_change_done(&c[i]);
    key_change_done(&first);
    r->config.test_hold = false;
    reopen_keys(r);
    assert_int_equal(keys_find(keys, FL_LIT("k"))->version_count, 2);
}

/* A job that wrote and then refused makes its group run again: given material must survive that. */
static void a_repeated_roll_keeps_given_material(void **state)
{
    static const uint8_t given[16] = { 4, 5, 6 };
    struct rig          *r = *state;
    struct key_change    roll = change_of(KEY_ROLL, FL_LIT("k"));
    struct rig_job       bad = rig_job_of(RIG_PUT_AND_REFUSE, STORE_TOKENS, FL_LIT("t"), FL_LIT("v"));
    struct rig_job       first = rig_job_of(RIG_PUT, STORE_TOKENS, FL_LIT("first"), FL_LIT("v"));

    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("k")), FL_OK);
    close_keys(r);
    r->config.test_hold = true;
    open_keys(r);
    rig_submit(r, &first);
    rig_wait_until_taken(r);
    roll.material = fl_secret_copy(fl_slice_of(given, sizeof given));
    assert_int_equal(keys_submit(keys, &roll, NULL), FL_OK);
    rig_submit(r, &bad);
    store_test_release(r->store, 10);
    wait_for_answer();
    assert_int_equal(roll.status, FL_OK);
    assert_true(fl_slice_equal(fl_secret_slice(roll.made), fl_slice_of(given, sizeof given)));
    key_change_done(&roll);
    assert_int_equal(rig_wait(&bad), FL_DENIED);
    assert_true(fl_slice_equal(fl_secret_slice(keys_find(keys, FL_LIT("k"))->versions[1]), fl_slice_of(given, 16)));
}

static void wrong_material_is_refused_and_nothing_written(void **state)
{
    struct rig       *r = *state;
    struct key_change c = change_of(KEY_ROLL, FL_LIT("k"));

    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("k")), FL_OK);
    c.material = fl_secret_new(32);
    assert_int_equal(make(&c), FL_USAGE);
    assert_string_equal(c.err.text, "Wrong key length. Required 128, but got 256");
    assert_int_equal(records(r, STORE_KEY_VERSIONS), 1);
}

static void a_change_without_a_home_is_answered_too(void **state)
{
    struct rig       *r = *state;
    struct key_change c = change_of(KEY_CREATE, FL_LIT("k"));

    c.home = NULL;
    assert_int_equal(keys_submit(keys, &c, NULL), FL_OK);
    store_settle(r->store);
    assert_int_equal(c.status, FL_OK);
    assert_non_null(keys_find(keys, FL_LIT("k")));
    key_change_done(&c);
}

static void closing_waits_for_what_is_on_its_way(void **state)
{
    struct rig       *r = *state;
    struct key_change c[20];
    char              names[20][8];

    for (int i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        c[i] = change_of(KEY_CREATE, fl_slice_str(names[i]));
        c[i].home = NULL;
        assert_int_equal(keys_submit(keys, &c[i], NULL), FL_OK);
    }
    reopen_keys(r);
    assert_int_equal(keys_count(keys), 20);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(c[i].status, FL_OK);
        key_change_done(&c[i]);
    }
}

/* ---- records that do not belong together
 * ----------------------------------------------------------------------------------- */

static struct fl_slice version_key(struct fl_slice name, uint32_t number, uint8_t at[KEY_VERSION_KEY_MAX])
{
    return fl_slice_of(at, key_version_key(name, number, at));
}

/* Writes a record through the store, sealed in its place, as a faulty version of the program might. */
static void assert_refused_with(struct rig *r, enum rig_kind kind, enum store_table table, struct fl_slice key,
                                struct fl_slice value, const char *text)
{
    struct rig_job  j = rig_job_of(kind, table, key, value);
    struct fl_error err = { .text = "" };

    assert_int_equal(rig_run(r, &j), FL_OK);
    close_keys(r);
    rig_open(r);
    assert_int_equal(try_open_keys(r, &err), FL_MALFORMED);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, text);
}

static void missing_material_is_noticed(void **state)
{
    uint8_t at[KEY_VERSION_KEY_MAX];

    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("k")), FL_OK);
    assert_int_equal(make_plain(KEY_ROLL, FL_LIT("k")), FL_OK);
    assert_refused_with(*state, RIG_DELETE, STORE_KEY_VERSIONS, version_key(FL_LIT("k"), 1, at), FL_LIT(""),
                        "version 1 of key 'k' is missing");
}

static void a_version_without_its_key_is_noticed(void **state)
{
    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("k")), FL_OK);
    assert_refused_with(*state, RIG_DELETE, STORE_KEYS, FL_LIT("nk"), FL_LIT(""), "a version of key 'k'");
}

static void a_version_of_another_number_is_noticed(void **state)
{
    uint8_t       at[KEY_VERSION_KEY_MAX];
    struct fl_buf b;
    uint8_t       material[16] = { 1 };

    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("k")), FL_OK);
    assert_int_equal(make_plain(KEY_ROLL, FL_LIT("k")), FL_OK);
    fl_buf_init(&b, 0);
    assert_true(key_version_put(&b, FL_LIT("k"), 0, fl_slice_of(material, sizeof material)));
    assert_refused_with(*state, RIG_PUT, STORE_KEY_VERSIONS, version_key(FL_LIT("k"), 1, at), fl_buf_slice(&b),
                        "where it doesn't belong");
    fl_buf_done(&b);
}

static void material_of_another_length_is_noticed(void **state)
{
    uint8_t       at[KEY_VERSION_KEY_MAX];
    struct fl_buf b;
    uint8_t       material[32] = { 1 };

    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("k")), FL_OK);
    fl_buf_init(&b, 0);
    assert_true(key_version_put(&b, FL_LIT("k"), 0, fl_slice_of(material, sizeof material)));
    assert_refused_with(*state, RIG_PUT, STORE_KEY_VERSIONS, version_key(FL_LIT("k"), 0, at), fl_buf_slice(&b),
                        "256 bits instead of 128");
    fl_buf_done(&b);
}

static void a_key_under_another_name_is_noticed(void **state)
{
    struct fl_buf b;

    assert_int_equal(make_plain(KEY_CREATE, FL_LIT("k")), FL_OK);
    fl_buf_init(&b, 0);
    assert_true(key_record_put(&b, keys_find(keys, FL_LIT("k"))));
    assert_refused_with(*state, RIG_PUT, STORE_KEYS, FL_LIT("nother"), fl_buf_slice(&b), "where it doesn't belong");
    fl_buf_done(&b);
}

static void a_record_that_is_none_is_noticed(void **state)
{
    assert_refused_with(*state, RIG_PUT, STORE_KEYS, FL_LIT("nk"), FL_LIT("\x02???"), "format 2");
}

#define WITH_KEYS(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_KEYS(keys_come_back_as_they_were),
        WITH_KEYS(odd_names_are_kept_apart),
        WITH_KEYS(deletion_leaves_no_record),
        WITH_KEYS(changes_of_one_commit_follow_each_other),
        WITH_KEYS(a_repeated_roll_keeps_given_material),
        WITH_KEYS(wrong_material_is_refused_and_nothing_written),
        WITH_KEYS(a_change_without_a_home_is_answered_too),
        WITH_KEYS(closing_waits_for_what_is_on_its_way),
        WITH_KEYS(missing_material_is_noticed),
        WITH_KEYS(a_version_without_its_key_is_noticed),
        WITH_KEYS(a_version_of_another_number_is_noticed),
        WITH_KEYS(material_of_another_length_is_noticed),
        WITH_KEYS(a_key_under_another_name_is_noticed),
        WITH_KEYS(a_record_that_is_none_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
