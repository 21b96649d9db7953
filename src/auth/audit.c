/* The audit thread: takes records from the rings, writes lines to the file. */
#include "auth/audit_inside.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"

#define WAKE_NS (20 * FL_NS_PER_MS)
#define DEFAULT_WINDOW_NS (10 * FL_NS_PER_S)

/* Lines are gathered up to ENOUGH bytes and written together; the last event may add two long lines. */
enum { ENOUGH = 1024 * 1024, OUT_BYTES = ENOUGH + 128 * 1024, MOST_WINDOWS = 65536 };

struct audit {
    char                *file;
    bool                 to_stderr, drop, started;
    unsigned             reactors;
    pthread_t            thread;
    pthread_mutex_t      lock; /* stop and failure */
    pthread_cond_t       wake;
    bool                 stop;
    struct fl_error      failure; /* FL_OK: the last write went well */
    atomic_bool          reopen;
    atomic_uint_fast64_t written_lines, write_errors;
    /* the audit thread's own: */
    int                   fd;
    struct fl_buf         out;       /* lines that are to be written */
    uint64_t              out_lines; /* how many, for the statistics */
    struct audit_windows *windows;
    struct audit_ring    *rings; /* one a reactor */
};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void note(struct audit *a, const struct fl_error *failure)
{
    pthread_mutex_lock(&a->lock);
    a->failure = *failure;
    pthread_mutex_unlock(&a->lock);
}

static enum fl_status open_file(const char *file, int *fd, struct fl_error *err)
{
    *fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
    return *fd < 0 ? fl_fail(err, FL_SYSTEM, errno, "cannot open the audit file %s", file) : FL_OK;
}

/* The rest of a line whose beginning went to the old file is written to the new one with that beginning. */
static void rewind_to_line(struct fl_buf *b)
{
    while (b->read > 0 && b->data[b->read - 1] != '\n')
        b->read--;
}

static void reopen_if_asked(struct audit *a)
{
    struct fl_error err;
    int             fd;

    if (!atomic_exchange_explicit(&a->reopen, false, memory_order_relaxed) || a->to_stderr)
        return;
    if (open_file(a->file, &fd, &err) != FL_OK) {
        atomic_fetch_add_explicit(&a->write_errors, 1, memory_order_relaxed);
        note(a, &err); /* the old file serves on */
        return;
    }
    rewind_to_line(&a->out);
    close(a->fd);
    a->fd = fd;
}

/* False: something is left, because the file takes no more now. */
static bool write_out(struct audit *a)
{
    struct fl_error fine = { FL_OK, 0, "" }, err;

    while (fl_buf_len(&a->out) > 0) {
        struct fl_slice left = fl_buf_slice(&a->out);
        ssize_t         n = write(a->fd, left.at, left.len);

        if (n >= 0) {
            fl_buf_consume(&a->out, (size_t)n);
            continue;
        }
        if (errno == EINTR)
            continue;
        FL_IGNORE(fl_fail(&err, FL_SYSTEM, errno, "cannot write the audit file %s", a->file)); /* its text is noted */
        atomic_fetch_add_explicit(&a->write_errors, 1, memory_order_relaxed);
        note(a, &err);
        return false;
    }
    atomic_fetch_add_explicit(&a->written_lines, a->out_lines, memory_order_relaxed);
    if (a->out_lines > 0)
        note(a, &fine);
    a->out_lines = 0;
    return true;
}

/* ---- from the rings to the file ---------------------------------------------------------------------------------- */

/* The ring whose oldest record is the oldest of all: lines of several reactors then stand in the order of their time. */
static struct audit_ring *oldest(struct audit *a, struct audit_event *e)
{
    struct audit_ring *found = NULL;
    struct audit_event next;

    for (unsigned i = 0; i < a->reactors; i++)
        if (audit_ring_peek(&a->rings[i], &next) && (found == NULL || next.wall_ms < e->wall_ms)) {
            found = &a->rings[i];
            *e = next;
        }
    return found;
}

/* False: the rings are empty. */
static bool take_records(struct audit *a, uint64_t now_ns, int64_t wall_ms)
{
    struct audit_ring *r = NULL;
    struct audit_event e;

    while (fl_buf_len(&a->out) < ENOUGH && (r = oldest(a, &e)) != NULL) {
        a->out_lines += audit_windows_event(a->windows, &e, now_ns, wall_ms, &a->out);
        audit_ring_pop(r);
    }
    return r != NULL;
}

/* What could not be written stays, and then nothing is taken from the rings: they fill, and audit_record says so. */
static void work(struct audit *a, uint64_t now_ns, int64_t wall_ms)
{
    bool more = true;

    reopen_if_asked(a);
    while (more && write_out(a)) {
        a->out_lines += audit_windows_expire(a->windows, now_ns, wall_ms, ENOUGH, &a->out, &more);
        more = take_records(a, now_ns, wall_ms) || more;
    }
    if (!more)
        FL_IGNORE(write_out(a)); /* what is left is tried at the next wake-up */
}

/* True: it is time to end. */
static bool sleep_a_little(struct audit *a)
{
    uint64_t        until = fl_now_ns() + WAKE_NS;
    struct timespec at = { (time_t)(until / FL_NS_PER_S), (long)(until % FL_NS_PER_S) };
    bool            stop;

    pthread_mutex_lock(&a->lock);
    while (!a->stop && pthread_cond_timedwait(&a->wake, &a->lock, &at) == 0)
        ;
    stop = a->stop;
    pthread_mutex_unlock(&a->lock);
    return stop;
}

