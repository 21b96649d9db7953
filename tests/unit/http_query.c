/* Query strings and URLs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "http/http.h"

static void pieces_come_in_order_and_empty_ones_are_skipped(void **state)
{
    struct fl_slice query = FL_LIT("&a=1&&b&=c&d=e=f&"), name, value;
    char            text[100] = "";

    (void)state;
    while (http_query_next(&query, &name, &value)) {
        size_t at = strlen(text);

        snprintf(text + at, sizeof text - at, "%.*s|%.*s;", FL_SLICE_ARGS(name), FL_SLICE_ARGS(value));
    }
    assert_string_equal(text, "a|1;b|;|c;d|e=f;");
}

struct find {
    const char    *query, *name;
    bool           any_case;
    enum fl_status result;
    const char    *value; /* NULL: not found */
};

static const struct find finds[] = {
    { "a=1&a=2", "a", false, FL_OK, "1" },
    { "b=1", "a", false, FL_OK, NULL },
    { "a", "a", false, FL_OK, "" },
    { "A=1", "a", false, FL_OK, NULL },
    { "DOAS=1", "doAs", true, FL_OK, "1" },
    { "a=b+c%20%2Bd%2541", "a", false, FL_OK, "b c +d%41" },
    { "%6Bey=v", "key", false, FL_OK, "v" },
    { "ke%79=v", "KEY", true, FL_OK, "v" },
    { "k%zz=v&key=w", "key", false, FL_OK, "w" },
    { "a=%zz", "a", false, FL_MALFORMED, NULL },
    { "a=%2", "a", false, FL_MALFORMED, NULL },
    { "b=%zz&a=1", "a", false, FL_OK, "1" },
    { "", "a", false, FL_OK, NULL },
};

static void parameters_are_found_decoded(void **state)
{
    struct fl_arena arena;

    (void)state;
    fl_arena_init(&arena, 1024, 1 << 16);
    for (size_t i = 0; i < FL_COUNT(finds); i++) {
        struct http_request r = { .query = fl_slice_str(finds[i].query), .arena = &arena };
        struct fl_error     err;
        struct fl_slice     value;
        bool                found;
        enum fl_status      s = http_query_find(&r, finds[i].name, finds[i].any_case, &found, &value, &err);

        if (s != finds[i].result || (s == FL_OK && found != (finds[i].value != NULL)) ||
            (s == FL_OK && found && !fl_slice_equal(value, fl_slice_str(finds[i].value))))
            fail_msg("'%s' in '%s' gives %s", finds[i].name, finds[i].query, fl_status_name(s));
        if (s == FL_MALFORMED)
            assert_non_null(strstr(err.text, "query parameter 'a': "));
    }
    fl_arena_done(&arena);
}

static void a_value_beyond_the_arena_is_no_memory(void **state)
{
    struct fl_arena     arena;
    struct http_request r = { .query = FL_LIT("a=%2020202020202020202020202020"), .arena = &arena };
    struct fl_slice     value;
    bool                found;

    (void)state;
    fl_arena_init(&arena, 8, 16);
    assert_int_equal(http_query_find(&r, "a", false, &found, &value, NULL), FL_NO_MEMORY);
    fl_arena_done(&arena);
}

struct url {
    const char *text, *host;
    unsigned    port;
    bool        secure;
    const char *target;
};

static const struct url good[] = {
    { "http://h", "h", 80, false, "/" },
    { "HTTPS://h", "h", 443, true, "/" },
    { "http://127.0.0.1:9600/kms/v1/keys?user.name=a", "127.0.0.1", 9600, false, "/kms/v1/keys?user.name=a" },
    { "https://[::1]:9601/", "::1", 9601, true, "/" },
    { "https://[fe80::1]/x#y", "fe80::1", 443, true, "/x" },
    { "unix:/run/x.sock:/a?b:c", "/run/x.sock", 0, false, "/a?b:c" },
    { "http://h:65535/%20", "h", 65535, false, "/%20" },
};

static const char *const bad[] = {
    "",
    "h",
    "ftp://h/",
    "http://",
    "http:///x",
    "http://h:0/",
    "http://h:65536/",
    "http://h:/",
    "http://h:x/",
    "http://h:+1/",
    "http://[::1/",
    "http://[::1]9/",
    "http://[h]/",
    "http://u@h/",
    "http://h/a b",
    "http://h/\xc3\xbc",
    "http://h\r\n/",
    "http://h?x",
    "http://h/\r\nX: y",
    "unix:",
    "unix:/x",
    "unix:/x:",
    "unix:/x:y",
    "unix:x:/y",
    "unix:/x:/a b",
};

static void urls_are_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT(good); i++) {
        struct http_url u;
        struct fl_error err = { 0 };

        if (http_url_parse(good[i].text, &u, &err) != FL_OK)
            fail_msg("%s", err.text);
        assert_string_equal(u.host, good[i].host);
        assert_int_equal(u.port, good[i].port);
        assert_int_equal(u.secure, good[i].secure);
        assert_true(fl_slice_equal(u.target, fl_slice_str(good[i].target)));
    }
}

static void bad_urls_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT(bad); i++) {
        struct http_url u;
        struct fl_error err = { 0 };

        if (http_url_parse(bad[i], &u, &err) != FL_USAGE)
            fail_msg("'%s' is taken", bad[i]);
        assert_non_null(strstr(err.text, "URL"));
    }
}

static void a_host_of_300_bytes_is_refused(void **state)
{
    char            text[400] = "http://";
    struct http_url u;

    (void)state;
    memset(text + 7, 'h', 300);
    assert_int_equal(http_url_parse(text, &u, NULL), FL_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_in_order_and_empty_ones_are_skipped),
        cmocka_unit_test(parameters_are_found_decoded),
        cmocka_unit_test(a_value_beyond_the_arena_is_no_memory),
        cmocka_unit_test(urls_are_split),
        cmocka_unit_test(bad_urls_are_named),
        cmocka_unit_test(a_host_of_300_bytes_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
