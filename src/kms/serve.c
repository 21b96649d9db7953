/* A request's way: query, route, filter, endpoint. */
#include "kms/call.h"

#include <string.h>

/* Which method serves which resource. HEAD is served as GET: http leaves the body away. */
static const struct endpoint {
    enum kms_resource resource;
    enum http_method  method;
    void (*serve)(struct kms_call *c);
} endpoints[] = {
    { KMS_R_METADATA, HTTP_GET, kms_get_metadata }, { KMS_R_KEYS, HTTP_POST, kms_create },
    { KMS_R_NAMES, HTTP_GET, kms_get_names },       { KMS_R_METADATAS, HTTP_GET, kms_get_metadatas },
    { KMS_R_KEY, HTTP_GET, kms_get_metadata },      { KMS_R_KEY, HTTP_POST, kms_roll },
    { KMS_R_KEY, HTTP_DELETE, kms_delete },         { KMS_R_INVALIDATE, HTTP_POST, kms_invalidate },
    { KMS_R_CURRENT, HTTP_GET, kms_get_current },   { KMS_R_VERSIONS, HTTP_GET, kms_get_versions },
    { KMS_R_KEY_EEK, HTTP_GET, kms_generate },      { KMS_R_BATCH, HTTP_POST, kms_reencrypt_batch },
    { KMS_R_VERSION, HTTP_GET, kms_get_version },   { KMS_R_VERSION_EEK, HTTP_POST, kms_version_eek },
};

/* The probe of every Java client, on any path: it needs 200 and the cookie. */
static void answer_options(struct kms_call *c)
{
    struct fl_buf *b = &c->here->text;
    bool           html = c->route.resource == KMS_R_OUTSIDE && fl_slice_ends(c->r->path, FL_LIT(".html"));

    fl_buf_clear(b);
    fl_buf_printf(b, "Allow: %s\r\n", kms_route_allow(c->route.resource));
    kms_send(c, &(struct kms_answer){ .status = 200,
                                      .content_type = html ? "text/html;charset=utf-8" : "text/plain;charset=utf-8",
                                      .more = fl_buf_slice(b) });
}

static void answer_unknown(struct kms_call *c)
{
    kms_refuse(c, KMS_F_NOT_FOUND, "null for uri: %.*s", FL_SLICE_ARGS(kms_url(c)));
}

/* Outside /kms the Java server is a file server without files. */
static void answer_outside(struct kms_call *c)
{
    struct fl_buf *b = &c->here->text;

    if (fl_slice_equal(c->r->path, FL_LIT("/")) && (c->r->method == HTTP_GET || c->r->method == HTTP_HEAD)) {
        fl_buf_clear(b);
        fl_buf_printf(b, "Location: %s://%.*s/index.html", c->r->secure ? "https" : "http", FL_SLICE_ARGS(c->r->host));
        if (c->r->query.at != NULL)
            fl_buf_printf(b, "?%.*s", FL_SLICE_ARGS(c->r->query));
        FL_BUF_LIT(b, "\r\n");
        kms_send(c, &(struct kms_answer){
                        .status = 302, .content_type = "text/plain;charset=utf-8", .more = fl_buf_slice(b) });
        return;
    }
    if (c->r->method != HTTP_GET && c->r->method != HTTP_HEAD && c->r->method != HTTP_POST) {
        fl_buf_clear(b);
        fl_buf_printf(b, "%s method %.*s is not supported by this URL", c->r->method == HTTP_DELETE ? "Http" : "HTTP",
                      FL_SLICE_ARGS(c->r->method_text));
        kms_send_page(c, &(struct kms_page){ .status = 405, .message = fl_buf_slice(b) });
        return;
    }
    kms_send_page(c, &(struct kms_page){ .status = 404, .message = FL_LIT("Not Found") });
}

static bool has_illegal(struct fl_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] <= ' ' || s.at[i] == 0x7f || memchr("\"<>\\^`{|}", s.at[i], 9) != NULL)
            return true;
    return false;
}

