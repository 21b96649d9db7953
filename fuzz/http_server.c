/* A whole connection of the server, without a network: requests cut as a network cuts give the same answers as whole,
 * parked or not, and at the end nothing is left over. */
#include "http/http.h"

#include "../tests/unit/fake_http_io.c"

struct run {
    bool               park;
    unsigned           parked;
    struct http_ticket ticket;
};

static void answer(struct http_exchange *x)
{
    const struct http_request *r = http_request_of(x);

    if (r->path.len % 7 == 6)
        http_answer_close(x, 200, r->path, FL_LIT("X: y\r\n"), r->body);
    else
        http_answer(x, 200, r->path, FL_LIT("X: y\r\n"), r->body);
}

static void handler(struct http_exchange *x, void *owner)
{
    struct run *run = owner;

    if (!run->park) {
        answer(x);
        return;
    }
    run->ticket = http_park(x);
    run->parked++;
}

static void answer_parked(struct run *run, struct io_conn *c)
{
    while (run->parked > 0) {
        struct http_exchange *x = http_unpark(run->ticket);

        run->parked = 0;
        if (x == NULL)
            abort();
        answer(x);
        fake_run(c);
    }
}

static void play(struct fl_slice bytes, size_t step, bool park, struct fl_buf *out)
{
    struct http_limits   limits = { .head_bytes = 2048, .body_bytes = 512, .header_count = 10, .requests_per_turn = 3 };
    struct run           run = { .park = park };
    struct http_service *service;
    struct io_listener   listener;
    struct io_conn       c;

    if (http_service_new(&service, &limits, handler, &run, NULL) != FL_OK)
        abort();
    listener.owner = service;
    fake_open(&c, http_protocol(), &listener);
    while (bytes.len > 0 && !c.closing && !c.aborted) {
        size_t n = FL_MIN(step, bytes.len);

        fake_feed(&c, bytes.at, n);
        bytes = fl_slice_from(bytes, n);
        answer_parked(&run, &c);
    }
    fl_buf_put_slice(out, fl_buf_slice(&c.out));
    fake_close(&c);
    http_service_free(service);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fl_slice bytes = len > 0 ? fl_slice_of(data + 1, len - 1) : fl_slice_of(data, 0);
    size_t          step = len > 0 ? 1 + data[0] % 64 : 1;
    struct fl_buf   whole, cut;

    if (bytes.len == 0 || bytes.len > 64 * 1024)
        return 0;
    fl_buf_init(&whole, 0);
    fl_buf_init(&cut, 0);
    play(bytes, SIZE_MAX, false, &whole);
    play(bytes, step, data[0] >= 128, &cut);
    /* "100 Continue" alone hangs on whether the body was here already. */
    if (memmem(bytes.at, bytes.len, "100-", 4) == NULL && memmem(bytes.at, bytes.len, "xpect", 5) == NULL &&
        memmem(bytes.at, bytes.len, "XPECT", 5) == NULL && !fl_slice_equal(fl_buf_slice(&whole), fl_buf_slice(&cut)))
        abort();
    fl_buf_done(&whole);
    fl_buf_done(&cut);
    return 0;
}
