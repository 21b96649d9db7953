#include "io_rig.h"

/* What a test's protocol saw. One test at a time. */
static struct rig_count closes, opens, deadlines;
static enum io_close    why_closed;
static char             why_text[240];
static struct io_handle handle;

static void forget(void)
{
    closes = opens = deadlines = (struct rig_count)RIG_COUNT_INIT;
    why_text[0] = '\0';
}

static void note_close(struct io_conn *c, enum io_close why, const struct fl_error *err)
{
    if (io_conn_find(io_conn_reactor(c), io_conn_handle(c)) != NULL && why != IO_CLOSE_PEER)
        abort(); /* nobody finds what dies */
    why_closed = why;
    snprintf(why_text, sizeof why_text, "%s", err != NULL ? err->text : "");
    rig_add(&closes, 1);
}

/* ---- lingering ---- */

static void refuse_large(struct io_conn *c, struct fl_buf *in)
{
    fl_buf_consume(in, fl_buf_len(in));
    FL_BUF_LIT(io_conn_out(c), "too large");
    io_conn_close_after_flush(c);
}
static const struct io_protocol refusing = { .name = "refusing", .on_bytes = refuse_large, .on_close = note_close };

static void a_client_that_is_still_sending_reads_the_answer(void **state)
{
    static const char junk[100000];
    struct rig        rig = { 0 };
    int               fd;

    (void)state;
    forget();
    rig_start(&rig, &refusing);
    fd = rig_connect(&rig);
    for (int i = 0; i < 20; i++)
        rig_send(fd, junk, sizeof junk); /* most of it after the refusal */
    rig_expect(fd, "too large");
    rig_recv_end(fd); /* an end, no reset */
    assert_int_equal(rig_get(&closes), 0);
    shutdown(fd, SHUT_WR);
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(why_closed, IO_CLOSE_LOCAL);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

static void lingering_ends_by_itself(void **state)
{
    struct rig rig = { 0 };
    uint64_t   start;
    int        fd;

    (void)state;
    forget();
    rig_start(&rig, &refusing);
    fd = rig_connect(&rig);
    rig_send(fd, "x", 1);
    rig_expect(fd, "too large");
    rig_recv_end(fd);
    start = fl_now_ns();
    assert_true(rig_wait(&closes, 1)); /* although this side stays open */
    assert_true(fl_now_ns() - start > FL_NS_PER_S);
    assert_int_equal(why_closed, IO_CLOSE_LOCAL);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- abort, and handles ---- */

static void abort_on_bytes(struct io_conn *c, struct fl_buf *in)
{
    (void)in;
    handle = io_conn_handle(c);
    FL_BUF_LIT(io_conn_out(c), "never seen");
    io_conn_abort(c);
    if (rig_get(&closes) != 0)
        abort(); /* on_close never runs inside the call */
    if (io_conn_find(io_conn_reactor(c), handle) != NULL)
        abort();
}
static const struct io_protocol aborting = { .name = "aborting", .on_bytes = abort_on_bytes, .on_close = note_close };

static void look_for_it(struct io_reactor *r, void *arg)
{
    *(bool *)arg = io_conn_find(r, handle) != NULL;
}

static void an_aborted_connection_sends_nothing_and_its_handle_is_stale(void **state)
{
    struct rig rig = { 0 };
    char       byte;
    bool       found = true;
    int        fd, second;

    (void)state;
    forget();
    rig_start(&rig, &aborting);
    fd = rig_connect(&rig);
    rig_send(fd, "x", 1);
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(why_closed, IO_CLOSE_LOCAL);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    second = rig_connect(&rig); /* takes the same slot, not the same handle */
    while (rig_stats(&rig).accepted < 2)
        rig_on_reactor(&rig, look_for_it, &found);
    rig_on_reactor(&rig, look_for_it, &found);
    assert_false(found);
    close(fd);
    close(second);
    rig_end(&rig, FL_NS_PER_S);
}

static void a_reset_is_an_error_with_a_sentence(void **state)
{
    struct linger                   hard = { .l_onoff = 1 };
    struct rig                      rig = { 0 };
    int                             fd;
    static const struct io_protocol echo = { .name = "echo", .on_bytes = rig_echo_bytes, .on_close = note_close };

    (void)state;
    forget();
    rig_start(&rig, &echo);
    fd = rig_connect(&rig);
    rig_send(fd, "x", 1);
    rig_expect(fd, "x");
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close(fd);
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(why_closed, IO_CLOSE_ERROR);
    assert_string_equal(why_text, "reading from 127.0.0.1: Connection reset by peer");
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- deadlines ---- */

static void short_deadline(struct io_conn *c)
{
    io_conn_set_deadline(c, io_now_ns(io_conn_reactor(c)) + 50 * FL_NS_PER_MS);
    rig_add(&opens, 1);
}
static const struct io_protocol hasty = { .name = "hasty", .on_open = short_deadline, .on_close = note_close };

static void a_passed_deadline_closes(void **state)
{
    struct rig rig = { 0 };
    uint64_t   start = fl_now_ns();
    int        fd;

    (void)state;
    forget();
    rig_start(&rig, &hasty);
    fd = rig_connect(&rig);
    rig_recv_end(fd);
    assert_true(rig_wait(&closes, 1));
    assert_true(fl_now_ns() - start >= 50 * FL_NS_PER_MS);
    assert_int_equal(why_closed, IO_CLOSE_TIMEOUT);
    assert_int_equal(rig_stats(&rig).closed_timeout, 1);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

static void tell_deadline(struct io_conn *c)
{
    rig_add(&deadlines, 1);
    if (rig_get(&deadlines) < 3)
        short_deadline(c);
    else
        io_conn_close_after_flush(c);
}
static const struct io_protocol patient = {
    .name = "patient", .on_open = short_deadline, .on_deadline = tell_deadline, .on_close = note_close
};

static void a_protocol_may_take_a_deadline_and_set_the_next(void **state)
{
    struct rig rig = { 0 };
    int        fd;

    (void)state;
    forget();
    rig_start(&rig, &patient);
    fd = rig_connect(&rig);
    rig_recv_end(fd);
    assert_int_equal(rig_get(&deadlines), 3);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

/* Moved later with each byte, then nearer, then cleared: what counts is the last word. */
static void move_deadline(struct io_conn *c, struct fl_buf *in)
{
    uint64_t now = io_now_ns(io_conn_reactor(c));

    switch (in->data[in->read]) {
    case 'l': io_conn_set_deadline(c, now + 3600 * FL_NS_PER_S); break;
    case 'n': io_conn_set_deadline(c, now + 100 * FL_NS_PER_MS); break;
    default: io_conn_set_deadline(c, 0);
    }
    rig_echo_bytes(c, in);
}
static const struct io_protocol moving = {
    .name = "moving", .on_open = short_deadline, .on_bytes = move_deadline, .on_close = note_close
};

static void the_last_deadline_counts(void **state)
{
    struct rig rig = { 0 };
    int        later, cleared, nearer;

    (void)state;
    forget();
    rig_start(&rig, &moving);
    later = rig_connect(&rig);
    rig_send(later, "l", 1);
    rig_expect(later, "l");
    cleared = rig_connect(&rig);
    rig_send(cleared, "-", 1);
    rig_expect(cleared, "-");
    nearer = rig_connect(&rig);
    rig_send(nearer, "l", 1);
    rig_expect(nearer, "l");
    rig_send(nearer, "n", 1);
    rig_expect(nearer, "n");
    rig_recv_end(nearer); /* by then the first deadlines of the others are long past */
    rig_send(later, "l", 1);
    rig_expect(later, "l");
    rig_send(cleared, "-", 1);
    rig_expect(cleared, "-");
    assert_int_equal(rig_get(&closes), 1);
    close(later);
    close(cleared);
    close(nearer);
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- a handshake that never ends ---- */

static enum fl_status wait_for_ever(struct io_conn *c, struct fl_error *err)
{
    uint8_t        bytes[16];
    struct fl_buf  b = { .data = bytes, .cap = sizeof bytes, .limit = sizeof bytes };
    enum fl_status s = io_wire_read(c, &b, err);

    return s == FL_OK ? FL_WANT_READ : s;
}

static enum fl_status write_nothing(struct io_conn *c, const struct iovec *v, int n, size_t *done, struct fl_error *err)
{
    (void)c, (void)v, (void)n, (void)err;
    *done = 0;
    return FL_OK;
}

static bool free_called;

static void freed(struct io_conn *c)
{
    (void)c;
    free_called = true;
}

static const struct io_transport endless = {
    .name = "endless", .secure = true, .handshake = wait_for_ever, .write = write_nothing, .free = freed
};

static enum fl_status attach_endless(struct io_conn *c, void *arg, struct fl_error *err)
{
    (void)arg, (void)err;
    io_conn_set_transport(c, &endless, NULL);
    return FL_OK;
}

static void a_handshake_has_its_time_limit(void **state)
{
    struct rig rig = { .config = { .handshake_ns = 100 * FL_NS_PER_MS }, .listen = { .attach = attach_endless } };
    int        fd;

    (void)state;
    forget();
    rig_start(&rig, &hasty);
    fd = rig_connect(&rig);
    rig_send(fd, "x", 1); /* dripping bytes doesn't help */
    rig_recv_end(fd);
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(why_closed, IO_CLOSE_TIMEOUT);
    assert_string_equal(why_text, "127.0.0.1: no handshake in the time allowed");
    assert_int_equal(rig_get(&opens), 0);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
    assert_true(free_called);
}

static enum fl_status attach_refused(struct io_conn *c, void *arg, struct fl_error *err)
{
    (void)c, (void)arg;
    return fl_fail(err, FL_BUSY, 0, "not today");
}

static void a_refused_attach_closes_with_its_sentence(void **state)
{
    struct rig rig = { .listen = { .attach = attach_refused } };
    int        fd;

    (void)state;
    forget();
    rig_start(&rig, &hasty);
    fd = rig_connect(&rig);
    rig_recv_end(fd);
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(why_closed, IO_CLOSE_ERROR);
    assert_string_equal(why_text, "not today");
    assert_int_equal(rig_get(&opens), 0);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_that_is_still_sending_reads_the_answer),
        cmocka_unit_test(lingering_ends_by_itself),
        cmocka_unit_test(an_aborted_connection_sends_nothing_and_its_handle_is_stale),
        cmocka_unit_test(a_reset_is_an_error_with_a_sentence),
        cmocka_unit_test(a_passed_deadline_closes),
        cmocka_unit_test(a_protocol_may_take_a_deadline_and_set_the_next),
        cmocka_unit_test(the_last_deadline_counts),
        cmocka_unit_test(a_handshake_has_its_time_limit),
        cmocka_unit_test(a_refused_attach_closes_with_its_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
