/* Routing: the longest literal suffix first, names greedy, everything compared before percent-decoding. */
#include "kms/route.h"

#include "base/encode.h"

#include <string.h>

static const struct {
    const char       *suffix;
    enum kms_resource resource;
} key_suffixes[] = {
    { "/_invalidatecache", KMS_R_INVALIDATE }, { "/_currentversion", KMS_R_CURRENT },
    { "/_reencryptbatch", KMS_R_BATCH },       { "/_metadata", KMS_R_METADATA },
    { "/_versions", KMS_R_VERSIONS },          { "/_eek", KMS_R_KEY_EEK },
};

static const struct {
    const char       *path;
    enum kms_resource resource;
} plain_paths[] = {
    { "", KMS_R_ROOT },
    { "/keys", KMS_R_KEYS },
    { "/keys/names", KMS_R_NAMES },
    { "/keys/metadata", KMS_R_METADATAS },
};

const char *kms_route_allow(enum kms_resource r)
{
    static const char *const allow[KMS_RESOURCES] = {
        [KMS_R_OUTSIDE] = "GET,HEAD,POST,OPTIONS",
        [KMS_R_UNKNOWN] = "OPTIONS",
        [KMS_R_BARE] = "OPTIONS",
        [KMS_R_ROOT] = "OPTIONS",
        [KMS_R_KEYS] = "OPTIONS,POST",
        [KMS_R_NAMES] = "OPTIONS,HEAD,GET",
        [KMS_R_METADATAS] = "OPTIONS,HEAD,GET",
        [KMS_R_KEY] = "OPTIONS,HEAD,DELETE,POST,GET",
        [KMS_R_INVALIDATE] = "OPTIONS,POST",
        [KMS_R_CURRENT] = "OPTIONS,HEAD,GET",
        [KMS_R_METADATA] = "OPTIONS,HEAD,GET",
        [KMS_R_VERSIONS] = "OPTIONS,HEAD,GET",
        [KMS_R_KEY_EEK] = "OPTIONS,HEAD,GET",
        [KMS_R_BATCH] = "OPTIONS,POST",
        [KMS_R_VERSION] = "OPTIONS,HEAD,GET",
        [KMS_R_VERSION_EEK] = "OPTIONS,POST",
    };

    return allow[r];
}

/* The container decodes every path once to look at it, so a bad escape is refused wherever it stands. */
static enum fl_status check_escapes(struct fl_slice path, bool *escaped, struct fl_error *err)
{
    const uint8_t *end = path.at + path.len;

    *escaped = false;
    for (const uint8_t *p = path.at; (p = memchr(p, '%', (size_t)(end - p))) != NULL; p += 3) {
        uint8_t byte;

        *escaped = true;
        if (end - p < 3 || fl_hex_decode(fl_slice_of(p + 1, 2), &byte, NULL) != FL_OK)
            return fl_fail(err, FL_MALFORMED, 0, "Bad Request");
        if (byte == 0) /* what a file name in C would end at */
            return fl_fail(err, FL_MALFORMED, 0, "Bad Request");
    }
    return FL_OK;
}

/* The container follows "." and ".." to see that nobody climbs out, though it serves the path as it came; with a
 * parameter behind them it can't tell what is meant. */
static enum fl_status check_segments(struct fl_slice path, struct fl_error *err)
{
    long depth = 0;

    if (memmem(path.at, path.len, "/.", 2) == NULL)
        return FL_OK;
    while (path.len > 0) {
        struct fl_slice rest = fl_slice_from(path, 1), segment;
        size_t          end = fl_slice_find(rest, '/'), semicolon;
        bool            dot, dots;

        segment = fl_slice_of(rest.at, end == SIZE_MAX ? rest.len : end);
        path = fl_slice_from(rest, segment.len);
        semicolon = fl_slice_find(segment, ';');
        if (semicolon != SIZE_MAX)
            segment.len = semicolon;
        dot = fl_slice_equal(segment, FL_LIT("."));
        dots = fl_slice_equal(segment, FL_LIT(".."));
        if (semicolon != SIZE_MAX && (dot || dots))
            return fl_fail(err, FL_MALFORMED, 0, "Ambiguous path parameters");
        depth += dot ? 0 : dots ? -1 : 1;
        if (depth < 0)
            return fl_fail(err, FL_MALFORMED, 0, "Bad Request");
    }
    return FL_OK;
}

