/* base/metrics.h - counters and gauges: one cell a reactor, written by one thread, summed when read.
 *
 * A set belongs to one thread, its cells are written with relaxed stores and read by any. No label by key or user.
 * Owns:    the registered descriptions (static strings of the caller) and the cells.
 * Thread:  registration: start; adding: owner of the set; reading: any. Blocks: never.                                */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include "base/buf.h"
#include "base/own.h"

struct fl_metrics; /* all of a program */
struct fl_metric_set;

enum fl_metric_kind { FL_COUNTER, FL_GAUGE };
struct fl_metric {
    const char         *name;   /* Prometheus name, e.g. featherlock_kms_requests_total */
    const char         *labels; /* NULL or e.g. op="create" (several rows may share a name) */
    const char         *help;
    enum fl_metric_kind kind;
};

/* table: count rows, kept by pointer; a cell's index is its row. sets: one a thread. */
struct fl_metrics *fl_metrics_new(const struct fl_metric *table, size_t count, unsigned sets);
void               fl_metrics_free(struct fl_metrics *m);
FL_AUTO_DEFINE(fl_metrics);
struct fl_metric_set *fl_metrics_set(struct fl_metrics *m, unsigned set);

void    fl_metric_add(struct fl_metric_set *s, unsigned row, int64_t n); /* owner of the set */
void    fl_metric_put(struct fl_metric_set *s, unsigned row, int64_t value);
int64_t fl_metric_sum(const struct fl_metrics *m, unsigned row);
bool    fl_metrics_prometheus(const struct fl_metrics *m, struct fl_buf *out); /* text format 0.0.4 */

#endif
