/* A connection without a network, for tests of http/: bytes go in by hand, answers pile up in a buffer, the clock is
 * moved by hand. Included by the test, so that these functions stand in for io/'s. */
#include "base/clock.h"
#include "io/io.h"

#define FAKE static __attribute__((unused)) /* not every test drives all of it */

struct io_reactor {
    uint64_t now_ns;
    int64_t  wall_ms;
    bool     draining;
};

struct io_listener {
    void *owner;
};

struct io_conn {
    struct io_reactor        *reactor;
    struct io_listener       *listener;
    const struct io_protocol *protocol;
    void                     *owner;
    struct fl_buf             in, out;
    size_t                    out_high_water;
    uint64_t                  deadline;
    uint32_t                  generation;
    unsigned                  turns; /* times that on_bytes was called */
    bool                      held, again, above, closing, aborted, gone;
};

static struct io_reactor fake_reactor = { .now_ns = 1000 * FL_NS_PER_S, .wall_ms = INT64_C(1796100621000) };

void io_conn_set_owner(struct io_conn *c, void *owner)
{
    c->owner = owner;
}
void *io_conn_owner(const struct io_conn *c)
{
    return c->owner;
}
struct io_reactor *io_conn_reactor(const struct io_conn *c)
{
    return c->reactor;
}
struct fl_buf *io_conn_out(struct io_conn *c)
{
    return &c->out;
}
bool io_conn_may_answer(const struct io_conn *c)
{
    return fl_buf_len(&c->out) <= c->out_high_water;
}
void io_conn_hold(struct io_conn *c)
{
    c->held = true;
}
void io_conn_again(struct io_conn *c)
{
    c->again = true;
}
void io_conn_close_after_flush(struct io_conn *c)
{
    c->closing = true;
}
void io_conn_abort(struct io_conn *c)
{
    c->aborted = true;
}
void io_conn_set_deadline(struct io_conn *c, uint64_t at_ns)
{
    c->deadline = at_ns;
}
bool io_conn_secure(const struct io_conn *c)
{
    (void)c;
    return false;
}
struct io_listener *io_conn_listener(const struct io_conn *c)
{
    return c->listener;
}
void *io_listener_owner(const struct io_listener *l)
{
    return l->owner;
}
uint64_t io_now_ns(const struct io_reactor *r)
{
    return r->now_ns;
}
int64_t io_now_wall_ms(const struct io_reactor *r)
{
    return r->wall_ms;
}
bool io_reactor_draining(const struct io_reactor *r)
{
    return r->draining;
}

void io_conn_resume(struct io_conn *c)
{
    if (c->held)
        c->again = true;
    c->held = false;
}

/* One fake reactor has one connection at a time. */
static struct io_conn *fake_current;

struct io_handle io_conn_handle(const struct io_conn *c)
{
    return (struct io_handle){ .slot = 0, .generation = c->generation };
}

struct io_conn *io_conn_find(struct io_reactor *r, struct io_handle h)
{
    (void)r;
    return fake_current != NULL && !fake_current->gone && fake_current->generation == h.generation ? fake_current
                                                                                                   : NULL;
}

FAKE void fake_open(struct io_conn *c, const struct io_protocol *protocol, struct io_listener *listener)
{
    static uint32_t generation;

    *c = (struct io_conn){ .reactor = &fake_reactor,
                           .listener = listener,
                           .protocol = protocol,
                           .out_high_water = 256 * 1024,
                           .generation = ++generation };
    fl_buf_init(&c->in, 256 * 1024);
    fl_buf_init(&c->out, 0);
    fake_current = c;
    protocol->on_open(c);
}

FAKE void fake_give(struct io_conn *c)
{
    if (c->held || c->closing || c->aborted || fl_buf_len(&c->in) == 0)
        return;
    c->turns++;
    c->protocol->on_bytes(c, &c->in);
}

/* Turns go on until nothing asks for another. */
FAKE void fake_run(struct io_conn *c)
{
    while (c->again && !c->closing && !c->aborted) {
        c->again = false;
        fake_give(c);
    }
}

FAKE void fake_feed(struct io_conn *c, const void *bytes, size_t len)
{
    if (c->aborted || c->closing)
        return;
    if (!fl_buf_put(&c->in, bytes, len)) {
        c->aborted = true; /* as io does without memory to read */
        return;
    }
    fake_give(c);
    fake_run(c);
}

FAKE void fake_feed_text(struct io_conn *c, const char *text)
{
    fake_feed(c, text, strlen(text));
}

FAKE void fake_wait(struct io_conn *c, uint64_t ns)
{
    c->reactor->now_ns += ns;
    if (c->deadline != 0 && c->deadline <= c->reactor->now_ns && !c->closing && !c->aborted) {
        c->deadline = 0;
        c->protocol->on_deadline(c);
    }
    fake_run(c);
}

/* The peer read all that was sent. */
FAKE void fake_drained(struct io_conn *c)
{
    fl_buf_clear(&c->out);
    c->protocol->on_drained(c);
    fake_run(c);
}

/* The peer ended its side. */
FAKE void fake_eof(struct io_conn *c)
{
    if (!c->held && !c->closing && !c->aborted)
        c->protocol->on_eof(c);
}

FAKE void fake_drain(struct io_conn *c)
{
    c->reactor->draining = true;
    c->protocol->on_drain(c);
    fake_run(c);
}

FAKE void fake_close(struct io_conn *c)
{
    if (!c->gone)
        c->protocol->on_close(c, IO_CLOSE_PEER, NULL);
    c->gone = true;
    c->reactor->draining = false;
    fl_buf_done(&c->in);
    fl_buf_done(&c->out);
}
