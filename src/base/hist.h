/* base/hist.h - a log-linear histogram of unsigned values, 3 significant digits, mergeable.
 *
 * Values from 1 to 2^42 (73 minutes in ns) land in buckets no wider than 1/1024 of the value; larger ones in the last,
 * counted as such. Recording is one increment.
 * Owns:    its counters. Thread: owner (merge under the caller's order). Blocks: never.                               */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include "base/own.h"

#include <stdint.h>

struct fl_hist;
struct fl_hist *fl_hist_new(void); /* NULL without memory */
void            fl_hist_free(struct fl_hist *h);
FL_AUTO_DEFINE(fl_hist);

void     fl_hist_record(struct fl_hist *h, uint64_t value);
void     fl_hist_merge(struct fl_hist *into, const struct fl_hist *from);
void     fl_hist_reset(struct fl_hist *h);
uint64_t fl_hist_count(const struct fl_hist *h);
/* The highest value equivalent to the one at percentile p (0 < p <= 100); 0 when empty. */
uint64_t fl_hist_percentile(const struct fl_hist *h, double p);
uint64_t fl_hist_min(const struct fl_hist *h);
uint64_t fl_hist_max(const struct fl_hist *h);
double   fl_hist_mean(const struct fl_hist *h);
double   fl_hist_stddev(const struct fl_hist *h);

#endif
