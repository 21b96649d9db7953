/* Endpoints that read: names, metadata, versions. */
#include "kms/call.h"

#include "kms/json_write.h"

/* A name from the path. False: refused. */
static FL_CHECKED bool named(struct kms_call *c, const char *parameter)
{
    if (c->route.name.len > 0)
        return true;
    kms_refuse(c, KMS_F_ARGUMENT, "Parameter '%s' cannot be empty", parameter);
    return false;
}

static struct fl_slice material_of(const struct key *key, uint32_t version)
{
    return fl_secret_slice(key->versions[version]);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

struct name_list {
    struct fl_buf *body;
    size_t         count;
};

/* A Java key store lists no alias with an '@': it takes them for versions. */
static void put_name(void *ctx, const struct key *key)
{
    struct name_list *l = ctx;

    if (fl_slice_find(key->name, '@') != SIZE_MAX)
        return;
    kms_put_array_item(l->body, l->count++ == 0);
    kms_put_text(l->body, key->name);
}

void kms_get_names(struct kms_call *c)
{
    struct name_list l = { NULL, 0 };

    kms_meter(c, KMS_M_ADMIN);
    if (!kms_may(c, ACL_GET_KEYS, AUDIT_GET_KEYS, (struct fl_slice){ NULL, 0 }))
        return;
    l.body = kms_body(c);
    keys_each(c->kms->keys, put_name, &l);
    kms_put_array_end(l.body, l.count == 0);
    kms_note_ok(c, AUDIT_GET_KEYS, FL_LIT(""), FL_LIT(""));
    kms_send_json(c, l.body);
}

/* ---- metadata ---------------------------------------------------------------------------------------------------- */

static void put_metadata(struct fl_buf *b, struct fl_slice name, const struct key *key)
{
    if (key == NULL)
        FL_BUF_LIT(b, "{ }");
    else
        kms_put_metadata(b, name, key);
}

void kms_get_metadata(struct kms_call *c)
{
    struct fl_slice   name = c->route.name;
    const struct key *key;
    struct fl_buf    *b;

    if (!named(c, "name"))
        return;
    kms_meter(c, KMS_M_ADMIN);
    if (!kms_may(c, ACL_GET_METADATA, AUDIT_GET_METADATA, name) || !kms_find_key(c, name, &key) ||
        !kms_may_key(c, key, name, ACL_KEY_READ))
        return;
    b = kms_body(c);
    put_metadata(b, name, key);
    kms_note_ok(c, AUDIT_GET_METADATA, name, FL_LIT(""));
    kms_send_json(c, b);
}

/* All keys are checked before any is written: a refusal must not come in the middle. */
static FL_CHECKED bool may_read_all(struct kms_call *c)
{
    struct fl_slice query = c->r->query, name;
    enum fl_status  s;

    while (kms_query_next_key(&query, c->arena, &name, &s)) {
        const struct key *key;

        if (!kms_find_key(c, name, &key) || !kms_may_key(c, key, name, ACL_KEY_READ))
            return false;
    }
    if (s != FL_OK)
        kms_refuse_no_memory(c);
    return s == FL_OK;
}

void kms_get_metadatas(struct kms_call *c)
{
    struct fl_slice query = c->r->query, name;
    struct fl_buf  *b;
    size_t          count = 0;
    enum fl_status  s;

    kms_meter(c, KMS_M_ADMIN);
    if (!kms_may(c, ACL_GET_METADATA, AUDIT_GET_KEYS_METADATA, (struct fl_slice){ NULL, 0 }) || !may_read_all(c))
        return;
    b = kms_body(c);
    while (kms_query_next_key(&query, c->arena, &name, &s)) {
        const struct key *key;

        if (!kms_find_key(c, name, &key))
            return;
        kms_put_array_item(b, count++ == 0);
        put_metadata(b, name, key);
    }
    if (s != FL_OK) {
        kms_refuse_no_memory(c);
        return;
    }
    kms_put_array_end(b, count == 0);
    kms_note_ok(c, AUDIT_GET_KEYS_METADATA, FL_LIT(""), FL_LIT(""));
    kms_send_json(c, b);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

/* The common part of the two that name a key. False: answered. */
static FL_CHECKED bool may_get(struct kms_call *c, enum audit_op as, const struct key **key)
{
    struct fl_slice name = c->route.name;

    if (!named(c, "name"))
        return false;
    kms_meter(c, KMS_M_KEY);
    return kms_may(c, ACL_GET, as, name) && kms_find_key(c, name, key) && kms_may_key(c, *key, name, ACL_KEY_READ);
}

void kms_get_current(struct kms_call *c)
{
    const struct key *key;
    struct fl_buf    *b;

    if (!may_get(c, AUDIT_GET_CURRENT_KEY, &key))
        return;
    b = kms_body(c);
    if (key == NULL)
        FL_BUF_LIT(b, "{ }");
    else
        kms_put_numbered_version(b, c->route.name, key_current(key), material_of(key, key_current(key)));
    kms_note_ok(c, AUDIT_GET_CURRENT_KEY, c->route.name, FL_LIT(""));
    kms_send_json(c, b);
}

void kms_get_versions(struct kms_call *c)
{
    const struct key *key;
    struct fl_buf    *b;
    uint32_t          count;

    if (!may_get(c, AUDIT_GET_KEY_VERSIONS, &key))
        return;
    b = kms_body(c);
    count = key == NULL ? 0 : key->version_count;
    for (uint32_t i = 0; i < count; i++) {
        kms_put_array_item(b, i == 0);
        kms_put_numbered_version(b, c->route.name, i, material_of(key, i));
    }
    kms_put_array_end(b, count == 0);
    kms_note_ok(c, AUDIT_GET_KEY_VERSIONS, c->route.name, FL_LIT(""));
    kms_send_json(c, b);
}

void kms_get_version(struct kms_call *c)
{
    const struct key *key;
    struct fl_slice   name;
    struct fl_buf    *b;
    uint32_t          version;

    if (!named(c, "versionName"))
        return;
    kms_meter(c, KMS_M_KEY);
    if (!kms_may(c, ACL_GET, AUDIT_GET_KEY_VERSION, (struct fl_slice){ NULL, 0 }) ||
        !kms_find_version(c, c->route.name, &key, &version, &name) || !kms_may_key(c, key, name, ACL_KEY_READ))
        return;
    b = kms_body(c);
    if (key == NULL) {
        FL_BUF_LIT(b, "{ }");
    } else {
        kms_put_key_version(b, name, c->route.name, material_of(key, version));
        kms_note_ok(c, AUDIT_GET_KEY_VERSION, name, FL_LIT(""));
    }
    kms_send_json(c, b);
}
