/* io/conn.c - a connection's life, its handle, and what a protocol may ask of it. */
#include "io/inside.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- slots: a handle outlives its connection and then finds nothing ------------------------------------------------ */

static bool more_slots(struct io_reactor *r)
{
    uint32_t        count = r->slot_count == 0 ? 64 : r->slot_count * 2;
    struct io_slot *slots = realloc(r->slots, count * sizeof *slots);

    if (slots == NULL)
        return false;
    for (uint32_t i = r->slot_count; i < count; i++)
        slots[i] = (struct io_slot){ .generation = 1, .next_free = i + 1 < count ? i + 1 : UINT32_MAX };
    r->slot_free = r->slot_count;
    r->slots = slots;
    r->slot_count = count;
    return true;
}

static bool take_slot(struct io_conn *c)
{
    struct io_reactor *r = c->reactor;
    uint32_t           slot;

    if (r->slot_free == UINT32_MAX && !more_slots(r))
        return false;
    slot = r->slot_free;
    r->slot_free = r->slots[slot].next_free;
    r->slots[slot].conn = c;
    c->handle = (struct io_handle){ .slot = slot, .generation = r->slots[slot].generation };
    return true;
}

static void give_slot(struct io_conn *c)
{
    struct io_reactor *r = c->reactor;
    struct io_slot    *s = &r->slots[c->handle.slot];

    s->conn = NULL;
    if (++s->generation == 0)
        s->generation = 1; /* { 0, 0 } is never a connection */
    s->next_free = r->slot_free;
    r->slot_free = c->handle.slot;
}

struct io_handle io_conn_handle(const struct io_conn *c)
{
    return c->handle;
}

struct io_conn *io_conn_find(struct io_reactor *r, struct io_handle h)
{
    struct io_conn *c;

    if (h.slot >= r->slot_count || r->slots[h.slot].generation != h.generation)
        return NULL;
    c = r->slots[h.slot].conn;
    return c == NULL || c->dying || c->state == IO_LINGER ? NULL : c;
}

/* ---- life ---------------------------------------------------------------------------------------------------------- */

struct io_conn *io_conn_new(struct io_reactor *r, int fd, const struct io_protocol *protocol)
{
    const struct io_config *config = &r->rs->config;
    struct io_conn         *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->reactor = r;
    if (!take_slot(c)) {
        free(c);
        return NULL;
    }
    c->fd = fd;
    c->protocol = protocol;
    c->transport = &io_transport_plain;
    fl_buf_init(&c->in, config->in_limit);
    fl_buf_init(&c->out, config->out_high_water + IO_OUT_EXTRA);
    ev_io_init(&c->readable, io_flow_readable, fd, EV_READ);
    ev_io_init(&c->writable, io_flow_writable, fd, EV_WRITE);
    LIST_INSERT_HEAD(&r->all, c, all_link);
    IO_COUNT(r, open, 1);
    return c;
}

void io_conn_set_peer(struct io_conn *c, const struct sockaddr *at)
{
    c->peer.at.any.sa_family = at->sa_family;
    switch (at->sa_family) {
    case AF_INET:
        memcpy(&c->peer.at.v4, at, sizeof c->peer.at.v4);
        inet_ntop(AF_INET, &c->peer.at.v4.sin_addr, c->peer.text, sizeof c->peer.text);
        break;
    case AF_INET6:
        memcpy(&c->peer.at.v6, at, sizeof c->peer.at.v6);
        inet_ntop(AF_INET6, &c->peer.at.v6.sin6_addr, c->peer.text, sizeof c->peer.text);
        break;
    default: memcpy(c->peer.text, "unix", sizeof "unix");
    }
}

void io_conn_touch(struct io_conn *c)
{
    if (c->touched)
        return;
    c->touched = true;
    TAILQ_INSERT_TAIL(&c->reactor->touched, c, touched_link);
}

void io_conn_queue_again(struct io_conn *c)
{
    if (c->queued)
        return;
    c->queued = true;
    TAILQ_INSERT_TAIL(&c->reactor->again, c, again_link);
}

