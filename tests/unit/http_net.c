/* The server and the blocking client over real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "http/http.h"

#include <arpa/inet.h>
#include <unistd.h>

struct bench {
    struct io_reactors  *reactors;
    struct io_listener  *listener;
    struct http_service *service;
    char                 url[64];
    struct http_ticket   ticket;
    struct io_mail       mail;
};

/* Answers what it was sent; "/later" is answered by a letter of the reactor to itself, "/drain" after the drain began. */
static void answer_parked(struct io_mail *m)
{
    struct bench         *b = FL_CONTAINER(m, struct bench, mail);
    struct http_exchange *x = http_unpark(b->ticket);

    if (x != NULL)
        http_answer(x, 200, FL_LIT(""), FL_LIT("X-Kind: parked\r\n"), http_request_of(x)->body);
}

static void handler(struct http_exchange *x, void *owner)
{
    struct bench              *b = owner;
    const struct http_request *r = http_request_of(x);

    if (fl_slice_equal(r->path, FL_LIT("/later"))) {
        b->ticket = http_park(x);
        b->mail.deliver = answer_parked;
        io_post(http_reactor_of(x), &b->mail);
    } else if (fl_slice_equal(r->path, FL_LIT("/drain"))) {
        b->ticket = http_park(x);
        io_reactors_drain(b->reactors, 20 * FL_NS_PER_S);
        b->mail.deliver = answer_parked;
        io_post(http_reactor_of(x), &b->mail);
    } else {
        http_answer(x, 200, FL_LIT("Fine"), FL_LIT("X-Kind: plain\r\n"), r->body.len > 0 ? r->body : r->path);
    }
}

static void start(struct bench *b, unsigned reactors)
{
    struct io_config        config = { .reactors = reactors, .workers = 1, .max_connections = 100 };
    struct io_listen_config listen = { .bind = "127.0.0.1:0", .protocol = http_protocol() };

    *b = (struct bench){ 0 };
    assert_int_equal(http_service_new(&b->service, NULL, handler, b, NULL), FL_OK);
    assert_int_equal(io_reactors_new(&b->reactors, &config, NULL), FL_OK);
    listen.owner = b->service;
    assert_int_equal(io_listen(b->reactors, &listen, &b->listener, NULL), FL_OK);
    assert_int_equal(io_reactors_start(b->reactors, NULL), FL_OK);
    snprintf(b->url, sizeof b->url, "http://127.0.0.1:%u", io_listener_port(b->listener));
}

static void end(struct bench *b)
{
    io_reactors_drain(b->reactors, 0);
    io_reactors_join(b->reactors);
    io_reactors_free(b->reactors);
    http_service_free(b->service);
}

static enum fl_status call(struct http_session **s, const char *base, const char *method, const char *path,
                           struct fl_slice body, struct http_reply *r, struct fl_error *err)
{
    char url[200];

    snprintf(url, sizeof url, "%s%s", base, path);
    return http_call(s, method, url, FL_LIT("X-Extra: 1\r\n"), body, NULL, 20 * FL_NS_PER_S, r, err);
}

static void a_session_keeps_its_connection(void **state)
{
    struct http_session *s = NULL;
    struct http_reply    r;
    struct http_stats    stats;
    struct io_stats      io;
    struct bench         b;

    (void)state;
    start(&b, 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(call(&s, b.url, "POST", "/x", FL_LIT("body"), &r, NULL), FL_OK);
        assert_int_equal(r.status, 200);
        assert_true(fl_slice_equal(r.reason, FL_LIT("Fine")));
        assert_true(fl_slice_equal(r.body, FL_LIT("body")));
        assert_int_equal(r.header_count, 2);
        assert_true(fl_slice_equal(r.headers[0].name, FL_LIT("X-Kind")));
        http_reply_done(&r);
    }
    assert_int_equal(call(&s, b.url, "HEAD", "/path", FL_LIT(""), &r, NULL), FL_OK);
    assert_int_equal(r.body.len, 0);
    http_reply_done(&r);
    assert_int_equal(call(&s, b.url, "GET", "/later", FL_LIT(""), &r, NULL), FL_OK);
    assert_true(fl_slice_equal(r.headers[0].value, FL_LIT("parked")));
    http_reply_done(&r);
    http_service_stats(b.service, &stats);
    assert_int_equal(stats.requests, 5);
    assert_int_equal(stats.parked, 0);
    io_reactor_stats(io_reactors_at(b.reactors, 0), &io);
    assert_int_equal(io.accepted, 1);
    http_session_free(s);
    end(&b);
}

static void a_large_body_goes_and_comes(void **state)
{
    enum { LEN = 5 << 20 };
    char                *body = malloc(LEN);
    struct http_session *s = NULL;
    struct http_reply    r;
    struct bench         b;

    (void)state;
    assert_non_null(body);
    for (size_t i = 0; i < LEN; i++)
        body[i] = (char)(i * 31 >> 3);
    start(&b, 2);
    assert_int_equal(call(&s, b.url, "PUT", "/x", fl_slice_of(body, LEN), &r, NULL), FL_OK);
    assert_int_equal(r.body.len, LEN);
    assert_memory_equal(r.body.at, body, LEN);
    http_reply_done(&r);
    http_session_free(s);
    end(&b);
    free(body);
}

static void a_session_goes_from_place_to_place(void **state)
{
    struct http_session *s = NULL;
    struct http_reply    r;
    struct bench         a, b;

    (void)state;
    start(&a, 1);
    start(&b, 1);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(call(&s, i % 2 == 0 ? a.url : b.url, "GET", "/p", FL_LIT(""), &r, NULL), FL_OK);
        assert_true(fl_slice_equal(r.body, FL_LIT("/p")));
        http_reply_done(&r);
    }
    http_session_free(s);
    end(&a);
    end(&b);
}

