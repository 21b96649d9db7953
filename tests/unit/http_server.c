/* The server on a connection without a network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "fake_http_io.c"
#include "http/http.h"

/* ---- what every test has -------------------------------------------------------------------------------------------- */

struct bench {
    struct http_service *service;
    struct io_listener   listener;
    struct io_conn       conn;
    struct http_ticket   ticket;
    unsigned             handled;
    bool                 park, close;
    char                 seen[4096]; /* "METHOD path?query [body]\n" of each request */
};

static void handler(struct http_exchange *x, void *owner)
{
    struct bench              *b = owner;
    const struct http_request *r = http_request_of(x);
    size_t                     at = strlen(b->seen);

    b->handled++;
    if (at < sizeof b->seen - 200)
        snprintf(b->seen + at, sizeof b->seen - at, "%.*s %.*s%s%.*s [%.*s]\n", FL_SLICE_ARGS(r->method_text),
                 FL_SLICE_ARGS(r->path), r->query.at != NULL ? "?" : "", FL_SLICE_ARGS(r->query),
                 (int)(r->body.len < 100 ? r->body.len : 100), (const char *)r->body.at);
    if (b->park)
        b->ticket = http_park(x);
    else if (b->close)
        http_answer_close(x, 200, FL_LIT(""), FL_LIT("X: y\r\n"), r->path);
    else
        http_answer(x, 200, FL_LIT(""), FL_LIT("X: y\r\n"), r->path);
}

static void bench_open(struct bench *b, const struct http_limits *limits)
{
    *b = (struct bench){ 0 };
    assert_int_equal(http_service_new(&b->service, limits, handler, b, NULL), FL_OK);
    b->listener.owner = b->service;
    fake_open(&b->conn, http_protocol(), &b->listener);
}

static void bench_end(struct bench *b)
{
    fake_close(&b->conn);
    http_service_free(b->service);
}

static const char *output(struct bench *b)
{
    assert_true(fl_buf_put_byte(&b->conn.out, '\0'));
    b->conn.out.write--;
    return (const char *)fl_buf_slice(&b->conn.out).at;
}

