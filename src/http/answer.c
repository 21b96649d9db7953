#include "http/answer.h"

#include "http/http.h"

enum { FIXED_PARTS = 128 }; /* version, status, Content-Length with 20 digits, Connection, line ends */

static uint8_t *put(uint8_t *to, struct fl_slice s)
{
    if (s.len == 0)
        return to;
    return (uint8_t *)memcpy(to, s.at, s.len) + s.len;
}

static uint8_t *put_number(uint8_t *to, uint64_t n)
{
    uint8_t digits[20];
    size_t  at = sizeof digits;

    do {
        digits[--at] = (uint8_t)('0' + n % 10);
        n /= 10;
    } while (n > 0);
    return put(to, fl_slice_of(digits + at, sizeof digits - at));
}

/* A reason may hold a caller's words, such as a key's name: nothing in it may end the line. Visible ASCII and
 * ISO-8859-1's letters pass. */
static uint8_t *put_reason(uint8_t *to, struct fl_slice reason)
{
    for (size_t i = 0; i < reason.len; i++) {
        uint8_t c = reason.at[i];

        *to++ = (c >= ' ' && c < 0x7f) || c >= 0xa0 ? c : ' ';
    }
    return to;
}

/* RFC 9110 8.6: no Content-Length with 1xx and 204; a 304's would be that of the 200. */
static bool has_body(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

static uint8_t *put_framing(uint8_t *to, const struct http_answer_parts *a)
{
    if (has_body(a->status)) {
        to = put(to, FL_LIT("Content-Length: "));
        to = put_number(to, a->body.len);
        to = put(to, FL_LIT("\r\n"));
    }
    if (a->connection == HTTP_CONNECTION_CLOSE)
        to = put(to, FL_LIT("Connection: close\r\n"));
    else if (a->connection == HTTP_CONNECTION_KEEP)
        to = put(to, FL_LIT("Connection: keep-alive\r\n"));
    return put(to, FL_LIT("\r\n"));
}

bool http_write_answer(struct fl_buf *out, const struct http_answer_parts *a)
{
    struct fl_slice reason = a->reason.len > 0 ? a->reason : fl_slice_str(http_standard_reason(a->status));
    struct fl_slice body = has_body(a->status) && !a->head_only ? a->body : fl_slice_of(NULL, 0);
    uint8_t        *from, *to;

    if (out->failed || fl_buf_reserve(out, FIXED_PARTS + reason.len + a->headers.len + body.len, NULL) != FL_OK) {
        out->failed = true;
        return false;
    }
    from = to = fl_buf_tail(out);
    to = put(to, FL_LIT("HTTP/1.1 "));
    to = put_number(to, (uint64_t)a->status);
    *to++ = ' ';
    to = put_reason(to, reason);
    to = put(to, FL_LIT("\r\n"));
    to = put(to, a->headers);
    to = put_framing(to, a);
    to = put(to, body);
    fl_buf_added(out, (size_t)(to - from));
    return true;
}
