#include "featherlock/status.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_failure_keeps_status_and_sentence(void **state)
{
    struct fl_error err;

    (void)state;
    assert_int_equal(fl_fail(&err, FL_USAGE, 0, "%d cats, where %d are allowed", 9, 3), FL_USAGE);
    assert_int_equal(err.status, FL_USAGE);
    assert_int_equal(err.sys, 0);
    assert_string_equal(err.text, "9 cats, where 3 are allowed");
}

static void the_reason_of_the_system_stands_behind(void **state)
{
    struct fl_error err;

    (void)state;
    assert_int_equal(fl_fail(&err, FL_SYSTEM, ENOENT, "cannot open %s", "x"), FL_SYSTEM);
    assert_int_equal(err.sys, ENOENT);
    assert_string_equal(err.text, "cannot open x: No such file or directory");
}

static void context_is_put_in_front(void **state)
{
    struct fl_error err;

    (void)state;
    assert_int_equal(fl_fail(&err, FL_MALFORMED, 0, "bad magic"), FL_MALFORMED);
    assert_int_equal(fl_fail_in(&err, "loading '%s'", "x.jks"), FL_MALFORMED);
    assert_string_equal(err.text, "loading 'x.jks': bad magic");
}

static void a_long_sentence_is_cut(void **state)
{
    struct fl_error err;
    char            longer[600];

    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(fl_fail(&err, FL_SYSTEM, ENOENT, "%s", longer), FL_SYSTEM);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(fl_fail_in(&err, "%s", longer), FL_SYSTEM);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void nobody_needs_to_listen(void **state)
{
    (void)state;
    assert_int_equal(fl_fail(NULL, FL_DENIED, EPERM, "unheard"), FL_DENIED);
    assert_int_equal(fl_fail_in(NULL, "unheard"), FL_SYSTEM);
}

static void each_status_has_its_own_name(void **state)
{
    (void)state;
    for (int i = 0; i < FL_STATUS_COUNT; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(fl_status_name((enum fl_status)i), fl_status_name((enum fl_status)j));
    assert_string_equal(fl_status_name(FL_STATUS_COUNT), "unknown status");
    assert_string_equal(fl_status_name((enum fl_status) - 1), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_keeps_status_and_sentence),
        cmocka_unit_test(the_reason_of_the_system_stands_behind),
        cmocka_unit_test(context_is_put_in_front),
        cmocka_unit_test(a_long_sentence_is_cut),
        cmocka_unit_test(nobody_needs_to_listen),
        cmocka_unit_test(each_status_has_its_own_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
