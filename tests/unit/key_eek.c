#include "base/encode.h"
#include "key/key.h"

#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct bytes {
    uint8_t at[64];
    size_t  len;
};

static struct bytes of_hex(const char *hex)
{
    struct bytes b = { .len = strlen(hex) / 2 };

    assert_true(b.len <= sizeof b.at);
    assert_int_equal(fl_hex_decode(fl_slice_str(hex), b.at, NULL), FL_OK);
    return b;
}

static struct bytes field(const json_t *c, const char *name)
{
    const char *hex = json_string_value(json_object_get(c, name));

    assert_non_null(hex);
    return of_hex(hex);
}

#define SLICE(b) fl_slice_of((b).at, (b).len)

static void assert_case(const json_t *c)
{
    struct bytes kek0 = field(c, "kek0"), kek1 = field(c, "kek1"), iv = field(c, "iv"), eek = field(c, "eek"),
                 dek = field(c, "dek"), again = field(c, "reencrypted");
    uint8_t out[64];

    assert_int_equal(key_eek_crypt(SLICE(kek0), iv.at, SLICE(eek), out, NULL), FL_OK);
    assert_memory_equal(out, dek.at, dek.len);
    assert_int_equal(key_eek_crypt(SLICE(kek0), iv.at, SLICE(dek), out, NULL), FL_OK);
    assert_memory_equal(out, eek.at, eek.len);
    assert_int_equal(key_eek_reencrypt(SLICE(kek0), SLICE(kek1), iv.at, SLICE(eek), out, NULL), FL_OK);
    assert_memory_equal(out, again.at, again.len);
    assert_int_equal(key_eek_reencrypt(SLICE(kek0), SLICE(kek0), iv.at, SLICE(eek), out, NULL), FL_OK);
    assert_memory_equal(out, eek.at, eek.len); /* to the same key: the same bytes */
}

static void answers_of_the_java_server(void **state)
{
    json_t *all = json_load_file(FL_TEST_DATA "/key/eek.json", 0, NULL);
    json_t *cases = json_object_get(all, "cases");

    (void)state;
    assert_true(json_array_size(cases) >= 9); /* three of each length at least */
    for (size_t i = 0; i < json_array_size(cases); i++)
        assert_case(json_array_get(cases, i));
    json_decref(all);
}

/* Computed by hand from the rule, docs/protocol/hadoop-kms.md. */
static void the_counter_wraps_over_all_128_bits(void **state)
{
    struct bytes         kek = of_hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    struct bytes         dek = of_hex("404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f");
    struct bytes         eek = of_hex("a9d8a65e08e2369d1bce5b3011c219a1a2c152e57e1cc987f1aac031817329df");
    static const uint8_t iv[KEY_IV_LEN];
    uint8_t              out[32];

    (void)state;
    assert_int_equal(key_eek_crypt(SLICE(kek), iv, SLICE(dek), out, NULL), FL_OK);
    assert_memory_equal(out, eek.at, sizeof out);
}

static void the_first_vectors(void **state)
{
    struct bytes kek = of_hex("000102030405060708090a0b0c0d0e0f"), to = of_hex("101112131415161718191a1b1c1d1e1f");
    struct bytes iv = of_hex("101112131415161718191a1b1c1d1e1f"), dek = of_hex("a0a1a2a3a4a5a6a7a8a9aaabacadaeaf");
    struct bytes eek = of_hex("9b32b373bf5d276bc3d55af434847d11"), other = of_hex("a7b4477e3c7c5e9ccfa4f1f662404f76");
    uint8_t      out[16];

    (void)state;
    assert_int_equal(key_eek_crypt(SLICE(kek), iv.at, SLICE(dek), out, NULL), FL_OK);
    assert_memory_equal(out, eek.at, sizeof out);
    assert_int_equal(key_eek_reencrypt(SLICE(kek), SLICE(to), iv.at, SLICE(eek), out, NULL), FL_OK);
    assert_memory_equal(out, other.at, sizeof out);
}