/* Without ";x=y" pieces, which end at the next slash. */
static FL_CHECKED bool strip_matrix(struct fl_slice *path, struct fl_arena *a)
{
    uint8_t *to;
    size_t   n = 0;
    bool     inside = false;

    if (memchr(path->at, ';', path->len) == NULL)
        return true;
    if ((to = fl_arena_take(a, path->len)) == NULL)
        return false;
    for (size_t i = 0; i < path->len; i++) {
        uint8_t c = path->at[i];

        inside = c == ';' || (inside && c != '/');
        if (!inside)
            to[n++] = c;
    }
    *path = fl_slice_of(to, n);
    return true;
}

static bool take_prefix(struct fl_slice *s, const char *prefix)
{
    if (!fl_slice_starts(*s, fl_slice_str(prefix)))
        return false;
    *s = fl_slice_from(*s, strlen(prefix));
    return true;
}

static bool take_suffix(struct fl_slice *s, const char *suffix)
{
    if (!fl_slice_ends(*s, fl_slice_str(suffix)))
        return false;
    s->len -= strlen(suffix);
    return true;
}

static struct fl_slice without_last_slash(struct fl_slice s)
{
    return s.len > 0 && s.at[s.len - 1] == '/' ? fl_slice_of(s.at, s.len - 1) : s;
}

/* rest: what follows "/key/". One slash after a suffix is ignored; a name keeps its own. */
static void find_key(struct fl_slice rest, struct kms_route *out)
{
    struct fl_slice shorter = without_last_slash(rest);

    for (size_t i = 0; i < sizeof key_suffixes / sizeof *key_suffixes; i++) {
        out->name = shorter;
        if (take_suffix(&out->name, key_suffixes[i].suffix)) {
            out->resource = key_suffixes[i].resource;
            return;
        }
    }
    out->name = rest;
    out->resource = KMS_R_KEY;
}

static void find_version(struct fl_slice rest, struct kms_route *out)
{
    out->name = without_last_slash(rest);
    out->resource = KMS_R_VERSION_EEK;
    if (!take_suffix(&out->name, "/_eek")) {
        out->name = rest;
        out->resource = KMS_R_VERSION;
    }
}

/* rest: what follows "/kms/v1". */
static void find_resource(struct fl_slice rest, struct kms_route *out)
{
    struct fl_slice shorter = without_last_slash(rest);

    if (take_prefix(&rest, "/key/")) {
        find_key(rest, out);
        return;
    }
    if (take_prefix(&rest, "/keyversion/")) {
        find_version(rest, out);
        return;
    }
    out->resource = KMS_R_UNKNOWN;
    for (size_t i = 0; i < sizeof plain_paths / sizeof *plain_paths; i++)
        if (fl_slice_equal(shorter, fl_slice_str(plain_paths[i].path)))
            out->resource = plain_paths[i].resource;
}

static FL_CHECKED bool decode_name(struct kms_route *r, struct fl_arena *a)
{
    uint8_t *to = fl_arena_take(a, r->name.len + 1);
    size_t   len = 0;

    if (to == NULL || fl_percent_decode(r->name, false, to, &len, NULL) != FL_OK)
        return false;
    r->name = fl_slice_of(to, len);
    return true;
}

enum fl_status kms_route_find(struct fl_slice path, struct fl_arena *a, struct kms_route *out, struct fl_error *err)
{
    bool           escaped;
    enum fl_status s = check_escapes(path, &escaped, err);

    *out = (struct kms_route){ KMS_R_OUTSIDE, { NULL, 0 } };
    if (s != FL_OK || (s = check_segments(path, err)) != FL_OK)
        return s;
    if (!strip_matrix(&path, a))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path of %zu bytes", path.len);
    if (!take_prefix(&path, "/kms") || (path.len > 0 && path.at[0] != '/'))
        return FL_OK;
    out->resource = path.len == 0 ? KMS_R_BARE : KMS_R_UNKNOWN;
    if (!take_prefix(&path, "/v1") || (path.len > 0 && path.at[0] != '/'))
        return FL_OK;
    find_resource(path, out);
    if (escaped && out->name.at != NULL && !decode_name(out, a))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a name of %zu bytes", out->name.len);
    return FL_OK;
}
