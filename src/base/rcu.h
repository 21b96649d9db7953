/* base/rcu.h - read-mostly data: published by pointer, read without a lock (liburcu, QSBR flavour).
 *
 * Readers are registered threads (reactors, the store's thread): they pay nothing, but must be offline while they
 * wait. Workers are not registered and never touch such data. Freeing is by fl_rcu_free only; synchronize is never
 * called on a reactor. In the TSan build each publication is told to the sanitizer, which can't see into liburcu.
 *
 * Owns:    what was given to fl_rcu_free, until its grace period is over. Thread: as said. Blocks: never, but for
 *          fl_rcu_barrier (start or end of the program).                                                              */
#ifndef BASE_RCU_H
#define BASE_RCU_H

/* liburcu's inline fast paths are wanted in its users. Not under TSan, which would take their volatile accesses, seen
 * without the library's half, for races. */
#ifndef FL_TSAN
#define URCU_INLINE_SMALL_FUNCTIONS
#endif
#include <urcu-qsbr.h>
#include <urcu/rculfhash.h>

/* What is published by other means, as in a cds_lfht: told_release_(object) before it goes in, and told_acquire_(object)
 * first thing in the match function, then on what a look-up or a walk gave. */
#ifdef FL_TSAN
void fl_rcu_told_release_(const void *at);
void fl_rcu_told_acquire_(const void *at);
/* The slot itself must be an atomic in the sanitizer's eyes. */
#define fl_rcu_store_(slot, value) __atomic_store_n((slot), (value), __ATOMIC_RELEASE)
#define fl_rcu_load_(slot) __atomic_load_n((slot), __ATOMIC_ACQUIRE)
#else
#define fl_rcu_told_release_(at) ((void)(at))
#define fl_rcu_told_acquire_(at) ((void)(at))
#define fl_rcu_store_(slot, value) rcu_set_pointer((slot), (value))
#define fl_rcu_load_(slot) rcu_dereference(*(slot))
#endif

/* Publishes *slot := value. Single writer at a time. */
#define fl_rcu_publish(slot, value)          \
    do {                                     \
        __typeof__(*(slot)) fl_v_ = (value); \
        fl_rcu_told_release_(fl_v_);         \
        fl_rcu_store_((slot), fl_v_);        \
    } while (0)

/* What is published; valid until the thread goes offline (on a reactor: until the callback returns). */
#define fl_rcu_read(slot)                               \
    ({                                                  \
        __typeof__(*(slot)) fl_r_ = fl_rcu_load_(slot); \
        fl_rcu_told_acquire_(fl_r_);                    \
        fl_r_;                                          \
    })

/* Before and after a thread's reading life. */
void fl_rcu_register(void);
void fl_rcu_unregister(void);
void fl_rcu_offline(void); /* before waiting */
void fl_rcu_online(void);  /* after waiting */

/* Calls free_it(head) after a grace period, on liburcu's own call thread. Any registered thread. */
void fl_rcu_free(struct rcu_head *head, void (*free_it)(struct rcu_head *head));
/* Waits until everything given to fl_rcu_free so far is freed. Not on a reactor. */
void fl_rcu_barrier(void);

#endif
