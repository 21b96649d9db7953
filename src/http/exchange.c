/* http/exchange.c - what a handler may do with a request: look, answer, park. */
#include "http/answer.h"
#include "http/inside.h"

#include <assert.h>
#include <stdio.h>

enum { LARGE_ANSWER = 64 * 1024 };

const struct http_request *http_request_of(const struct http_exchange *x)
{
    return &x->request;
}

struct io_conn *http_conn_of(const struct http_exchange *x)
{
    return x->conn->io;
}

struct io_reactor *http_reactor_of(const struct http_exchange *x)
{
    return x->conn->place->reactor;
}

/* ---- answers ---------------------------------------------------------------------------------------------------------- */

/* What goes without saying is not said: HTTP/1.0 closes, HTTP/1.1 does not. */
static enum http_connection connection_words(const struct http_exchange *x, bool close)
{
    const struct http_request *r = &x->request;

    if (r->http10 && !r->keep_alive)
        return HTTP_CONNECTION_UNSAID;
    if (close)
        return HTTP_CONNECTION_CLOSE;
    return r->http10 ? HTTP_CONNECTION_KEEP : HTTP_CONNECTION_UNSAID;
}

/* A client may ask for much and read nothing, and so may hundreds. What they hold together has a limit; a large answer
 * beyond it is withheld. */
static bool affordable(const struct http_conn *h, const struct http_answer_parts *parts)
{
    const struct http_service *s = h->place->service;

    return parts->head_only || parts->body.len <= LARGE_ANSWER ||
           atomic_load_explicit(&s->answers, memory_order_relaxed) + parts->body.len <= s->limits.answers_bytes;
}

static void withhold(struct http_answer_parts *parts)
{
    *parts =
        (struct http_answer_parts){ .status = 503, .reason = FL_LIT("Answers that nobody reads hold too much memory") };
}

/* Only what lies above the high-water mark is counted: of that io tells when it has drained. */
static void owe(struct http_conn *h)
{
    size_t waits = fl_buf_len(io_conn_out(h->io));

    if (io_conn_may_answer(h->io) || waits <= h->owed)
        return;
    atomic_fetch_add_explicit(&h->place->service->answers, waits - h->owed, memory_order_relaxed);
    h->owed = waits;
}

void http_answers_drained(struct http_conn *h)
{
    if (h->owed > 0)
        atomic_fetch_sub_explicit(&h->place->service->answers, h->owed, memory_order_relaxed);
    h->owed = 0;
}

static void answer(struct http_exchange *x, struct http_answer_parts *parts, bool close)
{
    struct http_conn *h = x->conn;

    assert(!x->answered && !h->in_body);
    close = close || !x->request.keep_alive || io_reactor_draining(h->place->reactor);
    parts->head_only = x->request.method == HTTP_HEAD;
    if (!affordable(h, parts))
        withhold(parts);
    parts->connection = connection_words(x, close);
    x->answered = true;
    h->closing = h->closing || close;
    if (!http_write_answer(io_conn_out(h->io), parts)) {
        h->closing = true;
        io_conn_abort(h->io);
    } else if (close) {
        io_conn_close_after_flush(h->io);
    }
    owe(h);
    if (!x->parked) /* on_bytes, above us on the stack, goes on from here */
        return;
    http_exchange_give(x);
    io_conn_resume(h->io);
    if (!close)
        io_conn_set_deadline(h->io, io_now_ns(h->place->reactor) + h->place->service->limits.idle_ns);
}

void http_answer(struct http_exchange *x, int status, struct fl_slice reason, struct fl_slice headers,
                 struct fl_slice body)
{
    struct http_answer_parts parts = { .status = status, .reason = reason, .headers = headers, .body = body };

    answer(x, &parts, false);
}

void http_answer_close(struct http_exchange *x, int status, struct fl_slice reason, struct fl_slice headers,
                       struct fl_slice body)
{
    struct http_answer_parts parts = { .status = status, .reason = reason, .headers = headers, .body = body };

    answer(x, &parts, true);
}

void http_send_refusal(struct http_conn *h, const struct http_refusal *why)
{
    struct fl_slice          date = http_date(h->place->reactor);
    char                     headers[128], body[128];
    struct http_answer_parts parts = { .status = why->status, .connection = HTTP_CONNECTION_CLOSE };

    snprintf(headers, sizeof headers, "Date: %.*s\r\nContent-Type: text/html;charset=iso-8859-1\r\n",
             FL_SLICE_ARGS(date));
    snprintf(body, sizeof body, "<h1>Bad Message %d</h1><pre>reason: %s</pre>", why->status, why->reason);
    parts.reason = fl_slice_str(why->reason);
    parts.headers = fl_slice_str(headers);
    parts.body = fl_slice_str(body);
    HTTP_COUNT(h->place, refused, 1);
    h->closing = true;
    h->in_body = false;
    if (h->x != NULL) /* the connection lingers, its memory doesn't */
        http_exchange_give(h->x);
    if (http_write_answer(io_conn_out(h->io), &parts))
        io_conn_close_after_flush(h->io);
    else
        io_conn_abort(h->io);
}

/* ---- parking ---------------------------------------------------------------------------------------------------------- */

/* The request points into the input, which moves when more arrives. So the exchange takes the input's memory over, and
 * what lies behind the request begins a new one: no slice that the handler holds becomes stale. */
static bool take_input(struct http_exchange *x)
{
    struct fl_buf  *in = x->conn->in;
    struct fl_slice rest = fl_slice_from(fl_buf_slice(in), x->in_use);

    x->kept = *in;
    *in = (struct fl_buf){ .limit = in->limit };
    x->in_use = 0;
    return rest.len == 0 || fl_buf_put_slice(in, rest);
}

struct http_ticket http_park(struct http_exchange *x)
{
    struct http_conn *h = x->conn;

    assert(!x->answered);
    if (!x->parked) {
        x->parked = true;
        HTTP_COUNT(h->place, parked, 1);
        io_conn_hold(h->io);
        io_conn_set_deadline(h->io, 0);
        if (x->in_use > 0 && !take_input(x)) {
            h->closing = true; /* requests are lost: without memory there is nothing else to do */
            io_conn_abort(h->io);
        }
    }
    return (struct http_ticket){ .reactor = h->place->reactor, .conn = io_conn_handle(h->io), .serial = h->serial };
}

struct http_exchange *http_unpark(struct http_ticket t)
{
    struct io_conn   *c = io_conn_find(t.reactor, t.conn);
    struct http_conn *h = c == NULL ? NULL : io_conn_owner(c);

    if (h == NULL || h->x == NULL || !h->x->parked || h->serial != t.serial)
        return NULL;
    return h->x;
}
