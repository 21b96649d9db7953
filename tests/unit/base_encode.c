#include "base/encode.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* RFC 4648, section 10. */
static const struct {
    const char *bytes, *padded;
} vectors[] = {
    { "", "" },
    { "f", "Zg==" },
    { "fo", "Zm8=" },
    { "foo", "Zm9v" },
    { "foob", "Zm9vYg==" },
    { "fooba", "Zm9vYmE=" },
    { "foobar", "Zm9vYmFy" },
};

static void assert_text(struct fl_buf *b, const char *text)
{
    assert_false(b->failed);
    assert_int_equal(fl_buf_len(b), strlen(text));
    if (*text != '\0')
        assert_memory_equal(fl_buf_slice(b).at, text, strlen(text));
    fl_buf_done(b);
}

static void hex_goes_both_ways(void **state)
{
    struct fl_buf b;
    uint8_t       out[3];

    (void)state;
    fl_buf_init(&b, 0);
    assert_true(fl_hex_put(&b, FL_LIT("\x00\x9a\xff")));
    assert_text(&b, "009aff");
    assert_int_equal(fl_hex_decode(FL_LIT("009aFf"), out, NULL), FL_OK);
    assert_memory_equal(out, "\x00\x9a\xff", 3);
}

static void hex_names_the_place_of_a_bad_digit(void **state)
{
    uint8_t         out[4] = { 9, 9, 9, 9 };
    struct fl_error err;

    (void)state;
    assert_int_equal(fl_hex_decode(FL_LIT("00ag"), out, &err), FL_MALFORMED);
    assert_string_equal(err.text, "byte 0x67 at place 3, where a hex digit is expected");
    assert_int_equal(fl_hex_decode(FL_LIT("abc"), out, &err), FL_MALFORMED);
    assert_string_equal(err.text, "3 hex digits, where an even count is expected");
    assert_int_equal(out[0], 9);
}

static void base64_gives_the_vectors_of_the_rfc(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct fl_slice bytes = fl_slice_str(vectors[i].bytes), text = fl_slice_str(vectors[i].padded), bare = text;
        uint8_t         out[16];
        size_t          len;
        struct fl_buf   b;

        fl_buf_init(&b, 0);
        assert_true(fl_base64_put(&b, bytes));
        assert_text(&b, vectors[i].padded);
        assert_int_equal(fl_base64_decode(text, out, &len, NULL), FL_OK);
        assert_true(fl_slice_equal(fl_slice_of(out, len), bytes));
        while (bare.len > 0 && bare.at[bare.len - 1] == '=')
            bare.len--;
        assert_int_equal(FL_BASE64URL_LEN(bytes.len), bare.len);
        assert_int_equal(fl_base64_decode(bare, out, &len, NULL), FL_OK);
        assert_true(fl_slice_equal(fl_slice_of(out, len), bytes));
        assert_true(fl_slice_equal(fl_slice_of(out, fl_base64_decode_lenient(text, out)), bytes));
        assert_true(fl_slice_equal(fl_slice_of(out, fl_base64_decode_lenient(bare, out)), bytes));
    }
}

static void the_two_alphabets_differ_in_two_characters(void **state)
{
    struct fl_buf standard, url_safe;
    char          written[5] = "....";

    (void)state;
    fl_buf_init(&standard, 0);
    fl_buf_init(&url_safe, 0);
    assert_true(fl_base64_put(&standard, FL_LIT("\xfb\xff")));
    assert_text(&standard, "+/8=");
    assert_true(fl_base64url_put(&url_safe, FL_LIT("\xfb\xff")));
    assert_text(&url_safe, "-_8");
    fl_base64url_write(written, FL_LIT("\xfb\xff"));
    assert_string_equal(written, "-_8."); /* three characters, and no more */
}

static void every_length_comes_back(void **state)
{
    uint8_t bytes[200], out[FL_BASE64_DECODED_MAX(FL_BASE64_LEN(200))];

    (void)state;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 77);
    for (size_t len = 0; len <= sizeof bytes; len++) {
        struct fl_buf b;
        size_t        got;

        fl_buf_init(&b, 0);
        assert_true(fl_base64url_put(&b, fl_slice_of(bytes, len)));
        assert_int_equal(fl_base64_decode(fl_buf_slice(&b), out, &got, NULL), FL_OK);
        assert_true(fl_slice_equal(fl_slice_of(out, got), fl_slice_of(bytes, len)));
        assert_int_equal(fl_base64_decode_lenient(fl_buf_slice(&b), out), len);
        assert_true(fl_slice_equal(fl_slice_of(out, len), fl_slice_of(bytes, len)));
        fl_buf_done(&b);
    }
}

static void assert_lenient(struct fl_slice text, struct fl_slice bytes)
{
    uint8_t out[64];

    assert_true(fl_slice_equal(fl_slice_of(out, fl_base64_decode_lenient(text, out)), bytes));
}

