/* What is prepared and checked before the clock starts. */
#include "bench_rig.h"

#include "bench/kms.h"

static enum fl_status prepare(struct rig *g, struct kms_bench *b, struct fl_error *err)
{
    struct kms_bench_config config = {
        .url = g->url, .user = "carol", .key = "bench", .renewer = "yarn", .tokens = 2, .timeout_ns = 20 * FL_NS_PER_S
    };
    enum fl_status status;

    rig_start(g);
    status = kms_bench_prepare(b, &config, err);
    rig_end(g);
    return status;
}

static void a_good_server_gives_the_requests(void **state)
{
    struct rig       g = { 0 };
    struct kms_bench b;
    char             expected[400];

    (void)state;
    assert_int_equal(prepare(&g, &b, NULL), FL_OK);
    assert_int_equal(atomic_load(&g.keys_made), 1);
    assert_int_equal(atomic_load(&g.created), 2);
    assert_int_equal(b.verify_count, 2);
    snprintf(expected, sizeof expected,
             "GET /kms/v1/key/bench/_metadata HTTP/1.1\r\nHost: %.*s\r\nX-Hadoop-Delegation-Token: " RIG_TOKEN
             "0\r\n\r\n",
             (int)(strlen(g.url) - strlen("http:///kms")), g.url + strlen("http://"));
    assert_true(fl_slice_equal(b.verify[0], fl_slice_str(expected)));
    assert_true(fl_slice_equal(b.verify[1], fl_slice_str(expected)));
    assert_true(
        fl_slice_starts(b.create, FL_LIT("GET /kms/v1/?op=GETDELEGATIONTOKEN&renewer=yarn&user.name=carol HTTP/1.1")));
    kms_bench_done(&b);
}

static void a_key_that_is_there_is_used(void **state)
{
    struct rig       g = { .has_key = true };
    struct kms_bench b;

    (void)state;
    assert_int_equal(prepare(&g, &b, NULL), FL_OK);
    assert_int_equal(atomic_load(&g.keys_made), 0);
    kms_bench_done(&b);
}

static void a_server_that_checks_nothing_is_not_measured(void **state)
{
    static const struct {
        struct rig  rig;
        const char *says;
    } cases[] = {
        { { .refuses_real = true }, "a real token: the server answers 403 Forbidden, where 200 is expected" },
        { { .takes_forged = true }, "a forged token: the server answers 200 OK, where 403 is expected" },
        { { .takes_none = true }, "no token at all: the server answers 200 OK, where 401 is expected" },
        { { .gives_no_token = true }, "the answer to GETDELEGATIONTOKEN holds no Token.urlString" },
    };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(cases); i++) {
        struct rig       g = cases[i].rig;
        struct kms_bench b;
        struct fl_error  err;

        assert_int_equal(prepare(&g, &b, &err), FL_DENIED);
        assert_string_equal(err.text, cases[i].says);
    }
}

static void a_bad_address_is_bad_usage(void **state)
{
    static const char *const urls[] = { "ftp://x/kms", "http://127.0.0.1:99999/kms",
                                        "http://no.such.host.invalid/kms" };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(urls); i++) {
        struct kms_bench_config config = { .url = urls[i], .user = "u", .key = "k", .renewer = "r", .tokens = 1 };
        struct kms_bench        b;
        struct fl_error         err;

        assert_int_equal(kms_bench_prepare(&b, &config, &err), FL_USAGE);
        assert_true(err.text[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_server_gives_the_requests),
        cmocka_unit_test(a_key_that_is_there_is_used),
        cmocka_unit_test(a_server_that_checks_nothing_is_not_measured),
        cmocka_unit_test(a_bad_address_is_bad_usage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
