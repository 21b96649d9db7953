/* http/answer.h - an answer's bytes.
 *
 * Owns: nothing. Thread: owner. Blocks: never.                                                                        */
#ifndef HTTP_ANSWER_H
#define HTTP_ANSWER_H

#include "base/buf.h"

enum http_connection { HTTP_CONNECTION_UNSAID, HTTP_CONNECTION_CLOSE, HTTP_CONNECTION_KEEP };

struct http_answer_parts {
    int                  status;
    struct fl_slice      reason, headers, body;
    bool                 head_only;  /* HEAD: the length is said, the body is not sent */
    enum http_connection connection; /* what is said about it */
};

/* Appends the whole answer or nothing; false: no room or no memory, and out is marked failed. */
bool http_write_answer(struct fl_buf *out, const struct http_answer_parts *a);

#endif
