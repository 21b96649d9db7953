#include "kms/words.h"

#include "base/encode.h"

#include <assert.h>
#include <string.h>

static bool take(const char **format, const char *conversion)
{
    size_t len = strlen(conversion);

    if (strncmp(*format, conversion, len) != 0)
        return false;
    *format += len;
    return true;
}

/* A list that was handed on as a parameter may be an array, whose address a function can't take: hence the struct. */
struct words {
    va_list args;
};

/* *format: behind the '%'. */
static void put_conversion(struct fl_buf *b, const char **format, struct words *w)
{
    if (take(format, ".*s")) {
        int len = va_arg(w->args, int);

        fl_buf_put_slice(b, fl_slice_of(va_arg(w->args, const char *), (size_t)len));
    } else if (take(format, "s")) {
        fl_buf_put_str(b, va_arg(w->args, const char *));
    } else if (take(format, "d")) {
        fl_buf_put_i64(b, va_arg(w->args, int));
    } else if (take(format, "u")) {
        fl_buf_put_u64(b, va_arg(w->args, unsigned));
    } else if (take(format, "zu")) {
        fl_buf_put_u64(b, va_arg(w->args, size_t));
    } else if (take(format, "lld")) {
        fl_buf_put_i64(b, va_arg(w->args, long long));
    } else {
        assert(**format == '%');
        fl_buf_put_byte(b, '%');
        ++*format;
    }
}

bool kms_words_put(struct fl_buf *b, const char *format, va_list args)
{
    struct words w;

    va_copy(w.args, args);
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");

        fl_buf_put_slice(b, fl_slice_of(format, plain));
        format += plain;
        if (*format == '\0')
            break;
        format++;
        put_conversion(b, &format, &w);
    }
    va_end(w.args);
    return !b->failed;
}

/* The parameter's name before the '=' at `equals`, decoded into `name`. */
static bool is_secret(struct fl_slice text, size_t equals)
{
    uint8_t name[32];
    size_t  begin = equals, len;

    while (begin > 0 && text.at[begin - 1] != '?' && text.at[begin - 1] != '&' && text.at[begin - 1] != ';')
        begin--;
    if (equals - begin > sizeof name ||
        fl_percent_decode(fl_slice_of(text.at + begin, equals - begin), true, name, &len, NULL) != FL_OK)
        return false;
    return fl_slice_equal_nocase(fl_slice_of(name, len), FL_LIT("delegation")) ||
           fl_slice_equal_nocase(fl_slice_of(name, len), FL_LIT("token"));
}

static size_t value_end(struct fl_slice text, size_t from)
{
    while (from < text.len && memchr("&;' \n", text.at[from], 5) == NULL)
        from++;
    return from;
}

void kms_words_put_masked(struct fl_buf *b, struct fl_slice text)
{
    size_t copied = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] != '=' || !is_secret(text, i) || value_end(text, i + 1) == i + 1)
            continue;
        fl_buf_put_slice(b, fl_slice_of(text.at + copied, i + 1 - copied));
        FL_BUF_LIT(b, "***");
        copied = value_end(text, i + 1);
        i = copied - 1;
    }
    fl_buf_put_slice(b, fl_slice_from(text, copied));
}
