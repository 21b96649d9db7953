/* kms/words.h - printf for sentences that hold a client's bytes: "%.*s" puts all of them, a NUL in the middle too.
 *
 * Why not printf: it ends a string at its first NUL, so that the refusal about a key "a\0b" would name a key "a".
 * Owns:    nothing. Thread: any. Blocks: never. */
#ifndef KMS_WORDS_H
#define KMS_WORDS_H

#include "base/buf.h"

#include <stdarg.h>

/* Appends. Knows %.*s (bytes), %s, %d, %u, %zu, %lld and %%. False: no memory, b->failed is set. */
bool kms_words_put(struct fl_buf *b, const char *format, va_list args);
/* Appends a text for the log in which URLs stand: what a parameter `delegation` or `token` says becomes "***", for a
 * log's readers could use the token. */
void kms_words_put_masked(struct fl_buf *b, struct fl_slice text);

#endif
