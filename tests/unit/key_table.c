#include "fake_home.c"

#include "base/rcu.h"
#include "key/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static unsigned answers;

static void on_done(struct key_change *c)
{
    (void)c;
    answers++;
}

static struct key_change change_of(enum key_change_kind kind, struct fl_slice name)
{
    return (struct key_change){ .kind = kind, .name = name, .home = fake_home_here(), .done = on_done };
}

/* Submits, checks that the answer doesn't come inside the call, and waits for it. */
static enum fl_status make(struct keys *k, struct key_change *c)
{
    unsigned       before = answers;
    enum fl_status s = keys_submit(k, c, &c->err);

    assert_int_equal(answers, before);
    if (s != FL_OK)
        return s;
    fake_home_turn();
    assert_int_equal(answers, before + 1);
    return c->status;
}

static enum fl_status make_plain(struct keys *k, enum key_change_kind kind, struct fl_slice name)
{
    struct key_change c = change_of(kind, name);
    enum fl_status    s = make(k, &c);

    key_change_done(&c);
    return s;
}

static int open_keys(void **state)
{
    static const struct keys_config config;
    struct keys                    *k = NULL;

    fl_rcu_register();
    assert_int_equal(keys_open(&k, &config, NULL), FL_OK);
    *state = k;
    return 0;
}

static int close_keys(void **state)
{
    keys_close(*state);
    fl_rcu_unregister();
    fl_rcu_barrier();
    return 0;
}

static void a_key_shows_what_it_was_created_with(void **state)
{
    static const struct key_attribute attributes[] = { { FL_LIT("b"), FL_LIT("2") },
                                                       { FL_LIT("key.acl.name"), FL_LIT("") },
                                                       { FL_LIT(""), FL_LIT("empty") } };
    struct key_change                 c = change_of(KEY_CREATE, FL_LIT("k1"));
    const struct key                 *k;

    c.cipher = FL_LIT("AES/CTR/NoPadding");
    c.bits = 256;
    c.has_description = true;
    c.description = FL_LIT("for tests");
    c.attributes = attributes;
    c.attribute_count = FL_COUNT(attributes);
    assert_int_equal(make(*state, &c), FL_OK);
    assert_int_equal(c.version, 0);
    k = keys_find(*state, FL_LIT("k1"));
    assert_non_null(k);
    assert_true(fl_slice_equal(k->name, FL_LIT("k1")));
    assert_true(fl_slice_equal(k->cipher, FL_LIT("AES/CTR/NoPadding")));
    assert_int_equal(k->bits, 256);
    assert_true(k->has_description && fl_slice_equal(k->description, FL_LIT("for tests")));
    assert_int_equal(k->attribute_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(fl_slice_equal(k->attributes[i].name, attributes[i].name));
        assert_true(fl_slice_equal(k->attributes[i].value, attributes[i].value));
    }
    assert_int_equal(k->version_count, 1);
    assert_true(k->created_wall_ms > INT64_C(1600000000000));
    assert_int_equal(fl_secret_slice(k->versions[0]).len, 32);
    assert_true(fl_equal_ct(fl_secret_slice(k->versions[0]), fl_secret_slice(c.made)));
    key_change_done(&c);
    assert_null(c.made);
}

static void defaults_are_hadoops(void **state)
{
    const struct key *k;

    assert_int_equal(make_plain(*state, KEY_CREATE, FL_LIT("k")), FL_OK);
    k = keys_find(*state, FL_LIT("k"));
    assert_true(fl_slice_equal(k->cipher, FL_LIT("AES/CTR/NoPadding")));
    assert_int_equal(k->bits, 128);
    assert_false(k->has_description);
    assert_int_equal(k->attribute_count, 0);
}

static void a_roll_keeps_the_older_versions(void **state)
{
    static const uint8_t given[16] = { 1, 2, 3 };
    struct key_change    c = change_of(KEY_CREATE, FL_LIT("k"));
    const struct key    *before, *after;

    c.material = fl_secret_copy(fl_slice_of(given, sizeof given));
    assert_int_equal(make(*state, &c), FL_OK);
    assert_null(c.material); /* taken */
    key_change_done(&c);
    before = keys_find(*state, FL_LIT("k"));
    for (uint32_t i = 1; i <= 20; i++) {
        c = change_of(KEY_ROLL, FL_LIT("k"));
        assert_int_equal(make(*state, &c), FL_OK);
        assert_int_equal(c.version, i);
        after = keys_find(*state, FL_LIT("k"));
        assert_int_equal(after->version_count, i + 1);
        assert_true(fl_equal_ct(fl_secret_slice(after->versions[i]), fl_secret_slice(c.made)));
        assert_false(fl_equal_ct(fl_secret_slice(after->versions[i]), fl_secret_slice(after->versions[i - 1])));
        key_change_done(&c);
    }
    assert_int_equal(before->version_count, 1); /* a reader that holds the old one still sees it whole */
    assert_true(fl_slice_equal(fl_secret_slice(before->versions[0]), fl_slice_of(given, sizeof given)));
    assert_true(fl_slice_equal(fl_secret_slice(after->versions[0]), fl_slice_of(given, sizeof given)));
    assert_int_equal(after->created_wall_ms, before->created_wall_ms);
}

