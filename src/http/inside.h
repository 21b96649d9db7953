/* http/inside.h - what the server's own files share. Nobody else includes this.
 *
 * Owns: see http/http.h. Thread: owner, but for what is marked otherwise. Blocks: never.                              */
#ifndef HTTP_INSIDE_H
#define HTTP_INSIDE_H

#include "http/chunked.h"
#include "http/head.h"
#include "http/scan.h"

#include <stdatomic.h>

enum { HTTP_BODY_KEPT = 16 * 1024 }; /* a pooled exchange keeps a body buffer up to this */

/* One request under way. Pooled on its reactor, so a steady load allocates nothing and idle connections hold none. */
struct http_exchange {
    struct http_request   request;
    struct http_framing   framing;
    struct http_conn     *conn;
    struct http_exchange *next_free;
    struct fl_arena       arena;
    size_t                in_use; /* bytes at the front of the input that the request points into */
    struct fl_buf         kept;   /* the input's memory, taken over while parked */
    struct fl_buf         body;   /* gathered, when it didn't lie whole behind its head */
    struct http_chunked   chunked;
    size_t                charged;                /* for the body, of service.bodies */
    uint64_t              body_since, body_bytes; /* the last progress, and what came since */
    bool                  answered, parked;
    struct http_header    headers[];
};

/* What a service has on one reactor. */
struct http_place {
    struct http_service  *service;
    struct io_reactor    *reactor;
    struct http_place    *next; /* in the service's list; set before it is published */
    struct http_exchange *free;
    unsigned              free_count;
    _Atomic uint64_t      requests, refused, parked; /* written here, read by any: relaxed */
};

struct http_service {
    struct http_limits           limits; /* none is 0 */
    http_handler                 handler;
    void                        *owner;
    _Atomic size_t               bodies;  /* bytes of memory that bodies hold, small ones aside */
    _Atomic size_t               answers; /* bytes of answers that wait above the high-water mark */
    _Atomic(struct http_place *) places;
};

struct http_conn {
    struct io_conn       *io;
    struct http_place    *place;
    struct http_exchange *x;  /* the request under way; NULL between requests */
    struct fl_buf        *in; /* within on_bytes */
    struct http_scan      scan;
    size_t                owed; /* of service.answers, until the output has drained */
    uint32_t              serial;
    bool                  in_head; /* part of a head is here, its deadline set */
    bool                  in_body; /* x waits for its body */
    bool                  closing; /* nothing more is taken */
    bool                  left;    /* bytes wait that were not looked at: the share, or the output, was used up */
};

#define HTTP_COUNT(place, cell, n)                                                                          \
    atomic_store_explicit(&(place)->cell, atomic_load_explicit(&(place)->cell, memory_order_relaxed) + (n), \
                          memory_order_relaxed)

/* service.c */
struct http_place    *http_place_of(struct http_service *s, struct io_reactor *r); /* NULL without memory */
struct http_exchange *http_exchange_take(struct http_conn *h);                     /* NULL without memory */
void                  http_exchange_give(struct http_exchange *x); /* back to the pool; h->x is NULL afterwards */
bool                  http_body_charge(struct http_exchange *x);   /* false: all bodies together hold too much */

/* exchange.c: answers for http's own refusals; the connection takes nothing more, its request is gone */
void http_answers_drained(struct http_conn *h); /* or gone with the connection */
void http_send_refusal(struct http_conn *h, const struct http_refusal *why);

#endif
