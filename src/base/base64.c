/* The base64 half of base/encode.h. */
#include "base/encode.h"

static const char STANDARD[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char URL_SAFE[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The value of a character in either alphabet, plus one, so that 0 says: in none. */
static const uint8_t VALUE_1[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,  ['I'] = 9,
    ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18,
    ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27,
    ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36,
    ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45,
    ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54,
    ['2'] = 55, ['3'] = 56, ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63,
    ['-'] = 63, ['/'] = 64, ['_'] = 64,
};

/* Whole groups and what is left over, unpadded. Returns the end of what was written. */
static char *write_groups(char *out, const uint8_t *in, size_t len, const char *alphabet)
{
    for (; len >= 3; len -= 3, in += 3) {
        uint32_t group = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];

        out[0] = alphabet[group >> 18];
        out[1] = alphabet[group >> 12 & 63];
        out[2] = alphabet[group >> 6 & 63];
        out[3] = alphabet[group & 63];
        out += 4;
    }
    if (len > 0) {
        *out++ = alphabet[in[0] >> 2];
        *out++ = alphabet[(in[0] << 4 | (len > 1 ? in[1] >> 4 : 0)) & 63];
    }
    if (len > 1)
        *out++ = alphabet[in[1] << 2 & 63];
    return out;
}

void fl_base64url_write(char *out, struct fl_slice bytes)
{
    write_groups(out, bytes.at, bytes.len, URL_SAFE);
}

static bool make_room(struct fl_buf *b, size_t bytes_len)
{
    if (b->failed || bytes_len > SIZE_MAX / 4 || fl_buf_reserve(b, FL_BASE64_LEN(bytes_len), NULL) != FL_OK)
        b->failed = true;
    return !b->failed;
}

bool fl_base64_put(struct fl_buf *b, struct fl_slice bytes)
{
    size_t len = FL_BASE64_LEN(bytes.len);
    char  *out, *end;

    if (!make_room(b, bytes.len))
        return false;
    if (bytes.len == 0)
        return true;
    out = (char *)b->data + b->write;
    for (end = write_groups(out, bytes.at, bytes.len, STANDARD); end < out + len; end++)
        *end = '=';
    fl_buf_added(b, len);
    return true;
}

bool fl_base64url_put(struct fl_buf *b, struct fl_slice bytes)
{
    if (!make_room(b, bytes.len))
        return false;
    if (bytes.len == 0)
        return true;
    fl_base64url_write((char *)b->data + b->write, bytes);
    fl_buf_added(b, FL_BASE64URL_LEN(bytes.len));
    return true;
}

/* Up to three bytes of a group of 2 to 4 characters whose bits are in the low end of group. */
static size_t write_bytes(uint8_t *out, uint32_t group, unsigned characters)
{
    switch (characters) {
    case 4:
        out[0] = (uint8_t)(group >> 16);
        out[1] = (uint8_t)(group >> 8);
        out[2] = (uint8_t)group;
        return 3;
    case 3:
        out[0] = (uint8_t)(group >> 10);
        out[1] = (uint8_t)(group >> 2);
        return 2;
    case 2: out[0] = (uint8_t)(group >> 4); return 1;
    default: /* 6 bits make no byte */ return 0;
    }
}

/* Groups of four good characters, as long as they last: nearly always to the end. Returns the characters taken. */
static size_t decode_whole_groups(struct fl_slice text, uint8_t *out)
{
    size_t i = 0;

    for (; text.len - i >= 4; i += 4, out += 3) {
        uint32_t a = VALUE_1[text.at[i]], b = VALUE_1[text.at[i + 1]], c = VALUE_1[text.at[i + 2]],
                 d = VALUE_1[text.at[i + 3]];

        if (a == 0 || b == 0 || c == 0 || d == 0)
            break;
        write_bytes(out, (a - 1) << 18 | (b - 1) << 12 | (c - 1) << 6 | (d - 1), 4);
    }
    return i;
}

size_t fl_base64_decode_lenient(struct fl_slice text, uint8_t *out)
{
    size_t   i = decode_whole_groups(text, out), n = i / 4 * 3;
    uint32_t group = 0;
    unsigned characters = 0;

    for (; i < text.len && text.at[i] != '='; i++) {
        uint32_t value = VALUE_1[text.at[i]];

        if (value == 0)
            continue;
        group = group << 6 | (value - 1);
        if (++characters == 4) {
            n += write_bytes(out + n, group & 0xffffff, 4);
            characters = 0;
        }
    }
    return n + write_bytes(out + n, group & ((UINT32_C(1) << 6 * characters) - 1), characters);
}

/* How many '=' end the text; where there are any, they fill the last group of four. */
static FL_CHECKED enum fl_status strip_padding(struct fl_slice *text, struct fl_error *err)
{
    size_t padded = text->len, padding = 0;

    while (text->len > 0 && text->at[text->len - 1] == '=' && padding < 3) {
        text->len--;
        padding++;
    }
    if (padding > 2 || (padding > 0 && padded % 4 != 0))
        return fl_fail(err, FL_MALFORMED, 0, "base64 of %zu characters with wrong padding", padded);
    if (text->len % 4 == 1)
        return fl_fail(err, FL_MALFORMED, 0, "base64 of %zu characters: the last one stands alone", padded);
    return FL_OK;
}

static FL_CHECKED enum fl_status check_alphabet(struct fl_slice text, struct fl_error *err)
{
    bool standard = false, url_safe = false;

    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.at[i];

        if (VALUE_1[c] == 0)
            return fl_fail(err, FL_MALFORMED, 0, "byte 0x%02x at place %zu is not of base64", c, i);
        standard = standard || c == '+' || c == '/';
        url_safe = url_safe || c == '-' || c == '_';
        if (standard && url_safe)
            return fl_fail(err, FL_MALFORMED, 0, "'%c' at place %zu mixes the two alphabets of base64", c, i);
    }
    return FL_OK;
}

enum fl_status fl_base64_decode(struct fl_slice text, uint8_t *out, size_t *len, struct fl_error *err)
{
    size_t   i, whole = text.len;
    uint32_t group = 0;
    unsigned left;

    if (strip_padding(&text, err) != FL_OK || check_alphabet(text, err) != FL_OK)
        return FL_MALFORMED;
    left = (unsigned)(text.len % 4);
    for (i = text.len - left; i < text.len; i++)
        group = group << 6 | (uint32_t)(VALUE_1[text.at[i]] - 1);
    /* RFC 4648 3.5: bits that make no byte are zero, so that a text stands for its bytes alone. */
    if ((left == 2 && (group & 15) != 0) || (left == 3 && (group & 3) != 0))
        return fl_fail(err, FL_MALFORMED, 0, "base64 of %zu characters ends with stray bits", whole);
    i = decode_whole_groups(text, out) / 4 * 3;
    *len = i + write_bytes(out + i, group, left);
    return FL_OK;
}
