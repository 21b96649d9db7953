/* bench/report.h - what was measured, as a table for people or as JSON.
 *
 * Owns:    the rows' histograms, taken over from load_result. Thread: main. Blocks: writing. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include "bench/load.h"

#include <stdio.h>

struct report_row {
    unsigned           verify_percent, create_percent;
    unsigned           repeat; /* from 1 */
    struct load_result result;
};
struct report {
    struct report_row *rows;
    size_t             count;
    const char        *url;
    unsigned           connections, threads, tokens;
    double             warmup_s, duration_s;
};

void report_table(const struct report *r, FILE *out);
void report_json(const struct report *r, FILE *out);
bool report_has_errors(const struct report *r);
void report_done(struct report *r);

#endif
