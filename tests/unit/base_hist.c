#include "base/hist.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void an_empty_histogram_answers_zero(void **state)
{
    FL_AUTO(fl_hist) h = fl_hist_new();

    (void)state;
    assert_true(fl_hist_count(h) == 0 && fl_hist_min(h) == 0 && fl_hist_max(h) == 0);
    assert_true(fl_hist_percentile(h, 99) == 0);
    assert_true(fl_hist_mean(h) == 0.0 && fl_hist_stddev(h) == 0.0);
}

static void a_value_is_kept_within_a_thousandth(void **state)
{
    FL_AUTO(fl_hist) h = fl_hist_new();

    (void)state;
    for (uint64_t v = 1; v < UINT64_C(1) << 42; v += 1 + v / 37) {
        uint64_t kept;

        fl_hist_reset(h);
        fl_hist_record(h, v);
        kept = fl_hist_percentile(h, 50);
        assert_true(kept >= v);
        assert_true(kept - v <= v / 1024);
    }
}

static void the_edges_of_the_octaves_are_buckets_apart(void **state)
{
    (void)state;
    for (unsigned bit = 1; bit < 42; bit++) {
        FL_AUTO(fl_hist) h = fl_hist_new();
        uint64_t edge = UINT64_C(1) << bit;

        fl_hist_record(h, edge - 1);
        fl_hist_record(h, edge);
        assert_true(fl_hist_percentile(h, 50) == edge - 1);
        assert_true(fl_hist_percentile(h, 100) >= edge);
    }
}

static void percentiles_count_the_values(void **state)
{
    FL_AUTO(fl_hist) h = fl_hist_new();

    (void)state;
    for (uint64_t v = 1; v <= 1000; v++)
        fl_hist_record(h, v);
    assert_true(fl_hist_count(h) == 1000);
    assert_true(fl_hist_percentile(h, 0.1) == 1);
    assert_true(fl_hist_percentile(h, 50) == 500);
    assert_true(fl_hist_percentile(h, 99) == 990);
    assert_true(fl_hist_percentile(h, 99.9) == 999);
    assert_true(fl_hist_percentile(h, 99.91) == 1000);
    assert_true(fl_hist_percentile(h, 100) == 1000);
    assert_true(fl_hist_min(h) == 1 && fl_hist_max(h) == 1000);
    assert_true(fabs(fl_hist_mean(h) - 500.5) < 1e-9);
    assert_true(fabs(fl_hist_stddev(h) - 288.6749902572095) < 1e-6);
}

static void too_large_values_are_counted_in_the_last_bucket(void **state)
{
    FL_AUTO(fl_hist) h = fl_hist_new();

    (void)state;
    fl_hist_record(h, 5);
    fl_hist_record(h, UINT64_C(1) << 42);
    fl_hist_record(h, UINT64_MAX);
    assert_true(fl_hist_count(h) == 3);
    assert_true(fl_hist_percentile(h, 30) == 5);
    assert_true(fl_hist_percentile(h, 60) == UINT64_MAX);
    assert_true(fl_hist_max(h) == UINT64_MAX);
}

static void merging_is_recording_both(void **state)
{
    FL_AUTO(fl_hist) odd = fl_hist_new();
    FL_AUTO(fl_hist) even = fl_hist_new();
    FL_AUTO(fl_hist) all = fl_hist_new();

    (void)state;
    for (uint64_t v = 3; v < 5000000; v += 997) {
        fl_hist_record(v % 2 == 0 ? even : odd, v);
        fl_hist_record(all, v);
    }
    fl_hist_merge(odd, even);
    assert_true(fl_hist_count(odd) == fl_hist_count(all));
    assert_true(fl_hist_min(odd) == 3 && fl_hist_max(odd) == fl_hist_max(all));
    for (double p = 0.5; p <= 100; p += 0.5)
        assert_true(fl_hist_percentile(odd, p) == fl_hist_percentile(all, p));
    assert_true(fl_hist_stddev(odd) == fl_hist_stddev(all));
}

static void merging_an_empty_one_changes_nothing(void **state)
{
    FL_AUTO(fl_hist) h = fl_hist_new();
    FL_AUTO(fl_hist) empty = fl_hist_new();

    (void)state;
    fl_hist_record(h, 7);
    fl_hist_merge(h, empty);
    assert_true(fl_hist_min(h) == 7 && fl_hist_max(h) == 7 && fl_hist_count(h) == 1);
    fl_hist_merge(empty, h);
    assert_true(fl_hist_min(empty) == 7 && fl_hist_max(empty) == 7);
}

static void reset_forgets_all(void **state)
{
    FL_AUTO(fl_hist) h = fl_hist_new();

    (void)state;
    fl_hist_record(h, 7);
    fl_hist_reset(h);
    assert_true(fl_hist_count(h) == 0 && fl_hist_max(h) == 0);
    fl_hist_record(h, 9);
    assert_true(fl_hist_min(h) == 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_histogram_answers_zero),
        cmocka_unit_test(a_value_is_kept_within_a_thousandth),
        cmocka_unit_test(the_edges_of_the_octaves_are_buckets_apart),
        cmocka_unit_test(percentiles_count_the_values),
        cmocka_unit_test(too_large_values_are_counted_in_the_last_bucket),
        cmocka_unit_test(merging_is_recording_both),
        cmocka_unit_test(merging_an_empty_one_changes_nothing),
        cmocka_unit_test(reset_forgets_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
