#include "auth/auth.h"

/* The names that Java's parser takes apart: primary[/host][@REALM], no part empty and none with '/' or '@' in it. */
static bool has_parts(struct fl_slice name, size_t at, size_t slash)
{
    size_t end = at == SIZE_MAX ? name.len : at;

    if (at != SIZE_MAX && (at + 1 == name.len || fl_slice_find_last(name, '@') != at))
        return false;
    if (slash == SIZE_MAX)
        return end > 0;
    return slash > 0 && slash + 1 < end && fl_slice_find_last(name, '/') == slash;
}

/* Without an '@' what is no such name is taken as it is: "a/b/c" is a user, and so is "alice/", who is not alice. */
struct fl_slice auth_short_name(struct fl_slice name)
{
    size_t at = fl_slice_find(name, '@'), slash = fl_slice_find(name, '/');

    if (at == SIZE_MAX && (slash == SIZE_MAX || !has_parts(name, at, slash)))
        return name;
    return fl_slice_of(name.at, at < slash ? at : slash);
}

bool auth_name_malformed(struct fl_slice name)
{
    size_t at = fl_slice_find(name, '@');

    return at != SIZE_MAX && !has_parts(name, at, fl_slice_find(name, '/'));
}
