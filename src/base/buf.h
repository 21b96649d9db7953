/* base/buf.h - a growing byte buffer with a read and a write cursor and a limit.
 *
 * Owns:    its bytes; fl_buf_done() gives them back (they are not wiped: secrets belong into base/secret.h).
 * Thread:  owner.   Blocks: never.                                                                                    */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "featherlock/slice.h"
#include "featherlock/status.h"

#include <stdarg.h>

struct fl_buf {
    uint8_t *data;
    size_t   cap;    /* bytes allocated */
    size_t   read;   /* next byte to consume */
    size_t   write;  /* next byte to fill; read <= write <= cap */
    size_t   limit;  /* cap never grows beyond it */
    bool     failed; /* an append did not fit or found no memory; sticky until fl_buf_clear */
};

/* An empty buffer that may grow to limit bytes (0: 1 GiB). Allocates nothing yet. */
void fl_buf_init(struct fl_buf *b, size_t limit);
void fl_buf_done(struct fl_buf *b);

/* Room for at least n more bytes at fl_buf_tail(). FL_MALFORMED past the limit, FL_NO_MEMORY. Moves the data, so
 * slices of it end here. */
FL_CHECKED enum fl_status fl_buf_reserve(struct fl_buf *b, size_t n, struct fl_error *err);

/* Without memory yet, data is NULL, and NULL + 0 is undefined in C: UBSan would stop there. */
static inline struct fl_slice fl_buf_slice(const struct fl_buf *b) /* what is unread; valid until the next change */
{
    return fl_slice_of(b->data == NULL ? NULL : b->data + b->read, b->write - b->read);
}
static inline size_t fl_buf_len(const struct fl_buf *b)
{
    return b->write - b->read;
}
static inline size_t fl_buf_room(const struct fl_buf *b)
{
    return b->cap - b->write;
}
static inline uint8_t *fl_buf_tail(struct fl_buf *b)
{
    return b->data == NULL ? NULL : b->data + b->write;
}
static inline void fl_buf_added(struct fl_buf *b, size_t n)
{
    b->write += n;
}

/* Drops n unread bytes from the front; an emptied buffer starts again at 0 without losing its memory. */
static inline void fl_buf_consume(struct fl_buf *b, size_t n)
{
    b->read += n;
    if (b->read == b->write)
        b->read = b->write = 0;
}
void fl_buf_clear(struct fl_buf *b); /* drops everything unread and the failed mark, keeps the memory */

/* Appenders. A failure marks the buffer failed and appends nothing; the writer of a message may check ->failed once,
 * at the end. They return false then. */
bool fl_buf_put(struct fl_buf *b, const void *bytes, size_t len);
bool fl_buf_put_byte(struct fl_buf *b, uint8_t byte);
bool fl_buf_put_slice(struct fl_buf *b, struct fl_slice s);
bool fl_buf_put_str(struct fl_buf *b, const char *text);
bool fl_buf_put_u64(struct fl_buf *b, uint64_t n); /* decimal */
bool fl_buf_put_i64(struct fl_buf *b, int64_t n);  /* decimal */
bool fl_buf_printf(struct fl_buf *b, const char *format, ...) FL_PRINTF(2, 3);
#define FL_BUF_LIT(b, literal) fl_buf_put(b, "" literal, sizeof(literal) - 1)

#endif
