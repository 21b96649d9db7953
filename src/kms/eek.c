/* Endpoints on encrypted keys: generate, decrypt, re-encrypt one and many. */
#include "kms/call.h"

#include "kms/json_read.h"
#include "kms/json_write.h"

#include <stdio.h>

#define BAD_KEK "java.security.InvalidKeyException: Invalid AES key length: %zu bytes"
#define WRONG_OP "IllegalArgumentException Wrong eek_op value, it must be generate or decrypt"
#define NO_KEY_VERSION                                                                             \
    "org.apache.hadoop.thirdparty.com.google.common.util.concurrent.UncheckedExecutionException: " \
    "java.lang.NullPointerException: No KeyVersion exists for key '%.*s' "

enum { GENERATE_MAX = 100000, KEK_MAX = 32 };

static struct fl_slice kek_of(const struct key *key, uint32_t version)
{
    return fl_secret_slice(key->versions[version]);
}

static void refuse_null(struct kms_call *c, const char *parameter)
{
    kms_refuse(c, KMS_F_ARGUMENT, "Parameter '%s' cannot be null", parameter);
}

/* A key whose material no AES takes was made with material of its own. */
static void refuse_crypto(struct kms_call *c, struct fl_slice kek)
{
    kms_refuse(c, KMS_F_IO, BAD_KEK, kek.len);
}

/* ---- generate ---------------------------------------------------------------------------------------------------- */

/* The decimal digit at the front of s, of any script of the Basic Multilingual Plane, as Java's parseInt takes it;
 * -1: none. *len: its bytes. */
static int digit_of(struct fl_slice s, size_t *len)
{
    static const uint16_t zeroes[] = { 0x660,  0x6f0,  0x7c0,  0x966,  0x9e6,  0xa66,  0xae6,  0xb66,  0xbe6,
                                       0xc66,  0xce6,  0xd66,  0xde6,  0xe50,  0xed0,  0xf20,  0x1040, 0x1090,
                                       0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40,
                                       0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10 };
    uint32_t              c = s.at[0];

    *len = c < 0x80 ? 1 : c < 0xe0 ? 2 : 3;
    if (c < 0x80)
        return c >= '0' && c <= '9' ? (int)(c - '0') : -1;
    if (s.len < *len || c < 0xc2 || c >= 0xf0)
        return -1;
    c = *len == 2 ? (c & 0x1f) << 6 | (s.at[1] & 0x3f) : (c & 0xf) << 12 | (s.at[1] & 0x3fU) << 6 | (s.at[2] & 0x3f);
    for (size_t i = 0; i < FL_COUNT(zeroes); i++)
        if (c >= zeroes[i] && c < zeroes[i] + 10U)
            return (int)(c - zeroes[i]);
    return -1;
}

/* Integer.valueOf of a decoded parameter; an empty one is the default. False: refused. */
static FL_CHECKED bool read_count(struct kms_call *c, int64_t *count)
{
    struct fl_slice text = c->query.value[KMS_P_NUM_KEYS], digits = text;
    bool            negative = text.len > 0 && text.at[0] == '-', good;
    int64_t         n = 0;

    *count = 1;
    if (text.len == 0)
        return true;
    if (text.at[0] == '-' || text.at[0] == '+')
        digits = fl_slice_from(text, 1);
    good = digits.len > 0;
    while (good && digits.len > 0) {
        size_t len;
        int    digit = digit_of(digits, &len);

        good = digit >= 0 && n <= INT32_MAX;
        n = n * 10 + digit;
        digits = fl_slice_from(digits, len);
    }
    *count = negative ? -n : n;
    if (good && *count >= INT32_MIN && *count <= INT32_MAX)
        return true;
    kms_refuse(c, KMS_F_QUERY_PARAM, "java.lang.NumberFormatException: For input string: \"%.*s\"",
               FL_SLICE_ARGS(text));
    return false;
}

/* Level 2 inside generate: whatever is thrown there comes out as an IOException that quotes it. */
static FL_CHECKED bool may_generate(struct kms_call *c, const struct key *key)
{
    struct fl_slice name = c->route.name, acl_name;
    enum kms_access access;

    if (key == NULL) {
        kms_refuse(c, KMS_F_IO, NO_KEY_VERSION, FL_SLICE_ARGS(name));
        return false;
    }
    acl_name = kms_acl_name(key, name);
    access = kms_could_key(c, acl_name, ACL_KEY_GENERATE_EEK);
    if (access == KMS_NO)
        kms_refuse(c, KMS_F_IO,
                   "org.apache.hadoop.security.authorize.AuthorizationException: User [%.*s] is not authorized to "
                   "perform [GENERATE_EEK] on key with ACL name [%.*s]!!",
                   FL_SLICE_ARGS(c->user_short), FL_SLICE_ARGS(acl_name));
    return access == KMS_YES;
}

