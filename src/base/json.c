/* The JSON and UTF-8 part of base/encode.h. */
#include "base/encode.h"

/* The length (1 to 4) of the well-formed sequence that s (not empty) begins with, by Unicode 15 table 3-7. Else 0, and
 * *bad is the length of what one U+FFFD stands for: the longest beginning of a well-formed sequence, at least 1. */
static size_t utf8_step(struct fl_slice s, size_t *bad)
{
    uint8_t first = s.at[0], low = 0x80, high = 0xbf;
    size_t  len;

    *bad = 1;
    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    len = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;  /* no overlong form */
    high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf; /* no surrogate, nothing beyond U+10FFFF */
    for (size_t i = 1; i < len; i++, low = 0x80, high = 0xbf) {
        *bad = i;
        if (i == s.len || s.at[i] < low || s.at[i] > high)
            return 0;
    }
    return len;
}

/* Bytes at the front that are printable ASCII without quote and backslash, eight at a time where possible. */
static size_t plain_run(struct fl_slice s)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones * 0x80;
    size_t         i = 0;

    for (; s.len - i >= 8; i += 8) {
        uint64_t w, quote, backslash;

        memcpy(&w, s.at + i, sizeof w);
        quote = w ^ ones * '"';
        backslash = w ^ ones * '\\';
        /* The top bit of a byte is set where it is below 0x20, a quote, a backslash, or not ASCII; a borrow may also
         * mark a byte above such a one, which only ends the run early. */
        if (((w - ones * 0x20) | (quote - ones) | (backslash - ones) | w) & tops)
            break;
    }
    while (i < s.len && s.at[i] >= 0x20 && s.at[i] < 0x80 && s.at[i] != '"' && s.at[i] != '\\')
        i++;
    return i;
}

static void put_escaped(struct fl_buf *b, uint8_t c)
{
    static const char letters[0x20] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r' };
    char              code[] = "\\u00xx";

    if (c == '"' || c == '\\' || letters[c] != '\0') {
        fl_buf_put_byte(b, '\\');
        fl_buf_put_byte(b, c < 0x20 ? (uint8_t)letters[c] : c);
    } else {
        code[4] = (char)('0' + (c >> 4));
        code[5] = "0123456789abcdef"[c & 15];
        fl_buf_put(b, code, sizeof code - 1);
    }
}

bool fl_json_put_string(struct fl_buf *b, struct fl_slice text)
{
    fl_buf_put_byte(b, '"');
    while (text.len > 0 && !b->failed) {
        size_t run = plain_run(text), bad;

        fl_buf_put(b, text.at, run);
        text = fl_slice_from(text, run);
        if (text.len == 0)
            break;
        run = utf8_step(text, &bad);
        if (run == 0)
            FL_BUF_LIT(b, "\xef\xbf\xbd");
        else if (run == 1)
            put_escaped(b, text.at[0]);
        else
            fl_buf_put(b, text.at, run);
        text = fl_slice_from(text, run == 0 ? bad : run);
    }
    return fl_buf_put_byte(b, '"');
}

bool fl_utf8_valid(struct fl_slice text)
{
    while (text.len > 0) {
        size_t bad, run = utf8_step(text, &bad);

        if (run == 0)
            return false;
        text = fl_slice_from(text, run);
    }
    return true;
}
