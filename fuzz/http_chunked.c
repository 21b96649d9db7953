/* A chunked body: cut as a network cuts, it is the same as whole, and never above its limit. */
#include "base/own.h"
#include "http/chunked.h"

enum { LIMIT = 4096 };

static enum fl_status feed(struct fl_slice bytes, size_t step, struct fl_buf *body, size_t *left)
{
    struct http_chunked c = { 0 };
    struct http_refusal why;
    enum fl_status      s = FL_WANT_READ;

    while (s == FL_WANT_READ && bytes.len > 0) {
        struct fl_slice in = fl_slice_of(bytes.at, FL_MIN(step, bytes.len));
        size_t          had = in.len;

        s = http_chunked_feed(&c, &in, LIMIT, body, &why);
        if (s == FL_WANT_READ && in.len > 0)
            abort();
        if (s == FL_MALFORMED && (why.status != 400 && why.status != 413))
            abort();
        bytes = fl_slice_from(bytes, had - in.len);
    }
    *left = bytes.len;
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    size_t          step = len > 0 ? 1 + data[0] % 64 : 1, left_whole, left_cut;
    struct fl_slice bytes = len > 0 ? fl_slice_of(data + 1, len - 1) : fl_slice_of(data, 0);
    struct fl_buf   whole, cut;

    fl_buf_init(&whole, LIMIT);
    fl_buf_init(&cut, LIMIT);
    if (feed(bytes, SIZE_MAX, &whole, &left_whole) != feed(bytes, step, &cut, &left_cut) || left_whole != left_cut ||
        !fl_slice_equal(fl_buf_slice(&whole), fl_buf_slice(&cut)))
        abort();
    fl_buf_done(&whole);
    fl_buf_done(&cut);
    return 0;
}
