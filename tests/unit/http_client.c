/* The client against a server that says what the test wants, over real connections on one reactor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "http/http.h"

#include <arpa/inet.h>

/* ---- the server: for each request of a connection the next script, and then perhaps the end ------------------------------- */

struct script {
    const char *answer;   /* "" for none */
    bool        close;    /* in good order after it */
    bool        bytewise; /* one byte a turn */
    size_t      filler;   /* this many 'y' after the answer */
};

struct bench;
struct peer {
    struct bench        *bench;
    const struct script *now;
    size_t               sent;
};

struct bench {
    struct io_reactors  *reactors;
    struct io_listener  *listener;
    struct http_client  *client;
    const struct script *scripts; /* in the order of requests, over all connections */
    unsigned             script_count, requests, connections;

    /* What the client is to do. */
    const char *request;
    bool        head_only, send_in_callback, free_in_callback, no_retry;
    unsigned    sends, answers;
    size_t      body_limit;
    uint64_t    timeout_ns;

    /* What came, as text: "200 OK [body]\n" or "error: sentence\n". */
    char            log[4096];
    struct io_mail  mail;
    struct io_timer step;
};

static void next_byte(struct io_conn *c, struct peer *p)
{
    if (p->now->answer[p->sent] == '\0') {
        for (size_t i = 0; i < p->now->filler; i++)
            fl_buf_put_byte(io_conn_out(c), 'y');
        if (p->now->close)
            io_conn_close_after_flush(c);
        p->now = NULL;
        return;
    }
    fl_buf_put_byte(io_conn_out(c), (uint8_t)p->now->answer[p->sent++]);
}

static void peer_open(struct io_conn *c)
{
    struct peer *p = calloc(1, sizeof *p);

    assert_non_null(p);
    p->bench = io_listener_owner(io_conn_listener(c));
    p->bench->connections++;
    io_conn_set_owner(c, p);
}

static void peer_bytes(struct io_conn *c, struct fl_buf *in)
{
    struct peer    *p = io_conn_owner(c);
    struct fl_slice bytes = fl_buf_slice(in);

    if (p->now == NULL) {
        if (!fl_slice_ends(bytes, FL_LIT("\r\n\r\n")) || p->bench->requests == p->bench->script_count)
            return;
        p->now = &p->bench->scripts[p->bench->requests++];
        p->sent = 0;
    }
    do
        next_byte(c, p);
    while (p->now != NULL && !p->now->bytewise);
    if (p->now != NULL)
        io_conn_again(c); /* the request is left in the input so that there is a next time */
    else
        fl_buf_consume(in, bytes.len);
}

static void peer_close(struct io_conn *c, enum io_close why, const struct fl_error *err)
{
    (void)why;
    (void)err;
    free(io_conn_owner(c));
}

static const struct io_protocol peer_protocol = {
    .name = "scripted", .on_open = peer_open, .on_bytes = peer_bytes, .on_close = peer_close
};

/* ---- the client ---------------------------------------------------------------------------------------------------------------- */

static void end(struct bench *b)
{
    http_client_free(b->client);
    b->client = NULL;
    io_reactors_drain(b->reactors, 0);
}

static void note(struct bench *b, const char *text)
{
    size_t at = strlen(b->log);

    snprintf(b->log + at, sizeof b->log - at, "%s", text);
}

static void send_one(struct bench *b)
{
    struct fl_error err;
    char            text[300];

    b->sends--;
    if (http_client_send(b->client, fl_slice_str(b->request), b->head_only, &err) == FL_OK)
        return;
    snprintf(text, sizeof text, "refused: %s\n", err.text);
    note(b, text);
    end(b);
}

static void later(struct io_timer *t)
{
    struct bench *b = FL_CONTAINER(t, struct bench, step);

    if (b->sends > 0)
        send_one(b);
    else
        end(b);
}

static void on_reply(struct http_client *c, const struct http_reply *r, const struct fl_error *err, void *owner)
{
    struct bench *b = owner;
    char          text[300];

    assert_ptr_equal(c, b->client);
    if (r == NULL)
        snprintf(text, sizeof text, "%s: %s\n", fl_status_name(err->status), err->text);
    else
        snprintf(text, sizeof text, "%d %.*s [%.*s] %zu\n", r->status, FL_SLICE_ARGS(r->reason),
                 (int)FL_MIN(r->body.len, 40), (const char *)r->body.at, r->body.len);
    note(b, text);
    b->answers++;
    if (b->free_in_callback)
        end(b);
    else if (b->send_in_callback && b->sends > 0)
        send_one(b);
    else
        io_timer_start(io_reactors_at(b->reactors, 0), &b->step, 1);
}

