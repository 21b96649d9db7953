#include "base/metrics.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { REQUESTS_CREATE, CONNECTIONS, REQUESTS_GET, ROWS };

static const struct fl_metric table[ROWS] = {
    [REQUESTS_CREATE] = { "fl_requests_total", "op=\"create\"", "Requests, by \\op.\nAll.", FL_COUNTER },
    [CONNECTIONS] = { "fl_connections", NULL, "Open connections.", FL_GAUGE },
    [REQUESTS_GET] = { "fl_requests_total", "op=\"get\"", "Requests.", FL_COUNTER },
};

static void sums_run_over_all_sets(void **state)
{
    FL_AUTO(fl_metrics) m = fl_metrics_new(table, ROWS, 3);

    (void)state;
    fl_metric_add(fl_metrics_set(m, 0), REQUESTS_GET, 1);
    fl_metric_add(fl_metrics_set(m, 0), REQUESTS_GET, 2);
    fl_metric_add(fl_metrics_set(m, 2), REQUESTS_GET, 40);
    fl_metric_put(fl_metrics_set(m, 1), CONNECTIONS, 9);
    fl_metric_put(fl_metrics_set(m, 1), CONNECTIONS, 5);
    fl_metric_add(fl_metrics_set(m, 2), CONNECTIONS, -7);
    assert_int_equal(fl_metric_sum(m, REQUESTS_GET), 43);
    assert_int_equal(fl_metric_sum(m, CONNECTIONS), -2);
    assert_int_equal(fl_metric_sum(m, REQUESTS_CREATE), 0);
}

static void prometheus_gets_rows_of_a_name_together(void **state)
{
    static const char want[] = "# HELP fl_requests_total Requests, by \\\\op.\\nAll.\n"
                               "# TYPE fl_requests_total counter\n"
                               "fl_requests_total{op=\"create\"} 1\n"
                               "fl_requests_total{op=\"get\"} 2\n"
                               "# HELP fl_connections Open connections.\n"
                               "# TYPE fl_connections gauge\n"
                               "fl_connections 3\n";
    FL_AUTO(fl_metrics) m = fl_metrics_new(table, ROWS, 1);
    struct fl_buf out;

    (void)state;
    fl_buf_init(&out, 0);
    fl_metric_add(fl_metrics_set(m, 0), REQUESTS_CREATE, 1);
    fl_metric_add(fl_metrics_set(m, 0), REQUESTS_GET, 2);
    fl_metric_put(fl_metrics_set(m, 0), CONNECTIONS, 3);
    assert_true(fl_metrics_prometheus(m, &out));
    assert_int_equal(fl_buf_len(&out), sizeof want - 1);
    assert_memory_equal(fl_buf_slice(&out).at, want, sizeof want - 1);
    fl_buf_done(&out);
}

static void a_page_that_does_not_fit_is_refused(void **state)
{
    FL_AUTO(fl_metrics) m = fl_metrics_new(table, ROWS, 1);
    struct fl_buf out;

    (void)state;
    fl_buf_init(&out, 100);
    assert_false(fl_metrics_prometheus(m, &out));
    fl_buf_done(&out);
}

enum { ADDS = 200000 };

static void *add_many(void *set)
{
    for (int i = 0; i < ADDS; i++)
        fl_metric_add(set, REQUESTS_GET, 1);
    return NULL;
}

static void reading_while_two_threads_count_loses_nothing(void **state)
{
    FL_AUTO(fl_metrics) m = fl_metrics_new(table, ROWS, 2);
    pthread_t threads[2];
    int64_t   before = 0;

    (void)state;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, fl_metrics_set(m, i)), 0);
    while (before < ADDS) { /* both have far more to add */
        int64_t now = fl_metric_sum(m, REQUESTS_GET);

        assert_true(now >= before);
        before = now;
    }
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(fl_metric_sum(m, REQUESTS_GET), 2 * ADDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_run_over_all_sets),
        cmocka_unit_test(prometheus_gets_rows_of_a_name_together),
        cmocka_unit_test(a_page_that_does_not_fit_is_refused),
        cmocka_unit_test(reading_while_two_threads_count_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
