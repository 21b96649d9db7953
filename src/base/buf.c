#include "base/buf.h"

#include "base/own.h"

#include <stdio.h>

enum { FIRST_CAP = 256 };
static const size_t NO_LIMIT = (size_t)1 << 30;

void fl_buf_init(struct fl_buf *b, size_t limit)
{
    *b = (struct fl_buf){ .limit = limit == 0 ? NO_LIMIT : limit };
}

void fl_buf_done(struct fl_buf *b)
{
    free(b->data);
    fl_buf_init(b, b->limit);
}

void fl_buf_clear(struct fl_buf *b)
{
    b->read = b->write = 0;
    b->failed = false;
}

static void slide_to_front(struct fl_buf *b)
{
    size_t len = fl_buf_len(b);

    if (b->read > 0 && len > 0)
        memmove(b->data, b->data + b->read, len);
    b->read = 0;
    b->write = len;
}

enum fl_status fl_buf_reserve(struct fl_buf *b, size_t n, struct fl_error *err)
{
    size_t   len = fl_buf_len(b), cap;
    uint8_t *data;

    if (fl_buf_room(b) >= n)
        return FL_OK;
    if (n > b->limit || len > b->limit - n)
        return fl_fail(err, FL_MALFORMED, 0, "%zu bytes beside %zu waiting, where %zu are allowed", n, len, b->limit);
    slide_to_front(b);
    if (fl_buf_room(b) >= n)
        return FL_OK;
    cap = FL_MAX(b->cap, (size_t)FIRST_CAP);
    while (cap < len + n)
        cap *= 2;
    cap = FL_MIN(cap, b->limit);
    data = realloc(b->data, cap);
    if (data == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a buffer of %zu bytes", cap);
    b->data = data;
    b->cap = cap;
    return FL_OK;
}

bool fl_buf_put(struct fl_buf *b, const void *bytes, size_t len)
{
    if (b->failed || fl_buf_reserve(b, len, NULL) != FL_OK) {
        b->failed = true;
        return false;
    }
    if (len > 0)
        memcpy(fl_buf_tail(b), bytes, len);
    fl_buf_added(b, len);
    return true;
}

bool fl_buf_put_byte(struct fl_buf *b, uint8_t byte)
{
    return fl_buf_put(b, &byte, 1);
}

bool fl_buf_put_slice(struct fl_buf *b, struct fl_slice s)
{
    return fl_buf_put(b, s.at, s.len);
}

bool fl_buf_put_str(struct fl_buf *b, const char *text)
{
    return fl_buf_put(b, text, strlen(text));
}

bool fl_buf_put_u64(struct fl_buf *b, uint64_t n)
{
    char   digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return fl_buf_put(b, digits + at, sizeof digits - at);
}

bool fl_buf_put_i64(struct fl_buf *b, int64_t n)
{
    if (n >= 0)
        return fl_buf_put_u64(b, (uint64_t)n);
    return fl_buf_put_byte(b, '-') && fl_buf_put_u64(b, -(uint64_t)n);
}

bool fl_buf_printf(struct fl_buf *b, const char *format, ...)
{
    va_list args;
    int     n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0 || b->failed || fl_buf_reserve(b, (size_t)n + 1, NULL) != FL_OK) {
        b->failed = true;
        return false;
    }
    va_start(args, format);
    vsnprintf((char *)fl_buf_tail(b), (size_t)n + 1, format, args);
    va_end(args);
    fl_buf_added(b, (size_t)n);
    return true;
}