static unsigned count_of(const char *text, const char *part)
{
    unsigned n = 0;

    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

/* ---- one request: what comes out ------------------------------------------------------------------------------------- */

struct row {
    const char *request;
    const char *answer; /* how the output begins */
    const char *seen;   /* what the handler saw; "" when it was not called */
    bool        close;
};

#define H "Host: h\r\n"
#define OK_CLOSE(path, len) "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: " len "\r\nConnection: close\r\n\r\n" path
#define OK(path, len) "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: " len "\r\n\r\n" path
#define REFUSED(status, reason) "HTTP/1.1 " status " " reason "\r\nDate: Tue, 01 Dec 2026 04:50:21 GMT\r\n"
#define BAD(reason) REFUSED("400", reason)
#define POST "POST /p HTTP/1.1\r\n" H
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static const struct row rows[] = {
    /* methods and targets */
    { "GET /a HTTP/1.1\r\n" H "\r\n", OK("/a", "2"), "GET /a []\n", false },
    { "GET /a?b=c&d HTTP/1.1\r\n" H "\r\n", OK("/a", "2"), "GET /a?b=c&d []\n", false },
    { "GET /a?b?c#d HTTP/1.1\r\n" H "\r\n", OK("/a", "2"), "GET /a?b?c []\n", false },
    { "GET /a? HTTP/1.1\r\n" H "\r\n", OK("/a", "2"), "GET /a? []\n", false },
    { "HEAD /a HTTP/1.1\r\n" H "\r\n", OK("", "2"), "HEAD /a []\n", false },
    { "FOO /a HTTP/1.1\r\n" H "\r\n", OK("/a", "2"), "FOO /a []\n", false },
    { "get /a HTTP/1.1\r\n" H "\r\n", OK("/a", "2"), "get /a []\n", false },
    { "OPTIONS * HTTP/1.1\r\n" H "\r\n", OK("*", "1"), "OPTIONS * []\n", false },
    { "GET * HTTP/1.1\r\n" H "\r\n", BAD("Bad Request"), "", true },
    { "GET a HTTP/1.1\r\n" H "\r\n", BAD("Bad Request"), "", true },
    { "CONNECT h:80 HTTP/1.1\r\n" H "\r\n", BAD("Bad Request"), "", true },
    { "GET http://h:1/a?b HTTP/1.1\r\n" H "\r\n", OK("/a", "2"), "GET /a?b []\n", false },
    { "GET HTTPS://h?b HTTP/1.1\r\n" H "\r\n", OK("/", "1"), "GET /?b []\n", false },
    { "GET http:/// HTTP/1.1\r\n" H "\r\n", BAD("Bad Request"), "", true },
    { "GET /\xc3\xbc\"<>{}|^`\\ HTTP/1.1\r\n" H "\r\n", OK("/\xc3\xbc\"<>{}|^`\\", "12"),
      "GET /\xc3\xbc\"<>{}|^`\\ []\n", false },
    { "GET  /a  HTTP/1.1\r\n" H "\r\n", OK("/a", "2"), "GET /a []\n", false },
    { "\r\n\r\nGET /a HTTP/1.1\r\n" H "\r\n", OK("/a", "2"), "GET /a []\n", false },
    { " GET /a HTTP/1.1\r\n" H "\r\n", BAD("Illegal character SPACE=' '"), "", true },
    { "G@T /a HTTP/1.1\r\n" H "\r\n", BAD("Illegal character VCHAR='@'"), "", true },
    { "GET\t/a HTTP/1.1\r\n" H "\r\n", BAD("Illegal character HTAB=0x9"), "", true },
    { "GET /a\tHTTP/1.1\r\n" H "\r\n", BAD("Illegal character HTAB=0x9"), "", true },
    { "GET\r\n" H "\r\n", BAD("No URI"), "", true },
    { "GET \r\n", BAD("No URI"), "", true },
    { "GET /a\r\n", REFUSED("505", "HTTP/0.9 not supported"), "", true },
    { "GET /a HTTP/1.1 \r\n" H "\r\n", BAD("Illegal character SPACE=' '"), "", true },
    { "GET /a HTTP/1.2\r\n" H "\r\n", REFUSED("505", "Unknown Version"), "", true },
    { "GET /a HTTQ/1.1\r\n", REFUSED("505", "Unknown Version"), "", true },
    { "GET /a HTTP/2.0\r\n" H "\r\n", REFUSED("426", "Upgrade Required"), "", true },
    { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", REFUSED("426", "Upgrade Required"), "", true },
    /* versions and persistence */
    { "GET /a HTTP/1.1\r\n" H "Connection: close\r\n\r\n", OK_CLOSE("/a", "2"), "GET /a []\n", true },
    { "GET /a HTTP/1.1\r\n" H "Connection: x, Close\r\n\r\n", OK_CLOSE("/a", "2"), "GET /a []\n", true },
    { "GET /a HTTP/1.0\r\n\r\n", OK("/a", "2"), "GET /a []\n", true },
    { "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n/a", "GET /a []\n", false },
    { "GET /a HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", OK("/a", "2"), "GET /a []\n", false },
    /* hosts */
    { "GET /a HTTP/1.1\r\n\r\n", BAD("No Host"), "", true },
    { "GET http://h/a HTTP/1.1\r\n\r\n", BAD("No Host"), "", true },
    { "GET /a HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", BAD("Multiple Hosts"), "", true },
    { "GET /a HTTP/1.1\r\nHost: a:\r\n\r\n", BAD("Bad HostPort"), "", true },
    { "GET /a HTTP/1.1\r\nHost: a:b\r\n\r\n", BAD("Bad HostPort"), "", true },
    { "GET /a HTTP/1.1\r\nHost: a:0\r\n\r\n", BAD("Bad HostPort"), "", true },
    { "GET /a HTTP/1.1\r\nHost: a:65536\r\n\r\n", BAD("Bad HostPort"), "", true },
    { "GET /a HTTP/1.1\r\nHost: [::1\r\n\r\n", BAD("Bad HostPort"), "", true },
    { "GET /a HTTP/1.1\r\nHost: [::1]x\r\n\r\n", BAD("Bad HostPort"), "", true },
    { "GET /a HTTP/1.1\r\nHost:\r\n\r\n", OK("/a", "2"), "GET /a []\n", false },
    /* lines and bytes */
    { "GET /a HTTP/1.1\nHost: h\n\n", BAD("Illegal character LF=\\n"), "", true },
    { "GET /a HTTP/1.1\r\nX: y\n" H "\r\n", BAD("Illegal character LF=\\n"), "", true },
    { "GET /a HTTP/1.1\r\nX: y\rZ: 1\r\n" H "\r\n", BAD("Bad EOL"), "", true },
    { "GET /a HTTP/1.1\r\nX: y\r\r\n" H "\r\n", BAD("Bad EOL"), "", true },
    { "GET /a HTTP/1.1\r\nX\x01: y\r\n", BAD("Illegal character CNTL=0x1"), "", true },
    { "GET /a HTTP/1.1\r\nX: \x7f\r\n", BAD("Illegal character CNTL=0x7f"), "", true },
    { "\x16\x03\x01", BAD("Illegal character CNTL=0x16"), "", true },
    { "GET /a HTTP/1.1\r\nX : y\r\n" H "\r\n", BAD("Illegal character SPACE=' '"), "", true },
    { "GET /a HTTP/1.1\r\nX(: y\r\n" H "\r\n", BAD("Illegal character VCHAR='('"), "", true },
    { "GET /a HTTP/1.1\r\nX\xc3: y\r\n" H "\r\n", BAD("Illegal character OTEXT=0xc3"), "", true },
    { "GET /a HTTP/1.1\r\nnocolon\r\n" H "\r\n", BAD("Illegal character LF=\\n"), "", true },
    { "GET /a HTTP/1.1\r\n: y\r\n" H "\r\n", BAD("Header Folding"), "", true },
    { "GET /a HTTP/1.1\r\nX: y\r\n z\r\n" H "\r\n", BAD("Header Folding"), "", true },
    { "GET /a HTTP/1.1\r\n" H "X: \xff\xe9\t.\r\n\r\n", OK("/a", "2"), "GET /a []\n", false },
    /* lengths */
    { POST "\r\n", OK("/p", "2"), "POST /p []\n", false },
    { POST "Content-Length: 0\r\n\r\n", OK("/p", "2"), "POST /p []\n", false },
    { POST "Content-Length: 2\r\n\r\n{}", OK("/p", "2"), "POST /p [{}]\n", false },
    { "GET /p HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\n{}", OK("/p", "2"), "GET /p [{}]\n", false },
    { POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", BAD("Multiple Content-Lengths"), "", true },
    { POST "Content-Length: 2\r\ncontent-length: 3\r\n\r\n{}", BAD("Multiple Content-Lengths"), "", true },
    { POST "Content-Length : 2\r\n\r\n{}", BAD("Illegal character SPACE=' '"), "", true },
    { POST "Content-Length: 2, 2\r\n\r\n{}", BAD("Invalid Content-Length Value"), "", true },
    { POST "Content-Length: -1\r\n\r\n{}", BAD("Invalid Content-Length Value"), "", true },
    { POST "Content-Length: +2\r\n\r\n{}", BAD("Invalid Content-Length Value"), "", true },
    { POST "Content-Length: 0x2\r\n\r\n{}", BAD("Invalid Content-Length Value"), "", true },
    { POST "Content-Length:\r\n\r\n{}", BAD("Invalid Content-Length Value"), "", true },
    { POST "Content-Length: 2 2\r\n\r\n{}", BAD("Invalid Content-Length Value"), "", true },
    { POST "Content-Length: 99999999999999999999\r\n\r\n", BAD("Bad Request"), "", true },
    { POST "Content-Length: 9223372036854775808\r\n\r\n", BAD("Bad Request"), "", true },
    { POST "Content-Length: 9223372036854775807\r\n\r\n", REFUSED("413", "Payload Too Large"), "", true },
    { POST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", BAD("Transfer-Encoding and Content-Length"), "",
      true },
    { POST "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", BAD("Transfer-Encoding and Content-Length"), "",
      true },
    /* chunks */
    { CHUNKED "0\r\n\r\n", OK("/p", "2"), "POST /p []\n", false },
    { CHUNKED "1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", OK("/p", "2"), "POST /p [{}]\n", false },
    { CHUNKED "2;a=b;c\r\n{}\r\n0\r\nX: y\r\nY:\r\n\r\n", OK("/p", "2"), "POST /p [{}]\n", false },
    { CHUNKED "0000000000000002\r\n{}\r\n0\r\n\r\n", OK("/p", "2"), "POST /p [{}]\n", false },
    { CHUNKED "A\r\n0123456789\r\n0\r\n\r\n", OK("/p", "2"), "POST /p [0123456789]\n", false },
    { POST "Transfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n", OK("/p", "2"), "POST /p [{}]\n", false },
    { POST "Transfer-Encoding: chunked, gzip\r\n\r\n", BAD("Bad Transfer-Encoding, chunked not last"), "", true },
    { POST "Transfer-Encoding: gzip, chunked\r\n\r\n", BAD("Bad Transfer-Encoding, chunked not last"), "", true },
    { POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
      BAD("Bad Transfer-Encoding, chunked not last"), "", true },
    { POST "Transfer-Encoding: identity\r\n\r\n", BAD("Bad Transfer-Encoding, chunked not last"), "", true },
    { POST "Transfer-Encoding:\r\n\r\n", BAD("Bad Transfer-Encoding, chunked not last"), "", true },
    { POST "Transfer-Encoding: \x0b"
           "chunked\r\n\r\n",
      BAD("Illegal character CNTL=0xb"), "", true },
    { "POST /p HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", BAD("Transfer-Encoding in HTTP/1.0"), "",
      true },
    { CHUNKED "zz\r\n", BAD("Illegal character ALPHA='z'"), "", true },
    { CHUNKED "0x2\r\n{}\r\n0\r\n\r\n", BAD("Illegal character ALPHA='x'"), "", true },
    { CHUNKED "\r\n", BAD("Illegal character CR=\\r"), "", true },
    { CHUNKED " 2\r\n", BAD("Illegal character SPACE=' '"), "", true },
    { CHUNKED "2 \t\r\n{}\r\n0 ;a\r\n\r\n", OK("/p", "2"), "POST /p [{}]\n", false },
    { CHUNKED "2 2\r\n", BAD("Illegal character DIGIT='2'"), "", true },
    { CHUNKED "-2\r\n", BAD("Illegal character TCHAR='-'"), "", true },
    { CHUNKED "2\n{}\n0\n\n", BAD("Illegal character LF=\\n"), "", true },
    { CHUNKED "2;a\n{}\r\n", BAD("Illegal character LF=\\n"), "", true },
    { CHUNKED "1\r\n{}\r\n0\r\n\r\n", BAD("Illegal character VCHAR='}'"), "", true },
    { CHUNKED "1\r\n{\n", BAD("Illegal character LF=\\n"), "", true },
    { CHUNKED "fffffffffffffffff\r\n", BAD("Chunk size of more than 16 digits"), "", true },
    { CHUNKED "ffffffffffffffff\r\n", REFUSED("413", "Payload Too Large"), "", true },
    { CHUNKED "0\r\n folded: x\r\n\r\n", BAD("Illegal character SPACE=' '"), "", true },
    { CHUNKED "0\r\n: x\r\n\r\n", BAD("Illegal character COLON=':'"), "", true },
    { CHUNKED "0\r\nX\r\n\r\n", BAD("Illegal character CR=\\r"), "", true },
    /* expectations */
    { POST "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "", false },
    { POST "Content-Length: 2\r\nExpect: 100-Continue\r\n\r\n{}", OK("/p", "2"), "POST /p [{}]\n", false },
    { POST "Content-Length: 2\r\nExpect: bananas\r\n\r\n{}", REFUSED("417", "Expectation Failed"), "", true },
    { "POST /p HTTP/1.0\r\nExpect: bananas\r\n\r\n", OK("/p", "2"), "POST /p []\n", true },
};

static void check_row(const struct row *row, bool bytewise)
{
    struct bench b;
    size_t       len = strlen(row->request), step = bytewise ? 1 : len;

    bench_open(&b, NULL);
    for (size_t i = 0; i < len && !b.conn.closing; i += step)
        fake_feed(&b.conn, row->request + i, step);
    if (strncmp(output(&b), row->answer, strlen(row->answer)) != 0 || strcmp(b.seen, row->seen) != 0 ||
        b.conn.closing != row->close)
        fail_msg("%s:\n%s\ngives (handler: '%s', close: %d)\n%s\nand not (handler: '%s', close: %d)\n%s",
                 bytewise ? "byte by byte" : "at once", row->request, b.seen, b.conn.closing, output(&b), row->seen,
                 row->close, row->answer);
    bench_end(&b);
}

static void each_request_gets_its_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT(rows); i++)
        check_row(&rows[i], false);
}

/* 100 is the one answer that hangs on how the bytes came: it is left out only when the body is here. */
static void one_byte_at_a_time_gives_the_same_answer(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT(rows); i++)
        if (strstr(rows[i].request, "100-Continue") == NULL)
            check_row(&rows[i], true);
}

static void a_refusal_says_its_reason_in_line_and_page(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, "GET / HTTP/1.1\r\n\r\n");
    assert_string_equal(output(&b), "HTTP/1.1 400 No Host\r\nDate: Tue, 01 Dec 2026 04:50:21 GMT\r\n"
                                    "Content-Type: text/html;charset=iso-8859-1\r\nContent-Length: 50\r\n"
                                    "Connection: close\r\n\r\n<h1>Bad Message 400</h1><pre>reason: No Host</pre>");
    bench_end(&b);
}

