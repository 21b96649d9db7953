/* Paths to resources, and query strings to parameters. */
#include "kms/query.h"
#include "kms/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct fl_arena arena;

static int begin(void **state)
{
    (void)state;
    fl_arena_init(&arena, 4096, 1 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fl_arena_done(&arena);
    return 0;
}

static const struct {
    const char       *path;
    enum kms_resource resource;
    const char       *name; /* NULL: none */
} routes[] = {
    { "/", KMS_R_OUTSIDE, NULL },
    { "/kmsx", KMS_R_OUTSIDE, NULL },
    { "/KMS/v1/keys/names", KMS_R_OUTSIDE, NULL },
    { "//kms/v1/keys/names", KMS_R_OUTSIDE, NULL },
    { "/kms", KMS_R_BARE, NULL },
    { "/kms/", KMS_R_UNKNOWN, NULL },
    { "/kms/v2/keys/names", KMS_R_UNKNOWN, NULL },
    { "/kms/v1x", KMS_R_UNKNOWN, NULL },
    { "/kms//v1/keys/names", KMS_R_UNKNOWN, NULL },
    { "/kms/v1", KMS_R_ROOT, NULL },
    { "/kms/v1/", KMS_R_ROOT, NULL },
    { "/kms/v1//", KMS_R_UNKNOWN, NULL },
    { "/kms/v1/keys", KMS_R_KEYS, NULL },
    { "/kms/v1/keys/", KMS_R_KEYS, NULL },
    { "/kms/v1/keysx", KMS_R_UNKNOWN, NULL },
    { "/kms/v1/Keys/Names", KMS_R_UNKNOWN, NULL },
    { "/kms/v1/keys/names", KMS_R_NAMES, NULL },
    { "/kms/v1/keys/names;jsessionid=5", KMS_R_NAMES, NULL },
    { "/kms/v1/keys/names/x", KMS_R_UNKNOWN, NULL },
    { "/kms/v1//keys/names", KMS_R_UNKNOWN, NULL },
    { "/kms/v1/./keys/names", KMS_R_UNKNOWN, NULL },
    { "/kms/v1/%6beys/names", KMS_R_UNKNOWN, NULL },
    { "/kms/v1/keys/metadata/", KMS_R_METADATAS, NULL },
    { "/kms/v1/key", KMS_R_UNKNOWN, NULL },
    { "/kms/v1/key/", KMS_R_KEY, "" },
    { "/kms/v1/key/k1", KMS_R_KEY, "k1" },
    { "/kms/v1/key/k1/_foo", KMS_R_KEY, "k1/_foo" },
    { "/kms/v1/key/_metadata", KMS_R_KEY, "_metadata" },
    { "/kms/v1/key//_metadata", KMS_R_METADATA, "" },
    { "/kms/v1/key///k1/_metadata", KMS_R_METADATA, "//k1" },
    { "/kms/v1/key/k1/_metadata", KMS_R_METADATA, "k1" },
    { "/kms/v1/key/k1/_metadata/", KMS_R_METADATA, "k1" },
    { "/kms/v1/key/k1;v=1/_metadata", KMS_R_METADATA, "k1" },
    { "/kms/v1/key/a/b/_metadata", KMS_R_METADATA, "a/b" },
    { "/kms/v1/key/a%2fb/_metadata", KMS_R_METADATA, "a/b" },
    { "/kms/v1/key/a%2541/_metadata", KMS_R_METADATA, "a%41" },
    { "/kms/v1/key/a+b/_metadata", KMS_R_METADATA, "a+b" },
    { "/kms/v1/key/k0%2F_metadata", KMS_R_KEY, "k0/_metadata" },
    { "/kms/v1/key/k0/%5Fmetadata", KMS_R_KEY, "k0/_metadata" },
    { "/kms/v1/key/n/_eek", KMS_R_KEY_EEK, "n" },
    { "/kms/v1/key/n/_eek/_metadata", KMS_R_METADATA, "n/_eek" },
    { "/kms/v1/key/k/_metadata/_versions", KMS_R_VERSIONS, "k/_metadata" },
    { "/kms/v1/key/k/_currentversion", KMS_R_CURRENT, "k" },
    { "/kms/v1/key/k/_invalidatecache", KMS_R_INVALIDATE, "k" },
    { "/kms/v1/key/k/_reencryptbatch", KMS_R_BATCH, "k" },
    { "/kms/v1/keyversion", KMS_R_UNKNOWN, NULL },
    { "/kms/v1/keyversion/", KMS_R_VERSION, "" },
    { "/kms/v1/keyversion/k1%400", KMS_R_VERSION, "k1@0" },
    { "/kms/v1/keyversion/a/b@0", KMS_R_VERSION, "a/b@0" },
    { "/kms/v1/keyversion/k1@0/_eek", KMS_R_VERSION_EEK, "k1@0" },
};

static void every_path_finds_its_resource(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        struct kms_route r;

        print_message("%s\n", routes[i].path);
        assert_int_equal(kms_route_find(fl_slice_str(routes[i].path), &arena, &r, NULL), FL_OK);
        assert_int_equal(r.resource, routes[i].resource);
        if (routes[i].name == NULL)
            assert_null(r.name.at);
        else
            assert_true(fl_slice_equal(r.name, fl_slice_str(routes[i].name)));
    }
}

static void a_bad_escape_is_refused_wherever_it_stands(void **state)
{
    static const char *const bad[] = { "/%zz", "/kms/v1/key/k1%", "/kms/v1/key/k1%4", "/kms/v1/key/k1%00/_metadata",
                                       "/x;%g1" };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct kms_route r;
        struct fl_error  err;

        assert_int_equal(kms_route_find(fl_slice_str(bad[i]), &arena, &r, &err), FL_MALFORMED);
        assert_string_equal(err.text, "Bad Request");
    }
}

