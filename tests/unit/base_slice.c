#include "featherlock/slice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct fl_slice nothing = { NULL, 0 };

static void equal_means_the_same_bytes(void **state)
{
    (void)state;
    assert_true(fl_slice_equal(FL_LIT("a\0b"), fl_slice_of("a\0b", 3)));
    assert_false(fl_slice_equal(FL_LIT("a\0b"), FL_LIT("a\0c")));
    assert_false(fl_slice_equal(FL_LIT("ab"), FL_LIT("abc")));
    assert_true(fl_slice_equal(nothing, FL_LIT("")));
}

static void case_is_ignored_for_ascii_letters_only(void **state)
{
    (void)state;
    assert_true(fl_slice_equal_nocase(FL_LIT("Content-Length"), FL_LIT("cONTENT-lENGTH")));
    assert_false(fl_slice_equal_nocase(FL_LIT("a"), FL_LIT("ab")));
    assert_false(fl_slice_equal_nocase(FL_LIT("[@"), FL_LIT("{`")));
    assert_false(fl_slice_equal_nocase(FL_LIT("\xc4"), FL_LIT("\xe4")));
}

static void starts_and_ends_compare_one_side(void **state)
{
    (void)state;
    assert_true(fl_slice_starts(FL_LIT("/kms/v1"), FL_LIT("/kms")));
    assert_false(fl_slice_starts(FL_LIT("/km"), FL_LIT("/kms")));
    assert_true(fl_slice_ends(FL_LIT("a.jks"), FL_LIT(".jks")));
    assert_false(fl_slice_ends(FL_LIT("jks"), FL_LIT(".jks")));
    assert_true(fl_slice_starts(nothing, nothing));
    assert_true(fl_slice_ends(nothing, nothing));
}

static void from_past_the_end_is_empty(void **state)
{
    struct fl_slice s = FL_LIT("abc");

    (void)state;
    assert_true(fl_slice_equal(fl_slice_from(s, 1), FL_LIT("bc")));
    assert_ptr_equal(fl_slice_from(s, 9).at, s.at + 3);
    assert_int_equal(fl_slice_from(s, 9).len, 0);
    assert_int_equal(fl_slice_from(nothing, 1).len, 0);
}

static void find_tells_the_first_and_the_last(void **state)
{
    (void)state;
    assert_int_equal(fl_slice_find(FL_LIT("a@b@c"), '@'), 1);
    assert_int_equal(fl_slice_find_last(FL_LIT("a@b@c"), '@'), 3);
    assert_true(fl_slice_find(FL_LIT("abc"), '@') == SIZE_MAX);
    assert_true(fl_slice_find_last(nothing, '@') == SIZE_MAX);
}

static void trim_takes_blanks_at_both_ends_only(void **state)
{
    (void)state;
    assert_true(fl_slice_equal(fl_slice_trim(FL_LIT(" \t a b\r\n")), FL_LIT("a b")));
    assert_int_equal(fl_slice_trim(FL_LIT(" \t\r\n")).len, 0);
    assert_int_equal(fl_slice_trim(nothing).len, 0);
}

static void dup_ends_with_a_nul(void **state)
{
    char *copy = fl_slice_dup(FL_LIT("a\0b")), *empty = fl_slice_dup(nothing);

    (void)state;
    assert_memory_equal(copy, "a\0b", 4);
    assert_string_equal(empty, "");
    free(copy);
    free(empty);
}

static void str_of_null_is_empty(void **state)
{
    (void)state;
    assert_int_equal(fl_slice_str(NULL).len, 0);
    assert_true(fl_slice_equal(fl_slice_str("abc"), FL_LIT("abc")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_means_the_same_bytes),
        cmocka_unit_test(case_is_ignored_for_ascii_letters_only),
        cmocka_unit_test(starts_and_ends_compare_one_side),
        cmocka_unit_test(from_past_the_end_is_empty),
        cmocka_unit_test(find_tells_the_first_and_the_last),
        cmocka_unit_test(trim_takes_blanks_at_both_ends_only),
        cmocka_unit_test(dup_ends_with_a_nul),
        cmocka_unit_test(str_of_null_is_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
