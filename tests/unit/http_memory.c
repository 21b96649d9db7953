/* The server with each of its allocations failing once: the connection ends, nothing leaks, nothing is touched again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "fake_http_io.c"
#include "fake_malloc.c"
#include "http/http.h"

static struct http_ticket ticket;

static void handler(struct http_exchange *x, void *owner)
{
    (void)owner;
    if (fl_slice_equal(http_request_of(x)->path, FL_LIT("/park")))
        ticket = http_park(x);
    else
        http_answer(x, 200, FL_LIT(""), FL_LIT(""), http_request_of(x)->body);
}

/* In place, parked with half a request behind it, gathered by length, gathered in chunks, refused. */
static void talk(struct io_conn *c)
{
    struct http_exchange *x;

    fake_feed_text(c, "GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /park HTTP/1.1\r\nHost: h\r\n\r\nPUT /b HTTP/1.1\r\n");
    x = http_unpark(ticket);
    if (x != NULL && !c->aborted)
        http_answer(x, 200, FL_LIT(""), FL_LIT(""), FL_LIT("parked"));
    fake_run(c);
    fake_feed_text(c, "Host: h\r\nContent-Length: 4\r\n\r\n1");
    fake_feed_text(c, "234POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    fake_feed_text(c, "4\r\nabcd\r\n0\r\n\r\nGET nonsense HTTP/1.1\r\nHost: h\r\n\r\n");
}

static bool serve(void)
{
    static const char    last[] = "<h1>Bad Message 400</h1><pre>reason: Bad Request</pre>";
    struct http_service *service;
    struct io_listener   listener;
    struct io_conn       c;
    struct fl_slice      out;
    bool                 all;

    if (http_service_new(&service, NULL, handler, NULL, NULL) != FL_OK)
        return false;
    listener.owner = service;
    fake_open(&c, http_protocol(), &listener);
    talk(&c);
    out = fl_buf_slice(&c.out);
    all = !c.aborted && fl_slice_ends(out, fl_slice_str(last)) && memmem(out.at, out.len, "parked", 6) != NULL;
    fake_close(&c);
    http_service_free(service);
    return all;
}

static void each_failing_allocation_ends_the_connection(void **state)
{
    (void)state;
    fail_each_allocation_once(serve);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_failing_allocation_ends_the_connection) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
