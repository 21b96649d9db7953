#include "io_rig.h"

#include <netinet/tcp.h>

static const struct io_protocol echo = { .name = "echo", .on_bytes = rig_echo_bytes };

static void bytes_come_back(void **state)
{
    struct rig rig = { 0 };
    int        fd;

    (void)state;
    rig_start(&rig, &echo);
    fd = rig_connect(&rig);
    rig_send(fd, "hello", 5);
    rig_expect(fd, "hello");
    rig_send(fd, "again", 5);
    rig_expect(fd, "again");
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

struct bulk {
    int    fd;
    size_t len;
};

static void *send_pattern(void *arg)
{
    struct bulk *b = arg;
    uint8_t      chunk[8192];

    for (size_t at = 0; at < b->len; at += sizeof chunk) {
        for (size_t i = 0; i < sizeof chunk; i++)
            chunk[i] = rig_pattern(at + i);
        rig_send(b->fd, chunk, sizeof chunk);
    }
    return NULL;
}

static void many_megabytes_come_back_in_order(void **state)
{
    struct rig  rig = { .config = { .reactors = 2 } };
    struct bulk b = { .len = (size_t)16 << 20 };
    pthread_t   sender;
    uint8_t     chunk[4096];

    (void)state;
    rig_start(&rig, &echo);
    b.fd = rig_connect(&rig);
    assert_int_equal(pthread_create(&sender, NULL, send_pattern, &b), 0);
    for (size_t at = 0; at < b.len; at += sizeof chunk) {
        rig_recv(b.fd, chunk, sizeof chunk);
        for (size_t i = 0; i < sizeof chunk; i++)
            if (chunk[i] != rig_pattern(at + i))
                fail_msg("byte %zu is another", at + i);
    }
    pthread_join(sender, NULL);
    close(b.fd);
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- lines: a protocol with messages ---- */

static struct rig_count calls = RIG_COUNT_INIT;

static void answer_lines(struct io_conn *c, struct fl_buf *in)
{
    struct fl_slice s = fl_buf_slice(in);
    size_t          end;

    rig_add(&calls, 1);
    while ((end = fl_slice_find(s, '\n')) != SIZE_MAX) {
        FL_BUF_LIT(io_conn_out(c), "<");
        fl_buf_put(io_conn_out(c), s.at, end);
        FL_BUF_LIT(io_conn_out(c), ">");
        s = fl_slice_from(s, end + 1);
        fl_buf_consume(in, end + 1);
    }
}
static const struct io_protocol lines = { .name = "lines", .on_bytes = answer_lines };

static void pipelined_requests_are_answered_in_one_piece(void **state)
{
    struct rig rig = { 0 };
    char       got[64] = "";
    int        fd;

    (void)state;
    rig_start(&rig, &lines);
    fd = rig_connect(&rig);
    rig_send(fd, "a\nbb\nccc\nd", 10);
    /* Loopback delivers one send() as one segment, so one recv() shows that the answers left together. */
    assert_int_equal(recv(fd, got, sizeof got - 1, 0), 12);
    assert_string_equal(got, "<a><bb><ccc>");
    rig_send(fd, "\n", 1);
    rig_expect(fd, "<d>");
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

static void one_byte_at_a_time_makes_the_same_message(void **state)
{
    static const char text[] = "a rather slow client\n";
    struct rig        rig = { 0 };
    int               fd;

    (void)state;
    rig_start(&rig, &lines);
    fd = rig_connect(&rig);
    for (size_t i = 0; i < sizeof text - 1; i++) {
        uint64_t before = rig_get(&calls);

        rig_send(fd, text + i, 1);
        assert_true(rig_wait(&calls, before + 1)); /* each byte is a wake-up of its own */
    }
    rig_expect(fd, "<a rather slow client>");
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- what an open connection tells of itself ---- */

static int         owner_of_listener, owner_of_conn;
static struct rig *current;
static char        seen_peer[INET6_ADDRSTRLEN];
static sa_family_t seen_family;

static void look_around(struct io_conn *c)
{
    struct io_reactor *r = io_conn_reactor(c);

    assert_ptr_equal(io_reactor_here(), r);
    assert_ptr_equal(io_conn_listener(c), current->listener);
    assert_ptr_equal(io_listener_owner(io_conn_listener(c)), &owner_of_listener);
    assert_ptr_equal(io_conn_find(r, io_conn_handle(c)), c);
    assert_false(io_conn_secure(c));
    assert_true(io_conn_may_answer(c));
    assert_true(io_now_ns(r) > 0);
    snprintf(seen_peer, sizeof seen_peer, "%s", io_conn_peer_text(c));
    seen_family = io_conn_peer(c)->sa_family;
    io_conn_set_owner(c, &owner_of_conn);
    FL_BUF_LIT(io_conn_out(c), "welcome");
}

static struct rig_count closes = RIG_COUNT_INIT;
static enum io_close    last_why;

static void note_close(struct io_conn *c, enum io_close why, const struct fl_error *err)
{
    (void)err;
    if (io_conn_owner(c) != &owner_of_conn)
        abort();
    last_why = why;
    rig_add(&closes, 1);
}

static const struct io_protocol curious = {
    .name = "curious", .on_open = look_around, .on_bytes = rig_echo_bytes, .on_close = note_close
};

static void visit(struct rig *rig, int fd)
{
    uint64_t before = rig_get(&closes);

    (void)rig;
    rig_expect(fd, "welcome");
    close(fd);
    assert_true(rig_wait(&closes, before + 1));
    assert_int_equal(last_why, IO_CLOSE_PEER);
}

static void a_connection_knows_its_peer_and_listener(void **state)
{
    struct rig rig = { .listen = { .owner = &owner_of_listener } };
    char       text[40];

    (void)state;
    current = &rig;
    rig_start(&rig, &curious);
    snprintf(text, sizeof text, "127.0.0.1:%u", io_listener_port(rig.listener));
    assert_string_equal(io_listener_text(rig.listener), text);
    visit(&rig, rig_connect(&rig));
    assert_string_equal(seen_peer, "127.0.0.1");
    assert_int_equal(seen_family, AF_INET);
    rig_end(&rig, FL_NS_PER_S);
}

static void unix_sockets_work_and_their_file_is_removed(void **state)
{
    char       path[80], bind[90];
    struct rig rig = { .config = { .reactors = 2 }, .listen = { .owner = &owner_of_listener, .bind = bind } };

    (void)state;
    current = &rig;
    rig_temp_path(path, sizeof path, "echo");
    snprintf(bind, sizeof bind, "unix:%s", path);
    rig_start(&rig, &curious);
    assert_string_equal(io_listener_text(rig.listener), bind);
    assert_int_equal(io_listener_port(rig.listener), 0);
    for (int i = 0; i < 8; i++)
        visit(&rig, rig_connect_unix(path));
    assert_string_equal(seen_peer, "unix");
    assert_int_equal(seen_family, AF_UNIX);
    rig_end(&rig, FL_NS_PER_S);
    assert_int_equal(access(path, F_OK), -1);
}

static bool machine_has_v6(void)
{
    struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int                 fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool                has = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

static void ipv6_works_where_there_is_some(void **state)
{
    struct rig          rig = { .listen = { .owner = &owner_of_listener, .bind = "[::1]:0" } };
    struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    struct io_reactors *rs = NULL;
    struct io_listener *l = NULL;
    struct io_config    config = { .reactors = 1, .workers = 1, .max_connections = 1 };
    struct fl_error     err;
    int                 fd;

    (void)state;
    if (!machine_has_v6()) { /* then the refusal must be a sentence */
        rig.listen.protocol = &curious;
        assert_int_equal(io_reactors_new(&rs, &config, &err), FL_OK);
        assert_int_equal(io_listen(rs, &rig.listen, &l, &err), FL_SYSTEM);
        assert_non_null(strstr(err.text, "[::1]:0"));
        io_reactors_free(rs);
        return;
    }
    current = &rig;
    rig_start(&rig, &curious);
    assert_true(strncmp(io_listener_text(rig.listener), "[::1]:", 6) == 0);
    fd = socket(AF_INET6, SOCK_STREAM, 0);
    rig_patience(fd);
    at.sin6_port = htons(io_listener_port(rig.listener));
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    visit(&rig, fd);
    assert_string_equal(seen_peer, "::1");
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- idle connections hold no buffers ---- */

static void count_lent(struct io_reactor *r, void *arg)
{
    struct io_conn *c;

    LIST_FOREACH(c, &r->all, all_link)
    *(int *)arg += (c->in.data != NULL) + (c->out.data != NULL);
}

static void check_no_delay(struct io_reactor *r, void *arg)
{
    int       on = 0;
    socklen_t len = sizeof on;

    (void)arg;
    if (getsockopt(LIST_FIRST(&r->all)->fd, IPPROTO_TCP, TCP_NODELAY, &on, &len) != 0 || on == 0)
        abort(); /* accepted sockets have it from their listener */
}

static void idle_connections_hold_no_buffers(void **state)
{
    enum { MANY = 200 };
    struct rig rig = { 0 };
    int        fd[MANY], lent = 0;

    (void)state;
    rig_start(&rig, &echo);
    for (int i = 0; i < MANY; i++) {
        fd[i] = rig_connect(&rig);
        rig_send(fd[i], "x", 1);
        rig_expect(fd[i], "x");
    }
    rig_on_reactor(&rig, count_lent, &lent);
    /* The last answer is read before its turn's end is over, so this mail comes in a later turn: all was given back. */
    assert_int_equal(lent, 0);
    assert_int_equal(rig_stats(&rig).open, MANY);
    rig_on_reactor(&rig, check_no_delay, NULL);
    for (int i = 0; i < MANY; i++)
        close(fd[i]);
    rig_end(&rig, FL_NS_PER_S);
}

/* ---- half-closing ---- */

static void say_bye(struct io_conn *c)
{
    FL_BUF_LIT(io_conn_out(c), "bye");
    io_conn_close_after_flush(c);
}
static const struct io_protocol polite = { .name = "polite", .on_bytes = rig_echo_bytes, .on_eof = say_bye };

static void a_half_closed_peer_still_gets_its_answer(void **state)
{
    struct rig rig = { 0 };
    int        fd;

    (void)state;
    rig_start(&rig, &polite);
    fd = rig_connect(&rig);
    rig_send(fd, "last words", 10);
    shutdown(fd, SHUT_WR);
    rig_expect(fd, "last wordsbye");
    rig_recv_end(fd);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_come_back),
        cmocka_unit_test(many_megabytes_come_back_in_order),
        cmocka_unit_test(pipelined_requests_are_answered_in_one_piece),
        cmocka_unit_test(one_byte_at_a_time_makes_the_same_message),
        cmocka_unit_test(a_connection_knows_its_peer_and_listener),
        cmocka_unit_test(unix_sockets_work_and_their_file_is_removed),
        cmocka_unit_test(ipv6_works_where_there_is_some),
        cmocka_unit_test(idle_connections_hold_no_buffers),
        cmocka_unit_test(a_half_closed_peer_still_gets_its_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
