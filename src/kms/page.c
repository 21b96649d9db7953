/* The container's small error page, in the form that Accept asks for. */
#include "kms/call.h"

#include "base/encode.h"

#include <stdlib.h>
#include <string.h>

enum form { HTML, JSON, TEXT, NOTHING };

static enum form form_named(struct fl_slice type)
{
    if (fl_slice_equal_nocase(type, FL_LIT("text/html")) || fl_slice_equal(type, FL_LIT("*/*")) ||
        fl_slice_equal_nocase(type, FL_LIT("text/*")))
        return HTML;
    if (fl_slice_equal_nocase(type, FL_LIT("application/json")) || fl_slice_equal_nocase(type, FL_LIT("text/json")))
        return JSON;
    return fl_slice_equal_nocase(type, FL_LIT("text/plain")) ? TEXT : NOTHING;
}

/* Thousandths of ";q=0.5" among a type's parameters; 1000 without. */
static unsigned quality_of(struct fl_slice parameters)
{
    char text[8] = "";

    while (parameters.len > 0) {
        size_t          semicolon = fl_slice_find(parameters, ';');
        struct fl_slice one = fl_slice_of(parameters.at, semicolon == SIZE_MAX ? parameters.len : semicolon);

        parameters = semicolon == SIZE_MAX ? fl_slice_from(parameters, parameters.len)
                                           : fl_slice_from(parameters, semicolon + 1);
        one = fl_slice_trim(one);
        if (!fl_slice_starts(one, FL_LIT("q=")) || one.len - 2 >= sizeof text)
            continue;
        memcpy(text, one.at + 2, one.len - 2);
        return (unsigned)(strtod(text, NULL) * 1000);
    }
    return 1000;
}

/* Jetty looks at the types in the order of their quality and takes the first that it can make. */
static enum form form_of(struct fl_slice accept)
{
    enum form best = NOTHING;
    unsigned  best_quality = 0;

    while (accept.len > 0) {
        size_t          comma = fl_slice_find(accept, ','), semicolon;
        struct fl_slice type = fl_slice_of(accept.at, comma == SIZE_MAX ? accept.len : comma);
        unsigned        quality = 1000;
        enum form       form;

        accept = comma == SIZE_MAX ? fl_slice_of(accept.at + accept.len, 0) : fl_slice_from(accept, comma + 1);
        if ((semicolon = fl_slice_find(type, ';')) != SIZE_MAX) {
            quality = quality_of(fl_slice_from(type, semicolon + 1));
            type.len = semicolon;
        }
        form = form_named(fl_slice_trim(type));
        if (form != NOTHING && quality > best_quality) {
            best = form;
            best_quality = quality;
        }
    }
    return best;
}

/* Hadoop's filter quotes a message for HTML before the container does it once more. A message that was thrown comes to
 * the container by itself. */
static struct fl_slice quoted_once(const struct kms_call *c, const struct kms_page *p)
{
    static const char *const entities[256] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&apos;"
    };
    struct fl_buf *b = &c->here->head; /* free until the head is written */

    if (p->thrown || p->outside)
        return p->message;
    fl_buf_clear(b);
    for (size_t i = 0; i < p->message.len; i++)
        if (entities[p->message.at[i]] != NULL)
            fl_buf_put_str(b, entities[p->message.at[i]]);
        else
            fl_buf_put_byte(b, p->message.at[i]);
    return fl_buf_slice(b);
}

/* Escaped for HTML, and in ISO-8859-1: what it lacks becomes '?'. */
static void put_quoted(struct fl_buf *b, struct fl_slice text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.at[i];

        if (c == '&')
            FL_BUF_LIT(b, "&amp;");
        else if (c == '<')
            FL_BUF_LIT(b, "&lt;");
        else if (c == '>')
            FL_BUF_LIT(b, "&gt;");
        else if (c == '"')
            FL_BUF_LIT(b, "&quot;");
        else if (c == '\'')
            FL_BUF_LIT(b, "&apos;");
        else if ((c == 0xc2 || c == 0xc3) && i + 1 < text.len)
            fl_buf_put_byte(b, (uint8_t)((c & 3) << 6 | (text.at[i + 1] & 0x3f)));
        else if (c >= 0xc0)
            fl_buf_put_byte(b, '?');
        else if (c < 0x80)
            fl_buf_put_byte(b, c < 0x20 && c != '\t' && c != '\n' && c != '\r' ? '?' : c);
    }
}

