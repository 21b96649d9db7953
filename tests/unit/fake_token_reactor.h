/* fake_token_reactor.h - reactors without loops, linked instead of io/: mail waits until the test delivers it, and
 * timers fire when the test turns the clock.
 *
 * Owns: nothing but static state. Thread: io_post any, the rest the test's.                                           */
#ifndef FAKE_TOKEN_REACTOR_H
#define FAKE_TOKEN_REACTOR_H

#include "base/clock.h"
#include "base/rcu.h"
#include "io/io.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct io_reactor {
    unsigned        index;
    pthread_mutex_t lock;
    pthread_cond_t  came;
    struct io_mail *first, **end;
};

enum { FAKE_REACTORS = 3, FAKE_TIMERS = 8 };
struct io_reactors {
    struct io_reactor at[FAKE_REACTORS];
    struct io_hook    hook;
    unsigned          hooks;
};

static struct {
    struct io_timer *timer;
    uint64_t         due_ns;
} fake_timers[FAKE_TIMERS];
static uint64_t        fake_clock_ns;
static _Atomic int64_t fake_wall;

static int64_t fake_wall_ms(void *arg)
{
    (void)arg;
    return atomic_load(&fake_wall);
}

void io_post(struct io_reactor *to, struct io_mail *m)
{
    m->next = NULL;
    pthread_mutex_lock(&to->lock);
    *to->end = m;
    to->end = &m->next;
    pthread_cond_signal(&to->came);
    pthread_mutex_unlock(&to->lock);
}

unsigned io_reactor_index(const struct io_reactor *r)
{
    return r->index;
}

enum fl_status io_reactors_hook(struct io_reactors *rs, const struct io_hook *hook, struct fl_error *err)
{
    (void)err;
    assert(rs->hooks == 0);
    rs->hook = *hook;
    rs->hooks++;
    return FL_OK;
}

static int fake_slot(const struct io_timer *t)
{
    for (int i = 0; i < FAKE_TIMERS; i++)
        if (fake_timers[i].timer == t)
            return i;
    return -1;
}

void io_timer_stop(struct io_timer *t)
{
    int i = fake_slot(t);

    if (i >= 0)
        fake_timers[i].timer = NULL;
    t->running = false;
}

void io_timer_start(struct io_reactor *r, struct io_timer *t, uint64_t after_ns)
{
    int i;

    io_timer_stop(t);
    i = fake_slot(NULL);
    assert(i >= 0);
    t->reactor = r;
    t->running = true;
    fake_timers[i].timer = t;
    fake_timers[i].due_ns = fake_clock_ns + after_ns;
}

static void fake_reactors_init(struct io_reactors *rs)
{
    *rs = (struct io_reactors){ 0 };
    for (unsigned i = 0; i < FAKE_REACTORS; i++) {
        rs->at[i].index = i;
        rs->at[i].end = &rs->at[i].first;
        pthread_mutex_init(&rs->at[i].lock, NULL);
        pthread_cond_init(&rs->at[i].came, NULL);
    }
    for (int i = 0; i < FAKE_TIMERS; i++)
        fake_timers[i].timer = NULL;
}

static void fake_reactors_begin(struct io_reactors *rs)
{
    for (unsigned i = 0; i < FAKE_REACTORS && rs->hooks > 0; i++)
        rs->hook.begin(&rs->at[i], rs->hook.arg);
}

static void fake_reactors_end(struct io_reactors *rs)
{
    for (unsigned i = 0; i < FAKE_REACTORS && rs->hooks > 0; i++)
        rs->hook.end(&rs->at[i], rs->hook.arg);
}

static struct io_mail *fake_take(struct io_reactor *r, bool wait)
{
    struct io_mail *m;

    fl_rcu_offline();
    pthread_mutex_lock(&r->lock);
    while (wait && r->first == NULL)
        pthread_cond_wait(&r->came, &r->lock);
    if ((m = r->first) != NULL && (r->first = m->next) == NULL)
        r->end = &r->first;
    pthread_mutex_unlock(&r->lock);
    fl_rcu_online();
    return m;
}

/* Delivers what waits, and what comes of it, until nothing is left. */
static unsigned fake_run(struct io_reactor *r)
{
    struct io_mail *m;
    unsigned        count = 0;

    for (; (m = fake_take(r, false)) != NULL; count++)
        m->deliver(m);
    return count;
}

/* Waits for one letter of another thread and delivers it. */
__attribute__((unused)) static void fake_run_one(struct io_reactor *r)
{
    struct io_mail *m = fake_take(r, true);

    m->deliver(m);
}

/* Turns both clocks on, firing one timer after the other, and delivering to reactor 0 what comes of each. Returns how
 * many timers fired. */
__attribute__((unused)) static unsigned fake_pass(struct io_reactors *rs, int64_t ms)
{
    uint64_t until = fake_clock_ns + (uint64_t)ms * FL_NS_PER_MS;
    unsigned fired = 0;

    for (;;) {
        int next = -1;

        for (int i = 0; i < FAKE_TIMERS; i++)
            if (fake_timers[i].timer != NULL && fake_timers[i].due_ns <= until &&
                (next < 0 || fake_timers[i].due_ns < fake_timers[next].due_ns))
                next = i;
        if (next < 0)
            break;
        atomic_fetch_add(&fake_wall, (int64_t)((fake_timers[next].due_ns - fake_clock_ns) / FL_NS_PER_MS));
        fake_clock_ns = fake_timers[next].due_ns;
        struct io_timer *t = fake_timers[next].timer;
        io_timer_stop(t);
        t->fire(t);
        fired++;
        fake_run(&rs->at[0]);
    }
    atomic_fetch_add(&fake_wall, (int64_t)((until - fake_clock_ns) / FL_NS_PER_MS));
    fake_clock_ns = until;
    return fired;
}

#endif