/* False: refused. */
static FL_CHECKED bool put_generated(struct kms_call *c, const struct key *key, int64_t count, struct fl_buf *b)
{
    uint32_t        version = key_current(key);
    struct fl_slice kek = kek_of(key, version);
    uint8_t         iv[KEY_IV_LEN], eek[KEK_MAX];

    for (int64_t i = 0; i < count; i++) {
        if (kek.len > sizeof eek || key_eek_generate(kek, iv, eek, NULL) != FL_OK) {
            kms_refuse(c, KMS_F_IO,
                       "java.io.IOException: java.util.concurrent.ExecutionException: java.io.IOException: " BAD_KEK,
                       kek.len);
            return false;
        }
        kms_put_array_item(b, i == 0);
        kms_put_eek(b, &(struct kms_eek){ .name = c->route.name,
                                          .key_name = c->route.name,
                                          .version = version,
                                          .iv = fl_slice_of(iv, sizeof iv),
                                          .material = fl_slice_of(eek, kek.len) });
    }
    return true;
}

static FL_CHECKED bool check_generate(struct kms_call *c, int64_t *count)
{
    struct fl_slice op = c->query.value[KMS_P_EEK_OP];

    if (!read_count(c, count))
        return false;
    if (c->route.name.len == 0) {
        kms_refuse(c, KMS_F_ARGUMENT, "Parameter 'name' cannot be empty");
        return false;
    }
    if (op.at == NULL) {
        refuse_null(c, "eekOp");
        return false;
    }
    if (!fl_slice_equal(op, FL_LIT("generate"))) {
        kms_refuse(c, KMS_F_ARGUMENT, WRONG_OP);
        return false;
    }
    if (*count > GENERATE_MAX) { /* Java has no limit and dies of it */
        kms_refuse(c, KMS_F_ARGUMENT, "num_keys is %lld, where at most %d are allowed", (long long)*count,
                   GENERATE_MAX);
        return false;
    }
    return true;
}

void kms_generate(struct kms_call *c)
{
    struct fl_slice   name = c->route.name;
    const struct key *key = NULL;
    struct fl_buf    *b;
    int64_t           count;

    if (!check_generate(c, &count) || !kms_may(c, ACL_GENERATE_EEK, AUDIT_GENERATE_EEK, name))
        return;
    if (count > 0 && (!kms_find_key_inside(c, name, &key) || !may_generate(c, key)))
        return;
    b = kms_body(c);
    if (count > 0 && !put_generated(c, key, count, b))
        return;
    kms_put_array_end(b, count <= 0);
    kms_meter(c, KMS_M_GENERATE); /* Java counts the others as they come, these as they succeed */
    kms_note_ok(c, AUDIT_GENERATE_EEK, name, FL_LIT(""));
    kms_send_json(c, b);
}

/* ---- one EEK: decrypt, re-encrypt -------------------------------------------------------------------------------- */

struct eek {
    struct fl_slice version_name; /* of its KEK */
    struct fl_slice key_name;     /* that the request says; .at NULL: none */
    struct fl_slice iv, material;
    /* found: */
    const struct key *key;
    uint32_t          version;
    struct fl_slice   own_name; /* the part of version_name before '@' */
};

/* With key authorisation on the version must exist and belong to the key. Off: it must exist. */
static FL_CHECKED bool find_kek(struct kms_call *c, struct eek *e)
{
    struct fl_slice said = e->key_name.at == NULL ? FL_LIT("null") : e->key_name;

    if (!kms_find_version(c, e->version_name, &e->key, &e->version, &e->own_name))
        return false;
    if (e->key == NULL) {
        if (c->kms->config.key_authorization)
            kms_refuse(c, KMS_F_ARGUMENT, "'%.*s' not found", FL_SLICE_ARGS(e->version_name));
        else
            kms_refuse(c, KMS_F_NULL, "KeyVersion name '%.*s' does not exist", FL_SLICE_ARGS(e->version_name));
        return false;
    }
    if (c->kms->config.key_authorization && (e->key_name.at == NULL || !fl_slice_equal(e->own_name, e->key_name))) {
        kms_refuse(c, KMS_F_ARGUMENT, "KeyVersion '%.*s' does not belong to the key '%.*s'",
                   FL_SLICE_ARGS(e->version_name), FL_SLICE_ARGS(said));
        return false;
    }
    return true;
}

static FL_CHECKED bool check_iv(struct kms_call *c, struct fl_slice iv)
{
    if (iv.len == KEY_IV_LEN)
        return true;
    kms_refuse(c, KMS_F_IO, "java.security.InvalidAlgorithmParameterException: Wrong IV length: must be 16 bytes long");
    return false;
}

