#include "base/encode.h"

enum { NOT_A_DIGIT = 255 };

static uint8_t hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return (uint8_t)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (uint8_t)(c - 'a' + 10);
    if (c >= 'A' && c <= 'F')
        return (uint8_t)(c - 'A' + 10);
    return NOT_A_DIGIT;
}

/* Room for len more bytes at the tail; a failure marks the buffer, as its appenders do. */
static bool make_room(struct fl_buf *b, size_t len)
{
    if (b->failed || fl_buf_reserve(b, len, NULL) != FL_OK)
        b->failed = true;
    return !b->failed;
}

bool fl_hex_put(struct fl_buf *b, struct fl_slice bytes)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t          *out;

    if (bytes.len > SIZE_MAX / 2 || !make_room(b, FL_HEX_LEN(bytes.len))) {
        b->failed = true;
        return false;
    }
    if (bytes.len == 0)
        return true;
    out = b->data + b->write;
    for (size_t i = 0; i < bytes.len; i++) {
        *out++ = (uint8_t)digits[bytes.at[i] >> 4];
        *out++ = (uint8_t)digits[bytes.at[i] & 15];
    }
    fl_buf_added(b, FL_HEX_LEN(bytes.len));
    return true;
}

enum fl_status fl_hex_decode(struct fl_slice text, uint8_t *out, struct fl_error *err)
{
    if (text.len % 2 != 0)
        return fl_fail(err, FL_MALFORMED, 0, "%zu hex digits, where an even count is expected", text.len);
    for (size_t i = 0; i < text.len; i++)
        if (hex_digit(text.at[i]) == NOT_A_DIGIT)
            return fl_fail(err, FL_MALFORMED, 0, "byte 0x%02x at place %zu, where a hex digit is expected", text.at[i],
                           i);
    for (size_t i = 0; i < text.len; i += 2)
        out[i / 2] = (uint8_t)(hex_digit(text.at[i]) << 4 | hex_digit(text.at[i + 1]));
    return FL_OK;
}

/* Percent-decoding. */

enum fl_status fl_percent_decode(struct fl_slice text, bool plus_is_blank, uint8_t *out, size_t *len,
                                 struct fl_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.at[i];

        if (c == '%') {
            uint8_t high = i + 2 < text.len ? hex_digit(text.at[i + 1]) : NOT_A_DIGIT;
            uint8_t low = i + 2 < text.len ? hex_digit(text.at[i + 2]) : NOT_A_DIGIT;

            if (high == NOT_A_DIGIT || low == NOT_A_DIGIT)
                return fl_fail(err, FL_MALFORMED, 0, "'%%' at place %zu without two hex digits behind it", i);
            c = (uint8_t)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        out[n++] = c;
    }
    *len = n;
    return FL_OK;
}
