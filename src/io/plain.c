/* io/plain.c - the wire itself, and the transport that adds nothing to it. */
#include "io/inside.h"

#include <errno.h>

enum fl_status io_wire_read(struct io_conn *c, struct fl_buf *into, struct fl_error *err)
{
    ssize_t n = recv(c->fd, fl_buf_tail(into), io_room(into), 0); /* read() is dearer: it passes the file layer */

    if (n > 0) {
        fl_buf_added(into, (size_t)n);
        IO_COUNT(c->reactor, bytes_in, (uint64_t)n);
        return FL_OK;
    }
    if (n == 0)
        return FL_CLOSED;
    if (errno == EAGAIN || errno == EINTR)
        return FL_WANT_READ;
    return fl_fail(err, FL_SYSTEM, errno, "reading from %s", c->peer.text);
}

enum fl_status io_wire_sendv(struct io_conn *c, const struct iovec *v, int n, size_t *done, struct fl_error *err)
{
    struct msghdr message = { .msg_iov = (struct iovec *)(uintptr_t)v, .msg_iovlen = (size_t)n };
    size_t        wanted = 0;
    ssize_t       sent;

    *done = 0;
    for (int i = 0; i < n; i++)
        wanted += v[i].iov_len;
    if (wanted == 0)
        return FL_OK;
    sent = n == 1 ? send(c->fd, v[0].iov_base, wanted, MSG_NOSIGNAL) : sendmsg(c->fd, &message, MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno == EAGAIN || errno == EINTR)
            return FL_WANT_WRITE;
        return fl_fail(err, FL_SYSTEM, errno, "writing to %s", c->peer.text);
    }
    IO_COUNT(c->reactor, bytes_out, (uint64_t)sent);
    *done = (size_t)sent;
    return (size_t)sent == wanted ? FL_OK : FL_WANT_WRITE;
}

enum fl_status io_wire_send(struct io_conn *c, struct fl_buf *from, struct fl_error *err)
{
    struct fl_slice waits = fl_buf_slice(from);
    struct iovec    v = { .iov_base = (void *)(uintptr_t)waits.at, .iov_len = waits.len };
    size_t          done;
    enum fl_status  s = io_wire_sendv(c, &v, 1, &done, err);

    fl_buf_consume(from, done);
    return s;
}

static bool never_pending(const struct io_conn *c)
{
    (void)c;
    return false;
}

static void nothing(struct io_conn *c)
{
    (void)c;
}

const struct io_transport io_transport_plain = {
    .name = "plain",
    .read = io_wire_read,
    .write = io_wire_sendv,
    .pending = never_pending,
    .shutdown = nothing,
    .free = nothing,
};
