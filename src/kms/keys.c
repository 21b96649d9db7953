/* Endpoints that change keys: create, roll, delete, invalidate. The order of checks is Java's. */
#include "kms/change.h"
#include "kms/generator.h"
#include "kms/json_read.h"

#include <string.h>

#define ACL_NAME "key.acl.name"

/* False: refused as the JDK's key generator refuses. *bytes: how long the material would be. */
static FL_CHECKED bool check_generator(struct kms_call *c, struct fl_slice cipher, int64_t bits, size_t *bytes)
{
    struct kms_generated g = kms_generator_try(cipher, bits);

    *bytes = g.bytes;
    switch (g.kind) {
    case KMS_GENERATED: return true;
    case KMS_NO_GENERATOR: kms_refuse(c, KMS_F_UNDECLARED, NULL); break;
    case KMS_WRONG_KEY_SIZE: kms_refuse(c, KMS_F_KEY_SIZE, "%s", g.why); break;
    case KMS_EMPTY_KEY: kms_refuse(c, KMS_F_ARGUMENT, "Empty key"); break;
    case KMS_NEGATIVE_SIZE: kms_refuse(c, KMS_F_NEGATIVE_SIZE, "%d", g.size); break;
    }
    return false;
}

static FL_CHECKED bool check_length(struct kms_call *c, int64_t bits, size_t bytes)
{
    if (bits == (int64_t)bytes * 8 && bytes <= KEY_MATERIAL_MAX)
        return true;
    if (bytes > KEY_MATERIAL_MAX)
        kms_refuse(c, KMS_F_IO, "Material of %zu bytes, where at most %d are allowed", bytes, KEY_MATERIAL_MAX);
    else
        kms_refuse(c, KMS_F_IO, "Wrong key length. Required %lld, but got %zu", (long long)bits, bytes * 8);
    return false;
}

static FL_CHECKED bool check_not_empty(struct kms_call *c, struct fl_slice name)
{
    if (name.len > 0)
        return true;
    kms_refuse(c, KMS_F_ARGUMENT, "Parameter 'name' cannot be empty");
    return false;
}

/* ---- create ------------------------------------------------------------------------------------------------------ */

struct creation {
    struct fl_slice          name, cipher, material_text, material, description;
    int64_t                  bits;
    const struct json_value *attributes; /* an object, or NULL */
    struct key_attribute    *list;       /* of it, sorted, each name once */
    size_t                   count;
    bool                     strip;
};

static FL_CHECKED bool read_length(struct kms_call *c, const struct json_value *body, int64_t *bits)
{
    const struct json_value *v = kms_json_member(body, "length");

    *bits = 0;
    if (v == NULL)
        return true;
    if (v->kind == JSON_INT) {
        *bits = v->number;
        return true;
    }
    if (v->kind == JSON_NULL)
        kms_refuse(c, KMS_F_NULL,
                   "Cannot invoke \"java.lang.Integer.intValue()\" because the return value of "
                   "\"java.util.Map.get(Object)\" is null");
    else
        kms_refuse_cast(c, v, "java.lang.Integer");
    return false;
}

static FL_CHECKED bool read_attributes(struct kms_call *c, const struct json_value *body, const struct json_value **out)
{
    const struct json_value *v = kms_json_member(body, "attributes");

    *out = v == NULL || v->kind == JSON_NULL ? NULL : v;
    if (*out == NULL || v->kind == JSON_OBJECT)
        return true;
    kms_refuse_cast(c, v, "java.util.Map");
    return false;
}

/* Name, then permission, then the other fields, then permission for the material. */
static FL_CHECKED bool read_creation(struct kms_call *c, struct creation *n)
{
    const struct json_value *body;

    if (!kms_payload(c, false, &body))
        return false;
    kms_meter(c, KMS_M_ADMIN);
    if (body == NULL) {
        kms_refuse(c, KMS_F_NULL, "Cannot invoke \"java.util.Map.get(Object)\" because \"jsonKey\" is null");
        return false;
    }
    if (!kms_payload_text(c, body, "name", &n->name))
        return false;
    if (n->name.at == NULL) {
        kms_refuse(c, KMS_F_ARGUMENT, "Parameter 'name' cannot be null");
        return false;
    }
    if (!check_not_empty(c, n->name) || !kms_may(c, ACL_CREATE, AUDIT_CREATE_KEY, n->name) ||
        !kms_payload_text(c, body, "cipher", &n->cipher) || !kms_payload_text(c, body, "material", &n->material_text) ||
        !read_length(c, body, &n->bits) || !kms_payload_text(c, body, "description", &n->description) ||
        !read_attributes(c, body, &n->attributes))
        return false;
    return n->material_text.at == NULL || (kms_may(c, ACL_SET_KEY_MATERIAL, AUDIT_CREATE_KEY, n->name) &&
                                           kms_payload_bytes(c, n->material_text, &n->material));
}

