/* io/inside.h - the structs that io/'s own files share. Nobody else includes this.
 *
 * Owns: see io/io.h. Thread: owner, but for fields marked otherwise. Blocks: never.                                   */
#ifndef IO_INSIDE_H
#define IO_INSIDE_H

#include "base/clock.h"
#include "io/io.h"
#include "io/transport.h"

#include <ev.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

enum {
    IO_BLOCK_BYTES = 33 * 1024, /* a lent buffer: one read(), or two whole TLS records */
    IO_BLOCKS_KEPT = 256,       /* free blocks that a reactor keeps */
    IO_ACCEPTS_A_TURN = 16,
    IO_WHEEL_SLOTS = 1024,
    IO_HOOKS_MAX = 16,
    IO_WORK_WAITING_MAX = 10000,
};
#define IO_TICK_NS (FL_NS_PER_S / 16)           /* grain of deadlines */
#define IO_LINGER_NS (2 * FL_NS_PER_S)          /* reading off after the last answer */
#define IO_FLUSH_NS (30 * FL_NS_PER_S)          /* no progress while flushing before a close */
#define IO_ACCEPT_RETRY_NS (100 * FL_NS_PER_MS) /* out of descriptors */
#define IO_DRAIN_FIRST_NS FL_NS_PER_S           /* a connection that came during the drain may still speak */
#define IO_OUT_EXTRA ((size_t)64 << 20)         /* beyond the high-water mark */

enum io_conn_state { IO_CONNECTING, IO_HANDSHAKE, IO_OPEN, IO_LINGER };

struct io_conn {
    ev_io                      readable, writable;
    struct io_reactor         *reactor;
    const struct io_protocol  *protocol;
    const struct io_transport *transport;
    void                      *transport_state, *owner;
    struct fl_buf              in, out;
    int                        fd;
    enum io_conn_state         state;
    enum io_close              why;
    struct fl_error           *error; /* of IO_CLOSE_ERROR; malloc'ed */

    /* What holds now. */
    bool outgoing;
    bool held;  /* io_conn_hold */
    bool above; /* output went over the high-water mark and has not drained */
    bool eof;   /* the peer ended its side */
    bool eof_told;
    bool closing; /* close once flushed */
    bool dying;   /* to be destroyed when settled */
    bool stuck;   /* the socket takes no more: the write watcher is armed */
    bool drain_told;
    bool late; /* accepted while draining */

    /* What is wanted: at the end of this turn, and in the next one. */
    bool touched, queued;
    bool again_bytes, again_read, again_drained, again_drain;
    TAILQ_ENTRY(io_conn) touched_link, again_link;
    LIST_ENTRY(io_conn) all_link;

    uint64_t deadline;   /* 0: none */
    uint64_t wheel_tick; /* where it is linked; 0: it isn't */
    LIST_ENTRY(io_conn) wheel_link;

    struct io_handle    handle;
    struct io_listener *listener;
    io_attach           attach; /* outgoing: until connected */
    void               *attach_arg;
    struct {
        union {
            struct sockaddr     any;
            struct sockaddr_in  v4;
            struct sockaddr_in6 v6;
        } at;
        char text[INET6_ADDRSTRLEN];
    } peer;
};
LIST_HEAD(io_conn_list, io_conn);
TAILQ_HEAD(io_conn_queue, io_conn);

struct io_slot {
    struct io_conn *conn;
    uint32_t        generation, next_free;
};

struct io_socket { /* one listening socket on one reactor */
    ev_io               readable;
    struct io_reactor  *reactor;
    struct io_listener *listener;
    int                 fd;
};

struct io_listener {
    struct io_listener     *next;
    struct io_reactors     *rs;
    struct io_listen_config config;  /* bind points to text */
    struct io_socket       *sockets; /* one a reactor */
    bool                    is_unix;
    bool                    bound;    /* unix_path is ours */
    _Atomic bool            unlinked; /* any */
    char                   *unix_path;
    atomic_uint             open_sockets; /* any */
    uint16_t                port;
    char                    text[160];
};

struct io_cells { /* written by the owner, read by any: relaxed */
    _Atomic uint64_t accepted, open, refused, closed_timeout, closed_error, bytes_in, bytes_out, turns;
};

struct io_reactor {
    struct ev_loop     *loop;
    struct io_reactors *rs;
    unsigned            index;
    pthread_t           thread;
    ev_prepare          turn_ends;
    ev_check            turn_starts;
    ev_idle             no_wait; /* active while leftovers exist */
    ev_async            mail_came, may_accept;
    ev_timer            tick, accept_retry, grace, drain_first;

    uint64_t now_ns;
    int64_t  now_wall_ms;

