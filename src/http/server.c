/* http/server.c - a connection of the server: heads, bodies and handlers in turn. */
#include "http/inside.h"

#include "base/clock.h"

#include <assert.h>

enum { BODY_PROGRESS = 16 * 1024 };

enum step {
    STEP_DONE, /* a request was worked on: the next one may follow */
    STEP_WAIT, /* more bytes are needed, or an answer */
    STEP_OVER, /* nothing more is taken from this connection */
};

static const struct http_limits *limits_of(const struct http_conn *h)
{
    return &h->place->service->limits;
}

static void set_deadline(struct http_conn *h, uint64_t after_ns)
{
    io_conn_set_deadline(h->io, io_now_ns(h->place->reactor) + after_ns);
}

static enum step refuse(struct http_conn *h, const struct http_refusal *why)
{
    http_send_refusal(h, why);
    return STEP_OVER;
}

static enum step no_memory(struct http_conn *h)
{
    h->closing = true;
    io_conn_abort(h->io);
    return STEP_OVER;
}

/* ---- the handler -------------------------------------------------------------------------------------------------------- */

static enum step dispatch(struct http_conn *h, struct fl_buf *in)
{
    struct http_exchange *x = h->x;

    HTTP_COUNT(h->place, requests, 1);
    h->place->service->handler(x, h->place->service->owner);
    if (h->x != x || x->parked) /* parked and answered at once: then it is back in the pool */
        return h->closing ? STEP_OVER : STEP_WAIT;
    assert(x->answered);
    fl_buf_consume(in, x->in_use);
    http_exchange_give(x);
    return h->closing ? STEP_OVER : STEP_DONE;
}

/* ---- bodies --------------------------------------------------------------------------------------------------------------- */

/* RFC 9110 10.1.1: 100 is left out when the body is coming already. */
static void say_continue(struct http_conn *h, const struct fl_buf *in)
{
    if (h->x->framing.expects_continue && fl_buf_len(in) == 0)
        FL_BUF_LIT(io_conn_out(h->io), "HTTP/1.1 100 Continue\r\n\r\n");
}

/* The body isn't here yet. What is waited for may be long, and the input may move meanwhile: the head goes into the
 * arena, the body into a buffer of its own. */
static enum step begin_body(struct http_conn *h, struct fl_buf *in, struct fl_slice head)
{
    struct http_exchange *x = h->x;
    struct fl_slice       copy = fl_arena_copy(&x->arena, head);

    if (copy.at == NULL)
        return no_memory(h);
    http_request_move(&x->request, head, copy.at);
    fl_buf_consume(in, head.len);
    x->chunked = (struct http_chunked){ 0 };
    x->body_bytes = 0;
    x->body_since = io_now_ns(h->place->reactor);
    h->in_body = true;
    say_continue(h, in);
    return STEP_DONE;
}

/* FL_OK: the body is whole. */
static enum fl_status gather(struct http_conn *h, struct fl_slice *bytes, struct http_refusal *why)
{
    struct http_exchange *x = h->x;
    size_t                n;

    if (x->framing.chunked)
        return http_chunked_feed(&x->chunked, bytes, limits_of(h)->body_bytes, &x->body, why);
    n = FL_MIN(bytes->len, x->framing.length - fl_buf_len(&x->body));
    if (!fl_buf_put(&x->body, bytes->at, n))
        return FL_NO_MEMORY;
    *bytes = fl_slice_from(*bytes, n);
    return fl_buf_len(&x->body) == x->framing.length ? FL_OK : FL_WANT_READ;
}

/* A slow body may go on as long as it comes; what came before buys no time to stand still. */
static void prolong(struct http_conn *h)
{
    struct http_exchange *x = h->x;

    if (x->body_bytes >= BODY_PROGRESS) {
        x->body_bytes = 0;
        x->body_since = io_now_ns(h->place->reactor);
    }
    io_conn_set_deadline(h->io, x->body_since + limits_of(h)->body_ns);
}

/* Bodies come from peers that nobody has authenticated yet: together they must not fill the memory. */
static enum step refuse_for_memory(struct http_conn *h)
{
    static const struct http_refusal full = { .status = 503, .reason = "Request bodies hold too much memory" };

    return refuse(h, &full);
}