static void generated_ones_decrypt_and_differ(void **state)
{
    static const size_t  lengths[] = { 16, 24, 32 };
    static const uint8_t kek[32] = { 7 }, zeros[32];
    uint8_t              iv[2][KEY_IV_LEN], eek[2][32], dek[2][32];

    (void)state;
    for (size_t n = 0; n < FL_COUNT(lengths); n++) {
        struct fl_slice k = fl_slice_of(kek, lengths[n]);
        for (int round = 0; round < 200; round++) { /* more than one filling of the pool */
            for (int i = 0; i < 2; i++) {
                assert_int_equal(key_eek_generate(k, iv[i], eek[i], NULL), FL_OK);
                assert_int_equal(key_eek_crypt(k, iv[i], fl_slice_of(eek[i], k.len), dek[i], NULL), FL_OK);
                assert_memory_not_equal(dek[i], zeros, k.len);
            }
            assert_memory_not_equal(iv[0], iv[1], KEY_IV_LEN);
            assert_memory_not_equal(dek[0], dek[1], k.len);
        }
    }
}

static void other_key_lengths_are_refused(void **state)
{
    static const size_t  bad[] = { 0, 1, 15, 17, 31, 33, 64 };
    static const uint8_t kek[64], iv[KEY_IV_LEN], data[16];
    uint8_t              out[64] = { 0 }, made_iv[KEY_IV_LEN];
    struct fl_slice      good = fl_slice_of(kek, 16);
    struct fl_error      err;

    (void)state;
    for (size_t i = 0; i < FL_COUNT(bad); i++) {
        struct fl_slice k = fl_slice_of(kek, bad[i]);
        assert_int_equal(key_eek_crypt(k, iv, fl_slice_of(data, 16), out, &err), FL_USAGE);
        assert_non_null(strstr(err.text, "16, 24 or 32"));
        assert_int_equal(key_eek_generate(k, made_iv, out, NULL), FL_USAGE);
        assert_int_equal(key_eek_reencrypt(k, good, iv, fl_slice_of(data, 16), out, NULL), FL_USAGE);
        assert_int_equal(key_eek_reencrypt(good, k, iv, fl_slice_of(data, 16), out, NULL), FL_USAGE);
    }
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], 0); /* no plain DEK is left behind */
}

static void empty_and_odd_lengths(void **state)
{
    static const uint8_t kek[16], iv[KEY_IV_LEN], data[33] = { 1, 2, 3 };
    uint8_t              whole[33], part[33];

    (void)state;
    assert_int_equal(key_eek_crypt(fl_slice_of(kek, 16), iv, fl_slice_of(NULL, 0), whole, NULL), FL_OK);
    assert_int_equal(key_eek_crypt(fl_slice_of(kek, 16), iv, fl_slice_of(data, 33), whole, NULL), FL_OK);
    assert_int_equal(key_eek_crypt(fl_slice_of(kek, 16), iv, fl_slice_of(data, 7), part, NULL), FL_OK);
    assert_memory_equal(whole, part, 7);
}

static void *generate_many(void *arg)
{
    static const uint8_t kek[32] = { 9 };
    uint8_t              iv[KEY_IV_LEN], eek[32], dek[32], again[32];

    for (int i = 0; i < 500; i++) {
        struct fl_slice k = fl_slice_of(kek, i % 2 == 0 ? 16 : 32);
        if (key_eek_generate(k, iv, eek, NULL) != FL_OK ||
            key_eek_crypt(k, iv, fl_slice_of(eek, k.len), dek, NULL) != FL_OK ||
            key_eek_crypt(k, iv, fl_slice_of(dek, k.len), again, NULL) != FL_OK ||
            !fl_slice_equal(fl_slice_of(eek, k.len), fl_slice_of(again, k.len)))
            return NULL;
    }
    return arg;
}

static void threads_have_their_own(void **state)
{
    pthread_t threads[4];
    void     *result;

    for (size_t i = 0; i < FL_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, generate_many, state), 0);
    for (size_t i = 0; i < FL_COUNT(threads); i++) {
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_of_the_java_server),
        cmocka_unit_test(the_counter_wraps_over_all_128_bits),
        cmocka_unit_test(the_first_vectors),
        cmocka_unit_test(generated_ones_decrypt_and_differ),
        cmocka_unit_test(other_key_lengths_are_refused),
        cmocka_unit_test(empty_and_odd_lengths),
        cmocka_unit_test(threads_have_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