/* Java copies the attributes into a map that takes neither null nor one name twice. */
static FL_CHECKED bool check_copied_attributes(struct kms_call *c, const struct creation *n, bool has_acl_name)
{
    const struct json_value *first = n->attributes == NULL ? NULL : n->attributes->first;

    for (const struct json_value *m = first; m != NULL; m = m->next)
        if (m->kind == JSON_NULL) {
            kms_refuse(c, KMS_F_NULL, "null value in entry: %.*s=null", FL_SLICE_ARGS(m->name));
            return false;
        }
    if (has_acl_name)
        kms_refuse(c, KMS_F_ARGUMENT, "Multiple entries with same key: " ACL_NAME "=%.*s and " ACL_NAME "=",
                   FL_SLICE_ARGS(n->name));
    return !has_acl_name;
}

static void refuse_creation(struct kms_call *c)
{
    kms_refuse(c, KMS_F_AUTHORIZATION, "User [%.*s] is not authorized to create key !!", FL_SLICE_ARGS(c->user_short));
}

/* Key authorisation (7.4 and the attribute of 2.1). *add_acl_name: the key gets its own name as ACL name. */
static FL_CHECKED bool authorize_creation(struct kms_call *c, const struct creation *n, bool *add_acl_name)
{
    const struct json_value *v = n->attributes == NULL ? NULL : kms_json_member(n->attributes, ACL_NAME);
    struct fl_slice          acl_name = { NULL, 0 };
    enum kms_access          access;

    *add_acl_name = false;
    if (!c->kms->config.key_authorization)
        return true;
    if (n->attributes != NULL && !kms_payload_text(c, n->attributes, ACL_NAME, &acl_name))
        return false;
    if (acl_name.len == 0) {
        if (!acl_key_present(acls_current(c->kms->acls), n->name, ACL_KEY_MANAGEMENT)) {
            refuse_creation(c);
            return false;
        }
        if (!check_copied_attributes(c, n, v != NULL))
            return false;
        *add_acl_name = true;
        acl_name = n->name;
    }
    access = kms_could_key(c, acl_name, ACL_KEY_MANAGEMENT);
    if (access == KMS_NO)
        refuse_creation(c);
    return access == KMS_YES;
}

static bool comes_again(const struct json_value *m)
{
    for (const struct json_value *later = m->next; later != NULL; later = later->next)
        if (fl_slice_equal(later->name, m->name))
            return true;
    return false;
}

static int by_name(const void *a, const void *b)
{
    struct fl_slice x = ((const struct key_attribute *)a)->name, y = ((const struct key_attribute *)b)->name;
    int             order = memcmp(x.at, y.at, FL_MIN(x.len, y.len));

    return order != 0 ? order : x.len < y.len ? -1 : x.len > y.len;
}

/* Sorted, since Java's map has an order of its own that nobody may rely on, and ours should be one. */
static FL_CHECKED bool list_attributes(struct kms_call *c, struct creation *n, bool add_acl_name)
{
    const struct json_value *first = n->attributes == NULL ? NULL : n->attributes->first;
    size_t                   room = 1;

    for (const struct json_value *m = first; m != NULL; m = m->next)
        room++;
    if (room > KEY_ATTRIBUTES_MAX) {
        kms_refuse(c, KMS_F_ARGUMENT, "%zu attributes, where at most %d are allowed", room - 1, KEY_ATTRIBUTES_MAX - 1);
        return false;
    }
    if ((n->list = fl_arena_take(c->arena, room * sizeof *n->list)) == NULL) {
        kms_refuse_no_memory(c);
        return false;
    }
    for (const struct json_value *m = first; m != NULL; m = m->next) {
        if (comes_again(m))
            continue;
        if (m->kind != JSON_STRING) {
            kms_refuse(c, KMS_F_IO, "Can't set metadata key %.*s", FL_SLICE_ARGS(n->name));
            return false;
        }
        n->list[n->count++] = (struct key_attribute){ m->name, m->text };
    }
    if (add_acl_name)
        n->list[n->count++] = (struct key_attribute){ FL_LIT(ACL_NAME), n->name };
    qsort(n->list, n->count, sizeof *n->list, by_name);
    return true;
}

