/* Delegation tokens as bytes: the vectors captured from the Java KMS, those computed from the rules, and what Java's
 * classes say to malformed input. */
#include "base/encode.h"
#include "token/identifier.h"
#include "token/reader.h"
#include "token/record.h"
#include "token/sign.h"

#include <inttypes.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static json_t *load(const char *name)
{
    char         path[512];
    json_error_t error;
    json_t      *root;

    assert_true(snprintf(path, sizeof path, "%s/token/%s", FL_TEST_DATA, name) < (int)sizeof path);
    root = json_load_file(path, 0, &error);
    if (root == NULL)
        fail_msg("%s: %s", path, error.text);
    return root;
}

static const char *text_of(const json_t *row, const char *name)
{
    const char *text = json_string_value(json_object_get(row, name));

    assert_non_null(text);
    return text;
}

static int64_t number_of(const json_t *row, const char *name)
{
    assert_true(json_is_integer(json_object_get(row, name)));
    return json_integer_value(json_object_get(row, name));
}

/* The hex text as bytes, to be freed. */
static struct fl_slice unhex(const char *hex)
{
    size_t   len = strlen(hex);
    uint8_t *bytes = malloc(len / 2 + 1);

    assert_non_null(bytes);
    assert_int_equal(fl_hex_decode(fl_slice_of(hex, len), bytes, NULL), FL_OK);
    return fl_slice_of(bytes, len / 2);
}

static void drop(struct fl_slice s)
{
    free((void *)(uintptr_t)s.at);
}

static void assert_bytes(struct fl_slice got, struct fl_slice wanted)
{
    assert_int_equal(got.len, wanted.len);
    assert_memory_equal(got.at, wanted.at, wanted.len);
}

static void assert_text(struct fl_slice got, const char *wanted)
{
    assert_bytes(got, fl_slice_str(wanted));
}

/* ---- one captured or computed token ---------------------------------------------------------------------------------
 */

static void check_fields(const struct token_identifier *id, const json_t *fields)
{
    assert_text(id->owner, text_of(fields, "owner"));
    assert_text(id->renewer, text_of(fields, "renewer"));
    assert_text(id->real_user, text_of(fields, "realUser"));
    assert_int_equal(id->issue_ms, number_of(fields, "issueDate"));
    assert_int_equal(id->max_ms, number_of(fields, "maxDate"));
    assert_int_equal(id->sequence, number_of(fields, "sequenceNumber"));
    assert_int_equal(id->master_key_id, number_of(fields, "masterKeyId"));
}

static void check_password(const json_t *row, struct fl_slice identifier, struct fl_slice password)
{
    enum token_algorithm a = strcmp(text_of(row, "hmac"), "HmacSHA256") == 0 ? TOKEN_HMAC_SHA256 : TOKEN_HMAC_SHA1;
    struct fl_slice      key = unhex(text_of(row, "masterKey"));
    uint8_t              computed[TOKEN_PASSWORD_MAX];

    assert_int_equal(token_sign(a, key, identifier, computed, NULL), FL_OK);
    assert_bytes(fl_slice_of(computed, token_password_bytes(a)), password);
    drop(key);
}

static void check_record(const json_t *row, struct fl_slice identifier, struct fl_slice password)
{
    struct fl_slice     data = unhex(text_of(row, "znode_data"));
    struct token_record r;
    struct fl_buf       b;
    int64_t             renew_ms;

    assert_int_equal(token_record_get(data, &r, NULL), FL_OK);
    assert_bytes(r.identifier, identifier);
    assert_bytes(r.password, password);
    check_fields(&r.fields, json_object_get(row, "fields"));
    renew_ms = json_object_get(row, "renewDate") == NULL ? r.renew_ms : number_of(row, "renewDate");
    assert_int_equal(r.renew_ms, renew_ms);
    fl_buf_init(&b, 0);
    assert_true(token_record_put(&b, identifier, renew_ms, password));
    assert_bytes(fl_buf_slice(&b), data);
    for (size_t cut = 0; cut < data.len; cut++)
        assert_int_equal(token_record_get(fl_slice_of(data.at, cut), &r, NULL), FL_MALFORMED);
    fl_buf_done(&b);
    drop(data);
}

