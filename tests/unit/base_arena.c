#include "base/arena.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void what_is_taken_is_aligned_and_apart(void **state)
{
    struct fl_arena a;
    uint8_t        *first, *second;

    (void)state;
    fl_arena_init(&a, 256, 4096);
    first = fl_arena_take(&a, 3);
    second = fl_arena_take(&a, 20);
    assert_non_null(first);
    assert_non_null(second);
    assert_int_equal((uintptr_t)first % 16, 0);
    assert_int_equal((uintptr_t)second % 16, 0);
    memset(first, 1, 3);
    memset(second, 2, 20);
    assert_int_equal(first[2], 1);
    fl_arena_done(&a);
}

static void the_limit_counts_until_the_reset(void **state)
{
    struct fl_arena a;

    (void)state;
    fl_arena_init(&a, 64, 128);
    assert_non_null(fl_arena_take(&a, 100));
    assert_null(fl_arena_take(&a, 17));
    assert_non_null(fl_arena_take(&a, 16));
    assert_null(fl_arena_take(&a, 1));
    fl_arena_reset(&a);
    assert_non_null(fl_arena_take(&a, 128));
    fl_arena_done(&a);
}

static void sizes_near_the_top_do_not_wrap(void **state)
{
    struct fl_arena a;

    (void)state;
    fl_arena_init(&a, 64, SIZE_MAX);
    assert_null(fl_arena_take(&a, SIZE_MAX));
    assert_null(fl_arena_take(&a, SIZE_MAX - 15));
    assert_null(fl_arena_take(&a, SIZE_MAX - 31)); /* the block's head must not make it wrap */
    assert_null(fl_arena_copy(&a, fl_slice_of("x", SIZE_MAX)).at);
    fl_arena_done(&a);
}

static void a_steady_load_keeps_its_first_block(void **state)
{
    struct fl_arena a;
    void           *first;

    (void)state;
    fl_arena_init(&a, 256, 4096);
    first = fl_arena_take(&a, 100);
    for (int i = 0; i < 10; i++) {
        assert_non_null(fl_arena_take(&a, 200));
        fl_arena_reset(&a);
        assert_ptr_equal(fl_arena_take(&a, 100), first);
    }
    fl_arena_done(&a);
}

static void a_big_block_is_not_kept(void **state)
{
    struct fl_arena a;

    (void)state;
    fl_arena_init(&a, 64, 1 << 20);
    assert_non_null(fl_arena_take(&a, 1 << 19));
    fl_arena_reset(&a);
    assert_null(a.first);
    assert_non_null(fl_arena_take(&a, 8));
    fl_arena_done(&a);
}

static void copies_end_with_a_nul_and_may_be_empty(void **state)
{
    struct fl_arena a;
    struct fl_slice copy, empty;

    (void)state;
    fl_arena_init(&a, 64, 64);
    copy = fl_arena_copy(&a, FL_LIT("abc"));
    empty = fl_arena_copy(&a, (struct fl_slice){ NULL, 0 });
    assert_memory_equal(copy.at, "abc", 4);
    assert_non_null(empty.at);
    assert_int_equal(empty.len, 0);
    assert_null(fl_arena_copy(&a, fl_slice_of("0123456789012345678901234567890123456789", 40)).at);
    fl_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_is_aligned_and_apart),
        cmocka_unit_test(the_limit_counts_until_the_reset),
        cmocka_unit_test(sizes_near_the_top_do_not_wrap),
        cmocka_unit_test(a_steady_load_keeps_its_first_block),
        cmocka_unit_test(a_big_block_is_not_kept),
        cmocka_unit_test(copies_end_with_a_nul_and_may_be_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