static void begin(struct io_mail *m)
{
    struct bench             *b = FL_CONTAINER(m, struct bench, mail);
    struct sockaddr_in        to = { .sin_family = AF_INET,
                                     .sin_port = htons(io_listener_port(b->listener)),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct http_client_config config = { .to = (struct sockaddr *)&to,
                                         .to_len = sizeof to,
                                         .timeout_ns = b->timeout_ns,
                                         .body_limit = b->body_limit,
                                         .no_retry = b->no_retry,
                                         .on_reply = on_reply,
                                         .owner = b };

    assert_int_equal(http_client_new(&b->client, io_reactors_at(b->reactors, 0), &config, NULL), FL_OK);
    send_one(b);
}

static const char *play(struct bench *b, const struct script *scripts, unsigned count, unsigned sends)
{
    struct io_config        config = { .reactors = 1, .workers = 1, .max_connections = 16 };
    struct io_listen_config listen = { .bind = "127.0.0.1:0", .protocol = &peer_protocol, .owner = b };

    b->scripts = scripts;
    b->script_count = count;
    b->sends = sends;
    b->mail.deliver = begin;
    b->step.fire = later;
    b->timeout_ns = b->timeout_ns == 0 ? 20 * FL_NS_PER_S : b->timeout_ns;
    b->request = b->request == NULL ? "GET / HTTP/1.1\r\n\r\n" : b->request;
    assert_int_equal(io_reactors_new(&b->reactors, &config, NULL), FL_OK);
    assert_int_equal(io_listen(b->reactors, &listen, &b->listener, NULL), FL_OK);
    assert_int_equal(io_reactors_start(b->reactors, NULL), FL_OK);
    io_post(io_reactors_at(b->reactors, 0), &b->mail);
    io_reactors_join(b->reactors);
    io_reactors_free(b->reactors);
    return b->log;
}

#define PLAY(b, scripts, sends) play(b, scripts, FL_COUNT(scripts), sends)
#define OK2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"

/* ---- tests ------------------------------------------------------------------------------------------------------------------------- */

static void bodies_come_in_every_framing(void **state)
{
    static const struct script scripts[] = {
        { .answer = OK2 },
        { .answer = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" },
        { .answer = "HTTP/1.1 204 None\r\n\r\n" },
        { .answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n2\r\nde\r\n0\r\nT: u\r\n\r\n" },
        { .answer = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n" OK2 },
        { .answer = "HTTP/1.1 200 OK\r\n\r\nuntil the end", .close = true },
    };
    static const char expected[] = "200 OK [ab] 2\n404 No [] 0\n204 None [] 0\n200 OK [abcde] 5\n200 OK [ab] 2\n"
                                   "200 OK [until the end] 13\n";

    (void)state;
    for (int in_callback = 0; in_callback < 2; in_callback++)
        for (int bytewise = 0; bytewise < 2; bytewise++) {
            struct script copy[FL_COUNT(scripts)];
            struct bench  b = { .send_in_callback = in_callback };

            for (size_t i = 0; i < FL_COUNT(scripts); i++) {
                copy[i] = scripts[i];
                copy[i].bytewise = bytewise;
            }
            assert_string_equal(PLAY(&b, copy, FL_COUNT(scripts)), expected);
            assert_int_equal(b.connections, 1);
        }
}

static void a_head_answer_has_a_length_and_no_body(void **state)
{
    static const struct script scripts[] = { { .answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" },
                                             { .answer = "HTTP/1.1 200 B\r\n\r\n" } };
    struct bench               b = { .head_only = true, .request = "HEAD / HTTP/1.1\r\n\r\n" };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 2), "200 OK [] 0\n200 B [] 0\n");
    assert_int_equal(b.connections, 1);
}

static void a_long_body_is_whole(void **state)
{
    static const struct script scripts[] = {
        { .answer = "HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n", .filler = 3000000 }, { .answer = OK2 }
    };
    struct bench b = { 0 };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 2),
                        "200 OK [yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy] 3000000\n200 OK [ab] 2\n");
}

static void a_body_above_the_limit_is_an_error(void **state)
{
    static const char *const heads[] = { "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n",
                                         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n",
                                         "HTTP/1.1 200 OK\r\n\r\n" };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(heads); i++) {
        struct script scripts[] = { { .answer = heads[i], .filler = 101, .close = true } };
        struct bench  b = { .body_limit = 100 };

        assert_string_equal(PLAY(&b, scripts, 1), "malformed: answer with a body of more than 100 bytes\n");
    }
}

static void a_close_after_the_answer_means_a_new_connection(void **state)
{
    static const struct script scripts[] = {
        { .answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n1", .close = true },
        { .answer = "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n2", .close = true },
        { .answer = OK2 },
    };
    struct bench b = { .send_in_callback = true };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 3), "200 OK [1] 1\n200 OK [2] 1\n200 OK [ab] 2\n");
    assert_int_equal(b.connections, 3);
}

