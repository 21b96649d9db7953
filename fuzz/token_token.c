/* A token in a URL string, as a stranger presents it: whatever is read is written again, and reads the same. */
#include "token/token.h"
#include "base/encode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_inside(struct fl_slice whole, struct fl_slice part)
{
    if (part.len > 0 && (part.at < whole.at || part.at + part.len > whole.at + whole.len))
        abort();
}

static bool same(const struct token *a, const struct token *b)
{
    return fl_slice_equal(a->identifier, b->identifier) && fl_slice_equal(a->password, b->password) &&
           fl_slice_equal(a->kind, b->kind) && fl_slice_equal(a->service, b->service);
}

static void check_round_trip(const struct token *t)
{
    struct fl_buf   bytes, url;
    struct token    again;
    struct fl_arena a;

    fl_buf_init(&bytes, 0);
    fl_buf_init(&url, 0);
    fl_arena_init(&a, 4096, 1 << 24);
    if (!token_put(&bytes, t) || token_get(fl_buf_slice(&bytes), &again, NULL) != FL_OK || !same(t, &again))
        abort();
    check_inside(fl_buf_slice(&bytes), again.identifier);
    if (!token_put_url(&url, t) || token_from_url(fl_buf_slice(&url), &a, &again, NULL) != FL_OK || !same(t, &again))
        abort();
    fl_arena_done(&a);
    fl_buf_done(&url);
    fl_buf_done(&bytes);
}

static void check_refused(enum fl_status s, const struct fl_error *err)
{
    if (s != FL_MALFORMED || strncmp(err->text, "java.", 5) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fl_slice whole = fl_slice_of(data, len);
    struct fl_arena a;
    struct fl_error err;
    struct token    t;
    enum fl_status  s;

    fl_arena_init(&a, 4096, 1 << 24);
    if ((s = token_from_url(whole, &a, &t, &err)) == FL_OK)
        check_round_trip(&t);
    else
        check_refused(s, &err);
    if ((s = token_get(whole, &t, &err)) == FL_OK) {
        check_inside(whole, t.identifier);
        check_inside(whole, t.service);
        check_round_trip(&t);
    } else {
        check_refused(s, &err);
    }
    fl_arena_done(&a);
    return 0;
}
