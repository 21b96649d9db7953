#include "kms/json_write.h"

#include "base/encode.h"

void kms_put_text(struct fl_buf *b, struct fl_slice text)
{
    if (text.at == NULL)
        FL_BUF_LIT(b, "null");
    else
        fl_json_put_string(b, text);
}

static void put_bytes(struct fl_buf *b, struct fl_slice bytes)
{
    if (bytes.at == NULL) {
        FL_BUF_LIT(b, "null");
        return;
    }
    fl_buf_put_byte(b, '"');
    fl_base64url_put(b, bytes);
    fl_buf_put_byte(b, '"');
}

/* "name@7" with its quotes. */
static void put_version_name(struct fl_buf *b, struct fl_slice name, uint32_t version)
{
    if (!fl_json_put_string(b, name))
        return;
    b->write--; /* the closing quote */
    fl_buf_put_byte(b, '@');
    fl_buf_put_u64(b, version);
    fl_buf_put_byte(b, '"');
}

static void begin_key_version(struct fl_buf *b, struct fl_slice name, struct fl_slice material)
{
    FL_BUF_LIT(b, "{\n  \"material\" : ");
    put_bytes(b, material);
    FL_BUF_LIT(b, ",\n  \"name\" : ");
    kms_put_text(b, name);
    FL_BUF_LIT(b, ",\n  \"versionName\" : ");
}

void kms_put_key_version(struct fl_buf *b, struct fl_slice name, struct fl_slice version_name, struct fl_slice material)
{
    begin_key_version(b, name, material);
    fl_json_put_string(b, version_name);
    FL_BUF_LIT(b, "\n}");
}

void kms_put_numbered_version(struct fl_buf *b, struct fl_slice name, uint32_t version, struct fl_slice material)
{
    begin_key_version(b, name, material);
    put_version_name(b, name, version);
    FL_BUF_LIT(b, "\n}");
}

static void put_attributes(struct fl_buf *b, const struct key *k)
{
    if (k->attribute_count == 0) {
        FL_BUF_LIT(b, "{ }");
        return;
    }
    FL_BUF_LIT(b, "{");
    for (size_t i = 0; i < k->attribute_count; i++) {
        fl_buf_put_str(b, i == 0 ? "\n    " : ",\n    ");
        fl_json_put_string(b, k->attributes[i].name);
        FL_BUF_LIT(b, " : ");
        fl_json_put_string(b, k->attributes[i].value);
    }
    FL_BUF_LIT(b, "\n  }");
}

void kms_put_metadata(struct fl_buf *b, struct fl_slice name, const struct key *k)
{
    FL_BUF_LIT(b, "{\n  \"name\" : ");
    fl_json_put_string(b, name);
    FL_BUF_LIT(b, ",\n  \"cipher\" : ");
    fl_json_put_string(b, k->cipher);
    FL_BUF_LIT(b, ",\n  \"length\" : ");
    fl_buf_put_u64(b, k->bits);
    FL_BUF_LIT(b, ",\n  \"description\" : ");
    if (k->has_description)
        fl_json_put_string(b, k->description);
    else
        FL_BUF_LIT(b, "null");
    FL_BUF_LIT(b, ",\n  \"attributes\" : ");
    put_attributes(b, k);
    FL_BUF_LIT(b, ",\n  \"created\" : ");
    fl_buf_put_i64(b, k->created_wall_ms);
    FL_BUF_LIT(b, ",\n  \"versions\" : ");
    fl_buf_put_u64(b, k->version_count);
    FL_BUF_LIT(b, "\n}");
}

void kms_put_eek(struct fl_buf *b, const struct kms_eek *e)
{
    FL_BUF_LIT(b, "{\n  \"encryptedKeyVersion\" : {\n    \"material\" : ");
    put_bytes(b, e->material);
    FL_BUF_LIT(b, ",\n    \"name\" : ");
    kms_put_text(b, e->name);
    FL_BUF_LIT(b, ",\n    \"versionName\" : \"EEK\"\n  },\n  \"versionName\" : ");
    if (e->version_name.at != NULL)
        fl_json_put_string(b, e->version_name);
    else
        put_version_name(b, e->key_name, e->version);
    FL_BUF_LIT(b, ",\n  \"iv\" : ");
    put_bytes(b, e->iv);
    FL_BUF_LIT(b, "\n}");
}

void kms_put_exception(struct fl_buf *b, struct fl_slice message, const char *java_class)
{
    struct fl_slice name = fl_slice_str(java_class);
    size_t          line = fl_slice_find(message, '\n');
    size_t          short_at = 0;

    if (line != SIZE_MAX)
        message.len = line;
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] == '.' || name.at[i] == '$')
            short_at = i + 1;
    FL_BUF_LIT(b, "{\n  \"RemoteException\" : {\n    \"message\" : ");
    kms_put_text(b, message);
    FL_BUF_LIT(b, ",\n    \"exception\" : ");
    fl_json_put_string(b, fl_slice_from(name, short_at));
    FL_BUF_LIT(b, ",\n    \"javaClassName\" : ");
    fl_json_put_string(b, name);
    FL_BUF_LIT(b, "\n  }\n}");
}

void kms_put_array_item(struct fl_buf *b, bool first)
{
    fl_buf_put_str(b, first ? "[ " : ", ");
}

void kms_put_array_end(struct fl_buf *b, bool empty)
{
    fl_buf_put_str(b, empty ? "[ ]" : " ]");
}
