/* http/client.c - one connection to one server, one request at a time. */
#include "http/client.h"

#include "base/clock.h"
#include "http/chunked.h"
#include "http/reply.h"

enum { BODY_LIMIT = 32 << 20, BODY_KEPT = 64 * 1024 };

enum want { WANT_HEAD, WANT_LENGTH, WANT_CHUNKS, WANT_END };

struct http_client {
    struct http_client_config config;
    struct sockaddr_storage   to;
    struct io_reactor        *reactor;
    struct io_conn           *io; /* NULL: none */
    bool                      open, was_open, reused;
    bool                      busy, head_only, may_retry;
    bool                      in_callback, freed;

    enum want              want;
    size_t                 scanned;
    struct fl_buf          request;    /* until it is sent; and while it may have to be sent again */
    struct fl_buf          head, body; /* of an answer that didn't come whole */
    struct fl_buf          kept;       /* the input's memory with the last answer, for an owner who sends later */
    struct http_chunked    chunked;
    struct http_reply_head answer;
    struct http_reply      reply;
    struct http_header     headers[HTTP_REPLY_HEADERS_MAX];
};

static const struct io_protocol protocol;

/* ---- ending a request --------------------------------------------------------------------------------------------------- */

static void really_free(struct http_client *c)
{
    fl_buf_done(&c->request);
    fl_buf_done(&c->head);
    fl_buf_done(&c->body);
    fl_buf_done(&c->kept);
    free(c);
}

/* The connection goes its way; what io still has to say about it reaches nobody. */
static void leave(struct http_client *c, bool orderly)
{
    struct io_conn *io = c->io;

    c->io = NULL;
    c->open = false;
    if (io == NULL)
        return;
    io_conn_set_owner(io, NULL);
    if (orderly)
        io_conn_close_after_flush(io);
    else
        io_conn_abort(io);
}

/* False: the owner freed c. */
static bool tell(struct http_client *c, const struct http_reply *reply, const struct fl_error *err)
{
    c->busy = false;
    c->in_callback = true;
    c->config.on_reply(c, reply, err, c->config.owner);
    c->in_callback = false;
    if (c->freed)
        really_free(c);
    else
        return true;
    return false;
}

static void fail(struct http_client *c, const struct fl_error *err)
{
    leave(c, false);
    tell(c, NULL, err);
}

/* Whole answers are not consumed before the owner has seen them. Most owners send the next request right then, and the
 * bytes are done with. For the others the client takes the input's memory over, so that the answer stays. */
static void finish(struct http_client *c, struct fl_buf *in, size_t in_use)
{
    bool surplus = fl_buf_len(in) > in_use;

    c->reply.status = c->answer.status;
    c->reply.reason = c->answer.reason;
    c->reply.headers = c->headers;
    c->reply.header_count = c->answer.header_count;
    c->reused = true;
    if (surplus || c->answer.close || (c->answer.http10 && !c->answer.keep) || c->want == WANT_END)
        leave(c, !surplus);
    if (!tell(c, &c->reply, NULL)) {
        fl_buf_consume(in, fl_buf_len(in));
        return;
    }
    if (!c->busy && in_use > 0) {
        c->kept = *in;
        *in = (struct fl_buf){ .limit = in->limit };
    } else {
        fl_buf_consume(in, in_use);
    }
    if (!c->busy && c->io != NULL)
        io_conn_set_deadline(c->io, 0);
}

/* ---- answers -------------------------------------------------------------------------------------------------------------- */

static size_t body_limit(const struct http_client *c)
{
    return c->config.body_limit == 0 ? (size_t)BODY_LIMIT : c->config.body_limit;
}

static enum fl_status too_large(const struct http_client *c, struct fl_error *err)
{
    return fl_fail(err, FL_MALFORMED, 0, "answer with a body of more than %zu bytes", body_limit(c));
}

static void move(struct fl_slice *s, const uint8_t *from, const uint8_t *to)
{
    s->at = to + (s->at - from);
}

/* The body isn't here yet: the head gets a place of its own, because the input may move. */
static bool keep_head(struct http_client *c, struct fl_buf *in)
{
    const uint8_t *from = fl_buf_slice(in).at, *to;

    fl_buf_clear(&c->head);
    if (!fl_buf_put(&c->head, from, c->answer.bytes))
        return false;
    to = fl_buf_slice(&c->head).at;
    move(&c->answer.reason, from, to);
    for (size_t i = 0; i < c->answer.header_count; i++) {
        move(&c->headers[i].name, from, to);
        move(&c->headers[i].value, from, to);
    }
    fl_buf_consume(in, c->answer.bytes);
    return true;
}

static enum want body_of(const struct http_client *c)
{
    const struct http_reply_head *a = &c->answer;

    if (c->head_only || a->status == 204 || a->status == 304)
        return WANT_HEAD; /* none */
    if (a->chunked)
        return WANT_CHUNKS;
    return a->has_length ? WANT_LENGTH : WANT_END;
}

enum took { TOOK_ALL, TOOK_SOME };

static enum took fail_here(struct http_client *c, const struct fl_error *err)
{
    fail(c, err);
    return TOOK_ALL;
}

