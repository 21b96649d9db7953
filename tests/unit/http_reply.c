/* The head of an answer, as the client reads it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/own.h"
#include "http/reply.h"

struct row {
    const char    *bytes;
    enum fl_status result;
    int            status;
    const char    *reason;
    int64_t        length; /* -1: none said */
    bool           chunked, close;
    const char    *complaint; /* part of the sentence */
};

#define LINE "HTTP/1.1 200 OK\r\n"

static const struct row rows[] = {
    { LINE "\r\n", FL_OK, 200, "OK", -1, false, false, NULL },
    { "HTTP/1.0 503 Try  later\r\n\r\n", FL_OK, 503, "Try  later", -1, false, false, NULL },
    { "HTTP/1.1 200 \r\n\r\n", FL_OK, 200, "", -1, false, false, NULL },
    { "HTTP/1.1 200\r\n\r\n", FL_OK, 200, "", -1, false, false, NULL },
    { LINE "Content-Length: 12\r\n\r\n", FL_OK, 200, "OK", 12, false, false, NULL },
    { LINE "content-length:12 \t\r\nX:\r\n\r\n", FL_OK, 200, "OK", 12, false, false, NULL },
    { LINE "Transfer-Encoding: Chunked\r\nConnection: a, close\r\n\r\n", FL_OK, 200, "OK", -1, true, true, NULL },
    { LINE "X: y", FL_WANT_READ, 0, NULL, 0, false, false, NULL },
    { "HTTP/1.1 200 OK", FL_WANT_READ, 0, NULL, 0, false, false, NULL },
    { "HTTP/2.0 200 OK\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "no HTTP/1.1 status" },
    { "SSH-2.0-OpenSSH\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "no HTTP/1.1 status" },
    { "HTTP/1.1 099 x\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "100 to 599" },
    { "HTTP/1.1 2000\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "100 to 599" },
    { "HTTP/1.1 20x\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "100 to 599" },
    { "HTTP/1.1 200 OK\n\n", FL_MALFORMED, 0, NULL, 0, false, false, "LF without CR" },
    { LINE "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "second length" },
    { LINE "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false,
      "second length" },
    { LINE "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false,
      "second length" },
    { LINE "Content-Length: x\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "no number" },
    { LINE "Content-Length:\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "no number" },
    { LINE "Transfer-Encoding: gzip\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "coding other" },
    { "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "coding other" },
    { LINE "X: y\r\n folded\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "no colon" },
    { LINE "X: y\r\n folded: z\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "no header name" },
    { LINE "X : y\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "no header name" },
    { LINE ": y\r\n\r\n", FL_MALFORMED, 0, NULL, 0, false, false, "no header name" },
};

static void check(const struct row *row, size_t step)
{
    struct http_header     headers[HTTP_REPLY_HEADERS_MAX];
    struct http_reply_head head;
    struct fl_error        err = { 0 };
    size_t                 len = strlen(row->bytes), scanned = 0;
    enum fl_status         s = FL_WANT_READ;

    for (size_t i = step; s == FL_WANT_READ && i <= len; i += step)
        s = http_reply_parse(fl_slice_of(row->bytes, i), &scanned, &head, headers, &err);
    if (s != row->result)
        fail_msg("'%s' by %zu gives %s (%s), not %s", row->bytes, step, fl_status_name(s), err.text,
                 fl_status_name(row->result));
    if (s == FL_MALFORMED && strstr(err.text, row->complaint) == NULL)
        fail_msg("'%s' gives '%s', not '%s'", row->bytes, err.text, row->complaint);
    if (s != FL_OK)
        return;
    assert_int_equal(head.status, row->status);
    assert_true(fl_slice_equal(head.reason, fl_slice_str(row->reason)));
    assert_int_equal(head.has_length ? (int64_t)head.length : -1, row->length);
    assert_int_equal(head.chunked, row->chunked);
    assert_int_equal(head.close, row->close);
    assert_int_equal(head.bytes, len);
}

static void each_head_is_read_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT(rows); i++) {
        check(&rows[i], strlen(rows[i].bytes));
        check(&rows[i], 1);
    }
}

static void headers_are_given_trimmed(void **state)
{
    struct http_header     headers[HTTP_REPLY_HEADERS_MAX];
    struct http_reply_head head;
    size_t                 scanned = 0;

    (void)state;
    assert_int_equal(
        http_reply_parse(FL_LIT(LINE "A:b\r\nLong-Name: \t c d \r\nE:\r\n\r\nbody"), &scanned, &head, headers, NULL),
        FL_OK);
    assert_int_equal(head.header_count, 3);
    assert_true(fl_slice_equal(headers[1].name, FL_LIT("Long-Name")));
    assert_true(fl_slice_equal(headers[1].value, FL_LIT("c d")));
    assert_int_equal(headers[2].value.len, 0);
}

static void a_head_without_end_is_refused(void **state)
{
    static char            bytes[HTTP_REPLY_HEAD_MAX + 1];
    struct http_header     headers[HTTP_REPLY_HEADERS_MAX];
    struct http_reply_head head;
    struct fl_error        err;
    size_t                 scanned = 0;

    (void)state;
    memset(bytes, 'y', sizeof bytes);
    memcpy(bytes, LINE, sizeof LINE - 1);
    assert_int_equal(http_reply_parse(fl_slice_of(bytes, sizeof bytes - 1), &scanned, &head, headers, &err),
                     FL_WANT_READ);
    assert_int_equal(http_reply_parse(fl_slice_of(bytes, sizeof bytes), &scanned, &head, headers, &err), FL_MALFORMED);
}

static enum fl_status parse_with_headers(unsigned count)
{
    struct http_header     headers[HTTP_REPLY_HEADERS_MAX];
    struct http_reply_head head;
    struct fl_buf          bytes;
    size_t                 scanned = 0;
    enum fl_status         s;

    fl_buf_init(&bytes, 0);
    FL_BUF_LIT(&bytes, LINE);
    for (unsigned i = 0; i < count; i++)
        FL_BUF_LIT(&bytes, "A: b\r\n");
    FL_BUF_LIT(&bytes, "\r\n");
    s = http_reply_parse(fl_buf_slice(&bytes), &scanned, &head, headers, NULL);
    fl_buf_done(&bytes);
    return s;
}

static void a_hundred_headers_are_taken_and_not_one_more(void **state)
{
    (void)state;
    assert_int_equal(parse_with_headers(100), FL_OK);
    assert_int_equal(parse_with_headers(101), FL_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_head_is_read_or_refused),
        cmocka_unit_test(headers_are_given_trimmed),
        cmocka_unit_test(a_head_without_end_is_refused),
        cmocka_unit_test(a_hundred_headers_are_taken_and_not_one_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
