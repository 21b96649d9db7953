#include "auth/auth.h"

struct fl_slice auth_short_name(struct fl_slice name)
{
    for (size_t i = 0; i < name.len; i++)
        if (name.at[i] == '@' || name.at[i] == '/')
            return fl_slice_of(name.at, i);
    return name;
}