static void check_encoded(const json_t *row, const struct token *t, const struct token_identifier *id)
{
    struct fl_slice whole = unhex(text_of(row, "token"));
    struct fl_buf   b;

    fl_buf_init(&b, 0);
    assert_true(token_identifier_put(&b, id));
    assert_bytes(fl_buf_slice(&b), t->identifier);
    fl_buf_clear(&b);
    assert_true(token_put(&b, t));
    assert_bytes(fl_buf_slice(&b), whole);
    fl_buf_clear(&b);
    assert_true(token_put_url(&b, t));
    assert_text(fl_buf_slice(&b), text_of(row, "urlString"));
    fl_buf_done(&b);
    drop(whole);
}

static void check_token(const json_t *row)
{
    struct fl_slice         identifier = unhex(text_of(row, "identifier")), password = unhex(text_of(row, "password"));
    struct fl_arena         a;
    struct token            t;
    struct token_identifier id;

    fl_arena_init(&a, 1024, 65536);
    assert_int_equal(token_from_url(fl_slice_str(text_of(row, "urlString")), &a, &t, NULL), FL_OK);
    assert_bytes(t.identifier, identifier);
    assert_bytes(t.password, password);
    assert_text(t.kind, text_of(row, "kind"));
    assert_text(t.service, text_of(row, "service"));
    assert_int_equal(token_identifier_get(t.identifier, &id, NULL), FL_OK);
    check_fields(&id, json_object_get(row, "fields"));
    check_encoded(row, &t, &id);
    check_password(row, identifier, password);
    check_record(row, identifier, password);
    fl_arena_done(&a);
    drop(identifier);
    drop(password);
}

static void check_tokens_of(const char *file, size_t wanted)
{
    json_t *root = load(file), *rows = json_object_get(root, "tokens");

    assert_int_equal(json_array_size(rows), wanted);
    for (size_t i = 0; i < json_array_size(rows); i++)
        check_token(json_array_get(rows, i));
    json_decref(root);
}

static void tokens_of_the_java_kms_are_read_and_written_byte_for_byte(void **state)
{
    (void)state;
    check_tokens_of("tokens.json", 10);
}

static void tokens_computed_from_the_rules_are_read_and_written_byte_for_byte(void **state)
{
    (void)state;
    check_tokens_of("worked.json", 5);
}

/* ---- master keys ----------------------------------------------------------------------------------------------------
 */

static void check_key(const char *hex, int32_t id, int64_t expiry_ms, const char *key_hex)
{
    struct fl_slice         data = unhex(hex), key = unhex(key_hex);
    struct token_key_record k;
    struct fl_buf           b;

    assert_int_equal(token_key_record_get(data, &k, NULL), FL_OK);
    assert_int_equal(k.id, id);
    assert_int_equal(k.expiry_ms, expiry_ms);
    assert_bytes(k.key, key);
    fl_buf_init(&b, 0);
    assert_true(token_key_record_put(&b, &k));
    assert_bytes(fl_buf_slice(&b), data);
    for (size_t cut = 0; cut < data.len; cut++)
        assert_int_equal(token_key_record_get(fl_slice_of(data.at, cut), &k, NULL), FL_MALFORMED);
    fl_buf_done(&b);
    drop(data);
    drop(key);
}

static void master_keys_of_the_java_kms_are_read_and_written_byte_for_byte(void **state)
{
    json_t *root = load("masterkeys.json"), *rows = json_object_get(root, "keys");

    (void)state;
    assert_int_equal(json_array_size(rows), 2);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        check_key(text_of(row, "data"), (int32_t)number_of(row, "keyId"), number_of(row, "expiryDate"),
                  text_of(row, "key"));
    }
    json_decref(root);
}