static void a_nul_is_refused_wherever_it_stands(void **state)
{
    static const char wire[] = "GET /a HTTP/1.1\r\nHost: h\r\nX: y\r\n";

    (void)state;
    for (size_t i = 0; i < sizeof wire - 1; i++) {
        char         copy[sizeof wire];
        struct bench b;

        memcpy(copy, wire, sizeof wire);
        copy[i] = '\0';
        bench_open(&b, NULL);
        fake_feed(&b.conn, copy, sizeof wire - 1);
        assert_non_null(strstr(output(&b), " 400 "));
        assert_true(b.conn.closing);
        bench_end(&b);
    }
}

/* ---- limits --------------------------------------------------------------------------------------------------------------- */

static void long_lines_and_heads_are_refused(void **state)
{
    static char  filler[70 * 1024];
    struct bench b;

    (void)state;
    memset(filler, 'y', sizeof filler - 1);
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, "GET /");
    fake_feed_text(&b.conn, filler);
    assert_non_null(strstr(output(&b), "HTTP/1.1 414 URI Too Long\r\n"));
    bench_end(&b);
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, "GET / HTTP/1.1\r\nX: ");
    fake_feed_text(&b.conn, filler);
    assert_non_null(strstr(output(&b), "HTTP/1.1 431 Request Header Fields Too Large\r\n"));
    assert_true(b.conn.closing);
    bench_end(&b);
}