static void a_unix_socket_is_a_place_too(void **state)
{
    struct http_session    *s = NULL;
    struct http_reply       r;
    struct fl_error         err;
    struct bench            b = { 0 };
    struct io_config        config = { .reactors = 1, .workers = 1, .max_connections = 100 };
    struct io_listen_config listen = { .protocol = http_protocol() };
    char                    dir[] = "/tmp/http-net-XXXXXX", bind[64], url[64];

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(bind, sizeof bind, "unix:%s/s", dir);
    snprintf(url, sizeof url, "unix:%s/s:/path", dir);
    assert_int_equal(http_service_new(&b.service, NULL, handler, &b, NULL), FL_OK);
    assert_int_equal(io_reactors_new(&b.reactors, &config, NULL), FL_OK);
    listen.owner = b.service;
    listen.bind = bind;
    assert_int_equal(io_listen(b.reactors, &listen, &b.listener, NULL), FL_OK);
    assert_int_equal(io_reactors_start(b.reactors, NULL), FL_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(call(&s, url, "GET", "", FL_LIT(""), &r, NULL), FL_OK);
        assert_true(fl_slice_equal(r.body, FL_LIT("/path")));
        http_reply_done(&r);
    }
    snprintf(url, sizeof url, "unix:%s/S:/path", dir); /* not the same, and not there */
    assert_int_equal(call(&s, url, "GET", "", FL_LIT(""), &r, &err), FL_SYSTEM);
    assert_non_null(strstr(err.text, "/S"));
    http_session_free(s);
    end(&b);
    assert_int_equal(rmdir(dir), 0);
}

static void what_cannot_be_reached_is_named(void **state)
{
    struct http_session *s = NULL;
    struct http_reply    r;
    struct fl_error      err;
    struct bench         b;

    (void)state;
    start(&b, 1);
    end(&b); /* its port is free now */
    assert_int_equal(call(&s, b.url, "GET", "/", FL_LIT(""), &r, &err), FL_SYSTEM);
    assert_non_null(strstr(err.text, "connecting to 127.0.0.1:"));
    assert_int_equal(call(&s, "http://a..b", "GET", "/", FL_LIT(""), &r, &err), FL_NOT_FOUND);
    assert_non_null(strstr(err.text, "no address for host 'a..b'"));
    assert_int_equal(call(&s, "http:/", "GET", "/", FL_LIT(""), &r, &err), FL_USAGE);
    http_session_free(s);
    http_session_free(NULL);
}

static void a_drain_ends_after_the_answer_in_flight(void **state)
{
    struct http_session *s = NULL;
    struct http_reply    r;
    struct bench         b;

    (void)state;
    start(&b, 1);
    assert_int_equal(call(&s, b.url, "GET", "/drain", FL_LIT(""), &r, NULL), FL_OK);
    assert_true(fl_slice_equal(r.headers[r.header_count - 1].value, FL_LIT("close")));
    http_reply_done(&r);
    io_reactors_join(b.reactors); /* long before the grace of 20 s ends: the test's time limit would tell */
    io_reactors_free(b.reactors);
    http_service_free(b.service);
    http_session_free(s);
}

static int dial(const struct bench *b)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(io_listener_port(b->listener)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int                fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static size_t read_all(int fd, char *to, size_t room)
{
    size_t  len = 0;
    ssize_t n;

    while ((n = read(fd, to + len, room - len)) > 0)
        len += (size_t)n;
    assert_int_equal(n, 0);
    return len;
}

static void requests_before_the_end_of_a_stream_are_answered(void **state)
{
    struct fl_buf wire;
    static char   got[1 << 20];
    size_t        len, answers = 0;
    struct bench  b;
    int           fd;

    (void)state;
    fl_buf_init(&wire, 0);
    for (int i = 0; i < 1000; i++)
        fl_buf_printf(&wire, "GET /%d HTTP/1.1\r\nHost: h\r\n\r\n", i);
    start(&b, 1);
    fd = dial(&b);
    assert_int_equal(write(fd, fl_buf_slice(&wire).at, fl_buf_len(&wire)), fl_buf_len(&wire));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    len = read_all(fd, got, sizeof got - 1);
    got[len] = '\0';
    for (const char *at = got; (at = strstr(at, "HTTP/1.1 200 Fine")) != NULL; at++)
        answers++;
    assert_int_equal(answers, 1000);
    close(fd);
    fl_buf_done(&wire);
    end(&b);
}

static void a_refusal_reaches_a_peer_that_goes_on_sending(void **state)
{
    static const char junk[] = "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
    static char       filler[200000];
    char              got[1000];
    struct bench      b;
    size_t            len;
    int               fd;

    (void)state;
    start(&b, 1);
    fd = dial(&b);
    assert_int_equal(write(fd, junk, sizeof junk - 1), sizeof junk - 1);
    assert_int_equal(write(fd, filler, sizeof filler), sizeof filler);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    len = read_all(fd, got, sizeof got - 1);
    got[len] = '\0';
    assert_non_null(strstr(got, "HTTP/1.1 400 Multiple Content-Lengths\r\n"));
    close(fd);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_keeps_its_connection),
        cmocka_unit_test(a_large_body_goes_and_comes),
        cmocka_unit_test(a_session_goes_from_place_to_place),
        cmocka_unit_test(a_unix_socket_is_a_place_too),
        cmocka_unit_test(what_cannot_be_reached_is_named),
        cmocka_unit_test(a_drain_ends_after_the_answer_in_flight),
        cmocka_unit_test(requests_before_the_end_of_a_stream_are_answered),
        cmocka_unit_test(a_refusal_reaches_a_peer_that_goes_on_sending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
