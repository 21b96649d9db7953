/* What was measured, as people and as programs read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/report.h"

#include <jansson.h>

/* Two runs of two seconds: 200,000 verifications of 100 us; then 150,000 of 200 us and 10 creations of 2 ms, 3 wrong. */
static void make(struct report *r, struct report_row rows[2])
{
    memset(rows, 0, 2 * sizeof rows[0]);
    for (int i = 0; i < 2; i++) {
        struct load_result *result = &rows[i].result;

        rows[i].verify_percent = i == 0 ? 100 : 90;
        rows[i].create_percent = 100 - rows[i].verify_percent;
        rows[i].repeat = 1;
        for (int op = 0; op < LOAD_OPS; op++)
            result->latency[op] = fl_hist_new();
        result->seconds = 2;
        result->own_cpu_s = 1;
        result->server_cpu_s = i == 0 ? 2 : -1;
    }
    rows[0].result.good[LOAD_VERIFY] = 200000;
    rows[1].result.good[LOAD_VERIFY] = 150000;
    rows[1].result.good[LOAD_CREATE] = 10;
    rows[1].result.bad[LOAD_CREATE] = 3;
    rows[1].result.late = 7;
    rows[1].result.first_bad_status = 503;
    fl_hist_record(rows[0].result.latency[LOAD_VERIFY], 100000);
    fl_hist_record(rows[1].result.latency[LOAD_VERIFY], 200000);
    fl_hist_record(rows[1].result.latency[LOAD_CREATE], 2000000);
    *r = (struct report){ .rows = rows,
                          .count = 2,
                          .url = "http://h:1/kms",
                          .connections = 32,
                          .threads = 1,
                          .tokens = 5,
                          .warmup_s = 1,
                          .duration_s = 2 };
}

static void end(struct report_row rows[2])
{
    for (int i = 0; i < 2; i++)
        load_result_done(&rows[i].result);
}

static void text_of(void (*print)(const struct report *r, FILE *out), const struct report *r, char *text, size_t room)
{
    FILE *f = fmemopen(text, room, "w");

    assert_non_null(f);
    print(r, f);
    assert_int_equal(fclose(f), 0);
}

static void the_table_has_a_line_for_each_operation(void **state)
{
    struct report     r;
    struct report_row rows[2];
    char              text[4096];

    (void)state;
    make(&r, rows);
    text_of(report_table, &r, text, sizeof text);
    assert_non_null(strstr(text, "http://h:1/kms, 32 connections, 1 thread, 5 tokens, 2 s after 1 s of warm-up\n"));
    assert_non_null(strstr(text, "\n100:0     1  verify      100000       0    100.0"));
    assert_non_null(
        strstr(text, "     10.0      5.0\n")); /* CPU of the server and of the load: 2 s and 1 s by 200,000 */
    assert_non_null(strstr(text, "\n 90:10    1  verify       75000       0    200.1"));
    assert_non_null(
        strstr(text, "\n 90:10    1  create           5       3     2001     2001     2001     2001     2000"));
    assert_non_null(strstr(text, "first wrong status: 503\n"));
    end(rows);
}

static void json_has_the_same_figures(void **state)
{
    struct report     r;
    struct report_row rows[2];
    char              text[8192];
    json_t           *root, *first, *second;

    (void)state;
    make(&r, rows);
    text_of(report_json, &r, text, sizeof text);
    assert_non_null(root = json_loads(text, 0, NULL));
    first = json_array_get(json_object_get(root, "runs"), 0);
    second = json_array_get(json_object_get(root, "runs"), 1);
    assert_true(json_number_value(json_object_get(first, "per_second")) == 100000);
    assert_true(json_number_value(json_object_get(first, "server_cpu_us_per_request")) == 10);
    assert_true(json_is_null(json_object_get(second, "server_cpu_us_per_request")));
    assert_int_equal(json_integer_value(json_object_get(second, "errors")), 3);
    assert_int_equal(json_integer_value(json_object_get(second, "late")), 7);
    assert_int_equal(json_integer_value(json_object_get(second, "first_bad_status")), 503);
    json_decref(root);
    end(rows);
}

static void errors_and_silence_are_noticed(void **state)
{
    struct report     r;
    struct report_row rows[2];

    (void)state;
    make(&r, rows);
    assert_true(report_has_errors(&r));
    rows[1].result.bad[LOAD_CREATE] = 0;
    assert_false(report_has_errors(&r));
    rows[0].result.good[LOAD_VERIFY] = 0;
    assert_true(report_has_errors(&r));
    end(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_a_line_for_each_operation),
        cmocka_unit_test(json_has_the_same_figures),
        cmocka_unit_test(errors_and_silence_are_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