static void refusals_change_nothing(void **state)
{
    static const uint8_t wrong[24];
    struct key_change    c = change_of(KEY_CREATE, FL_LIT("k"));
    const struct key    *k;

    assert_int_equal(make_plain(*state, KEY_ROLL, FL_LIT("k")), FL_NOT_FOUND);
    assert_int_equal(make_plain(*state, KEY_DELETE, FL_LIT("k")), FL_NOT_FOUND);
    assert_int_equal(keys_count(*state), 0);
    assert_int_equal(make_plain(*state, KEY_CREATE, FL_LIT("k")), FL_OK);
    k = keys_find(*state, FL_LIT("k"));
    assert_int_equal(make(*state, &c), FL_EXISTS);
    assert_non_null(strstr(c.err.text, "'k' exists"));
    assert_null(c.made);
    c = change_of(KEY_ROLL, FL_LIT("k"));
    c.material = fl_secret_copy(fl_slice_of(wrong, sizeof wrong));
    assert_int_equal(make(*state, &c), FL_USAGE);
    assert_string_equal(c.err.text, "Wrong key length. Required 128, but got 192");
    assert_ptr_equal(keys_find(*state, FL_LIT("k")), k);
    assert_int_equal(keys_count(*state), 1);
}

static void a_deleted_key_is_gone_and_its_name_free(void **state)
{
    uint32_t version;

    assert_int_equal(make_plain(*state, KEY_CREATE, FL_LIT("k")), FL_OK);
    assert_int_equal(make_plain(*state, KEY_ROLL, FL_LIT("k")), FL_OK);
    assert_int_equal(make_plain(*state, KEY_DELETE, FL_LIT("k")), FL_OK);
    assert_null(keys_find(*state, FL_LIT("k")));
    assert_null(keys_find_version(*state, FL_LIT("k@0"), &version));
    assert_int_equal(make_plain(*state, KEY_CREATE, FL_LIT("k")), FL_OK);
    assert_int_equal(keys_find(*state, FL_LIT("k"))->version_count, 1);
}

static void what_cannot_be_is_refused_at_once(void **state)
{
    static const uint8_t        long_name[KEY_NAME_MAX + 1];
    static struct key_attribute many[KEY_ATTRIBUTES_MAX + 1];
    static const uint32_t       bad_bits[] = { 1, 7, 129, 524296, UINT32_MAX };
    struct key_change           c = change_of(KEY_CREATE, fl_slice_of(long_name, sizeof long_name));

    c.material = fl_secret_new(16);
    assert_int_equal(make(*state, &c), FL_USAGE);
    assert_null(c.material); /* taken in any case */
    assert_int_equal(make_plain(*state, KEY_CREATE, FL_LIT("")), FL_USAGE);
    c = change_of(KEY_CREATE, FL_LIT("k"));
    c.attributes = many;
    c.attribute_count = FL_COUNT(many);
    assert_int_equal(make(*state, &c), FL_USAGE);
    assert_non_null(strstr(c.err.text, "1001 attributes"));
    for (size_t i = 0; i < FL_COUNT(bad_bits); i++) {
        c = change_of(KEY_CREATE, FL_LIT("k"));
        c.bits = bad_bits[i];
        assert_int_equal(make(*state, &c), FL_USAGE);
    }
    c = change_of(KEY_CREATE, FL_LIT("k"));
    c.home = NULL;
    assert_int_equal(make(*state, &c), FL_USAGE);
    c = change_of(KEY_CREATE, FL_LIT("k"));
    c.bits = 256;
    c.material = fl_secret_new(16);
    assert_int_equal(make(*state, &c), FL_USAGE);
    assert_string_equal(c.err.text, "Wrong key length. Required 256, but got 128");
    assert_int_equal(keys_count(*state), 0);
    assert_int_equal(make_plain(*state, KEY_CREATE, fl_slice_of(long_name, KEY_NAME_MAX)), FL_OK);
    assert_non_null(keys_find(*state, fl_slice_of(long_name, KEY_NAME_MAX)));
    assert_null(keys_find(*state, fl_slice_of(long_name, KEY_NAME_MAX - 1)));
}

static void the_callers_bytes_are_copied(void **state)
{
    char              name[] = "abc", text[] = "description";
    struct key_change c = change_of(KEY_CREATE, fl_slice_str(name));

    c.has_description = true;
    c.description = fl_slice_str(text);
    assert_int_equal(keys_submit(*state, &c, NULL), FL_OK);
    memset(name, 'x', 3);
    memset(text, 'x', 11);
    fake_home_turn();
    assert_true(fl_slice_equal(keys_find(*state, FL_LIT("abc"))->description, FL_LIT("description")));
    key_change_done(&c);
}

