#include "auth/groups_inside.h"

#include <assert.h>
#include <stdatomic.h>

#include "auth/strmap.h"
#include "base/clock.h"
#include "base/rcu.h"

#define PRESENT_NS (300 * FL_NS_PER_S)
#define ABSENT_NS (30 * FL_NS_PER_S)
#define FAILED_NS FL_NS_PER_S /* long enough that a burst asks once */

enum {
    MOST_ENTRIES = 10000,
    BUCKETS = 4096,     /* of the table; fixed, so that no resizing thread is needed */
    LONGEST_NAME = 256, /* longer ones are no system's users */
    SIDE_BUCKETS = 64,
    LONGEST_LIST = 4 * 1024 * 1024
};

/* One user, immutable but for the mark; with the names in one piece of memory. */
struct entry {
    struct rcu_head        rcu;
    struct cds_lfht_node   node;
    struct fl_slice        user;
    uint64_t               kept_ns; /* how long; the two times below come when it is published */
    uint64_t               refresh_ns, expires_ns;
    atomic_bool            refreshing; /* one look-up ahead is enough */
    bool                   failed;     /* instead of a list: the look-up told nothing */
    struct auth_group_list list;
};

/* A look-up on its way. Belongs to the reactor; the worker sees source, user and made. */
struct job {
    struct io_work          work;
    struct job             *next;
    struct auth_groups     *g;
    groups_source           source;
    unsigned long           hash;
    struct auth_group_wait *first, **last;
    struct entry           *made, *absent; /* absent: made before, so that a look-up always has an outcome */
    bool                    failed;
    struct fl_slice         user; /* with a NUL behind it */
};

struct side { /* one a reactor */
    struct job *in_flight[SIDE_BUCKETS];
};

struct auth_groups {
    struct cds_lfht *table;
    groups_source    source;
    size_t           most;
    atomic_size_t    count;
    unsigned         reactors;
    struct side      sides[];
};

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static struct entry *entry_of_node(struct cds_lfht_node *node)
{
    struct entry *e = FL_CONTAINER(node, struct entry, node);

    fl_rcu_told_acquire_(e); /* what follows was published with it; the table's own code is invisible to TSan */
    return e;
}

static void free_entry_rcu(struct rcu_head *head)
{
    free(FL_CONTAINER(head, struct entry, rcu));
}

/* names: count NUL-terminated ones in a row. */
static struct entry *new_entry(struct fl_slice user, struct fl_slice names, size_t count, uint64_t kept_ns)
{
    size_t        pointers = count * sizeof(char *);
    struct entry *e = calloc(1, sizeof *e + pointers + names.len + user.len);
    const char  **name;
    char         *text;

    assert((names.len == 0 || names.at != NULL) && (user.len == 0 || user.at != NULL));
    if (e == NULL)
        return NULL;
    name = (const char **)(e + 1);
    text = (char *)(name + count);
    if (names.len > 0)
        memcpy(text, names.at, names.len);
    if (user.len > 0)
        memcpy(text + names.len, user.at, user.len);
    e->user = fl_slice_of(text + names.len, user.len);
    e->list = (struct auth_group_list){ name, count };
    e->kept_ns = kept_ns;
    for (size_t i = 0; i < count; i++, text += strlen(text) + 1)
        name[i] = text;
    return e;
}

static int is_user(struct cds_lfht_node *node, const void *user)
{
    return fl_slice_equal(entry_of_node(node)->user, *(const struct fl_slice *)user);
}

static struct entry *find(struct auth_groups *g, unsigned long hash, struct fl_slice user)
{
    struct cds_lfht_iter  iter;
    struct cds_lfht_node *node;

    cds_lfht_lookup(g->table, hash, is_user, &user, &iter);
    node = cds_lfht_iter_get_node(&iter);
    return node == NULL ? NULL : entry_of_node(node);
}

/* ---- keeping and evicting ---------------------------------------------------------------------------------------- */

static void drop(struct auth_groups *g, struct entry *e)
{
    if (cds_lfht_del(g->table, &e->node) != 0)
        return; /* another reactor was faster */
    atomic_fetch_sub_explicit(&g->count, 1, memory_order_relaxed);
    fl_rcu_free(&e->rcu, free_entry_rcu);
}

/* Takes out what is expired at now, and then as many others as it takes to leave room for a while: one walk then pays
 * for many newcomers. keep stays. */
