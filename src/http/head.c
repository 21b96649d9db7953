#include "http/head.h"

#include "http/lexer.h"

/* ---- the request line --------------------------------------------------------------------------------------------- */

struct line {
    struct fl_slice method, target;
    bool            http10;
};

static size_t skip_blanks(struct fl_slice line, size_t i)
{
    while (i < line.len && line.at[i] == ' ')
        i++;
    return i;
}

static enum fl_status take_version(struct fl_slice version, bool *http10, struct http_refusal *why)
{
    if (fl_slice_equal(version, FL_LIT("HTTP/1.1")) || fl_slice_equal(version, FL_LIT("http/1.1"))) {
        *http10 = false;
        return FL_OK;
    }
    if (fl_slice_equal(version, FL_LIT("HTTP/1.0")) || fl_slice_equal(version, FL_LIT("http/1.0"))) {
        *http10 = true;
        return FL_OK;
    }
    if (fl_slice_equal(version, FL_LIT("HTTP/2.0")))
        return http_refuse(why, 426, "Upgrade Required");
    if (version.len == 0)
        return http_refuse(why, 505, "HTTP/0.9 not supported");
    if (version.at[version.len - 1] == ' ')
        return http_refuse_byte(why, ' ');
    return http_refuse(why, 505, "Unknown Version");
}

/* Any token is a method; runs of blanks between the parts are taken, as the originals take them. */
static enum fl_status split_line(struct fl_slice text, struct line *out, struct http_refusal *why)
{
    size_t i = 0, from;

    while (i < text.len && http_token_byte[text.at[i]])
        i++;
    if (i < text.len && (text.at[i] != ' ' || i == 0))
        return http_refuse_byte(why, text.at[i]);
    out->method = fl_slice_of(text.at, i);
    from = i = skip_blanks(text, i);
    while (i < text.len && text.at[i] != ' ') {
        if (text.at[i] == '\t')
            return http_refuse_byte(why, '\t');
        i++;
    }
    if (i == from)
        return http_refuse(why, 400, "No URI");
    out->target = fl_slice_of(text.at + from, i - from);
    return take_version(fl_slice_from(text, skip_blanks(text, i)), &out->http10, why);
}

enum fl_status http_head_check_line(struct fl_slice text, struct http_refusal *why)
{
    struct line line;

    return split_line(text, &line, why);
}

static enum http_method method_of(struct fl_slice text)
{
    static const char names[][8] = {
        [HTTP_GET] = "GET",       [HTTP_HEAD] = "HEAD",       [HTTP_POST] = "POST",   [HTTP_PUT] = "PUT",
        [HTTP_DELETE] = "DELETE", [HTTP_OPTIONS] = "OPTIONS", [HTTP_TRACE] = "TRACE", [HTTP_PATCH] = "PATCH",
    };

    for (int i = 0; i < HTTP_OTHER; i++)
        if (fl_slice_equal(text, fl_slice_str(names[i])))
            return (enum http_method)i;
    return HTTP_OTHER;
}

/* ---- the target ----------------------------------------------------------------------------------------------------- */

/* A fragment has no business in a request; the originals cut it off, and so do we. */
static void split_path(struct fl_slice text, struct http_request *r)
{
    size_t hash = fl_slice_find(text, '#'), mark;

    if (hash != SIZE_MAX)
        text.len = hash;
    mark = fl_slice_find(text, '?');
    r->path = mark == SIZE_MAX ? text : fl_slice_of(text.at, mark);
    r->query = mark == SIZE_MAX ? (struct fl_slice){ NULL, 0 } : fl_slice_from(text, mark + 1);
    if (r->path.len == 0)
        r->path = FL_LIT("/"); /* "http://host?query" */
}

static bool take_scheme(struct fl_slice *target)
{
    static const struct fl_slice schemes[] = { { (const uint8_t *)"http://", 7 }, { (const uint8_t *)"https://", 8 } };

    for (size_t i = 0; i < FL_COUNT(schemes); i++)
        if (target->len >= schemes[i].len &&
            fl_slice_equal_nocase(fl_slice_of(target->at, schemes[i].len), schemes[i])) {
            *target = fl_slice_from(*target, schemes[i].len);
            return true;
        }
    return false;
}

