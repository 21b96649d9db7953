/* io/flow.c - how bytes pass through a connection: read, give, flush, settle. The hot path. */
#include "io/inside.h"

#include <errno.h>

/* ---- reading ------------------------------------------------------------------------------------------------------- */

static bool wants_bytes(const struct io_conn *c)
{
    return c->state == IO_OPEN && !c->eof && !c->closing && !c->dying && !c->above && fl_buf_len(&c->in) < c->in.limit;
}

/* Room for a good read: the lent block, or growth when a message is larger than that. */
static bool make_room(struct io_conn *c, struct fl_error *err)
{
    size_t left = c->in.limit - fl_buf_len(&c->in);

    if (!io_lend(c->reactor, &c->in)) {
        fl_fail(err, FL_NO_MEMORY, 0, "no memory to read from %s", c->peer.text);
        return false;
    }
    return io_room(&c->in) >= FL_MIN(left, (size_t)IO_BLOCK_BYTES / 4) ||
           fl_buf_reserve(&c->in, FL_MIN(left, (size_t)IO_BLOCK_BYTES / 2), err) == FL_OK;
}

static void tell_eof(struct io_conn *c)
{
    c->eof_told = true;
    if (c->protocol->on_eof != NULL) {
        c->protocol->on_eof(c);
    } else {
        io_conn_close_after_flush(c);
        c->why = IO_CLOSE_PEER;
    }
}

/* on_bytes for what waits, then on_eof if no more will come. */
static void give(struct io_conn *c)
{
    if (c->state != IO_OPEN || c->held || c->closing || c->dying)
        return;
    if (fl_buf_len(&c->in) > 0 && c->protocol->on_bytes != NULL)
        c->protocol->on_bytes(c, &c->in);
    if (c->late && !c->drain_told)
        io_drain_tell(c);
    if (c->eof && !c->eof_told && !c->held && !c->again_bytes && !c->above && !c->closing && !c->dying)
        tell_eof(c);
}

/* True if the protocol was called. */
static bool read_some(struct io_conn *c)
{
    struct fl_error err;
    enum fl_status  s;

    if (!make_room(c, &err)) {
        io_conn_kill(c, IO_CLOSE_ERROR, &err);
        return false;
    }
    s = c->transport->read(c, &c->in, &err);
    io_conn_touch(c);
    if (s == FL_CLOSED)
        c->eof = true;
    if (s == FL_OK || s == FL_CLOSED) {
        give(c);
        return true;
    }
    if (s != FL_WANT_READ)
        io_conn_kill(c, IO_CLOSE_ERROR, &err);
    return false;
}

/* ---- beginning ----------------------------------------------------------------------------------------------------- */

static void open_now(struct io_conn *c)
{
    bool draining = io_reactor_draining(c->reactor);

    c->state = IO_OPEN;
    io_deadline_set(c, 0);
    if (c->protocol->on_open != NULL)
        c->protocol->on_open(c);
    c->late = draining && !c->outgoing && ev_is_active(&c->reactor->drain_first);
    if (draining && !c->late) { /* a late one is told after its first bytes, or by that timer */
        c->again_drain = true;
        io_conn_queue_again(c);
    }
    io_conn_touch(c);
}

static void shake(struct io_conn *c)
{
    struct fl_error err;
    enum fl_status  s = c->transport->handshake(c, &err);

    io_conn_touch(c); /* the end of the turn sends what the handshake has to say */
    if (s == FL_OK)
        open_now(c);
    else if (s == FL_CLOSED)
        io_conn_kill(c, IO_CLOSE_PEER, NULL);
    else if (s != FL_WANT_READ && s != FL_WANT_WRITE)
        io_conn_kill(c, IO_CLOSE_ERROR, &err);
}

void io_flow_start(struct io_conn *c, io_attach attach, void *arg)
{
    struct fl_error err;

    c->state = IO_HANDSHAKE;
    ev_io_start(c->reactor->loop, &c->readable);
    if (attach != NULL && attach(c, arg, &err) != FL_OK)
        io_conn_kill(c, IO_CLOSE_ERROR, &err);
    else if (c->transport->handshake == NULL)
        open_now(c);
    else if (c->outgoing)
        shake(c); /* the client speaks first */
}

