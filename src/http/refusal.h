/* http/refusal.h - why a message is not taken: the status and the reason, worded as Jetty 9.4 words them.
 *
 * Owns: nothing. Thread: any. Blocks: never.                                                                          */
#ifndef HTTP_REFUSAL_H
#define HTTP_REFUSAL_H

#include "featherlock/slice.h"
#include "featherlock/status.h"

struct http_refusal {
    int  status;
    char reason[64];
};

/* Both return FL_MALFORMED, so that refusing is one line. */
enum fl_status http_refuse(struct http_refusal *r, int status, const char *reason);
/* 400 "Illegal character …", naming the byte and its class: "SPACE=' '", "CNTL=0x0", "LF=\n". */
enum fl_status http_refuse_byte(struct http_refusal *r, uint8_t byte);

/* Bytes of a token: RFC 9110 5.6.2. */
extern const bool http_token_byte[256];
bool              http_is_token(struct fl_slice s); /* at least one byte, all of a token */

#endif