static enum fl_status split_target(struct http_request *r, struct http_refusal *why)
{
    struct fl_slice rest = r->target;
    size_t          end = 0;

    if (rest.at[0] == '/') {
        split_path(rest, r);
        return FL_OK;
    }
    if (r->method == HTTP_OPTIONS && fl_slice_equal(rest, FL_LIT("*"))) {
        r->path = rest;
        return FL_OK;
    }
    if (!take_scheme(&rest))
        return http_refuse(why, 400, "Bad Request");
    while (end < rest.len && rest.at[end] != '/' && rest.at[end] != '?' && rest.at[end] != '#')
        end++;
    if (end == 0)
        return http_refuse(why, 400, "Bad Request");
    r->host = fl_slice_of(rest.at, end); /* RFC 9112 3.2.2: it wins over the Host header */
    split_path(fl_slice_from(rest, end), r);
    return FL_OK;
}

/* ---- what the headers mean ------------------------------------------------------------------------------------------ */

struct meaning {
    struct http_request *r;
    struct http_framing *framing;
    bool                 host, length, coding, close, keep, expect_other;
};

bool http_parse_length(struct fl_slice text, uint64_t *out)
{
    uint64_t n = 0;

    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned digit = (unsigned)text.at[i] - '0';

        if (digit > 9 || n > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = n;
    return true;
}

bool http_list_has(struct fl_slice list, struct fl_slice word)
{
    while (list.len > 0) {
        size_t          comma = fl_slice_find(list, ',');
        struct fl_slice item = comma == SIZE_MAX ? list : fl_slice_of(list.at, comma);

        if (fl_slice_equal_nocase(fl_slice_trim(item), word))
            return true;
        list = comma == SIZE_MAX ? fl_slice_of(NULL, 0) : fl_slice_from(list, comma + 1);
    }
    return false;
}

/* 1 to 65535. */
static bool is_port(struct fl_slice text)
{
    uint64_t port;

    return http_parse_length(text, &port) && port >= 1 && port <= 65535;
}

/* What is behind the host must be a port. Several colons without brackets are an IPv6 address, as the originals take
 * them. */
static bool has_good_port(struct fl_slice host)
{
    size_t end = host.len > 0 && host.at[0] == '[' ? fl_slice_find(host, ']') : SIZE_MAX, colon;

    if (end != SIZE_MAX) {
        host = fl_slice_from(host, end + 1);
        return host.len == 0 || (host.at[0] == ':' && is_port(fl_slice_from(host, 1)));
    }
    if (host.len > 0 && host.at[0] == '[')
        return false;
    colon = fl_slice_find(host, ':');
    return colon == SIZE_MAX || colon != fl_slice_find_last(host, ':') || is_port(fl_slice_from(host, colon + 1));
}

static enum fl_status on_host(struct meaning *m, struct fl_slice value, struct http_refusal *why)
{
    if (m->host)
        return http_refuse(why, 400, "Multiple Hosts");
    if (!has_good_port(value))
        return http_refuse(why, 400, "Bad HostPort");
    m->host = true;
    if (m->r->host.at == NULL)
        m->r->host = value;
    return FL_OK;
}

static enum fl_status on_length(struct meaning *m, struct fl_slice value, struct http_refusal *why)
{
    if (m->coding)
        return http_refuse(why, 400, "Transfer-Encoding and Content-Length");
    if (m->length)
        return http_refuse(why, 400, "Multiple Content-Lengths"); /* equal ones too: some peer counted otherwise */
    m->length = true;
    if (http_parse_length(value, &m->framing->length))
        return FL_OK;
    for (size_t i = 0; i < value.len; i++)
        if (value.at[i] < '0' || value.at[i] > '9')
            return http_refuse(why, 400, "Invalid Content-Length Value");
    return http_refuse(why, 400, value.len > 0 ? "Bad Request" : "Invalid Content-Length Value"); /* 2^63 or more */
}

static enum fl_status on_coding(struct meaning *m, struct fl_slice value, struct http_refusal *why)
{
    if (m->length)
        return http_refuse(why, 400, "Transfer-Encoding and Content-Length");
    if (m->r->http10)
        return http_refuse(why, 400, "Transfer-Encoding in HTTP/1.0");
    if (m->coding || !fl_slice_equal_nocase(value, FL_LIT("chunked")))
        return http_refuse(why, 400, "Bad Transfer-Encoding, chunked not last");
    m->coding = m->framing->chunked = true;
    return FL_OK;
}

/* Names are told apart by their length first: most headers of a request are none of these. */
static enum fl_status take_header(struct meaning *m, const struct http_header *h, struct http_refusal *why)
{
    switch (h->name.len) {
    case 4: return fl_slice_equal_nocase(h->name, FL_LIT("Host")) ? on_host(m, h->value, why) : FL_OK;
    case 14: return fl_slice_equal_nocase(h->name, FL_LIT("Content-Length")) ? on_length(m, h->value, why) : FL_OK;
    case 17: return fl_slice_equal_nocase(h->name, FL_LIT("Transfer-Encoding")) ? on_coding(m, h->value, why) : FL_OK;
    case 10:
        if (fl_slice_equal_nocase(h->name, FL_LIT("Connection"))) {
            m->close = m->close || http_list_has(h->value, FL_LIT("close"));
            m->keep = m->keep || http_list_has(h->value, FL_LIT("keep-alive"));
        }
        return FL_OK;
    case 6:
        if (fl_slice_equal_nocase(h->name, FL_LIT("Expect")) && !m->r->http10) {
            m->framing->expects_continue = fl_slice_equal_nocase(h->value, FL_LIT("100-continue"));
            m->expect_other = m->expect_other || !m->framing->expects_continue;
        }
        return FL_OK;
    default: return FL_OK;
    }
}

static enum fl_status judge_headers(struct meaning *m, struct http_refusal *why)
{
    struct http_request *r = m->r;

    for (size_t i = 0; i < r->header_count; i++) {
        if (!http_is_token(r->headers[i].name))
            return http_refuse(why, 400, "Bad Request");
        if (take_header(m, &r->headers[i], why) != FL_OK)
            return FL_MALFORMED;
    }
    if (!m->host && !r->http10)
        return http_refuse(why, 400, "No Host");
    if (m->expect_other)
        return http_refuse(why, 417, "Expectation Failed");
    r->keep_alive = r->http10 ? m->keep && !m->close : !m->close;
    return FL_OK;
}

enum fl_status http_head_parse(struct fl_slice head, size_t first_line, struct http_request *r, size_t header_cap,
                               struct http_framing *framing, struct http_refusal *why)
{
    struct http_headers headers = { .at = r->headers, .cap = header_cap };
    struct meaning      m = { .r = r, .framing = framing };
    struct line         line;

    if (split_line(fl_slice_of(head.at, first_line), &line, why) != FL_OK)
        return FL_MALFORMED;
    *r = (struct http_request){ .headers = headers.at,
                                .method_text = line.method,
                                .target = line.target,
                                .http10 = line.http10,
                                .method = method_of(line.method) };
    *framing = (struct http_framing){ 0 };
    if (split_target(r, why) != FL_OK || http_lex_headers(fl_slice_from(head, first_line + 2), &headers, why) != FL_OK)
        return FL_MALFORMED;
    r->header_count = headers.count;
    return judge_headers(&m, why);
}

static void move(struct fl_slice *s, struct fl_slice from, const uint8_t *to)
{
    if (s->at >= from.at && s->at <= from.at + from.len) /* "/" of an empty path is none of it */
        s->at = to + (s->at - from.at);
}

void http_request_move(struct http_request *r, struct fl_slice from, const uint8_t *to)
{
    struct fl_slice *parts[] = { &r->method_text, &r->target, &r->path, &r->query, &r->host, &r->body };

    for (size_t i = 0; i < FL_COUNT(parts); i++)
        move(parts[i], from, to);
    for (size_t i = 0; i < r->header_count; i++) {
        move(&r->headers[i].name, from, to);
        move(&r->headers[i].value, from, to);
    }
}

const struct fl_slice *http_header_find(const struct http_request *r, const char *name)
{
    struct fl_slice wanted = fl_slice_str(name);

    for (size_t i = 0; i < r->header_count; i++)
        if (fl_slice_equal_nocase(r->headers[i].name, wanted))
            return &r->headers[i].value;
    return NULL;
}
