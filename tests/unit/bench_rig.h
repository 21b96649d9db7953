/* bench_rig.h - a KMS in this process that does what a test wants: enough of one to be measured and checked.
 *
 * Owns:    its reactor. Thread: the test's starts and ends it, the counters are read after the end or as atomics. */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "http/http.h"

#include <stdatomic.h>

#define RIG_TOKEN "HAAEYWxpY2UEeWFybgCKAYzq3KOhigGNDukno"

struct rig {
    struct io_reactors  *reactors;
    struct io_listener  *listener;
    struct http_service *service;
    char                 url[64];

    /* What it does. */
    bool     takes_forged, takes_none, refuses_real, has_key, gives_no_token;
    unsigned busy_every; /* every n-th request is answered with 503 */
    unsigned drop_every; /* every n-th ends its connection without an answer */

    atomic_uint verified, created, keys_made, requests;
    atomic_uint by_first[4]; /* verifications by the last character of their token, '0' to '3' */
};

static bool rig_asks(const struct http_request *r, const char *part)
{
    return memmem(r->target.at, r->target.len, part, strlen(part)) != NULL;
}

static void rig_say(struct http_exchange *x, int status, const char *body)
{
    http_answer(x, status, FL_LIT(""), FL_LIT("Content-Type: application/json\r\n"), fl_slice_str(body));
}

/* A load test's tokens differ in their last character only; all of them are right. */
static bool rig_right(const struct fl_slice *token)
{
    return token->len == sizeof RIG_TOKEN && fl_slice_starts(*token, FL_LIT(RIG_TOKEN));
}

static void rig_metadata(struct rig *g, struct http_exchange *x)
{
    static const char          body[] = "{\"name\":\"bench\",\"cipher\":\"AES/CTR/NoPadding\",\"length\":128}";
    const struct http_request *r = http_request_of(x);
    const struct fl_slice     *token = http_header_find(r, "X-Hadoop-Delegation-Token");

    if (token == NULL && rig_asks(r, "user.name="))
        rig_say(x, 200, g->has_key ? body : "{}");
    else if (token == NULL)
        rig_say(x, g->takes_none ? 200 : 401, g->takes_none ? body : "{}");
    else if (rig_right(token) ? g->refuses_real : !g->takes_forged)
        rig_say(x, 403, "{}");
    else
        rig_say(x, 200, body);
    if (token != NULL && rig_right(token)) {
        atomic_fetch_add(&g->verified, 1);
        atomic_fetch_add(&g->by_first[token->at[token->len - 1] % 4], 1);
    }
}

static void rig_handle(struct http_exchange *x, void *owner)
{
    struct rig                *g = owner;
    const struct http_request *r = http_request_of(x);
    unsigned                   n = atomic_fetch_add(&g->requests, 1) + 1;

    if (g->drop_every > 0 && n % g->drop_every == 0) {
        io_conn_abort(http_conn_of(x));
        http_answer(x, 500, FL_LIT(""), FL_LIT(""), FL_LIT("")); /* never leaves */
    } else if (g->busy_every > 0 && n % g->busy_every == 0) {
        rig_say(x, 503, "{}");
    } else if (rig_asks(r, "op=GETDELEGATIONTOKEN")) {
        atomic_fetch_add(&g->created, 1);
        rig_say(x, 200, g->gives_no_token ? "{}" : "{\"Token\":{\"urlString\":\"" RIG_TOKEN "0\"}}");
    } else if (rig_asks(r, "/_metadata")) {
        rig_metadata(g, x);
    } else {
        atomic_fetch_add(&g->keys_made, 1);
        g->has_key = true;
        rig_say(x, 201, "{}");
    }
}

static void rig_start(struct rig *g)
{
    struct io_config        config = { .reactors = 1, .workers = 1, .max_connections = 100 };
    struct io_listen_config listen = { .bind = "127.0.0.1:0", .protocol = http_protocol() };

    assert_int_equal(http_service_new(&g->service, NULL, rig_handle, g, NULL), FL_OK);
    assert_int_equal(io_reactors_new(&g->reactors, &config, NULL), FL_OK);
    listen.owner = g->service;
    assert_int_equal(io_listen(g->reactors, &listen, &g->listener, NULL), FL_OK);
    assert_int_equal(io_reactors_start(g->reactors, NULL), FL_OK);
    snprintf(g->url, sizeof g->url, "http://127.0.0.1:%u/kms", io_listener_port(g->listener));
}

static void rig_end(struct rig *g)
{
    io_reactors_drain(g->reactors, 0);
    io_reactors_join(g->reactors);
    io_reactors_free(g->reactors);
    http_service_free(g->service);
}

#endif