void io_conn_kill(struct io_conn *c, enum io_close why, const struct fl_error *err)
{
    if (c->dying)
        return;
    c->dying = true;
    c->why = why;
    if (err != NULL && (c->error = malloc(sizeof *c->error)) != NULL)
        *c->error = *err; /* without memory the sentence is lost, not the close */
    io_conn_touch(c);
}

static void leave_lists(struct io_conn *c)
{
    struct io_reactor *r = c->reactor;

    ev_io_stop(r->loop, &c->readable);
    ev_io_stop(r->loop, &c->writable);
    io_deadline_unlink(c);
    LIST_REMOVE(c, all_link);
    if (c->queued)
        TAILQ_REMOVE(&r->again, c, again_link);
    if (c->touched)
        TAILQ_REMOVE(&r->touched, c, touched_link);
}

void io_conn_destroy(struct io_conn *c)
{
    static const struct fl_error unknown = { .status = FL_SYSTEM, .text = "the connection failed" };
    struct io_reactor           *r = c->reactor;
    bool                         counted = !c->outgoing;

    if (c->why == IO_CLOSE_ERROR)
        IO_COUNT(r, closed_error, 1);
    if (c->why == IO_CLOSE_TIMEOUT)
        IO_COUNT(r, closed_timeout, 1);
    if (c->protocol->on_close != NULL)
        c->protocol->on_close(c, c->why, c->error != NULL ? c->error : c->why == IO_CLOSE_ERROR ? &unknown : NULL);
    c->transport->free(c);
    leave_lists(c);
    give_slot(c);
    close(c->fd);
    c->in.read = c->in.write = c->out.read = c->out.write = 0;
    io_return(r, &c->in);
    io_return(r, &c->out);
    IO_COUNT(r, open, (uint64_t)-1);
    free(c->error);
    free(c);
    if (counted)
        io_accept_freed(r->rs);
}

/* ---- what a protocol may ask --------------------------------------------------------------------------------------- */

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
    FL_IGNORE(!io_lend(c->reactor, &c->out)); /* the append tries again; its failure closes the connection */
    io_conn_touch(c);
    return &c->out;
}

bool io_conn_may_answer(const struct io_conn *c)
{
    return fl_buf_len(&c->out) <= c->reactor->rs->config.out_high_water;
}

void io_conn_hold(struct io_conn *c)
{
    c->held = true;
}

void io_conn_resume(struct io_conn *c)
{
    if (!c->held)
        return;
    c->held = false;
    io_conn_again(c);
}

void io_conn_again(struct io_conn *c)
{
    c->again_bytes = true;
    io_conn_queue_again(c);
}

void io_conn_close_after_flush(struct io_conn *c)
{
    if (c->closing)
        return;
    if (c->state != IO_OPEN) {
        io_conn_kill(c, IO_CLOSE_LOCAL, NULL);
        return;
    }
    c->closing = true;
    c->why = IO_CLOSE_LOCAL;
    io_deadline_set(c, c->reactor->now_ns + IO_FLUSH_NS);
    io_conn_touch(c);
}

void io_conn_abort(struct io_conn *c)
{
    io_conn_kill(c, IO_CLOSE_LOCAL, NULL);
}

void io_conn_set_deadline(struct io_conn *c, uint64_t at_ns)
{
    if (c->state == IO_OPEN && !c->closing && !c->dying) /* else it is io's own */
        io_deadline_set(c, at_ns);
}

const struct sockaddr *io_conn_peer(const struct io_conn *c)
{
    return &c->peer.at.any;
}

const char *io_conn_peer_text(const struct io_conn *c)
{
    return c->peer.text;
}

struct io_listener *io_conn_listener(const struct io_conn *c)
{
    return c->listener;
}

bool io_conn_secure(const struct io_conn *c)
{
    return c->transport->secure;
}

void io_conn_set_transport(struct io_conn *c, const struct io_transport *transport, void *state)
{
    c->transport = transport;
    c->transport_state = state;
}

void *io_conn_transport_state(const struct io_conn *c)
{
    return c->transport_state;
}

const struct io_transport *io_conn_transport(const struct io_conn *c)
{
    return c->transport;
}
