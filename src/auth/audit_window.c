/* Aggregation of the five busy operations (7.6), as KMSAudit of 3.4.3 does it:
 *   - the first event of (user, key, op) is written at once, with accessCount=1 and interval=0ms;
 *   - later ones are counted; at the end of the window a summary is written, whose count includes the first, and whose
 *     interval is the time since that first event;
 *   - after a summary the triple stays for another window, counting from 0 and writing nothing at once; only a window
 *     without any event ends it. So a steady load writes one line a window, with a growing interval;
 *   - UNAUTHORIZED writes the summary before its own line; the triple stays then, too.
 * (Java tells an event that itself meets an ended window apart from the next count. Here only the clock ends windows.) */
#include "auth/audit_inside.h"

#include "auth/strmap.h"

enum { TABLE_START = 256 };

struct window {
    struct window     *next_hash;
    struct window     *prev, *next; /* by the time of their end, the nearest first */
    uint64_t           hash, ends_ns;
    int64_t            first_wall_ms;
    uint64_t           count;
    struct audit_event event; /* the first one; its fields are kept behind */
};

struct audit_windows {
    uint64_t           window_ns;
    size_t             most, count, cap;
    struct window    **table;
    struct window      ring; /* head of the list; only prev and next are used */
    struct audit_stamp stamp;
};

struct audit_windows *audit_windows_new(uint64_t window_ns, size_t most)
{
    struct audit_windows *w = calloc(1, sizeof *w);

    if (w == NULL || (w->table = calloc(TABLE_START, sizeof *w->table)) == NULL) {
        free(w);
        return NULL;
    }
    w->cap = TABLE_START;
    w->window_ns = window_ns;
    w->most = most;
    w->ring.prev = w->ring.next = &w->ring;
    return w;
}

void audit_windows_free(struct audit_windows *w)
{
    if (w == NULL)
        return;
    for (struct window *x = w->ring.next, *next; x != &w->ring; x = next) {
        next = x->next;
        free(x);
    }
    free(w->table);
    free(w);
}

size_t audit_windows_open(const struct audit_windows *w)
{
    return w->count;
}

/* ---- the table and the list -------------------------------------------------------------------------------------- */

static void link_last(struct audit_windows *w, struct window *x)
{
    x->prev = w->ring.prev;
    x->next = &w->ring;
    x->prev->next = x->next->prev = x;
}

static void unlink_window(struct window *x)
{
    x->prev->next = x->next;
    x->next->prev = x->prev;
}

static struct window **slot_of(struct audit_windows *w, uint64_t hash, const struct audit_event *e)
{
    struct window **at = &w->table[hash & (w->cap - 1)];

    while (*at != NULL && !((*at)->hash == hash && (*at)->event.op == e->op &&
                            fl_slice_equal((*at)->event.key, e->key) && fl_slice_equal((*at)->event.user, e->user)))
        at = &(*at)->next_hash;
    return at;
}

/* Without memory the chains just grow longer. */
static void grow(struct audit_windows *w)
{
    size_t          cap = w->cap * 2;
    struct window **table = calloc(cap, sizeof *table);

    if (table == NULL)
        return;
    for (struct window *x = w->ring.next; x != &w->ring; x = x->next) {
        x->next_hash = table[x->hash & (cap - 1)];
        table[x->hash & (cap - 1)] = x;
    }
    free(w->table);
    w->table = table;
    w->cap = cap;
}

static void drop(struct audit_windows *w, struct window *x)
{
    *slot_of(w, x->hash, &x->event) = x->next_hash;
    unlink_window(x);
    w->count--;
    free(x);
}

static struct fl_slice keep(uint8_t **at, struct fl_slice s)
{
    struct fl_slice kept = fl_slice_of(*at, s.len);

    if (s.len > 0)
        memcpy(*at, s.at, s.len);
    *at += s.len;
    return kept;
}

static struct window *open_window(struct audit_windows *w, uint64_t hash, const struct audit_event *e, uint64_t now_ns)
{
    struct window *x = calloc(1, sizeof *x + e->key.len + e->user.len + e->text.len);
    uint8_t       *at;

