/* io/reactor.c - one thread's loop: the turn's start and end. docs/reactor.md says what is promised. */
#include "io/inside.h"

#include "base/rcu.h"

#include <stdlib.h>

static _Thread_local struct io_reactor *here;

struct io_reactor *io_reactor_here(void)
{
    return here;
}

void io_reactor_set_here(struct io_reactor *r)
{
    here = r;
}

static void read_clocks(struct io_reactor *r)
{
    r->now_ns = fl_now_ns();
    r->now_wall_ms = fl_wall_ms();
}

/* The first watcher after the wait: the highest priority, and libev queues check watchers ahead of their equals. */
static void turn_starts(struct ev_loop *loop, ev_check *w, int events)
{
    struct io_reactor *r = w->data;

    (void)loop;
    (void)events;
    fl_rcu_online();
    read_clocks(r);
    IO_COUNT(r, turns, 1);
    if (!TAILQ_EMPTY(&r->again))
        io_flow_leftovers(r);
}

static void settle_touched(struct io_reactor *r)
{
    struct io_conn *c;

    while ((c = TAILQ_FIRST(&r->touched)) != NULL) {
        TAILQ_REMOVE(&r->touched, c, touched_link);
        c->touched = false;
        io_flow_settle(c);
    }
}

/* The last before the wait. */
static void turn_ends(struct ev_loop *loop, ev_prepare *w, int events)
{
    struct io_reactor *r = w->data;

    (void)events;
    settle_touched(r);
    if (TAILQ_EMPTY(&r->again))
        ev_idle_stop(loop, &r->no_wait);
    else
        ev_idle_start(loop, &r->no_wait);
    if (io_drain_done(r))
        ev_break(loop, EVBREAK_ALL);
    fl_rcu_offline();
}

static void idle(struct ev_loop *loop, ev_idle *w, int events)
{
    (void)loop;
    (void)w;
    (void)events;
}

static void mail_came(struct ev_loop *loop, ev_async *w, int events)
{
    (void)loop;
    (void)events;
    io_mail_deliver(w->data);
}

static void may_accept(struct ev_loop *loop, ev_async *w, int events)
{
    (void)loop;
    (void)events;
    io_accept_resume(w->data);
}

static void accept_retry(struct ev_loop *loop, ev_timer *w, int events)
{
    (void)loop;
    (void)events;
    io_accept_resume(w->data);
}

static void init_watchers(struct io_reactor *r)
{
    ev_prepare_init(&r->turn_ends, turn_ends);
    ev_check_init(&r->turn_starts, turn_starts);
    ev_idle_init(&r->no_wait, idle);
    ev_async_init(&r->mail_came, mail_came);
    ev_async_init(&r->may_accept, may_accept);
    ev_timer_init(&r->accept_retry, accept_retry, (double)IO_ACCEPT_RETRY_NS / 1e9, 0.);
    ev_set_priority(&r->turn_starts, EV_MAXPRI);
    ev_set_priority(&r->turn_ends, EV_MINPRI);
    r->turn_ends.data = r->turn_starts.data = r->mail_came.data = r->may_accept.data = r->accept_retry.data = r;
    ev_prepare_start(r->loop, &r->turn_ends);
    ev_check_start(r->loop, &r->turn_starts);
    ev_async_start(r->loop, &r->mail_came);
    ev_async_start(r->loop, &r->may_accept);
    io_deadline_init(r);
    io_drain_init(r);
}

enum fl_status io_reactor_init(struct io_reactor *r, struct io_reactors *rs, unsigned index, struct fl_error *err)
{
    r->rs = rs;
    r->index = index;
    r->slot_free = UINT32_MAX;
    TAILQ_INIT(&r->touched);
    TAILQ_INIT(&r->again);
    LIST_INIT(&r->all);
    read_clocks(r);
    r->loop = ev_loop_new(EVBACKEND_EPOLL | EVFLAG_NOENV | EVFLAG_NOTIMERFD | EVFLAG_NOSIGMASK);
    if (r->loop == NULL)
        return fl_fail(err, FL_SYSTEM, 0, "cannot make the event loop of reactor %u (epoll, descriptors)", index);
    init_watchers(r);
    return FL_OK;
}

void io_reactor_run(struct io_reactor *r)
{
    ev_run(r->loop, 0);
    fl_rcu_online(); /* the last turn's end went offline */
}

void io_reactor_done(struct io_reactor *r)
{
    while (r->block_count > 0)
        free(r->blocks[--r->block_count]);
    free(r->slots);
    if (r->loop != NULL)
        ev_loop_destroy(r->loop);
}

unsigned io_reactor_index(const struct io_reactor *r)
{
    return r->index;
}

struct io_reactors *io_reactor_all(struct io_reactor *r)
{
    return r->rs;
}

bool io_reactor_draining(const struct io_reactor *r)
{
    return atomic_load_explicit(&r->draining, memory_order_relaxed);
}

uint64_t io_now_ns(const struct io_reactor *r)
{
    return r->now_ns;
}

int64_t io_now_wall_ms(const struct io_reactor *r)
{
    return r->now_wall_ms;
}

static uint64_t cell(const _Atomic uint64_t *at)
{
    return atomic_load_explicit(at, memory_order_relaxed);
}

void io_reactor_stats(const struct io_reactor *r, struct io_stats *out)
{
    const struct io_cells *c = &r->cells;

    *out = (struct io_stats){
        .accepted = cell(&c->accepted),
        .open = cell(&c->open),
        .refused = cell(&c->refused),
        .closed_timeout = cell(&c->closed_timeout),
        .closed_error = cell(&c->closed_error),
        .bytes_in = cell(&c->bytes_in),
        .bytes_out = cell(&c->bytes_out),
        .turns = cell(&c->turns),
    };
}