static void versions_are_found_by_name(void **state)
{
    static const char *const never[] = {
        "a@b@2", "a@b@00", "a@b@01", "a@b@+1",         "a@b@ 1",         "a@b@",
        "a@b",   "b@0",    "a@b@-1", "a@b@4294967295", "a@b@4294967296", "a@b@18446744073709551616"
    };
    uint32_t version = 77;

    assert_int_equal(make_plain(*state, KEY_CREATE, FL_LIT("a@b")), FL_OK);
    assert_int_equal(make_plain(*state, KEY_ROLL, FL_LIT("a@b")), FL_OK);
    assert_ptr_equal(keys_find_version(*state, FL_LIT("a@b@1"), &version), keys_find(*state, FL_LIT("a@b")));
    assert_int_equal(version, 1);
    assert_non_null(keys_find_version(*state, FL_LIT("a@b@0"), &version));
    assert_int_equal(version, 0);
    for (size_t i = 0; i < FL_COUNT(never); i++)
        assert_null(keys_find_version(*state, fl_slice_str(never[i]), &version));
}

static void a_version_name_splits_at_its_last_at(void **state)
{
    struct fl_slice name;
    uint32_t        version;
    struct fl_error err;

    (void)state;
    assert_int_equal(key_version_split(FL_LIT("a@1@22"), &name, &version, NULL), FL_OK);
    assert_true(fl_slice_equal(name, FL_LIT("a@1")));
    assert_int_equal(version, 22);
    assert_int_equal(key_version_split(FL_LIT("@"), &name, &version, NULL), FL_OK);
    assert_int_equal(name.len, 0);
    assert_true(version == UINT32_MAX);
    assert_int_equal(key_version_split(FL_LIT("k@4294967294"), &name, &version, NULL), FL_OK);
    assert_true(version == UINT32_MAX - 1);
    assert_int_equal(key_version_split(FL_LIT("plain"), &name, &version, &err), FL_MALFORMED);
    assert_non_null(strstr(err.text, "'plain'"));
    assert_int_equal(key_version_split(fl_slice_of(NULL, 0), &name, &version, NULL), FL_MALFORMED);
}

static void mark_seen(void *ctx, const struct key *k)
{
    unsigned char *seen = ctx;
    unsigned       n = 0;

    for (size_t i = 1; i < k->name.len; i++)
        n = n * 10 + (k->name.at[i] - (unsigned)'0');
    seen[n]++;
}

static void many_keys_are_each_seen_once(void **state)
{
    enum { MANY = 3000 };
    unsigned char seen[MANY] = { 0 };
    char          name[16];

    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_int_equal(make_plain(*state, KEY_CREATE, fl_slice_str(name)), FL_OK);
    }
    assert_int_equal(keys_count(*state), MANY);
    keys_each(*state, mark_seen, seen);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(seen[i], 1);
}

/* Readers look while one thread creates, rolls and deletes: what they find is whole. */
struct race {
    struct keys *keys;
    bool         over; /* atomic */
    unsigned     found;
};

static void *read_all_the_time(void *arg)
{
    struct race *r = arg;
    unsigned     found = 0;

    fl_rcu_register();
    while (!__atomic_load_n(&r->over, __ATOMIC_RELAXED)) {
        const struct key *k = keys_find(r->keys, FL_LIT("hot"));
        for (uint32_t i = 0; k != NULL && i < k->version_count; i++)
            found += fl_secret_slice(k->versions[i]).at[0] != 0; /* material is read, so that its end would be seen */
        fl_rcu_offline();
        fl_rcu_online();
    }
    fl_rcu_unregister();
    __atomic_fetch_add(&r->found, found, __ATOMIC_RELAXED);
    return NULL;
}

static void readers_see_whole_keys_while_they_change(void **state)
{
    struct race r = { .keys = *state };
    pthread_t   readers[2];

    for (size_t i = 0; i < FL_COUNT(readers); i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_all_the_time, &r), 0);
    for (int i = 0; i < 300; i++) {
        assert_int_equal(make_plain(r.keys, KEY_CREATE, FL_LIT("hot")), FL_OK);
        for (int roll = 0; roll < 5; roll++)
            assert_int_equal(make_plain(r.keys, KEY_ROLL, FL_LIT("hot")), FL_OK);
        assert_int_equal(make_plain(r.keys, KEY_DELETE, FL_LIT("hot")), FL_OK);
        fl_rcu_offline();
        fl_rcu_online();
    }
    __atomic_store_n(&r.over, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < FL_COUNT(readers); i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(keys_count(r.keys), 0);
}

#define WITH_KEYS(test) cmocka_unit_test_setup_teardown(test, open_keys, close_keys)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_KEYS(a_key_shows_what_it_was_created_with),
        WITH_KEYS(defaults_are_hadoops),
        WITH_KEYS(a_roll_keeps_the_older_versions),
        WITH_KEYS(refusals_change_nothing),
        WITH_KEYS(a_deleted_key_is_gone_and_its_name_free),
        WITH_KEYS(what_cannot_be_is_refused_at_once),
        WITH_KEYS(the_callers_bytes_are_copied),
        WITH_KEYS(versions_are_found_by_name),
        cmocka_unit_test(a_version_name_splits_at_its_last_at),
        WITH_KEYS(many_keys_are_each_seen_once),
        WITH_KEYS(readers_see_whole_keys_while_they_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