static void master_keys_computed_from_the_rules_are_read_and_written(void **state)
{
    (void)state;
    check_key("028a018bf9184800080123456789abcdef", 2, 1700691200000, "0123456789abcdef");
    check_key("8f828a018bf918487b0800ff10ef20df30cf", 130, 1700691200123, "00ff10ef20df30cf");
    check_key("018a0194485c5c0020000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 1, 1736380800000,
              "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
}

static void a_master_key_without_bytes_is_refused(void **state)
{
    struct fl_slice         none = unhex("028a018bf9184800ff"), empty = unhex("028a018bf918480000");
    struct token_key_record k;
    struct fl_error         err;

    (void)state;
    assert_int_equal(token_key_record_get(none, &k, &err), FL_MALFORMED);
    assert_string_equal(err.text, "master key 2 of -1 bytes, where 1 to 1024 are allowed");
    assert_int_equal(token_key_record_get(empty, &k, &err), FL_MALFORMED);
    drop(none);
    drop(empty);
}

static void a_stored_password_of_no_or_too_many_bytes_is_refused(void **state)
{
    static const char  head[] = "0003626f6202726d0501020304058a018bcfe5687b8a018bf3f1ec7b0102"
                                "0000018bd50bc47b";
    static const char *lengths[] = { "00000000", "ffffffff", "00000041", "7fffffff" };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(lengths); i++) {
        char                hex[512];
        struct token_record r;
        struct fl_slice     data;

        assert_true(snprintf(hex, sizeof hex, "%s%s%0160d", head, lengths[i], 0) < (int)sizeof hex);
        data = unhex(hex);
        assert_int_equal(token_record_get(data, &r, NULL), FL_MALFORMED);
        drop(data);
    }
}

/* ---- integers -------------------------------------------------------------------------------------------------------
 */

static const struct {
    int64_t     v;
    const char *hex;
} integers[] = {
    { 0, "00" },
    { 1, "01" },
    { 127, "7f" },
    { 128, "8f80" },
    { 200, "8fc8" },
    { 255, "8fff" },
    { 256, "8e0100" },
    { 65535, "8effff" },
    { 65536, "8d010000" },
    { 16777216, "8c01000000" },
    { INT32_MAX, "8c7fffffff" },
    { 1700000000000, "8a018bcfe56800" },
    { 1700604800000, "8a018bf3f1ec00" },
    { INT64_MAX, "887fffffffffffffff" },
    { -1, "ff" },
    { -112, "90" },
    { -113, "8770" },
    { -128, "877f" },
    { -256, "87ff" },
    { -257, "860100" },
    { -1700000000000, "82018bcfe567ff" },
    { INT64_MIN, "807fffffffffffffff" },
};

static void integers_take_their_minimal_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT(integers); i++) {
        struct fl_slice wire = unhex(integers[i].hex), in = wire;
        struct fl_buf   b;
        int64_t         v;

        fl_buf_init(&b, 0);
        assert_true(token_put_vlong(&b, integers[i].v));
        assert_bytes(fl_buf_slice(&b), wire);
        assert_int_equal(token_take_vlong(&in, &v, NULL), FL_OK);
        assert_true(v == integers[i].v);
        assert_int_equal(in.len, 0);
        fl_buf_done(&b);
        drop(wire);
    }
}

static void every_length_of_integer_comes_back(void **state)
{
    (void)state;
    for (int shift = 0; shift < 63; shift++)
        for (int off = -2; off <= 2; off++)
            for (int sign = -1; sign <= 1; sign += 2) {
                int64_t         v = sign * ((INT64_C(1) << shift) + off), got;
                struct fl_buf   b;
                struct fl_slice in;

                fl_buf_init(&b, 0);
                assert_true(token_put_vlong(&b, v));
                in = fl_buf_slice(&b);
                assert_int_equal(token_take_vlong(&in, &got, NULL), FL_OK);
                assert_true(got == v);
                fl_buf_done(&b);
            }
}

static void an_integer_beyond_32_bits_is_no_vint(void **state)
{
    struct fl_slice wire = unhex("8c80000000"), in = wire;
    struct fl_error err;
    int32_t         v = 7;

    (void)state;
    assert_int_equal(token_take_vint(&in, &v, &err), FL_MALFORMED);
    assert_string_equal(err.text, "java.io.IOException: value too long to fit in integer");
    assert_int_equal(v, 7);
    assert_int_equal(in.len, 5);
    drop(wire);
}

/* ---- what Java says to oddities
 * -------------------------------------------------------------------------------------- */

static void describe(struct fl_buf *b, const struct token_identifier *id)
{
    fl_buf_clear(b);
    assert_true(FL_BUF_LIT(b, "ok ") && token_identifier_describe(b, id));
}

static void check_odd_identifier(const json_t *row)
{
    struct fl_slice         bytes = unhex(text_of(row, "hex"));
    struct token_identifier id;
    struct fl_error         err;
    struct fl_buf           b;

    fl_buf_init(&b, 0);
    if (token_identifier_get(bytes, &id, &err) == FL_OK) {
        describe(&b, &id);
        assert_text(fl_buf_slice(&b), text_of(row, "java"));
    } else {
        assert_int_equal(err.status, FL_MALFORMED);
        assert_string_equal(err.text, text_of(row, "java"));
    }
    fl_buf_done(&b);
    drop(bytes);
}