static void evict(struct auth_groups *g, uint64_t now_ns, const struct entry *keep)
{
    size_t target = g->most - g->most / 16;

    for (int round = 0; round < 2; round++) {
        struct cds_lfht_iter  iter;
        struct cds_lfht_node *node;

        cds_lfht_first(g->table, &iter);
        while ((node = cds_lfht_iter_get_node(&iter)) != NULL &&
               atomic_load_explicit(&g->count, memory_order_relaxed) > target) {
            struct entry *e = entry_of_node(node);

            cds_lfht_next(g->table, &iter);
            if (e != keep && (round == 1 || now_ns >= e->expires_ns))
                drop(g, e);
        }
        if (atomic_load_explicit(&g->count, memory_order_relaxed) <= g->most)
            return;
    }
}

static void publish(struct auth_groups *g, unsigned long hash, struct entry *e, uint64_t now_ns)
{
    struct cds_lfht_node *old;

    e->expires_ns = now_ns + e->kept_ns;
    e->refresh_ns = now_ns + e->kept_ns / 4 * 3;
    cds_lfht_node_init(&e->node);
    fl_rcu_told_release_(e);
    old = cds_lfht_add_replace(g->table, hash, is_user, &e->user, &e->node);
    if (old != NULL)
        fl_rcu_free(&entry_of_node(old)->rcu, free_entry_rcu);
    else if (atomic_fetch_add_explicit(&g->count, 1, memory_order_relaxed) + 1 > g->most)
        evict(g, now_ns, e);
}

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

static struct job **bucket_of(struct auth_groups *g, struct io_reactor *r, unsigned long hash)
{
    return &g->sides[io_reactor_index(r)].in_flight[hash % SIDE_BUCKETS];
}

static void free_job(struct job *j)
{
    if (j == NULL)
        return;
    free(j->made);
    free(j->absent);
    free(j);
}

static void run(struct io_work *w)
{
    struct job         *j = FL_CONTAINER(w, struct job, work);
    struct groups_found found = { 0 };

    fl_buf_init(&found.names, LONGEST_LIST);
    if (j->user.len > 0 && j->user.len <= LONGEST_NAME && fl_slice_find(j->user, '\0') == SIZE_MAX)
        j->source((const char *)j->user.at, &found);
    j->failed = found.failed;
    if (found.present && !found.failed) {
        j->made = new_entry(j->user, fl_buf_slice(&found.names), found.count, PRESENT_NS);
        j->failed = j->made == NULL;
    }
    fl_buf_done(&found.names);
}

/* A source that failed must not take groups away while the last list is good. */
static void settle(struct job *j, uint64_t now_ns)
{
    const struct entry *old = j->failed ? find(j->g, j->hash, j->user) : NULL;

    if (old != NULL && now_ns < old->expires_ns)
        return;
    if (j->made == NULL) {
        j->made = FL_TAKE(j->absent);
        j->made->failed = j->failed;
        j->made->kept_ns = j->failed ? FAILED_NS : ABSENT_NS;
    }
    publish(j->g, j->hash, FL_TAKE(j->made), now_ns);
}

static void done(struct io_work *w)
{
    struct job             *j = FL_CONTAINER(w, struct job, work);
    struct auth_group_wait *wait = j->first, *next;
    struct job            **at = bucket_of(j->g, w->home, j->hash);

    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    settle(j, io_now_ns(w->home));
    free_job(j);
    for (; wait != NULL; wait = next) { /* last: a waiter may start the next look-up, or give up its memory */
        next = wait->next;
        wait->done(wait);
    }
}

static struct job *new_job(struct auth_groups *g, unsigned long hash, struct fl_slice user)
{
    struct job *j = calloc(1, sizeof *j + user.len + 1);

    if (j == NULL || (j->absent = new_entry(user, fl_slice_of(NULL, 0), 0, ABSENT_NS)) == NULL) {
        free_job(j);
        return NULL;
    }
    if (user.len > 0)
        memcpy(j + 1, user.at, user.len);
    j->user = fl_slice_of(j + 1, user.len);
    j->g = g;
    j->source = g->source;
    j->hash = hash;
    j->last = &j->first;
    j->work.run = run;
    j->work.done = done;
    return j;
}