/* As org.apache.commons.codec.binary.Base64.decodeBase64 does. */
static void the_lenient_decoder_takes_what_commons_codec_takes(void **state)
{
    (void)state;
    assert_lenient(FL_LIT("+_/-"), FL_LIT("\xfb\xff\xfe"));         /* both alphabets in one text */
    assert_lenient(FL_LIT("Zm\r\n9v Y*mFy"), FL_LIT("foobar"));     /* foreign characters */
    assert_lenient(FL_LIT("Z\xc3\xa4m9v\0YmFy"), FL_LIT("foobar")); /* any foreign byte */
    assert_lenient(FL_LIT("Zg==Zm9v"), FL_LIT("f"));                /* ends at the first '=' */
    assert_lenient(FL_LIT("Zm9v=YmFy"), FL_LIT("foo"));
    assert_lenient(FL_LIT("=Zm9v"), FL_LIT(""));
    assert_lenient(FL_LIT("Zm9vY"), FL_LIT("foo"));    /* one left over is dropped */
    assert_lenient(FL_LIT("Zm9vYg="), FL_LIT("foob")); /* padding too short */
    assert_lenient(FL_LIT("Zh"), FL_LIT("f"));         /* stray bits */
    assert_lenient(FL_LIT("!!!!"), FL_LIT(""));
    assert_lenient((struct fl_slice){ NULL, 0 }, FL_LIT(""));
}

static void assert_refused(struct fl_slice text, const char *sentence)
{
    uint8_t         out[64];
    size_t          len = 99;
    struct fl_error err;

    assert_int_equal(fl_base64_decode(text, out, &len, &err), FL_MALFORMED);
    assert_string_equal(err.text, sentence);
    assert_int_equal(len, 99);
    assert_int_equal(fl_base64_decode(text, out, &len, NULL), FL_MALFORMED);
}

static void the_strict_decoder_refuses_all_else(void **state)
{
    (void)state;
    assert_refused(FL_LIT("Zm 9v"), "base64 of 5 characters: the last one stands alone");
    assert_refused(FL_LIT("Zm\n9vYg"), "byte 0x0a at place 2 is not of base64");
    assert_refused(FL_LIT("Z===Zm9v"), "byte 0x3d at place 1 is not of base64");
    assert_refused(FL_LIT("Zg="), "base64 of 3 characters with wrong padding");
    assert_refused(FL_LIT("Zm9v===="), "base64 of 8 characters with wrong padding");
    assert_refused(FL_LIT("="), "base64 of 1 characters with wrong padding");
    assert_refused(FL_LIT("Zm9vY"), "base64 of 5 characters: the last one stands alone");
    assert_refused(FL_LIT("Zh"), "base64 of 2 characters ends with stray bits");
    assert_refused(FL_LIT("Zm9="), "base64 of 4 characters ends with stray bits");
    assert_refused(FL_LIT("+_/-"), "'_' at place 1 mixes the two alphabets of base64");
}

static void percent_decoding_happens_once(void **state)
{
    uint8_t out[32];
    size_t  len;

    (void)state;
    assert_int_equal(fl_percent_decode(FL_LIT("a%2fb%2Fc+%2525"), false, out, &len, NULL), FL_OK);
    assert_true(fl_slice_equal(fl_slice_of(out, len), FL_LIT("a/b/c+%25")));
    assert_int_equal(fl_percent_decode(FL_LIT("a+b%2b%00"), true, out, &len, NULL), FL_OK);
    assert_true(fl_slice_equal(fl_slice_of(out, len), FL_LIT("a b+\0")));
    assert_int_equal(fl_percent_decode((struct fl_slice){ NULL, 0 }, true, out, &len, NULL), FL_OK);
    assert_int_equal(len, 0);
}

static void a_percent_without_two_digits_is_refused(void **state)
{
    static const char *const bad[] = { "ab%", "ab%2", "ab%g0", "ab%0g", "ab%%20" };
    uint8_t                  out[32];
    size_t                   len;
    struct fl_error          err;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(fl_percent_decode(fl_slice_str(bad[i]), false, out, &len, &err), FL_MALFORMED);
        assert_string_equal(err.text, "'%' at place 2 without two hex digits behind it");
    }
}

static void assert_json(struct fl_slice text, const char *json)
{
    struct fl_buf b;

    fl_buf_init(&b, 0);
    assert_true(fl_json_put_string(&b, text));
    assert_text(&b, json);
}

