#include "io_rig.h"

#include <sys/resource.h>

static const struct io_protocol echo = { .name = "echo", .on_bytes = rig_echo_bytes };

static bool answers(int fd)
{
    char byte = 0;

    rig_send(fd, "x", 1);
    return recv(fd, &byte, 1, 0) == 1 && byte == 'x';
}

/* True if nothing comes within a moment in which an accepting server answers a thousand times. */
static bool waits(int fd)
{
    struct timeval moment = { .tv_usec = 50000 }, patience = { .tv_sec = RIG_PATIENCE_S };
    char           byte;
    bool           nothing;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
    nothing = recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return nothing;
}

static void above_the_cap_newcomers_wait_and_are_served_later(void **state)
{
    enum { CAP = 4, MORE = 4 };
    struct rig rig = { .config = { .reactors = 2, .max_connections = CAP } };
    int        in[CAP], out[MORE];

    (void)state;
    rig_start(&rig, &echo);
    for (int i = 0; i < CAP; i++) {
        in[i] = rig_connect(&rig);
        assert_true(answers(in[i]));
    }
    for (int i = 0; i < MORE; i++) {
        out[i] = rig_connect(&rig); /* by the kernel */
        rig_send(out[i], "x", 1);
    }
    assert_true(waits(out[0]));
    assert_int_equal(rig_stats(&rig).accepted, CAP);
    for (int i = 0; i < CAP; i++)
        close(in[i]);
    for (int i = 0; i < MORE; i++)
        rig_expect(out[i], "x");
    assert_int_equal(rig_stats(&rig).accepted, CAP + MORE);
    for (int i = 0; i < MORE; i++)
        close(out[i]);
    rig_end(&rig, FL_NS_PER_S);
}

static void without_descriptors_accepting_pauses_and_recovers(void **state)
{
    struct rig    rig = { 0 };
    struct rlimit old, none;
    uint64_t      turns;
    int           first, fd, spare;

    (void)state;
    rig_start(&rig, &echo);
    first = rig_connect(&rig);
    assert_true(answers(first));
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    rig_patience(fd);
    spare = dup(fd); /* the lowest free number is above all in use */
    close(spare);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){ .rlim_cur = (rlim_t)spare, .rlim_max = old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    {
        struct sockaddr_in at = { .sin_family = AF_INET,
                                  .sin_port = htons(io_listener_port(rig.listener)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

        assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    }
    turns = rig_stats(&rig).turns;
    rig_send(fd, "x", 1);
    assert_true(waits(fd));
    assert_true(waits(fd));
    assert_true(rig_stats(&rig).turns - turns < 50); /* a spinning loop turns tens of thousands of times in 0.1 s */
    assert_true(answers(first));                     /* and others are served meanwhile */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    rig_expect(fd, "x");
    close(first);
    close(fd);
    rig_end(&rig, FL_NS_PER_S);
}

static struct io_reactors *fresh(unsigned reactors)
{
    struct io_config    config = { .reactors = reactors, .workers = 1, .max_connections = 10 };
    struct io_reactors *rs = NULL;

    assert_int_equal(io_reactors_new(&rs, &config, NULL), FL_OK);
    return rs;
}

static enum fl_status try_listen(struct io_reactors *rs, const char *bind, struct fl_error *err)
{
    struct io_listen_config config = { .bind = bind, .protocol = &echo };
    struct io_listener     *l = NULL;

    return io_listen(rs, &config, &l, err);
}

static void bad_addresses_are_refused_in_words(void **state)
{
    static const char *const bad[] = {
        "",          "127.0.0.1", "127.0.0.1:",   "127.0.0.1:65536", "127.0.0.1:-1",   "localhost:1", "[::1]",
        "[::1]9600", "::1:80x",   "1.2.3.4.5:80", "127.0.0.1:1x",    "[127.0.0.1]:80", "[::1:80"
    };
    struct io_reactors *rs = fresh(1);
    struct fl_error     err;
    char                text[100];

    (void)state;
    for (size_t i = 0; i < FL_COUNT(bad); i++) {
        assert_int_equal(try_listen(rs, bad[i], &err), FL_USAGE);
        snprintf(text, sizeof text, "bad address '%s': wanted is 127.0.0.1:9600", bad[i]);
        assert_true(strncmp(err.text, text, strlen(text)) == 0);
    }
    assert_int_equal(try_listen(rs, "unix:", &err), FL_USAGE);
    assert_int_equal(try_listen(rs, NULL, &err), FL_USAGE);
    io_reactors_free(rs);
}

static void a_taken_port_is_an_error_that_says_what_to_do(void **state)
{
    struct rig          rig = { .config = { .reactors = 2 } };
    struct io_reactors *rs = fresh(1);
    struct fl_error     err;

    (void)state;
    rig_start(&rig, &echo);
    assert_int_equal(try_listen(rs, io_listener_text(rig.listener), &err), FL_SYSTEM);
    assert_int_equal(err.sys, EADDRINUSE);
    assert_non_null(strstr(err.text, io_listener_text(rig.listener)));
    assert_non_null(strstr(err.text, "choose another port"));
    io_reactors_free(rs);
    rig_end(&rig, 0);
}

static void a_stale_socket_file_is_replaced_and_a_live_one_respected(void **state)
{
    struct rig          rig = { 0 };
    struct io_reactors *rs = fresh(1);
    struct sockaddr_un  at = { .sun_family = AF_UNIX };
    struct fl_error     err;
    char                bind_text[100];
    int                 fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)state;
    rig_temp_path(at.sun_path, 80, "stale");
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    close(fd); /* as after kill -9: the file is there, nobody listens */
    snprintf(bind_text, sizeof bind_text, "unix:%s", at.sun_path);
    rig.listen.bind = bind_text;
    rig_start(&rig, &echo);
    assert_int_equal(try_listen(rs, bind_text, &err), FL_EXISTS);
    assert_non_null(strstr(err.text, "another program listens"));
    fd = rig_connect_unix(at.sun_path);
    assert_true(answers(fd));
    close(fd);
    rig_end(&rig, 0);
    assert_int_equal(access(at.sun_path, F_OK), -1);
    io_reactors_free(rs);
}

static void a_file_that_is_no_socket_is_left_alone(void **state)
{
    struct io_reactors *rs = fresh(1);
    struct fl_error     err;
    char                path[80], bind_text[100];
    FILE               *f;

    (void)state;
    rig_temp_path(path, sizeof path, "file");
    assert_non_null(f = fopen(path, "w"));
    fclose(f);
    snprintf(bind_text, sizeof bind_text, "unix:%s", path);
    assert_int_equal(try_listen(rs, bind_text, &err), FL_EXISTS);
    assert_non_null(strstr(err.text, "is no socket"));
    assert_int_equal(access(path, F_OK), 0);
    unlink(path);
    io_reactors_free(rs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(above_the_cap_newcomers_wait_and_are_served_later),
        cmocka_unit_test(without_descriptors_accepting_pauses_and_recovers),
        cmocka_unit_test(bad_addresses_are_refused_in_words),
        cmocka_unit_test(a_taken_port_is_an_error_that_says_what_to_do),
        cmocka_unit_test(a_stale_socket_file_is_replaced_and_a_live_one_respected),
        cmocka_unit_test(a_file_that_is_no_socket_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
