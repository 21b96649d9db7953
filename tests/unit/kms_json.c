/* The JSON reader's values and refusals, and the writer's form. */
#include "base/own.h"
#include "kms/json_read.h"
#include "kms/json_write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct fl_arena arena;

static int begin(void **state)
{
    (void)state;
    fl_arena_init(&arena, 4096, 4 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fl_arena_done(&arena);
    return 0;
}

static const struct json_value *read_good(struct fl_slice body, bool array)
{
    const struct json_value *v;
    struct json_fault        fault;

    assert_int_equal(kms_json_read(body, array, &arena, &v, &fault), FL_OK);
    return v;
}

static void expect_fault(struct fl_slice body, bool array, enum json_fault_kind kind, const char *text)
{
    const struct json_value *v;
    struct json_fault        fault;

    print_message("%.*s\n", (int)FL_MIN(body.len, 60), body.at);
    assert_int_equal(kms_json_read(body, array, &arena, &v, &fault), FL_MALFORMED);
    assert_int_equal(fault.kind, kind);
    assert_non_null(strstr(fault.text, text));
}
#define FAULT(body, kind, text) expect_fault(FL_LIT(body), false, kind, text)
#define FAULT_LIST(body, kind, text) expect_fault(FL_LIT(body), true, kind, text)

static void members_have_the_kinds_that_jackson_gives(void **state)
{
    static const struct {
        const char    *value;
        enum json_kind kind;
    } kinds[] = {
        { "null", JSON_NULL },
        { "true", JSON_BOOL },
        { "0", JSON_INT },
        { "-2147483648", JSON_INT },
        { "2147483648", JSON_LONG },
        { "12800000000", JSON_LONG },
        { "9223372036854775808", JSON_BIG },
        { "128.0", JSON_DOUBLE },
        { "1e2", JSON_DOUBLE },
        { "\"x\"", JSON_STRING },
        { "[1,[2],{}]", JSON_ARRAY },
        { "{\"a\":1}", JSON_OBJECT },
    };

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char body[80];
        int  len = snprintf(body, sizeof body, " { \"v\" : %s } ", kinds[i].value);

        assert_int_equal(kms_json_member(read_good(fl_slice_of(body, (size_t)len), false), "v")->kind, kinds[i].kind);
    }
}

static void the_last_of_duplicate_members_wins(void **state)
{
    const struct json_value *v = read_good(FL_LIT("{\"name\":\"zz\",\"name\":\"c9\"}"), false);

    (void)state;
    assert_true(fl_slice_equal(kms_json_member(v, "name")->text, FL_LIT("c9")));
    assert_null(kms_json_member(v, "nam"));
}

static void text_behind_the_value_is_ignored(void **state)
{
    (void)state;
    assert_int_equal(read_good(FL_LIT("{\"name\":\"c8\"} trailing"), false)->kind, JSON_OBJECT);
    assert_int_equal(read_good(FL_LIT("[]]]"), true)->kind, JSON_ARRAY);
}

static void strings_are_decoded(void **state)
{
    const struct json_value *v =
        read_good(FL_LIT("{\"a\":\"q\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\udd11\\ud800x\"}"), false);

    (void)state;
    assert_true(fl_slice_equal(kms_json_member(v, "a")->text, FL_LIT("q\"\\/\b\f\n\r\t\xc3\xa4\xf0\x9f\x94\x91?x")));
}

static void a_nul_in_a_string_is_kept(void **state)
{
    const struct json_value *v = read_good(FL_LIT("{\"a\":\"x\\u0000y\"}"), false);

    (void)state;
    assert_true(fl_slice_equal(kms_json_member(v, "a")->text, fl_slice_of("x\0y", 3)));
}

