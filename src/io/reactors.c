/* io/reactors.c - all reactors of the process: made, started, joined, freed. */
#include "io/inside.h"

#include "base/rcu.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

static unsigned usable_cores(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return (unsigned)FL_MAX(CPU_COUNT(&set), 1);
}

static void fill_defaults(struct io_config *c)
{
    if (c->reactors == 0)
        c->reactors = usable_cores();
    if (c->in_limit == 0)
        c->in_limit = 256 * 1024;
    if (c->out_high_water == 0)
        c->out_high_water = 256 * 1024;
    if (c->handshake_ns == 0)
        c->handshake_ns = 10 * FL_NS_PER_S;
}

static enum fl_status check_config(const struct io_config *c, struct fl_error *err)
{
    if (c->reactors > 1024)
        return fl_fail(err, FL_USAGE, 0, "%u reactors, where 0 (one a core) to 1024 are allowed", c->reactors);
    if (c->workers < 1 || c->workers > 1024)
        return fl_fail(err, FL_USAGE, 0, "%u workers, where 1 to 1024 are allowed", c->workers);
    if (c->max_connections < 1)
        return fl_fail(err, FL_USAGE, 0, "at most %u connections, where at least 1 must be allowed",
                       c->max_connections);
    return FL_OK;
}

FL_AUTO_DEFINE(io_reactors);

enum fl_status io_reactors_new(struct io_reactors **out, const struct io_config *config, struct fl_error *err)
{
    FL_AUTO(io_reactors) rs = NULL;
    enum fl_status s = check_config(config, err);

    if (s != FL_OK)
        return s;
    rs = calloc(1, sizeof *rs);
    if (rs == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the reactors");
    rs->config = *config;
    fill_defaults(&rs->config);
    atomic_store(&rs->grace_ends_ns, UINT64_MAX);
    rs->at = calloc(rs->config.reactors, sizeof *rs->at);
    if (rs->at == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for %u reactors", rs->config.reactors);
    for (; rs->count < rs->config.reactors; rs->count++)
        if ((s = io_reactor_init(&rs->at[rs->count], rs, rs->count, err)) != FL_OK)
            return s;
    if ((s = io_workers_new(&rs->workers, config->workers, err)) != FL_OK)
        return s;
    *out = FL_TAKE(rs);
    return FL_OK;
}

enum fl_status io_reactors_hook(struct io_reactors *rs, const struct io_hook *hook, struct fl_error *err)
{
    if (rs->started > 0)
        return fl_fail(err, FL_USAGE, 0, "a hook can't be added while the reactors run");
    if (rs->hook_count == IO_HOOKS_MAX)
        return fl_fail(err, FL_BUSY, 0, "%d hooks exist, no more are taken", IO_HOOKS_MAX);
    rs->hooks[rs->hook_count++] = *hook;
    return FL_OK;
}

static void *thread_body(void *arg)
{
    struct io_reactor        *r = arg;
    const struct io_reactors *rs = r->rs;

    io_reactor_set_here(r);
    fl_rcu_register();
    for (unsigned i = 0; i < rs->hook_count; i++)
        if (rs->hooks[i].begin != NULL)
            rs->hooks[i].begin(r, rs->hooks[i].arg);
    io_reactor_run(r);
    for (unsigned i = rs->hook_count; i-- > 0;)
        if (rs->hooks[i].end != NULL)
            rs->hooks[i].end(r, rs->hooks[i].arg);
    fl_rcu_unregister();
    return NULL;
}

/* Signals are the main thread's: reactors and workers are started with all of them blocked. */
static enum fl_status start_threads(struct io_reactors *rs, struct fl_error *err)
{
    enum fl_status s = io_workers_start(rs->workers, err);

    for (; s == FL_OK && rs->started < rs->count; rs->started++) {
        struct io_reactor *r = &rs->at[rs->started];
        int                failed = pthread_create(&r->thread, NULL, thread_body, r);

        if (failed != 0)
            return fl_fail(err, FL_SYSTEM, failed, "cannot start the thread of reactor %u of %u", r->index, rs->count);
    }
    return s;
}

enum fl_status io_reactors_start(struct io_reactors *rs, struct fl_error *err)
{
    sigset_t       all, old;
    enum fl_status s;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    s = start_threads(rs, err);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (s != FL_OK) {
        io_reactors_drain(rs, 0);
        io_reactors_join(rs);
    }
    return s;
}

void io_reactors_drain(struct io_reactors *rs, uint64_t grace_ns)
{
    uint64_t now = fl_now_ns(), ends = grace_ns < UINT64_MAX - now ? now + grace_ns : UINT64_MAX - 1;
    uint64_t known = atomic_load(&rs->grace_ends_ns);

    while (ends < known && !atomic_compare_exchange_weak(&rs->grace_ends_ns, &known, ends))
        ; /* a second, more impatient call shortens the grace */
    for (unsigned i = 0; i < rs->count; i++)
        if (!atomic_exchange(&rs->at[i].drain_posted, true))
            io_post(&rs->at[i], &rs->at[i].drain_mail);
}

void io_reactors_join(struct io_reactors *rs)
{
    for (; rs->started > 0; rs->started--)
        pthread_join(rs->at[rs->started - 1].thread, NULL);
    io_workers_stop(rs->workers);
}

void io_reactors_free(struct io_reactors *rs)
{
    if (rs == NULL)
        return;
    for (unsigned i = 0; i < rs->count; i++)
        io_reactor_done(&rs->at[i]);
    for (struct io_listener *l = rs->listeners, *next; l != NULL; l = next) {
        next = l->next;
        io_listener_free(l);
    }
    io_workers_free(rs->workers);
    free(rs->at);
    free(rs);
}

unsigned io_reactors_count(const struct io_reactors *rs)
{
    return rs->count;
}

struct io_reactor *io_reactors_at(struct io_reactors *rs, unsigned index)
{
    return &rs->at[index];
}
