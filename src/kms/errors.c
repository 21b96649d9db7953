/* Java's exceptions as the client sees them: status, class, message. */
#include "kms/call.h"

#include "kms/json_write.h"
#include "kms/words.h"

#include <ctype.h>
#include <string.h>

enum { WORDS_MAX = 256 << 20 }; /* what is quoted is bounded by a request's head and body */

static const struct fault {
    const char *java_class;
    int         status;
    bool        audited; /* as ERROR */
} faults[KMS_FAULTS] = {
    [KMS_F_ARGUMENT] = { "java.lang.IllegalArgumentException", 400, true },
    [KMS_F_IO] = { "java.io.IOException", 500, true },
    [KMS_F_NULL] = { "java.lang.NullPointerException", 500, true },
    [KMS_F_CAST] = { "java.lang.ClassCastException", 500, true },
    [KMS_F_AUTHORIZATION] = { "org.apache.hadoop.security.authorize.AuthorizationException", 403, false },
    [KMS_F_AUTHENTICATION] = { "org.apache.hadoop.security.authentication.client.AuthenticationException", 403, false },
    [KMS_F_WEB_APPLICATION] = { "javax.ws.rs.WebApplicationException", 500, true },
    [KMS_F_NOT_FOUND] = { "com.sun.jersey.api.NotFoundException", 500, true },
    [KMS_F_QUERY_PARAM] = { "com.sun.jersey.api.ParamException$QueryParamException", 500, true },
    [KMS_F_UNCHECKED] = { "org.apache.hadoop.thirdparty.com.google.common.util.concurrent.UncheckedExecutionException",
                          500, true },
    [KMS_F_UNDECLARED] = { "java.lang.reflect.UndeclaredThrowableException", 500, true },
    [KMS_F_NEGATIVE_SIZE] = { "java.lang.NegativeArraySizeException", 500, true },
    [KMS_F_KEY_SIZE] = { "java.security.InvalidParameterException", 400, true },
    [KMS_F_JSON_SHAPE] = { "com.fasterxml.jackson.databind.exc.MismatchedInputException", 500, true },
    [KMS_F_JSON_TEXT] = { "com.fasterxml.jackson.core.JsonParseException", 500, true },
    [KMS_F_JSON_END] = { "com.fasterxml.jackson.core.io.JsonEOFException", 500, true },
    [KMS_F_JSON_ELEMENT] = { "com.fasterxml.jackson.databind.JsonMappingException", 500, true },
    [KMS_F_CHARSET] = { "java.io.CharConversionException", 500, true },
    [KMS_F_BUSY] = { "java.io.IOException", 503, false },
};

static void note_error(struct kms_call *c, struct fl_slice message)
{
    struct fl_buf  *b = &c->here->head; /* free until the head is written */
    struct fl_slice text;
    size_t          line = fl_slice_find(message, '\n');

    if (line != SIZE_MAX)
        message.len = line;
    fl_buf_clear(b);
    fl_buf_printf(b, "Method:'%.*s' Exception:'", FL_SLICE_ARGS(c->r->method_text));
    kms_words_put_masked(b, message.at == NULL ? FL_LIT("null") : message);
    fl_buf_put_byte(b, '\'');
    text = fl_arena_copy(c->arena, fl_buf_slice(b));
    kms_note(c, &(struct kms_note){ .status = AUDIT_ERROR, .op = AUDIT_OPS, .user = c->user, .text = text });
}

/* The phrase goes into the status line for a busy server only; http keeps it to one line. */
void kms_refuse_text(struct kms_call *c, enum kms_fault fault, struct fl_slice message)
{
    const struct fault *f = &faults[fault];
    struct fl_buf      *b = kms_body(c);

    if (f->audited)
        note_error(c, message);
    kms_put_exception(b, message, f->java_class);
    kms_send(c, &(struct kms_answer){ .status = f->status,
                                      .reason = fault == KMS_F_BUSY ? message : FL_LIT(""),
                                      .body = fl_buf_slice(b) });
}

void kms_refuse(struct kms_call *c, enum kms_fault fault, const char *format, ...)
{
    struct fl_slice message = { NULL, 0 };
    struct fl_buf   words; /* of its own: what is quoted may lie in any of the reactor's buffers */
    va_list         args;

    fl_buf_init(&words, WORDS_MAX);
    if (format != NULL) {
        va_start(args, format);
        if (kms_words_put(&words, format, args))
            message = fl_buf_slice(&words);
        va_end(args);
    }
    kms_refuse_text(c, fault, message);
    fl_buf_done(&words);
}

void kms_refuse_no_memory(struct kms_call *c)
{
    kms_refuse(c, KMS_F_BUSY, "No memory for a request of this size");
}

static void put_raw(struct fl_buf *b, struct fl_slice text)
{
    fl_buf_put_slice(b, text);
}

static bool is_escape(struct fl_slice text, size_t i)
{
    return text.len - i > 2 && isxdigit(text.at[i + 1]) && isxdigit(text.at[i + 2]);
}

/* With what a URI doesn't take escaped, as Java's resources have it. */
static void put_uri(struct fl_buf *b, struct fl_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.at[i];

        if (isalnum(c) || (c != 0 && strchr("-._~!$&'()*+,;=:@/?", c) != NULL) || (c == '%' && is_escape(text, i)))
            fl_buf_put_byte(b, c);
        else
            fl_buf_printf(b, "%%%02X", c);
    }
}

struct fl_slice kms_url(const struct kms_call *c, bool of_resource)
{
    const struct http_request *r = c->r;
    struct fl_buf             *b = &c->here->text;
    struct fl_slice            url;
    void (*put)(struct fl_buf * b, struct fl_slice text) = of_resource ? put_uri : put_raw;

    fl_buf_clear(b);
    fl_buf_put_str(b, r->secure ? "https://" : "http://");
    fl_buf_put_slice(b, r->host);
    put(b, r->path);
    if (of_resource && c->route.resource == KMS_R_BARE)
        fl_buf_put_byte(b, '/');
    if (r->query.at != NULL) {
        fl_buf_put_byte(b, '?');
        put(b, r->query);
    }
    url = fl_arena_copy(c->arena, fl_buf_slice(b));
    return url.at == NULL ? fl_slice_of("", 0) : url;
}
