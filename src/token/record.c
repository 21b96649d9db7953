#include "token/record.h"

#include "token/identifier.h"
#include "token/reader.h"

#include <inttypes.h>

enum { KEY_BYTES_MAX = 1024 };

void token_write_be32(uint8_t at[4], uint32_t v)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (24 - 8 * i));
}

int32_t token_read_be32(const uint8_t at[4])
{
    return (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}

bool token_record_put(struct fl_buf *b, struct fl_slice identifier, int64_t renew_ms, struct fl_slice password)
{
    uint8_t fixed[12];

    token_write_be32(fixed, (uint32_t)((uint64_t)renew_ms >> 32));
    token_write_be32(fixed + 4, (uint32_t)renew_ms);
    token_write_be32(fixed + 8, (uint32_t)password.len);
    return fl_buf_put_slice(b, identifier) && fl_buf_put(b, fixed, sizeof fixed) && fl_buf_put_slice(b, password);
}

enum fl_status token_record_get(struct fl_slice bytes, struct token_record *r, struct fl_error *err)
{
    struct token_record got;
    struct fl_slice     rest = bytes;
    int32_t             len;
    enum fl_status      s = token_identifier_take(&rest, &got.fields, err);

    if (s != FL_OK)
        return s;
    got.identifier = fl_slice_of(bytes.at, bytes.len - rest.len);
    if (rest.len < 12)
        return fl_fail(err, FL_MALFORMED, 0, "%zu bytes behind the identifier, where at least 12 are needed", rest.len);
    got.renew_ms =
        (int64_t)((uint64_t)(uint32_t)token_read_be32(rest.at) << 32 | (uint32_t)token_read_be32(rest.at + 4));
    len = token_read_be32(rest.at + 8);
    rest = fl_slice_from(rest, 12);
    if (len < 1 || len > TOKEN_PASSWORD_MAX)
        return fl_fail(err, FL_MALFORMED, 0, "password of %" PRId32 " bytes, where 1 to %d are allowed", len,
                       TOKEN_PASSWORD_MAX);
    if (rest.len < (size_t)len)
        return fl_fail(err, FL_MALFORMED, 0, "%zu bytes of a password of %" PRId32, rest.len, len);
    got.password = fl_slice_of(rest.at, (size_t)len);
    *r = got;
    return FL_OK;
}

bool token_key_record_put(struct fl_buf *b, const struct token_key_record *k)
{
    return token_put_vlong(b, k->id) && token_put_vlong(b, k->expiry_ms) && token_put_text(b, k->key);
}

enum fl_status token_key_record_get(struct fl_slice bytes, struct token_key_record *k, struct fl_error *err)
{
    struct token_key_record got;
    int32_t                 len;
    enum fl_status          s;

    if ((s = token_take_vint(&bytes, &got.id, err)) != FL_OK ||
        (s = token_take_vlong(&bytes, &got.expiry_ms, err)) != FL_OK ||
        (s = token_take_vint(&bytes, &len, err)) != FL_OK)
        return s;
    if (len < 1 || len > KEY_BYTES_MAX) /* -1 is Java's "no key" */
        return fl_fail(err, FL_MALFORMED, 0, "master key %" PRId32 " of %" PRId32 " bytes, where 1 to %d are allowed",
                       got.id, len, KEY_BYTES_MAX);
    if (bytes.len < (size_t)len)
        return fl_fail(err, FL_MALFORMED, 0, "%zu bytes of master key %" PRId32 ", which has %" PRId32, bytes.len,
                       got.id, len);
    got.key = fl_slice_of(bytes.at, (size_t)len);
    *k = got;
    return FL_OK;
}
