/* token/keys.h - the master keys: a small ring, replaced as a whole, read under RCU.
 *
 * Owns:    the keys, in locked memory; a dropped one until the last reader of the ring that held it is gone.
 * Thread:  reading: registered with RCU; changing: likewise, one at a time is made sure of inside. Blocks: never.     */
#ifndef TOKEN_KEYS_H
#define TOKEN_KEYS_H

#include "token/token.h"

struct token_keys;
struct token_key; /* until the thread goes offline */

struct token_keys *token_keys_new(void);
void               token_keys_free(struct token_keys *k); /* no readers any more; NULL is fine */
FL_AUTO_DEFINE(token_keys);

const struct token_key *token_keys_current(struct token_keys *k); /* NULL before the first */
const struct token_key *token_keys_find(struct token_keys *k, int32_t id);
/* Some key that expired before now_ms and isn't current: false when there is none. */
bool            token_keys_expired(struct token_keys *k, int64_t now_ms, int32_t *id);
int32_t         token_key_id(const struct token_key *key);
int64_t         token_key_expiry_ms(const struct token_key *key);
struct fl_slice token_key_bytes(const struct token_key *key);

/* Replaces one of the same id. FL_NO_MEMORY. */
FL_CHECKED enum fl_status token_keys_add(struct token_keys *k, int32_t id, int64_t expiry_ms, struct fl_slice bytes,
                                         bool current);
FL_CHECKED enum fl_status token_keys_extend(struct token_keys *k, int32_t id, int64_t expiry_ms); /* FL_NOT_FOUND */
/* FL_NOT_FOUND, FL_NO_MEMORY. */
FL_CHECKED enum fl_status token_keys_drop(struct token_keys *k, int32_t id);

#endif
