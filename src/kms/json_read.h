/* kms/json_read.h - request bodies: JSON into a tree in the arena, refused as Jackson refuses.
 *
 * Why not a library: the KMS tells its clients which exception Jackson would have thrown, takes the last of duplicate
 * members, ignores text behind the value, guesses UTF-16 and UTF-32, and must not allocate outside the arena.
 * Owns:    nothing; the tree lives in the arena and points into the body. Thread: any. Blocks: never.
 * Source:  docs/protocol/hadoop-kms.md, "Request objects" and "Errors" */
#ifndef KMS_JSON_READ_H
#define KMS_JSON_READ_H

#include "base/arena.h"
#include "featherlock/status.h"

enum { KMS_JSON_DEPTH = 1000 };

enum json_kind {
    JSON_NULL,
    JSON_BOOL,
    JSON_INT,
    JSON_LONG,
    JSON_BIG,
    JSON_DOUBLE,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json_value {
    enum json_kind           kind;
    struct fl_slice          name;   /* of a member */
    struct fl_slice          text;   /* JSON_STRING: decoded, valid UTF-8 */
    int64_t                  number; /* JSON_INT (32 bits), JSON_LONG (64 bits) */
    const struct json_value *first, *next;
};

/* Jackson's exceptions, by what went wrong. */
enum json_fault_kind { JSON_BAD_SHAPE, JSON_BAD_TEXT, JSON_CUT_SHORT, JSON_BAD_ELEMENT, JSON_BAD_CHARSET };
struct json_fault {
    enum json_fault_kind kind;
    char                 text[240];
};

/* Reads one value: an object, or an array where want_array, or null. FL_MALFORMED fills *fault; FL_NO_MEMORY. */
FL_CHECKED enum fl_status kms_json_read(struct fl_slice body, bool want_array, struct fl_arena *a,
                                        const struct json_value **out, struct json_fault *fault);

/* The last member of that name; NULL when there is none. */
const struct json_value *kms_json_member(const struct json_value *object, const char *name);
/* "java.lang.Integer" and so on, as Jackson makes them. */
const char *kms_json_java_class(enum json_kind kind);

/* json_text.c: the body as UTF-8 without a byte order mark; itself where it is that already. FL_MALFORMED for
 * UTF-16 or UTF-32 that is broken, FL_NO_MEMORY. */
FL_CHECKED enum fl_status kms_json_utf8(struct fl_slice body, struct fl_arena *a, struct fl_slice *out);
/* Writes a character below 0x110000, at most four bytes; returns the place behind. */
uint8_t *kms_utf8_put(uint8_t *to, uint32_t c);

#endif
