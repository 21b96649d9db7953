/* featherlock/status.h - how every function of Featherlock says how it went.
 *
 * A status is named for what the caller does next; the sentence in fl_error is for a person. Waiting is not failing.
 * Owns:    nothing. Thread: any. Blocks: never.                                                                       */
#ifndef FEATHERLOCK_STATUS_H
#define FEATHERLOCK_STATUS_H

enum fl_status {
    FL_OK,         /* go on */
    FL_PENDING,    /* the answer comes later, through the callback that was given */
    FL_WANT_READ,  /* call again when more bytes have arrived */
    FL_WANT_WRITE, /* call again when the peer takes bytes */
    FL_CLOSED,     /* the peer ended in good order */

    FL_MALFORMED, /* the input breaks its format or a limit */
    FL_DENIED,    /* the caller may not do that */
    FL_NOT_FOUND, /* no such thing */
    FL_EXISTS,    /* there is such a thing already */
    FL_BUSY,      /* no room now; later may do */
    FL_TIMEOUT,   /* the time allowed is over; the outcome may be unknown */
    FL_USAGE,     /* a setting or an argument is wrong */
    FL_NO_MEMORY,
    FL_SYSTEM, /* a system call or a library failed; fl_error.sys holds errno if there is one */
    FL_STATUS_COUNT
};

/* One failure. The storage is the caller's, so it can't run out of memory and belongs to no thread. */
struct fl_error {
    enum fl_status status;
    int            sys;       /* errno of the failed call, else 0 */
    char           text[240]; /* a sentence without a full stop: the thing, the value, what is allowed */
};

#define FL_CHECKED __attribute__((warn_unused_result))
#define FL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Ignores a checked result on purpose; the reason stands beside it. */
#define FL_IGNORE(call)              \
    do {                             \
        if (call) { /* on purpose */ \
        }                            \
    } while (0)

/* Fills *err (which may be NULL) and returns status, so that failing is one line. `sys` is the errno of the failed
 * call, whose text is appended after ": ", or 0. Text beyond the room is cut. */
enum fl_status fl_fail(struct fl_error *err, enum fl_status status, int sys, const char *format, ...) FL_PRINTF(4, 5);

/* Puts "context: " in front of what *err says already. Returns err->status (FL_SYSTEM where err is NULL). */
enum fl_status fl_fail_in(struct fl_error *err, const char *format, ...) FL_PRINTF(2, 3);

/* "malformed", "denied", … for logs and tests; never NULL. */
const char *fl_status_name(enum fl_status status);

#endif