static void check_odd_token(const json_t *row)
{
    struct fl_slice bytes = unhex(text_of(row, "hex"));
    struct fl_error err;
    struct token    t;

    assert_int_equal(token_get(bytes, &t, &err), FL_MALFORMED);
    assert_string_equal(err.text, text_of(row, "java"));
    drop(bytes);
}

static void oddities_fail_in_the_words_of_java(void **state)
{
    json_t *root = load("oddities.json"), *tokens = json_object_get(root, "tokens"),
           *identifiers = json_object_get(root, "identifiers");

    (void)state;
    assert_true(json_array_size(tokens) >= 10 && json_array_size(identifiers) >= 10);
    for (size_t i = 0; i < json_array_size(tokens); i++)
        check_odd_token(json_array_get(tokens, i));
    for (size_t i = 0; i < json_array_size(identifiers); i++)
        check_odd_identifier(json_array_get(identifiers, i));
    json_decref(root);
}

/* Java fails with OutOfMemoryError where a length is 2^31-1; here it is a token that ends early. */
static void an_enormous_length_ends_early(void **state)
{
    struct fl_slice bytes = unhex("8c7fffffff");
    struct fl_error err;
    struct token    t;

    (void)state;
    assert_int_equal(token_get(bytes, &t, &err), FL_MALFORMED);
    assert_string_equal(err.text, "java.io.EOFException");
    drop(bytes);
}

static void check_url_fails(const char *url, const char *sentence)
{
    struct fl_arena a;
    struct fl_error err;
    struct token    t;

    fl_arena_init(&a, 256, 4096);
    assert_int_equal(token_from_url(fl_slice_str(url), &a, &t, &err), FL_MALFORMED);
    assert_string_equal(err.text, sentence);
    fl_arena_done(&a);
}

static void url_strings_that_are_no_token_fail_as_in_java(void **state)
{
    (void)state;
    check_url_fails("", "java.io.EOFException");
    check_url_fails("A", "java.io.EOFException");
    check_url_fails("!!!!", "java.io.EOFException");
    check_url_fails("garbage", "java.io.EOFException");
    check_url_fails("HQAFYWxpY2UEeWFybgCK", "java.io.EOFException");
    check_url_fails("_wAAAA", "java.lang.NegativeArraySizeException: -1");
    check_url_fails("gH__________", "java.io.IOException: value too long to fit in integer");
}

/* Captured: kind and service are not looked at, bytes behind the service are ignored, both alphabets are read. */
static void url_strings_are_read_leniently(void **state)
{
    static const char *urls[] = {
        "HQAFYWxpY2UEeWFybgCKAaIvQA9SigGiU0yTUnYEFMaWmoDKiCNPMyAVjgzcpk6tWFxwBmttcy1kdAA",
        "HQAFYWxpY2UEeWFybgCKAaIvQA9SigGiU0yTUnYEFMaWmoDKiCNPMyAVjgzcpk6tWFxwBmttcy1kdAA=",
        "HQAFYWxpY2UEeWFybgCKAaIvQA9SigGiU0yTUnYEFMaWmoDKiCNPMyAVjgzcpk6tWFxwBmttcy1kdAB4eXo",
        "HQAFYWxpY2UEeWFybgCKAaIvQA9SigGiU0yTUnYEFMaWmoDKiCNPMyAVjgzcpk6tWFxwAAA",
        "HwAFYWxpY2UEeWFybgCKAaIvQA9SigGiU0yTUnYEenoUxpaagMqII08zIBWODNymTq1YXHAGa21zLWR0AA",
    };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(urls); i++) {
        struct fl_arena         a;
        struct token            t;
        struct token_identifier id;

        fl_arena_init(&a, 256, 4096);
        assert_int_equal(token_from_url(fl_slice_str(urls[i]), &a, &t, NULL), FL_OK);
        assert_int_equal(token_identifier_get(t.identifier, &id, NULL), FL_OK);
        assert_text(id.owner, "alice");
        assert_int_equal(id.sequence, 118);
        fl_arena_done(&a);
    }
}

