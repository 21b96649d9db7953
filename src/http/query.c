/* http/query.c - query strings and the command line's URLs. */
#include "base/encode.h"
#include "http/head.h"

#include <arpa/inet.h>

bool http_query_next(struct fl_slice *query, struct fl_slice *name, struct fl_slice *value)
{
    while (query->len > 0) {
        size_t          amp = fl_slice_find(*query, '&'), equals;
        struct fl_slice piece = amp == SIZE_MAX ? *query : fl_slice_of(query->at, amp);

        *query = fl_slice_from(*query, amp == SIZE_MAX ? query->len : amp + 1);
        if (piece.len == 0)
            continue;
        equals = fl_slice_find(piece, '=');
        *name = equals == SIZE_MAX ? piece : fl_slice_of(piece.at, equals);
        *value = fl_slice_from(piece, equals == SIZE_MAX ? piece.len : equals + 1);
        return true;
    }
    return false;
}

static bool same_name(struct fl_slice name, struct fl_slice wanted, bool any_case)
{
    return any_case ? fl_slice_equal_nocase(name, wanted) : fl_slice_equal(name, wanted);
}

/* An encoded name is never shorter than what it means. A broken one is not the one that is looked for. */
static enum fl_status name_is(struct fl_arena *arena, struct fl_slice name, struct fl_slice wanted, bool any_case,
                              bool *is, struct fl_error *err)
{
    uint8_t *decoded;
    size_t   len;

    *is = false;
    if (name.len < wanted.len)
        return FL_OK;
    if (name.len == wanted.len || fl_slice_find(name, '%') == SIZE_MAX) {
        *is = same_name(name, wanted, any_case); /* no name that we know has a blank, so '+' needs no look */
        return FL_OK;
    }
    decoded = fl_arena_take(arena, name.len);
    if (decoded == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory to decode a query");
    if (fl_percent_decode(name, true, decoded, &len, NULL) == FL_OK)
        *is = same_name(fl_slice_of(decoded, len), wanted, any_case);
    return FL_OK;
}

enum fl_status http_query_find(const struct http_request *r, const char *name, bool any_case, bool *found,
                               struct fl_slice *value, struct fl_error *err)
{
    struct fl_slice query = r->query, wanted = fl_slice_str(name), n, v;
    uint8_t        *decoded;
    size_t          len;

    *found = false;
    while (!*found && http_query_next(&query, &n, &v))
        if (name_is(r->arena, n, wanted, any_case, found, err) != FL_OK)
            return FL_NO_MEMORY;
    if (!*found)
        return FL_OK;
    if (fl_slice_find(v, '%') == SIZE_MAX && fl_slice_find(v, '+') == SIZE_MAX) {
        *value = v; /* nothing to decode: it lives as long as the request, like the arena */
        return FL_OK;
    }
    decoded = fl_arena_take(r->arena, v.len + 1);
    if (decoded == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the query parameter '%s'", name);
    if (fl_percent_decode(v, true, decoded, &len, err) != FL_OK) {
        fl_fail_in(err, "query parameter '%s'", name);
        return FL_MALFORMED; /* also where err is NULL */
    }
    *value = fl_slice_of(decoded, len);
    return FL_OK;
}

/* ---- URLs ------------------------------------------------------------------------------------------------------------- */

static enum fl_status take_port(struct fl_slice text, const char *url, uint16_t *port, struct fl_error *err)
{
    uint64_t n;

    if (!http_parse_length(text, &n) || n == 0 || n > UINT16_MAX)
        return fl_fail(err, FL_USAGE, 0, "URL '%s' has port '%.*s', where 1 to 65535 are allowed", url,
                       FL_SLICE_ARGS(text));
    *port = (uint16_t)n;
    return FL_OK;
}

static bool host_byte(uint8_t c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '.' || c == '-' || c == '_';
}

static enum fl_status take_host(struct fl_slice host, bool bracketed, const char *url, struct http_url *out,
                                struct fl_error *err)
{
    struct in6_addr v6;

    if (host.len == 0 || host.len >= sizeof out->host)
        return fl_fail(err, FL_USAGE, 0, "URL '%s' has a host of %zu bytes, where 1 to %zu are allowed", url, host.len,
                       sizeof out->host - 1);
    memcpy(out->host, host.at, host.len);
    out->host[host.len] = '\0';
    if (bracketed && inet_pton(AF_INET6, out->host, &v6) != 1)
        return fl_fail(err, FL_USAGE, 0, "URL '%s': '%s' is no IPv6 address", url, out->host);
    for (size_t i = 0; !bracketed && i < host.len; i++)
        if (!host_byte(host.at[i]))
            return fl_fail(err, FL_USAGE, 0, "URL '%s': a host name has letters, digits, '.', '-' and '_' only", url);
    return FL_OK;
}

/* "host", "host:port", "[address]:port" */
static enum fl_status take_authority(struct fl_slice a, const char *url, struct http_url *out, struct fl_error *err)
{
    bool            bracketed = a.len > 0 && a.at[0] == '[';
    size_t          end = bracketed ? fl_slice_find(a, ']') : fl_slice_find_last(a, ':');
    struct fl_slice host, rest;

    if (bracketed && end == SIZE_MAX)
        return fl_fail(err, FL_USAGE, 0, "URL '%s': '[' without ']'", url);
    host = bracketed ? fl_slice_of(a.at + 1, end - 1) : fl_slice_of(a.at, end == SIZE_MAX ? a.len : end);
    rest = bracketed ? fl_slice_from(a, end + 1) : fl_slice_from(a, host.len);
    if (take_host(host, bracketed, url, out, err) != FL_OK)
        return FL_USAGE;
    if (rest.len == 0)
        return FL_OK;
    if (rest.at[0] != ':')
        return fl_fail(err, FL_USAGE, 0, "URL '%s': ':' and a port may follow ']'", url);
    return take_port(fl_slice_from(rest, 1), url, &out->port, err);
}

static enum fl_status check_target(struct fl_slice target, const char *url, struct fl_error *err)
{
    for (size_t i = 0; i < target.len; i++)
        if (target.at[i] <= ' ' || target.at[i] >= 0x7f)
            return fl_fail(err, FL_USAGE, 0, "URL has byte 0x%02x in its path, which must be percent-encoded: '%s'",
                           target.at[i], url);
    return FL_OK;
}

/* "unix:/run/x.sock:/target" */
static enum fl_status take_local(struct fl_slice rest, const char *text, struct http_url *out, struct fl_error *err)
{
    size_t          end = fl_slice_find(rest, ':');
    struct http_url url = { .local = true };

    if (end == SIZE_MAX || end == 0 || rest.at[0] != '/' || rest.len - end < 2 || rest.at[end + 1] != '/')
        return fl_fail(err, FL_USAGE, 0, "URL '%s': unix:/path/of/socket:/path is expected", text);
    if (end >= sizeof url.host)
        return fl_fail(err, FL_USAGE, 0, "URL '%s' has a socket path of %zu bytes, where 1 to %zu are allowed", text,
                       end, sizeof url.host - 1);
    memcpy(url.host, rest.at, end);
    url.target = fl_slice_from(rest, end + 1);
    if (check_target(url.target, text, err) != FL_OK)
        return FL_USAGE;
    *out = url;
    return FL_OK;
}

enum fl_status http_url_parse(const char *text, struct http_url *out, struct fl_error *err)
{
    struct fl_slice rest = fl_slice_str(text);
    struct http_url url = { .port = 80 };
    size_t          end = 0;

    if (fl_slice_starts(rest, FL_LIT("unix:")))
        return take_local(fl_slice_from(rest, 5), text, out, err);
    if (rest.len >= 8 && fl_slice_equal_nocase(fl_slice_of(rest.at, 8), FL_LIT("https://"))) {
        url.secure = true;
        url.port = 443;
        rest = fl_slice_from(rest, 8);
    } else if (rest.len >= 7 && fl_slice_equal_nocase(fl_slice_of(rest.at, 7), FL_LIT("http://"))) {
        rest = fl_slice_from(rest, 7);
    } else {
        return fl_fail(err, FL_USAGE, 0, "URL '%s' begins with none of http://, https:// and unix:", text);
    }
    while (end < rest.len && rest.at[end] != '/' && rest.at[end] != '?' && rest.at[end] != '#')
        end++;
    if (take_authority(fl_slice_of(rest.at, end), text, &url, err) != FL_OK)
        return FL_USAGE;
    url.target = fl_slice_from(rest, end);
    end = fl_slice_find(url.target, '#');
    if (end != SIZE_MAX)
        url.target.len = end;
    if (url.target.len > 0 && url.target.at[0] == '?')
        return fl_fail(err, FL_USAGE, 0, "URL '%s' has no '/' before its '?'", text);
    if (check_target(url.target, text, err) != FL_OK)
        return FL_USAGE;
    if (url.target.len == 0)
        url.target = FL_LIT("/");
    *out = url;
    return FL_OK;
}
