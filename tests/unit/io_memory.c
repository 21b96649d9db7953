#include "io_rig.h"

#include "fake_malloc.c"

static const struct io_protocol silent = { .name = "silent" };

static bool make_and_listen(void)
{
    struct io_config        config = { .reactors = 2, .workers = 2, .max_connections = 10 };
    struct io_listen_config tcp = { .bind = "127.0.0.1:0", .protocol = &silent }, local = { .protocol = &silent };
    struct io_reactors     *rs = NULL;
    struct io_listener     *l = NULL;
    char                    path[80], bind_text[100];
    bool                    fine;

    rig_temp_path(path, sizeof path, "memory");
    snprintf(bind_text, sizeof bind_text, "unix:%s", path);
    local.bind = bind_text;
    fine = io_reactors_new(&rs, &config, NULL) == FL_OK && io_listen(rs, &tcp, &l, NULL) == FL_OK &&
           io_listen(rs, &local, &l, NULL) == FL_OK;
    io_reactors_free(rs);
    assert_int_equal(access(path, F_OK), -1); /* no socket file stays behind */
    return fine;
}

static void reactors_and_listeners_leave_nothing_behind(void **state)
{
    (void)state;
    fail_each_allocation_once(make_and_listen);
}

static bool make_connection(void)
{
    struct io_config    config = { .reactors = 1, .workers = 1, .max_connections = 10 };
    struct io_reactors *rs = NULL;
    struct io_conn     *c = NULL;
    bool                fine;

    if (io_reactors_new(&rs, &config, NULL) != FL_OK)
        return false;
    c = io_conn_new(&rs->at[0], dup(0), &silent);
    fine = c != NULL && io_lend(&rs->at[0], &c->out) && io_lend(&rs->at[0], &c->in);
    if (c != NULL)
        io_conn_destroy(c);
    io_reactors_free(rs);
    return fine;
}

static void connections_leave_nothing_behind(void **state)
{
    (void)state;
    fail_each_allocation_once(make_connection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reactors_and_listeners_leave_nothing_behind),
        cmocka_unit_test(connections_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