static enum step take_body(struct http_conn *h, struct fl_buf *in)
{
    struct http_exchange *x = h->x;
    struct fl_slice       bytes = fl_buf_slice(in);
    size_t                had = bytes.len;
    struct http_refusal   why;
    enum fl_status        s = gather(h, &bytes, &why);

    fl_buf_consume(in, had - bytes.len);
    x->body_bytes += had - bytes.len;
    if (s != FL_MALFORMED && !http_body_charge(x))
        return refuse_for_memory(h);
    switch (s) {
    case FL_OK: break;
    case FL_WANT_READ: return STEP_WAIT;
    case FL_MALFORMED: return refuse(h, &why);
    default: return no_memory(h);
    }
    h->in_body = false;
    io_conn_set_deadline(h->io, 0);
    x->request.body = fl_buf_slice(&x->body);
    return dispatch(h, in);
}

/* ---- heads ---------------------------------------------------------------------------------------------------------------- */

/* What is wrong with the first line comes before what is wrong behind it, however the bytes came. */
static enum fl_status check_line(struct http_conn *h, const struct fl_buf *in, struct http_refusal *why)
{
    if (h->scan.first_line == 0 || h->scan.line_checked)
        return FL_OK;
    h->scan.line_checked = true;
    return http_head_check_line(fl_slice_of(fl_buf_slice(in).at, h->scan.first_line), why);
}

static enum step wait_for_head(struct http_conn *h, const struct fl_buf *in)
{
    struct http_refusal why;

    if (check_line(h, in, &why) != FL_OK)
        return refuse(h, &why);
    if (!h->in_head) {
        h->in_head = true;
        set_deadline(h, limits_of(h)->head_ns);
    }
    return STEP_WAIT;
}

/* The whole request lies in the input: nothing is copied. */
static enum step dispatch_in_place(struct http_conn *h, struct fl_buf *in, struct fl_slice body)
{
    struct http_exchange *x = h->x;

    x->in_use = (size_t)(body.at + body.len - fl_buf_slice(in).at);
    x->request.body = body;
    return dispatch(h, in);
}

static enum step take_request(struct http_conn *h, struct fl_buf *in, size_t head_len, size_t first_line)
{
    struct http_exchange *x = http_exchange_take(h);
    struct fl_slice       all = fl_buf_slice(in), head = fl_slice_of(all.at, head_len), rest;
    struct http_refusal   why;

    if (x == NULL)
        return no_memory(h);
    if (http_head_parse(head, first_line, &x->request, limits_of(h)->header_count, &x->framing, &why) != FL_OK)
        return refuse(h, &why);
    x->request.arena = &x->arena;
    x->request.secure = io_conn_secure(h->io);
    rest = fl_slice_of(all.at + head_len, all.len - head_len);
    if (x->framing.length > limits_of(h)->body_bytes) {
        http_refuse(&why, 413, "Payload Too Large");
        return refuse(h, &why);
    }
    if (!x->framing.chunked && x->framing.length <= rest.len)
        return dispatch_in_place(h, in, fl_slice_of(rest.at, x->framing.length));
    return begin_body(h, in, head);
}

/* RFC 9112 2.2: empty lines before a request are read over. */
static void skip_empty_lines(struct fl_buf *in)
{
    struct fl_slice s = fl_buf_slice(in);

    while (s.at != NULL && s.len >= 2 && s.at[0] == '\r' && s.at[1] == '\n') {
        fl_buf_consume(in, 2);
        s = fl_buf_slice(in);
    }
}

static enum step take_head(struct http_conn *h, struct fl_buf *in)
{
    struct http_refusal why;
    size_t              head_len, first_line;

    if (h->scan.at == 0)
        skip_empty_lines(in);
    if (fl_buf_len(in) == 0) {
        h->in_head = false; /* it was an empty line */
        return STEP_WAIT;
    }
    switch (http_scan_head(&h->scan, fl_buf_slice(in), limits_of(h)->head_bytes, &why)) {
    case FL_OK: break;
    case FL_WANT_READ: return wait_for_head(h, in);
    default:
        FL_IGNORE(check_line(h, in, &why) != FL_OK); /* then it is the reason */
        return refuse(h, &why);
    }
    head_len = h->scan.at;
    first_line = h->scan.first_line;
    h->scan = (struct http_scan){ 0 };
    if (h->in_head)
        io_conn_set_deadline(h->io, 0);
    h->in_head = false;
    return take_request(h, in, head_len, first_line);
}

