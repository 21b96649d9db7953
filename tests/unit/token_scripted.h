/* token_scripted.h - a manager over the scripted store, on fake reactors.
 *
 * Owns: one static world, so one test at a time. Thread: the test's.                                                  */
#ifndef TOKEN_SCRIPTED_H
#define TOKEN_SCRIPTED_H

#include "fake_token_store.h"
#include "token_world.h"

struct scripted {
    struct world      w;
    struct fake_store f;
};

static inline struct scripted *start(void)
{
    static struct scripted s;

    world_init(&s.w);
    fake_store_init(&s.f);
    s.w.config.backend = &fake_token_store;
    s.w.config.backend_arg = &s.f;
    world_open(&s.w);
    return &s;
}

static inline void finish(struct scripted *s)
{
    world_close(&s->w);
    assert_int_equal(s->f.opened, 0);
    fake_store_done(&s->f);
}

static inline void deliver(struct scripted *s)
{
    fake_run(&s->w.reactors.at[0]);
}

#endif