static void a_url_string_past_the_arena_finds_no_memory(void **state)
{
    struct fl_arena a;
    struct token    t;

    (void)state;
    fl_arena_init(&a, 64, 64);
    assert_int_equal(token_from_url(FL_LIT("HQAFYWxpY2UEeWFybgCKAaIvQA9SigGiU0yTUnYEFMaWmoDKiCNPMyAVjgzcpk6tWFxwBmttcy1"
                                           "kdAAHQAFYWxpY2UEeWFybgCKAaIvQA9SigGi"),
                                    &a, &t, NULL),
                     FL_NO_MEMORY);
    fl_arena_done(&a);
}

static void an_identifier_prints_as_in_hadoop(void **state)
{
    struct token_identifier id = { .owner = FL_LIT("alice"),
                                   .renewer = FL_LIT("yarn"),
                                   .real_user = FL_LIT("oozie"),
                                   .issue_ms = 1796089057106,
                                   .max_ms = 1796693857106,
                                   .sequence = 118,
                                   .master_key_id = 4 };
    struct fl_buf           b;

    (void)state;
    fl_buf_init(&b, 0);
    assert_true(token_identifier_describe(&b, &id));
    assert_text(fl_buf_slice(&b), "kms-dt owner=alice, renewer=yarn, realUser=oozie, issueDate=1796089057106, "
                                  "maxDate=1796693857106, sequenceNumber=118, masterKeyId=4");
    fl_buf_done(&b);
}

static void check_date(int64_t ms, const char *wanted)
{
    struct fl_buf b;

    fl_buf_init(&b, 0);
    assert_true(token_put_date(&b, ms));
    assert_text(fl_buf_slice(&b), wanted);
    fl_buf_done(&b);
}

static void dates_print_as_in_hadoop(void **state)
{
    (void)state;
    check_date(1796089180011, "2026-12-01 01:39:40,011+0000");
    check_date(0, "1970-01-01 00:00:00,000+0000");
    check_date(-1, "1969-12-31 23:59:59,999+0000");
    check_date(951782400000, "2000-02-29 00:00:00,000+0000");
    check_date(4107542399999, "2100-02-28 23:59:59,999+0000");
    check_date(4107542400000, "2100-03-01 00:00:00,000+0000");
    check_date(INT64_MAX, "292278994-08-17 07:12:55,807+0000");
}

static void identifiers_are_the_same_by_value(void **state)
{
    struct fl_slice minimal = unhex("0001610162000000ff8f80"),
                    overlong = unhex("0001610162008f008e0000ff8e0080ffff"), /* longer integers, two bytes behind */
        other = unhex("0001610162000000ff8f81");
    struct token_identifier a, b;

    (void)state;
    assert_int_equal(token_identifier_get(minimal, &a, NULL), FL_OK);
    assert_int_equal(token_identifier_get(other, &b, NULL), FL_OK);
    assert_false(token_identifier_same(&a, &b));
    assert_int_equal(token_identifier_get(overlong, &b, NULL), FL_OK);
    assert_true(token_identifier_same(&a, &b));
    drop(minimal);
    drop(overlong);
    drop(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_of_the_java_kms_are_read_and_written_byte_for_byte),
        cmocka_unit_test(tokens_computed_from_the_rules_are_read_and_written_byte_for_byte),
        cmocka_unit_test(master_keys_of_the_java_kms_are_read_and_written_byte_for_byte),
        cmocka_unit_test(master_keys_computed_from_the_rules_are_read_and_written),
        cmocka_unit_test(a_master_key_without_bytes_is_refused),
        cmocka_unit_test(a_stored_password_of_no_or_too_many_bytes_is_refused),
        cmocka_unit_test(integers_take_their_minimal_form),
        cmocka_unit_test(every_length_of_integer_comes_back),
        cmocka_unit_test(an_integer_beyond_32_bits_is_no_vint),
        cmocka_unit_test(oddities_fail_in_the_words_of_java),
        cmocka_unit_test(an_enormous_length_ends_early),
        cmocka_unit_test(url_strings_that_are_no_token_fail_as_in_java),
        cmocka_unit_test(url_strings_are_read_leniently),
        cmocka_unit_test(a_url_string_past_the_arena_finds_no_memory),
        cmocka_unit_test(an_identifier_prints_as_in_hadoop),
        cmocka_unit_test(dates_print_as_in_hadoop),
        cmocka_unit_test(identifiers_are_the_same_by_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
