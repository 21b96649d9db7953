/* kms/json_write.h - the JSON of answers, in the shape of Jackson's pretty printer: objects on lines of two blanks a
 * level, arrays on one line, " : " between name and value.
 *
 * Owns:    nothing; everything is appended to the caller's buffer, whose failed mark tells. Thread: any. Blocks: never.
 * Source:  docs/protocol/hadoop-kms.md, "Response objects" */
#ifndef KMS_JSON_WRITE_H
#define KMS_JSON_WRITE_H

#include "base/buf.h"
#include "key/key.h"

/* A string, or null where .at is NULL. */
void kms_put_text(struct fl_buf *b, struct fl_slice text);
/* material.at NULL: null. version_name: as it is to be shown. */
void kms_put_key_version(struct fl_buf *b, struct fl_slice name, struct fl_slice version_name,
                         struct fl_slice material);
/* The same with the version name made of name and number. */
void kms_put_numbered_version(struct fl_buf *b, struct fl_slice name, uint32_t version, struct fl_slice material);
void kms_put_metadata(struct fl_buf *b, struct fl_slice name, const struct key *k);

struct kms_eek {
    struct fl_slice name;     /* of the encrypted key's holder; .at NULL: null */
    struct fl_slice key_name; /* the KEK's version is key_name@version … */
    uint32_t        version;
    struct fl_slice version_name; /* … unless this is given */
    struct fl_slice iv, material;
};
void kms_put_eek(struct fl_buf *b, const struct kms_eek *e);

/* Of class only what stands behind the last '.' or '$' is the short name. Only the first line of message is put. */
void kms_put_exception(struct fl_buf *b, struct fl_slice message, const char *java_class);
/* "[ a, b ]": call before each element and at the end. */
void kms_put_array_item(struct fl_buf *b, bool first);
void kms_put_array_end(struct fl_buf *b, bool empty);

#endif