/* Java's resources make a URI of the host and the path, and can't of these. */
static bool check_uri(struct kms_call *c)
{
    if (!has_illegal(c->r->path) && !has_illegal(c->r->host))
        return true;
    kms_send_page(c, &(struct kms_page){ .status = 400, .message = FL_LIT("Bad Request") });
    return false;
}

/* Java's folder of static files lies outside of the filter; there is nothing in ours. */
static bool answer_static(struct kms_call *c)
{
    enum http_method m = c->r->method;
    struct kms_page  p = { .status = 404, .message = FL_LIT("Not Found"), .outside = true };

    if (!fl_slice_starts(c->r->path, FL_LIT("/static/")) || m == HTTP_OPTIONS || c->query.value[KMS_P_OP].len > 0)
        return false;
    if (m == HTTP_OTHER)
        p = (struct kms_page){ .status = 501, .message = FL_LIT("Not Implemented"), .outside = true };
    else if (m != HTTP_GET && m != HTTP_HEAD && m != HTTP_POST)
        p = (struct kms_page){ .status = 405, .message = FL_LIT("Method Not Allowed"), .outside = true };
    kms_send_page(c, &p);
    return true;
}

void kms_dispatch(struct kms_call *c)
{
    enum http_method method = c->r->method == HTTP_HEAD ? HTTP_GET : c->r->method;

    if (c->route.resource != KMS_R_OUTSIDE && !check_uri(c))
        return;
    if (c->route.resource >= KMS_R_ROOT && method != HTTP_OPTIONS && !kms_check_media_type(c))
        return;
    for (size_t i = 0; i < FL_COUNT(endpoints); i++)
        if (endpoints[i].resource == c->route.resource && endpoints[i].method == method) {
            endpoints[i].serve(c);
            return;
        }
    if (c->route.resource == KMS_R_UNKNOWN || c->route.resource == KMS_R_BARE)
        answer_unknown(c);
    else if (method == HTTP_OPTIONS)
        answer_options(c);
    else if (c->route.resource == KMS_R_OUTSIDE)
        answer_outside(c);
    else
        kms_refuse(c, KMS_F_WEB_APPLICATION, NULL);
}

static FL_CHECKED bool begin(struct kms_call *c)
{
    struct fl_error err;

    switch (kms_route_find(c->r->path, c->arena, &c->route, &err)) {
    case FL_OK: break;
    case FL_MALFORMED: kms_send_bad_message(c, fl_slice_str(err.text)); return false;
    default: kms_refuse_no_memory(c); return false;
    }
    if (c->r->query.len > 0 && kms_query_read(&c->query, c->r->query, c->arena, &err) != FL_OK) {
        kms_refuse_no_memory(c);
        return false;
    }
    return true;
}

static void start(struct kms *k, struct http_exchange *x, bool again)
{
    const struct http_request *r = http_request_of(x);
    struct io_reactor         *reactor = http_reactor_of(x);
    struct kms_call           *c = fl_arena_take(r->arena, sizeof *c);

    if (c == NULL) {
        http_answer_close(x, 503, FL_LIT("No memory for this request"), FL_LIT(""), FL_LIT(""));
        return;
    }
    memset(c, 0, sizeof *c);
    c->kms = k;
    c->x = x;
    c->r = r;
    c->arena = r->arena;
    c->here = &k->here[io_reactor_index(reactor)];
    c->now_ms = io_now_wall_ms(reactor);
    c->again = again;
    if (!begin(c) || kms_admin_open(c) || answer_static(c) || !kms_filter(c) || kms_admin_closed(c))
        return;
    kms_dispatch(c);
}

void kms_handle(struct http_exchange *x, void *kms)
{
    start(kms, x, false);
}

void kms_handle_again(struct kms *k, struct http_exchange *x)
{
    start(k, x, true);
}
