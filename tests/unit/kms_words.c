/* Sentences that hold bytes of a client. */
#include "kms/words.h"

#include "base/own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static FL_PRINTF(2, 3) bool put(struct fl_buf *b, const char *format, ...)
{
    va_list args;
    bool    good;

    va_start(args, format);
    good = kms_words_put(b, format, args);
    va_end(args);
    return good;
}

static void expect(const struct fl_buf *b, const char *bytes, size_t len)
{
    assert_int_equal(fl_buf_len(b), len);
    assert_memory_equal(fl_buf_slice(b).at, bytes, len);
}

static void a_nul_ends_nothing(void **state)
{
    struct fl_buf   b;
    struct fl_slice name = FL_LIT("a\0b");

    (void)state;
    fl_buf_init(&b, 100);
    assert_true(put(&b, "Key %.*s already exists in %s", FL_SLICE_ARGS(name), "memory:///"));
    expect(&b, "Key a\0b already exists in memory:///", 36);
    fl_buf_done(&b);
}

static void every_conversion_is_known(void **state)
{
    struct fl_buf   b;
    struct fl_slice nothing = FL_LIT("");

    (void)state;
    fl_buf_init(&b, 200);
    assert_true(put(&b, "%s|%d|%u|%zu|%lld|%%|%.*s|", "x", -7, 4000000000U, SIZE_MAX, (long long)INT64_MIN,
                    FL_SLICE_ARGS(nothing)));
    expect(&b, "x|-7|4000000000|18446744073709551615|-9223372036854775808|%||", 61);
    fl_buf_done(&b);
}

static void a_full_buffer_is_told(void **state)
{
    struct fl_buf b;

    (void)state;
    fl_buf_init(&b, 8);
    assert_false(put(&b, "%s", "more than eight bytes, by far"));
    fl_buf_done(&b);
}

static void tokens_are_hidden_in_urls(void **state)
{
    static const char *const rows[][2] = {
        { "http://h/kms/v1/?op=X&token=HgAF&user.name=a", "http://h/kms/v1/?op=X&token=***&user.name=a" },
        { "http://h/k?delegation=HgAF", "http://h/k?delegation=***" },
        { "http://h/k?dele%67ation=HgAF;TOKEN=x", "http://h/k?dele%67ation=***;TOKEN=***" },
        { "null for uri: http://h/k?token=a'b", "null for uri: http://h/k?token=***'b" },
        { "http://h/k?token=&token&x=token", "http://h/k?token=&token&x=token" },
        { "http://h/token=5?mytoken=5&token2=6", "http://h/token=5?mytoken=5&token2=6" },
        { "", "" },
    };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(rows); i++) {
        struct fl_buf b;

        fl_buf_init(&b, 200);
        kms_words_put_masked(&b, fl_slice_str(rows[i][0]));
        expect(&b, rows[i][1], strlen(rows[i][1]));
        fl_buf_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nul_ends_nothing),
        cmocka_unit_test(every_conversion_is_known),
        cmocka_unit_test(a_full_buffer_is_told),
        cmocka_unit_test(tokens_are_hidden_in_urls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
