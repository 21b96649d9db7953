/* The head of a request: cut as a network cuts, it is the same as whole; what is taken lies inside the bytes and holds
 * nothing that could pass for another line. */
#include "base/own.h"
#include "http/head.h"
#include "http/scan.h"

enum { HEADERS = 100, LIMIT = 64 * 1024 };

static void check_inside(struct fl_slice s, struct fl_slice bytes)
{
    if (s.len == 0)
        return;
    if (s.at < bytes.at || s.at + s.len > bytes.at + bytes.len)
        abort();
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] == '\r' || s.at[i] == '\n' || s.at[i] == '\0')
            abort();
}

static void check_request(const struct http_request *r, const struct http_framing *f, struct fl_slice head)
{
    if (r->path.len == 0 || (r->path.at[0] != '/' && !fl_slice_equal(r->path, FL_LIT("*"))))
        abort();
    if (f->chunked && (f->length > 0 || r->http10 || http_header_find(r, "content-length") != NULL))
        abort();
    if (!r->http10 && http_header_find(r, "HOST") == NULL)
        abort();
    check_inside(r->method_text, head);
    check_inside(r->target, head);
    check_inside(r->query, head);
    check_inside(r->host, head);
    for (size_t i = 0; i < r->header_count; i++) {
        check_inside(r->headers[i].name, head);
        check_inside(r->headers[i].value, head);
        if (!http_is_token(r->headers[i].name))
            abort();
    }
}

static void parse(struct fl_slice head, size_t first_line)
{
    struct http_header  headers[HEADERS];
    struct http_request r = { .headers = headers };
    struct http_framing f;
    struct http_refusal why;

    if (http_head_parse(head, first_line, &r, HEADERS, &f, &why) == FL_OK)
        check_request(&r, &f, head);
    else if (why.status < 400 || why.reason[0] == '\0')
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    size_t              step = len > 0 ? 1 + data[0] % 64 : 1, i = 0;
    struct fl_slice     bytes = len > 0 ? fl_slice_of(data + 1, len - 1) : fl_slice_of(data, 0);
    struct http_scan    whole = { 0 }, cut = { 0 };
    struct http_refusal why, why_cut;
    enum fl_status      s = http_scan_head(&whole, bytes, LIMIT, &why), t = FL_WANT_READ;

    while (t == FL_WANT_READ && i < bytes.len) {
        i = FL_MIN(i + step, bytes.len);
        t = http_scan_head(&cut, fl_slice_of(bytes.at, i), LIMIT, &why_cut);
    }
    if (s != t || (s == FL_OK && (whole.at != cut.at || whole.first_line != cut.first_line)))
        abort();
    if (s == FL_MALFORMED && (why.status != why_cut.status || strcmp(why.reason, why_cut.reason) != 0))
        abort();
    if (s == FL_OK)
        parse(fl_slice_of(bytes.at, whole.at), whole.first_line);
    return 0;
}
