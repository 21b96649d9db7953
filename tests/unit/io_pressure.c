#include "io_rig.h"

/* ---- output: a peer that doesn't read ---- */

enum { HIGH = 64 * 1024, BIG = 32 << 20 };

struct produce {
    size_t           made, most_unsent;
    unsigned         drained;
    bool             full;
    struct rig_count stalls, reads;
};
static struct produce made;

static void produce_while_allowed(struct io_conn *c)
{
    while (made.made < BIG && io_conn_may_answer(c)) {
        uint8_t chunk[1000];
        size_t  n = FL_MIN(sizeof chunk, BIG - made.made);

        for (size_t i = 0; i < n; i++)
            chunk[i] = rig_pattern(made.made + i);
        fl_buf_put(io_conn_out(c), chunk, n);
        made.made += n;
    }
    made.most_unsent = FL_MAX(made.most_unsent, fl_buf_len(io_conn_out(c)));
    if (!io_conn_may_answer(c))
        rig_add(&made.stalls, 1);
}

static void asked(struct io_conn *c, struct fl_buf *in)
{
    fl_buf_consume(in, fl_buf_len(in));
    rig_add(&made.reads, 1);
    produce_while_allowed(c);
}

static void drained(struct io_conn *c)
{
    made.drained++;
    produce_while_allowed(c);
}

static const struct io_protocol producer = { .name = "producer", .on_bytes = asked, .on_drained = drained };

static void a_slow_reader_bounds_our_memory_and_gets_everything(void **state)
{
    struct rig rig = { .config = { .out_high_water = HIGH } };
    uint8_t    chunk[5000];
    int        fd;

    (void)state;
    made = (struct produce){ .stalls = RIG_COUNT_INIT, .reads = RIG_COUNT_INIT };
    rig_start(&rig, &producer);
    fd = rig_connect(&rig);
    rig_send(fd, "go", 2);
    assert_true(rig_wait(&made.stalls, 1));
    for (size_t at = 0; at < BIG;) {
        ssize_t n = recv(fd, chunk, sizeof chunk, 0);

        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++, at++)
            if (chunk[i] != rig_pattern(at))
                fail_msg("byte %zu is another", at);
    }
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
    assert_int_equal(made.made, BIG);
    assert_true(made.drained > 1);
    assert_true(made.most_unsent <= HIGH + 1000);
}

