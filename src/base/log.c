#include "base/log.h"

#include "base/clock.h"
#include "base/encode.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* A longer sentence is cut and ends in "...". */
enum { MESSAGE_BYTES = 2048, MOST_PER_BYTE = 6 /* \u001b */, LINE_BYTES = MESSAGE_BYTES * MOST_PER_BYTE + 256 };

static _Atomic enum fl_log_level least = FL_LOG_INFO;
static atomic_bool               as_json;
static atomic_int                log_fd = STDERR_FILENO;

void fl_log_setup(enum fl_log_level level, bool json, int fd)
{
    atomic_store_explicit(&least, level, memory_order_relaxed);
    atomic_store_explicit(&as_json, json, memory_order_relaxed);
    atomic_store_explicit(&log_fd, fd, memory_order_relaxed);
}

bool fl_log_wants(enum fl_log_level level)
{
    return level >= atomic_load_explicit(&least, memory_order_relaxed) && level < FL_LOG_NONE;
}

static void put_time(struct fl_buf *line)
{
    int64_t   ms = fl_wall_ms();
    time_t    s = (time_t)(ms / 1000);
    struct tm t;

    gmtime_r(&s, &t);
    fl_buf_printf(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                  t.tm_min, t.tm_sec, (int)(ms % 1000));
}

/* A control character in a name that a peer sent must not begin a line, nor speak to the terminal. */
static void put_escaped(struct fl_buf *line, struct fl_slice message)
{
    for (size_t i = 0; i < message.len; i++) {
        uint8_t c = message.at[i];

        if (c == '\n')
            FL_BUF_LIT(line, "\\n");
        else if (c < 0x20 || c == 0x7f)
            fl_buf_printf(line, "\\x%02x", c);
        else
            fl_buf_put_byte(line, c);
    }
}

static void put_text(struct fl_buf *line, enum fl_log_level level, const char *room, struct fl_slice message)
{
    static const char *const names[FL_LOG_NONE] = { "DEBUG", "INFO", "WARN", "ERROR" };

    put_time(line);
    fl_buf_printf(line, " %s %s ", names[level], room);
    put_escaped(line, message);
}

static void put_json(struct fl_buf *line, enum fl_log_level level, const char *room, struct fl_slice message)
{
    static const char *const names[FL_LOG_NONE] = { "debug", "info", "warn", "error" };

    FL_BUF_LIT(line, "{\"time\":\"");
    put_time(line);
    fl_buf_printf(line, "\",\"level\":\"%s\",\"room\":", names[level]);
    fl_json_put_string(line, fl_slice_str(room));
    FL_BUF_LIT(line, ",\"message\":");
    fl_json_put_string(line, message);
    fl_buf_put_byte(line, '}');
}

/* One write for the whole line, so that lines of several threads don't mix. The rest of a short one follows. */
static void write_all(int fd, struct fl_slice line)
{
    while (line.len > 0) {
        ssize_t n = write(fd, line.at, line.len);

        if (n >= 0)
            line = fl_slice_from(line, (size_t)n);
        else if (errno == EAGAIN)
            FL_IGNORE(poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1)); /* the next write tells */
        else if (errno != EINTR)
            return; /* nowhere to say it */
    }
}

/* The sentence in text[MESSAGE_BYTES]. */
static FL_PRINTF(2, 0) struct fl_slice format_message(char *text, const char *format, va_list args)
{
    int    n = vsnprintf(text, MESSAGE_BYTES, format, args);
    size_t len = n < 0 ? 0 : (size_t)n;

    if (len < MESSAGE_BYTES)
        return fl_slice_of(text, len);
    len = MESSAGE_BYTES - sizeof "...";
    while (len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80) /* not inside a UTF-8 sequence */
        len--;
    memcpy(text + len, "...", 3);
    return fl_slice_of(text, len + 3);
}

void fl_log(enum fl_log_level level, const char *room, const char *format, ...)
{
    int             saved = errno;
    char            text[MESSAGE_BYTES];
    uint8_t         bytes[LINE_BYTES];
    struct fl_buf   line = { .data = bytes, .cap = sizeof bytes, .limit = sizeof bytes }; /* never grows */
    struct fl_slice message;
    va_list         args;

    if (!fl_log_wants(level))
        return;
    va_start(args, format);
    message = format_message(text, format, args);
    va_end(args);
    if (atomic_load_explicit(&as_json, memory_order_relaxed))
        put_json(&line, level, room, message);
    else
        put_text(&line, level, room, message);
    fl_buf_put_byte(&line, '\n');
    write_all(atomic_load_explicit(&log_fd, memory_order_relaxed), fl_buf_slice(&line));
    errno = saved;
}