/* What the key store itself refuses, in its order. */
static FL_CHECKED bool check_creation(struct kms_call *c, struct creation *n)
{
    struct fl_slice low = kms_lower(c->arena, n->name);
    size_t          bytes = n->material.len;

    if (n->cipher.at == NULL)
        n->cipher = fl_slice_str(c->kms->config.default_key_cipher);
    if (n->bits == 0)
        n->bits = c->kms->config.default_key_bits;
    if (n->material_text.at == NULL && !check_generator(c, n->cipher, n->bits, &bytes))
        return false;
    if (n->name.len > KEY_NAME_MAX) {
        kms_refuse(c, KMS_F_ARGUMENT, "Key name of %zu bytes, where 1 to %d are allowed", n->name.len, KEY_NAME_MAX);
        return false;
    }
    if (low.at != NULL && !fl_slice_equal(low, n->name)) {
        kms_refuse(c, KMS_F_ARGUMENT, "Uppercase key names are unsupported: %.*s", FL_SLICE_ARGS(n->name));
        return false;
    }
    if (keys_find(c->kms->keys, n->name) != NULL || kms_is_version_name(c, n->name)) {
        kms_refuse(c, KMS_F_IO, "Key %.*s already exists in %s", FL_SLICE_ARGS(n->name), c->kms->provider_uri);
        return false;
    }
    return check_length(c, n->bits, bytes);
}

static struct fl_slice creation_tail(struct kms_call *c, const struct creation *n)
{
    struct fl_buf *b = &c->here->text;

    fl_buf_clear(b);
    fl_buf_printf(b, "UserProvidedMaterial:%s Description:", n->material_text.at != NULL ? "true" : "false");
    fl_buf_put_slice(b, n->description.at == NULL ? FL_LIT("null") : n->description);
    return fl_buf_slice(b);
}

static void wipe(struct fl_slice s)
{
    if (s.len > 0)
        fl_wipe((void *)(uintptr_t)s.at, s.len); /* it lies in the request's own memory */
}

/* Submits. Material of the user moves into locked memory; the request, which nobody reads any more, forgets it. */
static void go(struct kms_call *c, struct kms_change *j, struct fl_slice text, struct fl_slice material)
{
    bool given = text.at != NULL;

    if (given && (j->change.material = fl_secret_copy(material)) == NULL) {
        free(j);
        kms_refuse_no_memory(c);
        return;
    }
    wipe(text);
    wipe(material);
    kms_change_go(c, j);
}

void kms_create(struct kms_call *c)
{
    struct creation    n = { .bits = 0 };
    enum kms_access    get;
    bool               add_acl_name;
    struct kms_change *j;

    /* Asked before anything is noted for the audit: it may park. */
    if (!read_creation(c, &n) || (get = kms_could(c, ACL_GET)) == KMS_GONE ||
        !authorize_creation(c, &n, &add_acl_name) || !check_creation(c, &n) || !list_attributes(c, &n, add_acl_name))
        return;
    c->route.name = n.name;
    if ((j = kms_change_new(c, KEY_CREATE, AUDIT_CREATE_KEY, creation_tail(c, &n))) == NULL)
        return;
    j->strip = get == KMS_NO;
    j->change.name = n.name;
    j->change.cipher = n.cipher;
    j->change.bits = (uint32_t)n.bits;
    j->change.has_description = n.description.at != NULL;
    j->change.description = n.description;
    j->change.attributes = n.list;
    j->change.attribute_count = n.count;
    go(c, j, n.material_text, n.material);
}

/* ---- roll -------------------------------------------------------------------------------------------------------- */

