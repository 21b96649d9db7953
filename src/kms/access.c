/* Who may do what, whose groups that needs, and the audit records that are due. */
#include "kms/call.h"

#include <string.h>

/* ---- audit and meters -------------------------------------------------------------------------------------------- */

void kms_note(struct kms_call *c, const struct kms_note *note)
{
    if (c->notes == NULL) {
        c->notes = c->inline_notes;
        c->note_room = KMS_NOTES_INLINE;
    }
    if (c->note_count == c->note_room) {
        struct kms_note *more = fl_arena_take(c->arena, 2 * c->note_room * sizeof *more);

        if (more == NULL) {
            c->notes_lost = true;
            return;
        }
        memcpy(more, c->notes, c->note_count * sizeof *more);
        c->notes = more;
        c->note_room *= 2;
    }
    c->notes[c->note_count++] = *note;
}

void kms_note_ok(struct kms_call *c, enum audit_op op, struct fl_slice key, struct fl_slice text)
{
    kms_note(c, &(struct kms_note){ .status = AUDIT_OK, .op = op, .key = key, .user = c->user, .text = text });
}

void kms_meter(struct kms_call *c, enum kms_meter m)
{
    if (c->metered & 1U << m)
        return;
    c->metered |= 1U << m;
    fl_metric_add(c->here->metrics, m, 1);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

struct group_wait {
    struct auth_group_wait wait;
    struct http_ticket     ticket;
    struct kms            *kms;
    unsigned               metered;
};

static void groups_came(struct auth_group_wait *w)
{
    struct group_wait    *g = FL_CONTAINER(w, struct group_wait, wait);
    struct http_exchange *x = http_unpark(g->ticket);
    struct kms           *k = g->kms;
    unsigned              metered = g->metered;

    free(g);
    if (x != NULL)
        kms_handle_again(k, x, metered);
}

static void park_for_groups(struct kms_call *c, struct fl_slice user_short)
{
    struct group_wait *g = calloc(1, sizeof *g);
    struct fl_error    err;

    if (g == NULL) {
        kms_refuse_no_memory(c);
        return;
    }
    g->wait.done = groups_came;
    g->kms = c->kms;
    if (auth_groups_fetch(c->kms->groups, http_reactor_of(c->x), user_short, &g->wait, &err) != FL_OK) {
        free(g);
        kms_refuse(c, KMS_F_BUSY, "Too many group look-ups are under way: %s", err.text);
        return;
    }
    kms_meter(c, KMS_M_GROUP_LOOKUPS);
    g->metered = c->metered;
    g->ticket = http_park(c->x); /* done never comes inside fetch, so the ticket is there in time */
}

bool kms_need_groups(struct kms_call *c, struct fl_slice user_short)
{
    enum fl_status s;

    if (c->groups_known)
        return true;
    s = auth_groups_cached(c->kms->groups, user_short, io_now_ns(http_reactor_of(c->x)), &c->groups);
    if (s == FL_PENDING && !c->again) {
        park_for_groups(c, user_short);
        return false;
    }
    if (s != FL_OK) { /* to go on without groups would pass over a blacklist */
        kms_refuse(c, KMS_F_BUSY, "The groups of user %.*s can't be looked up now", FL_SLICE_ARGS(user_short));
        return false;
    }
    c->groups_known = true;
    return true;
}

static struct acl_who who(const struct kms_call *c)
{
    return (struct acl_who){ c->user_short, c->behind, c->groups_known ? &c->groups : NULL };
}

/* ---- level 1: operations ----------------------------------------------------------------------------------------- */

enum kms_access kms_could(struct kms_call *c, enum acl_op op)
{
    const struct acl_set *acls = acls_current(c->kms->acls);
    struct acl_who        asking = who(c);
    enum acl_answer       answer = acl_allows_who(acls, op, &asking);

    if (answer == ACL_NEEDS_GROUPS) {
        if (!kms_need_groups(c, c->user_short))
            return KMS_GONE;
        asking = who(c);
        answer = acl_allows_who(acls, op, &asking);
    }
    return answer == ACL_YES ? KMS_YES : KMS_NO;
}

bool kms_may(struct kms_call *c, enum acl_op op, enum audit_op as, struct fl_slice key)
{
    enum kms_access access = kms_could(c, op);

    if (access != KMS_NO)
        return access == KMS_YES;
    kms_meter(c, KMS_M_UNAUTHORIZED);
    kms_note(c, &(struct kms_note){ .status = AUDIT_UNAUTHORIZED, .op = as, .key = key, .user = c->user });
    if (key.at == NULL)
        kms_refuse(c, KMS_F_AUTHORIZATION, "User:%.*s not allowed to do '%s'", FL_SLICE_ARGS(c->user_short),
                   audit_op_name(as));
    else
        kms_refuse(c, KMS_F_AUTHORIZATION, "User:%.*s not allowed to do '%s' on '%.*s'", FL_SLICE_ARGS(c->user_short),
                   audit_op_name(as), FL_SLICE_ARGS(key));
    return false;
}

/* ---- level 2: keys ----------------------------------------------------------------------------------------------- */

static void note_trail(struct kms_call *c, struct fl_slice acl_name, enum acl_key_op op, unsigned trail)
{
    const enum acl_key_op order[] = { op, ACL_KEY_ALL };

    for (size_t i = 0; i < FL_COUNT(order); i++)
        if (trail & 1U << order[i])
            kms_note(c, &(struct kms_note){ .status = AUDIT_UNAUTHORIZED,
                                            .op = AUDIT_LEVEL2,
                                            .level2_op = acl_key_op_name(order[i]),
                                            .key = acl_name,
                                            .user = c->user });
}

enum kms_access kms_could_key(struct kms_call *c, struct fl_slice acl_name, enum acl_key_op op)
{
    const struct acl_set *acls = acls_current(c->kms->acls);
    struct acl_who        asking = who(c);
    unsigned              trail = 0;
    enum acl_answer       answer;

    if (!c->kms->config.key_authorization)
        return KMS_YES;
    answer = acl_key_allows_who(acls, acl_name, op, &asking, &trail);
    if (answer == ACL_NEEDS_GROUPS) {
        if (!kms_need_groups(c, c->user_short))
            return KMS_GONE;
        asking = who(c);
        trail = 0;
        answer = acl_key_allows_who(acls, acl_name, op, &asking, &trail);
    }
    note_trail(c, acl_name, op, trail);
    return answer == ACL_YES ? KMS_YES : KMS_NO;
}

struct fl_slice kms_acl_name(const struct key *key, struct fl_slice name)
{
    for (size_t i = 0; i < key->attribute_count; i++)
        if (fl_slice_equal(key->attributes[i].name, FL_LIT("key.acl.name")))
            return key->attributes[i].value;
    return name;
}

bool kms_may_key(struct kms_call *c, const struct key *key, struct fl_slice name, enum acl_key_op op)
{
    struct fl_slice acl_name;
    enum kms_access access;

    if (key == NULL)
        return true;
    acl_name = kms_acl_name(key, name);
    access = kms_could_key(c, acl_name, op);
    if (access == KMS_NO)
        kms_refuse(c, KMS_F_AUTHORIZATION,
                   "User [%.*s] is not authorized to perform [%s] on key with ACL name [%.*s]!!",
                   FL_SLICE_ARGS(c->user_short), acl_key_op_name(op), FL_SLICE_ARGS(acl_name));
    return access == KMS_YES;
}