static void who_reads_no_answers_is_not_read_either(void **state)
{
    static const char               junk[32 * 1024];
    struct rig                      rig = { .config = { .out_high_water = 1024 } };
    struct timeval                  soon = { .tv_usec = 1000 };
    size_t                          sent = 0, at = 0;
    uint8_t                         chunk[8192];
    uint64_t                        in;
    ssize_t                         n;
    int                             fd;
    static const struct io_protocol echo = { .name = "echo", .on_bytes = rig_echo_bytes };

    (void)state;
    rig_start(&rig, &echo);
    fd = rig_connect(&rig);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    while ((n = send(fd, junk, sizeof junk, MSG_NOSIGNAL)) > 0) /* until every buffer between us is full */
        sent += (size_t)n;
    in = rig_stats(&rig).bytes_in;
    assert_true(in < sent); /* the rest waits in the kernel: nobody reads it */
    shutdown(fd, SHUT_WR);
    while ((n = recv(fd, chunk, sizeof chunk, 0)) > 0)
        at += (size_t)n;
    assert_int_equal(n, 0);
    assert_int_equal(at, sent); /* and all of it is echoed once the answers are read */
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- input: a protocol that holds ---- */

static struct rig_count got_bytes = RIG_COUNT_INIT, turns = RIG_COUNT_INIT;
static struct io_handle parked;
static bool             holding;

static void park_first(struct io_conn *c, struct fl_buf *in)
{
    if (holding) {
        io_conn_hold(c);
        parked = io_conn_handle(c);
        fl_buf_consume(in, 1); /* one request of one byte is worked on */
        rig_add(&got_bytes, 1);
        return;
    }
    rig_add(&got_bytes, fl_buf_len(in));
    fl_buf_consume(in, fl_buf_len(in));
}
static const struct io_protocol parker = { .name = "parker", .on_bytes = park_first };

static void resume_parked(struct io_reactor *r, void *arg)
{
    struct io_conn *c = io_conn_find(r, parked);
    uint64_t        before = rig_get(&got_bytes);

    (void)arg;
    if (c == NULL)
        abort();
    holding = false;
    io_conn_resume(c);
    if (rig_get(&got_bytes) != before)
        abort(); /* a callback inside the call that caused it */
}

static void note_buffered(struct io_reactor *r, void *arg)
{
    *(size_t *)arg = fl_buf_len(&io_conn_find(r, parked)->in);
}

static void a_held_connection_is_read_up_to_its_limit_and_resumed(void **state)
{
    static const char junk[16 * 1024];
    enum { LIMIT = 10000 };
    struct rig     rig = { .config = { .in_limit = LIMIT } };
    struct timeval soon = { .tv_usec = 1000 };
    size_t         sent = 0, buffered;
    ssize_t        n;
    int            fd;

    (void)state;
    holding = true;
    got_bytes.n = 0;
    rig_start(&rig, &parker);
    fd = rig_connect(&rig);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    while ((n = send(fd, junk, sizeof junk, MSG_NOSIGNAL)) > 0)
        sent += (size_t)n;
    assert_true(rig_wait(&got_bytes, 1));
    assert_int_equal(rig_get(&got_bytes), 1);
    rig_on_reactor(&rig, note_buffered, &buffered);
    assert_true(buffered <= LIMIT);
    rig_on_reactor(&rig, resume_parked, NULL);
    assert_true(rig_wait(&got_bytes, sent));
    assert_int_equal(rig_get(&got_bytes), sent);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- a fair share, then again ---- */

static void one_byte_a_turn(struct io_conn *c, struct fl_buf *in)
{
    fl_buf_put(io_conn_out(c), fl_buf_slice(in).at, 1);
    fl_buf_consume(in, 1);
    rig_add(&turns, 1);
    if (fl_buf_len(in) > 0)
        io_conn_again(c);
}
static const struct io_protocol fair = { .name = "fair", .on_bytes = one_byte_a_turn };

static void again_gives_the_rest_in_turns_of_their_own(void **state)
{
    struct rig rig = { 0 };
    int        fd;

    (void)state;
    turns.n = 0;
    rig_start(&rig, &fair);
    fd = rig_connect(&rig);
    rig_send(fd, "abcdefgh", 8);
    shutdown(fd, SHUT_WR);
    rig_expect(fd, "abcdefgh");
    rig_recv_end(fd); /* the end was told after all bytes were given */
    assert_int_equal(rig_get(&turns), 8);
    assert_true(rig_stats(&rig).turns >= 8);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- output beyond every limit ---- */

static struct rig_count closes = RIG_COUNT_INIT;
static char             close_text[240];
static enum io_close    close_why;

static void overdo(struct io_conn *c, struct fl_buf *in)
{
    static const uint8_t chunk[1 << 20];

    fl_buf_consume(in, fl_buf_len(in));
    for (int i = 0; i < 66; i++)
        fl_buf_put(io_conn_out(c), chunk, sizeof chunk);
}

static void note_close(struct io_conn *c, enum io_close why, const struct fl_error *err)
{
    (void)c;
    close_why = why;
    snprintf(close_text, sizeof close_text, "%s", err != NULL ? err->text : "");
    rig_add(&closes, 1);
}
static const struct io_protocol careless = { .name = "careless", .on_bytes = overdo, .on_close = note_close };

static void output_that_did_not_fit_closes_the_connection(void **state)
{
    struct rig rig = { 0 };
    int        fd;

    (void)state;
    rig_start(&rig, &careless);
    fd = rig_connect(&rig);
    rig_send(fd, "x", 1);
    assert_true(rig_wait(&closes, 1));
    assert_int_equal(close_why, IO_CLOSE_ERROR);
    assert_non_null(strstr(close_text, "output"));
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_reader_bounds_our_memory_and_gets_everything),
        cmocka_unit_test(who_reads_no_answers_is_not_read_either),
        cmocka_unit_test(a_held_connection_is_read_up_to_its_limit_and_resumed),
        cmocka_unit_test(again_gives_the_rest_in_turns_of_their_own),
        cmocka_unit_test(output_that_did_not_fit_closes_the_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
