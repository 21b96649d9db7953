/* What a JVM 17 answers when it is asked for keys, row by row as seen. */
#include "kms/generator.h"

#include "base/own.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    const char *cipher;
    int64_t     bits;
    size_t      bytes;
} made[] = {
    { "AES", 128, 16 },
    { "aes/CTR/NoPadding", 192, 24 },
    { "AES/", 256, 32 },
    { "DES", 56, 8 },
    { "DESede", 112, 24 },
    { "desede/CBC", 168, 24 },
    { "TripleDES", 168, 24 },
    { "ChaCha20", 256, 32 },
    { "Blowfish", 32, 4 },
    { "Blowfish", 448, 56 },
    { "RC2", 50, 7 },
    { "RC2", 1024, 128 },
    { "RC4", 128, 16 },
    { "ARCFOUR", 40, 5 },
    { "HmacMD5", 1, 1 },
    { "HmacMD5", 100, 13 },
    { "HmacSHA1", 39, 5 },
    { "HmacSHA256", 40, 5 },
    { "hmacsha512/224", 128, 16 },
    { "HmacSHA3-256", 128, 16 },
    { "HmacSHA1", 65536, 8192 },
};

static void a_generator_has_lengths_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT(made); i++) {
        struct kms_generated g = kms_generator_try(fl_slice_str(made[i].cipher), made[i].bits);

        print_message("%s, %lld\n", made[i].cipher, (long long)made[i].bits);
        assert_int_equal(g.kind, KMS_GENERATED);
        assert_int_equal(g.bytes, made[i].bytes);
    }
}

static const struct {
    const char *cipher;
    int64_t     bits;
    const char *why;
} refused[] = {
    { "AES", 127, "Wrong keysize: must be equal to 128, 192 or 256" },
    { "AES", -8, "Wrong keysize: must be equal to 128, 192 or 256" },
    { "DES/CBC", 64, "Wrong keysize: must be equal to 56" },
    { "DESede", 192, "Wrong keysize: must be equal to 112 or 168" },
    { "ChaCha20", 128, "Key length for ChaCha20 must be 256 bits" },
    { "Blowfish", 33, "Keysize must be multiple of 8, and can only range from 32 to 448 (inclusive)" },
    { "Blowfish", 456, "Keysize must be multiple of 8, and can only range from 32 to 448 (inclusive)" },
    { "RC2", 39, "Key length for RC2 must be between 40 and 1024 bits" },
    { "RC4", 1025, "Key length for ARCFOUR must be between 40 and 1024 bits" },
    { "HmacSHA256", 39, "Key length must be at least 40 bits" },
    { "HmacSHA256", -8, "Key length must be at least 40 bits" },
    { "HmacSHA256", 65544, "Key length must be at most 65536 bits" },
};

static void other_lengths_are_refused_in_its_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < FL_COUNT(refused); i++) {
        struct kms_generated g = kms_generator_try(fl_slice_str(refused[i].cipher), refused[i].bits);

        assert_int_equal(g.kind, KMS_WRONG_KEY_SIZE);
        assert_string_equal(g.why, refused[i].why);
    }
}

static void a_name_that_java_lacks_has_no_generator(void **state)
{
    static const char *const names[] = { "",         "/AES",    " AES",    "AES ",    "Nope",
                                         "Rijndael", "AES_128", "HmacSHA", "DES-EDE3" };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(names); i++)
        assert_int_equal(kms_generator_try(fl_slice_str(names[i]), 128).kind, KMS_NO_GENERATOR);
}

static void javas_ints_overflow(void **state)
{
    (void)state;
    assert_int_equal(kms_generator_try(FL_LIT("HmacMD5"), -8).kind, KMS_EMPTY_KEY);
    assert_int_equal(kms_generator_try(FL_LIT("HmacMD5"), -1).kind, KMS_EMPTY_KEY);
    assert_int_equal(kms_generator_try(FL_LIT("HmacMD5"), -20).size, -1);
    assert_int_equal(kms_generator_try(FL_LIT("HmacMD5"), INT32_MAX).size, -268435455);
    assert_int_equal(kms_generator_try(FL_LIT("HmacSHA256"), INT32_MAX).size, -268435456);
    assert_int_equal(kms_generator_try(FL_LIT("HmacSHA256"), INT32_MAX).kind, KMS_NEGATIVE_SIZE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_generator_has_lengths_of_its_own),
        cmocka_unit_test(other_lengths_are_refused_in_its_words),
        cmocka_unit_test(a_name_that_java_lacks_has_no_generator),
        cmocka_unit_test(javas_ints_overflow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
