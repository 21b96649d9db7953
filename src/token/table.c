#include "token/table.h"

#include "base/rcu.h"
#include "token/identifier.h"

#include <assert.h>

#define DEAD SLAB_FREE

struct token_entry {
    struct slab_head     head; /* mark: the renew date, or DEAD; number: the sequence number */
    struct cds_lfht_node node;
    struct rcu_head      rcu;
    uint16_t             identifier_len;
    uint8_t              password_len;
    uint8_t              bytes[]; /* identifier, password */
};
_Static_assert(TOKEN_IDENTIFIER_MAX <= UINT16_MAX && TOKEN_PASSWORD_MAX <= UINT8_MAX, "lengths fit");

struct token_table {
    struct cds_lfht    *nodes;
    struct token_slabs *slabs;
    _Atomic uint64_t    live;
    uint64_t            fitted; /* buckets that token_table_fit has made */
};

enum { FIRST_BUCKETS = 1024 };

struct token_table *token_table_new(void)
{
    struct token_table *t = calloc(1, sizeof *t);

    if (t == NULL)
        return NULL;
    t->fitted = FIRST_BUCKETS;
    t->slabs = token_slabs_new();
    t->nodes = cds_lfht_new(FIRST_BUCKETS, FIRST_BUCKETS, 0, CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING, NULL);
    if (t->slabs != NULL && t->nodes != NULL)
        return t;
    token_table_free(t);
    return NULL;
}

static void remove_all(struct token_table *t)
{
    struct cds_lfht_iter  i;
    struct cds_lfht_node *n;

    for (cds_lfht_first(t->nodes, &i); (n = cds_lfht_iter_get_node(&i)) != NULL; cds_lfht_next(t->nodes, &i))
        cds_lfht_del(t->nodes, n); /* their memory goes with the slabs */
}

