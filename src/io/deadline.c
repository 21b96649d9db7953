/* io/deadline.c - one deadline a connection, in a wheel of 1/16 s.
 *
 * The usual deadline moves later with every request. So a connection stays where it is linked when its deadline moves
 * away, and is looked at again when the wheel gets there: moving costs one store.                                      */
#include "io/inside.h"

static void link_at(struct io_conn *c, uint64_t tick)
{
    struct io_reactor *r = c->reactor;

    if (!ev_is_active(&r->tick)) {
        r->wheel_tick = r->now_ns / IO_TICK_NS;
        ev_timer_again(r->loop, &r->tick);
    }
    tick = FL_MAX(tick, r->wheel_tick + 1);
    tick = FL_MIN(tick, r->wheel_tick + IO_WHEEL_SLOTS - 1);
    c->wheel_tick = tick;
    LIST_INSERT_HEAD(&r->wheel[tick % IO_WHEEL_SLOTS], c, wheel_link);
    r->wheel_count++;
}

void io_deadline_unlink(struct io_conn *c)
{
    if (c->wheel_tick == 0)
        return;
    LIST_REMOVE(c, wheel_link);
    c->wheel_tick = 0;
    c->reactor->wheel_count--; /* sweep() stops the timer when nothing is left */
}

void io_deadline_set(struct io_conn *c, uint64_t at_ns)
{
    uint64_t tick = at_ns / IO_TICK_NS + 1; /* the first tick after it */

    c->deadline = at_ns;
    if (at_ns == 0 || (c->wheel_tick != 0 && c->wheel_tick <= tick))
        return;
    io_deadline_unlink(c);
    link_at(c, tick);
}

static void look_at(struct io_conn *c)
{
    uint64_t at = c->deadline;

    io_deadline_unlink(c);
    if (at > c->reactor->now_ns)
        io_deadline_set(c, at);
    else if (at != 0 && !c->dying)
        io_flow_deadline(c);
}

static void sweep(struct ev_loop *loop, ev_timer *w, int events)
{
    struct io_reactor *r = w->data;
    uint64_t           to = r->now_ns / IO_TICK_NS;

    (void)loop;
    (void)events;
    while (r->wheel_tick < to && r->wheel_count > 0) {
        struct io_conn_list *slot = &r->wheel[++r->wheel_tick % IO_WHEEL_SLOTS];
        struct io_conn      *c;

        /* Nothing is linked into this slot meanwhile: it is a whole turn of the wheel away. */
        while ((c = LIST_FIRST(slot)) != NULL)
            look_at(c);
    }
    if (r->wheel_count == 0)
        ev_timer_stop(r->loop, &r->tick);
}

void io_deadline_init(struct io_reactor *r)
{
    for (unsigned i = 0; i < IO_WHEEL_SLOTS; i++)
        LIST_INIT(&r->wheel[i]);
    ev_init(&r->tick, sweep);
    r->tick.repeat = (double)IO_TICK_NS / 1e9;
    r->tick.data = r;
}
