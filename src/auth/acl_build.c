/* From the properties of kms-acls.xml to a set of ACLs. */
#include "auth/acl_inside.h"

#include <stdio.h>

enum { MOST_WARNINGS = 100, ARENA_BLOCK = 4096, ARENA_LIMIT = 64 * 1024 * 1024 };

struct building {
    struct acl_set          *set;
    const struct properties *from;
    struct fl_buf            value; /* of the property at hand */
    struct fl_error         *err;
};

/* "property: 'name' sentence"; name may be empty. A warning that finds no memory is given up: the ACLs themselves are
 * what counts. */
static void warn(struct building *b, struct fl_slice property, struct fl_slice name, const char *sentence)
{
    struct fl_strings *w = &b->set->warnings;
    const char        *quote = name.len > 0 ? "'" : "";
    char               text[400];
    char             **at;

    if (w->count >= MOST_WARNINGS)
        return;
    snprintf(text, sizeof text, "%.*s: %s%.*s%s%s%s", FL_SLICE_ARGS(property), quote, FL_SLICE_ARGS(name), quote,
             name.len > 0 ? " " : "", sentence);
    if (w->count == MOST_WARNINGS - 1)
        snprintf(text, sizeof text, "and more; the first %d warnings are shown", MOST_WARNINGS - 1);
    at = realloc(w->at, (w->count + 1) * sizeof *at);
    if (at == NULL)
        return;
    w->at = at;
    w->at[w->count] = strdup(text);
    w->count += w->at[w->count] != NULL;
}

static enum fl_status no_memory(struct building *b)
{
    return fl_fail(b->err, FL_NO_MEMORY, 0, "no memory for the ACLs");
}

/* ---- lists: "user1,user2 group1,group2" (7.2) -------------------------------------------------------------------- */

static void warn_of_name(struct building *b, struct fl_slice property, enum acl_kind kind, struct fl_slice name)
{
    if (kind == ACL_GROUP && fl_slice_find(name, ' ') != SIZE_MAX)
        warn(b, property, name, "is a group name with a blank inside; groups are separated by commas");
}

/* Commas and line feeds separate names; blanks around them don't count, empty names neither. */
static enum fl_status add_names(struct building *b, struct acl_list *l, enum acl_kind kind, struct fl_slice names,
                                struct fl_slice property)
{
    uint32_t *count = kind == ACL_USER ? &l->users : &l->groups;
    uint32_t  tag = acl_member_tag(b->set, l, kind);

    for (size_t from = 0; from < names.len;) {
        size_t          to = from;
        struct fl_slice name;

        while (to < names.len && names.at[to] != ',' && names.at[to] != '\n')
            to++;
        name = properties_trim(fl_slice_of(names.at + from, to - from));
        from = to + 1;
        if (name.len == 0)
            continue;
        warn_of_name(b, property, kind, name);
        name = fl_arena_copy(&b->set->arena, name);
        if (name.at == NULL || !auth_strmap_put(&b->set->members, tag, name, 1))
            return no_memory(b);
        ++*count;
    }
    return FL_OK;
}

static enum fl_status build_list(struct building *b, struct fl_slice property, struct fl_slice text,
                                 struct acl_list **out)
{
    size_t           blank = fl_slice_find(text, ' ');
    struct fl_slice  users = fl_slice_of(text.at, blank == SIZE_MAX ? text.len : blank);
    struct fl_slice  groups = blank == SIZE_MAX ? fl_slice_of(text.at, 0) : fl_slice_from(text, blank + 1);
    struct acl_list *l = &b->set->lists[b->set->list_count++]; /* there is room for a list a property */
    enum fl_status   s;

    *l = (struct acl_list){ .everybody = fl_slice_equal(properties_trim(users), FL_LIT("*")) ||
                                         fl_slice_equal(properties_trim(groups), FL_LIT("*")) };
    *out = l;
    if (l->everybody)
        return FL_OK;
    s = add_names(b, l, ACL_USER, users, property);
    return s == FL_OK ? add_names(b, l, ACL_GROUP, groups, property) : s;
}

/* The list of a property; *out stays NULL when there is none, or gets otherwise (may be NULL) as its text. */
static enum fl_status list_of(struct building *b, struct fl_slice property, const char *otherwise,
                              struct acl_list **out)
{
    bool           unresolved;
    enum fl_status s;

    fl_buf_clear(&b->value);
    s = properties_get(b->from, property, &b->value, &unresolved, b->err);
    if (s == FL_NOT_FOUND)
        return otherwise == NULL ? FL_OK : build_list(b, property, fl_slice_str(otherwise), out);
    if (s != FL_OK)
        return s;
    if (unresolved)
        warn(b, property, FL_LIT(""),
             "a ${variable} that is neither a property of this file nor env.NAME stays as it stands");
    return build_list(b, property, fl_buf_slice(&b->value), out);
}

/* ---- level 1 ----------------------------------------------------------------------------------------------------- */

static struct fl_slice name_with(char *into, size_t size, const char *prefix, const char *op)
{
    snprintf(into, size, "%s%s", prefix, op);
    return fl_slice_str(into);
}

static enum fl_status build_operations(struct building *b)
{
    enum fl_status s = FL_OK;
    char           name[64];

    for (int op = 0; op < ACL_OPS && s == FL_OK; op++) {
        s = list_of(b, name_with(name, sizeof name, "hadoop.kms.acl.", acl_op_name(op)), "*", &b->set->allow[op]);
        if (s == FL_OK)
            s = list_of(b, name_with(name, sizeof name, "hadoop.kms.blacklist.", acl_op_name(op)), NULL,
                        &b->set->deny[op]);
    }
    return s;
}

