#include "http/reply.h"

#include "http/head.h"

static enum fl_status bad(struct fl_error *err, const char *what, struct fl_slice line)
{
    return fl_fail(err, FL_MALFORMED, 0, "malformed answer: %s in line '%.*s'", what, (int)FL_MIN(line.len, 60),
                   (const char *)line.at);
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200 OK"; the reason may be missing, and its blank too. */
static enum fl_status take_status_line(struct fl_slice line, struct http_reply_head *out, struct fl_error *err)
{
    const uint8_t *p = line.at;

    if (line.len < 12 || memcmp(p, "HTTP/1.", 7) != 0 || (p[7] != '1' && p[7] != '0') || p[8] != ' ')
        return bad(err, "no HTTP/1.1 status", line);
    if (p[9] < '1' || p[9] > '5' || !is_digit(p[10]) || !is_digit(p[11]) || (line.len > 12 && p[12] != ' '))
        return bad(err, "no status from 100 to 599", line);
    out->http10 = p[7] == '0';
    out->status = (p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0');
    out->reason = fl_slice_from(line, 13);
    return FL_OK;
}

static enum fl_status take_length(struct fl_slice line, struct fl_slice value, struct http_reply_head *out,
                                  struct fl_error *err)
{
    if (out->has_length || out->chunked)
        return bad(err, "a second length", line);
    out->has_length = true;
    return http_parse_length(value, &out->length) ? FL_OK : bad(err, "no number", line);
}

static enum fl_status take_coding(struct fl_slice line, struct fl_slice value, struct http_reply_head *out,
                                  struct fl_error *err)
{
    if (out->has_length || out->chunked)
        return bad(err, "a second length", line);
    if (out->http10 || !fl_slice_equal_nocase(value, FL_LIT("chunked")))
        return bad(err, "a coding other than 'chunked'", line);
    out->chunked = true;
    return FL_OK;
}

/* Few names have a length that we look for, so nearly all headers cost one comparison of numbers. */
static enum fl_status take_meaning(struct fl_slice line, const struct http_header *h, struct http_reply_head *out,
                                   struct fl_error *err)
{
    if (h->name.len == 14 && fl_slice_equal_nocase(h->name, FL_LIT("Content-Length")))
        return take_length(line, h->value, out, err);
    if (h->name.len == 17 && fl_slice_equal_nocase(h->name, FL_LIT("Transfer-Encoding")))
        return take_coding(line, h->value, out, err);
    if (h->name.len == 10 && fl_slice_equal_nocase(h->name, FL_LIT("Connection"))) {
        out->close = out->close || http_list_has(h->value, FL_LIT("close"));
        out->keep = out->keep || http_list_has(h->value, FL_LIT("keep-alive"));
    }
    return FL_OK;
}

static struct fl_slice trim(struct fl_slice s)
{
    while (s.len > 0 && (s.at[0] == ' ' || s.at[0] == '\t'))
        s = fl_slice_of(s.at + 1, s.len - 1);
    while (s.len > 0 && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t'))
        s.len--;
    return s;
}

static enum fl_status take_header(struct fl_slice line, struct http_header *h, struct http_reply_head *out,
                                  struct fl_error *err)
{
    size_t colon = fl_slice_find(line, ':');

    if (colon == SIZE_MAX)
        return bad(err, "no colon", line);
    h->name = fl_slice_of(line.at, colon);
    h->value = trim(fl_slice_of(line.at + colon + 1, line.len - colon - 1));
    if (colon == 0 || h->name.at[0] <= ' ' || h->name.at[colon - 1] <= ' ') /* folded, or a blank before the colon */
        return bad(err, "no header name", line);
    return take_meaning(line, h, out, err);
}

/* The line that begins at *at, without its CR LF; *at moves behind it. */
static enum fl_status next_line(struct fl_slice bytes, size_t *at, struct fl_slice *line, struct fl_error *err)
{
    const uint8_t *from = bytes.at + *at, *lf = memchr(from, '\n', bytes.len - *at);

    if (lf == NULL)
        return FL_WANT_READ;
    *line = fl_slice_of(from, (size_t)(lf - from));
    if (line->len == 0 || lf[-1] != '\r')
        return bad(err, "LF without CR", *line);
    line->len--;
    *at += line->len + 2;
    return FL_OK;
}

static enum fl_status parse(struct fl_slice bytes, struct http_reply_head *out, struct http_header *headers,
                            struct fl_error *err)
{
    struct fl_slice line;
    size_t          at = 0;
    enum fl_status  s = next_line(bytes, &at, &line, err);

    if (s == FL_OK)
        s = take_status_line(line, out, err);
    while (s == FL_OK && (s = next_line(bytes, &at, &line, err)) == FL_OK && line.len > 0) {
        if (out->header_count == HTTP_REPLY_HEADERS_MAX)
            return fl_fail(err, FL_MALFORMED, 0, "answer with more than %d headers", HTTP_REPLY_HEADERS_MAX);
        s = take_header(line, &headers[out->header_count++], out, err);
    }
    out->bytes = at;
    return s;
}

enum fl_status http_reply_parse(struct fl_slice bytes, size_t *scanned, struct http_reply_head *out,
                                struct http_header *headers, struct fl_error *err)
{
    enum fl_status s = FL_WANT_READ;

    *out = (struct http_reply_head){ 0 };
    /* A head that comes in crumbs is parsed again for each line, not for each of them. */
    if (*scanned < bytes.len && memchr(bytes.at + *scanned, '\n', bytes.len - *scanned) != NULL)
        s = parse(bytes, out, headers, err);
    if ((s == FL_WANT_READ ? bytes.len : out->bytes) > HTTP_REPLY_HEAD_MAX)
        return fl_fail(err, FL_MALFORMED, 0, "answer with a head of more than %d bytes", HTTP_REPLY_HEAD_MAX);
    *scanned = s == FL_WANT_READ ? bytes.len : 0;
    return s;
}