static void decrypt(struct kms_call *c, struct eek *e)
{
    uint8_t        *dek;
    struct fl_slice kek;
    struct fl_buf  *b;

    kms_meter(c, KMS_M_DECRYPT);
    if (!kms_may(c, ACL_DECRYPT_EEK, AUDIT_DECRYPT_EEK, e->key_name) || !find_kek(c, e) ||
        !kms_may_key(c, e->key, e->own_name, ACL_KEY_DECRYPT_EEK) || !check_iv(c, e->iv))
        return;
    if ((dek = fl_arena_take(c->arena, e->material.len + 1)) == NULL) {
        kms_refuse_no_memory(c);
        return;
    }
    kek = kek_of(e->key, e->version);
    if (key_eek_crypt(kek, e->iv.at, e->material, dek, NULL) != FL_OK) {
        refuse_crypto(c, kek);
        return;
    }
    b = kms_body(c);
    kms_put_key_version(b, e->own_name, FL_LIT("EK"), fl_slice_of(dek, e->material.len));
    fl_wipe(dek, e->material.len);
    kms_note_ok(c, AUDIT_DECRYPT_EEK, e->key_name, FL_LIT(""));
    kms_send_json(c, b);
}

/* Puts e under the current version of its key, which may be the one it is under. name: what the answer calls it. */
static FL_CHECKED bool put_reencrypted(struct kms_call *c, const struct eek *e, struct fl_slice name, struct fl_buf *b)
{
    uint32_t        current = key_current(e->key);
    struct fl_slice from = kek_of(e->key, e->version), to = kek_of(e->key, current);
    uint8_t        *bytes;

    if (!check_iv(c, e->iv))
        return false;
    if ((bytes = fl_arena_take(c->arena, e->material.len + 1)) == NULL) {
        kms_refuse_no_memory(c);
        return false;
    }
    if (key_eek_reencrypt(from, to, e->iv.at, e->material, bytes, NULL) != FL_OK) {
        refuse_crypto(c, from.len == to.len ? to : from);
        return false;
    }
    kms_put_eek(b, &(struct kms_eek){ .name = name,
                                      .key_name = e->own_name,
                                      .version = current,
                                      .iv = e->iv,
                                      .material = fl_slice_of(bytes, e->material.len) });
    return true;
}

static void reencrypt(struct kms_call *c, struct eek *e)
{
    struct fl_buf *b;

    kms_meter(c, KMS_M_REENCRYPT);
    if (!kms_may(c, ACL_GENERATE_EEK, AUDIT_REENCRYPT_EEK, e->key_name) || !find_kek(c, e) ||
        !kms_may_key(c, e->key, e->own_name, ACL_KEY_GENERATE_EEK))
        return;
    b = kms_body(c);
    if (!put_reencrypted(c, e, e->own_name, b))
        return;
    kms_note_ok(c, AUDIT_REENCRYPT_EEK, e->key_name, FL_LIT(""));
    kms_send_json(c, b);
}

/* A text that must be there. */
static FL_CHECKED bool need_bytes(struct kms_call *c, struct fl_slice text, const char *parameter, struct fl_slice *out)
{
    if (text.at != NULL)
        return kms_payload_bytes(c, text, out);
    refuse_null(c, parameter);
    return false;
}

static FL_CHECKED bool check_version_call(struct kms_call *c, const struct json_value *body)
{
    if (c->route.name.len == 0)
        kms_refuse(c, KMS_F_ARGUMENT, "Parameter 'versionName' cannot be empty");
    else if (c->query.value[KMS_P_EEK_OP].at == NULL)
        refuse_null(c, "eekOp");
    else if (body == NULL)
        kms_refuse(c, KMS_F_NULL, "Cannot invoke \"java.util.Map.get(Object)\" because \"jsonPayload\" is null");
    else
        return true;
    return false;
}