/* w NULL: nobody waits, it is a look-up ahead. */
static enum fl_status look_up(struct auth_groups *g, struct io_reactor *r, unsigned long hash, struct fl_slice user,
                              struct auth_group_wait *w, struct fl_error *err)
{
    struct job   **bucket = bucket_of(g, r, hash), *j = *bucket;
    enum fl_status s;

    while (j != NULL && !fl_slice_equal(j->user, user))
        j = j->next;
    if (j == NULL) {
        j = new_job(g, hash, user);
        if (j == NULL)
            return fl_fail(err, FL_NO_MEMORY, 0, "no memory to look up a user's groups");
        s = io_work_submit(r, &j->work, err);
        if (s != FL_OK) {
            free_job(j);
            return s;
        }
        j->next = *bucket;
        *bucket = j;
    }
    if (w != NULL) {
        w->next = NULL;
        *j->last = w;
        j->last = &w->next;
    }
    return FL_OK;
}

enum fl_status auth_groups_fetch(struct auth_groups *g, struct io_reactor *r, struct fl_slice user,
                                 struct auth_group_wait *w, struct fl_error *err)
{
    return look_up(g, r, auth_strmap_hash(0, user), user, w, err);
}

/* The old list serves on while the look-up ahead is under way, and is kept if it can't be started. */
static void refresh_ahead(struct auth_groups *g, unsigned long hash, struct entry *e)
{
    struct io_reactor *r = io_reactor_here();

    if (r == NULL || atomic_exchange_explicit(&e->refreshing, true, memory_order_relaxed))
        return;
    if (look_up(g, r, hash, e->user, NULL, NULL) != FL_OK)
        atomic_store_explicit(&e->refreshing, false, memory_order_relaxed);
}

enum fl_status auth_groups_cached(struct auth_groups *g, struct fl_slice user, uint64_t now_ns,
                                  struct auth_group_list *out)
{
    unsigned long hash = auth_strmap_hash(0, user);
    struct entry *e = find(g, hash, user);

    if (e == NULL || now_ns >= e->expires_ns)
        return FL_PENDING;
    if (e->failed)
        return FL_SYSTEM;
    if (now_ns >= e->refresh_ns && !atomic_load_explicit(&e->refreshing, memory_order_relaxed))
        refresh_ahead(g, hash, e);
    *out = e->list;
    return FL_OK;
}

/* ---- the object -------------------------------------------------------------------------------------------------- */

enum fl_status groups_new_with(struct auth_groups **out, struct io_reactors *rs, groups_source source,
                               size_t most_entries, struct fl_error *err)
{
    unsigned            reactors = io_reactors_count(rs);
    struct auth_groups *g = calloc(1, sizeof *g + reactors * sizeof g->sides[0]);

    if (g == NULL || (g->table = cds_lfht_new(BUCKETS, BUCKETS, BUCKETS, 0, NULL)) == NULL) {
        free(g);
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the groups of users");
    }
    g->source = source;
    g->most = most_entries;
    g->reactors = reactors;
    *out = g;
    return FL_OK;
}

enum fl_status auth_groups_new(struct auth_groups **out, struct io_reactors *rs, struct fl_error *err)
{
    return groups_new_with(out, rs, groups_from_nss, MOST_ENTRIES, err);
}

size_t groups_entries(const struct auth_groups *g)
{
    return atomic_load_explicit(&g->count, memory_order_relaxed);
}

/* No reactor and no worker runs any more, so there is nobody to wait for. */
void auth_groups_free(struct auth_groups *g)
{
    struct cds_lfht_iter  iter;
    struct cds_lfht_node *node;

    if (g == NULL)
        return;
    cds_lfht_first(g->table, &iter);
    while ((node = cds_lfht_iter_get_node(&iter)) != NULL) {
        struct entry *e = entry_of_node(node);

        cds_lfht_next(g->table, &iter);
        cds_lfht_del(g->table, node);
        free(e);
    }
    FL_IGNORE(cds_lfht_destroy(g->table, NULL)); /* fails only for a table that isn't empty */
    for (unsigned i = 0; i < g->reactors; i++)
        for (unsigned b = 0; b < SIDE_BUCKETS; b++)
            while (g->sides[i].in_flight[b] != NULL) {
                struct job *j = g->sides[i].in_flight[b];

                g->sides[i].in_flight[b] = j->next;
                free_job(j);
            }
    free(g);
}