/* ---- io's calls ------------------------------------------------------------------------------------------------------------ */

static void be_idle(struct http_conn *h)
{
    if (io_reactor_draining(h->place->reactor)) {
        h->closing = true;
        io_conn_close_after_flush(h->io);
        return;
    }
    set_deadline(h, limits_of(h)->idle_ns);
}

static void on_open(struct io_conn *c)
{
    struct http_service *s = io_listener_owner(io_conn_listener(c));
    struct http_place   *place = http_place_of(s, io_conn_reactor(c));
    struct http_conn    *h = place == NULL ? NULL : calloc(1, sizeof *h);

    if (h == NULL) {
        io_conn_abort(c);
        return;
    }
    h->io = c;
    h->place = place;
    io_conn_set_owner(c, h);
    set_deadline(h, s->limits.idle_ns);
}

/* In the next turn; or, when the peer has to read first, in on_drained, for which it has as long as an idle one. */
static void go_on_later(struct http_conn *h)
{
    set_deadline(h, limits_of(h)->idle_ns);
    if (io_conn_may_answer(h->io))
        io_conn_again(h->io);
}

/* What the connection waits for now, and how long. */
static void settle(struct http_conn *h, struct fl_buf *in, enum step step)
{
    h->left = step == STEP_DONE && fl_buf_len(in) > 0;
    if (step == STEP_OVER)
        fl_buf_clear(in);
    else if (h->left)
        go_on_later(h);
    else if (h->in_body)
        prolong(h);
    else if (h->x == NULL && !h->in_head)
        be_idle(h);
}

static void on_bytes(struct io_conn *c, struct fl_buf *in)
{
    struct http_conn *h = io_conn_owner(c);
    enum step         step = STEP_DONE;
    unsigned          share;

    if (h == NULL || h->closing) {
        fl_buf_clear(in);
        return;
    }
    share = limits_of(h)->requests_per_turn;
    h->in = in;
    while (step == STEP_DONE && fl_buf_len(in) > 0 && share > 0 && io_conn_may_answer(c)) {
        share -= !h->in_body;
        step = h->in_body ? take_body(h, in) : take_head(h, in);
    }
    h->in = NULL;
    settle(h, in, step);
}

static void on_drained(struct io_conn *c)
{
    struct http_conn *h = io_conn_owner(c);

    if (h != NULL)
        http_answers_drained(h);
    io_conn_again(c);
}

static void on_deadline(struct io_conn *c)
{
    static const struct http_refusal late = { .status = 408, .reason = "Request Timeout" };
    struct http_conn                *h = io_conn_owner(c);

    if (h == NULL || h->closing)
        return;
    if (h->in_head || h->in_body) {
        http_send_refusal(h, &late);
        return;
    }
    h->closing = true;
    io_conn_close_after_flush(c);
}

static void on_drain(struct io_conn *c)
{
    struct http_conn *h = io_conn_owner(c);

    if (h != NULL && !h->closing && h->x == NULL && !h->in_head && !h->left)
        be_idle(h);
}

/* A peer that ended its side in the middle of a request may still read what we think of it. */
static void on_eof(struct io_conn *c)
{
    static const struct http_refusal cut = { .status = 400, .reason = "Bad Request" };
    struct http_conn                *h = io_conn_owner(c);

    if (h == NULL || h->closing)
        return;
    if (h->in_head || h->in_body) {
        http_send_refusal(h, &cut);
        return;
    }
    h->closing = true;
    io_conn_close_after_flush(c);
}

static void on_close(struct io_conn *c, enum io_close why, const struct fl_error *err)
{
    struct http_conn *h = io_conn_owner(c);

    (void)why;
    (void)err;
    if (h == NULL)
        return;
    if (h->x != NULL)
        http_exchange_give(h->x);
    http_answers_drained(h);
    free(h);
}

const struct io_protocol *http_protocol(void)
{
    static const struct io_protocol protocol = {
        .name = "http",
        .on_open = on_open,
        .on_bytes = on_bytes,
        .on_drained = on_drained,
        .on_deadline = on_deadline,
        .on_drain = on_drain,
        .on_eof = on_eof,
        .on_close = on_close,
    };

    return &protocol;
}
