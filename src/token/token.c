#include "token/token.h"

#include "base/encode.h"
#include "token/reader.h"

bool token_put(struct fl_buf *b, const struct token *t)
{
    return token_put_text(b, t->identifier) && token_put_text(b, t->password) && token_put_text(b, t->kind) &&
           token_put_text(b, t->service);
}

/* 3.6: kind and service are not looked at, and bytes behind the service are ignored. */
enum fl_status token_get(struct fl_slice bytes, struct token *t, struct fl_error *err)
{
    struct token   got;
    enum fl_status s;

    if ((s = token_take_bytes(&bytes, &got.identifier, err)) != FL_OK ||
        (s = token_take_bytes(&bytes, &got.password, err)) != FL_OK ||
        (s = token_take_text(&bytes, &got.kind, err)) != FL_OK ||
        (s = token_take_text(&bytes, &got.service, err)) != FL_OK)
        return s;
    *t = got;
    return FL_OK;
}

enum fl_status token_from_url(struct fl_slice text, struct fl_arena *a, struct token *t, struct fl_error *err)
{
    size_t   room = FL_BASE64_DECODED_MAX(text.len);
    uint8_t *bytes = fl_arena_take(a, room > 0 ? room : 1);

    if (bytes == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a token of %zu characters", text.len);
    return token_get(fl_slice_of(bytes, fl_base64_decode_lenient(text, bytes)), t, err);
}

static void put_url(struct fl_buf *b, struct fl_buf *whole, const struct token *t)
{
    if (!token_put(whole, t) || !fl_base64url_put(b, fl_buf_slice(whole)))
        b->failed = true;
}

bool token_put_url(struct fl_buf *b, const struct token *t)
{
    struct fl_buf whole;

    if (b->failed)
        return false;
    fl_buf_init(&whole, 0);
    /* Taken at once: a buffer that grows leaves copies of the password behind. */
    if (fl_buf_reserve(&whole, t->identifier.len + t->password.len + t->kind.len + t->service.len + 40, NULL) == FL_OK)
        put_url(b, &whole, t);
    else
        b->failed = true;
    if (whole.data != NULL)
        fl_wipe(whole.data, whole.cap);
    fl_buf_done(&whole);
    return !b->failed;
}
