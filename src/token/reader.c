#include "token/reader.h"

#include "token/token.h"

#include <inttypes.h>

static enum fl_status ends_early(struct fl_error *err)
{
    return fl_fail(err, FL_MALFORMED, 0, "java.io.EOFException");
}

enum fl_status token_take_byte(struct fl_slice *in, uint8_t *byte, struct fl_error *err)
{
    if (in->len == 0)
        return ends_early(err);
    *byte = in->at[0];
    *in = fl_slice_from(*in, 1);
    return FL_OK;
}

/* 4.1: the first byte is the value, or tells the sign and how many bytes follow: -113 to -120 positive, -121 to -128
 * negative. Overlong forms are taken; eight bytes of any value are too, wrapped as in Java. */
enum fl_status token_take_vlong(struct fl_slice *in, int64_t *v, struct fl_error *err)
{
    uint64_t bits = 0;
    size_t   count;
    int      first; /* as a signed byte */

    if (in->len == 0)
        return ends_early(err);
    first = in->at[0] < 128 ? in->at[0] : in->at[0] - 256;
    if (first >= -112) {
        *v = first;
        *in = fl_slice_from(*in, 1);
        return FL_OK;
    }
    count = (size_t)(first < -120 ? -120 - first : -112 - first);
    if (in->len - 1 < count)
        return ends_early(err);
    for (size_t i = 1; i <= count; i++)
        bits = bits << 8 | in->at[i];
    *v = (int64_t)(first < -120 ? ~bits : bits);
    *in = fl_slice_from(*in, 1 + count);
    return FL_OK;
}

enum fl_status token_take_vint(struct fl_slice *in, int32_t *v, struct fl_error *err)
{
    struct fl_slice rest = *in;
    int64_t         wide = 0;
    enum fl_status  s = token_take_vlong(&rest, &wide, err);

    if (s != FL_OK)
        return s;
    if (wide < INT32_MIN || wide > INT32_MAX)
        return fl_fail(err, FL_MALFORMED, 0, "java.io.IOException: value too long to fit in integer");
    *v = (int32_t)wide;
    *in = rest;
    return FL_OK;
}

static enum fl_status take_counted(struct fl_slice *in, int32_t len, struct fl_slice rest, struct fl_slice *out,
                                   struct fl_error *err)
{
    if (rest.len < (size_t)len)
        return ends_early(err);
    *out = fl_slice_of(rest.at, (size_t)len);
    *in = fl_slice_from(rest, (size_t)len);
    return FL_OK;
}

enum fl_status token_take_bytes(struct fl_slice *in, struct fl_slice *out, struct fl_error *err)
{
    struct fl_slice rest = *in;
    int32_t         len = 0;
    enum fl_status  s = token_take_vint(&rest, &len, err);

    if (s != FL_OK)
        return s;
    if (len < 0)
        return fl_fail(err, FL_MALFORMED, 0, "java.lang.NegativeArraySizeException: %" PRId32, len);
    return take_counted(in, len, rest, out, err);
}

enum fl_status token_take_text(struct fl_slice *in, struct fl_slice *out, struct fl_error *err)
{
    struct fl_slice rest = *in;
    int32_t         len = 0;
    enum fl_status  s = token_take_vint(&rest, &len, err);

    if (s != FL_OK)
        return s;
    if (len < 0)
        return fl_fail(err, FL_MALFORMED, 0,
                       "java.lang.IndexOutOfBoundsException: Range [0, 0 + %" PRId32 ") out of bounds for length 0",
                       len);
    return take_counted(in, len, rest, out, err);
}

enum fl_status token_take_short_text(struct fl_slice *in, struct fl_slice *out, struct fl_error *err)
{
    struct fl_slice rest = *in;
    int32_t         len = 0;
    enum fl_status  s = token_take_vint(&rest, &len, err);

    if (s != FL_OK)
        return s;
    if (len < 0)
        return fl_fail(err, FL_MALFORMED, 0,
                       "java.io.IOException: tried to deserialize %" PRId32
                       " bytes of data!  newLength must be non-negative.",
                       len);
    if (len >= TOKEN_TEXT_MAX)
        return fl_fail(err, FL_MALFORMED, 0,
                       "java.io.IOException: tried to deserialize %" PRId32 " bytes of data, but maxLength = %d", len,
                       TOKEN_TEXT_MAX);
    return take_counted(in, len, rest, out, err);
}