static void dots_may_not_climb_out_nor_have_parameters(void **state)
{
    static const struct {
        const char *path, *reason; /* NULL: fine */
    } rows[] = {
        { "/../../etc/passwd", "Bad Request" },
        { "/a/../..", "Bad Request" },
        { "/a/..", NULL },
        { "/kms/v1/x/../keys/names", NULL },
        { "/kms/v1/key/..", NULL },
        { "/kms/v1/key/..;x=y", "Ambiguous path parameters" },
        { "/kms/v1/./keys", NULL },
        { "/kms/v1/.;/keys", "Ambiguous path parameters" },
        { "/kms/v1/key/%2E%2E/_metadata", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kms_route r;
        struct fl_error  err = { .text = "" };
        enum fl_status   s = kms_route_find(fl_slice_str(rows[i].path), &arena, &r, &err);

        assert_int_equal(s, rows[i].reason == NULL ? FL_OK : FL_MALFORMED);
        if (rows[i].reason != NULL)
            assert_string_equal(err.text, rows[i].reason);
    }
}

static void a_path_that_memory_cannot_hold_is_not_guessed(void **state)
{
    struct fl_arena  small;
    struct kms_route r;
    struct fl_error  err;

    (void)state;
    fl_arena_init(&small, 64, 8);
    assert_int_equal(kms_route_find(FL_LIT("/kms/v1/key/abcdefghijkl%20mn"), &small, &r, &err), FL_NO_MEMORY);
    fl_arena_done(&small);
}

static void expect(const char *query, enum kms_parameter p, const char *wanted)
{
    struct kms_query q;

    assert_int_equal(kms_query_read(&q, fl_slice_str(query), &arena, NULL), FL_OK);
    if (wanted == NULL)
        assert_null(q.value[p].at);
    else
        assert_true(q.value[p].at != NULL && fl_slice_equal(q.value[p], fl_slice_str(wanted)));
}

static void the_first_of_several_wins(void **state)
{
    (void)state;
    expect("user.name=eve&user.name=alice", KMS_P_USER_NAME, "eve");
    expect("num_keys=1&num_keys=3", KMS_P_NUM_KEYS, "1");
}

static void names_are_case_sensitive_but_for_doas(void **state)
{
    (void)state;
    expect("USER.NAME=alice", KMS_P_USER_NAME, NULL);
    expect("EEK_OP=generate", KMS_P_EEK_OP, NULL);
    expect("DOAS=rd", KMS_P_DO_AS, "rd");
    expect("doas=rd", KMS_P_DO_AS, "rd");
}

static void names_and_values_are_decoded_once(void **state)
{
    (void)state;
    expect("user%2Ename=a%20b", KMS_P_USER_NAME, "a b");
    expect("user.name=a+b", KMS_P_USER_NAME, "a b");
    expect("token=a%2Bb", KMS_P_TOKEN, "a+b");
    expect("doAs=%2541", KMS_P_DO_AS, "%41");
    expect("user.name=%zz%4", KMS_P_USER_NAME, "%zz%4");
}

static void the_filter_cuts_at_semicolons_and_the_resources_do_not(void **state)
{
    (void)state;
    expect("user.name=a;op=b", KMS_P_USER_NAME, "a");
    expect("user.name=a;op=b", KMS_P_OP, "b");
    expect("eek_op=generate;x", KMS_P_EEK_OP, "generate;x");
}

static void a_name_alone_is_empty_to_resources_and_absent_to_the_filter(void **state)
{
    (void)state;
    expect("op=", KMS_P_OP, "");
    expect("op&op=x", KMS_P_OP, NULL);
    expect("eek_op&eek_op=x", KMS_P_EEK_OP, "");
    expect("", KMS_P_OP, NULL);
    expect("&&=&x", KMS_P_OP, NULL);
}

static void every_key_parameter_is_seen_in_order(void **state)
{
    struct fl_slice query = FL_LIT("key=a&x=1&key=b+c&KEY=no&key="), value;
    enum fl_status  s;

    (void)state;
    assert_true(kms_query_next_key(&query, &arena, &value, &s) && fl_slice_equal(value, FL_LIT("a")));
    assert_true(kms_query_next_key(&query, &arena, &value, &s) && fl_slice_equal(value, FL_LIT("b c")));
    assert_true(kms_query_next_key(&query, &arena, &value, &s) && value.len == 0);
    assert_false(kms_query_next_key(&query, &arena, &value, &s));
    assert_int_equal(s, FL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_path_finds_its_resource, begin, end),
        cmocka_unit_test_setup_teardown(a_bad_escape_is_refused_wherever_it_stands, begin, end),
        cmocka_unit_test_setup_teardown(dots_may_not_climb_out_nor_have_parameters, begin, end),
        cmocka_unit_test_setup_teardown(a_path_that_memory_cannot_hold_is_not_guessed, begin, end),
        cmocka_unit_test_setup_teardown(the_first_of_several_wins, begin, end),
        cmocka_unit_test_setup_teardown(names_are_case_sensitive_but_for_doas, begin, end),
        cmocka_unit_test_setup_teardown(names_and_values_are_decoded_once, begin, end),
        cmocka_unit_test_setup_teardown(the_filter_cuts_at_semicolons_and_the_resources_do_not, begin, end),
        cmocka_unit_test_setup_teardown(a_name_alone_is_empty_to_resources_and_absent_to_the_filter, begin, end),
        cmocka_unit_test_setup_teardown(every_key_parameter_is_seen_in_order, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