static const char *servlet_of(const struct kms_call *c)
{
    return fl_slice_starts(c->r->path, FL_LIT("/kms")) ? "webservices-driver" : "default";
}

static void put_row(struct fl_buf *b, const char *name, struct fl_slice value)
{
    fl_buf_printf(b, "<tr><th>%s:</th><td>", name);
    put_quoted(b, value);
    FL_BUF_LIT(b, "</td></tr>\n");
}

static void put_title(struct fl_buf *b, int status, struct fl_slice message)
{
    fl_buf_printf(b, "%d ", status);
    put_quoted(b, message);
}

static void put_html(const struct kms_call *c, const struct kms_page *p, struct fl_buf *b)
{
    FL_BUF_LIT(
        b,
        "<html>\n<head>\n<meta http-equiv=\"Content-Type\" content=\"text/html;charset=ISO-8859-1\"/>\n<title>Error ");
    put_title(b, p->status, p->message);
    FL_BUF_LIT(b, "</title>\n</head>\n<body><h2>HTTP ERROR ");
    put_title(b, p->status, p->message);
    FL_BUF_LIT(b, "</h2>\n<table>\n");
    put_row(b, "URI", c->r->path);
    fl_buf_printf(b, "<tr><th>STATUS:</th><td>%d</td></tr>\n", p->status);
    put_row(b, "MESSAGE", p->message);
    put_row(b, "SERVLET", fl_slice_str(servlet_of(c)));
    if (p->thrown)
        put_row(b, "CAUSED BY", p->message);
    FL_BUF_LIT(b, "</table>\n\n</body>\n</html>\n");
}

static void put_json(const struct kms_call *c, const struct kms_page *p, struct fl_buf *b)
{
    fl_buf_printf(b, "{\n\"servlet\":\"%s\",\n", servlet_of(c));
    if (p->thrown) {
        FL_BUF_LIT(b, "\"cause0\":");
        fl_json_put_string(b, p->message);
        FL_BUF_LIT(b, ",\n");
    }
    FL_BUF_LIT(b, "\"message\":");
    fl_json_put_string(b, p->message);
    FL_BUF_LIT(b, ",\n\"url\":");
    fl_json_put_string(b, c->r->path);
    fl_buf_printf(b, ",\n\"status\":\"%d\"\n}", p->status);
}

static void put_text(const struct kms_call *c, const struct kms_page *p, struct fl_buf *b)
{
    FL_BUF_LIT(b, "HTTP ERROR ");
    put_title(b, p->status, p->message);
    FL_BUF_LIT(b, "\nURI: ");
    fl_buf_put_slice(b, c->r->path);
    fl_buf_printf(b, "\nSTATUS: %d\nMESSAGE: ", p->status);
    fl_buf_put_slice(b, p->message);
    fl_buf_printf(b, "\nSERVLET: %s\n", servlet_of(c));
    if (p->thrown) {
        FL_BUF_LIT(b, "CAUSED BY ");
        fl_buf_put_slice(b, p->message);
        FL_BUF_LIT(b, "\n");
    }
}

const char *kms_page_put(const struct kms_call *c, const struct kms_page *p, struct fl_buf *out)
{
    const struct fl_slice *accept = http_header_find(c->r, "Accept");
    struct kms_page        page = *p;

    page.message = quoted_once(c, p);
    p = &page;
    switch (accept == NULL ? HTML : form_of(*accept)) {
    case HTML: put_html(c, p, out); return "text/html;charset=iso-8859-1";
    case JSON: put_json(c, p, out); return "application/json";
    case TEXT: put_text(c, p, out); return "text/plain;charset=iso-8859-1";
    default: return NULL;
    }
}