static void other_encodings_are_told_by_their_first_bytes(void **state)
{
    static const char le[] = "{\0\"\0a\0\"\0:\0\"\0\xe4\0\"\0}\0", be[] = "\0{\0\"\0a\0\"\0:\0\"\0\xe4\0\"\0}";
    static const char le32[] = "\xff\xfe\0\0{\0\0\0}\0\0\0";

    (void)state;
    assert_true(fl_slice_equal(kms_json_member(read_good(fl_slice_of(le, sizeof le - 1), false), "a")->text,
                               FL_LIT("\xc3\xa4")));
    assert_true(fl_slice_equal(kms_json_member(read_good(fl_slice_of(be, sizeof be - 1), false), "a")->text,
                               FL_LIT("\xc3\xa4")));
    assert_int_equal(read_good(fl_slice_of(le32, sizeof le32 - 1), false)->kind, JSON_OBJECT);
    assert_int_equal(read_good(FL_LIT("\xef\xbb\xbf{}"), false)->kind, JSON_OBJECT);
    expect_fault(fl_slice_of(le, sizeof le - 2), false, JSON_BAD_CHARSET, "UTF-16");
}

static void shapes_are_refused_as_jackson_refuses_them(void **state)
{
    (void)state;
    FAULT("", JSON_BAD_SHAPE, "No content to map due to end-of-input");
    FAULT(" \n", JSON_BAD_SHAPE, "No content to map due to end-of-input");
    FAULT("[]", JSON_BAD_SHAPE,
          "Cannot deserialize value of type `java.util.LinkedHashMap<java.lang.Object,java.lang.Object>` "
          "from Array value (token `JsonToken.START_ARRAY`)");
    FAULT("\"x\"", JSON_BAD_SHAPE,
          "no String-argument constructor/factory method to deserialize from String value ('x')");
    FAULT("5", JSON_BAD_SHAPE, "VALUE_NUMBER_INT");
    FAULT_LIST("{}", JSON_BAD_SHAPE,
               "Cannot deserialize value of type `java.util.ArrayList<java.lang.Object>` from Object value "
               "(token `JsonToken.START_OBJECT`)");
    assert_int_equal(read_good(FL_LIT("null"), true)->kind, JSON_NULL);
}

static void cut_text_is_refused_as_jackson_refuses_it(void **state)
{
    (void)state;
    FAULT("{\"name\":", JSON_CUT_SHORT, "Unexpected end-of-input within/between Object entries");
    FAULT("{\"name\":1,", JSON_BAD_TEXT, "Unexpected end-of-input within/between Object entries");
    FAULT("{\"name\":1.", JSON_BAD_TEXT, "Decimal point not followed by a digit");
    FAULT("{\"name\":-", JSON_CUT_SHORT, "Unexpected end-of-input");
    FAULT("{\"name\":1e+", JSON_CUT_SHORT, "Unexpected end-of-input");
    FAULT("{", JSON_CUT_SHORT,
          "Unexpected end-of-input: expected close marker for Object (start marker at [Source: "
          "(org.eclipse.jetty.server.HttpInputOverHTTP); line: 1, column: 1])");
    FAULT("\n {\"a\":1", JSON_CUT_SHORT, "line: 2, column: 2])");
    FAULT("{\"a\":\"x", JSON_CUT_SHORT, "in VALUE_STRING");
    FAULT("{\"a", JSON_CUT_SHORT, "in field name");
    FAULT("{\"a\":\"\\u12", JSON_CUT_SHORT, "VALUE_STRING");
}

static void what_is_wrong_inside_an_element_of_a_list_is_wrapped(void **state)
{
    (void)state;
    FAULT_LIST("[{", JSON_BAD_ELEMENT, "line: 1, column: 2])");
    FAULT_LIST("[\"x", JSON_BAD_ELEMENT, "VALUE_STRING");
    FAULT_LIST("[", JSON_CUT_SHORT, "expected close marker for Array");
    FAULT_LIST("[{},", JSON_BAD_TEXT, "within/between Array entries");
    FAULT_LIST("[x]", JSON_BAD_TEXT, "Unrecognized token 'x'");
}

