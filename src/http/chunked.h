/* http/chunked.h - the chunked coding (RFC 9112 7.1), strictly: CR LF only, hex digits and perhaps blanks behind them,
 * bounded extensions and trailers, which are read over.
 *
 * Owns: nothing. Thread: owner. Blocks: never.                                                                        */
#ifndef HTTP_CHUNKED_H
#define HTTP_CHUNKED_H

#include "base/buf.h"
#include "http/refusal.h"

struct http_chunked { /* all zero: before the first chunk */
    uint8_t  state;
    uint8_t  digits; /* of the size under way */
    uint64_t left;   /* bytes of this chunk still to come */
    size_t   extra;  /* bytes of extensions and trailers so far */
};

/* Takes bytes from the front of *in and appends the content to body, which holds at most limit bytes.
 *   FL_OK         the coding has ended; what follows it is left in *in
 *   FL_WANT_READ  all was taken
 *   FL_MALFORMED  *why says it; 413 above limit
 *   FL_NO_MEMORY  for the body */
FL_CHECKED enum fl_status http_chunked_feed(struct http_chunked *c, struct fl_slice *in, size_t limit,
                                            struct fl_buf *body, struct http_refusal *why);

#endif
