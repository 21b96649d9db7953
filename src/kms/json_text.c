/* Which of UTF-8, UTF-16 and UTF-32 a body is, told by its first bytes as Jackson tells, and its turning into UTF-8. */
#include "kms/json_read.h"

struct coding {
    size_t unit; /* bytes of a code unit: 1, 2, 4 */
    size_t mark; /* bytes of the byte order mark */
    bool   big;
};

static bool begins(struct fl_slice s, const char *bytes, size_t len)
{
    return fl_slice_starts(s, fl_slice_of(bytes, len));
}

static struct coding coding_of(struct fl_slice s)
{
    const uint8_t *b = s.at;

    if (begins(s, "\xef\xbb\xbf", 3))
        return (struct coding){ 1, 3, false };
    if (begins(s, "\x00\x00\xfe\xff", 4))
        return (struct coding){ 4, 4, true };
    if (begins(s, "\xff\xfe\x00\x00", 4))
        return (struct coding){ 4, 4, false };
    if (begins(s, "\xfe\xff", 2))
        return (struct coding){ 2, 2, true };
    if (begins(s, "\xff\xfe", 2))
        return (struct coding){ 2, 2, false };
    if (s.len >= 4 && b[0] == 0 && b[1] == 0 && b[2] == 0)
        return (struct coding){ 4, 0, true };
    if (s.len >= 4 && b[1] == 0 && b[2] == 0 && b[3] == 0)
        return (struct coding){ 4, 0, false };
    if (s.len >= 2 && b[0] == 0)
        return (struct coding){ 2, 0, true };
    if (s.len >= 2 && b[1] == 0)
        return (struct coding){ 2, 0, false };
    return (struct coding){ 1, 0, false };
}

static uint32_t unit_at(const uint8_t *p, struct coding c)
{
    uint32_t n = 0;

    for (size_t i = 0; i < c.unit; i++)
        n |= (uint32_t)p[i] << 8 * (c.big ? c.unit - 1 - i : i);
    return n;
}

uint8_t *kms_utf8_put(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (uint8_t)c;
    } else if (c < 0x800) {
        *to++ = (uint8_t)(0xc0 | c >> 6);
        *to++ = (uint8_t)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *to++ = (uint8_t)(0xe0 | c >> 12);
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *to++ = (uint8_t)(0x80 | (c & 0x3f));
    } else {
        *to++ = (uint8_t)(0xf0 | c >> 18);
        *to++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        *to++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *to++ = (uint8_t)(0x80 | (c & 0x3f));
    }
    return to;
}

/* One character; advances *p. UINT32_MAX: broken. */
static uint32_t next_character(const uint8_t **p, const uint8_t *end, struct coding c)
{
    uint32_t n, low;

    if ((size_t)(end - *p) < c.unit)
        return UINT32_MAX;
    n = unit_at(*p, c);
    *p += c.unit;
    if (c.unit == 2 && n >= 0xd800 && n < 0xdc00 && (size_t)(end - *p) >= c.unit) {
        low = unit_at(*p, c);
        if (low < 0xdc00 || low >= 0xe000)
            return UINT32_MAX;
        *p += c.unit;
        return 0x10000 + ((n & 0x3ff) << 10 | (low & 0x3ff));
    }
    return n >= 0x110000 || (n >= 0xd800 && n < 0xe000) ? UINT32_MAX : n;
}

enum fl_status kms_json_utf8(struct fl_slice body, struct fl_arena *a, struct fl_slice *out)
{
    struct coding  c = coding_of(body);
    const uint8_t *p, *end;
    uint8_t       *to, *begin;

    *out = c.mark > 0 ? fl_slice_from(body, c.mark) : body;
    if (c.unit == 1)
        return FL_OK;
    p = out->at;
    end = p + out->len;
    /* Two bytes of UTF-16 become at most three. */
    if ((begin = to = fl_arena_take(a, body.len / 2 * 3 + 4)) == NULL)
        return FL_NO_MEMORY;
    while (p < end) {
        uint32_t n = next_character(&p, end, c);

        if (n == UINT32_MAX)
            return FL_MALFORMED;
        to = kms_utf8_put(to, n);
    }
    *out = fl_slice_of(begin, (size_t)(to - begin));
    return FL_OK;
}