/* ---- ending -------------------------------------------------------------------------------------------------------- */

/* What a peer still sends is dropped, so that it reads our last answer instead of a reset. */
static void read_off(struct io_conn *c)
{
    ssize_t n = recv(c->fd, c->reactor->scrap, sizeof c->reactor->scrap, 0);

    if (n > 0)
        IO_COUNT(c->reactor, bytes_in, (uint64_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        io_conn_kill(c, c->why, NULL);
}

static void begin_lingering(struct io_conn *c)
{
    if (c->eof || shutdown(c->fd, SHUT_WR) != 0) {
        io_conn_kill(c, c->why, NULL);
        return;
    }
    c->state = IO_LINGER;
    c->in.read = c->in.write = 0;
    io_deadline_set(c, c->reactor->now_ns + IO_LINGER_NS);
}

void io_flow_deadline(struct io_conn *c)
{
    struct fl_error err;

    c->deadline = 0;
    if (c->state == IO_LINGER || c->closing) {
        io_conn_kill(c, c->closing && c->state != IO_LINGER ? IO_CLOSE_TIMEOUT : c->why, NULL);
    } else if (c->state != IO_OPEN) {
        fl_fail(&err, FL_TIMEOUT, 0, "%s: no %s in the time allowed", c->peer.text,
                c->state == IO_CONNECTING ? "connection" : "handshake");
        io_conn_kill(c, IO_CLOSE_TIMEOUT, &err);
    } else if (c->protocol->on_deadline != NULL) {
        c->protocol->on_deadline(c);
    } else {
        io_conn_kill(c, IO_CLOSE_TIMEOUT, NULL);
    }
}

/* ---- flushing ------------------------------------------------------------------------------------------------------ */

static void set_stuck(struct io_conn *c, bool stuck)
{
    c->stuck = stuck;
    if (stuck == (bool)ev_is_active(&c->writable))
        return;
    if (stuck)
        ev_io_start(c->reactor->loop, &c->writable);
    else
        ev_io_stop(c->reactor->loop, &c->writable);
}

/* Sends what waits; false: the connection failed. */
static bool flush(struct io_conn *c)
{
    struct fl_slice waits = fl_buf_slice(&c->out);
    struct iovec    v = { .iov_base = (void *)(uintptr_t)waits.at, .iov_len = waits.len };
    struct fl_error err;
    size_t          done = 0;
    enum fl_status  s;

    if (waits.len == 0 && !c->transport->secure) {
        set_stuck(c, false);
        return true;
    }
    s = c->transport->write(c, &v, waits.len > 0 && c->state == IO_OPEN, &done, &err);
    fl_buf_consume(&c->out, done);
    if (s != FL_OK && s != FL_WANT_WRITE) {
        io_conn_kill(c, IO_CLOSE_ERROR, &err);
        return false;
    }
    if (c->closing && done > 0)
        io_deadline_set(c, c->reactor->now_ns + IO_FLUSH_NS);
    set_stuck(c, s == FL_WANT_WRITE);
    return true;
}

static void note_high_water(struct io_conn *c)
{
    size_t high = c->reactor->rs->config.out_high_water, len = fl_buf_len(&c->out);

    if (len > high) {
        c->above = true;
    } else if (c->above && len <= high / 4) {
        c->above = false;
        c->again_drained = true;
        io_conn_queue_again(c);
    }
}

/* All answers are out. A peer that is gone already misses the goodbye: that is no failure any more. */
static void say_goodbye(struct io_conn *c)
{
    size_t         done;
    enum fl_status s;

    c->transport->shutdown(c);
    s = c->transport->write(c, NULL, 0, &done, NULL);
    set_stuck(c, s == FL_WANT_WRITE);
    if (s == FL_OK)
        begin_lingering(c);
    else if (s != FL_WANT_WRITE)
        io_conn_kill(c, c->why, NULL);
}

static void send_out(struct io_conn *c)
{
    static const struct fl_error overflow = { .status = FL_NO_MEMORY,
                                              .text = "output dropped: past its limit, or no memory" };

    if (c->out.failed) {
        io_conn_kill(c, IO_CLOSE_ERROR, &overflow);
        return;
    }
    note_high_water(c);
    if (!c->stuck && !flush(c))
        return;
    note_high_water(c);
    if (c->closing && !c->stuck && c->state == IO_OPEN)
        say_goodbye(c);
}

/* ---- settling: the end of the turn for one connection ---------------------------------------------------------------- */

static void adjust_reading(struct io_conn *c)
{
    bool wanted = c->state == IO_HANDSHAKE || c->state == IO_LINGER || wants_bytes(c);

    if (wanted == (bool)ev_is_active(&c->readable))
        return;
    if (wanted)
        ev_io_start(c->reactor->loop, &c->readable);
    else
        ev_io_stop(c->reactor->loop, &c->readable);
}

void io_flow_settle(struct io_conn *c)
{
    size_t done;

    if (!c->dying && c->state != IO_CONNECTING && c->state != IO_LINGER)
        send_out(c);
    if (c->dying) {
        if (c->why == IO_CLOSE_ERROR && c->transport->secure && !c->stuck)
            FL_IGNORE(c->transport->write(c, NULL, 0, &done, NULL)); /* the alert, if the socket takes it */
        io_conn_destroy(c);
        return;
    }
    if (c->state == IO_CONNECTING)
        return;
    if (c->state == IO_LINGER)
        c->out.read = c->out.write = 0;
    adjust_reading(c);
    io_return(c->reactor, &c->in);
    io_return(c->reactor, &c->out);
    if (c->transport->secure && wants_bytes(c) && c->transport->pending(c)) {
        c->again_read = true;
        io_conn_queue_again(c);
    }
}

/* ---- leftovers of the turn before ------------------------------------------------------------------------------------ */

static void go_on(struct io_conn *c)
{
    bool bytes = c->again_bytes, more = c->again_read, drained = c->again_drained, drain = c->again_drain;
    bool given = false;

    c->again_bytes = c->again_read = c->again_drained = c->again_drain = false;
    if (c->dying || c->state != IO_OPEN || c->closing)
        return;
    if (drained && c->protocol->on_drained != NULL)
        c->protocol->on_drained(c);
    if ((more || drain) && wants_bytes(c))
        given = read_some(c);
    if (!given && (bytes || drained))
        give(c);
    if (drain)
        io_drain_tell(c);
    io_conn_touch(c);
}

void io_flow_leftovers(struct io_reactor *r)
{
    struct io_conn *c, *last = TAILQ_LAST(&r->again, io_conn_queue);
    bool            more = last != NULL;

    while (more) { /* what is queued from here on is for the next turn */
        c = TAILQ_FIRST(&r->again);
        more = c != last;
        TAILQ_REMOVE(&r->again, c, again_link);
        c->queued = false;
        go_on(c);
    }
}

/* ---- events ---------------------------------------------------------------------------------------------------------- */

void io_flow_readable(struct ev_loop *loop, ev_io *w, int events)
{
    struct io_conn *c = FL_CONTAINER(w, struct io_conn, readable);

    (void)loop;
    (void)events;
    if (c->dying)
        return;
    if (c->state == IO_OPEN && wants_bytes(c))
        read_some(c);
    else if (c->state == IO_HANDSHAKE)
        shake(c);
    else if (c->state == IO_LINGER)
        read_off(c);
    else
        io_conn_touch(c); /* closing or above the mark since a moment ago: settle takes the watcher off */
}

void io_flow_writable(struct ev_loop *loop, ev_io *w, int events)
{
    struct io_conn *c = FL_CONTAINER(w, struct io_conn, writable);

    (void)loop;
    (void)events;
    if (c->dying)
        return;
    if (c->state == IO_CONNECTING) {
        io_connect_finish(c);
        return;
    }
    c->stuck = false; /* settle tries again, and keeps or stops the watcher */
    io_conn_touch(c);
}
