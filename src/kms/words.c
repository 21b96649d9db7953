#include "kms/words.h"

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
