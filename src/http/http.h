/* http/http.h - the face of HTTP/1.1: a server on io's connections and a small client.
 *
 * Owns:    a connection's parser and arena; slices of a request are valid until it is answered.
 * Thread:  owner (the connection's reactor), but for http_service_new and the blocking http_call. Blocks: never, ditto. */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include "base/arena.h"
#include "http/header.h"
#include "io/io.h"

/* ---- server --------------------------------------------------------------------------------------------------------- */

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_TRACE,
    HTTP_PATCH,
    HTTP_OTHER
};

struct http_request {
    enum http_method    method;
    struct fl_slice     method_text;
    struct fl_slice     target; /* as sent */
    struct fl_slice     path;   /* of the target, still percent-encoded, begins with '/' ("*" for OPTIONS *) */
    struct fl_slice     query;  /* after '?', still encoded; .at NULL when there is no '?' */
    struct fl_slice     host;   /* Host header, or the authority of an absolute-form target */
    struct http_header *headers;
    size_t              header_count;
    struct fl_slice     body; /* de-chunked, whole; empty when none */
    bool                keep_alive, http10, secure;
    struct fl_arena    *arena; /* for the door's own needs; reset after the answer is in the output */
};

struct http_exchange; /* one request on one connection, until answered */

struct http_limits {        /* 0: the default in brackets */
    size_t   head_bytes;    /* request line and headers [64 KiB]: 414 or 431 above */
    size_t   header_count;  /* [100] */
    size_t   body_bytes;    /* [32 MiB]: 413 above */
    size_t   bodies_bytes;  /* all bodies that are here, of 16 KiB and more [8 times body_bytes, at least 64 MiB]:
                                   503 above */
    size_t   answers_bytes; /* all answers that their clients have yet to read [256 MiB]: a large one is 503 above */
    uint64_t head_ns;       /* from a head's first byte to its last [10 s] */
    uint64_t body_ns;       /* time for a body [20 s], anew with each 16 KiB of it */
    uint64_t idle_ns;       /* between requests [60 s] */
    unsigned requests_per_turn; /* pipelined requests answered in one turn [16] */
};

/* Protocol refusals (malformed, too large, timeouts) are answered by http itself, in the form
 * "<h1>Bad Message 400</h1><pre>reason: Multiple Content-Lengths</pre>", Connection: close. */
struct http_service;
typedef void (*http_handler)(struct http_exchange *x, void *owner);
/* Start. The listener's config gets .protocol = http_protocol(), .owner = the service. */
FL_CHECKED enum fl_status http_service_new(struct http_service **out, const struct http_limits *limits,
                                           http_handler handler, void *owner, struct fl_error *err);
void                      http_service_free(struct http_service *s); /* after the reactors ended */
const struct io_protocol *http_protocol(void);
/* Counters of all reactors: requests, refused by kind, parked now. */
struct http_stats {
    uint64_t requests, refused, parked;
};
void http_service_stats(const struct http_service *s, struct http_stats *out);

const struct http_request *http_request_of(const struct http_exchange *x);
struct io_conn            *http_conn_of(const struct http_exchange *x);
struct io_reactor         *http_reactor_of(const struct http_exchange *x);

/* Header by name, any case; NULL when absent; the first of several. */
const struct fl_slice *http_header_find(const struct http_request *r, const char *name);

/* Answers. headers: whole lines "Name: value\r\n" (may be empty) without Content-Length, Transfer-Encoding and
 * Connection, which are added here; body is copied. HEAD sends no body but its length. reason: one line, no CR/LF;
 * bytes that are not visible ASCII, blank or ISO-8859-1 letters become blanks; empty: the standard phrase.
 * x is gone afterwards. */
void http_answer(struct http_exchange *x, int status, struct fl_slice reason, struct fl_slice headers,
                 struct fl_slice body);
/* The same, and the connection is closed after it. */
void        http_answer_close(struct http_exchange *x, int status, struct fl_slice reason, struct fl_slice headers,
                              struct fl_slice body);
