/* token/record.h - how a token and a master key are stored, in LMDB as in ZooKeeper: Hadoop's own layouts.
 *
 * A token: identifier (self-delimiting), renew date (8 bytes, big-endian), password length (4), password. A key: id,
 * expiry, length and bytes (docs/protocol/hadoop-kms.md, 4.6). What follows is ignored, as Java does; a password cut
 * short is refused, which Java fills with zeros and then accepts.
 * Owns: nothing. Thread: any. Blocks: never.                                                                          */
#ifndef TOKEN_RECORD_H
#define TOKEN_RECORD_H

#include "token/token.h"

struct token_record {
    struct fl_slice         identifier, password;
    struct token_identifier fields; /* of the identifier */
    int64_t                 renew_ms;
};
bool token_record_put(struct fl_buf *b, struct fl_slice identifier, int64_t renew_ms, struct fl_slice password);
/* Slices point into bytes. FL_MALFORMED: the Java text of the fault, or what is wrong with the password. */
FL_CHECKED enum fl_status token_record_get(struct fl_slice bytes, struct token_record *r, struct fl_error *err);

struct token_key_record {
    int32_t         id;
    int64_t         expiry_ms;
    struct fl_slice key; /* not empty */
};
bool                      token_key_record_put(struct fl_buf *b, const struct token_key_record *k);
FL_CHECKED enum fl_status token_key_record_get(struct fl_slice bytes, struct token_key_record *k, struct fl_error *err);

void    token_write_be32(uint8_t at[4], uint32_t v);
int32_t token_read_be32(const uint8_t at[4]);

#endif
