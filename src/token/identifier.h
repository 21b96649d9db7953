/* token/identifier.h - what the room needs of identifiers beyond token.h.
 *
 * Owns: nothing. Thread: any. Blocks: never.                                                                          */
#ifndef TOKEN_IDENTIFIER_H
#define TOKEN_IDENTIFIER_H

#include "token/token.h"

/* As token_identifier_get, leaving in *in what follows the last field. */
FL_CHECKED enum fl_status token_identifier_take(struct fl_slice *in, struct token_identifier *id, struct fl_error *err);
/* All eight fields alike. Bytes may differ: overlong integers, and bytes behind the last field, which Java ignores. */
bool token_identifier_same(const struct token_identifier *a, const struct token_identifier *b);
/* "2026-12-01 01:39:40,011+0000", as Hadoop prints dates; always UTC. */
bool token_put_date(struct fl_buf *b, int64_t wall_ms);
/* A name as Java prints it: what isn't UTF-8 becomes U+FFFD. */
bool token_put_name(struct fl_buf *b, struct fl_slice name);

#endif
