/* io/io.h - the face of the reactor: loops, connections, listeners, timers, mail, workers.
 *
 * A reactor is one thread with one libev loop, its own listening sockets (SO_REUSEPORT) and its own connections. A
 * connection lives and dies on one reactor; nothing on a reactor blocks. Reactors, workers and stores reach each other
 * by mail only. The loop's promises are docs/reactor.md.
 *
 * Owns:    threads, descriptors, connections and their buffers.
 * Thread:  stated at each function: start (before the threads run), owner (the reactor's thread), any.
 * Blocks:  never, but for io_reactors_join and functions marked start.                                                */
#ifndef IO_IO_H
#define IO_IO_H

#include "base/buf.h"
#include "base/own.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

struct io_reactors;
struct io_reactor;
struct io_conn;
struct io_listener;
struct ev_loop;

/* ---- reactors ---------------------------------------------------------------------------------------------------- */

struct io_config {
    unsigned reactors;        /* threads; 0: one a core that the process may use */
    unsigned workers;         /* threads of the worker pool, at least 1 */
    unsigned max_connections; /* of the whole process; above it accepting stops (or answers busy) instead of spinning */
    size_t   in_limit;        /* most bytes read ahead of the protocol on one connection; 0: 256 KiB */
    size_t   out_high_water;  /* above it a connection is no longer read; 0: 256 KiB */
    uint64_t handshake_ns;    /* accept to end of the transport's handshake; 0: 10 s */
};

FL_CHECKED enum fl_status io_reactors_new(struct io_reactors **out, const struct io_config *config,
                                          struct fl_error *err);                           /* start */
FL_CHECKED enum fl_status io_reactors_start(struct io_reactors *rs, struct fl_error *err); /* runs the threads */
/* Stops accepting (what is in the backlog is still served), lets answers in flight finish, closes idle connections;
 * after grace_ns closes the rest. The threads end when nothing is left. Any thread. */
void io_reactors_drain(struct io_reactors *rs, uint64_t grace_ns);
void io_reactors_join(struct io_reactors *rs); /* waits for the threads' end */
void io_reactors_free(struct io_reactors *rs); /* after join, or never started */

unsigned            io_reactors_count(const struct io_reactors *rs); /* any */
struct io_reactor  *io_reactors_at(struct io_reactors *rs, unsigned index);
unsigned            io_reactor_index(const struct io_reactor *r);
struct io_reactors *io_reactor_all(struct io_reactor *r);
struct io_reactor  *io_reactor_here(void); /* the calling thread's reactor, NULL on other threads */
bool                io_reactor_draining(const struct io_reactor *r);

uint64_t io_now_ns(const struct io_reactor *r);      /* monotonic, read once a turn; owner */
int64_t  io_now_wall_ms(const struct io_reactor *r); /* likewise, wall clock */

/* Called on the reactor's thread before its loop starts and after it ended (per-reactor state of a room). start */
struct io_hook {
    void (*begin)(struct io_reactor *r, void *arg);
    void (*end)(struct io_reactor *r, void *arg);
    void *arg;
};
FL_CHECKED enum fl_status io_reactors_hook(struct io_reactors *rs, const struct io_hook *hook, struct fl_error *err);

/* ---- mail: the only way to another thread -------------------------------------------------------------------------- */

struct io_mail {
    struct io_mail *next;               /* io's while posted */
    void (*deliver)(struct io_mail *m); /* on the receiving reactor; may free or post m again */
};
/* Lock-free, many to one, in order per sender; wakes the loop at most once a batch. m must stay until delivered. Any
 * thread, registered with RCU or not. A reactor that has ended delivers nothing any more. */
void io_post(struct io_reactor *to, struct io_mail *m);

/* ---- timers (owner) -------------------------------------------------------------------------------------------------- */

struct io_timer {
    void (*fire)(struct io_timer *t);
    struct io_reactor *reactor;
    struct {
        void *storage[10]; /* an ev_timer; io_timer.c asserts that it fits */
    } ev;
    bool running;
};
void io_timer_start(struct io_reactor *r, struct io_timer *t,
                    uint64_t after_ns); /* restarts a running one; fires once */
void io_timer_stop(struct io_timer *t); /* fine when not running */

/* ---- workers: what blocks or burns ------------------------------------------------------------------------------------- */

struct io_work {
    struct io_mail     mail; /* the way home */
    struct io_reactor *home; /* set by io_work_submit */
    struct io_work    *next;
    void (*run)(struct io_work *w);  /* on a worker: copies only, no RCU data */
    void (*done)(struct io_work *w); /* on home; w is the caller's again */
};
/* Owner. FL_BUSY when 10,000 jobs wait already: the caller answers 'too busy'. */
FL_CHECKED enum fl_status io_work_submit(struct io_reactor *home, struct io_work *w, struct fl_error *err);

/* ---- connections (owner) ----------------------------------------------------------------------------------------------- */

enum io_close { IO_CLOSE_PEER, IO_CLOSE_LOCAL, IO_CLOSE_ERROR, IO_CLOSE_TIMEOUT, IO_CLOSE_DRAIN };

