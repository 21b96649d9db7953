#include "key/record.h"

#include <endian.h>

/* ---- writing
 * ------------------------------------------------------------------------------------------------------------- */

static void put32(struct fl_buf *b, size_t n)
{
    uint32_t be = htobe32((uint32_t)n);

    fl_buf_put(b, &be, sizeof be);
}

static void put_bytes(struct fl_buf *b, struct fl_slice s)
{
    put32(b, s.len);
    fl_buf_put_slice(b, s);
}

bool key_record_put(struct fl_buf *b, const struct key *k)
{
    uint64_t created = htobe64((uint64_t)k->created_wall_ms);

    fl_buf_put_byte(b, KEY_RECORD_FORMAT);
    fl_buf_put_byte(b, k->has_description);
    put32(b, k->bits);
    put32(b, k->version_count);
    fl_buf_put(b, &created, sizeof created);
    put_bytes(b, k->name);
    put_bytes(b, k->cipher);
    put_bytes(b, k->description);
    put32(b, k->attribute_count);
    for (size_t i = 0; i < k->attribute_count; i++) {
        put_bytes(b, k->attributes[i].name);
        put_bytes(b, k->attributes[i].value);
    }
    return !b->failed;
}

bool key_version_put(struct fl_buf *b, struct fl_slice name, uint32_t number, struct fl_slice material)
{
    fl_buf_put_byte(b, KEY_RECORD_FORMAT);
    put32(b, number);
    put_bytes(b, name);
    put_bytes(b, material);
    return !b->failed;
}

size_t key_version_key(struct fl_slice name, uint32_t number, uint8_t out[KEY_VERSION_KEY_MAX])
{
    size_t   len = store_name_key(name, out);
    uint32_t be = htobe32(number);

    memcpy(out + len, &be, sizeof be);
    return len + sizeof be;
}

/* ---- reading
 * ------------------------------------------------------------------------------------------------------------- */

/* What is left to read. Reading past the end gives zeros and empty slices and is remembered. */
struct reader {
    struct fl_slice left;
    bool            failed;
};

static struct fl_slice take(struct reader *r, size_t len)
{
    struct fl_slice taken = r->left;

    if (len > r->left.len) {
        r->failed = true;
        return fl_slice_of(NULL, 0);
    }
    taken.len = len;
    r->left = fl_slice_from(r->left, len);
    return taken;
}

static uint8_t take8(struct reader *r)
{
    struct fl_slice s = take(r, 1);

    return s.len == 0 ? 0 : s.at[0];
}

static uint32_t take32(struct reader *r)
{
    struct fl_slice s = take(r, 4);
    uint32_t        n = 0;

    if (s.len == 4)
        memcpy(&n, s.at, sizeof n);
    return be32toh(n);
}

static uint64_t take64(struct reader *r)
{
    uint64_t high = take32(r);

    return high << 32 | take32(r);
}

static struct fl_slice take_bytes(struct reader *r)
{
    uint32_t len = take32(r);

    return take(r, len);
}

static enum fl_status bad(const char *what, struct fl_error *err)
{
    return fl_fail(err, FL_MALFORMED, 0, "the record of a key is damaged: %s", what);
}

static enum fl_status check_format(struct reader *r, struct fl_error *err)
{
    uint8_t format = take8(r);

    if (r->failed)
        return bad("it is empty", err);
    if (format != KEY_RECORD_FORMAT)
        return fl_fail(err, FL_MALFORMED, 0, "the record of a key has format %u, where this version knows %d", format,
                       KEY_RECORD_FORMAT);
    return FL_OK;
}

static enum fl_status decode_attributes(struct reader *r, struct key *k, struct fl_error *err)
{
    uint32_t              count = take32(r);
    struct key_attribute *attributes;

    if (r->failed || count > KEY_ATTRIBUTES_MAX)
        return bad("it has too many attributes", err);
    if (count == 0)
        return FL_OK;
    if ((attributes = calloc(count, sizeof *attributes)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for %u attributes of a key", count);
    for (uint32_t i = 0; i < count; i++) {
        attributes[i].name = take_bytes(r);
        attributes[i].value = take_bytes(r);
    }
    k->attributes = attributes;
    k->attribute_count = count;
    return FL_OK;
}

void key_record_done(struct key *decoded)
{
    free((void *)(uintptr_t)decoded->attributes);
    decoded->attributes = NULL;
}

static enum fl_status check_fields(const struct reader *r, const struct key *k, uint8_t has_description,
                                   struct fl_error *err)
{
    if (r->failed || r->left.len > 0)
        return bad("it ends too early or too late", err);
    if (k->name.len == 0 || k->name.len > KEY_NAME_MAX)
        return bad("the name's length", err);
    if (has_description > 1 || (!has_description && k->description.len > 0))
        return bad("the description", err);
    if (k->version_count == 0 || k->version_count == UINT32_MAX)
        return bad("the count of versions", err);
    return FL_OK;
}

enum fl_status key_record_decode(struct fl_slice record, struct key *out, struct fl_error *err)
{
    struct reader  r = { record, false };
    struct key     k = { .has_description = false };
    uint8_t        has_description;
    enum fl_status s = check_format(&r, err);

    if (s != FL_OK)
        return s;
    has_description = take8(&r);
    k.has_description = has_description != 0;
    k.bits = take32(&r);
    k.version_count = take32(&r);
    k.created_wall_ms = (int64_t)take64(&r);
    k.name = take_bytes(&r);
    k.cipher = take_bytes(&r);
    k.description = take_bytes(&r);
    if ((s = decode_attributes(&r, &k, err)) != FL_OK)
        return s;
    if ((s = check_fields(&r, &k, has_description, err)) != FL_OK) {
        key_record_done(&k);
        return s;
    }
    *out = k;
    return FL_OK;
}

enum fl_status key_version_decode(struct fl_slice record, struct key_version_record *out, struct fl_error *err)
{
    struct reader             r = { record, false };
    struct key_version_record v;
    enum fl_status            s = check_format(&r, err);

    if (s != FL_OK)
        return s;
    v.number = take32(&r);
    v.name = take_bytes(&r);
    v.material = take_bytes(&r);
    if (r.failed || r.left.len > 0)
        return bad("it ends too early or too late", err);
    if (v.name.len == 0 || v.name.len > KEY_NAME_MAX || v.material.len == 0 || v.material.len > KEY_MATERIAL_MAX)
        return bad("the length of a name or of material", err);
    *out = v;
    return FL_OK;
}
