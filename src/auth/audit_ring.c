#include "auth/audit_inside.h"

enum { ALIGN = 8, LEAST_BYTES = 16 * 1024, DEFAULT_BYTES = 1024 * 1024, SKIP = 0xff };

/* In the ring before the bytes of level2, key, user and text. A record never wraps: where it doesn't fit before the end
 * of the ring, a header of status SKIP fills the rest (8 bytes of it are enough for that). */
struct header {
    uint32_t len; /* with the header and padding */
    uint8_t  status, op, cut, level2_len;
    uint16_t key_len, user_len, text_len, unused;
    int64_t  wall_ms;
};

enum fl_status audit_ring_init(struct audit_ring *r, size_t bytes, struct fl_error *err)
{
    size_t cap = LEAST_BYTES;

    bytes = bytes == 0 ? DEFAULT_BYTES : bytes;
    if (bytes > (size_t)1 << 30)
        return fl_fail(err, FL_USAGE, 0, "audit ring of %zu bytes, where at most 1 GiB is allowed", bytes);
    while (cap < bytes)
        cap *= 2;
    r->data = aligned_alloc(64, cap);
    if (r->data == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for an audit ring of %zu bytes", cap);
    r->cap = cap;
    return FL_OK;
}

void audit_ring_done(struct audit_ring *r)
{
    free(r->data);
    r->data = NULL;
}

static struct header *header_at(struct audit_ring *r, size_t position)
{
    return (struct header *)(void *)(r->data + (position & (r->cap - 1)));
}

/* Not in the middle of a UTF-8 character. */
static struct fl_slice cut(struct fl_slice s, size_t most, uint8_t *mark, unsigned bit)
{
    if (s.len <= most)
        return s;
    *mark |= (uint8_t)bit;
    s.len = most;
    for (int back = 0; back < 3 && (s.at[s.len] & 0xc0) == 0x80; back++)
        s.len--;
    return s;
}

static uint8_t *append(uint8_t *to, struct fl_slice s)
{
    if (s.len > 0)
        memcpy(to, s.at, s.len);
    return to + s.len;
}

/* Room for need bytes in a row from *head on, which moves over the end of the ring where that is needed. */
static bool make_room(struct audit_ring *r, size_t *head, size_t need)
{
    size_t to_end = r->cap - (*head & (r->cap - 1));
    size_t all = r->held + (need > to_end ? to_end + need : need);

    if (*head + all - r->known_tail > r->cap) {
        r->known_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (*head + all - r->known_tail > r->cap)
            return false;
    }
    if (need > to_end) {
        struct header *skip = header_at(r, *head);

        skip->len = (uint32_t)to_end;
        skip->status = SKIP;
        *head += to_end;
    }
    return true;
}

/* Twice a record: at the end of the ring up to its length is passed over. */
static size_t hold_of(size_t bytes)
{
    size_t fields = FL_MIN(bytes, (size_t)3 * AUDIT_FIELD_MAX + AUDIT_LEVEL2_MAX);

    return 2 * (sizeof(struct header) + (fields + ALIGN - 1) / ALIGN * ALIGN);
}

bool audit_ring_hold(struct audit_ring *r, size_t bytes)
{
    size_t head = atomic_load_explicit(&r->head, memory_order_relaxed), need = hold_of(bytes);

    if (head + r->held + need - r->known_tail > r->cap) {
        r->known_tail = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (head + r->held + need - r->known_tail > r->cap)
            return false;
    }
    r->held += need;
    return true;
}

void audit_ring_let_go(struct audit_ring *r, size_t bytes)
{
    r->held -= hold_of(bytes);
}

bool audit_ring_put(struct audit_ring *r, const struct audit_event *e)
{
    uint8_t         mark = 0;
    struct fl_slice level2 = fl_slice_of(e->level2.at, FL_MIN(e->level2.len, (size_t)AUDIT_LEVEL2_MAX));
    struct fl_slice key = cut(e->key, AUDIT_FIELD_MAX, &mark, AUDIT_CUT_KEY);
    struct fl_slice user = cut(e->user, AUDIT_FIELD_MAX, &mark, AUDIT_CUT_USER);
    struct fl_slice text = cut(e->text, AUDIT_FIELD_MAX, &mark, AUDIT_CUT_TEXT);
    size_t          need = sizeof(struct header) + level2.len + key.len + user.len + text.len;
    size_t          head = atomic_load_explicit(&r->head, memory_order_relaxed);
    struct header  *h;

    need = (need + ALIGN - 1) / ALIGN * ALIGN;
    if (!make_room(r, &head, need))
        return false;
    h = header_at(r, head);
    *h = (struct header){ (uint32_t)need,    (uint8_t)e->status, (uint8_t)e->op,     mark, (uint8_t)level2.len,
                          (uint16_t)key.len, (uint16_t)user.len, (uint16_t)text.len, 0,    e->wall_ms };
    append(append(append(append((uint8_t *)(h + 1), level2), key), user), text);
    atomic_store_explicit(&r->head, head + need, memory_order_release);
    return true;
}

bool audit_ring_peek(struct audit_ring *r, struct audit_event *out)
{
    size_t               tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    const struct header *h;
    const uint8_t       *at;

    if (tail == atomic_load_explicit(&r->head, memory_order_acquire))
        return false;
    h = header_at(r, tail);
    if (h->status == SKIP) { /* never the last: a record follows it in the same step of head */
        tail += h->len;
        atomic_store_explicit(&r->tail, tail, memory_order_release);
        h = header_at(r, tail);
    }
    at = (const uint8_t *)(h + 1);
    *out = (struct audit_event){ .status = h->status, .op = h->op, .cut = h->cut, .wall_ms = h->wall_ms };
    out->level2 = fl_slice_of(at, h->level2_len);
    out->key = fl_slice_of(at += h->level2_len, h->key_len);
    out->user = fl_slice_of(at += h->key_len, h->user_len);
    out->text = fl_slice_of(at + h->user_len, h->text_len);
    return true;
}

void audit_ring_pop(struct audit_ring *r)
{
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

    atomic_store_explicit(&r->tail, tail + header_at(r, tail)->len, memory_order_release);
}
