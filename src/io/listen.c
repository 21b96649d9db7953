/* io/listen.c - listening sockets, and when to accept. */
#include "io/inside.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the cap on connections, of the whole process ------------------------------------------------------------------ */

static bool reserve(struct io_reactors *rs)
{
    unsigned open = atomic_load(&rs->accepted_open);

    while (open < rs->config.max_connections)
        if (atomic_compare_exchange_weak(&rs->accepted_open, &open, open + 1))
            return true;
    return false;
}

static void watch_all(struct io_reactor *r, bool on)
{
    for (struct io_listener *l = r->rs->listeners; l != NULL; l = l->next) {
        struct io_socket *s = &l->sockets[r->index];

        if (on)
            ev_io_start(r->loop, &s->readable);
        else
            ev_io_stop(r->loop, &s->readable);
    }
}

/* Full: newcomers wait in the kernel. The flag is set before the count is read again, and a close lowers the count
 * before it reads the flag, so one of the two sees the other. */
static void pause_at_cap(struct io_reactor *r)
{
    if (r->accept_paused)
        return;
    r->accept_paused = true;
    watch_all(r, false);
    atomic_fetch_add(&r->rs->paused, 1);
    if (atomic_load(&r->rs->accepted_open) < r->rs->config.max_connections)
        ev_async_send(r->loop, &r->may_accept);
}

void io_accept_freed(struct io_reactors *rs)
{
    atomic_fetch_sub(&rs->accepted_open, 1);
    if (atomic_load(&rs->paused) == 0)
        return;
    for (unsigned i = 0; i < rs->count; i++)
        ev_async_send(rs->at[i].loop, &rs->at[i].may_accept);
}

void io_accept_resume(struct io_reactor *r)
{
    if (r->accept_paused) {
        r->accept_paused = false;
        atomic_fetch_sub(&r->rs->paused, 1);
    }
    if (!r->accept_ended)
        watch_all(r, true);
}

/* ---- accepting ------------------------------------------------------------------------------------------------------ */

static void welcome(struct io_socket *s, int fd, const struct sockaddr *peer)
{
    struct io_reactor *r = s->reactor;
    struct io_conn    *c = io_conn_new(r, fd, s->listener->config.protocol);

    if (c == NULL) {
        close(fd);
        IO_COUNT(r, refused, 1);
        io_accept_freed(r->rs);
        return;
    }
    IO_COUNT(r, accepted, 1);
    io_conn_set_peer(c, peer);
    c->listener = s->listener;
    io_deadline_set(c, r->now_ns + r->rs->config.handshake_ns);
    io_flow_start(c, s->listener->config.attach, s->listener->config.attach_arg);
}

/* Out of descriptors or memory: the backlog stays readable, so a while without watching it. */
static void pause_a_while(struct io_reactor *r)
{
    watch_all(r, false);
    ev_timer_stop(r->loop, &r->accept_retry);
    ev_timer_set(&r->accept_retry, (double)IO_ACCEPT_RETRY_NS / 1e9, 0.);
    ev_timer_start(r->loop, &r->accept_retry);
}

/* False when there is nothing to accept, or no room for it. */
static bool accept_one(struct io_socket *s)
{
    struct sockaddr_storage peer;
    socklen_t               len = sizeof peer;
    struct io_reactor      *r = s->reactor;
    int                     fd, failed;

    if (!reserve(r->rs)) {
        pause_at_cap(r);
        return false;
    }
    fd = accept4(s->fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        welcome(s, fd, (struct sockaddr *)&peer);
        return true;
    }
    failed = errno;
    io_accept_freed(r->rs);
    if (failed == EMFILE || failed == ENFILE || failed == ENOBUFS || failed == ENOMEM)
        pause_a_while(r);
    /* accept(2): errors of the new socket itself (ECONNABORTED, EPROTO, ...) concern the next one not at all. */
    return failed != EAGAIN && failed != EMFILE && failed != ENFILE && failed != ENOBUFS && failed != ENOMEM &&
           failed != EBADF && failed != EINVAL;
}

static void readable(struct ev_loop *loop, ev_io *w, int events)
{
    struct io_socket *s = FL_CONTAINER(w, struct io_socket, readable);

    (void)loop;
    (void)events;
    for (int i = 0; i < IO_ACCEPTS_A_TURN && accept_one(s); i++)
        ;
}

/* ---- ending ----------------------------------------------------------------------------------------------------------- */