static void other_text_is_refused_as_jackson_refuses_it(void **state)
{
    (void)state;
    FAULT("nonsense", JSON_BAD_TEXT,
          "Unrecognized token 'nonsense': was expecting (JSON String, Number, Array, Object or token "
          "'null', 'true' or 'false')");
    FAULT("{/*x*/\"a\":1}", JSON_BAD_TEXT, "Unexpected character ('/' (code 47)): maybe a (non-standard) comment?");
    FAULT("{a:1}", JSON_BAD_TEXT,
          "Unexpected character ('a' (code 97)): was expecting double-quote to start field name");
    FAULT("{\"a\" 1}", JSON_BAD_TEXT, "was expecting a colon");
    FAULT("{\"a\":1 \"b\":2}", JSON_BAD_TEXT, "was expecting comma to separate Object entries");
    FAULT("{\"a\":1,}", JSON_BAD_TEXT, "was expecting double-quote");
    FAULT("{\"a\":\"b\x01\"}", JSON_BAD_TEXT, "CTRL-CHAR, code 1");
    FAULT("{\"a\":\"\\x41\"}", JSON_BAD_TEXT, "Unrecognized character escape");
    FAULT("{\"a\":\"\\u12g4\"}", JSON_BAD_TEXT, "hex-digit");
    FAULT("{\"a\":NaN}", JSON_BAD_TEXT, "Non-standard token 'NaN'");
    FAULT("{\"a\":0128}", JSON_BAD_TEXT, "Leading zeroes not allowed");
    FAULT("{\"a\":-}", JSON_BAD_TEXT, "minus sign");
    FAULT("{\"a\":\"\xff\"}", JSON_BAD_TEXT, "Invalid UTF-8");
    FAULT("{\"a\":}", JSON_BAD_TEXT, "expected a valid value");
}

static void nesting_has_a_limit(void **state)
{
    size_t            depth = KMS_JSON_DEPTH;
    FL_AUTO_MEM char *body = malloc(2 * depth + 8);
    struct fl_slice   all = fl_slice_of(body, 5 + 2 * (depth - 1) + 1), deeper;

    (void)state;
    memcpy(body, "{\"a\":", 5);
    memset(body + 5, '[', depth - 1);
    memset(body + 5 + depth - 1, ']', depth - 1);
    body[all.len - 1] = '}';
    assert_int_equal(read_good(all, false)->kind, JSON_OBJECT);
    memset(body + 5, '[', depth);
    deeper = fl_slice_of(body, 5 + depth);
    expect_fault(deeper, false, JSON_BAD_TEXT, "nesting depth");
}

static void a_body_beyond_the_arena_is_no_crash(void **state)
{
    static char              body[100000];
    const struct json_value *v;
    struct json_fault        fault;
    struct fl_arena          small;

    (void)state;
    fl_arena_init(&small, 4096, 65536);
    memset(body, '0', sizeof body);
    body[0] = '[';
    for (size_t i = 2; i < sizeof body; i += 2)
        body[i] = ',';
    assert_int_equal(kms_json_read(fl_slice_of(body, sizeof body), true, &small, &v, &fault), FL_NO_MEMORY);
    fl_arena_done(&small);
}

/* ---- the writer -------------------------------------------------------------------------------------------------- */

static void expect_text(struct fl_buf *b, const char *wanted)
{
    assert_false(b->failed);
    assert_true(fl_buf_put_byte(b, 0));
    assert_string_equal((char *)b->data + b->read, wanted);
    fl_buf_done(b);
}

static void a_key_version_looks_as_java_prints_it(void **state)
{
    struct fl_buf b;

    (void)state;
    fl_buf_init(&b, 0);
    kms_put_numbered_version(&b, FL_LIT("a\"b"), 7, fl_slice_of("\xfb\xff", 2));
    expect_text(&b, "{\n  \"material\" : \"-_8\",\n  \"name\" : \"a\\\"b\",\n  \"versionName\" : \"a\\\"b@7\"\n}");
    fl_buf_init(&b, 0);
    kms_put_key_version(&b, FL_LIT("k"), FL_LIT("EK"), (struct fl_slice){ NULL, 0 });
    expect_text(&b, "{\n  \"material\" : null,\n  \"name\" : \"k\",\n  \"versionName\" : \"EK\"\n}");
}

