#include "io_rig.h"

static struct rig_count got, told, closes, opens;
static struct io_handle parked;
static enum io_close    why_closed;
static struct rig      *current;

static void forget(struct rig *rig)
{
    current = rig;
    got = told = closes = opens = (struct rig_count)RIG_COUNT_INIT;
}

static void note_close(struct io_conn *c, enum io_close why, const struct fl_error *err)
{
    (void)c, (void)err;
    why_closed = why;
    rig_add(&closes, 1);
}

/* A door in small: a request is parked, an idle connection is closed when draining. */
static void park(struct io_conn *c, struct fl_buf *in)
{
    fl_buf_consume(in, fl_buf_len(in));
    io_conn_hold(c);
    io_conn_set_owner(c, &parked);
    parked = io_conn_handle(c);
    rig_add(&got, 1);
}

static void close_if_idle(struct io_conn *c)
{
    rig_add(&told, 1);
    if (io_conn_owner(c) == NULL)
        io_conn_close_after_flush(c);
}

static const struct io_protocol door = {
    .name = "door", .on_bytes = park, .on_drain = close_if_idle, .on_close = note_close
};

static void complete(struct io_mail *m)
{
    struct io_conn *c = io_conn_find(io_reactor_here(), parked);

    (void)m;
    if (c == NULL || !io_reactor_draining(io_reactor_here()))
        abort();
    FL_BUF_LIT(io_conn_out(c), "answer");
    io_conn_close_after_flush(c);
}

static void what_is_in_flight_is_answered_by_mail_while_draining(void **state)
{
    struct rig     rig = { 0 };
    struct io_mail completion = { .deliver = complete };
    int            busy, idle;

    (void)state;
    forget(&rig);
    rig_start(&rig, &door);
    idle = rig_connect(&rig);
    busy = rig_connect(&rig);
    rig_send(busy, "request", 7);
    assert_true(rig_wait(&got, 1));
    io_reactors_drain(rig.rs, 3600 * FL_NS_PER_S);
    rig_recv_end(idle);
    close(idle);
    assert_true(rig_wait(&told, 2));
    io_post(io_reactors_at(rig.rs, 0), &completion); /* a store's late reply */
    rig_expect(busy, "answer");
    rig_recv_end(busy);
    close(busy);
    io_reactors_join(rig.rs); /* and not an hour later */
    assert_int_equal(rig_get(&closes), 2);
    io_reactors_free(rig.rs);
}

static void after_the_grace_the_rest_is_closed(void **state)
{
    struct rig rig = { .config = { .reactors = 2 } };
    int        busy;

    (void)state;
    forget(&rig);
    rig_start(&rig, &door);
    busy = rig_connect(&rig);
    rig_send(busy, "request", 7);
    assert_true(rig_wait(&got, 1));
    rig_end(&rig, 50 * FL_NS_PER_MS);
    assert_int_equal(why_closed, IO_CLOSE_DRAIN);
    rig_recv_end(busy);
    close(busy);
}

static void a_second_drain_shortens_the_grace(void **state)
{
    struct rig rig = { 0 };
    int        busy;

    (void)state;
    forget(&rig);
    rig_start(&rig, &door);
    busy = rig_connect(&rig);
    rig_send(busy, "request", 7);
    assert_true(rig_wait(&got, 1));
    io_reactors_drain(rig.rs, 3600 * FL_NS_PER_S);
    assert_true(rig_wait(&told, 1));
    rig_end(&rig, 0);
    assert_int_equal(why_closed, IO_CLOSE_DRAIN);
    close(busy);
}

/* ---- the backlog ---- */

static struct rig_count asleep = RIG_COUNT_INIT, wake = RIG_COUNT_INIT;

static void sleep_until_told(struct io_mail *m)
{
    (void)m;
    rig_add(&asleep, 1);
    if (!rig_wait(&wake, 1))
        abort();
}

static const struct io_protocol echo = { .name = "echo", .on_bytes = rig_echo_bytes, .on_close = note_close };

static void connections_in_the_backlog_are_still_served(void **state)
{
    enum { MANY = 40 };
    struct rig     rig = { 0 };
    struct io_mail m = { .deliver = sleep_until_told };
    int            fd[MANY];

    (void)state;
    forget(&rig);
    rig_start(&rig, &echo);
    io_post(io_reactors_at(rig.rs, 0), &m); /* the reactor is busy while clients come and the end is decided */
    assert_true(rig_wait(&asleep, 1));
    for (int i = 0; i < MANY; i++) {
        fd[i] = rig_connect(&rig);
        rig_send(fd[i], "x", 1);
    }
    io_reactors_drain(rig.rs, 3600 * FL_NS_PER_S);
    rig_add(&wake, 1);
    for (int i = 0; i < MANY; i++) {
        rig_expect(fd[i], "x");
        rig_recv_end(fd[i]); /* a protocol without on_drain is closed after the flush */
        close(fd[i]);
    }
    io_reactors_join(rig.rs);
    assert_int_equal(rig_get(&closes), MANY);
    assert_int_equal(why_closed, IO_CLOSE_DRAIN);
    io_reactors_free(rig.rs);
}

static void a_request_that_arrived_with_the_drain_is_answered(void **state)
{
    struct rig     rig = { 0 };
    struct io_mail m = { .deliver = sleep_until_told };
    int            fd;

    (void)state;
    forget(&rig);
    asleep.n = wake.n = 0;
    rig_start(&rig, &echo);
    fd = rig_connect(&rig);
    rig_send(fd, "1", 1);
    rig_expect(fd, "1");
    io_post(io_reactors_at(rig.rs, 0), &m);
    assert_true(rig_wait(&asleep, 1));
    io_reactors_drain(rig.rs, 3600 * FL_NS_PER_S);
    rig_send(fd, "2", 1);
    rig_add(&wake, 1);
    rig_expect(fd, "2");
    rig_recv_end(fd);
    close(fd);
    io_reactors_join(rig.rs);
    io_reactors_free(rig.rs);
}