static void a_head_of_exactly_the_limit_is_taken(void **state)
{
    static const char  wire[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    struct http_limits limits = { .head_bytes = sizeof wire - 1 };
    struct bench       b;

    (void)state;
    bench_open(&b, &limits);
    fake_feed_text(&b.conn, wire);
    assert_int_equal(b.handled, 1);
    fake_feed_text(&b.conn, "GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(b.handled, 1);
    assert_non_null(strstr(output(&b), "HTTP/1.1 431 "));
    bench_end(&b);
}

static void one_header_too_many_is_refused(void **state)
{
    struct http_limits limits = { .header_count = 3 };
    struct bench       b;

    (void)state;
    bench_open(&b, &limits);
    fake_feed_text(&b.conn, "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\nC: d\r\n\r\n");
    assert_int_equal(b.handled, 1);
    fake_feed_text(&b.conn, "GET / HTTP/1.1\r\nHost: h\r\nA: b\r\nC: d\r\nE: f\r\n\r\n");
    assert_int_equal(b.handled, 1);
    assert_non_null(strstr(output(&b), "HTTP/1.1 431 "));
    bench_end(&b);
}

static void a_body_above_the_limit_is_refused(void **state)
{
    struct http_limits limits = { .body_bytes = 4 };
    struct bench       b;

    (void)state;
    bench_open(&b, &limits);
    fake_feed_text(&b.conn, POST "Content-Length: 4\r\n\r\n1234" CHUNKED "2\r\n12\r\n2\r\n34\r\n0\r\n\r\n");
    assert_string_equal(b.seen, "POST /p [1234]\nPOST /p [1234]\n");
    fake_feed_text(&b.conn, CHUNKED "2\r\n12\r\n3\r\n");
    assert_non_null(strstr(output(&b), "HTTP/1.1 413 Payload Too Large\r\n"));
    bench_end(&b);
    bench_open(&b, &limits);
    fake_feed_text(&b.conn, POST "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_int_equal(count_of(output(&b), "100 Continue"), 0);
    assert_non_null(strstr(output(&b), "HTTP/1.1 413 Payload Too Large\r\n"));
    bench_end(&b);
}

static void extensions_and_trailers_are_bounded(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, CHUNKED);
    for (int i = 0; i < 5000 && !b.conn.closing; i++)
        fake_feed_text(&b.conn, "1;x\r\ny\r\n");
    assert_non_null(strstr(output(&b), "HTTP/1.1 400 Chunk extensions or trailers too large\r\n"));
    bench_end(&b);
}

/* ---- bodies in pieces --------------------------------------------------------------------------------------------------- */

static void a_chunked_body_cut_anywhere_is_the_same(void **state)
{
    static const char wire[] =
        CHUNKED "3;e=1\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nT: r\r\n\r\nGET /n HTTP/1.1\r\n" H "\r\n";

    (void)state;
    for (size_t cut = 1; cut < sizeof wire - 1; cut++) {
        struct bench b;

        bench_open(&b, NULL);
        fake_feed(&b.conn, wire, cut);
        fake_feed(&b.conn, wire + cut, sizeof wire - 1 - cut);
        assert_string_equal(b.seen, "POST /p [abc0123456789abcdef]\nGET /n []\n");
        bench_end(&b);
    }
}

static void the_head_outlives_the_input_while_a_body_comes(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, "PUT /path?q=1 HTTP/1.1\r\n" H "Content-Length: 100000\r\nA: b\r\n\r\n");
    for (int i = 0; i < 10000; i++)
        fake_feed_text(&b.conn, "0123456789");
    assert_int_equal(b.handled, 1);
    assert_memory_equal(b.seen, "PUT /path?q=1 [0123456789", 25);
    bench_end(&b);
}

static void the_body_is_asked_for_once(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, POST "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_string_equal(output(&b), "HTTP/1.1 100 Continue\r\n\r\n");
    fake_feed_text(&b.conn, "{");
    fake_feed_text(&b.conn, "}");
    assert_string_equal(output(&b), "HTTP/1.1 100 Continue\r\n\r\n" OK("/p", "2"));
    bench_end(&b);
}

/* ---- pipelines -------------------------------------------------------------------------------------------------------------- */

static void a_thousand_pipelined_requests_come_back_in_order(void **state)
{
    struct fl_buf wire;
    struct bench  b;
    const char   *at;

    (void)state;
    fl_buf_init(&wire, 0);
    for (int i = 0; i < 1000; i++)
        fl_buf_printf(&wire, "GET /%d HTTP/1.1\r\n" H "\r\n", i);
    bench_open(&b, NULL);
    fake_feed(&b.conn, fl_buf_slice(&wire).at, fl_buf_len(&wire));
    assert_int_equal(b.handled, 1000);
    assert_int_equal(b.conn.turns, 63); /* 16 a turn */
    at = output(&b);
    for (int i = 0; i < 1000; i++) {
        char body[16];

        snprintf(body, sizeof body, "\r\n\r\n/%d", i);
        assert_non_null(at = strstr(at, body));
        at += strlen(body);
        assert_true(*at == 'H' || *at == '\0');
    }
    fl_buf_done(&wire);
    bench_end(&b);
}

static void nothing_is_answered_after_a_close(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    b.close = true;
    fake_feed_text(&b.conn, "GET /1 HTTP/1.1\r\n" H "\r\nGET /2 HTTP/1.1\r\n" H "\r\n");
    assert_string_equal(output(&b), OK_CLOSE("/1", "2"));
    assert_int_equal(fl_buf_len(&b.conn.in), 0);
    bench_end(&b);
}

static void a_peer_that_reads_nothing_is_not_worked_for(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    b.conn.out_high_water = 50;
    for (int i = 0; i < 8; i++)
        fake_feed_text(&b.conn, "GET /1 HTTP/1.1\r\n" H "\r\n");
    assert_int_equal(b.handled, 2);
    for (unsigned i = 2; i < 8; i += 2) {
        assert_int_equal(b.handled, i);
        fake_drained(&b.conn);
    }
    assert_int_equal(b.handled, 8);
    bench_end(&b);
}

/* ---- parking ------------------------------------------------------------------------------------------------------------------ */

static void a_parked_request_is_answered_later_and_in_order(void **state)
{
    struct bench          b;
    struct http_exchange *x;
    struct http_stats     stats;
    struct fl_slice       path;

    (void)state;
    bench_open(&b, NULL);
    b.park = true;
    fake_feed_text(&b.conn, "GET /first HTTP/1.1\r\n" H "\r\nGET /second HTTP/1.1\r\n");
    x = http_unpark(b.ticket);
    assert_non_null(x);
    path = http_request_of(x)->path;
    for (int i = 0; i < 5000; i++) /* the input moves; the request does not */
        fake_feed_text(&b.conn, "X: y\r\n");
    fake_feed_text(&b.conn, H "\r\n");
    assert_int_equal(b.handled, 1);
    http_service_stats(b.service, &stats);
    assert_int_equal(stats.parked, 1);
    assert_true(fl_slice_equal(path, FL_LIT("/first")));
    assert_ptr_equal(http_unpark(b.ticket), x);
    http_answer(x, 201, FL_LIT("Made\r\nX: \xe9"), FL_LIT(""), path);
    assert_null(http_unpark(b.ticket));
    assert_string_equal(output(&b), "HTTP/1.1 201 Made  X: \xe9\r\nContent-Length: 6\r\n\r\n/first");
    http_service_stats(b.service, &stats);
    assert_int_equal(stats.parked, 0);
    assert_int_equal(stats.requests, 1);
    bench_end(&b);
}

static void what_came_meanwhile_is_answered_after_it(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    b.park = true;
    fake_feed_text(&b.conn, "GET /1 HTTP/1.1\r\n" H "\r\nGET /2 HTTP/1.1\r\n");
    b.park = false;
    fake_feed_text(&b.conn, H "\r\n");
    http_answer(http_unpark(b.ticket), 200, FL_LIT(""), FL_LIT(""), FL_LIT("1"));
    fake_run(&b.conn);
    assert_string_equal(output(&b), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1" OK("/2", "2"));
    bench_end(&b);
}

static void a_parked_body_stays(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    b.park = true;
    fake_feed_text(&b.conn, POST "Content-Length: 4\r\n\r\nab");
    fake_feed_text(&b.conn, "cdGET /2 HTTP/1.1\r\n");
    assert_true(fl_slice_equal(http_request_of(http_unpark(b.ticket))->body, FL_LIT("abcd")));
    http_answer(http_unpark(b.ticket), 200, FL_LIT(""), FL_LIT(""), FL_LIT(""));
    fake_run(&b.conn);
    b.park = false;
    fake_feed_text(&b.conn, H "\r\n");
    assert_string_equal(b.seen, "POST /p [abcd]\nGET /2 []\n");
    bench_end(&b);
}

static void a_ticket_finds_nothing_once_the_client_is_gone(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    b.park = true;
    fake_feed_text(&b.conn, "GET /1 HTTP/1.1\r\n" H "\r\n");
    assert_non_null(http_unpark(b.ticket));
    fake_close(&b.conn);
    assert_null(http_unpark(b.ticket));
    http_service_free(b.service);
}

static void an_old_ticket_does_not_find_the_next_request(void **state)
{
    struct http_ticket old;
    struct bench       b;

    (void)state;
    bench_open(&b, NULL);
    b.park = true;
    fake_feed_text(&b.conn, "GET /1 HTTP/1.1\r\n" H "\r\nGET /2 HTTP/1.1\r\n" H "\r\n");
    old = b.ticket;
    http_answer(http_unpark(old), 200, FL_LIT(""), FL_LIT(""), FL_LIT(""));
    fake_run(&b.conn);
    assert_int_equal(b.handled, 2);
    assert_null(http_unpark(old));
    assert_non_null(http_unpark(b.ticket));
    bench_end(&b);
}

/* ---- time ----------------------------------------------------------------------------------------------------------------------- */

static void a_slow_head_is_told_so_and_closed(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, "GET / HTTP/1.1\r\n");
    for (int i = 0; i < 9; i++) { /* a byte a second does not prolong it */
        fake_wait(&b.conn, FL_NS_PER_S);
        fake_feed_text(&b.conn, "X");
    }
    assert_false(b.conn.closing);
    fake_wait(&b.conn, FL_NS_PER_S);
    assert_true(b.conn.closing);
    assert_non_null(strstr(output(&b), "HTTP/1.1 408 Request Timeout\r\n"));
    bench_end(&b);
}

static void a_body_may_be_slow_but_not_stand_still(void **state)
{
    static char  second[1025];
    struct bench b;

    (void)state;
    memset(second, 'y', sizeof second - 1);
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, POST "Content-Length: 100000\r\n\r\n");
    for (int i = 0; i < 60; i++) {
        fake_wait(&b.conn, FL_NS_PER_S);
        fake_feed_text(&b.conn, second);
    }
    assert_false(b.conn.closing);
    fake_wait(&b.conn, 20 * FL_NS_PER_S);
    assert_true(b.conn.closing);
    assert_non_null(strstr(output(&b), "HTTP/1.1 408 Request Timeout\r\n"));
    bench_end(&b);
}

