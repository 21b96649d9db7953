/* Request bodies: content type, JSON, and what Java's casts make of the fields. */
#include "kms/call.h"

#include "base/encode.h"
#include "kms/json_read.h"

static bool is_token(struct fl_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] <= ' ' || s.at[i] >= 0x7f || memchr("()<>@,;:\\\"/[]?={}", s.at[i], 17) != NULL)
            return false;
    return s.len > 0;
}

/* One parameter, name=token or name="text"; nothing between two semicolons is fine. */
static bool is_parameter(struct fl_slice p)
{
    size_t          equals = fl_slice_find(p, '=');
    struct fl_slice value;

    if (p.len == 0)
        return true;
    if (equals == SIZE_MAX || !is_token(fl_slice_of(p.at, equals)))
        return false;
    value = fl_slice_from(p, equals + 1);
    return is_token(value) || (value.len >= 2 && value.at[0] == '"' && value.at[value.len - 1] == '"');
}

/* Where the parameter at the front ends: at a semicolon that is not in quotes. */
static size_t parameter_end(struct fl_slice s)
{
    bool quoted = false;

    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] == '\\' && quoted)
            i++;
        else if (s.at[i] == '"')
            quoted = !quoted;
        else if (s.at[i] == ';' && !quoted)
            return i;
    return s.len;
}

/* type/subtype of a Content-Type; false when it is none. */
static bool media_type(struct fl_slice value, struct fl_slice *type, struct fl_slice *subtype)
{
    size_t          end = parameter_end(value), slash;
    struct fl_slice rest = fl_slice_from(value, FL_MIN(end + 1, value.len));

    value = fl_slice_trim(fl_slice_of(value.at, end));
    slash = fl_slice_find(value, '/');
    if (slash == SIZE_MAX)
        return false;
    while (rest.len > 0) {
        end = parameter_end(rest);
        if (!is_parameter(fl_slice_trim(fl_slice_of(rest.at, end))))
            return false;
        rest = fl_slice_from(rest, FL_MIN(end + 1, rest.len));
    }
    *type = fl_slice_of(value.at, slash);
    *subtype = fl_slice_from(value, slash + 1);
    return is_token(*type) && is_token(*subtype);
}

static bool is_json(struct fl_slice type, struct fl_slice subtype)
{
    return fl_slice_equal_nocase(type, FL_LIT("application")) && fl_slice_equal_nocase(subtype, FL_LIT("json"));
}

/* Matches JSON, but no reader is made for it. */
static bool is_wildcard(struct fl_slice type, struct fl_slice subtype)
{
    return fl_slice_equal(subtype, FL_LIT("*")) &&
           (fl_slice_equal(type, FL_LIT("*")) || fl_slice_equal_nocase(type, FL_LIT("application")));
}

bool kms_check_media_type(struct kms_call *c)
{
    const struct fl_slice *value = http_header_find(c->r, "Content-Type");
    struct fl_slice        type, subtype;

    if (value == NULL || media_type(*value, &type, &subtype))
        return true;
    kms_send_page(c, &(struct kms_page){ .status = 400, .message = FL_LIT("Bad Request") });
    return false;
}

/* The resource of single EEKs declares no type, so that every other one ends at the missing reader. */
static bool lacks_reader(const struct kms_call *c, const struct fl_slice *value)
{
    struct fl_slice type, subtype;

    if (value == NULL)
        return true;
    if (!media_type(*value, &type, &subtype))
        return false;
    return is_wildcard(type, subtype) || (c->route.resource == KMS_R_VERSION_EEK && !is_json(type, subtype));
}

static bool check_content_type(struct kms_call *c, bool array)
{
    const struct fl_slice *value = http_header_find(c->r, "Content-Type");
    struct fl_slice        type, subtype;

    if (lacks_reader(c, value)) {
        struct fl_slice name = value == NULL ? FL_LIT("application/octet-stream") : *value;

        kms_refuse(c, KMS_F_WEB_APPLICATION,
                   "com.sun.jersey.api.MessageException: A message body reader for Java class java.util.%s, and Java "
                   "type %s, and MIME media type %.*s was not found.",
                   array ? "List" : "Map", array ? "java.util.List<java.util.Map>" : "interface java.util.Map",
                   FL_SLICE_ARGS(name));
        return false;
    }
    if (media_type(*value, &type, &subtype) && is_json(type, subtype))
        return true;
    kms_refuse(c, KMS_F_WEB_APPLICATION, NULL);
    return false;
}

bool kms_payload(struct kms_call *c, bool array, const struct json_value **out)
{
    static const enum kms_fault faults[] = {
        [JSON_BAD_SHAPE] = KMS_F_JSON_SHAPE,     [JSON_BAD_TEXT] = KMS_F_JSON_TEXT,  [JSON_CUT_SHORT] = KMS_F_JSON_END,
        [JSON_BAD_ELEMENT] = KMS_F_JSON_ELEMENT, [JSON_BAD_CHARSET] = KMS_F_CHARSET,
    };
    struct json_fault fault;

    if (!check_content_type(c, array))
        return false;
    switch (kms_json_read(c->r->body, array, c->arena, out, &fault)) {
    case FL_OK:
        if ((*out)->kind == JSON_NULL)
            *out = NULL;
        return true;
    case FL_MALFORMED: kms_refuse_text(c, faults[fault.kind], fl_slice_str(fault.text)); return false;
    default: kms_refuse_no_memory(c); return false;
    }
}

/* "java.base" holds all of Jackson's plain values. */
void kms_refuse_cast(struct kms_call *c, const struct json_value *v, const char *wanted)
{
    const char *is = kms_json_java_class(v->kind);

    kms_refuse(c, KMS_F_CAST,
               "class %s cannot be cast to class %s (%s and %s are in module java.base of loader 'bootstrap')", is,
               wanted, is, wanted);
}

bool kms_payload_text(struct kms_call *c, const struct json_value *object, const char *name, struct fl_slice *out)
{
    const struct json_value *v = kms_json_member(object, name);

    *out = (struct fl_slice){ NULL, 0 };
    if (v == NULL || v->kind == JSON_NULL)
        return true;
    if (v->kind != JSON_STRING) {
        kms_refuse_cast(c, v, "java.lang.String");
        return false;
    }
    *out = v->text;
    return true;
}

bool kms_payload_bytes(struct kms_call *c, struct fl_slice text, struct fl_slice *out)
{
    uint8_t *bytes = fl_arena_take(c->arena, FL_BASE64_DECODED_MAX(text.len) + 1);

    if (bytes == NULL) {
        kms_refuse_no_memory(c);
        return false;
    }
    *out = fl_slice_of(bytes, fl_base64_decode_lenient(text, bytes));
    return true;
}