void kms_version_eek(struct kms_call *c)
{
    struct fl_slice          op = c->query.value[KMS_P_EEK_OP], iv, material;
    struct eek               e = { .version_name = c->route.name };
    const struct json_value *body;

    if (!kms_payload(c, false, &body) || !check_version_call(c, body) ||
        !kms_payload_text(c, body, "name", &e.key_name) || !kms_payload_text(c, body, "iv", &iv) ||
        !kms_payload_text(c, body, "material", &material) || !need_bytes(c, iv, "iv", &e.iv) ||
        !need_bytes(c, material, "material", &e.material))
        return;
    if (fl_slice_equal(op, FL_LIT("decrypt")))
        decrypt(c, &e);
    else if (fl_slice_equal(op, FL_LIT("reencrypt")))
        reencrypt(c, &e);
    else
        kms_refuse(c, KMS_F_ARGUMENT, WRONG_OP);
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

struct element {
    struct eek      eek;
    struct fl_slice inner_version; /* must be EEK */
    struct fl_slice inner_name;
};

static FL_CHECKED bool read_inner(struct kms_call *c, const struct json_value *v, struct element *e)
{
    const struct json_value *inner = kms_json_member(v, "encryptedKeyVersion");
    struct fl_slice          material;

    if (inner == NULL || inner->kind == JSON_NULL) {
        refuse_null(c, "encryptedKeyVersion");
        return false;
    }
    if (inner->kind != JSON_OBJECT) {
        kms_refuse_cast(c, inner, "java.util.Map");
        return false;
    }
    if (!kms_payload_text(c, inner, "versionName", &e->inner_version))
        return false;
    if (e->inner_version.at == NULL) {
        refuse_null(c, "versionName");
        return false;
    }
    return kms_payload_text(c, inner, "material", &material) && need_bytes(c, material, "material", &e->eek.material);
}

static FL_CHECKED bool read_element(struct kms_call *c, const struct json_value *v, struct element *e)
{
    struct fl_slice iv;

    e->eek.key_name = c->route.name;
    if (v->kind == JSON_NULL) {
        refuse_null(c, "valueMap");
        return false;
    }
    if (v->kind != JSON_OBJECT) {
        kms_refuse_cast(c, v, "java.util.Map");
        return false;
    }
    if (!kms_payload_text(c, v, "versionName", &e->eek.version_name))
        return false;
    if (e->eek.version_name.at == NULL) {
        refuse_null(c, "versionName");
        return false;
    }
    return kms_payload_text(c, v, "iv", &iv) && need_bytes(c, iv, "iv", &e->eek.iv) && read_inner(c, v, e);
}

static FL_CHECKED bool read_elements(struct kms_call *c, const struct json_value *list, struct element **out,
                                     size_t *count)
{
    size_t n = 0;

    for (const struct json_value *v = list->first; v != NULL; v = v->next)
        n++;
    if ((*out = fl_arena_take(c->arena, n * sizeof **out + 1)) == NULL) {
        kms_refuse_no_memory(c);
        return false;
    }
    memset(*out, 0, n * sizeof **out);
    *count = 0;
    for (const struct json_value *v = list->first; v != NULL; v = v->next)
        if (!read_element(c, v, &(*out)[(*count)++]))
            return false;
    return true;
}

/* Every element is looked at before the first is worked on. */
static FL_CHECKED bool check_elements(struct kms_call *c, struct element *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!find_kek(c, &list[i].eek))
            return false;
    return count == 0 || kms_may_key(c, list[0].eek.key, c->route.name, ACL_KEY_GENERATE_EEK);
}

/* What is under the current version already isn't looked at, not even the length of its IV. */
static void put_unchanged(struct fl_buf *b, const struct eek *e)
{
    kms_put_eek(
        b, &(struct kms_eek){ .key_name = e->own_name, .version = e->version, .iv = e->iv, .material = e->material });
}

static FL_CHECKED bool put_elements(struct kms_call *c, const struct element *list, size_t count, struct fl_buf *b)
{
    for (size_t i = 0; i < count; i++) {
        const struct element *e = &list[i];

        if (!fl_slice_equal(e->inner_version, FL_LIT("EEK"))) {
            kms_refuse(c, KMS_F_ARGUMENT, "encryptedKey version name must be 'EEK', but found '%.*s'",
                       FL_SLICE_ARGS(e->inner_version));
            return false;
        }
        kms_put_array_item(b, i == 0);
        if (e->eek.version == key_current(e->eek.key))
            put_unchanged(b, &e->eek);
        else if (!put_reencrypted(c, &e->eek, c->route.name, b))
            return false;
    }
    kms_put_array_end(b, count == 0);
    return true;
}

static FL_CHECKED bool check_batch(struct kms_call *c, const struct json_value *list)
{
    if (c->route.name.len == 0)
        kms_refuse(c, KMS_F_ARGUMENT, "Parameter 'name' cannot be empty");
    else if (list == NULL)
        refuse_null(c, "jsonPayload");
    else
        return true;
    return false;
}

void kms_reencrypt_batch(struct kms_call *c)
{
    const struct json_value *list;
    struct element          *elements;
    size_t                   count;
    struct fl_buf           *b;
    char                     tail[64];

    if (!kms_payload(c, true, &list) || !check_batch(c, list))
        return;
    kms_meter(c, KMS_M_REENCRYPT_BATCH);
    if (!kms_may(c, ACL_GENERATE_EEK, AUDIT_REENCRYPT_EEK_BATCH, c->route.name) ||
        !read_elements(c, list, &elements, &count) || !check_elements(c, elements, count))
        return;
    b = kms_body(c);
    if (!put_elements(c, elements, count, b))
        return;
    snprintf(tail, sizeof tail, "reencrypted %zu keys", count);
    kms_note_ok(c, AUDIT_REENCRYPT_EEK_BATCH, c->route.name, fl_slice_str(tail));
    kms_send_json(c, b);
}
