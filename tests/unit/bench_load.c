/* The closed loop against a server in this process, over real connections. */
#include "bench_rig.h"

#include "bench/load.h"

#include <arpa/inet.h>
#include <unistd.h>

#define VERIFY(last) \
    "GET /kms/v1/key/bench/_metadata HTTP/1.1\r\nHost: x\r\nX-Hadoop-Delegation-Token: " RIG_TOKEN last "\r\n\r\n"
#define CREATE "GET /kms/v1/?op=GETDELEGATIONTOKEN HTTP/1.1\r\nHost: x\r\n\r\n"

struct scene {
    struct rig         rig;
    struct load_target target;
    struct fl_slice    verify[3];
    struct load_plan   plan;
};

static void aim(struct scene *s, uint16_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

    memcpy(&s->target.addr, &at, sizeof at);
    s->target.addr_len = sizeof at;
}

static void set_up(struct scene *s, unsigned create_percent)
{
    rig_start(&s->rig);
    aim(s, io_listener_port(s->rig.listener));
    s->verify[0] = FL_LIT(VERIFY("0"));
    s->verify[1] = FL_LIT(VERIFY("1"));
    s->verify[2] = FL_LIT(VERIFY("2"));
    s->plan = (struct load_plan){ .target = &s->target,
                                  .verify = s->verify,
                                  .verify_count = FL_COUNT(s->verify),
                                  .create = FL_LIT(CREATE),
                                  .create_percent = create_percent,
                                  .connections = 4,
                                  .threads = 1,
                                  .duration_ns = 200 * FL_NS_PER_MS,
                                  .timeout_ns = 20 * FL_NS_PER_S };
}

static struct load_result run(struct scene *s)
{
    struct load_result r = { 0 };

    assert_int_equal(load_run(&s->plan, &r, NULL), FL_OK);
    return r;
}

static uint64_t recorded(const struct load_result *r, enum load_op op)
{
    return fl_hist_count(r->latency[op]);
}

static void the_mix_is_kept_in_blocks_of_a_hundred(void **state)
{
    static const unsigned percents[] = { 0, 1, 10, 50, 100 };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(percents); i++) {
        struct scene       s = { 0 };
        struct load_result r;
        long               creates, all;

        set_up(&s, percents[i]);
        r = run(&s);
        rig_end(&s.rig);
        creates = (long)atomic_load(&s.rig.created);
        all = creates + (long)atomic_load(&s.rig.verified);
        assert_true(all > 0);
        assert_true(labs(creates * 100 - all * (long)percents[i]) <= 100 * 100); /* one block may be unfinished */
        assert_true(percents[i] != 0 || creates == 0);
        assert_true(percents[i] != 100 || creates == all);
        load_result_done(&r);
    }
}

static void what_completes_in_the_interval_is_counted_once(void **state)
{
    struct scene       s = { 0 };
    struct load_result r;
    uint64_t           counted;

    (void)state;
    set_up(&s, 50);
    s.plan.warmup_ns = 100 * FL_NS_PER_MS;
    r = run(&s);
    rig_end(&s.rig);
    counted = r.good[LOAD_VERIFY] + r.good[LOAD_CREATE] + r.late;
    assert_true(r.good[LOAD_VERIFY] > 0 && r.good[LOAD_CREATE] > 0);
    assert_true(counted < atomic_load(&s.rig.requests)); /* the warm-up's are not in it */
    assert_true(r.late <= s.plan.connections);
    assert_int_equal(r.bad[LOAD_VERIFY] + r.bad[LOAD_CREATE], 0);
    assert_int_equal(recorded(&r, LOAD_VERIFY), r.good[LOAD_VERIFY]);
    assert_int_equal(recorded(&r, LOAD_CREATE), r.good[LOAD_CREATE]);
    assert_true(r.seconds > 0.199 && r.seconds < 0.201);
    load_result_done(&r);
}