static void a_body_that_came_fast_may_not_stand_still_either(void **state)
{
    static char  much[64 * 1024 + 1];
    struct bench b;

    (void)state;
    memset(much, 'y', sizeof much - 1);
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, POST "Content-Length: 100000\r\n\r\n");
    fake_feed_text(&b.conn, much);
    fake_wait(&b.conn, 19 * FL_NS_PER_S);
    assert_false(b.conn.closing);
    fake_wait(&b.conn, FL_NS_PER_S);
    assert_non_null(strstr(output(&b), "HTTP/1.1 408 Request Timeout\r\n"));
    bench_end(&b);
}

/* ---- memory ------------------------------------------------------------------------------------------------------------------- */

#define FULL REFUSED("503", "Request bodies hold too much memory")

static void all_bodies_together_have_a_limit(void **state)
{
    static const struct http_limits limits = { .body_bytes = 100000, .bodies_bytes = 150000 };
    static char                     most[65537];
    struct bench                    b;
    struct io_conn                  second;

    (void)state;
    memset(most, 'y', sizeof most - 1);
    bench_open(&b, &limits);
    fake_feed_text(&b.conn, POST "Content-Length: 100000\r\n\r\n");
    fake_feed_text(&b.conn, most);
    for (int i = 0; i < 2; i++) { /* what was refused holds nothing: the second time is as the first */
        fake_open(&second, http_protocol(), &b.listener);
        fake_feed_text(&second, CHUNKED "186a0\r\n");
        fake_feed_text(&second, most);
        assert_false(second.closing);
        fake_feed_text(&second, "y");
        assert_int_equal(second.closing, i == 0);
        if (i == 0)
            assert_memory_equal(fl_buf_slice(&second.out).at, FULL, sizeof FULL - 1);
        fake_close(&second);
        if (i == 0)
            fake_close(&b.conn); /* now there is room */
    }
    http_service_free(b.service);
}