    if (x == NULL)
        return NULL;
    at = (uint8_t *)(x + 1);
    x->hash = hash;
    x->ends_ns = now_ns + w->window_ns;
    x->first_wall_ms = e->wall_ms;
    x->count = 1;
    x->event = *e;
    x->event.level2 = fl_slice_of(NULL, 0);
    x->event.key = keep(&at, e->key);
    x->event.user = keep(&at, e->user);
    x->event.text = keep(&at, e->text);
    if (w->count >= w->cap)
        grow(w);
    x->next_hash = w->table[hash & (w->cap - 1)];
    w->table[hash & (w->cap - 1)] = x;
    link_last(w, x);
    w->count++;
    return x;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static bool aggregated(const struct audit_event *e)
{
    return (e->op == AUDIT_GET_KEY_VERSION || e->op == AUDIT_GET_CURRENT_KEY || e->op == AUDIT_DECRYPT_EEK ||
            e->op == AUDIT_GENERATE_EEK || e->op == AUDIT_REENCRYPT_EEK) &&
           (e->status == AUDIT_OK || e->status == AUDIT_UNAUTHORIZED) && e->key.len > 0 && e->user.len > 0;
}

static unsigned plain_line(struct audit_windows *w, const struct audit_event *e, struct fl_buf *out)
{
    return audit_line_put(out, &w->stamp, e->wall_ms, e, NULL);
}

/* A window with nothing to tell just ends; else it tells, and stays for another. */
static unsigned end_window(struct audit_windows *w, struct window *x, uint64_t now_ns, int64_t now_wall_ms,
                           struct fl_buf *out)
{
    struct audit_count counted = { x->count, now_wall_ms - x->first_wall_ms };

    if (x->count == 0) {
        drop(w, x);
        return 0;
    }
    x->count = 0;
    x->ends_ns = now_ns + w->window_ns;
    unlink_window(x);
    link_last(w, x);
    return audit_line_put(out, &w->stamp, now_wall_ms, &x->event, &counted);
}

/* The table is full: the window that ends next is told early and for good. */
static unsigned make_place(struct audit_windows *w, uint64_t now_ns, int64_t now_wall_ms, struct fl_buf *out)
{
    struct window *x = w->ring.next;
    unsigned       lines = 0;

    if (w->count < w->most)
        return 0;
    if (x->count > 0)
        lines = end_window(w, x, now_ns, now_wall_ms, out);
    drop(w, x);
    return lines;
}

static uint64_t hash_of(const struct audit_event *e)
{
    return auth_strmap_hash((uint32_t)auth_strmap_hash(e->op, e->key), e->user);
}

unsigned audit_windows_event(struct audit_windows *w, const struct audit_event *e, uint64_t now_ns, int64_t now_wall_ms,
                             struct fl_buf *out)
{
    struct audit_count once = { 1, 0 };
    uint64_t           hash;
    struct window     *x;
    unsigned           lines;

    if (!aggregated(e))
        return plain_line(w, e, out);
    hash = hash_of(e);
    x = *slot_of(w, hash, e);
    if (e->status == AUDIT_UNAUTHORIZED) {
        lines = x == NULL ? 0 : end_window(w, x, now_ns, now_wall_ms, out);
        return lines + plain_line(w, e, out);
    }
    if (x != NULL) {
        x->count++;
        return 0;
    }
    lines = make_place(w, now_ns, now_wall_ms, out);
    if (open_window(w, hash, e, now_ns) == NULL)
        return lines + plain_line(w, e, out); /* no memory to count: each is told, none is lost */
    return lines + audit_line_put(out, &w->stamp, e->wall_ms, e, &once);
}

unsigned audit_windows_expire(struct audit_windows *w, uint64_t now_ns, int64_t now_wall_ms, size_t enough,
                              struct fl_buf *out, bool *more)
{
    unsigned       lines = 0;
    struct window *next;

    *more = false;
    for (struct window *x = w->ring.next; x != &w->ring && x->ends_ns <= now_ns; x = next) {
        if (fl_buf_len(out) >= enough) {
            *more = true;
            break;
        }
        next = x->next;
        lines += end_window(w, x, now_ns, now_wall_ms, out);
    }
    return lines;
}
