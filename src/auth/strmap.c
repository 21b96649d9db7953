#include "auth/strmap.h"

#include <stdlib.h>

uint64_t auth_strmap_hash(uint32_t tag, struct fl_slice name)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) ^ tag * UINT64_C(0x9e3779b97f4a7c15); /* FNV-1a, started by the tag */

    for (size_t i = 0; i < name.len; i++)
        h = (h ^ name.at[i]) * UINT64_C(0x100000001b3);
    h ^= h >> 32;
    return h == 0 ? 1 : h;
}

/* The slot that has the name, or the free one where it belongs. There is always a free one. */
static struct auth_strmap_slot *slot_for(struct auth_strmap_slot *slots, size_t cap, uint64_t hash, uint32_t tag,
                                         struct fl_slice name)
{
    for (size_t i = hash & (cap - 1);; i = (i + 1) & (cap - 1)) {
        struct auth_strmap_slot *s = &slots[i];

        if (s->hash == 0 || (s->hash == hash && s->tag == tag && fl_slice_equal(s->name, name)))
            return s;
    }
}

static bool grow(struct auth_strmap *m)
{
    size_t                   cap = m->cap == 0 ? 16 : m->cap * 2;
    struct auth_strmap_slot *slots = calloc(cap, sizeof *slots);

    if (slots == NULL)
        return false;
    for (size_t i = 0; i < m->cap; i++) {
        const struct auth_strmap_slot *old = &m->slots[i];

        if (old->hash != 0)
            *slot_for(slots, cap, old->hash, old->tag, old->name) = *old;
    }
    free(m->slots);
    m->slots = slots;
    m->cap = cap;
    return true;
}

void auth_strmap_done(struct auth_strmap *m)
{
    free(m->slots);
    *m = (struct auth_strmap){ 0 };
}

bool auth_strmap_put(struct auth_strmap *m, uint32_t tag, struct fl_slice name, uint32_t value)
{
    uint64_t                 hash = auth_strmap_hash(tag, name);
    struct auth_strmap_slot *s;

    if (m->used * 2 >= m->cap && !grow(m))
        return false;
    s = slot_for(m->slots, m->cap, hash, tag, name);
    m->used += s->hash == 0;
    *s = (struct auth_strmap_slot){ hash, name, tag, value };
    return true;
}

bool auth_strmap_get(const struct auth_strmap *m, uint32_t tag, struct fl_slice name, uint32_t *value)
{
    const struct auth_strmap_slot *s;

    if (m->used == 0)
        return false;
    s = slot_for(m->slots, m->cap, auth_strmap_hash(tag, name), tag, name);
    if (s->hash == 0)
        return false;
    *value = s->value;
    return true;
}