static void metadata_looks_as_java_prints_it(void **state)
{
    const struct key_attribute attributes[] = { { FL_LIT("a"), FL_LIT("b") },
                                                { FL_LIT("key.acl.name"), FL_LIT("k1") } };
    struct key                 k = { .cipher = FL_LIT("AES/CTR/NoPadding"),
                                     .bits = 128,
                                     .has_description = true,
                                     .description = FL_LIT("d"),
                                     .attributes = attributes,
                                     .attribute_count = 2,
                                     .created_wall_ms = 1796088810753,
                                     .version_count = 1 };
    struct fl_buf              b;

    (void)state;
    fl_buf_init(&b, 0);
    kms_put_metadata(&b, FL_LIT("k1"), &k);
    expect_text(&b, "{\n  \"name\" : \"k1\",\n  \"cipher\" : \"AES/CTR/NoPadding\",\n  \"length\" : 128,\n  "
                    "\"description\" : \"d\",\n"
                    "  \"attributes\" : {\n    \"a\" : \"b\",\n    \"key.acl.name\" : \"k1\"\n  },\n"
                    "  \"created\" : 1796088810753,\n  \"versions\" : 1\n}");
    k.attribute_count = 0;
    k.has_description = false;
    fl_buf_init(&b, 0);
    kms_put_metadata(&b, FL_LIT("k1"), &k);
    expect_text(&b, "{\n  \"name\" : \"k1\",\n  \"cipher\" : \"AES/CTR/NoPadding\",\n  \"length\" : 128,\n  "
                    "\"description\" : null,\n"
                    "  \"attributes\" : { },\n  \"created\" : 1796088810753,\n  \"versions\" : 1\n}");
}

static void an_eek_looks_as_java_prints_it(void **state)
{
    struct kms_eek e = { .name = FL_LIT("k1"),
                         .key_name = FL_LIT("k1"),
                         .version = 2,
                         .iv = fl_slice_of("\0", 1),
                         .material = fl_slice_of("", 0) };
    struct fl_buf  b;

    (void)state;
    fl_buf_init(&b, 0);
    kms_put_eek(&b, &e);
    expect_text(&b, "{\n  \"encryptedKeyVersion\" : {\n    \"material\" : \"\",\n    \"name\" : \"k1\",\n    "
                    "\"versionName\" : \"EEK\"\n"
                    "  },\n  \"versionName\" : \"k1@2\",\n  \"iv\" : \"AA\"\n}");
}

static void an_exception_has_its_short_name_and_one_line(void **state)
{
    struct fl_buf b;

    (void)state;
    fl_buf_init(&b, 0);
    kms_put_exception(&b, FL_LIT("first\nsecond"), "com.sun.jersey.api.ParamException$QueryParamException");
    expect_text(
        &b, "{\n  \"RemoteException\" : {\n    \"message\" : \"first\",\n    \"exception\" : \"QueryParamException\",\n"
            "    \"javaClassName\" : \"com.sun.jersey.api.ParamException$QueryParamException\"\n  }\n}");
    fl_buf_init(&b, 0);
    kms_put_exception(&b, (struct fl_slice){ NULL, 0 }, "java.io.IOException");
    expect_text(&b, "{\n  \"RemoteException\" : {\n    \"message\" : null,\n    \"exception\" : \"IOException\",\n"
                    "    \"javaClassName\" : \"java.io.IOException\"\n  }\n}");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(members_have_the_kinds_that_jackson_gives),
        TEST(the_last_of_duplicate_members_wins),
        TEST(text_behind_the_value_is_ignored),
        TEST(strings_are_decoded),
        TEST(a_nul_in_a_string_is_kept),
        TEST(other_encodings_are_told_by_their_first_bytes),
        TEST(shapes_are_refused_as_jackson_refuses_them),
        TEST(cut_text_is_refused_as_jackson_refuses_it),
        TEST(what_is_wrong_inside_an_element_of_a_list_is_wrapped),
        TEST(other_text_is_refused_as_jackson_refuses_it),
        TEST(nesting_has_a_limit),
        TEST(a_body_beyond_the_arena_is_no_crash),
        TEST(a_key_version_looks_as_java_prints_it),
        TEST(metadata_looks_as_java_prints_it),
        TEST(an_eek_looks_as_java_prints_it),
        TEST(an_exception_has_its_short_name_and_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
