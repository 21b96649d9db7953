/* bench/bench.h - `featherlock bench`: load for a server, and what it cost both sides.
 *
 * A closed loop: each connection has one request under way and sends the next when the answer has come. Mixes are
 * enforced in shuffled blocks of 100 operations, so a run of any length has its share. Before the clock starts it is
 * checked that a real token is accepted and that a forged one and none at all are refused.
 *
 * Owns:    its reactors and connections. Thread: the program's main thread. Blocks: as long as it measures. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "base/flags.h"

/* argv[0] is "bench". Exit codes: 0 measured, 1 a run had errors, 2 bad usage, 3 the server failed the checks. */
int bench_main(int argc, char **argv);
/* The settings of `bench kms`, for the reference page and the completion. */
const struct fl_flag_table *bench_flag_table(void);

#endif
