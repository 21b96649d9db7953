/* The reader of query strings.
 *
 * Java has two: the authentication filter's also cuts at ';' and takes "doAs" in any case, the resources' cuts at '&'
 * only. Both see names and values decoded. */
#include "kms/query.h"

#include <string.h>

static const struct {
    struct fl_slice name;
    bool            of_resource; /* else of the filter */
} parameters[KMS_PARAMETERS] = {
    [KMS_P_USER_NAME] = { { (const uint8_t *)"user.name", 9 }, false },
    [KMS_P_DO_AS] = { { (const uint8_t *)"doAs", 4 }, false },
    [KMS_P_DELEGATION] = { { (const uint8_t *)"delegation", 10 }, false },
    [KMS_P_OP] = { { (const uint8_t *)"op", 2 }, false },
    [KMS_P_RENEWER] = { { (const uint8_t *)"renewer", 7 }, false },
    [KMS_P_SERVICE] = { { (const uint8_t *)"service", 7 }, false },
    [KMS_P_TOKEN] = { { (const uint8_t *)"token", 5 }, false },
    [KMS_P_EEK_OP] = { { (const uint8_t *)"eek_op", 6 }, true },
    [KMS_P_NUM_KEYS] = { { (const uint8_t *)"num_keys", 8 }, true },
};

static struct fl_slice cut(struct fl_slice *rest, uint8_t at)
{
    size_t          i = fl_slice_find(*rest, at);
    struct fl_slice piece = i == SIZE_MAX ? *rest : fl_slice_of(rest->at, i);

    *rest = i == SIZE_MAX ? fl_slice_of(rest->at + rest->len, 0) : fl_slice_from(*rest, i + 1);
    return piece;
}

static int hex(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* '+' is a blank, "%41" an A; a '%' without two digits stays. Without either the text itself. */
static FL_CHECKED bool decode(struct fl_slice text, struct fl_arena *a, struct fl_slice *out)
{
    uint8_t *to;
    size_t   n = 0;

    if (memchr(text.at, '%', text.len) == NULL && memchr(text.at, '+', text.len) == NULL) {
        *out = text;
        return true;
    }
    if ((to = fl_arena_take(a, text.len)) == NULL)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.at[i];
        int     high = c == '%' && text.len - i > 2 ? hex(text.at[i + 1]) : -1;
        int     low = high >= 0 ? hex(text.at[i + 2]) : -1;

        if (low >= 0) {
            c = (uint8_t)(high * 16 + low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        to[n++] = c;
    }
    *out = fl_slice_of(to, n);
    return true;
}

/* Splits name=value; without '=' value->at is NULL. */
static FL_CHECKED bool split(struct fl_slice piece, struct fl_arena *a, struct fl_slice *name, struct fl_slice *value)
{
    struct fl_slice rest = piece;

    *value = (struct fl_slice){ NULL, 0 };
    *name = cut(&rest, '=');
    if (name->len < piece.len)
        *value = rest;
    return decode(*name, a, name);
}

static bool is_named(enum kms_parameter p, struct fl_slice name)
{
    return p == KMS_P_DO_AS ? fl_slice_equal_nocase(name, parameters[p].name)
                            : fl_slice_equal(name, parameters[p].name);
}

static FL_CHECKED bool take(struct kms_query *q, struct fl_slice piece, bool of_resource, struct fl_arena *a)
{
    struct fl_slice name, value;

    if (piece.len == 0)
        return true;
    if (!split(piece, a, &name, &value))
        return false;
    for (int p = 0; p < KMS_PARAMETERS; p++) {
        if (parameters[p].of_resource != of_resource || !is_named(p, name) || q->seen[p])
            continue;
        q->seen[p] = true;
        if (value.at == NULL && of_resource)
            value = fl_slice_of("", 0);
        return value.at == NULL || decode(value, a, &q->value[p]);
    }
    return true;
}

enum fl_status kms_query_read(struct kms_query *q, struct fl_slice query, struct fl_arena *a, struct fl_error *err)
{
    bool fits = true;

    memset(q, 0, sizeof *q);
    while (fits && query.len > 0) {
        struct fl_slice piece = cut(&query, '&'), rest = piece;

        fits = take(q, piece, true, a);
        while (fits && rest.len > 0)
            fits = take(q, cut(&rest, ';'), false, a);
    }
    return fits ? FL_OK : fl_fail(err, FL_NO_MEMORY, 0, "no memory for the query");
}

bool kms_query_next_key(struct fl_slice *query, struct fl_arena *a, struct fl_slice *value, enum fl_status *status)
{
    struct fl_slice name, raw;

    *status = FL_OK;
    while (query->len > 0) {
        struct fl_slice piece = cut(query, '&');

        if (piece.len == 0)
            continue;
        if (!split(piece, a, &name, &raw)) {
            *status = FL_NO_MEMORY;
            return false;
        }
        if (!fl_slice_equal(name, FL_LIT("key")))
            continue;
        if (raw.at == NULL)
            raw = fl_slice_of("", 0);
        if (decode(raw, a, value))
            return true;
        *status = FL_NO_MEMORY;
        return false;
    }
    return false;
}