static void a_small_body_passes_when_big_ones_do_not(void **state)
{
    static const struct http_limits limits = { .body_bytes = 100000, .bodies_bytes = 1 };
    static char                     big[20001];
    struct bench                    b;

    (void)state;
    memset(big, 'y', sizeof big - 1);
    bench_open(&b, &limits);
    fake_feed_text(&b.conn, POST "Content-Length: 2\r\n\r\n{");
    fake_feed_text(&b.conn, "}" POST "Content-Length: 20001\r\n\r\n");
    fake_feed_text(&b.conn, big);
    assert_string_equal(b.seen, "POST /p [{}]\n");
    assert_true(b.conn.closing);
    assert_non_null(strstr(output(&b), FULL));
    bench_end(&b);
}

static void ask_for_much(struct bench *b, struct io_conn *c)
{
    static char much[300001];

    memset(much, 'y', sizeof much - 1);
    fake_open(c, http_protocol(), &b->listener);
    fake_feed_text(c, "GET / HTTP/1.1\r\n" H "\r\n");
    http_answer(http_unpark(b->ticket), 200, FL_LIT(""), FL_LIT(""), fl_slice_str(much));
}

#define WITHHELD "HTTP/1.1 503 Answers that nobody reads hold too much memory\r\n"

static void answers_that_nobody_reads_have_a_limit(void **state)
{
    static const struct http_limits limits = { .answers_bytes = 700000 };
    struct io_conn                  readers[4];
    struct bench                    b;

    (void)state;
    bench_open(&b, &limits);
    fake_close(&b.conn);
    b.park = true;
    for (int i = 0; i < 3; i++)
        ask_for_much(&b, &readers[i]);
    assert_true(fl_buf_len(&readers[1].out) > 300000);
    assert_memory_equal(fl_buf_slice(&readers[2].out).at, WITHHELD, sizeof WITHHELD - 1);
    fake_close(&readers[0]); /* one leaves, one reads: there is room again */
    fl_buf_clear(&readers[1].out);
    http_protocol()->on_drained(&readers[1]);
    ask_for_much(&b, &readers[0]);
    ask_for_much(&b, &readers[3]);
    assert_true(fl_buf_len(&readers[0].out) > 300000);
    assert_true(fl_buf_len(&readers[3].out) > 300000);
    for (int i = 0; i < 4; i++)
        fake_close(&readers[i]);
    http_service_free(b.service);
}

