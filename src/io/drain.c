/* io/drain.c - how a reactor ends. */
#include "io/inside.h"

void io_drain_tell(struct io_conn *c)
{
    if (c->drain_told || c->dying || c->state != IO_OPEN || c->closing)
        return;
    c->drain_told = true;
    io_conn_touch(c);
    if (c->protocol->on_drain != NULL) {
        c->protocol->on_drain(c);
        return;
    }
    io_conn_close_after_flush(c);
    c->why = IO_CLOSE_DRAIN;
}

static void set_grace(struct io_reactor *r)
{
    uint64_t ends = atomic_load(&r->rs->grace_ends_ns), now = fl_now_ns();

    ev_timer_stop(r->loop, &r->grace);
    ev_now_update(r->loop);
    ev_timer_set(&r->grace, ends > now ? (double)(ends - now) / 1e9 : 0., 0.);
    ev_timer_start(r->loop, &r->grace);
}

/* Open connections are asked in the next turn, each after a last look at what its socket holds: a request that is
 * here already is answered, not cut off. */
void io_drain_begin(struct io_reactor *r)
{
    struct io_conn *c;

    atomic_store_explicit(&r->draining, true, memory_order_relaxed);
    for (c = LIST_FIRST(&r->all); c != NULL; c = LIST_NEXT(c, all_link)) {
        c->again_drain = true;
        io_conn_queue_again(c);
    }
    io_accept_drain(r);
    ev_timer_start(r->loop, &r->drain_first);
}

static void drain_mail(struct io_mail *m)
{
    struct io_reactor *r = FL_CONTAINER(m, struct io_reactor, drain_mail);

    atomic_store(&r->drain_posted, false); /* before the grace is read: a later call posts again */
    if (!io_reactor_draining(r))
        io_drain_begin(r);
    set_grace(r);
}

static void tell_the_rest(struct ev_loop *loop, ev_timer *w, int events)
{
    struct io_reactor *r = w->data;
    struct io_conn    *c;

    (void)loop;
    (void)events;
    for (c = LIST_FIRST(&r->all); c != NULL; c = LIST_NEXT(c, all_link))
        io_drain_tell(c);
}

static void grace_passed(struct ev_loop *loop, ev_timer *w, int events)
{
    struct io_reactor *r = w->data;
    struct io_conn    *c;

    (void)loop;
    (void)events;
    r->grace_over = true; /* io_connect refuses from now on */
    for (c = LIST_FIRST(&r->all); c != NULL; c = LIST_NEXT(c, all_link))
        io_conn_kill(c, IO_CLOSE_DRAIN, NULL);
}

void io_drain_init(struct io_reactor *r)
{
    r->drain_mail.deliver = drain_mail;
    ev_init(&r->grace, grace_passed);
    ev_timer_init(&r->drain_first, tell_the_rest, (double)IO_DRAIN_FIRST_NS / 1e9, 0.);
    r->grace.data = r->drain_first.data = r;
}

bool io_drain_done(const struct io_reactor *r)
{
    return io_reactor_draining(r) && LIST_EMPTY(&r->all) && r->works_out == 0;
}
