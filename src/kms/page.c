/* The container's small error page, in the form that Accept asks for. */
#include "kms/call.h"

#include "base/encode.h"

#include <stdlib.h>
#include <string.h>

/* ---- what Accept asks for ---------------------------------------------------------------------------------------- */

struct range {
    struct fl_slice type;
    unsigned        quality;    /* in thousandths */
    bool            parameters; /* others than q */
};

/* The walk over all ranges of all Accept headers; begin with zeroes. */
struct ranges {
    size_t          header;
    struct fl_slice rest;
};

static struct fl_slice take_until(struct fl_slice *rest, char end)
{
    size_t          at = fl_slice_find(*rest, (uint8_t)end);
    struct fl_slice piece = at == SIZE_MAX ? *rest : fl_slice_of(rest->at, at);

    *rest = fl_slice_from(*rest, at == SIZE_MAX ? rest->len : at + 1);
    return fl_slice_trim(piece);
}

static void take_parameter(struct range *range, struct fl_slice parameter)
{
    char text[8] = "";

    if (!fl_slice_starts(parameter, FL_LIT("q="))) {
        range->parameters = range->parameters || parameter.len > 0;
        return;
    }
    if (parameter.len - 2 < sizeof text)
        memcpy(text, parameter.at + 2, parameter.len - 2);
    range->quality = (unsigned)(strtod(text, NULL) * 1000);
}

static bool next_range(const struct http_request *r, struct ranges *walk, struct range *out)
{
    struct fl_slice range;

    while (walk->rest.len == 0) {
        if (walk->header == r->header_count)
            return false;
        if (fl_slice_equal_nocase(r->headers[walk->header].name, FL_LIT("Accept")))
            walk->rest = r->headers[walk->header].value;
        walk->header++;
    }
    range = take_until(&walk->rest, ',');
    *out = (struct range){ take_until(&range, ';'), 1000, false };
    while (range.len > 0)
        take_parameter(out, take_until(&range, ';'));
    return true;
}

bool kms_accepts(const struct kms_call *c, const char *const *types)
{
    struct ranges walk = { .header = 0 };
    struct range  range;
    bool          any = false;

    while (next_range(c->r, &walk, &range)) {
        any = any || range.type.len > 0;
        for (const char *const *t = types; range.quality > 0 && *t != NULL; t++)
            if (fl_slice_equal_nocase(range.type, fl_slice_str(*t)))
                return true;
    }
    return !any;
}

/* ---- the forms --------------------------------------------------------------------------------------------------- */

typedef void (*form)(const struct kms_call *c, const struct kms_page *p, struct fl_buf *b);

static void put_html(const struct kms_call *c, const struct kms_page *p, struct fl_buf *b);
static void put_json(const struct kms_call *c, const struct kms_page *p, struct fl_buf *b);
static void put_text(const struct kms_call *c, const struct kms_page *p, struct fl_buf *b);

/* The names are compared as they are written. */
static const struct form_row {
    const char *accept;
    const char *content_type;
    form        put;
    unsigned    precision;
} forms[] = {
    { "text/html", "text/html;charset=iso-8859-1", put_html, 2 },
    { "*/*", "text/html;charset=iso-8859-1", put_html, 0 },
    { "text/*", "text/html;charset=iso-8859-1", put_html, 1 },
    { "application/json", "application/json", put_json, 2 },
    { "text/json", "text/json", put_json, 2 },
    { "text/plain", "text/plain;charset=iso-8859-1", put_text, 2 },
};

static const struct form_row *form_named(struct fl_slice type)
{
    for (size_t i = 0; i < FL_COUNT(forms); i++)
        if (fl_slice_equal(type, fl_slice_str(forms[i].accept)))
            return &forms[i];
    return NULL;
}

/* Jetty takes the types by their quality, then the precise before the general, then as they stand, and makes the first
 * that it can. Without the header it makes HTML; where there is nothing in it, or nothing known, no page at all. */
static const struct form_row *form_of(const struct http_request *r)
{
    struct ranges          walk = { .header = 0 };
    struct range           range;
    const struct form_row *best = NULL;
    unsigned               best_quality = 0;

    if (http_header_find(r, "Accept") == NULL)
        return &forms[0];
    while (next_range(r, &walk, &range)) {
        const struct form_row *row = range.parameters ? NULL : form_named(range.type);

        if (row != NULL && (range.quality > best_quality ||
                            (best != NULL && range.quality == best_quality && row->precision > best->precision))) {
            best = row;
            best_quality = range.quality;
        }
    }
    return best;
}

static void put_entities(struct fl_buf *b, struct fl_slice text)
{
    static const char *const entities[256] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&apos;"
    };

    for (size_t i = 0; i < text.len; i++)
        if (entities[text.at[i]] != NULL)
            fl_buf_put_str(b, entities[text.at[i]]);
        else
            fl_buf_put_byte(b, text.at[i]);
}

/* Hadoop's filter quotes a message for HTML before the container does it once more. A message that was thrown comes to
 * the container by itself. */
static struct fl_slice quoted_once(const struct kms_call *c, const struct kms_page *p)
{
    struct fl_buf *b = &c->here->head; /* free until the head is written */

    if (p->thrown || p->outside)
        return p->message;
    fl_buf_clear(b);
    put_entities(b, p->message);
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

/* As JSON what is quoted for HTML: so does Jetty. */
static void put_json_row(struct fl_buf *b, const char *name, struct fl_slice value)
{
    struct fl_buf html;

    fl_buf_init(&html, b->limit);
    put_entities(&html, value);
    fl_buf_printf(b, "\"%s\":", name);
    fl_json_put_string(b, fl_buf_slice(&html));
    FL_BUF_LIT(b, ",\n");
    fl_buf_done(&html);
}

static void put_json(const struct kms_call *c, const struct kms_page *p, struct fl_buf *b)
{
    fl_buf_printf(b, "{\n\"servlet\":\"%s\",\n", servlet_of(c));
    if (p->thrown)
        put_json_row(b, "cause0", p->message);
    put_json_row(b, "message", p->message);
    put_json_row(b, "url", c->r->path);
    fl_buf_printf(b, "\"status\":\"%d\"\n}", p->status);
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
    const struct form_row *row = form_of(c->r);
    struct kms_page        page = *p;

    if (row == NULL)
        return NULL;
    page.message = quoted_once(c, p);
    row->put(c, &page, out);
    return row->content_type;
}
