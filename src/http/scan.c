#include "http/scan.h"

/* The eight bytes at p are all above the controls and none is DEL: the usual case inside a line, tested at once. */
static bool eight_plain(const uint8_t *p)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t       x, del;

    memcpy(&x, p, sizeof x);
    del = x ^ ones * 0x7f;
    return ((((x - ones * 0x20) & ~x) | ((del - ones) & ~del)) & tops) == 0;
}

static bool is_plain(uint8_t c)
{
    return (c >= ' ' && c != 0x7f) || c == '\t';
}

static size_t skip_plain(const uint8_t *at, size_t i, size_t end)
{
    for (;;) {
        while (end - i >= 8 && eight_plain(at + i))
            i += 8;
        if (i == end || !is_plain(at[i]))
            return i;
        i++;
    }
}

/* RFC 9112 5.2: a line that goes on from the one before. A line without a name is refused in the same words. */
static bool begins_like_folding(uint8_t c)
{
    return c == ' ' || c == '\t' || c == ':';
}

static enum fl_status too_long(const struct http_scan *s, struct http_refusal *why)
{
    return s->first_line == 0 ? http_refuse(why, 414, "URI Too Long")
                              : http_refuse(why, 431, "Request Header Fields Too Large");
}

enum fl_status http_scan_head(struct http_scan *s, struct fl_slice bytes, size_t limit, struct http_refusal *why)
{
    size_t end = bytes.len < limit ? bytes.len : limit, i = s->at;

    for (;;) {
        if (i == s->line && s->line > 0 && i < end && begins_like_folding(bytes.at[i]))
            return http_refuse(why, 400, "Header Folding");
        i = skip_plain(bytes.at, i, end);
        s->at = i;
        if (i < end && bytes.at[i] != '\r')
            return http_refuse_byte(why, bytes.at[i]);
        if (end - i < 2)
            return bytes.len >= limit ? too_long(s, why) : FL_WANT_READ;
        if (bytes.at[i + 1] != '\n')
            return is_plain(bytes.at[i + 1]) || bytes.at[i + 1] == '\r' ? http_refuse(why, 400, "Bad EOL")
                                                                        : http_refuse_byte(why, bytes.at[i + 1]);
        s->at = i + 2;
        if (i == s->line && s->line > 0)
            return FL_OK;
        if (s->line == 0)
            s->first_line = i;
        s->line = i = s->at;
    }
}
