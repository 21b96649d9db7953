/* base/clock.h - the clocks. Inside, time is monotonic nanoseconds; wall-clock milliseconds only where a protocol wants them.
 *
 * Owns: nothing. Thread: any. Blocks: never.                                                                          */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define FL_NS_PER_MS UINT64_C(1000000)
#define FL_NS_PER_S UINT64_C(1000000000)

uint64_t fl_now_ns(void);      /* CLOCK_MONOTONIC */
uint64_t fl_boottime_ns(void); /* CLOCK_BOOTTIME: goes on while the machine sleeps */
int64_t  fl_wall_ms(void);     /* CLOCK_REALTIME, ms since 1970 */

#endif