static void *run(void *arg)
{
    struct audit *a = arg;

    while (!sleep_a_little(a))
        work(a, fl_now_ns(), fl_wall_ms());
    work(a, fl_now_ns(), fl_wall_ms());
    work(a, UINT64_MAX / 2, fl_wall_ms()); /* all windows end now */
    return NULL;
}

/* ---- the object -------------------------------------------------------------------------------------------------- */

static enum fl_status make_rings(struct audit *a, const struct audit_config *c, struct fl_error *err)
{
    enum fl_status s = FL_OK;

    a->rings = aligned_alloc(64, c->reactors * sizeof *a->rings);
    if (a->rings == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for %u audit rings", c->reactors);
    memset(a->rings, 0, c->reactors * sizeof *a->rings);
    a->reactors = c->reactors;
    for (unsigned i = 0; i < c->reactors && s == FL_OK; i++)
        s = audit_ring_init(&a->rings[i], c->ring_bytes, err);
    return s;
}

/* Signals are for the other threads: this one would be interrupted in its write. */
static enum fl_status start(struct audit *a, struct fl_error *err)
{
    sigset_t all, old;
    int      code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    code = pthread_create(&a->thread, NULL, run, a);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    a->started = code == 0;
    return code == 0 ? FL_OK : fl_fail(err, FL_SYSTEM, code, "cannot start the audit thread");
}

static enum fl_status set_up(struct audit *a, const struct audit_config *c, struct fl_error *err)
{
    enum fl_status s;

    a->drop = c->drop;
    a->fd = -1;
    fl_buf_init(&a->out, OUT_BYTES);
    if (c->file == NULL)
        return FL_OK;
    if (c->reactors == 0)
        return fl_fail(err, FL_USAGE, 0, "an audit log for 0 reactors, where at least 1 is needed");
    a->file = strdup(c->file);
    a->windows = audit_windows_new(c->window_ns == 0 ? DEFAULT_WINDOW_NS : c->window_ns, MOST_WINDOWS);
    if (a->file == NULL || a->windows == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the audit log");
    a->to_stderr = strcmp(a->file, "-") == 0;
    if (a->to_stderr)
        a->fd = STDERR_FILENO;
    s = a->to_stderr ? FL_OK : open_file(a->file, &a->fd, err);
    if (s == FL_OK)
        s = fl_buf_reserve(&a->out, OUT_BYTES, err); /* so that no line is lost later for want of memory */
    if (s == FL_OK)
        s = make_rings(a, c, err);
    return s == FL_OK ? start(a, err) : s;
}

enum fl_status audit_new(struct audit **out, const struct audit_config *c, struct fl_error *err)
{
    struct audit      *a = calloc(1, sizeof *a);
    pthread_condattr_t monotonic;
    enum fl_status     s;

    if (a == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the audit log");
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&a->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    s = set_up(a, c, err);
    if (s == FL_OK)
        *out = a;
    else
        audit_free(a);
    return s;
}

static void stop(struct audit *a)
{
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
}

void audit_free(struct audit *a)
{
    if (a == NULL)
        return;
    if (a->started)
        stop(a);
    if (a->fd >= 0 && !a->to_stderr)
        close(a->fd);
    for (unsigned i = 0; i < a->reactors; i++)
        audit_ring_done(&a->rings[i]);
    free(a->rings);
    audit_windows_free(a->windows);
    fl_buf_done(&a->out);
    free(a->file);
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

void audit_reopen(struct audit *a)
{
    atomic_store_explicit(&a->reopen, true, memory_order_relaxed);
}

/* One writer, so no read-modify-write is needed. */
static void count(atomic_uint_fast64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

bool audit_record(struct audit *a, unsigned reactor, enum audit_status status, enum audit_op op, const char *level2_op,
                  struct fl_slice key, struct fl_slice user, struct fl_slice text, int64_t wall_ms)
{
    struct audit_event e = { status, op, 0, wall_ms, fl_slice_str(level2_op), key, user, text };
    struct audit_ring *r;

    if (a->file == NULL)
        return true;
    assert(reactor < a->reactors);
    r = &a->rings[reactor];
    if (audit_ring_put(r, &e)) {
        count(&r->records);
        return true;
    }
    count(a->drop ? &r->dropped : &r->refused);
    return a->drop;
}

bool audit_hold(struct audit *a, unsigned reactor, size_t bytes)
{
    if (a->file == NULL || a->drop || audit_ring_hold(&a->rings[reactor], bytes))
        return true;
    count(&a->rings[reactor].refused);
    return false;
}

void audit_let_go(struct audit *a, unsigned reactor, size_t bytes)
{
    if (a->file != NULL && !a->drop)
        audit_ring_let_go(&a->rings[reactor], bytes);
}

void audit_stats(struct audit *a, struct audit_stats *out)
{
    *out = (struct audit_stats){ 0 };
    for (unsigned i = 0; i < a->reactors; i++) {
        out->records += atomic_load_explicit(&a->rings[i].records, memory_order_relaxed);
        out->dropped += atomic_load_explicit(&a->rings[i].dropped, memory_order_relaxed);
        out->refused += atomic_load_explicit(&a->rings[i].refused, memory_order_relaxed);
    }
    out->written_lines = atomic_load_explicit(&a->written_lines, memory_order_relaxed);
    out->write_errors = atomic_load_explicit(&a->write_errors, memory_order_relaxed);
}

enum fl_status audit_health(struct audit *a, struct fl_error *err)
{
    struct fl_error now;

    pthread_mutex_lock(&a->lock);
    now = a->failure;
    pthread_mutex_unlock(&a->lock);
    if (err != NULL)
        *err = now;
    return now.status;
}
