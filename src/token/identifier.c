#include "token/identifier.h"

#include "token/reader.h"

#include <inttypes.h>

enum { VERSION = 0 };

static uint64_t magnitude_of(int64_t v)
{
    return v < 0 ? ~(uint64_t)v : (uint64_t)v;
}

bool token_put_vlong(struct fl_buf *b, int64_t v)
{
    uint8_t  wire[9];
    uint64_t magnitude = magnitude_of(v);
    unsigned count = 0;

    if (v >= -112 && v <= 127)
        return fl_buf_put_byte(b, (uint8_t)v);
    while (count < 8 && magnitude >> (8 * count) != 0)
        count++;
    wire[0] = (uint8_t)((v < 0 ? -120 : -112) - (int)count);
    for (unsigned i = 0; i < count; i++)
        wire[1 + i] = (uint8_t)(magnitude >> (8 * (count - 1 - i)));
    return fl_buf_put(b, wire, 1 + count);
}

bool token_put_text(struct fl_buf *b, struct fl_slice text)
{
    if (text.len > INT32_MAX) {
        b->failed = true;
        return false;
    }
    return token_put_vlong(b, (int64_t)text.len) && fl_buf_put_slice(b, text);
}

bool token_identifier_put(struct fl_buf *b, const struct token_identifier *id)
{
    return fl_buf_put_byte(b, VERSION) && token_put_text(b, id->owner) && token_put_text(b, id->renewer) &&
           token_put_text(b, id->real_user) && token_put_vlong(b, id->issue_ms) && token_put_vlong(b, id->max_ms) &&
           token_put_vlong(b, id->sequence) && token_put_vlong(b, id->master_key_id);
}

enum fl_status token_identifier_take(struct fl_slice *in, struct token_identifier *id, struct fl_error *err)
{
    struct token_identifier got;
    struct fl_slice         rest = *in;
    uint8_t                 version;
    enum fl_status          s;

    if ((s = token_take_byte(&rest, &version, err)) != FL_OK)
        return s;
    if (version != VERSION)
        return fl_fail(err, FL_MALFORMED, 0, "java.io.IOException: Unknown version of delegation token %d",
                       (int8_t)version);
    if ((s = token_take_short_text(&rest, &got.owner, err)) != FL_OK ||
        (s = token_take_short_text(&rest, &got.renewer, err)) != FL_OK ||
        (s = token_take_short_text(&rest, &got.real_user, err)) != FL_OK ||
        (s = token_take_vlong(&rest, &got.issue_ms, err)) != FL_OK ||
        (s = token_take_vlong(&rest, &got.max_ms, err)) != FL_OK ||
        (s = token_take_vint(&rest, &got.sequence, err)) != FL_OK ||
        (s = token_take_vint(&rest, &got.master_key_id, err)) != FL_OK)
        return s;
    *id = got;
    *in = rest;
    return FL_OK;
}

enum fl_status token_identifier_get(struct fl_slice bytes, struct token_identifier *id, struct fl_error *err)
{
    return token_identifier_take(&bytes, id, err); /* bytes behind the last field are ignored, as in Java */
}

bool token_identifier_same(const struct token_identifier *a, const struct token_identifier *b)
{
    return a->sequence == b->sequence && a->master_key_id == b->master_key_id && a->issue_ms == b->issue_ms &&
           a->max_ms == b->max_ms && fl_slice_equal(a->owner, b->owner) && fl_slice_equal(a->renewer, b->renewer) &&
           fl_slice_equal(a->real_user, b->real_user);
}

bool token_identifier_describe(struct fl_buf *b, const struct token_identifier *id)
{
    return fl_buf_put_str(b, TOKEN_KIND " owner=") && token_put_name(b, id->owner) && FL_BUF_LIT(b, ", renewer=") &&
           token_put_name(b, id->renewer) && FL_BUF_LIT(b, ", realUser=") && token_put_name(b, id->real_user) &&
           fl_buf_printf(
               b, ", issueDate=%" PRId64 ", maxDate=%" PRId64 ", sequenceNumber=%" PRId32 ", masterKeyId=%" PRId32,
               id->issue_ms, id->max_ms, id->sequence, id->master_key_id);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* How many bytes at the front are one character of UTF-8; if they aren't one, *good is false and the count is that of
 * the longest beginning of one, at least 1 (so many bytes share one U+FFFD, as in Java and in the Unicode standard). */
static size_t utf8_step(struct fl_slice s, bool *good)
{
    uint8_t first = s.at[0], low = 0x80, high = 0xbf;
    size_t  want = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;

    *good = want == 1;
    if (want <= 1)
        return 1;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < want; i++, low = 0x80, high = 0xbf)
        if (i >= s.len || s.at[i] < low || s.at[i] > high)
            return i;
    *good = true;
    return want;
}

bool token_put_name(struct fl_buf *b, struct fl_slice name)
{
    while (name.len > 0) {
        bool   good;
        size_t n = utf8_step(name, &good);

        if (!(good ? fl_buf_put(b, name.at, n) : FL_BUF_LIT(b, "\xef\xbf\xbd")))
            return false;
        name = fl_slice_from(name, n);
    }
    return true;
}

/* Days since 1970 as a date of the Gregorian calendar. Own arithmetic, since a presented date may be any int64 and
 * gmtime_r() refuses some. Years begin in March here, so that the leap day comes last; an era has 400 years. */
static void civil_date(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t since = days + 719468; /* since 0000-03-01 */
    int64_t era = (since >= 0 ? since : since - 146096) / 146097;
    int64_t in_era = since - era * 146097;
    int64_t year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t march_month = (5 * in_year + 2) / 153;

    *day = (int)(in_year - (153 * march_month + 2) / 5 + 1);
    *month = (int)(march_month < 10 ? march_month + 3 : march_month - 9);
    *year = year_of_era + era * 400 + (*month <= 2);
}

bool token_put_date(struct fl_buf *b, int64_t wall_ms)
{
    int64_t days = wall_ms / 86400000, rest = wall_ms % 86400000, year;
    int     month, day, ms;

    if (rest < 0) {
        rest += 86400000;
        days--;
    }
    civil_date(days, &year, &month, &day);
    ms = (int)rest;
    return fl_buf_printf(b, "%04" PRId64 "-%02d-%02d %02d:%02d:%02d,%03d+0000", year, month, day, ms / 3600000,
                         ms / 60000 % 60, ms / 1000 % 60, ms % 1000);
}