static void a_kept_connection_that_dies_unanswered_is_tried_once_more(void **state)
{
    static const struct script scripts[] = { { .answer = OK2 }, { .answer = "", .close = true }, { .answer = OK2 } };
    struct bench               b = { 0 };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 2), "200 OK [ab] 2\n200 OK [ab] 2\n");
    assert_int_equal(b.connections, 2);
}

static void but_only_once(void **state)
{
    static const struct script scripts[] = { { .answer = OK2 },
                                             { .answer = "", .close = true },
                                             { .answer = "", .close = true } };
    struct bench               b = { 0 };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 2),
                        "200 OK [ab] 2\nclosed: 127.0.0.1 closed the connection without an answer\n");
}

static void and_never_for_a_post(void **state)
{
    static const struct script scripts[] = { { .answer = OK2 }, { .answer = "", .close = true } };
    struct bench               b = { .request = "POST / HTTP/1.1\r\n\r\n" };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 2),
                        "200 OK [ab] 2\nclosed: 127.0.0.1 closed the connection without an answer\n");
    assert_int_equal(b.connections, 1);
}

static void nor_for_those_who_count_requests(void **state)
{
    static const struct script scripts[] = { { .answer = OK2 }, { .answer = "", .close = true } };
    struct bench               b = { .no_retry = true };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 2),
                        "200 OK [ab] 2\nclosed: 127.0.0.1 closed the connection without an answer\n");
    assert_int_equal(b.connections, 1);
}

static void an_answer_cut_short_is_an_error_that_says_so(void **state)
{
    static const char *const cut[] = { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
                                       "HTTP/1.1 200 OK\r\nContent-Le",
                                       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n" };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(cut); i++) {
        struct script scripts[] = { { .answer = OK2 }, { .answer = cut[i], .close = true } };
        struct bench  b = { 0 };

        assert_string_equal(PLAY(&b, scripts, 2),
                            "200 OK [ab] 2\nclosed: 127.0.0.1 closed the connection in the middle of its answer\n");
    }
}

static void nonsense_is_an_error_and_the_next_request_goes_to_a_new_connection(void **state)
{
    static const struct script scripts[] = { { .answer = "220 smtp ready\r\n" },
                                             { .answer = "HTTP/1.1 101 Switching\r\n\r\n" },
                                             { .answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz" },
                                             { .answer = OK2 } };
    struct bench               b = { .send_in_callback = true };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 4),
                        "malformed: malformed answer: no HTTP/1.1 status in line '220 smtp ready'\n"
                        "malformed: answer 101 to a request that asked for no other protocol\n"
                        "malformed: malformed answer: Illegal character ALPHA='z' in a chunk\n200 OK [ab] 2\n");
    assert_int_equal(b.connections, 4);
}

static void what_nobody_asked_for_ends_the_connection(void **state)
{
    static const struct script scripts[] = { { .answer = OK2 "HTTP/1.1 200 Smuggled\r\n\r\n" }, { .answer = OK2 } };
    struct bench               b = { .send_in_callback = true };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 2), "200 OK [ab] 2\n200 OK [ab] 2\n");
    assert_int_equal(b.connections, 2);
}

static void no_answer_in_time_is_an_error(void **state)
{
    static const struct script scripts[] = { { .answer = "HTTP/1.1 200 OK\r\n" } };
    struct bench               b = { .timeout_ns = 100 * FL_NS_PER_MS };

    (void)state;
    assert_string_equal(PLAY(&b, scripts, 1), "timeout: no answer from 127.0.0.1 within 100 ms\n");
}

static void the_owner_may_free_in_the_callback(void **state)
{
    static const struct script good[] = { { .answer = OK2 } }, bad[] = { { .answer = "nonsense\r\n" } };
    struct bench               b = { .free_in_callback = true }, c = { .free_in_callback = true };

    (void)state;
    assert_string_equal(PLAY(&b, good, 1), "200 OK [ab] 2\n");
    assert_true(strncmp(PLAY(&c, bad, 1), "malformed", 9) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_come_in_every_framing),
        cmocka_unit_test(a_head_answer_has_a_length_and_no_body),
        cmocka_unit_test(a_long_body_is_whole),
        cmocka_unit_test(a_body_above_the_limit_is_an_error),
        cmocka_unit_test(a_close_after_the_answer_means_a_new_connection),
        cmocka_unit_test(a_kept_connection_that_dies_unanswered_is_tried_once_more),
        cmocka_unit_test(but_only_once),
        cmocka_unit_test(and_never_for_a_post),
        cmocka_unit_test(nor_for_those_who_count_requests),
        cmocka_unit_test(an_answer_cut_short_is_an_error_that_says_so),
        cmocka_unit_test(nonsense_is_an_error_and_the_next_request_goes_to_a_new_connection),
        cmocka_unit_test(what_nobody_asked_for_ends_the_connection),
        cmocka_unit_test(no_answer_in_time_is_an_error),
        cmocka_unit_test(the_owner_may_free_in_the_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
