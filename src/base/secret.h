/* base/secret.h - memory for keys: locked, left out of core dumps, wiped when given back.
 *
 * Owns:    pages of its own (guarded slots in a few mmap'ed, mlock'ed arenas, since RLIMIT_MEMLOCK is small: 8 MiB by
 *          default). Where the limit is reached memory is still excluded from dumps and wiped, and the fact is counted.
 * Thread:  any (one lock inside; not for hot paths). Blocks: never for long.                                          */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/own.h"
#include "featherlock/slice.h"

struct fl_secret; /* len bytes; the header is part of the slot */

/* A zeroed secret of len bytes (1 to 64 KiB). NULL without memory. */
struct fl_secret *fl_secret_new(size_t len);
struct fl_secret *fl_secret_copy(struct fl_slice bytes);
/* Filled by the system's generator; NULL without memory or entropy. */
struct fl_secret *fl_secret_random(size_t len);
void              fl_secret_free(struct fl_secret *s); /* wipes; NULL is fine */
FL_AUTO_DEFINE(fl_secret);

struct fl_slice fl_secret_slice(const struct fl_secret *s); /* valid as long as s */
uint8_t        *fl_secret_bytes(struct fl_secret *s);
size_t          fl_secret_unlocked_bytes(void); /* bytes that could not be locked, for metrics */

/* Constant-time for equal lengths; the length itself is no secret. */
bool fl_equal_ct(struct fl_slice a, struct fl_slice b);
void fl_wipe(void *at, size_t len);
/* Uniform random bytes from the system (getrandom). FL_SYSTEM if it fails. */
FL_CHECKED enum fl_status fl_random(void *at, size_t len, struct fl_error *err);

#endif
