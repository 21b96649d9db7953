/* auth/acl_inside.h - what asking (acl_set.c), building (acl_build.c) and holding (acl.c) share.
 *
 * Owns:    see auth/auth.h. Thread: a set is immutable once built.                                                    */
#ifndef AUTH_ACL_INSIDE_H
#define AUTH_ACL_INSIDE_H

#include "auth/auth.h"
#include "auth/properties.h"
#include "auth/strmap.h"
#include "base/rcu.h"

struct acl_list {
    bool     everybody;
    uint32_t users, groups; /* how many names are on it */
};
struct acl_key {
    const struct acl_list *lists[ACL_KEY_OPS]; /* NULL: no such entry */
};

struct acl_set {
    struct rcu_head    rcu;
    struct fl_arena    arena; /* the names */
    struct acl_list   *lists; /* all of them, in one array that never moves */
    size_t             list_count, list_cap;
    struct auth_strmap members;                        /* (list, user or group; name) */
    struct acl_list   *allow[ACL_OPS], *deny[ACL_OPS]; /* deny NULL: none */
    struct acl_key    *keys;
    size_t             key_count;
    struct auth_strmap keys_by_name;
    struct acl_key     defaults, whitelist; /* lists[ACL_KEY_ALL] is always NULL */
    struct fl_strings  warnings;
};

enum acl_kind { ACL_USER, ACL_GROUP };

static inline uint32_t acl_member_tag(const struct acl_set *s, const struct acl_list *l, enum acl_kind kind)
{
    return (uint32_t)(l - s->lists) * 2 + kind;
}

#endif