    _Atomic(struct io_mail *) mailbox; /* any; newest first */

    struct io_conn_queue touched, again;
    struct io_conn_list  all;
    struct io_conn_list  wheel[IO_WHEEL_SLOTS];
    uint64_t             wheel_tick;
    unsigned             wheel_count;

    struct io_slot *slots;
    uint32_t        slot_count, slot_free; /* slot_free: UINT32_MAX for none */

    void    *blocks[IO_BLOCKS_KEPT];
    unsigned block_count;
    uint8_t  scrap[16 * 1024]; /* what lingering connections send */

    unsigned       works_out; /* jobs submitted and not home */
    bool           accept_paused;
    bool           accept_ended; /* drain: listening sockets are closed */
    bool           grace_over;
    _Atomic bool   draining;
    _Atomic bool   drain_posted;
    struct io_mail drain_mail;

    struct io_cells cells;
};

struct io_reactors {
    struct io_config    config;
    unsigned            count, started;
    struct io_reactor  *at; /* count of them */
    struct io_listener *listeners;
    struct io_hook      hooks[IO_HOOKS_MAX];
    unsigned            hook_count;
    struct io_workers  *workers;
    _Atomic unsigned    accepted_open; /* under max_connections */
    _Atomic unsigned    paused;        /* reactors that stopped accepting at the cap */
    _Atomic uint64_t    grace_ends_ns;
};

#define IO_COUNT(r, cell, n)                                                                                    \
    atomic_store_explicit(&(r)->cells.cell, atomic_load_explicit(&(r)->cells.cell, memory_order_relaxed) + (n), \
                          memory_order_relaxed)

static inline int io_take_fd(int *fd) /* hands over what FL_AUTO_FD would close */
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

/* conn.c: life and getters */
struct io_conn *io_conn_new(struct io_reactor *r, int fd,
                            const struct io_protocol *protocol); /* fd is taken on success */
void            io_conn_set_peer(struct io_conn *c, const struct sockaddr *at);
void            io_conn_kill(struct io_conn *c, enum io_close why, const struct fl_error *err);
void            io_conn_destroy(struct io_conn *c);
void            io_conn_touch(struct io_conn *c);
void            io_conn_queue_again(struct io_conn *c);

/* flow.c: bytes */
void io_flow_start(struct io_conn *c, io_attach attach, void *arg); /* connected: gives the transport, begins */
void io_flow_settle(struct io_conn *c);
void io_flow_leftovers(struct io_reactor *r);
void io_flow_deadline(struct io_conn *c);
void io_flow_readable(struct ev_loop *loop, ev_io *w, int events);
void io_flow_writable(struct ev_loop *loop, ev_io *w, int events);

/* connect.c */
void io_connect_finish(struct io_conn *c);

/* deadline.c */
void io_deadline_init(struct io_reactor *r);
void io_deadline_set(struct io_conn *c, uint64_t at_ns);
void io_deadline_unlink(struct io_conn *c);

/* mail.c */
void io_mail_deliver(struct io_reactor *r);

/* listen.c */
void io_accept_resume(struct io_reactor *r);
void io_accept_drain(struct io_reactor *r);   /* empties the backlog, closes */
void io_accept_freed(struct io_reactors *rs); /* an accepted connection is gone */
void io_listener_free(struct io_listener *l);

/* address.c */
struct io_address {
    struct sockaddr_storage at;
    socklen_t               len;
    const char             *path; /* Unix; into the parsed text */
};
enum fl_status io_address_parse(struct io_address *a, const char *bind, struct fl_error *err);
void           io_address_text(const struct sockaddr *at, char *text, size_t room); /* with the port */

/* drain.c */
void io_drain_begin(struct io_reactor *r);
void io_drain_tell(struct io_conn *c); /* on_drain, once */
void io_drain_init(struct io_reactor *r);
bool io_drain_done(const struct io_reactor *r);

/* work.c */
struct io_workers;
enum fl_status io_workers_new(struct io_workers **out, unsigned threads, struct fl_error *err);
enum fl_status io_workers_start(struct io_workers *ws, struct fl_error *err);
void           io_workers_stop(struct io_workers *ws); /* joins; the queue is empty when the reactors have ended */
void           io_workers_free(struct io_workers *ws);

/* reactor.c */
enum fl_status io_reactor_init(struct io_reactor *r, struct io_reactors *rs, unsigned index, struct fl_error *err);
void           io_reactor_run(struct io_reactor *r); /* the thread's body between the hooks */
void           io_reactor_done(struct io_reactor *r);
void           io_reactor_set_here(struct io_reactor *r);

#endif