static void an_idle_connection_closes_without_a_word(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    fake_wait(&b.conn, 59 * FL_NS_PER_S);
    fake_feed_text(&b.conn, "GET / HTTP/1.1\r\n" H "\r\n");
    fake_wait(&b.conn, 59 * FL_NS_PER_S);
    assert_false(b.conn.closing);
    fake_wait(&b.conn, FL_NS_PER_S);
    assert_true(b.conn.closing);
    assert_string_equal(output(&b), OK("/", "1"));
    bench_end(&b);
}

static void a_parked_request_has_no_deadline(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    b.park = true;
    fake_feed_text(&b.conn, "GET / HTTP/1.1\r\n" H "\r\n");
    assert_int_equal(b.conn.deadline, 0);
    http_answer(http_unpark(b.ticket), 200, FL_LIT(""), FL_LIT(""), FL_LIT(""));
    fake_run(&b.conn);
    assert_int_not_equal(b.conn.deadline, 0);
    bench_end(&b);
}

static void a_request_cut_short_by_its_sender_is_refused(void **state)
{
    static const char *const cut[] = { "GET /", "GET / HTTP/1.1\r\nHos", POST "Content-Length: 2\r\n\r\n{",
                                       CHUNKED "1\r\n" };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(cut); i++) {
        struct bench b;

        bench_open(&b, NULL);
        fake_feed_text(&b.conn, cut[i]);
        fake_eof(&b.conn);
        assert_true(strncmp(output(&b), "HTTP/1.1 400 Bad Request\r\n", 26) == 0);
        assert_true(b.conn.closing);
        bench_end(&b);
    }
}

static void an_end_between_requests_is_a_good_end(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, "GET / HTTP/1.1\r\n" H "\r\n\r\n");
    fake_eof(&b.conn);
    assert_string_equal(output(&b), OK("/", "1"));
    assert_true(b.conn.closing);
    bench_end(&b);
}

/* ---- draining --------------------------------------------------------------------------------------------------------------------- */

static void a_drain_closes_what_is_idle_at_once(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, "GET / HTTP/1.1\r\n" H "\r\n");
    fake_drain(&b.conn);
    assert_true(b.conn.closing);
    bench_end(&b);
}

static void a_drain_lets_a_request_in_flight_be_answered(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    b.park = true;
    fake_feed_text(&b.conn, "GET /1 HTTP/1.1\r\n" H "\r\n");
    fake_drain(&b.conn);
    assert_false(b.conn.closing);
    http_answer(http_unpark(b.ticket), 200, FL_LIT(""), FL_LIT(""), FL_LIT("1"));
    assert_string_equal(output(&b), "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1");
    assert_true(b.conn.closing);
    bench_end(&b);
}

