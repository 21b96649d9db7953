/* http/service.c - a service, its places on the reactors, and their pools of exchanges. */
#include "http/inside.h"

#include "base/clock.h"

enum {
    ARENA_BLOCK = 8 * 1024,
    POOL_MAX = 64,         /* free exchanges that a reactor keeps */
    ARENA_BASE = 16 << 20, /* what an arena may hold beside four times the largest body */
};

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value == 0 ? otherwise : value;
}

static struct http_limits complete(const struct http_limits *l)
{
    static const struct http_limits none;
    uint64_t                        body_bytes;

    if (l == NULL)
        l = &none;
    body_bytes = or_default(l->body_bytes, (uint64_t)32 << 20);
    return (struct http_limits){
        .head_bytes = or_default(l->head_bytes, 64 * 1024),
        .header_count = or_default(l->header_count, 100),
        .body_bytes = body_bytes,
        .answers_bytes = or_default(l->answers_bytes, (uint64_t)256 << 20),
        .bodies_bytes = or_default(l->bodies_bytes, FL_MAX(8 * body_bytes, (uint64_t)64 << 20)),
        .head_ns = or_default(l->head_ns, 10 * FL_NS_PER_S),
        .body_ns = or_default(l->body_ns, 20 * FL_NS_PER_S),
        .idle_ns = or_default(l->idle_ns, 60 * FL_NS_PER_S),
        .requests_per_turn = (unsigned)or_default(l->requests_per_turn, 16),
    };
}

enum fl_status http_service_new(struct http_service **out, const struct http_limits *limits, http_handler handler,
                                void *owner, struct fl_error *err)
{
    struct http_service *s = calloc(1, sizeof *s);

    if (s == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for an HTTP service");
    s->limits = complete(limits);
    s->handler = handler;
    s->owner = owner;
    *out = s;
    return FL_OK;
}

static void free_exchange(struct http_exchange *x)
{
    fl_arena_done(&x->arena);
    fl_buf_done(&x->kept);
    fl_buf_done(&x->body);
    free(x);
}

void http_service_free(struct http_service *s)
{
    struct http_place    *place, *next_place;
    struct http_exchange *x, *next;

    if (s == NULL)
        return;
    for (place = atomic_load(&s->places); place != NULL; place = next_place) {
        next_place = place->next;
        for (x = place->free; x != NULL; x = next) {
            next = x->next_free;
            free_exchange(x);
        }
        free(place);
    }
    free(s);
}

/* Asked once a connection; the list is as long as there are reactors and only grows. */
struct http_place *http_place_of(struct http_service *s, struct io_reactor *r)
{
    struct http_place *place = atomic_load_explicit(&s->places, memory_order_acquire);

    while (place != NULL && place->reactor != r)
        place = place->next;
    if (place != NULL || (place = calloc(1, sizeof *place)) == NULL)
        return place;
    place->service = s;
    place->reactor = r;
    place->next = atomic_load_explicit(&s->places, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&s->places, &place->next, place, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return place;
}

static struct http_exchange *new_exchange(const struct http_limits *l)
{
    struct http_exchange *x = calloc(1, sizeof *x + l->header_count * sizeof x->headers[0]);

    if (x == NULL)
        return NULL;
    fl_arena_init(&x->arena, ARENA_BLOCK, ARENA_BASE + 4 * l->body_bytes);
    fl_buf_init(&x->body, l->body_bytes);
    fl_buf_init(&x->kept, 0);
    return x;
}

struct http_exchange *http_exchange_take(struct http_conn *h)
{
    struct http_place    *place = h->place;
    struct http_exchange *x = place->free;

    if (x != NULL) {
        place->free = x->next_free;
        place->free_count--;
    } else if ((x = new_exchange(&place->service->limits)) == NULL) {
        return NULL;
    }
    x->conn = h;
    x->request.headers = x->headers;
    x->answered = x->parked = false;
    x->in_use = 0;
    h->x = x;
    h->serial++;
    return x;
}

void http_exchange_give(struct http_exchange *x)
{
    struct http_place *place = x->conn->place;

    if (x->parked)
        HTTP_COUNT(place, parked, (uint64_t)-1);
    x->conn->x = NULL;
    fl_arena_reset(&x->arena);
    if (x->kept.data != NULL)
        fl_buf_done(&x->kept);
    if (x->body.cap > HTTP_BODY_KEPT)
        fl_buf_done(&x->body);
    fl_buf_clear(&x->body);
    if (x->charged > 0)
        atomic_fetch_sub_explicit(&place->service->bodies, x->charged, memory_order_relaxed);
    x->charged = 0;
    if (place->free_count >= POOL_MAX) {
        free_exchange(x);
        return;
    }
    x->next_free = place->free;
    place->free = x;
    place->free_count++;
}

/* What the buffer holds counts, not what came: that is what the machine runs out of. Small bodies aren't counted, so
 * that they pass when big ones don't, and touch nothing that reactors share. */
bool http_body_charge(struct http_exchange *x)
{
    struct http_service *s = x->conn->place->service;
    size_t               more = x->body.cap > HTTP_BODY_KEPT ? x->body.cap - x->charged : 0;

    if (more == 0)
        return true;
    x->charged += more;
    return atomic_fetch_add_explicit(&s->bodies, more, memory_order_relaxed) + more <= s->limits.bodies_bytes;
}

void http_service_stats(const struct http_service *s, struct http_stats *out)
{
    *out = (struct http_stats){ 0 };
    for (struct http_place *p = atomic_load_explicit(&s->places, memory_order_acquire); p != NULL; p = p->next) {
        out->requests += atomic_load_explicit(&p->requests, memory_order_relaxed);
        out->refused += atomic_load_explicit(&p->refused, memory_order_relaxed);
        out->parked += atomic_load_explicit(&p->parked, memory_order_relaxed);
    }
}