static void close_socket(struct io_socket *s)
{
    struct io_listener *l = s->listener;

    ev_io_stop(s->reactor->loop, &s->readable);
    if (s->fd < 0)
        return;
    /* A Unix listener is one descriptor for all: its last user closes it. */
    if (atomic_fetch_sub(&l->open_sockets, 1) == 1 || !l->is_unix)
        close(s->fd);
    s->fd = -1;
}

static void remove_path(struct io_listener *l)
{
    if (l->is_unix && l->unix_path != NULL && !atomic_exchange(&l->unlinked, true))
        unlink(l->unix_path);
}

/* As many as the backlog can hold, no more: others may go on connecting for as long as it is open. */
static void empty_backlog(struct io_socket *s)
{
    for (int i = 0; i < s->listener->config.backlog && accept_one(s); i++)
        ;
}

void io_accept_drain(struct io_reactor *r)
{
    for (struct io_listener *l = r->rs->listeners; l != NULL; l = l->next) {
        remove_path(l);
        empty_backlog(&l->sockets[r->index]);
        close_socket(&l->sockets[r->index]);
    }
    r->accept_ended = true;
    ev_timer_stop(r->loop, &r->accept_retry);
}

void io_listener_free(struct io_listener *l)
{
    for (unsigned i = 0; l->sockets != NULL && i < l->rs->count; i++)
        if (l->sockets[i].fd >= 0 && (!l->is_unix || atomic_fetch_sub(&l->open_sockets, 1) == 1))
            close(l->sockets[i].fd);
    if (l->bound)
        remove_path(l);
    free(l->unix_path);
    free(l->sockets);
    free(l);
}

/* ---- making -------------------------------------------------------------------------------------------------------------- */

static enum fl_status cannot_listen(struct fl_error *err, int sys, const char *text)
{
    if (sys == EADDRINUSE)
        return fl_fail(err, FL_SYSTEM, sys,
                       "cannot listen on %s (another program has it: end that one, or choose another port)", text);
    if (sys == EACCES)
        return fl_fail(err, FL_SYSTEM, sys, "cannot listen on %s (choose a port from 1024 on, or grant the right)",
                       text);
    if (sys == EADDRNOTAVAIL)
        return fl_fail(err, FL_SYSTEM, sys, "cannot listen on %s (this machine has no such address)", text);
    return fl_fail(err, FL_SYSTEM, sys, "cannot listen on %s", text);
}

static bool set_tcp_options(int fd, int family)
{
    int on = 1;

    /* TCP_NODELAY is inherited by what is accepted: no call a connection. */
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
           setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
           (family != AF_INET6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0);
}

static enum fl_status open_socket(int *out, const struct io_address *a, int backlog, const char *text,
                                  struct fl_error *err)
{
    int        family = a->at.ss_family;
    FL_AUTO_FD fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "no socket for %s", text);
    if (family != AF_UNIX && !set_tcp_options(fd, family))
        return fl_fail(err, FL_SYSTEM, errno, "cannot set the options of the socket for %s", text);
    if (bind(fd, (const struct sockaddr *)&a->at, a->len) != 0 || listen(fd, backlog) != 0)
        return cannot_listen(err, errno, text);
    *out = io_take_fd(&fd);
    return FL_OK;
}

/* SO_REUSEPORT lets a second program of the same user bind to our port and take half of its clients, silently. So the
 * port is first bound without it: that fails where anybody has it. */
static enum fl_status check_free(const struct io_address *a, const char *text, struct fl_error *err)
{
    int        on = 1;
    FL_AUTO_FD fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "no socket for %s", text);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        (a->at.ss_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0))
        return fl_fail(err, FL_SYSTEM, errno, "cannot set the options of the socket for %s", text);
    if (bind(fd, (const struct sockaddr *)&a->at, a->len) != 0)
        return cannot_listen(err, errno, text);
    return FL_OK;
}

static void set_port(struct io_address *a, in_port_t port)
{
    if (a->at.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)&a->at)->sin6_port = port;
    else
        ((struct sockaddr_in *)(void *)&a->at)->sin_port = port;
}

static enum fl_status open_tcp(struct io_listener *l, struct io_address *a, struct fl_error *err)
{
    union {
        struct sockaddr     any;
        struct sockaddr_in  v4;
        struct sockaddr_in6 v6;
    } real = { .v4 = { .sin_family = AF_UNSPEC } };
    socklen_t      len = sizeof real;
    in_port_t      port;
    enum fl_status s = check_free(a, l->text, err);