static void a_drain_lets_half_a_request_come_to_its_end(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    fake_feed_text(&b.conn, "GET /1 HTTP/1.1\r\n");
    fake_drain(&b.conn);
    assert_false(b.conn.closing);
    fake_feed_text(&b.conn, H "\r\n");
    assert_string_equal(output(&b), OK_CLOSE("/1", "2"));
    assert_true(b.conn.closing);
    bench_end(&b);
}

/* ---- the rest ----------------------------------------------------------------------------------------------------------------------- */

static void answers_without_a_body_have_no_length(void **state)
{
    struct bench b;

    (void)state;
    bench_open(&b, NULL);
    b.park = true;
    fake_feed_text(&b.conn, "GET /1 HTTP/1.1\r\n" H "\r\n");
    http_answer(http_unpark(b.ticket), 204, FL_LIT(""), FL_LIT(""), FL_LIT("ignored"));
    assert_string_equal(output(&b), "HTTP/1.1 204 No Content\r\n\r\n");
    bench_end(&b);
}

static void the_date_follows_the_clock(void **state)
{
    struct io_reactor r = { .wall_ms = INT64_C(951827696789) };

    (void)state;
    assert_true(fl_slice_equal(http_date(&r), FL_LIT("Tue, 29 Feb 2000 12:34:56 GMT")));
    r.wall_ms += 210;
    assert_true(fl_slice_equal(http_date(&r), FL_LIT("Tue, 29 Feb 2000 12:34:56 GMT")));
    r.wall_ms += 1;
    assert_true(fl_slice_equal(http_date(&r), FL_LIT("Tue, 29 Feb 2000 12:34:57 GMT")));
}

static void headers_are_found_in_any_case(void **state)
{
    struct bench               b;
    const struct http_request *r;

    (void)state;
    bench_open(&b, NULL);
    b.park = true;
    fake_feed_text(&b.conn, "GET http://there:1/ HTTP/1.1\r\nHOST: h\r\naBc: \t 1 2 \r\nABC: 3\r\nEmpty:\r\n\r\n");
    r = http_request_of(http_unpark(b.ticket));
    assert_true(fl_slice_equal(*http_header_find(r, "abc"), FL_LIT("1 2")));
    assert_int_equal(http_header_find(r, "empty")->len, 0);
    assert_null(http_header_find(r, "absent"));
    assert_true(fl_slice_equal(r->host, FL_LIT("there:1")));
    assert_int_equal(r->header_count, 4);
    bench_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_gets_its_answer),
        cmocka_unit_test(one_byte_at_a_time_gives_the_same_answer),
        cmocka_unit_test(a_refusal_says_its_reason_in_line_and_page),
        cmocka_unit_test(a_nul_is_refused_wherever_it_stands),
        cmocka_unit_test(long_lines_and_heads_are_refused),
        cmocka_unit_test(a_head_of_exactly_the_limit_is_taken),
        cmocka_unit_test(one_header_too_many_is_refused),
        cmocka_unit_test(a_body_above_the_limit_is_refused),
        cmocka_unit_test(extensions_and_trailers_are_bounded),
        cmocka_unit_test(a_chunked_body_cut_anywhere_is_the_same),
        cmocka_unit_test(the_head_outlives_the_input_while_a_body_comes),
        cmocka_unit_test(the_body_is_asked_for_once),
        cmocka_unit_test(a_thousand_pipelined_requests_come_back_in_order),
        cmocka_unit_test(nothing_is_answered_after_a_close),
        cmocka_unit_test(a_peer_that_reads_nothing_is_not_worked_for),
        cmocka_unit_test(a_parked_request_is_answered_later_and_in_order),
        cmocka_unit_test(what_came_meanwhile_is_answered_after_it),
        cmocka_unit_test(a_parked_body_stays),
        cmocka_unit_test(a_ticket_finds_nothing_once_the_client_is_gone),
        cmocka_unit_test(an_old_ticket_does_not_find_the_next_request),
        cmocka_unit_test(a_slow_head_is_told_so_and_closed),
        cmocka_unit_test(a_body_may_be_slow_but_not_stand_still),
        cmocka_unit_test(a_body_that_came_fast_may_not_stand_still_either),
        cmocka_unit_test(all_bodies_together_have_a_limit),
        cmocka_unit_test(a_small_body_passes_when_big_ones_do_not),
        cmocka_unit_test(answers_that_nobody_reads_have_a_limit),
        cmocka_unit_test(an_idle_connection_closes_without_a_word),
        cmocka_unit_test(a_parked_request_has_no_deadline),
        cmocka_unit_test(a_request_cut_short_by_its_sender_is_refused),
        cmocka_unit_test(an_end_between_requests_is_a_good_end),
        cmocka_unit_test(a_drain_closes_what_is_idle_at_once),
        cmocka_unit_test(a_drain_lets_a_request_in_flight_be_answered),
        cmocka_unit_test(a_drain_lets_half_a_request_come_to_its_end),
        cmocka_unit_test(answers_without_a_body_have_no_length),
        cmocka_unit_test(the_date_follows_the_clock),
        cmocka_unit_test(headers_are_found_in_any_case),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
