#include "io/inside.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <unistd.h>

static void connected(struct io_conn *c)
{
    int on = 1;

    if (c->peer.at.any.sa_family != AF_UNIX && setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
        struct fl_error err;

        fl_fail(&err, FL_SYSTEM, errno, "cannot set the options of the connection to %s", c->peer.text);
        io_conn_kill(c, IO_CLOSE_ERROR, &err);
        return;
    }
    io_flow_start(c, c->attach, c->attach_arg);
}

void io_connect_finish(struct io_conn *c)
{
    struct fl_error err;
    char            text[80];
    int             failed = 0;
    socklen_t       len = sizeof failed;

    ev_io_stop(c->reactor->loop, &c->writable);
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &failed, &len) != 0)
        failed = errno;
    if (failed == 0) {
        connected(c);
        return;
    }
    io_address_text(&c->peer.at.any, text, sizeof text);
    fl_fail(&err, FL_SYSTEM, failed, "connecting to %s", text);
    io_conn_kill(c, IO_CLOSE_ERROR, &err);
}

enum fl_status io_connect(struct io_reactor *r, const struct io_connect_config *config, struct io_conn **out,
                          struct fl_error *err)
{
    FL_AUTO_FD      fd = -1;
    char            text[160];
    struct io_conn *c;

    io_address_text(config->to, text, sizeof text);
    if (r->grace_over)
        return fl_fail(err, FL_CLOSED, 0, "no connection to %s: the reactor ends", text);
    fd = socket(config->to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "no socket to connect to %s", text);
    if (connect(fd, config->to, config->to_len) != 0 && errno != EINPROGRESS)
        return fl_fail(err, FL_SYSTEM, errno, "connecting to %s", text);
    if ((c = io_conn_new(r, fd, config->protocol)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a connection to %s", text);
    io_take_fd(&fd); /* the connection's now */
    io_conn_set_peer(c, config->to);
    c->outgoing = true;
    c->owner = config->owner;
    c->attach = config->attach;
    c->attach_arg = config->attach_arg;
    if (config->timeout_ns > 0)
        io_deadline_set(c, r->now_ns + config->timeout_ns);
    /* Also where connect() succeeded at once: on_open must not run inside this call, and the socket is writable. */
    ev_io_start(r->loop, &c->writable);
    if (out != NULL)
        *out = c;
    return FL_OK;
}
