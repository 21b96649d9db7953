#include "key/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* The key and the first rows of the table in the appendix of the paper: message i is the bytes 0 to i-1. */
static void vectors_of_the_paper(void **state)
{
    static const struct key_hash_seed seed = { UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908) };
    uint8_t                           message[15];

    (void)state;
    for (size_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)i;
    assert_true(key_hash(&seed, fl_slice_of(NULL, 0)) == UINT64_C(0x726fdb47dd0e0e31));
    assert_true(key_hash(&seed, fl_slice_of(message, 1)) == UINT64_C(0x74f839c593dc67fd));
    assert_true(key_hash(&seed, fl_slice_of(message, 15)) == UINT64_C(0xa129ca6149be45e5));
}

static void another_seed_gives_another_hash(void **state)
{
    static const struct key_hash_seed one = { 1, 2 }, other = { 1, 3 };

    (void)state;
    assert_true(key_hash(&one, FL_LIT("k")) != key_hash(&other, FL_LIT("k")));
    assert_true(key_hash(&one, FL_LIT("k")) == key_hash(&one, FL_LIT("k")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_the_paper),
        cmocka_unit_test(another_seed_gives_another_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
