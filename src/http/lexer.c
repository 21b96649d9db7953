#include "http/lexer.h"

#include <llhttp.h>
#include <pthread.h>

/* llhttp knows a fixed list of methods and has its own grammar of targets, while any token is a method here and targets
 * are as lenient as the originals'. So the request line is judged in head.c, and llhttp begins at the headers: each
 * parse copies a parser that has just seen this line. */
static const char     FIRST_LINE[] = "POST / HTTP/1.1\r\n";
static llhttp_t       after_first_line;
static pthread_once_t once = PTHREAD_ONCE_INIT;

struct lex {
    struct http_headers *out;
    bool                 in_name, too_many, complete;
};

/* The head lies whole in memory, so a span comes in one piece unless a line is folded, which the scan has refused. */
static int on_name(llhttp_t *p, const char *at, size_t len)
{
    struct lex          *x = p->data;
    struct http_headers *out = x->out;

    if (out->count == out->cap) {
        x->too_many = true;
        return HPE_USER;
    }
    out->at[out->count++] = (struct http_header){ .name = fl_slice_of(at, len) };
    return 0;
}

static int on_value(llhttp_t *p, const char *at, size_t len)
{
    struct http_headers *out = ((struct lex *)p->data)->out;
    struct http_header  *h = &out->at[out->count - 1];

    if (h->value.at != NULL)
        return HPE_USER;
    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
        len--;
    h->value = fl_slice_of(at, len);
    return 0;
}

static int on_complete(llhttp_t *p)
{
    ((struct lex *)p->data)->complete = true;
    return 1; /* the body is not llhttp's business */
}

static void make_parser(void)
{
    static llhttp_settings_t settings;

    llhttp_settings_init(&settings);
    settings.on_header_field = on_name;
    settings.on_header_value = on_value;
    settings.on_headers_complete = on_complete;
    llhttp_init(&after_first_line, HTTP_REQUEST, &settings);
    if (llhttp_execute(&after_first_line, FIRST_LINE, sizeof FIRST_LINE - 1) != HPE_OK)
        __builtin_trap(); /* a llhttp that doesn't know this line is none */
}

static bool has_coding(const struct http_headers *h)
{
    for (size_t i = 0; i < h->count; i++)
        if (fl_slice_equal_nocase(h->at[i].name, FL_LIT("Transfer-Encoding")))
            return true;
    return false;
}

/* The byte to blame: a CR begins a line's end here, which is named by its LF; behind a known name llhttp complains of
 * the colon, where the blank before it is at fault. */
static enum fl_status blame(const char *at, struct http_refusal *why)
{
    if (*at == ':' && (at[-1] == ' ' || at[-1] == '\t'))
        at--;
    return http_refuse_byte(why, *at == '\r' ? '\n' : (uint8_t)*at);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* llhttp stopped at or behind a digit that follows another: there are too many, which Jetty does not say. */
static bool in_number(const char *at)
{
    return at != NULL && is_digit(at[-1]) && (is_digit(at[0]) || at[0] == '\r');
}

static enum fl_status explain(const llhttp_t *p, const struct lex *x, struct http_refusal *why)
{
    const char *at = p->error_pos;

    if (x->too_many)
        return http_refuse(why, 431, "Request Header Fields Too Large");
    switch (p->error) {
    case HPE_UNEXPECTED_CONTENT_LENGTH:
        return http_refuse(why, 400,
                           has_coding(x->out) ? "Transfer-Encoding and Content-Length" : "Multiple Content-Lengths");
    case HPE_INVALID_CONTENT_LENGTH:
        return http_refuse(why, 400, in_number(at) ? "Bad Request" : "Invalid Content-Length Value");
    case HPE_INVALID_TRANSFER_ENCODING: return http_refuse(why, 400, "Bad Transfer-Encoding, chunked not last");
    default: return at != NULL ? blame(at, why) : http_refuse(why, 400, "Bad Request");
    }
}

enum fl_status http_lex_headers(struct fl_slice lines, struct http_headers *out, struct http_refusal *why)
{
    struct lex x = { .out = out };
    llhttp_t   p;

    pthread_once(&once, make_parser);
    p = after_first_line;
    p.data = &x;
    out->count = 0;
    /* The result is not asked: an "Upgrade" that we ignore makes llhttp stop after the head, which is no fault. */
    llhttp_execute(&p, (const char *)lines.at, lines.len);
    return x.complete ? FL_OK : explain(&p, &x, why);
}
