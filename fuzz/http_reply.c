/* The head of an answer: cut as a network cuts, it is the same as whole. */
#include "base/own.h"
#include "http/reply.h"

static void check_inside(struct fl_slice s, struct fl_slice bytes)
{
    if (s.len > 0 && (s.at < bytes.at || s.at + s.len > bytes.at + bytes.len || fl_slice_find(s, '\n') != SIZE_MAX))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    size_t                 step = len > 0 ? 1 + data[0] % 64 : 1, scanned = 0, scanned_cut = 0, i = 0;
    struct fl_slice        bytes = len > 0 ? fl_slice_of(data + 1, len - 1) : fl_slice_of(data, 0);
    struct http_header     headers[HTTP_REPLY_HEADERS_MAX], headers_cut[HTTP_REPLY_HEADERS_MAX];
    struct http_reply_head head, head_cut = { 0 };
    enum fl_status         s = http_reply_parse(bytes, &scanned, &head, headers, NULL), t = FL_WANT_READ;

    while (t == FL_WANT_READ && i < bytes.len) {
        i = FL_MIN(i + step, bytes.len);
        t = http_reply_parse(fl_slice_of(bytes.at, i), &scanned_cut, &head_cut, headers_cut, NULL);
    }
    if (s != t)
        abort();
    if (s != FL_OK)
        return 0;
    if (head.bytes != head_cut.bytes || head.status != head_cut.status || head.length != head_cut.length ||
        head.header_count != head_cut.header_count || (head.chunked && head.has_length))
        abort();
    check_inside(head.reason, bytes);
    for (i = 0; i < head.header_count; i++) {
        check_inside(headers[i].name, bytes);
        check_inside(headers[i].value, bytes);
    }
    return 0;
}