/* What a door makes of a connection. No callback runs inside the call that caused it. Entries may be NULL. */
struct io_protocol {
    const char *name;
    void (*on_open)(struct io_conn *c); /* accepted or connected, handshake over; sets the owner */
    /* Bytes wait in *in: take from the front (fl_buf_consume) what is whole, leave the rest. Called again when more
     * came; for what was left at once only after io_conn_again or io_conn_resume. */
    void (*on_bytes)(struct io_conn *c, struct fl_buf *in);
    void (*on_drained)(struct io_conn *c);  /* unsent output fell under the low-water mark after may_answer was false */
    void (*on_deadline)(struct io_conn *c); /* the deadline passed; it is cleared. NULL: the connection is closed */
    void (*on_drain)(struct io_conn *c);    /* the reactor drains: finish what is in flight, then close */
    void (*on_eof)(struct io_conn *c); /* the peer ended its side after all bytes given. NULL: closed after flush */
    /* The last call: c dies when it returns. err says more for IO_CLOSE_ERROR. Also for a connect or handshake that
     * failed, when on_open never came (then the owner is what io_connect was given, or NULL). */
    void (*on_close)(struct io_conn *c, enum io_close why, const struct fl_error *err);
};

void               io_conn_set_owner(struct io_conn *c, void *owner);
void              *io_conn_owner(const struct io_conn *c);
struct io_reactor *io_conn_reactor(const struct io_conn *c);

/* Append here; flushed once at the end of the turn. */
struct fl_buf *io_conn_out(struct io_conn *c);
/* False above the high-water mark: produce no more until on_drained. */
bool io_conn_may_answer(const struct io_conn *c);
/* Stops on_bytes (a request is parked): nothing is parsed meanwhile, and reading stops at in_limit. Resume calls
 * on_bytes next turn if bytes wait. */
void io_conn_hold(struct io_conn *c);
void io_conn_resume(struct io_conn *c);
void io_conn_again(struct io_conn *c);             /* on_bytes again next turn: a fair share was used up */
void io_conn_close_after_flush(struct io_conn *c); /* half-closes and reads off a little (lingering), bounded in time */
void io_conn_abort(struct io_conn *c);             /* at the turn's end, what is unsent is dropped */
/* One deadline a connection, absolute on io_now_ns's clock; 0: none. Costs no system call and no heap work: deadlines
 * are kept to about 1/16 s. */
void io_conn_set_deadline(struct io_conn *c, uint64_t at_ns);

/* What is parked holds this, never a pointer. */
struct io_handle {
    uint32_t slot, generation;
};
struct io_handle io_conn_handle(const struct io_conn *c);
struct io_conn  *io_conn_find(struct io_reactor *r, struct io_handle h); /* NULL: closed meanwhile */

const struct sockaddr *io_conn_peer(const struct io_conn *c);      /* AF_UNIX for Unix sockets */
const char            *io_conn_peer_text(const struct io_conn *c); /* "127.0.0.1", "unix"; without the port */
struct io_listener    *io_conn_listener(const struct io_conn *c);  /* NULL on outgoing connections */
bool                   io_conn_secure(const struct io_conn *c);    /* the transport is TLS */

/* ---- transports: what stands between the socket and the protocol (plain here; TLS in tls/) ------------------------------- */

struct io_transport; /* io/transport.h, for tls/ and tests */
/* Called for each accepted or connected socket to give it a transport; NULL: plain. */
typedef enum fl_status (*io_attach)(struct io_conn *c, void *arg, struct fl_error *err);

/* ---- listeners and outgoing connections ---------------------------------------------------------------------------------- */

struct io_listen_config {
    const char               *bind; /* "127.0.0.1:9600", "[::1]:0", "unix:/run/x.sock" */
    const struct io_protocol *protocol;
    void                     *owner; /* io_listener_owner */
    io_attach                 attach;
    void                     *attach_arg;
    int                       backlog; /* 0: 1024 */
};
/* Start. One listening socket on each reactor (Unix sockets: one, shared). With port 0 all reactors get the same free
 * port. FL_USAGE for a bad address; FL_SYSTEM says what to do when the port is taken. Owned by rs. */
FL_CHECKED enum fl_status io_listen(struct io_reactors *rs, const struct io_listen_config *config,
                                    struct io_listener **out, struct fl_error *err);
void                     *io_listener_owner(const struct io_listener *l);
uint16_t                  io_listener_port(const struct io_listener *l); /* the real one; 0 for Unix */
const char               *io_listener_text(const struct io_listener *l); /* "127.0.0.1:41873" */

struct io_connect_config {
    const struct sockaddr    *to;
    socklen_t                 to_len;
    const struct io_protocol *protocol;
    void                     *owner;
    io_attach                 attach;
    void                     *attach_arg;
    uint64_t                  timeout_ns; /* connect and handshake together */
};
/* Owner. Ends in on_open or on_close. */
FL_CHECKED enum fl_status io_connect(struct io_reactor *r, const struct io_connect_config *config, struct io_conn **out,
                                     struct fl_error *err);

/* Counters of one reactor, read by any thread (relaxed). */
struct io_stats {
    uint64_t accepted, open, refused, closed_timeout, closed_error, bytes_in, bytes_out, turns;
};
void io_reactor_stats(const struct io_reactor *r, struct io_stats *out);

#endif
