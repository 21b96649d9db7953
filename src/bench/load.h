/* bench/load.h - the closed loop: connections spread over threads, two operations, one measured interval.
 *
 * Owns:    reactors, connections, histograms of a run; nothing outlives load_run.
 * Thread:  load_run is called by a thread that may block; it starts its own. Blocks: for the whole run. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "base/hist.h"
#include "io/io.h"

enum load_op { LOAD_VERIFY, LOAD_CREATE, LOAD_OPS };
const char *load_op_name(enum load_op op);

struct load_target {
    struct sockaddr_storage addr;
    socklen_t               addr_len;
    io_attach               attach; /* NULL: plain */
    void                   *attach_arg;
};

/* Whole requests, sent as they are. Connections take the verify requests in turn. */
struct load_plan {
    const struct load_target *target;
    struct fl_slice          *verify;
    size_t                    verify_count;
    struct fl_slice           create;
    unsigned                  create_percent; /* 0 to 100 */
    unsigned                  connections, threads;
    uint64_t                  warmup_ns, duration_ns, timeout_ns;
    int                       server_pid; /* 0: its CPU is not measured */
    bool                      progress;   /* a line on standard error that overwrites itself */
};

struct load_result {
    struct fl_hist *latency[LOAD_OPS]; /* ns, of what completed with 200 inside the interval; the caller's */
    uint64_t        good[LOAD_OPS], bad[LOAD_OPS]; /* bad: another status, or no answer */
    uint64_t        late;                          /* completions after the cut-off: not in the figures above */
    int             first_bad_status;              /* 0: none, or a connection failed; then first_error tells */
    struct fl_error first_error;
    double          seconds;                 /* the measured interval */
    double          own_cpu_s, server_cpu_s; /* user + system; server_cpu_s < 0: not measured */
};

FL_CHECKED enum fl_status load_run(const struct load_plan *plan, struct load_result *result, struct fl_error *err);
void                      load_result_done(struct load_result *result);

/* CPU seconds of a process so far. FL_SYSTEM when it isn't there. */
FL_CHECKED enum fl_status load_cpu_of(int pid, double *seconds, struct fl_error *err);

#endif
