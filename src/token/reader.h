/* token/reader.h - Hadoop's variable-length integers and Texts, taken from the front of a slice.
 *
 * Failures carry the Java class and message of the same fault, since a door hands them to Java clients as they are.
 * Owns:    nothing; what is taken points into the caller's bytes. Thread: any. Blocks: never.
 * Source:  docs/protocol/hadoop-kms.md, 4.1 and 4.2.                                                                  */
#ifndef TOKEN_READER_H
#define TOKEN_READER_H

#include "featherlock/slice.h"
#include "featherlock/status.h"

/* All advance *in only on success. FL_MALFORMED. */
FL_CHECKED enum fl_status token_take_byte(struct fl_slice *in, uint8_t *byte, struct fl_error *err);
FL_CHECKED enum fl_status token_take_vlong(struct fl_slice *in, int64_t *v, struct fl_error *err);
FL_CHECKED enum fl_status token_take_vint(struct fl_slice *in, int32_t *v, struct fl_error *err);
/* A length, then that many bytes. Where a negative length differs is in Java's complaint. */
FL_CHECKED enum fl_status token_take_bytes(struct fl_slice *in, struct fl_slice *out, struct fl_error *err);
FL_CHECKED enum fl_status token_take_text(struct fl_slice *in, struct fl_slice *out, struct fl_error *err);
/* A Text inside an identifier, which is bounded by TOKEN_TEXT_MAX. */
FL_CHECKED enum fl_status token_take_short_text(struct fl_slice *in, struct fl_slice *out, struct fl_error *err);

#endif