/* ---- level 2 ----------------------------------------------------------------------------------------------------- */

static bool key_op_of(struct fl_slice word, enum acl_key_op *op)
{
    for (int i = 0; i < ACL_KEY_OPS; i++)
        if (fl_slice_equal(word, fl_slice_str(acl_key_op_name(i)))) {
            *op = i;
            return true;
        }
    return false;
}

/* NULL without memory. */
static struct acl_key *key_map_for(struct acl_set *s, struct fl_slice acl_name)
{
    struct fl_slice name;
    uint32_t        index;

    if (auth_strmap_get(&s->keys_by_name, 0, acl_name, &index))
        return &s->keys[index];
    name = fl_arena_copy(&s->arena, acl_name);
    if (name.at == NULL || !auth_strmap_put(&s->keys_by_name, 0, name, (uint32_t)s->key_count))
        return NULL;
    s->keys[s->key_count] = (struct acl_key){ { NULL } }; /* there is room for a key a property */
    return &s->keys[s->key_count++];
}

/* "key.acl.<name>.<OP>"; the name may hold dots. */
static enum fl_status build_key(struct building *b, struct fl_slice property)
{
    const size_t     prefix = sizeof "key.acl." - 1;
    size_t           dot = fl_slice_find_last(property, '.');
    struct acl_key  *map;
    struct acl_list *l = NULL;
    enum acl_key_op  op;
    enum fl_status   s;

    if (dot <= prefix) {
        warn(b, property, FL_LIT(""), "no key name and operation after 'key.acl.'; ignored");
        return FL_OK;
    }
    if (!key_op_of(fl_slice_from(property, dot + 1), &op)) {
        warn(b, property, FL_LIT(""),
             "unknown operation, where ALL, READ, MANAGEMENT, GENERATE_EEK and DECRYPT_EEK are known; ignored");
        return FL_OK;
    }
    s = list_of(b, property, NULL, &l);
    if (s != FL_OK || l == NULL)
        return s;
    map = key_map_for(b->set, fl_slice_of(property.at + prefix, dot - prefix));
    if (map == NULL)
        return no_memory(b);
    map->lists[op] = l;
    return FL_OK;
}

/* "default.key.acl.<OP>", "whitelist.key.acl.<OP>": not for ALL. */
static enum fl_status build_general(struct building *b, struct fl_slice property, size_t prefix, struct acl_key *into)
{
    struct acl_list *l = NULL;
    enum acl_key_op  op;
    enum fl_status   s;

    if (!key_op_of(fl_slice_from(property, prefix), &op) || op == ACL_KEY_ALL) {
        warn(b, property, FL_LIT(""),
             "unknown operation, where READ, MANAGEMENT, GENERATE_EEK and DECRYPT_EEK are known; ignored");
        return FL_OK;
    }
    s = list_of(b, property, NULL, &l);
    into->lists[op] = l;
    return s;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool is_operation(struct fl_slice property, struct fl_slice prefix)
{
    if (!fl_slice_starts(property, prefix))
        return false;
    for (int op = 0; op < ACL_OPS; op++)
        if (fl_slice_equal(fl_slice_from(property, prefix.len), fl_slice_str(acl_op_name(op))))
            return true;
    return false;
}

static enum fl_status build_property(struct building *b, const struct property *p)
{
    static const struct fl_slice by_default = { (const uint8_t *)"default.key.acl.", 16 };
    static const struct fl_slice whitelist = { (const uint8_t *)"whitelist.key.acl.", 18 };

    if (p->emptied)
        warn(b, p->name, FL_LIT(""),
             "an empty value counts as no such property, as with Hadoop; write one blank for 'nobody'");
    if (p->value.at == NULL)
        return FL_OK;
    if (fl_slice_starts(p->name, FL_LIT("key.acl.")))
        return build_key(b, p->name);
    if (fl_slice_starts(p->name, by_default))
        return build_general(b, p->name, by_default.len, &b->set->defaults);
    if (fl_slice_starts(p->name, whitelist))
        return build_general(b, p->name, whitelist.len, &b->set->whitelist);
    if (!is_operation(p->name, FL_LIT("hadoop.kms.acl.")) && !is_operation(p->name, FL_LIT("hadoop.kms.blacklist.")))
        warn(b, p->name, FL_LIT(""), "no ACL has this name; ignored");
    return FL_OK;
}

static enum fl_status build(struct building *b)
{
    struct acl_set *set = b->set;
    enum fl_status  s;

    set->list_cap = b->from->count + 2 * ACL_OPS;
    set->lists = calloc(set->list_cap, sizeof *set->lists);
    set->keys = calloc(b->from->count + 1, sizeof *set->keys);
    if (set->lists == NULL || set->keys == NULL)
        return no_memory(b);
    s = build_operations(b);
    for (size_t i = 0; i < b->from->count && s == FL_OK; i++)
        s = build_property(b, &b->from->at[i]);
    return s;
}

enum fl_status acl_set_parse(struct fl_slice xml, struct acl_set **out, struct fl_error *err)
{
    FL_AUTO(properties) p = NULL;
    struct building b = { .set = calloc(1, sizeof *b.set), .err = err };
    enum fl_status  s = properties_parse(xml, &p, err);

    if (s == FL_OK && b.set == NULL)
        s = no_memory(&b);
    if (s != FL_OK) {
        free(b.set);
        return s;
    }
    b.from = p;
    fl_arena_init(&b.set->arena, ARENA_BLOCK, ARENA_LIMIT);
    fl_buf_init(&b.value, PROPERTIES_MAX_BYTES);
    s = build(&b);
    fl_buf_done(&b.value);
    if (s == FL_OK)
        *out = b.set;
    else
        acl_set_free(b.set);
    return s;
}
