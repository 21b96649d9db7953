/* http/scan.h - finds the end of a message's head and is strict about its bytes on the way.
 *
 * llhttp takes a bare LF for a line's end and has no flag against it, so each head is looked through here first: lines
 * end in CR LF and nothing else, no byte is a control character, no line is folded. A scan goes on where it stopped, so
 * a head that comes byte by byte is looked at once.
 * Owns: nothing. Thread: owner. Blocks: never.                                                                        */
#ifndef HTTP_SCAN_H
#define HTTP_SCAN_H

#include "http/refusal.h"

struct http_scan {       /* all zero: at the start */
    size_t at;           /* bytes looked at */
    size_t line;         /* where the line under way begins */
    size_t first_line;   /* length of the first line without its CR LF; 0 while it is unfinished */
    bool   line_checked; /* for the caller: the first line has been judged before the head was whole */
};

/* bytes: the message from its first byte on, each time with more at its end.
 *   FL_OK         s->at is the length of the head, its empty line included
 *   FL_WANT_READ  the head isn't whole
 *   FL_MALFORMED  *why says it; 414 and 431 for a head of more than limit bytes */
FL_CHECKED enum fl_status http_scan_head(struct http_scan *s, struct fl_slice bytes, size_t limit,
                                         struct http_refusal *why);

#endif
