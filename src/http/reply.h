/* http/reply.h - the head of an answer: bytes in, reply out, no network. Scanned by hand in one pass: the load generator
 * stands on it, and what costs time here would be counted as the server's.
 *
 * Owns: nothing; everything points into the bytes. Thread: owner. Blocks: never.                                      */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include "featherlock/status.h"
#include "http/header.h"

enum { HTTP_REPLY_HEADERS_MAX = 100, HTTP_REPLY_HEAD_MAX = 64 * 1024 };

struct http_reply_head {
    int             status;
    struct fl_slice reason;
    size_t          bytes; /* of the whole head */
    size_t          header_count;
    bool            http10, has_length, chunked, close, keep;
    uint64_t        length;
};

/* scanned: 0 for a new answer, and what the last call left there when more has come.
 *   FL_OK         *out and the first out->header_count of headers[HTTP_REPLY_HEADERS_MAX] are filled
 *   FL_WANT_READ  the head isn't whole
 *   FL_MALFORMED  no answer, two lengths, a head beyond its limits */
FL_CHECKED enum fl_status http_reply_parse(struct fl_slice bytes, size_t *scanned, struct http_reply_head *out,
                                           struct http_header *headers, struct fl_error *err);

#endif
