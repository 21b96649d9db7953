#include "fake_home.c"

#include "base/rcu.h"
#include "key/key.h"
#include "key/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fake_malloc.c"

static const struct key_attribute attributes[] = { { FL_LIT("a"), FL_LIT("1") }, { FL_LIT("b"), FL_LIT("2") } };

static void on_done(struct key_change *c)
{
    (void)c;
}

/* In memory with one thread: a refusal of submit and one by mail are alike here. */
static enum fl_status make(struct keys *k, enum key_change_kind kind)
{
    struct key_change c = { .kind = kind,
                            .name = FL_LIT("k"),
                            .attributes = attributes,
                            .attribute_count = FL_COUNT(attributes),
                            .home = fake_home_here(),
                            .done = on_done };
    enum fl_status    s = keys_submit(k, &c, NULL);

    if (s != FL_OK)
        return s;
    fake_failing = 0;
    fake_home_turn();
    key_change_done(&c);
    return c.status;
}

static enum fl_status make_failing(struct keys *k, enum key_change_kind kind, unsigned failing)
{
    enum fl_status s;

    fake_allocations = 0;
    fake_failing = failing;
    s = make(k, kind);
    fake_failing = 0;
    return s;
}

static struct keys *open_keys(void)
{
    static const struct keys_config config;
    struct keys                    *k = NULL;

    assert_int_equal(keys_open(&k, &config, NULL), FL_OK);
    return k;
}

static bool opens(void)
{
    static const struct keys_config config;
    struct keys                    *k = NULL;

    if (keys_open(&k, &config, NULL) != FL_OK)
        return false;
    keys_close(k);
    return true;
}

static void opening_without_memory(void **state)
{
    (void)state;
    fail_each_allocation_once(opens);
}

static void a_creation_without_memory_changes_nothing(void **state)
{
    struct keys *k = open_keys();
    unsigned     failing = 1;

    (void)state;
    while (make_failing(k, KEY_CREATE, failing) == FL_NO_MEMORY) {
        assert_int_equal(keys_count(k), 0);
        failing++;
    }
    assert_true(failing > 2); /* the change and the key at least */
    assert_non_null(keys_find(k, FL_LIT("k")));
    keys_close(k);
}

static void a_roll_without_memory_changes_nothing(void **state)
{
    struct keys      *k = open_keys();
    const struct key *before;

    (void)state;
    assert_int_equal(make(k, KEY_CREATE), FL_OK);
    before = keys_find(k, FL_LIT("k"));
    for (unsigned failing = 1; failing <= 2; failing++) { /* the change, the new key */
        assert_int_equal(make_failing(k, KEY_ROLL, failing), FL_NO_MEMORY);
        assert_ptr_equal(keys_find(k, FL_LIT("k")), before);
        assert_int_equal(before->version_count, 1);
    }
    assert_int_equal(make(k, KEY_ROLL), FL_OK);
    assert_int_equal(keys_find(k, FL_LIT("k"))->version_count, 2);
    keys_close(k);
}

static struct fl_slice record;

static bool decodes(void)
{
    struct key decoded;

    if (key_record_decode(record, &decoded, NULL) != FL_OK)
        return false;
    assert_int_equal(decoded.attribute_count, FL_COUNT(attributes));
    key_record_done(&decoded);
    return true;
}

static void decoding_without_memory(void **state)
{
    struct key    k = { .name = FL_LIT("k"), .bits = 128, .version_count = 1 };
    struct fl_buf b;

    (void)state;
    k.attributes = attributes;
    k.attribute_count = FL_COUNT(attributes);
    fl_buf_init(&b, 0);
    assert_true(key_record_put(&b, &k));
    record = fl_buf_slice(&b);
    fail_each_allocation_once(decodes);
    fl_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_without_memory),
        cmocka_unit_test(a_creation_without_memory_changes_nothing),
        cmocka_unit_test(a_roll_without_memory_changes_nothing),
        cmocka_unit_test(decoding_without_memory),
    };
    int failed;

    fl_rcu_register();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_rcu_unregister();
    return failed;
}
