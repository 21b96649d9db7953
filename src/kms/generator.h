/* kms/generator.h - which keys a JVM 17 can make: a cipher names a generator, and that has lengths of its own.
 *
 * Owns:    nothing. Thread: any. Blocks: never.
 * Source:  docs/protocol/hadoop-kms.md, "Key generators" */
#ifndef KMS_GENERATOR_H
#define KMS_GENERATOR_H

#include "base/buf.h"

enum { KMS_GENERATED_BITS_MAX = 65536 }; /* a JVM goes on until its memory ends */

enum kms_generation {
    KMS_GENERATED,      /* into .bytes, which may differ from what was asked for */
    KMS_NO_GENERATOR,   /* Java knows no such algorithm */
    KMS_WRONG_KEY_SIZE, /* .why: in the generator's words */
    KMS_EMPTY_KEY,      /* it makes no byte, and Java fails when it looks at the key */
    KMS_NEGATIVE_SIZE,  /* it fails when it makes an array of .size bytes */
};
struct kms_generated {
    enum kms_generation kind;
    size_t              bytes;
    const char         *why;
    int                 size;
};
/* cipher: "AES/CTR/NoPadding"; what is before the first '/' counts, in any case of its letters. */
struct kms_generated kms_generator_try(struct fl_slice cipher, int64_t bits);

#endif
