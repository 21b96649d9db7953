/* io/transport.h - what stands between a socket and a protocol, and what a transport may do with its connection.
 *
 * A transport moves plaintext between the connection's buffers and the wire. It calls io_wire_read at most once a call
 * and flushes by io_wire_send; only io/ knows the descriptor. Included by io/, tls/ and tests alone.
 * Owns:    its state (io_conn_transport_state), freed by the table's free.
 * Thread:  owner.   Blocks: never.                                                                                    */
#ifndef IO_TRANSPORT_H
#define IO_TRANSPORT_H

#include "io/io.h"

struct io_transport {
    const char *name;
    bool        secure;
    /* One step of the handshake. FL_OK: over. FL_WANT_READ: more bytes are needed. Anything else fails the connection;
     * what write() then still holds (an alert) is sent once. NULL: there is none. */
    enum fl_status (*handshake)(struct io_conn *c, struct fl_error *err);
    /* Appends plaintext to *into, as much as io_room(into). FL_OK: something was added. FL_WANT_READ: nothing now.
     * FL_CLOSED: the peer ended in good order. */
    enum fl_status (*read)(struct io_conn *c, struct fl_buf *into, struct fl_error *err);
    /* Takes plaintext from v[0..n) and sends it, and whatever the transport itself holds (n may be 0). *done: plaintext
     * bytes taken. FL_OK: everything is with the kernel. FL_WANT_WRITE: the socket is full. */
    enum fl_status (*write)(struct io_conn *c, const struct iovec *v, int n, size_t *done, struct fl_error *err);
    /* True if read() would give something, or fail, without the socket: epoll is silent about bytes that are here. */
    bool (*pending)(const struct io_conn *c);
    /* Queues the goodbye (close_notify), for write() to send. */
    void (*shutdown)(struct io_conn *c);
    void (*free)(struct io_conn *c);
};

extern const struct io_transport io_transport_plain;

/* For io_attach functions: from now on the connection uses this transport. state is the transport's. */
void                       io_conn_set_transport(struct io_conn *c, const struct io_transport *transport, void *state);
void                      *io_conn_transport_state(const struct io_conn *c);
const struct io_transport *io_conn_transport(const struct io_conn *c);

/* One read() into the room of *into. FL_OK, FL_WANT_READ, FL_CLOSED (end of file), FL_SYSTEM. */
enum fl_status io_wire_read(struct io_conn *c, struct fl_buf *into, struct fl_error *err);
/* One send() of what *from holds; what was taken is consumed. FL_OK: all of it; FL_WANT_WRITE; FL_SYSTEM. */
enum fl_status io_wire_send(struct io_conn *c, struct fl_buf *from, struct fl_error *err);
/* The same for vectors. */
enum fl_status io_wire_sendv(struct io_conn *c, const struct iovec *v, int n, size_t *done, struct fl_error *err);

/* Buffers lent by the reactor: memory for an empty buffer, and back when it is empty again. */
bool io_lend(struct io_reactor *r, struct fl_buf *b);   /* false without memory; nothing to do if b has memory */
void io_return(struct io_reactor *r, struct fl_buf *b); /* if b is empty */

static inline size_t io_room(const struct fl_buf *b) /* what may be added without growing or passing the limit */
{
    size_t room = fl_buf_room(b), len = fl_buf_len(b), left = len < b->limit ? b->limit - len : 0;

    return room < left ? room : left;
}

#endif
