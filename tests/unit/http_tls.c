/* The blocking client over TLS: whom it trusts, and whom it does not. */
#include "tls_rig.h"

#include "http/http.h"

static void handler(struct http_exchange *x, void *owner)
{
    (void)owner;
    http_answer(x, 200, FL_LIT(""), FL_LIT(""), http_request_of(x)->secure ? FL_LIT("secure") : FL_LIT("plain"));
}

struct bench {
    struct tls_files     files;
    struct tls_holder   *holder;
    struct http_service *service;
    struct io_reactors  *reactors;
    struct io_listener  *listener;
};

static void start(struct bench *b)
{
    struct io_config        config = { .reactors = 1, .workers = 1, .max_connections = 100 };
    struct io_listen_config listen = { .bind = "127.0.0.1:0",
                                       .protocol = http_protocol(),
                                       .attach = tls_attach_server };
    struct tls_config       tls;

    tls_files_make(&b->files);
    tls = tls_server_config(&b->files);
    assert_int_equal(tls_holder_new(&b->holder, &tls, NULL), FL_OK);
    assert_int_equal(http_service_new(&b->service, NULL, handler, NULL, NULL), FL_OK);
    assert_int_equal(io_reactors_new(&b->reactors, &config, NULL), FL_OK);
    listen.owner = b->service;
    listen.attach_arg = b->holder;
    assert_int_equal(io_listen(b->reactors, &listen, &b->listener, NULL), FL_OK);
    assert_int_equal(io_reactors_start(b->reactors, NULL), FL_OK);
}

static void end(struct bench *b)
{
    io_reactors_drain(b->reactors, 0);
    io_reactors_join(b->reactors);
    io_reactors_free(b->reactors);
    http_service_free(b->service);
    tls_holder_free(b->holder);
    tls_files_remove(&b->files);
}

static enum fl_status get(const struct bench *b, struct http_session **s, const char *host,
                          const struct tls_config *tls, struct http_reply *r, struct fl_error *err)
{
    char url[100];

    snprintf(url, sizeof url, "https://%s:%u/", host, io_listener_port(b->listener));
    return http_call(s, "GET", url, FL_LIT(""), FL_LIT(""), tls, 20 * FL_NS_PER_S, r, err);
}

static void a_trusted_server_is_asked_over_one_connection(void **state)
{
    static const char *const hosts[] = { "127.0.0.1", "localhost" };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(hosts); i++) {
        struct http_session *s = NULL;
        struct http_reply    r;
        struct io_stats      stats;
        struct bench         b;
        struct tls_config    tls;

        start(&b);
        tls = tls_client_config(&b.files);
        for (int n = 0; n < 3; n++) {
            assert_int_equal(get(&b, &s, hosts[i], &tls, &r, NULL), FL_OK);
            assert_true(fl_slice_equal(r.body, FL_LIT("secure")));
            http_reply_done(&r);
        }
        io_reactor_stats(io_reactors_at(b.reactors, 0), &stats);
        assert_int_equal(stats.accepted, 1);
        http_session_free(s);
        end(&b);
    }
}

static void a_server_that_nobody_vouches_for_is_not_asked(void **state)
{
    struct http_session *s = NULL;
    struct http_reply    r;
    struct http_stats    stats;
    struct fl_error      err;
    struct bench         b;

    (void)state;
    start(&b);
    assert_int_not_equal(get(&b, &s, "127.0.0.1", NULL, &r, &err), FL_OK); /* the system does not know our authority */
    assert_non_null(strstr(err.text, "certificate"));
    http_service_stats(b.service, &stats);
    assert_int_equal(stats.requests, 0);
    http_session_free(s);
    end(&b);
}

static void a_plain_server_is_no_tls_server(void **state)
{
    struct http_session    *s = NULL;
    struct http_reply       r;
    struct fl_error         err;
    struct bench            b;
    struct io_config        config = { .reactors = 1, .workers = 1, .max_connections = 100 };
    struct io_listen_config listen = { .bind = "127.0.0.1:0", .protocol = http_protocol() };

    (void)state;
    assert_int_equal(http_service_new(&b.service, NULL, handler, NULL, NULL), FL_OK);
    assert_int_equal(io_reactors_new(&b.reactors, &config, NULL), FL_OK);
    listen.owner = b.service;
    assert_int_equal(io_listen(b.reactors, &listen, &b.listener, NULL), FL_OK);
    assert_int_equal(io_reactors_start(b.reactors, NULL), FL_OK);
    assert_int_not_equal(get(&b, &s, "127.0.0.1", NULL, &r, &err), FL_OK);
    assert_true(err.text[0] != '\0');
    http_session_free(s);
    io_reactors_drain(b.reactors, 0);
    io_reactors_join(b.reactors);
    io_reactors_free(b.reactors);
    http_service_free(b.service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trusted_server_is_asked_over_one_connection),
        cmocka_unit_test(a_server_that_nobody_vouches_for_is_not_asked),
        cmocka_unit_test(a_plain_server_is_no_tls_server),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