const char *http_standard_reason(int status);

/* The date of this turn, "Tue, 01 Dec 2026 04:50:21 GMT" (29 bytes), made once a second per reactor. */
struct fl_slice http_date(struct io_reactor *r);

/* Parks a request: the handler returns without an answer, the connection takes no further request, request and arena
 * stay. A ticket is valid for ever and finds nothing once the connection is gone. */
struct http_ticket {
    struct io_reactor *reactor;
    struct io_handle   conn;
    uint32_t           serial;
};
struct http_ticket    http_park(struct http_exchange *x);
struct http_exchange *http_unpark(struct http_ticket t); /* on its reactor; NULL: client gone, or answered already */

/* ---- query strings ----------------------------------------------------------------------------------------------------- */

/* The next name=value of an encoded query, both still encoded; false at the end. Empty pieces are skipped. */
bool http_query_next(struct fl_slice *query, struct fl_slice *name, struct fl_slice *value);
/* First parameter of that decoded name, decoded into the arena ('+' is a blank). *found tells absence.
 * FL_MALFORMED for bad escapes of this parameter. */
FL_CHECKED enum fl_status http_query_find(const struct http_request *r, const char *name, bool any_case, bool *found,
                                          struct fl_slice *value, struct fl_error *err);

/* ---- client -------------------------------------------------------------------------------------------------------------- */

struct http_url { /* http://host:port/path?query, https://, or unix:/path/of/socket:/path?query */
    bool            secure;
    bool            local; /* host is the path of a Unix socket, without ':' in it */
    char            host[256];
    uint16_t        port;
    struct fl_slice target; /* into the text that was parsed; "/" when empty */
};
FL_CHECKED enum fl_status http_url_parse(const char *text, struct http_url *out, struct fl_error *err);

/* A parsed answer; slices are valid until the client sends again (http_call: until http_reply_done). */
struct http_reply {
    int                 status;
    struct fl_slice     reason;
    struct http_header *headers;
    size_t              header_count;
    struct fl_slice     body;
    void               *owned; /* http_call's storage */
};

/* Asynchronous, one connection with keep-alive, one request at a time; for load and for doors. */
struct http_client;
struct http_client_config {
    const struct sockaddr *to;
    socklen_t              to_len;
    io_attach              attach; /* TLS: tls_attach_client, NULL: plain */
    void                  *attach_arg;
    uint64_t               timeout_ns; /* connect; and each answer */
    size_t                 body_limit; /* 0: 32 MiB */
    bool                   no_retry;   /* else a GET on a kept connection that dies unanswered is sent once more */
    /* reply NULL: it failed, err says how; the next send connects again. */
    void (*on_reply)(struct http_client *c, const struct http_reply *reply, const struct fl_error *err, void *owner);
    void *owner;
};
FL_CHECKED enum fl_status http_client_new(struct http_client **out, struct io_reactor *r,
                                          const struct http_client_config *config, struct fl_error *err);
void                      http_client_free(struct http_client *c); /* closes; no callback follows */
/* request: the whole message as bytes, copied to the output. head_only: the answer has no body (HEAD). FL_BUSY while
 * one is under way. */
FL_CHECKED enum fl_status http_client_send(struct http_client *c, struct fl_slice request, bool head_only,
                                           struct fl_error *err);

/* Blocking, for the command line: resolves, connects (TLS by url and tls; NULL: system trust), sends, waits. Keeps the
 * connection for the next call to the same place in *session (NULL-initialised; http_session_free ends it). Not on a
 * reactor. extra_headers: whole lines. */
struct http_session;
struct tls_config;
FL_CHECKED enum fl_status http_call(struct http_session **session, const char *method, const char *url,
                                    struct fl_slice extra_headers, struct fl_slice body, const struct tls_config *tls,
                                    uint64_t timeout_ns, struct http_reply *reply, struct fl_error *err);
void                      http_reply_done(struct http_reply *reply);
void                      http_session_free(struct http_session *s);

#endif