static enum took take_head(struct http_client *c, struct fl_buf *in)
{
    struct fl_error err;
    struct fl_slice rest;
    enum want       want;

    switch (http_reply_parse(fl_buf_slice(in), &c->scanned, &c->answer, c->headers, &err)) {
    case FL_OK: break;
    case FL_WANT_READ: return TOOK_ALL;
    default: return fail_here(c, &err);
    }
    if (c->answer.status == 101) {
        fl_fail(&err, FL_MALFORMED, 0, "answer 101 to a request that asked for no other protocol");
        return fail_here(c, &err);
    }
    if (c->answer.status < 200) {
        fl_buf_consume(in, c->answer.bytes);
        return TOOK_SOME;
    }
    want = body_of(c);
    if (want == WANT_LENGTH && c->answer.length > body_limit(c)) {
        too_large(c, &err);
        return fail_here(c, &err);
    }
    rest = fl_slice_from(fl_buf_slice(in), c->answer.bytes);
    if (want == WANT_HEAD || (want == WANT_LENGTH && c->answer.length <= rest.len)) {
        c->reply.body = fl_slice_of(rest.at, want == WANT_HEAD ? 0 : c->answer.length);
        finish(c, in, c->answer.bytes + c->reply.body.len);
        return TOOK_ALL;
    }
    if (!keep_head(c, in)) {
        fl_fail(&err, FL_NO_MEMORY, 0, "no memory for an answer");
        return fail_here(c, &err);
    }
    c->want = want;
    c->chunked = (struct http_chunked){ 0 };
    return TOOK_SOME;
}

/* FL_OK: the body is whole. */
static enum fl_status gather(struct http_client *c, struct fl_slice *bytes, struct fl_error *err)
{
    struct http_refusal why;
    size_t              n = bytes->len;
    enum fl_status      s;

    if (c->want == WANT_CHUNKS) {
        s = http_chunked_feed(&c->chunked, bytes, body_limit(c), &c->body, &why);
        if (s == FL_MALFORMED)
            return why.status == 413 ? too_large(c, err)
                                     : fl_fail(err, FL_MALFORMED, 0, "malformed answer: %s in a chunk", why.reason);
        return s == FL_NO_MEMORY ? fl_fail(err, s, 0, "no memory for an answer") : s;
    }
    if (c->want == WANT_LENGTH)
        n = FL_MIN(n, c->answer.length - fl_buf_len(&c->body));
    else if (n > body_limit(c) - fl_buf_len(&c->body))
        return too_large(c, err);
    if (!fl_buf_put(&c->body, bytes->at, n))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for an answer");
    *bytes = fl_slice_from(*bytes, n);
    return c->want == WANT_LENGTH && fl_buf_len(&c->body) == c->answer.length ? FL_OK : FL_WANT_READ;
}

static enum took take_body(struct http_client *c, struct fl_buf *in)
{
    struct fl_slice bytes = fl_buf_slice(in);
    size_t          had = bytes.len;
    struct fl_error err;
    enum fl_status  s = gather(c, &bytes, &err);

    fl_buf_consume(in, had - bytes.len);
    if (s == FL_WANT_READ)
        return TOOK_ALL;
    if (s != FL_OK)
        return fail_here(c, &err);
    c->reply.body = fl_buf_slice(&c->body);
    finish(c, in, 0);
    return TOOK_ALL;
}

/* ---- io's calls ------------------------------------------------------------------------------------------------------------ */

static void on_bytes(struct io_conn *io, struct fl_buf *in)
{
    struct http_client *c = io_conn_owner(io);

    if (c != NULL && !c->busy)
        leave(c, false); /* nobody asked: a server that speaks out of turn is not asked again */
    if (c == NULL || !c->busy) {
        fl_buf_consume(in, fl_buf_len(in));
        return;
    }
    c->may_retry = false;
    while ((c->want == WANT_HEAD ? take_head(c, in) : take_body(c, in)) == TOOK_SOME)
        ;
}

static void wait_for_answer(struct http_client *c)
{
    if (c->config.timeout_ns > 0)
        io_conn_set_deadline(c->io, io_now_ns(c->reactor) + c->config.timeout_ns);
}

static void on_open(struct io_conn *io)
{
    struct http_client *c = io_conn_owner(io);

    if (c == NULL)
        return;
    c->open = c->was_open = true;
    if (!c->busy)
        return;
    fl_buf_put_slice(io_conn_out(io), fl_buf_slice(&c->request)); /* a failure closes the connection, and so is told */
    wait_for_answer(c);
}

static enum fl_status dial(struct http_client *c, struct fl_error *err)
{
    struct io_connect_config config = {
        .to = (const struct sockaddr *)&c->to,
        .to_len = c->config.to_len,
        .protocol = &protocol,
        .owner = c,
        .attach = c->config.attach,
        .attach_arg = c->config.attach_arg,
        .timeout_ns = c->config.timeout_ns,
    };

    c->open = c->was_open = c->reused = false;
    return io_connect(c->reactor, &config, &c->io, err);
}

