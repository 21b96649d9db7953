#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static void monotonic_time_never_goes_back(void **state)
{
    uint64_t before = fl_now_ns();

    (void)state;
    for (int i = 0; i < 10000; i++) {
        uint64_t now = fl_now_ns();

        assert_true(now >= before);
        before = now;
    }
}

static void boot_time_is_not_behind_monotonic_time(void **state)
{
    uint64_t monotonic = fl_now_ns();

    (void)state;
    assert_true(fl_boottime_ns() >= monotonic);
}

static void wall_time_is_the_systems_in_milliseconds(void **state)
{
    struct timespec before, after;
    int64_t         ms;

    (void)state;
    clock_gettime(CLOCK_REALTIME, &before);
    ms = fl_wall_ms();
    clock_gettime(CLOCK_REALTIME, &after);
    assert_true(ms >= before.tv_sec * 1000 + before.tv_nsec / 1000000);
    assert_true(ms <= after.tv_sec * 1000 + after.tv_nsec / 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_time_never_goes_back),
        cmocka_unit_test(boot_time_is_not_behind_monotonic_time),
        cmocka_unit_test(wall_time_is_the_systems_in_milliseconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
