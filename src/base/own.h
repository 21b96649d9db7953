/* base/own.h - locals that clean up by scope, and handing over.
 *
 * Owns: nothing. Thread: any. Blocks: never.                                                                          */
#ifndef BASE_OWN_H
#define BASE_OWN_H

#include "featherlock/status.h"

#include <stdlib.h>

/* After `void thing_free(struct thing *)` is declared: FL_AUTO_DEFINE(thing) allows FL_AUTO(thing) t = NULL; which is
 * given to thing_free() at the end of its scope. Not together with goto in one function. */
#define FL_AUTO_DEFINE(thing)                           \
    static inline void thing##_auto_(struct thing **at) \
    {                                                   \
        thing##_free(*at);                              \
    }                                                   \
    struct thing
#define FL_AUTO(thing) __attribute__((cleanup(thing##_auto_))) struct thing *

/* Plain memory and descriptors. */
static inline void fl_auto_free_(void *at)
{
    free(*(void **)at);
}
#define FL_AUTO_MEM __attribute__((cleanup(fl_auto_free_)))
void fl_auto_close_(int *fd); /* closes unless negative */
#define FL_AUTO_FD __attribute__((cleanup(fl_auto_close_))) int

/* Hands over: the local is NULL afterwards, so there is nothing to free. */
#define FL_TAKE(local)                         \
    ({                                         \
        __typeof__(local) fl_taken_ = (local); \
        (local) = NULL;                        \
        fl_taken_;                             \
    })

#define FL_COUNT(array) (sizeof(array) / sizeof(array)[0])
#define FL_CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
#define FL_MIN(a, b) ((a) < (b) ? (a) : (b))
#define FL_MAX(a, b) ((a) > (b) ? (a) : (b))

#endif
