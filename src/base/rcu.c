#include "base/rcu.h"

#ifdef FL_TSAN

#include <stdlib.h>

/* The sanitizer's runtime: what was released at an address happened before what follows an acquire of it. liburcu is
 * not instrumented, so each of its promises is told by such a pair:
 *   published -> read        at the address of what is published
 *   last read -> free_it     at `reads`: a reader that goes offline is done with all it has seen
 *   fl_rcu_free -> free_it   at the head's address
 *   free_it -> barrier       at `frees` */
void __tsan_acquire(void *addr);
void __tsan_release(void *addr);

const char *__tsan_default_suppressions(void);

static char reads, frees;

/* liburcu allocates in one thread and frees in another, ordered by atomics that the sanitizer doesn't see. This leaves
 * out what these libraries call themselves, but not what free_it does, although they call it. */
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:liburcu-qsbr.so\n"
           "called_from_lib:liburcu-cds.so\n"
           "called_from_lib:liburcu-common.so\n";
}

/* liburcu has no place for a second function beside a head, so a freeing travels in a box of its own. */
struct told {
    struct rcu_head  box;
    struct rcu_head *head;
    void (*free_it)(struct rcu_head *head);
};

void fl_rcu_told_release_(const void *at)
{
    if (at != NULL)
        __tsan_release((void *)at);
}

void fl_rcu_told_acquire_(const void *at)
{
    if (at != NULL)
        __tsan_acquire((void *)at);
}

static void free_told(struct rcu_head *box)
{
    struct told *t = caa_container_of(box, struct told, box);

    __tsan_acquire(t);
    __tsan_acquire(&reads);
    t->free_it(t->head);
    free(t);
    __tsan_release(&frees);
}

void fl_rcu_free(struct rcu_head *head, void (*free_it)(struct rcu_head *head))
{
    void        *at;
    struct told *t;

    /* A build for tests only. This call is none of those that tests let fail: other builds allocate nothing here. */
    if (posix_memalign(&at, _Alignof(struct told), sizeof *t) != 0)
        abort();
    t = at;
    t->head = head;
    t->free_it = free_it;
    __tsan_release(t);
    call_rcu(&t->box, free_told);
}

#define TOLD_DONE_READING() __tsan_release(&reads)
#define TOLD_FREED() __tsan_acquire(&frees)

#else

void fl_rcu_free(struct rcu_head *head, void (*free_it)(struct rcu_head *head))
{
    call_rcu(head, free_it);
}

#define TOLD_DONE_READING() ((void)0)
#define TOLD_FREED() ((void)0)

#endif

void fl_rcu_register(void)
{
    rcu_register_thread();
}

void fl_rcu_unregister(void)
{
    TOLD_DONE_READING();
    rcu_unregister_thread();
}

void fl_rcu_offline(void)
{
    TOLD_DONE_READING();
    rcu_thread_offline();
}

void fl_rcu_online(void)
{
    rcu_thread_online();
}

void fl_rcu_barrier(void)
{
    rcu_barrier();
    TOLD_FREED();
}
