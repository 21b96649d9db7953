#include "base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
    struct timespec t;

    /* Fails only for a clock that the kernel doesn't have; these three are older than any supported one. */
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * FL_NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t fl_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t fl_boottime_ns(void)
{
    return read_ns(CLOCK_BOOTTIME);
}

int64_t fl_wall_ms(void)
{
    return (int64_t)(read_ns(CLOCK_REALTIME) / FL_NS_PER_MS);
}