    for (unsigned i = 0; s == FL_OK && i < l->rs->count; i++) {
        s = open_socket(&l->sockets[i].fd, a, l->config.backlog, l->text, err);
        if (s != FL_OK || i > 0)
            continue;
        if (getsockname(l->sockets[0].fd, &real.any, &len) != 0)
            return fl_fail(err, FL_SYSTEM, errno, "the port of %s", l->text);
        port = real.any.sa_family == AF_INET6 ? real.v6.sin6_port : real.v4.sin_port;
        set_port(a, port); /* with port 0: the others join the first */
        l->port = ntohs(port);
        io_address_text((const struct sockaddr *)&a->at, l->text, sizeof l->text);
    }
    return s;
}

/* A socket file outlives a killed program. If nobody answers there it is in the way and goes; anything else stays. */
static enum fl_status clear_path(const struct io_address *a, struct fl_error *err)
{
    struct stat st;
    FL_AUTO_FD  fd = -1;

    if (lstat(a->path, &st) != 0)
        return errno == ENOENT ? FL_OK : fl_fail(err, FL_SYSTEM, errno, "cannot look at %s", a->path);
    if (!S_ISSOCK(st.st_mode))
        return fl_fail(err, FL_EXISTS, 0, "%s exists and is no socket: remove it, or choose another path", a->path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "no socket for %s", a->path);
    if (connect(fd, (const struct sockaddr *)&a->at, a->len) == 0 || errno == EAGAIN)
        return fl_fail(err, FL_EXISTS, 0, "another program listens on %s: end that one, or choose another path",
                       a->path);
    if (errno != ECONNREFUSED)
        return fl_fail(err, FL_SYSTEM, errno, "cannot tell who listens on %s", a->path);
    if (unlink(a->path) != 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot remove the abandoned socket %s", a->path);
    return FL_OK;
}

static enum fl_status open_unix(struct io_listener *l, const struct io_address *a, struct fl_error *err)
{
    enum fl_status s = clear_path(a, err);

    if (s != FL_OK)
        return s;
    l->is_unix = true;
    if ((l->unix_path = strdup(a->path)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for listening on %s", l->text);
    if ((s = open_socket(&l->sockets[0].fd, a, l->config.backlog, l->text, err)) != FL_OK)
        return s;
    l->bound = true;
    for (unsigned i = 1; i < l->rs->count; i++)
        l->sockets[i].fd = l->sockets[0].fd;
    return FL_OK;
}

static void watch(struct io_listener *l)
{
    for (unsigned i = 0; i < l->rs->count; i++) {
        struct io_socket *s = &l->sockets[i];

        ev_io_init(&s->readable, readable, s->fd, EV_READ);
        ev_io_start(s->reactor->loop, &s->readable);
    }
    atomic_store(&l->open_sockets, l->rs->count);
    l->next = l->rs->listeners;
    l->rs->listeners = l;
}

/* Fills a zeroed listener; what it has got so far is io_listener_free's if this fails. */
static enum fl_status make(struct io_listener *l, const struct io_listen_config *config, struct io_address *a,
                           struct fl_error *err)
{
    struct io_reactors *rs = l->rs;

    l->config = *config;
    l->config.bind = l->text;
    l->config.backlog = config->backlog > 0 ? config->backlog : 1024;
    io_address_text((struct sockaddr *)&a->at, l->text, sizeof l->text);
    if ((l->sockets = calloc(rs->count, sizeof *l->sockets)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for listening on %s", l->text);
    for (unsigned i = 0; i < rs->count; i++)
        l->sockets[i] = (struct io_socket){ .reactor = &rs->at[i], .listener = l, .fd = -1 };
    return a->path != NULL ? open_unix(l, a, err) : open_tcp(l, a, err);
}

enum fl_status io_listen(struct io_reactors *rs, const struct io_listen_config *config, struct io_listener **out,
                         struct fl_error *err)
{
    struct io_listener *l;
    struct io_address   a;
    enum fl_status      s = io_address_parse(&a, config->bind, err);

    if (s != FL_OK)
        return s;
    if (rs->started > 0)
        return fl_fail(err, FL_USAGE, 0, "cannot listen on %s while the reactors run", config->bind);
    if ((l = calloc(1, sizeof *l)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for listening on %s", config->bind);
    l->rs = rs;
    if ((s = make(l, config, &a, err)) != FL_OK) {
        io_listener_free(l);
        return s;
    }
    watch(l);
    *out = l;
    return FL_OK;
}

void *io_listener_owner(const struct io_listener *l)
{
    return l->config.owner;
}

uint16_t io_listener_port(const struct io_listener *l)
{
    return l->port;
}

const char *io_listener_text(const struct io_listener *l)
{
    return l->text;
}
