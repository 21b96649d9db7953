/* base/encode.h - hex and base64, both alphabets (RFC 4648), as Hadoop writes and reads them.
 *
 * Owns:    nothing; results go into the caller's memory. Thread: any. Blocks: never.                                  */
#ifndef BASE_ENCODE_H
#define BASE_ENCODE_H

#include "base/buf.h"

#define FL_HEX_LEN(n) ((n)*2)
#define FL_BASE64_LEN(n) (((n) + 2) / 3 * 4)  /* padded */
#define FL_BASE64URL_LEN(n) (((n)*4 + 2) / 3) /* unpadded */
#define FL_BASE64_DECODED_MAX(n) (((n) + 3) / 4 * 3)

bool fl_hex_put(struct fl_buf *b, struct fl_slice bytes); /* lower case */
/* Even count of hex digits of either case into out[bytes.len / 2]; FL_MALFORMED names the first bad byte's place. */
FL_CHECKED enum fl_status fl_hex_decode(struct fl_slice text, uint8_t *out, struct fl_error *err);

bool fl_base64_put(struct fl_buf *b, struct fl_slice bytes);    /* '+' '/', padded */
bool fl_base64url_put(struct fl_buf *b, struct fl_slice bytes); /* '-' '_', no padding */
/* Writes exactly FL_BASE64URL_LEN(bytes.len) characters at out. */
void fl_base64url_write(char *out, struct fl_slice bytes);

/* The lenient decoder of Hadoop's side (commons-codec): both alphabets, padding optional, decoding ends at the first
 * '=', characters outside the alphabets are skipped, a single left-over character is dropped. Never fails.
 * out has FL_BASE64_DECODED_MAX(text.len) bytes. Returns the bytes written. */
size_t fl_base64_decode_lenient(struct fl_slice text, uint8_t *out);
/* RFC 4648 to the letter, either alphabet, padding optional but right where present, no other characters. */
FL_CHECKED enum fl_status fl_base64_decode(struct fl_slice text, uint8_t *out, size_t *len, struct fl_error *err);

/* Percent-decoding once, in place order; plus_is_blank as in queries. out has text.len bytes. FL_MALFORMED for a '%'
 * without two hex digits. A decoded NUL is passed on: the caller decides. */
FL_CHECKED enum fl_status fl_percent_decode(struct fl_slice text, bool plus_is_blank, uint8_t *out, size_t *len,
                                            struct fl_error *err);
/* A JSON string with its quotes; control characters, '"' and '\' escaped, invalid UTF-8 as U+FFFD. */
bool fl_json_put_string(struct fl_buf *b, struct fl_slice text);
bool fl_utf8_valid(struct fl_slice text);

#endif
