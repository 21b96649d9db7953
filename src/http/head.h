/* http/head.h - the head of a request: bytes in, request out, no network.
 *
 * Owns: nothing; everything points into the bytes. Thread: any. Blocks: never.                                        */
#ifndef HTTP_HEAD_H
#define HTTP_HEAD_H

#include "http/http.h"
#include "http/refusal.h"

struct http_framing { /* of the body */
    uint64_t length;
    bool     chunked, expects_continue;
};

/* head: what http_scan_head found whole; first_line: its length. r->headers is the caller's array of header_cap. Fills
 * all but body, secure and arena. FL_MALFORMED: *why says it. */
FL_CHECKED enum fl_status http_head_parse(struct fl_slice head, size_t first_line, struct http_request *r,
                                          size_t header_cap, struct http_framing *framing, struct http_refusal *why);
/* Judges a first line alone, so that nonsense is refused before a head comes to its end. */
FL_CHECKED enum fl_status http_head_check_line(struct fl_slice line, struct http_refusal *why);

/* The same request in a copy of its head (and body), lying delta bytes away from where it was parsed. */
void http_request_move(struct http_request *r, struct fl_slice from, const uint8_t *to);

/* A number of decimal digits and nothing else, below 2^63. */
bool http_parse_length(struct fl_slice text, uint64_t *out);
/* True if the comma list has that word, in any case. */
bool http_list_has(struct fl_slice list, struct fl_slice word);

#endif
