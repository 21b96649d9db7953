#include "http/chunked.h"

#include "base/own.h"

enum {
    SIZE_FIRST, /* the first digit of a size */
    SIZE,
    BLANK, /* after a size: some peers pad it */
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    LINE_FIRST, /* the first byte of a trailer line, or the CR of the empty one */
    NAME,
    VALUE,
    LINE_LF,
    LAST_LF,
};
enum {
    MAX_DIGITS = 16,
    MAX_EXTRA = 8 * 1024, /* of one body: many small chunks with long extensions would cost more than they carry */
};

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum fl_status become(struct http_chunked *c, uint8_t state)
{
    c->state = state;
    return FL_WANT_READ;
}

static enum fl_status on_digit(struct http_chunked *c, uint8_t byte, struct http_refusal *why)
{
    int value = hex_value(byte);

    if (value < 0)
        return http_refuse_byte(why, byte);
    if (c->digits == MAX_DIGITS)
        return http_refuse(why, 400, "Chunk size of more than 16 digits");
    c->digits++;
    c->left = c->left << 4 | (unsigned)value;
    return become(c, SIZE);
}

static enum fl_status on_size(struct http_chunked *c, uint8_t byte, struct http_refusal *why)
{
    if (byte == '\r')
        return become(c, SIZE_LF);
    if (byte == ' ' || byte == '\t')
        return become(c, BLANK);
    if (byte == ';')
        return become(c, EXTENSION);
    return c->state == SIZE ? on_digit(c, byte, why) : http_refuse_byte(why, byte);
}

static enum fl_status on_size_lf(struct http_chunked *c, size_t room, struct http_refusal *why)
{
    c->digits = 0;
    if (c->left > room)
        return http_refuse(why, 413, "Payload Too Large");
    return become(c, c->left == 0 ? LINE_FIRST : DATA);
}

/* Extensions and the values of trailers: what a header's value may hold. */
static enum fl_status on_ignored(struct http_chunked *c, uint8_t byte, uint8_t after_cr, struct http_refusal *why)
{
    if (byte == '\r')
        return become(c, after_cr);
    if ((byte < ' ' && byte != '\t') || byte == 0x7f)
        return http_refuse_byte(why, byte);
    return FL_WANT_READ;
}

static enum fl_status on_name(struct http_chunked *c, uint8_t byte, struct http_refusal *why)
{
    if (byte == ':' && c->state == NAME)
        return become(c, VALUE);
    return http_token_byte[byte] ? become(c, NAME) : http_refuse_byte(why, byte);
}

/* One byte that is not content. FL_OK: it was the last of all. */
static enum fl_status on_byte(struct http_chunked *c, uint8_t byte, size_t room, struct http_refusal *why)
{
    bool is_lf = byte == '\n';

    if ((c->state == BLANK || c->state == EXTENSION || c->state >= LINE_FIRST) && ++c->extra > MAX_EXTRA)
        return http_refuse(why, 400, "Chunk extensions or trailers too large");
    switch (c->state) {
    case SIZE_FIRST: return on_digit(c, byte, why);
    case SIZE:
    case BLANK: return on_size(c, byte, why);
    case EXTENSION: return on_ignored(c, byte, SIZE_LF, why);
    case SIZE_LF: return is_lf ? on_size_lf(c, room, why) : http_refuse_byte(why, byte);
    case DATA_CR: return byte == '\r' ? become(c, DATA_LF) : http_refuse_byte(why, byte);
    case DATA_LF: return is_lf ? become(c, SIZE_FIRST) : http_refuse_byte(why, byte);
    case LINE_FIRST: return byte == '\r' ? become(c, LAST_LF) : on_name(c, byte, why);
    case NAME: return on_name(c, byte, why);
    case VALUE: return on_ignored(c, byte, LINE_LF, why);
    case LINE_LF: return is_lf ? become(c, LINE_FIRST) : http_refuse_byte(why, byte);
    default: return is_lf ? FL_OK : http_refuse_byte(why, byte); /* LAST_LF */
    }
}

static bool take_data(struct http_chunked *c, struct fl_slice *in, struct fl_buf *body)
{
    size_t n = FL_MIN(c->left, in->len);

    if (!fl_buf_put(body, in->at, n))
        return false;
    *in = fl_slice_from(*in, n);
    c->left -= n;
    if (c->left == 0)
        c->state = DATA_CR;
    return true;
}

enum fl_status http_chunked_feed(struct http_chunked *c, struct fl_slice *in, size_t limit, struct fl_buf *body,
                                 struct http_refusal *why)
{
    while (in->len > 0) {
        enum fl_status s;

        if (c->state == DATA) {
            if (!take_data(c, in, body))
                return FL_NO_MEMORY;
            continue;
        }
        s = on_byte(c, in->at[0], limit - fl_buf_len(body), why);
        if (s == FL_MALFORMED)
            return s;
        *in = fl_slice_from(*in, 1);
        if (s == FL_OK)
            return s;
    }
    return FL_WANT_READ;
}
