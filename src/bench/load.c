#include "bench/load.h"

#include "base/clock.h"
#include "base/secret.h"
#include "http/http.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 100, PROGRESS_MS = 500, STRAGGLER_S = 10 };

const char *load_op_name(enum load_op op)
{
    static const char *const names[LOAD_OPS] = { [LOAD_VERIFY] = "verify", [LOAD_CREATE] = "create" };

    return names[op];
}

/* One thread's share; written by its reactor only, read by the starter after the join. */
struct share {
    const struct load_plan *plan;
    struct run             *run;
    struct conn            *conns;
    unsigned                conn_count, first_conn;
    enum load_op            block[BLOCK];
    unsigned                next_op;
    uint64_t                random; /* xorshift state: the order within a block, nothing secret */
    struct load_result      r;
    _Atomic uint64_t        completed; /* for the progress line */
};

struct conn {
    struct share       *share;
    struct io_reactor  *reactor;
    struct http_client *client;
    enum load_op        op;
    size_t              next_token;
    uint64_t            sent_ns;
};

struct run {
    struct share    *shares;
    unsigned         count;
    uint64_t         measure_from_ns, measure_to_ns; /* set before the reactors start */
    _Atomic unsigned busy;                           /* connections that still work */
};

static uint64_t next_random(struct share *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

static void shuffle_block(struct share *s)
{
    for (unsigned i = 0; i < BLOCK; i++)
        s->block[i] = i < s->plan->create_percent ? LOAD_CREATE : LOAD_VERIFY;
    for (unsigned i = BLOCK - 1; i > 0; i--) {
        unsigned     j = (unsigned)(next_random(s) % (i + 1));
        enum load_op kept = s->block[i];

        s->block[i] = s->block[j];
        s->block[j] = kept;
    }
    s->next_op = 0;
}

static void retire(struct conn *c)
{
    atomic_fetch_sub_explicit(&c->share->run->busy, 1, memory_order_relaxed);
}

static void note_failure(struct share *s, const struct fl_error *err)
{
    if (s->r.first_error.status == FL_OK)
        s->r.first_error = *err;
}

static void send_next(struct conn *c, uint64_t now)
{
    struct share   *s = c->share;
    struct fl_slice request = s->plan->create;
    struct fl_error err;

    if (s->next_op == BLOCK)
        shuffle_block(s);
    c->op = s->block[s->next_op++];
    if (c->op == LOAD_VERIFY) {
        request = s->plan->verify[c->next_token];
        c->next_token = (c->next_token + s->plan->connections) % s->plan->verify_count;
    }
    c->sent_ns = now;
    if (http_client_send(c->client, request, false, &err) != FL_OK) {
        s->r.bad[c->op]++;
        note_failure(s, &err);
        retire(c);
    }
}

static void count(struct conn *c, const struct http_reply *reply, const struct fl_error *err, uint64_t now)
{
    struct share *s = c->share;

    if (now >= s->run->measure_to_ns) {
        s->r.late++;
    } else if (now >= s->run->measure_from_ns) {
        if (reply != NULL && reply->status == 200) {
            s->r.good[c->op]++;
            fl_hist_record(s->r.latency[c->op], now - c->sent_ns);
        } else {
            s->r.bad[c->op]++;
            if (reply == NULL)
                note_failure(s, err);
            else if (s->r.first_bad_status == 0)
                s->r.first_bad_status = reply->status;
        }
    }
    atomic_store_explicit(&s->completed, atomic_load_explicit(&s->completed, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* An answer's time is its turn's: it was there when the turn began, and what follows in the turn is our own work. The
 * next request, which leaves at the turn's end, counts from the same moment. */
static void on_reply(struct http_client *client, const struct http_reply *reply, const struct fl_error *err,
                     void *owner)
{
    struct conn *c = owner;
    uint64_t     now = io_now_ns(c->reactor);

    (void)client;
    count(c, reply, err, now);
    if (now >= c->share->run->measure_to_ns)
        retire(c);
    else
        send_next(c, now);
}

static void begin_share(struct io_reactor *r, void *arg)
{
    struct run   *run = arg;
    struct share *s = &run->shares[io_reactor_index(r)];

    shuffle_block(s);
    for (unsigned i = 0; i < s->conn_count; i++) {
        struct conn              *c = &s->conns[i];
        struct http_client_config config = { .to = (const struct sockaddr *)&s->plan->target->addr,
                                             .to_len = s->plan->target->addr_len,
                                             .attach = s->plan->target->attach,
                                             .attach_arg = s->plan->target->attach_arg,
                                             .timeout_ns = s->plan->timeout_ns,
                                             .no_retry = true, /* a failure is a result */
                                             .on_reply = on_reply,
                                             .owner = c };
        struct fl_error           err;

        c->share = s;
        c->reactor = r;
        c->next_token = (s->first_conn + i) % s->plan->verify_count;
        if (http_client_new(&c->client, r, &config, &err) == FL_OK) {
            send_next(c, fl_now_ns());
        } else {
            note_failure(s, &err);
            s->r.bad[LOAD_VERIFY]++;
            retire(c);
        }
    }
}

static void end_share(struct io_reactor *r, void *arg)
{
    struct run   *run = arg;
    struct share *s = &run->shares[io_reactor_index(r)];

    for (unsigned i = 0; i < s->conn_count; i++)
        http_client_free(s->conns[i].client);
}

static bool share_ready(struct share *s, struct run *run, const struct load_plan *plan, unsigned index)
{
    unsigned each = plan->connections / plan->threads, more = plan->connections % plan->threads;

    s->plan = plan;
    s->run = run;
    s->conn_count = each + (index < more);
    s->first_conn = index * each + FL_MIN(index, more);
    s->conns = calloc(s->conn_count, sizeof *s->conns);
    if (fl_random(&s->random, sizeof s->random, NULL) != FL_OK)
        return false;
    s->random |= 1;
    for (unsigned op = 0; op < LOAD_OPS; op++)
        if ((s->r.latency[op] = fl_hist_new()) == NULL)
            return false;
    return s->conns != NULL;
}

static void shares_done(struct run *run)
{
    for (unsigned i = 0; run->shares != NULL && i < run->count; i++) {
        load_result_done(&run->shares[i].r);
        free(run->shares[i].conns);
    }
    free(run->shares);
}

void load_result_done(struct load_result *result)
{
    for (unsigned op = 0; op < LOAD_OPS; op++) {
        fl_hist_free(result->latency[op]);
        result->latency[op] = NULL;
    }
}

enum fl_status load_cpu_of(int pid, double *seconds, struct fl_error *err)
{
    char               path[48], line[1024];
    const char        *after_name;
    FILE              *f;
    unsigned long long user, system;
    bool               read;

    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return fl_fail(err, FL_SYSTEM, 0, "no process %d, whose CPU was to be measured", pid);
    read = fgets(line, sizeof line, f) != NULL;
    fclose(f);
    after_name = read ? strrchr(line, ')') : NULL; /* the name may hold blanks and parentheses */
    if (after_name == NULL ||
        sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &system) != 2)
        return fl_fail(err, FL_SYSTEM, 0, "%s is not in the form that proc(5) describes", path);
    *seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    return FL_OK;
}

static double own_cpu(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static uint64_t completed(const struct run *run)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < run->count; i++)
        sum += atomic_load_explicit(&run->shares[i].completed, memory_order_relaxed);
    return sum;
}

/* Sleeps until at_ns, telling how it goes. */
static void wait_until(const struct run *run, const struct load_plan *plan, uint64_t at_ns, const char *phase)
{
    uint64_t now, before = completed(run);

    while ((now = fl_now_ns()) < at_ns) {
        uint64_t        step = FL_MIN(at_ns - now, PROGRESS_MS * FL_NS_PER_MS);
        struct timespec t = { .tv_sec = (time_t)(step / FL_NS_PER_S), .tv_nsec = (long)(step % FL_NS_PER_S) };
        uint64_t        after;

        nanosleep(&t, NULL);
        after = completed(run);
        if (plan->progress)
            fprintf(stderr, "\r\033[K%u:%u %s, %.0f s left, %.0f requests/s", 100 - plan->create_percent,
                    plan->create_percent, phase, (double)(at_ns - now) / 1e9,
                    (double)(after - before) * 1e9 / (double)step);
        before = after;
    }
    if (plan->progress)
        fputs("\r\033[K", stderr);
}

static void wait_for_stragglers(struct run *run)
{
    struct timespec t = { .tv_nsec = 5000000 };

    for (int i = 0; i < STRAGGLER_S * 200 && atomic_load_explicit(&run->busy, memory_order_relaxed) > 0; i++)
        nanosleep(&t, NULL);
}

static double server_cpu(const struct load_plan *plan)
{
    double s = -1;

    return plan->server_pid != 0 && load_cpu_of(plan->server_pid, &s, NULL) == FL_OK ? s : -1;
}

static void measure(struct run *run, const struct load_plan *plan, struct load_result *result)
{
    double own, server;

    wait_until(run, plan, run->measure_from_ns, "warming up");
    own = own_cpu();
    server = server_cpu(plan);
    wait_until(run, plan, run->measure_to_ns, "measuring");
    result->own_cpu_s = own_cpu() - own;
    result->server_cpu_s = server < 0 ? -1 : server_cpu(plan) - server;
    result->seconds = (double)plan->duration_ns / 1e9;
    wait_for_stragglers(run);
}

static void gather(struct run *run, struct load_result *result)
{
    for (unsigned i = 0; i < run->count; i++) {
        struct load_result *r = &run->shares[i].r;

        for (unsigned op = 0; op < LOAD_OPS; op++) {
            fl_hist_merge(result->latency[op], r->latency[op]);
            result->good[op] += r->good[op];
            result->bad[op] += r->bad[op];
        }
        result->late += r->late;
        if (result->first_bad_status == 0)
            result->first_bad_status = r->first_bad_status;
        if (result->first_error.status == FL_OK)
            result->first_error = r->first_error;
    }
}

static enum fl_status drive(struct run *run, const struct load_plan *plan, struct load_result *result,
                            struct fl_error *err)
{
    struct io_config    config = { .reactors = plan->threads, .workers = 1, .max_connections = plan->connections + 16 };
    struct io_hook      hook = { .begin = begin_share, .end = end_share, .arg = run };
    struct io_reactors *reactors = NULL;
    enum fl_status      status = io_reactors_new(&reactors, &config, err);

    if (status == FL_OK)
        status = io_reactors_hook(reactors, &hook, err);
    if (status == FL_OK) {
        run->measure_from_ns = fl_now_ns() + plan->warmup_ns;
        run->measure_to_ns = run->measure_from_ns + plan->duration_ns;
        status = io_reactors_start(reactors, err);
    }
    if (status == FL_OK) {
        measure(run, plan, result);
        io_reactors_drain(reactors, 0);
        io_reactors_join(reactors);
        gather(run, result);
    }
    io_reactors_free(reactors);
    return status;
}

enum fl_status load_run(const struct load_plan *plan, struct load_result *result, struct fl_error *err)
{
    struct run         run = { .count = plan->threads, .busy = plan->connections };
    struct load_result made = { 0 };
    enum fl_status     status = FL_OK;
    bool               ready = (run.shares = calloc(plan->threads, sizeof *run.shares)) != NULL;

    for (unsigned i = 0; ready && i < run.count; i++)
        ready = share_ready(&run.shares[i], &run, plan, i);
    for (unsigned op = 0; ready && op < LOAD_OPS; op++)
        ready = (made.latency[op] = fl_hist_new()) != NULL;
    status = ready ? drive(&run, plan, &made, err)
                   : fl_fail(err, FL_NO_MEMORY, 0, "no memory for a load of %u connections", plan->connections);
    shares_done(&run);
    if (status == FL_OK)
        *result = made;
    else
        load_result_done(&made);
    return status;
}
