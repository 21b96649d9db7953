/* auth/audit_inside.h - the parts of the audit log: ring (audit_ring.c), lines (audit_line.c), windows (audit_window.c),
 * and the thread that joins them (audit.c).
 *
 * Owns:    stated. Thread: a ring has one producer and one consumer; lines and windows belong to the audit thread.
 * Blocks:  never; only audit.c's thread writes.                                                                       */
#ifndef AUTH_AUDIT_INSIDE_H
#define AUTH_AUDIT_INSIDE_H

#include "auth/auth.h"

#include <stdatomic.h>

enum { AUDIT_FIELD_MAX = 2048, AUDIT_LEVEL2_MAX = 32 };
enum audit_cut { AUDIT_CUT_KEY = 1, AUDIT_CUT_USER = 2, AUDIT_CUT_TEXT = 4 }; /* fields that were longer */

struct audit_event {
    enum audit_status status;
    enum audit_op     op;
    unsigned          cut;
    int64_t           wall_ms;
    struct fl_slice   level2, key, user, text; /* borrowed */
};

/* ---- ring: one producer, one consumer; owns its bytes ------------------------------------------------------------ */

struct audit_ring {
    _Alignas(64) atomic_size_t head; /* bytes ever put; the producer's, as what follows it */
    size_t               known_tail; /* what the producer last saw of tail */
    size_t               held;       /* the producer's: bytes that only audit_ring_let_go makes free */
    atomic_uint_fast64_t records, dropped, refused;
    uint8_t             *data;       /* these two change no more */
    size_t               cap;        /* a power of two */
    _Alignas(64) atomic_size_t tail; /* bytes ever taken; the consumer's */
};
FL_CHECKED enum fl_status audit_ring_init(struct audit_ring *r, size_t bytes, struct fl_error *err);
void                      audit_ring_done(struct audit_ring *r);
/* Fields are cut to their limits. False: no room. */
bool audit_ring_put(struct audit_ring *r, const struct audit_event *e);
/* Keeps room for a record whose fields have at most these bytes together. False: no room. */
bool audit_ring_hold(struct audit_ring *r, size_t bytes);
void audit_ring_let_go(struct audit_ring *r, size_t bytes); /* as many as were held */
/* The oldest record, borrowed until it is popped; false: empty. */
bool audit_ring_peek(struct audit_ring *r, struct audit_event *out);
void audit_ring_pop(struct audit_ring *r);

/* ---- lines ------------------------------------------------------------------------------------------------------- */

struct audit_stamp { /* the last second that was written out: a busy log writes thousands of lines in each */
    int64_t second;
    bool    valid;
    char    text[20];
};
/* One line with its line feed. counted: the aggregated form, with these two numbers. False: out has no room. */
struct audit_count {
    uint64_t accesses;
    int64_t  interval_ms;
};
bool audit_line_put(struct fl_buf *out, struct audit_stamp *stamp, int64_t wall_ms, const struct audit_event *e,
                    const struct audit_count *counted);

/* ---- windows ----------------------------------------------------------------------------------------------------- */

struct audit_windows;
struct audit_windows *audit_windows_new(uint64_t window_ns, size_t most); /* NULL without memory */
void                  audit_windows_free(struct audit_windows *w);
/* Puts the lines that e causes now: none, one, or a summary first. Returns how many. */
unsigned audit_windows_event(struct audit_windows *w, const struct audit_event *e, uint64_t now_ns, int64_t now_wall_ms,
                             struct fl_buf *out);
/* Puts the summaries of windows that end by now_ns, until out holds enough bytes: then *more is true. */
unsigned audit_windows_expire(struct audit_windows *w, uint64_t now_ns, int64_t now_wall_ms, size_t enough,
                              struct fl_buf *out, bool *more);
size_t   audit_windows_open(const struct audit_windows *w);

#endif