static void several_threads_share_the_connections(void **state)
{
    struct scene       s = { 0 };
    struct load_result r;
    struct io_stats    stats;

    (void)state;
    set_up(&s, 0);
    s.plan.connections = 7;
    s.plan.threads = 3;
    r = run(&s);
    io_reactor_stats(io_reactors_at(s.rig.reactors, 0), &stats);
    rig_end(&s.rig);
    assert_int_equal(stats.accepted, 7);
    assert_true(r.good[LOAD_VERIFY] > 0);
    load_result_done(&r);
}

static void tokens_take_turns(void **state)
{
    struct scene       s = { 0 };
    struct load_result r;
    unsigned           least = ~0U, most = 0;

    (void)state;
    set_up(&s, 0);
    r = run(&s);
    rig_end(&s.rig);
    for (int i = 0; i < 3; i++) {
        unsigned n = atomic_load(&s.rig.by_first['0' % 4 + i]);

        least = FL_MIN(least, n);
        most = FL_MAX(most, n);
    }
    assert_true(least > 0 && most - least <= s.plan.connections);
    load_result_done(&r);
}

static void another_status_is_an_error_and_no_latency(void **state)
{
    struct scene       s = { .rig.busy_every = 10 };
    struct load_result r;

    (void)state;
    set_up(&s, 0);
    r = run(&s);
    rig_end(&s.rig);
    assert_int_equal(r.first_bad_status, 503);
    assert_true(r.bad[LOAD_VERIFY] > 0 && r.good[LOAD_VERIFY] > r.bad[LOAD_VERIFY]);
    assert_int_equal(recorded(&r, LOAD_VERIFY), r.good[LOAD_VERIFY]);
    load_result_done(&r);
}

static void a_lost_connection_is_an_error_that_is_not_hidden_by_a_retry(void **state)
{
    struct scene       s = { .rig.drop_every = 10 };
    struct load_result r;

    (void)state;
    set_up(&s, 0);
    r = run(&s);
    rig_end(&s.rig);
    assert_true(r.bad[LOAD_VERIFY] > 0 && r.good[LOAD_VERIFY] > 0); /* and the load goes on */
    assert_int_equal(r.first_bad_status, 0);
    assert_int_equal(r.first_error.status, FL_CLOSED);
    load_result_done(&r);
}

static void a_server_that_is_not_there_is_nothing_but_errors(void **state)
{
    struct scene       s = { 0 };
    struct load_result r;

    (void)state;
    set_up(&s, 0);
    rig_end(&s.rig); /* its port is free now */
    r = run(&s);
    assert_int_equal(r.good[LOAD_VERIFY], 0);
    assert_true(r.bad[LOAD_VERIFY] > 0);
    assert_int_equal(r.first_error.status, FL_SYSTEM);
    load_result_done(&r);
}

static void the_cpu_of_a_process_is_told(void **state)
{
    struct scene       s = { 0 };
    struct load_result r;
    struct fl_error    err;
    double             cpu = -1;

    (void)state;
    assert_int_equal(load_cpu_of(getpid(), &cpu, &err), FL_OK);
    assert_true(cpu >= 0);
    assert_int_equal(load_cpu_of(0x7ffffff0, &cpu, &err), FL_SYSTEM);
    assert_string_equal(err.text, "no process 2147483632, whose CPU was to be measured");
    set_up(&s, 0);
    s.plan.server_pid = getpid();
    s.plan.duration_ns = 300 * FL_NS_PER_MS;
    r = run(&s);
    rig_end(&s.rig);
    assert_true(r.server_cpu_s > 0 && r.own_cpu_s > 0); /* the same process here */
    load_result_done(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mix_is_kept_in_blocks_of_a_hundred),
        cmocka_unit_test(what_completes_in_the_interval_is_counted_once),
        cmocka_unit_test(several_threads_share_the_connections),
        cmocka_unit_test(tokens_take_turns),
        cmocka_unit_test(another_status_is_an_error_and_no_latency),
        cmocka_unit_test(a_lost_connection_is_an_error_that_is_not_hidden_by_a_retry),
        cmocka_unit_test(a_server_that_is_not_there_is_nothing_but_errors),
        cmocka_unit_test(the_cpu_of_a_process_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
