#include "kms/generator.h"

#include "base/own.h"

#define AT_LEAST_40 "Key length must be at least 40 bits"

/* What a generator makes of a number of bits. */
enum rule {
    EXACT,     /* one of `bits`, rounded up to `bytes` where that is not 0: DES counts its parity only there */
    WHOLE,     /* whole bytes from least to most */
    ROUNDED,   /* from least to most, rounded up to bytes */
    FORGIVING, /* rounded up whatever it is; Java fails later where that is nothing */
};

static const struct generator {
    const char *name;
    enum rule   rule;
    const char *refusal;
    int         bits[3]; /* EXACT */
    size_t      bytes;
    int         least, most;
} generators[] = {
    { "AES", EXACT, "Wrong keysize: must be equal to 128, 192 or 256", { 128, 192, 256 }, 0, 0, 0 },
    { "DES", EXACT, "Wrong keysize: must be equal to 56", { 56, 56, 56 }, 8, 0, 0 },
    { "DESede", EXACT, "Wrong keysize: must be equal to 112 or 168", { 112, 168, 168 }, 24, 0, 0 },
    { "TripleDES", EXACT, "Wrong keysize: must be equal to 112 or 168", { 112, 168, 168 }, 24, 0, 0 },
    { "ChaCha20", EXACT, "Key length for ChaCha20 must be 256 bits", { 256, 256, 256 }, 0, 0, 0 },
    { "Blowfish",
      WHOLE,
      "Keysize must be multiple of 8, and can only range from 32 to 448 (inclusive)",
      { 0 },
      0,
      32,
      448 },
    { "RC2", ROUNDED, "Key length for RC2 must be between 40 and 1024 bits", { 0 }, 0, 40, 1024 },
    { "ARCFOUR", ROUNDED, "Key length for ARCFOUR must be between 40 and 1024 bits", { 0 }, 0, 40, 1024 },
    { "RC4", ROUNDED, "Key length for ARCFOUR must be between 40 and 1024 bits", { 0 }, 0, 40, 1024 },
    { "HmacMD5", FORGIVING, NULL, { 0 }, 0, INT32_MIN, INT32_MAX },
    { "HmacSHA1", FORGIVING, NULL, { 0 }, 0, INT32_MIN, INT32_MAX },
    { "HmacSHA224", ROUNDED, AT_LEAST_40, { 0 }, 0, 40, INT32_MAX },
    { "HmacSHA256", ROUNDED, AT_LEAST_40, { 0 }, 0, 40, INT32_MAX },
    { "HmacSHA384", ROUNDED, AT_LEAST_40, { 0 }, 0, 40, INT32_MAX },
    { "HmacSHA512", ROUNDED, AT_LEAST_40, { 0 }, 0, 40, INT32_MAX },
    { "HmacSHA3-224", ROUNDED, AT_LEAST_40, { 0 }, 0, 40, INT32_MAX },
    { "HmacSHA3-256", ROUNDED, AT_LEAST_40, { 0 }, 0, 40, INT32_MAX },
    { "HmacSHA3-384", ROUNDED, AT_LEAST_40, { 0 }, 0, 40, INT32_MAX },
    { "HmacSHA3-512", ROUNDED, AT_LEAST_40, { 0 }, 0, 40, INT32_MAX },
};

static const struct generator *named(struct fl_slice cipher)
{
    size_t          slash = fl_slice_find(cipher, '/');
    struct fl_slice name = fl_slice_of(cipher.at, slash == SIZE_MAX ? cipher.len : slash);

    for (size_t i = 0; i < FL_COUNT(generators); i++)
        if (fl_slice_equal_nocase(name, fl_slice_str(generators[i].name)))
            return &generators[i];
    return NULL;
}

static bool can_make(const struct generator *g, int64_t bits)
{
    if (g->rule == EXACT)
        return bits == g->bits[0] || bits == g->bits[1] || bits == g->bits[2];
    return bits >= g->least && bits <= g->most && (g->rule != WHOLE || bits % 8 == 0);
}

/* The length of Java's array, whose int overflows near its end: one rule divides by 8, the other shifts. */
static int array_size(const struct generator *g, int64_t bits)
{
    int64_t sum = (int32_t)(uint32_t)(bits + 7);

    return (int)(g->rule == FORGIVING || sum >= 0 ? sum / 8 : (sum - 7) / 8);
}

struct kms_generated kms_generator_try(struct fl_slice cipher, int64_t bits)
{
    const struct generator *g = named(cipher);
    int                     size;

    if (g == NULL)
        return (struct kms_generated){ .kind = KMS_NO_GENERATOR };
    if (!can_make(g, bits))
        return (struct kms_generated){ .kind = KMS_WRONG_KEY_SIZE, .why = g->refusal };
    size = array_size(g, bits);
    if (size < 0)
        return (struct kms_generated){ .kind = KMS_NEGATIVE_SIZE, .size = size };
    if (size == 0)
        return (struct kms_generated){ .kind = KMS_EMPTY_KEY };
    if (bits > KMS_GENERATED_BITS_MAX)
        return (struct kms_generated){ .kind = KMS_WRONG_KEY_SIZE, .why = "Key length must be at most 65536 bits" };
    return (struct kms_generated){ .kind = KMS_GENERATED, .bytes = g->bytes > 0 ? g->bytes : (size_t)size };
}