/* RFC 9112 9.3.1: a server may close a kept connection at any moment. The request was not begun to be answered and may
 * be made twice, so it goes to a new connection, once. */
static void on_gone(struct http_client *c, const struct fl_error *err)
{
    c->io = NULL;
    c->open = false;
    if (!c->busy)
        return;
    if (c->may_retry) {
        struct fl_error again;

        c->may_retry = false;
        if (dial(c, &again) != FL_OK)
            tell(c, NULL, &again);
        return;
    }
    tell(c, NULL, err);
}

static void on_eof(struct io_conn *io)
{
    struct http_client *c = io_conn_owner(io);
    struct fl_buf       none = { .limit = 1 };

    if (c != NULL && c->busy && c->want == WANT_END) {
        c->reply.body = fl_buf_slice(&c->body);
        finish(c, &none, 0);
        return;
    }
    io_conn_abort(io); /* on_close says the rest */
}

static void on_deadline(struct io_conn *io)
{
    struct http_client *c = io_conn_owner(io);
    struct fl_error     err;

    if (c == NULL || !c->busy)
        return;
    fl_fail(&err, FL_TIMEOUT, 0, "no answer from %s within %llu ms", io_conn_peer_text(io),
            (unsigned long long)(c->config.timeout_ns / FL_NS_PER_MS));
    fail(c, &err);
}

static void on_close(struct io_conn *io, enum io_close why, const struct fl_error *err)
{
    struct http_client *c = io_conn_owner(io);
    struct fl_error     own;
    const char         *where;

    if (c == NULL)
        return;
    where = io_conn_peer_text(io);
    if (err != NULL)
        own = *err;
    else if (why == IO_CLOSE_TIMEOUT)
        fl_fail(&own, FL_TIMEOUT, 0, "connecting to %s took longer than %llu ms", where,
                (unsigned long long)(c->config.timeout_ns / FL_NS_PER_MS));
    else if (c->want != WANT_HEAD || c->scanned > 0)
        fl_fail(&own, FL_CLOSED, 0, "%s closed the connection in the middle of its answer", where);
    else
        fl_fail(&own, FL_CLOSED, 0, "%s closed the connection without an answer", where);
    on_gone(c, &own);
}

static const struct io_protocol protocol = {
    .name = "http client",
    .on_open = on_open,
    .on_bytes = on_bytes,
    .on_deadline = on_deadline,
    .on_eof = on_eof,
    .on_close = on_close,
};

/* ---- the face ---------------------------------------------------------------------------------------------------------------- */

enum fl_status http_client_new(struct http_client **out, struct io_reactor *r, const struct http_client_config *config,
                               struct fl_error *err)
{
    struct http_client *c;

    if (config->to_len > sizeof c->to)
        return fl_fail(err, FL_USAGE, 0, "an address of %u bytes, where %zu are allowed", (unsigned)config->to_len,
                       sizeof c->to);
    c = calloc(1, sizeof *c);
    if (c == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for an HTTP client");
    c->config = *config;
    c->reactor = r;
    memcpy(&c->to, config->to, config->to_len);
    c->config.to = (const struct sockaddr *)&c->to;
    fl_buf_init(&c->body, body_limit(c));
    fl_buf_init(&c->head, 0);
    fl_buf_init(&c->request, 0);
    fl_buf_init(&c->kept, 0);
    *out = c;
    return FL_OK;
}

void http_client_free(struct http_client *c)
{
    if (c == NULL)
        return;
    leave(c, false);
    if (c->in_callback)
        c->freed = true;
    else
        really_free(c);
}

bool http_client_was_open(const struct http_client *c)
{
    return c->was_open;
}

/* RFC 9110 9.2.2, of the methods that are sent here. */
static bool is_idempotent(struct fl_slice request)
{
    return fl_slice_starts(request, FL_LIT("GET ")) || fl_slice_starts(request, FL_LIT("HEAD ")) ||
           fl_slice_starts(request, FL_LIT("OPTIONS "));
}

static void forget_last(struct http_client *c)
{
    if (c->kept.data != NULL)
        fl_buf_done(&c->kept);
    if (c->body.cap > BODY_KEPT)
        fl_buf_done(&c->body);
    fl_buf_clear(&c->body);
    fl_buf_clear(&c->request);
    c->want = WANT_HEAD;
    c->scanned = 0;
}

enum fl_status http_client_send(struct http_client *c, struct fl_slice request, bool head_only, struct fl_error *err)
{
    enum fl_status s = FL_OK;

    if (c->busy)
        return fl_fail(err, FL_BUSY, 0, "a request is under way on this connection");
    forget_last(c);
    c->head_only = head_only;
    c->may_retry = c->open && c->reused && !c->config.no_retry && is_idempotent(request);
    if ((!c->open || c->may_retry) && !fl_buf_put_slice(&c->request, request))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a request of %zu bytes", request.len);
    if (c->io == NULL && (s = dial(c, err)) != FL_OK)
        return s;
    c->busy = true;
    if (!c->open)
        return FL_OK;
    fl_buf_put_slice(io_conn_out(c->io), request);
    wait_for_answer(c);
    return FL_OK;
}
