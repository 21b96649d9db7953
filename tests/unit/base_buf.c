#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_holds(const struct fl_buf *b, const char *text)
{
    assert_int_equal(fl_buf_len(b), strlen(text));
    assert_memory_equal(fl_buf_slice(b).at, text, strlen(text));
}

static void appenders_add_in_order(void **state)
{
    struct fl_buf b;

    (void)state;
    fl_buf_init(&b, 0);
    assert_true(fl_buf_put_str(&b, "a"));
    assert_true(FL_BUF_LIT(&b, "bc"));
    assert_true(fl_buf_put_byte(&b, ' '));
    assert_true(fl_buf_put_slice(&b, FL_LIT("de")));
    assert_true(fl_buf_printf(&b, "=%d%s", 7, "!"));
    assert_holds(&b, "abc de=7!");
    fl_buf_done(&b);
}

static void numbers_reach_both_ends_of_64_bits(void **state)
{
    struct fl_buf b;

    (void)state;
    fl_buf_init(&b, 0);
    assert_true(fl_buf_put_u64(&b, 0) && fl_buf_put_byte(&b, ' '));
    assert_true(fl_buf_put_u64(&b, UINT64_MAX) && fl_buf_put_byte(&b, ' '));
    assert_true(fl_buf_put_i64(&b, INT64_MIN) && fl_buf_put_byte(&b, ' '));
    assert_true(fl_buf_put_i64(&b, INT64_MAX) && fl_buf_put_i64(&b, -1));
    assert_holds(&b, "0 18446744073709551615 -9223372036854775808 9223372036854775807-1");
    fl_buf_done(&b);
}

static void consuming_all_starts_again_at_the_front(void **state)
{
    struct fl_buf b;

    (void)state;
    fl_buf_init(&b, 0);
    assert_true(fl_buf_put_str(&b, "abcdef"));
    fl_buf_consume(&b, 2);
    assert_holds(&b, "cdef");
    fl_buf_consume(&b, 4);
    assert_int_equal(b.write, 0);
    assert_true(fl_buf_room(&b) >= 6);
    fl_buf_done(&b);
}

static void consumed_room_is_used_again_before_growing(void **state)
{
    struct fl_buf b;
    size_t        cap;

    (void)state;
    fl_buf_init(&b, 0);
    assert_true(fl_buf_put_str(&b, "x"));
    cap = b.cap;
    for (int i = 0; i < 1000; i++) {
        assert_true(fl_buf_put_str(&b, "0123456789"));
        fl_buf_consume(&b, 10);
    }
    assert_int_equal(b.cap, cap);
    assert_holds(&b, "9");
    fl_buf_done(&b);
}

static void nothing_fits_beyond_the_limit(void **state)
{
    struct fl_buf   b;
    struct fl_error err;

    (void)state;
    fl_buf_init(&b, 8);
    assert_true(fl_buf_put_str(&b, "12345678"));
    assert_int_equal(fl_buf_reserve(&b, 1, &err), FL_MALFORMED);
    assert_non_null(strstr(err.text, "8 are allowed"));
    assert_int_equal(fl_buf_reserve(&b, SIZE_MAX, &err), FL_MALFORMED);
    assert_false(fl_buf_put_byte(&b, '9'));
    assert_holds(&b, "12345678");
    fl_buf_done(&b);
}

static void a_failure_lasts_until_clear(void **state)
{
    struct fl_buf b;

    (void)state;
    fl_buf_init(&b, 4);
    assert_false(fl_buf_put_str(&b, "12345"));
    assert_true(b.failed);
    assert_false(fl_buf_put_byte(&b, '1'));
    assert_false(fl_buf_printf(&b, "1"));
    fl_buf_clear(&b);
    assert_true(fl_buf_put_str(&b, "1234"));
    assert_holds(&b, "1234");
    fl_buf_done(&b);
}

static void an_empty_buffer_has_an_empty_slice(void **state)
{
    struct fl_buf b;

    (void)state;
    fl_buf_init(&b, 0);
    assert_int_equal(fl_buf_slice(&b).len, 0);
    assert_true(fl_buf_put(&b, NULL, 0));
    assert_null(b.data);
    fl_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appenders_add_in_order),
        cmocka_unit_test(numbers_reach_both_ends_of_64_bits),
        cmocka_unit_test(consuming_all_starts_again_at_the_front),
        cmocka_unit_test(consumed_room_is_used_again_before_growing),
        cmocka_unit_test(nothing_fits_beyond_the_limit),
        cmocka_unit_test(a_failure_lasts_until_clear),
        cmocka_unit_test(an_empty_buffer_has_an_empty_slice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