static void json_strings_are_escaped(void **state)
{
    (void)state;
    assert_json(FL_LIT(""), "\"\"");
    assert_json(FL_LIT("plain text of more than eight"), "\"plain text of more than eight\"");
    assert_json(FL_LIT("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
    assert_json(FL_LIT("\b\t\n\f\r"), "\"\\b\\t\\n\\f\\r\"");
    assert_json(FL_LIT("\0\x01\x1f\x7f"), "\"\\u0000\\u0001\\u001f\x7f\"");
    assert_json(FL_LIT("12345678\x1f"
                       "2345678"),
                "\"12345678\\u001f2345678\"");
}

static void each_byte_alone_is_escaped_or_kept_at_each_place(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 0x80; c++) {
        for (size_t at = 0; at < 16; at++) {
            uint8_t       text[16];
            struct fl_buf b;
            bool          escaped = c < 0x20 || c == '"' || c == '\\';

            memset(text, ' ', sizeof text);
            text[at] = (uint8_t)c;
            fl_buf_init(&b, 0);
            assert_true(fl_json_put_string(&b, fl_slice_of(text, sizeof text)));
            assert_int_equal(fl_slice_find(fl_buf_slice(&b), '\\') == at + 1, escaped);
            assert_int_equal(fl_buf_len(&b) == 18, !escaped);
            fl_buf_done(&b);
        }
    }
}

static void json_replaces_what_is_no_utf8(void **state)
{
    (void)state;
    assert_json(FL_LIT("h\xc3\xa4\xf0\x9f\x98\x80"), "\"h\xc3\xa4\xf0\x9f\x98\x80\"");
    assert_json(FL_LIT("\xff"), "\"\xef\xbf\xbd\"");
    assert_json(FL_LIT("\xf0\x9f\x98z"), "\"\xef\xbf\xbdz\"");                       /* one for a cut sequence */
    assert_json(FL_LIT("\xe2\x82"), "\"\xef\xbf\xbd\"");                             /* cut by the end */
    assert_json(FL_LIT("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");                 /* overlong */
    assert_json(FL_LIT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""); /* a surrogate */
}

static void utf8_is_told_by_the_letter(void **state)
{
    (void)state;
    assert_true(fl_utf8_valid(FL_LIT("")));
    assert_true(fl_utf8_valid(FL_LIT("a\0b\x7f")));
    assert_true(fl_utf8_valid(FL_LIT("\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf")));
    assert_true(fl_utf8_valid(FL_LIT("\xed\x9f\xbf\xee\x80\x80")));
    assert_false(fl_utf8_valid(FL_LIT("\x80")));
    assert_false(fl_utf8_valid(FL_LIT("\xc1\xbf")));
    assert_false(fl_utf8_valid(FL_LIT("\xe0\x9f\xbf")));
    assert_false(fl_utf8_valid(FL_LIT("\xed\xa0\x80")));
    assert_false(fl_utf8_valid(FL_LIT("\xf0\x8f\xbf\xbf")));
    assert_false(fl_utf8_valid(FL_LIT("\xf4\x90\x80\x80")));
    assert_false(fl_utf8_valid(FL_LIT("\xf5\x80\x80\x80")));
    assert_false(fl_utf8_valid(FL_LIT("a\xc3")));
}

static void a_full_buffer_fails_and_takes_nothing_half(void **state)
{
    struct fl_buf b;

    (void)state;
    fl_buf_init(&b, 3);
    assert_false(fl_base64_put(&b, FL_LIT("abc")));
    assert_true(b.failed);
    assert_int_equal(fl_buf_len(&b), 0);
    fl_buf_clear(&b);
    assert_false(fl_hex_put(&b, FL_LIT("ab")));
    fl_buf_clear(&b);
    assert_false(fl_base64url_put(&b, FL_LIT("abc")));
    fl_buf_clear(&b);
    assert_false(fl_json_put_string(&b, FL_LIT("ab")));
    fl_buf_clear(&b);
    assert_true(fl_json_put_string(&b, FL_LIT("a")));
    fl_buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hex_goes_both_ways),
        cmocka_unit_test(hex_names_the_place_of_a_bad_digit),
        cmocka_unit_test(base64_gives_the_vectors_of_the_rfc),
        cmocka_unit_test(the_two_alphabets_differ_in_two_characters),
        cmocka_unit_test(every_length_comes_back),
        cmocka_unit_test(the_lenient_decoder_takes_what_commons_codec_takes),
        cmocka_unit_test(the_strict_decoder_refuses_all_else),
        cmocka_unit_test(percent_decoding_happens_once),
        cmocka_unit_test(a_percent_without_two_digits_is_refused),
        cmocka_unit_test(json_strings_are_escaped),
        cmocka_unit_test(each_byte_alone_is_escaped_or_kept_at_each_place),
        cmocka_unit_test(json_replaces_what_is_no_utf8),
        cmocka_unit_test(utf8_is_told_by_the_letter),
        cmocka_unit_test(a_full_buffer_fails_and_takes_nothing_half),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
