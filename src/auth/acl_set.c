/* One set of ACLs: built from properties, then only asked (7.2 to 7.4). */
#include "auth/acl_inside.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const op_names[ACL_OPS] = { "CREATE",     "DELETE",       "ROLLOVER",         "GET",
                                               "GET_KEYS",   "GET_METADATA", "SET_KEY_MATERIAL", "GENERATE_EEK",
                                               "DECRYPT_EEK" };
static const char *const key_op_names[ACL_KEY_OPS] = { "ALL", "READ", "MANAGEMENT", "GENERATE_EEK", "DECRYPT_EEK" };

const char *acl_op_name(enum acl_op op)
{
    return op_names[op];
}

const char *acl_key_op_name(enum acl_key_op op)
{
    return key_op_names[op];
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static bool member(const struct acl_set *s, const struct acl_list *l, enum acl_kind kind, struct fl_slice name)
{
    uint32_t unused;

    return auth_strmap_get(&s->members, acl_member_tag(s, l, kind), name, &unused);
}

/* l NULL: no such list, so nobody is on it. */
static enum acl_answer on_list(const struct acl_set *s, const struct acl_list *l, const struct acl_who *who)
{
    const struct auth_group_list *groups = who->groups;

    if (l == NULL)
        return ACL_NO;
    if (l->everybody || (l->users > 0 && member(s, l, ACL_USER, who->user)))
        return ACL_YES;
    if (l->users > 0 && who->behind.len > 0 && member(s, l, ACL_USER, who->behind))
        return ACL_YES;
    if (l->groups == 0)
        return ACL_NO;
    if (groups == NULL)
        return ACL_NEEDS_GROUPS;
    for (size_t i = 0; i < groups->count; i++)
        if (member(s, l, ACL_GROUP, fl_slice_str(groups->names[i])))
            return ACL_YES;
    return ACL_NO;
}

static enum acl_answer either(enum acl_answer a, enum acl_answer b)
{
    if (a == ACL_YES || b == ACL_YES)
        return ACL_YES;
    return a == ACL_NEEDS_GROUPS || b == ACL_NEEDS_GROUPS ? ACL_NEEDS_GROUPS : ACL_NO;
}

enum acl_answer acl_allows_who(const struct acl_set *s, enum acl_op op, const struct acl_who *who)
{
    enum acl_answer allowed = on_list(s, s->allow[op], who);
    enum acl_answer denied = allowed == ACL_NO ? ACL_NO : on_list(s, s->deny[op], who);

    if (allowed == ACL_NO || denied == ACL_YES)
        return ACL_NO;
    return allowed == ACL_NEEDS_GROUPS || denied == ACL_NEEDS_GROUPS ? ACL_NEEDS_GROUPS : ACL_YES;
}

enum acl_answer acl_allows(const struct acl_set *s, enum acl_op op, struct fl_slice user,
                           const struct auth_group_list *groups)
{
    return acl_allows_who(s, op, &(struct acl_who){ .user = user, .groups = groups });
}

static const struct acl_key *key_map(const struct acl_set *s, struct fl_slice acl_name)
{
    uint32_t index;

    return auth_strmap_get(&s->keys_by_name, 0, acl_name, &index) ? &s->keys[index] : NULL;
}

/* Steps 2 to 4 for one op: the per-key map, or the default where there is none at all; then the whitelist. */
static enum acl_answer key_op_granted(const struct acl_set *s, const struct acl_key *map, enum acl_key_op op,
                                      const struct acl_who *who)
{
    enum acl_answer a = on_list(s, (map == NULL ? &s->defaults : map)->lists[op], who);

    return a == ACL_YES ? a : either(a, on_list(s, s->whitelist.lists[op], who));
}

static bool present(const struct acl_set *s, const struct acl_key *map, enum acl_key_op op)
{
    return map != NULL || s->defaults.lists[op] != NULL || s->whitelist.lists[op] != NULL;
}

bool acl_key_present(const struct acl_set *s, struct fl_slice acl_name, enum acl_key_op op)
{
    return present(s, key_map(s, acl_name), op);
}

/* Java asks for op and, if that isn't granted, for ALL; each refusal writes its audit line, even when ALL then allows.
 * So with a trail wanted, a grant by ALL can't be told before the groups have said no to op. */
enum acl_answer acl_key_allows_who(const struct acl_set *s, struct fl_slice acl_name, enum acl_key_op op,
                                   const struct acl_who *who, unsigned *trail)
{
    const struct acl_key *map = key_map(s, acl_name);
    enum acl_answer       by_op, by_all;

    if (trail != NULL)
        *trail = 0;
    if (!present(s, map, op))
        return ACL_NO;
    by_op = key_op_granted(s, map, op, who);
    if (by_op == ACL_YES || (by_op == ACL_NEEDS_GROUPS && trail != NULL))
        return by_op;
    by_all = key_op_granted(s, map, ACL_KEY_ALL, who);
    if (trail != NULL && by_all != ACL_NEEDS_GROUPS)
        *trail = 1u << op | (by_all == ACL_NO ? 1u << ACL_KEY_ALL : 0);
    return either(by_op, by_all);
}

enum acl_answer acl_key_allows(const struct acl_set *s, struct fl_slice acl_name, enum acl_key_op op,
                               struct fl_slice user, const struct auth_group_list *groups, unsigned *trail)
{
    return acl_key_allows_who(s, acl_name, op, &(struct acl_who){ .user = user, .groups = groups }, trail);
}

const struct fl_strings *acl_set_warnings(const struct acl_set *s)
{
    return &s->warnings;
}

/* ---- the object -------------------------------------------------------------------------------------------------- */

void acl_set_free(struct acl_set *s)
{
    if (s == NULL)
        return;
    auth_strmap_done(&s->members);
    auth_strmap_done(&s->keys_by_name);
    fl_arena_done(&s->arena);
    free(s->lists);
    free(s->keys);
    for (size_t i = 0; i < s->warnings.count; i++)
        free(s->warnings.at[i]);
    free(s->warnings.at);
    free(s);
}
