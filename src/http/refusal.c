#include "http/refusal.h"

#include <stdio.h>

#define ROW_OF_TEN(c)                                                                                     \
    [c] = true, [(c) + 1] = true, [(c) + 2] = true, [(c) + 3] = true, [(c) + 4] = true, [(c) + 5] = true, \
    [(c) + 6] = true, [(c) + 7] = true, [(c) + 8] = true, [(c) + 9] = true

const bool http_token_byte[256] = {
    ['!'] = true, ['#'] = true,    ['$'] = true,    ['%'] = true,    ['&'] = true,    ['\''] = true, ['*'] = true,
    ['+'] = true, ['-'] = true,    ['.'] = true,    ['^'] = true,    ['_'] = true,    ['`'] = true,  ['|'] = true,
    ['~'] = true, ROW_OF_TEN('0'), ROW_OF_TEN('A'), ROW_OF_TEN('K'), ['U'] = true,    ['V'] = true,  ['W'] = true,
    ['X'] = true, ['Y'] = true,    ['Z'] = true,    ROW_OF_TEN('a'), ROW_OF_TEN('k'), ['u'] = true,  ['v'] = true,
    ['w'] = true, ['x'] = true,    ['y'] = true,    ['z'] = true,
};

bool http_is_token(struct fl_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!http_token_byte[s.at[i]])
            return false;
    return s.len > 0;
}

enum fl_status http_refuse(struct http_refusal *r, int status, const char *reason)
{
    r->status = status;
    snprintf(r->reason, sizeof r->reason, "%s", reason);
    return FL_MALFORMED;
}

static const char *visible_class(uint8_t byte)
{
    if (byte == ' ')
        return "SPACE";
    if (byte == ':')
        return "COLON";
    if ((byte | 32) >= 'a' && (byte | 32) <= 'z')
        return "ALPHA";
    if (byte >= '0' && byte <= '9')
        return "DIGIT";
    return http_token_byte[byte] ? "TCHAR" : "VCHAR";
}

enum fl_status http_refuse_byte(struct http_refusal *r, uint8_t byte)
{
    r->status = 400;
    if (byte == '\n' || byte == '\r')
        snprintf(r->reason, sizeof r->reason, "Illegal character %s", byte == '\n' ? "LF=\\n" : "CR=\\r");
    else if (byte >= ' ' && byte < 0x7f)
        snprintf(r->reason, sizeof r->reason, "Illegal character %s='%c'", visible_class(byte), byte);
    else
        snprintf(r->reason, sizeof r->reason, "Illegal character %s=0x%x",
                 byte == '\t'   ? "HTAB"
                 : byte >= 0x80 ? "OTEXT"
                                : "CNTL",
                 byte);
    return FL_MALFORMED;
}
