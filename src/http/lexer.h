/* http/lexer.h - header lines, split and checked by llhttp.
 *
 * Owns: nothing. Thread: any. Blocks: never.                                                                          */
#ifndef HTTP_LEXER_H
#define HTTP_LEXER_H

#include "http/header.h"
#include "http/refusal.h"

struct http_headers {
    struct http_header *at; /* the caller's array */
    size_t              cap, count;
};

/* lines: header lines that http_scan_head found whole, up to and with the empty line. FL_MALFORMED: *why says it. */
FL_CHECKED enum fl_status http_lex_headers(struct fl_slice lines, struct http_headers *out, struct http_refusal *why);

#endif
