/* A request's way: query, route, filter, endpoint. */
#include "kms/call.h"

#include <ctype.h>
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

/* The probe of every Java client, on any path: it needs 200 and the cookie. Java would describe the resource in WADL;
 * whoever takes none gets 204, as there. */
static void answer_options(struct kms_call *c)
{
    static const char *const wadl[] = { "*/*", "*", "application/*", "application/xml", "application/vnd.sun.wadl+xml",
                                        NULL };
    struct fl_buf           *b = &c->here->text;

    fl_buf_clear(b);
    fl_buf_printf(b, "Allow: %s\r\n", kms_route_allow(c->route.resource));
    kms_send(c, &(struct kms_answer){ .status = kms_accepts(c, wadl) ? 200 : 204,
                                      .content_type = "text/plain;charset=utf-8",
                                      .more = fl_buf_slice(b) });
}

static void answer_unknown(struct kms_call *c)
{
    struct fl_slice url = kms_url(c, true);

    if (c->r->query.at != NULL && c->r->query.len == 0 && url.len > 0)
        url.len--; /* a '?' with nothing behind it is not shown */
    kms_refuse(c, KMS_F_NOT_FOUND, "null for uri: %.*s", FL_SLICE_ARGS(url));
}

/* What Java's URI takes raw; quotes and angle brackets are escaped for it before. */
static bool has_illegal(struct fl_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.at[i] <= ' ' || s.at[i] == 0x7f || memchr("[]\\^`{|}", s.at[i], 8) != NULL)
            return true;
    return false;
}

static bool is_bad_host(struct fl_slice host)
{
    size_t          bracket = host.len > 0 && host.at[0] == '[' ? fl_slice_find(host, ']') : SIZE_MAX;
    struct fl_slice rest = bracket == SIZE_MAX ? host : fl_slice_from(host, bracket + 1);

    for (size_t i = 0; i < rest.len; i++)
        if (rest.at[i] == '%' && (rest.len - i < 3 || !isxdigit(rest.at[i + 1]) || !isxdigit(rest.at[i + 2])))
            return true;
    return has_illegal(rest);
}

/* Java's resources make a URI of the host and the path, and can't of these. */
static bool check_uri(struct kms_call *c)
{
    if (!has_illegal(c->r->path) && !is_bad_host(c->r->host))
        return true;
    kms_send_page(c, &(struct kms_page){ .status = 400, .message = FL_LIT("Bad Request") });
    return false;
}

void kms_dispatch(struct kms_call *c)
{
    enum http_method method = c->r->method == HTTP_HEAD ? HTTP_GET : c->r->method;

    if (c->route.resource == KMS_R_OUTSIDE) {
        kms_outside(c);
        return;
    }
    if (!check_uri(c))
        return;
    if (!kms_check_media_type(c))
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

static void start(struct kms *k, struct http_exchange *x, bool again, unsigned metered)
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
    c->metered = metered;
    if (!begin(c) || kms_admin_open(c) || kms_outside_open(c) || !kms_filter(c) || kms_admin_closed(c))
        return;
    kms_dispatch(c);
}

void kms_handle(struct http_exchange *x, void *kms)
{
    start(kms, x, false, 0);
}

void kms_handle_again(struct kms *k, struct http_exchange *x, unsigned metered)
{
    start(k, x, true, metered);
}