void token_table_free(struct token_table *t)
{
    if (t == NULL)
        return;
    if (t->nodes != NULL) {
        remove_all(t);
        fl_rcu_offline();
        fl_rcu_barrier(); /* entries removed before are given back to the slabs */
        cds_lfht_destroy(t->nodes, NULL);
        fl_rcu_online();
    }
    token_slabs_free(t->slabs);
    free(t);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

struct token_entry *token_entry_new(struct token_table *t, struct fl_slice identifier, size_t password_len,
                                    int32_t number, int64_t renew_ms)
{
    struct token_entry *e;

    assert(identifier.len <= TOKEN_IDENTIFIER_MAX && password_len <= TOKEN_PASSWORD_MAX);
    e = token_slab_take(t->slabs, offsetof(struct token_entry, bytes) + identifier.len + password_len);
    if (e == NULL)
        return NULL;
    e->identifier_len = (uint16_t)identifier.len;
    e->password_len = (uint8_t)password_len;
    if (identifier.len > 0)
        memcpy(e->bytes, identifier.at, identifier.len);
    atomic_store_explicit(&e->head.number, number, memory_order_relaxed);
    atomic_store_explicit(&e->head.mark, renew_ms == DEAD ? DEAD + 1 : renew_ms, memory_order_release);
    return e;
}

void token_entry_discard(struct token_entry *e)
{
    if (e != NULL)
        token_slab_give(e);
}

struct fl_slice token_entry_identifier(const struct token_entry *e)
{
    return fl_slice_of(e->bytes, e->identifier_len);
}

struct fl_slice token_entry_password(const struct token_entry *e)
{
    return fl_slice_of(e->bytes + e->identifier_len, e->password_len);
}

uint8_t *token_entry_password_room(struct token_entry *e)
{
    return e->bytes + e->identifier_len;
}

int64_t token_entry_renew_ms(const struct token_entry *e)
{
    return atomic_load_explicit(&e->head.mark, memory_order_acquire);
}

static void free_entry(struct rcu_head *head)
{
    token_slab_give(FL_CONTAINER(head, struct token_entry, rcu));
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Numbers are given out one after another, so as they are they spread evenly over the buckets. */
static unsigned long hash_of(int32_t number)
{
    return (unsigned long)(uint32_t)number;
}

static int has_number(struct cds_lfht_node *node, const void *number)
{
    const struct token_entry *e = FL_CONTAINER(node, struct token_entry, node);

    fl_rcu_told_acquire_(e);
    return atomic_load_explicit(&e->head.number, memory_order_relaxed) == *(const int32_t *)number;
}

enum fl_status token_table_add(struct token_table *t, struct token_entry *e)
{
    int32_t               number = atomic_load_explicit(&e->head.number, memory_order_relaxed);
    struct cds_lfht_node *there;

    cds_lfht_node_init(&e->node);
    fl_rcu_told_release_(e);
    there = cds_lfht_add_unique(t->nodes, hash_of(number), has_number, &number, &e->node);
    if (there != &e->node)
        return FL_EXISTS;
    atomic_fetch_add_explicit(&t->live, 1, memory_order_relaxed);
    return FL_OK;
}

struct token_entry *token_table_at(struct token_table *t, int32_t number)
{
    struct cds_lfht_iter  i;
    struct cds_lfht_node *n;

    cds_lfht_lookup(t->nodes, hash_of(number), has_number, &number, &i);
    n = cds_lfht_iter_get_node(&i);
    return n == NULL ? NULL : FL_CONTAINER(n, struct token_entry, node);
}

/* Whoever presents the bytes that were issued pays for one comparison; other bytes may still decode to the same. */
static bool names(const struct token_entry *e, struct fl_slice identifier, const struct token_identifier *fields)
{
    struct token_identifier own;

    return fl_slice_equal(token_entry_identifier(e), identifier) ||
           (token_identifier_get(token_entry_identifier(e), &own, NULL) == FL_OK &&
            token_identifier_same(&own, fields));
}

struct token_entry *token_table_find(struct token_table *t, struct fl_slice identifier,
                                     const struct token_identifier *fields)
{
    struct token_entry *e = token_table_at(t, fields->sequence);

    return e != NULL && token_entry_renew_ms(e) != DEAD && names(e, identifier, fields) ? e : NULL;
}

/* Sets the renew date; false when the entry was dead, as it then stays. */
static bool turn(struct token_entry *e, int64_t to)
{
    int64_t now = token_entry_renew_ms(e);

    while (now != DEAD)
        if (atomic_compare_exchange_weak(&e->head.mark, &now, to))
            return true;
    return false;
}

enum fl_status token_table_renew(struct token_entry *e, int64_t renew_ms)
{
    return turn(e, renew_ms == DEAD ? DEAD + 1 : renew_ms) ? FL_OK : FL_NOT_FOUND;
}

static void unlink_dead(struct token_table *t, struct token_entry *e)
{
    if (cds_lfht_del(t->nodes, &e->node) == 0) {
        atomic_fetch_sub_explicit(&t->live, 1, memory_order_relaxed);
        fl_rcu_free(&e->rcu, free_entry);
    }
}

enum fl_status token_table_remove(struct token_table *t, struct token_entry *e)
{
    if (!turn(e, DEAD))
        return FL_NOT_FOUND;
    unlink_dead(t, e);
    return FL_OK;
}

enum fl_status token_table_expire(struct token_table *t, int32_t number, int64_t before_ms)
{
    struct token_entry *e = token_table_at(t, number);
    int64_t             now = e == NULL ? DEAD : token_entry_renew_ms(e);

    while (now != DEAD) {
        if (now >= before_ms)
            return FL_EXISTS;
        if (atomic_compare_exchange_weak(&e->head.mark, &now, DEAD)) {
            unlink_dead(t, e);
            return FL_OK;
        }
    }
    return FL_NOT_FOUND;
}

size_t token_table_past(struct token_table *t, struct slab_place *place, unsigned slots, int64_t before_ms,
                        int32_t *numbers, size_t room)
{
    return token_slabs_below(t->slabs, place, slots, before_ms, numbers, room);
}

uint64_t token_table_live(const struct token_table *t)
{
    return atomic_load_explicit(&t->live, memory_order_relaxed);
}

/* One to two tokens a bucket, as liburcu does it. */
void token_table_fit(struct token_table *t)
{
    uint64_t wanted = t->fitted;

    while (wanted * 2 <= token_table_live(t))
        wanted *= 2;
    if (wanted == t->fitted)
        return;
    cds_lfht_resize(t->nodes, wanted);
    t->fitted = wanted;
}
