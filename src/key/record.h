/* key/record.h - how a key lies in the store: one record of its metadata, one of each version's material.
 *
 * All numbers big-endian, all lengths 4 bytes. Metadata (table STORE_KEYS, under store_name_key(name)):
 *   format 1 | has description 0 or 1 | bits 4 | versions 4 | created, ms 8 | name | cipher | description |
 *   count of attributes 4 | name and value of each
 * Version (table STORE_KEY_VERSIONS, under store_name_key(name) and the version's number, 4 bytes):
 *   format 1 | number 4 | name | material
 * where name and the like are a length and as many bytes. One set of fields has one encoding.
 *
 * Owns:    what a decoded record needs beside the bytes given. Thread: any. Blocks: never. */
#ifndef KEY_RECORD_H
#define KEY_RECORD_H

#include "key/key.h"

enum { KEY_RECORD_FORMAT = 1, KEY_RECORD_MAX = 16 << 20 };

bool key_record_put(struct fl_buf *b, const struct key *k);
/* name, cipher and the rest point into record, attributes into memory that is the caller's: key_record_done frees it.
 * versions is NULL. FL_MALFORMED. */
FL_CHECKED enum fl_status key_record_decode(struct fl_slice record, struct key *out, struct fl_error *err);
void                      key_record_done(struct key *decoded);

bool key_version_put(struct fl_buf *b, struct fl_slice name, uint32_t number, struct fl_slice material);
struct key_version_record {
    struct fl_slice name, material; /* into the record */
    uint32_t        number;
};
FL_CHECKED enum fl_status key_version_decode(struct fl_slice record, struct key_version_record *out,
                                             struct fl_error *err);

enum { KEY_VERSION_KEY_MAX = STORE_NAME_KEY_MAX + 4 };
/* The record key of a version. */
size_t key_version_key(struct fl_slice name, uint32_t number, uint8_t out[KEY_VERSION_KEY_MAX]);

#endif