/* ---- outgoing connections ---- */

static struct sockaddr_in target;
static char               connect_text[240];
static enum fl_status     connect_status;

static void say_hello(struct io_conn *c)
{
    if (io_conn_owner(c) != &target || io_conn_listener(c) != NULL)
        abort();
    FL_BUF_LIT(io_conn_out(c), "hello");
    rig_add(&opens, 1);
}

static void take_hello(struct io_conn *c, struct fl_buf *in)
{
    if (fl_buf_len(in) < 5)
        return;
    if (!fl_slice_equal(fl_buf_slice(in), FL_LIT("hello")))
        abort();
    fl_buf_consume(in, 5);
    io_conn_close_after_flush(c);
    rig_add(&got, 1);
}

static void note_close_text(struct io_conn *c, enum io_close why, const struct fl_error *err)
{
    snprintf(connect_text, sizeof connect_text, "%s", err != NULL ? err->text : "");
    note_close(c, why, err);
}

static const struct io_protocol client = {
    .name = "client", .on_open = say_hello, .on_bytes = take_hello, .on_close = note_close_text
};

static void connect_to_target(struct io_reactor *r, void *arg)
{
    struct io_connect_config config = { .to = (struct sockaddr *)&target,
                                        .to_len = sizeof target,
                                        .protocol = &client,
                                        .owner = &target,
                                        .timeout_ns = *(uint64_t *)arg };
    struct io_conn          *c = NULL;
    struct fl_error          err;

    connect_status = io_connect(r, &config, &c, &err);
    if (rig_get(&opens) != 0 || rig_get(&closes) != 0)
        abort(); /* no callback inside the call */
}

static void aim(uint16_t port)
{
    target = (struct sockaddr_in){ .sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static void an_outgoing_connection_talks_to_a_listener(void **state)
{
    struct rig rig = { 0 };
    uint64_t   timeout = 20 * FL_NS_PER_S;

    (void)state;
    forget(&rig);
    rig_start(&rig, &echo);
    aim(io_listener_port(rig.listener));
    rig_on_reactor(&rig, connect_to_target, &timeout);
    assert_int_equal(connect_status, FL_OK);
    assert_true(rig_wait(&got, 1));
    assert_true(rig_wait(&closes, 2)); /* both sides */
    rig_end(&rig, FL_NS_PER_S);
}

static void a_refused_connect_ends_in_on_close_with_a_sentence(void **state)
{
    struct rig rig = { 0 };
    uint64_t   timeout = 20 * FL_NS_PER_S;
    socklen_t  len = sizeof target;
    int        fd = socket(AF_INET, SOCK_STREAM, 0);
    char       text[80];

    (void)state;
    forget(&rig);
    aim(0);
    assert_int_equal(bind(fd, (struct sockaddr *)&target, sizeof target), 0); /* bound, not listening: refuses */
    assert_int_equal(getsockname(fd, (struct sockaddr *)&target, &len), 0);
    rig_start(&rig, &echo);
    rig_on_reactor(&rig, connect_to_target, &timeout);
    snprintf(text, sizeof text, "connecting to 127.0.0.1:%u: Connection refused", ntohs(target.sin_port));
    if (connect_status == FL_OK) {
        assert_true(rig_wait(&closes, 1));
        assert_int_equal(why_closed, IO_CLOSE_ERROR);
        assert_string_equal(connect_text, text);
    } else {
        assert_int_equal(connect_status, FL_SYSTEM);
    }
    assert_int_equal(rig_get(&opens), 0);
    rig_end(&rig, FL_NS_PER_S);
    close(fd);
}

static void a_connect_nobody_takes_times_out(void **state)
{
    struct rig rig = { 0 };
    uint64_t   timeout = 100 * FL_NS_PER_MS;
    socklen_t  len = sizeof target;
    int        fd = socket(AF_INET, SOCK_STREAM, 0), fill[4];

    (void)state;
    forget(&rig);
    aim(0);
    assert_int_equal(bind(fd, (struct sockaddr *)&target, sizeof target), 0);
    assert_int_equal(listen(fd, 0), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&target, &len), 0);
    for (size_t i = 0; i < FL_COUNT(fill); i++) { /* a full backlog drops further SYNs */
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        FL_IGNORE(connect(fill[i], (struct sockaddr *)&target, sizeof target));
    }
    rig_start(&rig, &echo);
    rig_on_reactor(&rig, connect_to_target, &timeout);
    assert_int_equal(connect_status, FL_OK);
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(why_closed, IO_CLOSE_TIMEOUT);
    assert_string_equal(connect_text, "127.0.0.1: no connection in the time allowed");
    rig_end(&rig, FL_NS_PER_S);
    for (size_t i = 0; i < FL_COUNT(fill); i++)
        close(fill[i]);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_flight_is_answered_by_mail_while_draining),
        cmocka_unit_test(after_the_grace_the_rest_is_closed),
        cmocka_unit_test(a_second_drain_shortens_the_grace),
        cmocka_unit_test(connections_in_the_backlog_are_still_served),
        cmocka_unit_test(a_request_that_arrived_with_the_drain_is_answered),
        cmocka_unit_test(an_outgoing_connection_talks_to_a_listener),
        cmocka_unit_test(a_refused_connect_ends_in_on_close_with_a_sentence),
        cmocka_unit_test(a_connect_nobody_takes_times_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
