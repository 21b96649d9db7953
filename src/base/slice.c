#include "featherlock/slice.h"

#include <stdlib.h>

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

bool fl_slice_equal_nocase(struct fl_slice a, struct fl_slice b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.at[i]) != lower(b.at[i]))
            return false;
    return true;
}

size_t fl_slice_find(struct fl_slice s, uint8_t byte)
{
    const uint8_t *hit = s.len == 0 ? NULL : memchr(s.at, byte, s.len);

    return hit == NULL ? SIZE_MAX : (size_t)(hit - s.at);
}

size_t fl_slice_find_last(struct fl_slice s, uint8_t byte)
{
    const uint8_t *hit = s.len == 0 ? NULL : memrchr(s.at, byte, s.len);

    return hit == NULL ? SIZE_MAX : (size_t)(hit - s.at);
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct fl_slice fl_slice_trim(struct fl_slice s)
{
    while (s.len > 0 && is_blank(s.at[0]))
        s = fl_slice_of(s.at + 1, s.len - 1);
    while (s.len > 0 && is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

char *fl_slice_dup(struct fl_slice s)
{
    char *copy = malloc(s.len + 1);

    if (copy != NULL) {
        if (s.len > 0)
            memcpy(copy, s.at, s.len);
        copy[s.len] = '\0';
    }
    return copy;
}