/* The material given, or .at NULL. */
static FL_CHECKED bool read_roll(struct kms_call *c, struct fl_slice *text, struct fl_slice *material)
{
    const struct json_value *body;

    if (!kms_payload(c, false, &body))
        return false;
    kms_meter(c, KMS_M_ADMIN);
    if (!kms_may(c, ACL_ROLLOVER, AUDIT_ROLL_NEW_VERSION, c->route.name) || !check_not_empty(c, c->route.name))
        return false;
    if (body == NULL) {
        kms_refuse(c, KMS_F_NULL, "Cannot invoke \"java.util.Map.get(Object)\" because \"jsonMaterial\" is null");
        return false;
    }
    if (!kms_payload_text(c, body, "material", text))
        return false;
    return text->at == NULL || (kms_may(c, ACL_SET_KEY_MATERIAL, AUDIT_ROLL_NEW_VERSION, c->route.name) &&
                                kms_payload_bytes(c, *text, material));
}

static FL_CHECKED bool check_roll(struct kms_call *c, const struct key *key, bool given, struct fl_slice material)
{
    size_t bytes = material.len;

    if (key == NULL) {
        if (given)
            kms_refuse(c, KMS_F_IO, "Key %.*s not found", FL_SLICE_ARGS(c->route.name));
        else
            kms_refuse(c, KMS_F_IO, "Can't find Metadata for key %.*s", FL_SLICE_ARGS(c->route.name));
        return false;
    }
    return (given || check_generator(c, key->cipher, key->bits, &bytes)) && check_length(c, key->bits, bytes);
}

void kms_roll(struct kms_call *c)
{
    struct fl_slice    text = { NULL, 0 }, material = { NULL, 0 };
    const struct key  *key;
    enum kms_access    get;
    struct kms_change *j;
    bool               given;

    if (!read_roll(c, &text, &material) || (get = kms_could(c, ACL_GET)) == KMS_GONE ||
        !kms_find_key(c, c->route.name, &key) || !kms_may_key(c, key, c->route.name, ACL_KEY_MANAGEMENT))
        return;
    given = text.at != NULL;
    if (!check_roll(c, key, given, material))
        return;
    j = kms_change_new(c, KEY_ROLL, AUDIT_ROLL_NEW_VERSION,
                       given ? FL_LIT("UserProvidedMaterial:true NewVersion:")
                             : FL_LIT("UserProvidedMaterial:false NewVersion:"));
    if (j == NULL)
        return;
    j->strip = get == KMS_NO;
    j->change.name = key->name;
    go(c, j, text, material);
}

/* ---- delete and invalidate --------------------------------------------------------------------------------------- */

void kms_delete(struct kms_call *c)
{
    struct fl_slice    name = c->route.name;
    const struct key  *key;
    struct kms_change *j;

    kms_meter(c, KMS_M_ADMIN);
    if (!kms_may(c, ACL_DELETE, AUDIT_DELETE_KEY, name) || !check_not_empty(c, name) || !kms_find_key(c, name, &key) ||
        !kms_may_key(c, key, name, ACL_KEY_MANAGEMENT))
        return;
    if (key == NULL) {
        kms_refuse(c, KMS_F_IO, "Key %.*s does not exist in %s", FL_SLICE_ARGS(name), c->kms->provider_uri);
        return;
    }
    if ((j = kms_change_new(c, KEY_DELETE, AUDIT_DELETE_KEY, FL_LIT(""))) == NULL)
        return;
    j->change.name = key->name;
    kms_change_go(c, j);
}

/* Clients ask for it after a roll and after a delete, so either right will do. False: answered. */
static FL_CHECKED bool may_invalidate(struct kms_call *c)
{
    enum kms_access may_delete = kms_could(c, ACL_DELETE);

    if (may_delete == KMS_NO)
        return kms_may(c, ACL_ROLLOVER, AUDIT_INVALIDATE_CACHE, c->route.name);
    return may_delete == KMS_YES;
}

/* There is no cache that could be stale, so permission is all there is to it. */
void kms_invalidate(struct kms_call *c)
{
    struct fl_slice   name = c->route.name;
    const struct key *key;

    kms_meter(c, KMS_M_ADMIN);
    if (!check_not_empty(c, name) || !may_invalidate(c) || !kms_find_key(c, name, &key) ||
        !kms_may_key(c, key, name, ACL_KEY_MANAGEMENT))
        return;
    kms_note_ok(c, AUDIT_INVALIDATE_CACHE, name, FL_LIT(""));
    kms_send_empty(c);
}
