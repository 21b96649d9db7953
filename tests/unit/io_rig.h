/* tests/unit/io_rig.h - reactors on a free port, blocking clients, and counters to wait for. Included by io_*.c, tls_*.c. */
#ifndef IO_RIG_H
#define IO_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "io/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define RIG __attribute__((unused)) static

enum { RIG_PATIENCE_S = 20 }; /* long enough for a sanitizer on a busy machine; nothing waits for it when all is well */

/* ---- counters that another thread waits for ---- */

struct rig_count {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    uint64_t        n;
};
#define RIG_COUNT_INIT                                         \
    {                                                          \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 \
    }

RIG void rig_add(struct rig_count *c, uint64_t n)
{
    pthread_mutex_lock(&c->lock);
    c->n += n;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

RIG uint64_t rig_get(struct rig_count *c)
{
    uint64_t n;

    pthread_mutex_lock(&c->lock);
    n = c->n;
    pthread_mutex_unlock(&c->lock);
    return n;
}

RIG bool rig_wait(struct rig_count *c, uint64_t at_least)
{
    struct timespec end;
    bool            there;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += RIG_PATIENCE_S;
    pthread_mutex_lock(&c->lock);
    while (c->n < at_least && pthread_cond_timedwait(&c->changed, &c->lock, &end) == 0)
        ;
    there = c->n >= at_least;
    pthread_mutex_unlock(&c->lock);
    return there;
}

/* ---- the server's side ---- */

struct rig {
    struct io_config        config;
    struct io_listen_config listen;
    struct io_reactors     *rs;
    struct io_listener     *listener;
};

RIG void rig_make(struct rig *rig, const struct io_protocol *protocol)
{
    struct fl_error err = { .text = "" };

    if (rig->config.workers == 0)
        rig->config.workers = 1;
    if (rig->config.max_connections == 0)
        rig->config.max_connections = 1000;
    if (rig->config.reactors == 0)
        rig->config.reactors = 1;
    if (rig->listen.bind == NULL)
        rig->listen.bind = "127.0.0.1:0";
    rig->listen.protocol = protocol;
    if (io_reactors_new(&rig->rs, &rig->config, &err) != FL_OK ||
        io_listen(rig->rs, &rig->listen, &rig->listener, &err) != FL_OK)
        fail_msg("%s", err.text);
}

RIG void rig_run(struct rig *rig)
{
    struct fl_error err = { .text = "" };

    if (io_reactors_start(rig->rs, &err) != FL_OK)
        fail_msg("%s", err.text);
}

RIG void rig_start(struct rig *rig, const struct io_protocol *protocol)
{
    rig_make(rig, protocol);
    rig_run(rig);
}

RIG void rig_end(struct rig *rig, uint64_t grace_ns)
{
    io_reactors_drain(rig->rs, grace_ns);
    io_reactors_join(rig->rs);
    io_reactors_free(rig->rs);
    rig->rs = NULL;
}

RIG struct io_stats rig_stats(struct rig *rig)
{
    struct io_stats all = { 0 }, one;

    for (unsigned i = 0; i < io_reactors_count(rig->rs); i++) {
        io_reactor_stats(io_reactors_at(rig->rs, i), &one);
        all.accepted += one.accepted;
        all.open += one.open;
        all.closed_error += one.closed_error;
        all.closed_timeout += one.closed_timeout;
        all.turns += one.turns;
        all.bytes_in += one.bytes_in;
    }
    return all;
}

/* Runs f(arg) on the first reactor's thread and waits for it. */
struct rig_call {
    struct io_mail mail;
    void (*f)(struct io_reactor *r, void *arg);
    struct io_reactor *r;
    void              *arg;
    struct rig_count   done;
};

RIG void rig_call_deliver(struct io_mail *m)
{
    struct rig_call *call = FL_CONTAINER(m, struct rig_call, mail);

    call->f(call->r, call->arg);
    rig_add(&call->done, 1);
}

RIG void rig_on_reactor(struct rig *rig, void (*f)(struct io_reactor *r, void *arg), void *arg)
{
    struct rig_call call = { .mail = { .deliver = rig_call_deliver }, .f = f, .arg = arg, .done = RIG_COUNT_INIT };

    call.r = io_reactors_at(rig->rs, 0);
    io_post(call.r, &call.mail);
    assert_true(rig_wait(&call.done, 1));
    pthread_mutex_lock(&call.done.lock); /* rig_add has left it */
    pthread_mutex_unlock(&call.done.lock);
}

/* ---- the client's side: blocking, with patience ---- */

RIG void rig_patience(int fd)
{
    struct timeval t = { .tv_sec = RIG_PATIENCE_S };

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t), 0);
}

RIG int rig_connect_port(uint16_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int                fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    rig_patience(fd);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

RIG int rig_connect(struct rig *rig)
{
    return rig_connect_port(io_listener_port(rig->listener));
}

RIG int rig_connect_unix(const char *path)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_true(strlen(path) < sizeof at.sun_path);
    memcpy(at.sun_path, path, strlen(path));
    rig_patience(fd);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

RIG void rig_send(int fd, const void *bytes, size_t len)
{
    const char *at = bytes;

    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

        assert_true(n > 0);
        at += n;
        len -= (size_t)n;
    }
}

RIG void rig_recv(int fd, void *bytes, size_t len)
{
    char *at = bytes;

    while (len > 0) {
        ssize_t n = recv(fd, at, len, 0);

        assert_true(n > 0);
        at += n;
        len -= (size_t)n;
    }
}

RIG void rig_recv_end(int fd) /* end of file, and nothing before it */
{
    char byte;

    assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

RIG void rig_expect(int fd, const char *text)
{
    char got[512] = "";

    assert_true(strlen(text) < sizeof got);
    rig_recv(fd, got, strlen(text));
    assert_string_equal(got, text);
}

/* ---- protocols that many tests use ---- */

RIG void rig_echo_bytes(struct io_conn *c, struct fl_buf *in)
{
    struct fl_slice all = fl_buf_slice(in);

    fl_buf_put_slice(io_conn_out(c), all);
    fl_buf_consume(in, all.len);
}

/* A pattern that shows lost, doubled and swapped bytes. */
RIG uint8_t rig_pattern(size_t at)
{
    return (uint8_t)((at * 31 + (at >> 8) * 7 + (at >> 16)) & 0xff);
}

RIG void rig_temp_path(char *out, size_t room, const char *name)
{
    static unsigned count;

    snprintf(out, room, "/tmp/fl-test-%ld-%u-%s", (long)getpid(), count++, name);
}

#endif
