#include "io/inside.h"

static ev_timer *watcher(struct io_timer *t)
{
    _Static_assert(sizeof(ev_timer) <= sizeof t->ev, "io_timer has room for an ev_timer");
    return (ev_timer *)(void *)&t->ev;
}

static void fired(struct ev_loop *loop, ev_timer *w, int events)
{
    struct io_timer *t = w->data;

    (void)loop;
    (void)events;
    t->running = false;
    t->fire(t);
}

void io_timer_start(struct io_reactor *r, struct io_timer *t, uint64_t after_ns)
{
    io_timer_stop(t);
    t->reactor = r;
    t->running = true;
    ev_timer_init(watcher(t), fired, (double)after_ns / 1e9, 0.);
    watcher(t)->data = t;
    ev_timer_start(r->loop, watcher(t));
}

void io_timer_stop(struct io_timer *t)
{
    if (!t->running)
        return;
    t->running = false;
    ev_timer_stop(t->reactor->loop, watcher(t));
}
