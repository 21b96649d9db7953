/* auth/groups_inside.h - the group cache with another source than NSS, for tests.
 *
 * Owns:    see auth/auth.h. Thread: stated there.                                                                     */
#ifndef AUTH_GROUPS_INSIDE_H
#define AUTH_GROUPS_INSIDE_H

#include "auth/auth.h"

struct groups_found {
    bool          present; /* there is such a user */
    bool          failed;  /* the source could not tell; a list that is still good is kept then */
    struct fl_buf names;   /* each with its NUL */
    size_t        count;
};
bool groups_found_add(struct groups_found *f, const char *group);

/* Worker: may block. Fills found, which comes empty. */
typedef void (*groups_source)(const char *user, struct groups_found *found);
void groups_from_nss(const char *user, struct groups_found *found);

FL_CHECKED enum fl_status groups_new_with(struct auth_groups **out, struct io_reactors *rs, groups_source source,
                                          size_t most_entries, struct fl_error *err);
size_t                    groups_entries(const struct auth_groups *g); /* any; users that are kept, absent ones too */

#endif
