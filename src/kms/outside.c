/* What lies outside of /kms: there the Java server is a file server, of which nothing but its manners is left. */
#include "kms/call.h"

#include <string.h>

static const char methods[] = "GET,HEAD,POST,OPTIONS";

/* ---- in the folder of static files ------------------------------------------------------------------------------- */

/* A path that may lead out of the folder again is left to the filter. */
static bool is_static(struct fl_slice path)
{
    if (!fl_slice_starts(path, FL_LIT("/static/")) && !fl_slice_equal(path, FL_LIT("/static")))
        return false;
    return memmem(path.at, path.len, "/..", 3) == NULL && memchr(path.at, '%', path.len) == NULL;
}

bool kms_outside_open(struct kms_call *c)
{
    struct kms_page p = { .status = 404, .message = FL_LIT("Not Found"), .outside = true };

    if (!is_static(c->r->path))
        return false;
    switch (c->r->method) {
    case HTTP_GET:
    case HTTP_HEAD:
    case HTTP_POST: break;
    case HTTP_OPTIONS: p = (struct kms_page){ .status = 200, .outside = true, .allow = methods }; break;
    case HTTP_OTHER:
    case HTTP_PATCH:
        p.status = 501;
        p.message = FL_LIT("Not Implemented");
        break;
    default:
        p.status = c->r->http10 && c->r->method != HTTP_TRACE ? 400 : 405;
        p.message = fl_slice_str(http_standard_reason(p.status));
    }
    kms_send_page(c, &p);
    return true;
}

/* ---- elsewhere --------------------------------------------------------------------------------------------------- */

static void redirect(struct kms_call *c)
{
    struct fl_buf *b = &c->here->text;

    fl_buf_clear(b);
    fl_buf_put_str(b, c->r->secure ? "Location: https://" : "Location: http://");
    fl_buf_put_slice(b, c->r->host);
    FL_BUF_LIT(b, "/index.html");
    if (c->r->query.at != NULL) {
        fl_buf_put_byte(b, '?');
        fl_buf_put_slice(b, c->r->query);
    }
    FL_BUF_LIT(b, "\r\n");
    kms_send(
        c, &(struct kms_answer){ .status = 302, .content_type = "text/plain;charset=utf-8", .more = fl_buf_slice(b) });
}

static void answer_options(struct kms_call *c)
{
    bool html = fl_slice_ends(c->r->path, FL_LIT(".html"));

    kms_send(c, &(struct kms_answer){ .status = 200,
                                      .content_type = html ? "text/html;charset=utf-8" : "text/plain;charset=utf-8",
                                      .more = FL_LIT("Allow: GET,HEAD,POST,OPTIONS\r\n") });
}

/* In the words of the Servlet API's sentences, which are not of one mind. */
static void refuse_method(struct kms_call *c)
{
    struct fl_buf *b = &c->here->text;
    int            status = 405;

    fl_buf_clear(b);
    switch (c->r->method) {
    case HTTP_TRACE: FL_BUF_LIT(b, "Method Not Allowed"); break;
    case HTTP_PATCH:
    case HTTP_OTHER:
        status = 501;
        FL_BUF_LIT(b, "Method ");
        fl_buf_put_slice(b, c->r->method_text);
        FL_BUF_LIT(b, " is not defined in RFC 2068 and is not supported by the Servlet API ");
        break;
    default:
        status = c->r->http10 ? 400 : 405; /* HTTP/1.0 has no 405 */
        fl_buf_put_str(b, c->r->method == HTTP_DELETE ? "Http method " : "HTTP method ");
        fl_buf_put_slice(b, c->r->method_text);
        FL_BUF_LIT(b, " is not supported by this URL");
    }
    kms_send_page(c, &(struct kms_page){ .status = status, .message = fl_buf_slice(b) });
}

void kms_outside(struct kms_call *c)
{
    enum http_method m = c->r->method;

    if (m == HTTP_OPTIONS)
        answer_options(c);
    else if ((m != HTTP_GET && m != HTTP_HEAD && m != HTTP_POST) ||
             (m == HTTP_POST && fl_slice_equal(c->r->path, FL_LIT("/jmx"))))
        refuse_method(c);
    else if (fl_slice_equal(c->r->path, FL_LIT("/")))
        redirect(c);
    else
        kms_send_page(c, &(struct kms_page){ .status = 404, .message = FL_LIT("Not Found") });
}
