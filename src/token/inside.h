/* token/inside.h - the manager's parts, shared by its files and seen by nobody else.
 *
 *   manager.c  open, close, what stores tell       verify.c  verification and its sentences
 *   work.c     one operation of a caller           create.c  allocate, prepare, persist, publish
 *   change.c   renew and cancel                    numbers.c ranges of token numbers
 *   roll.c     master keys                         scan.c    expired tokens
 * Owns: stated at each. Thread: stated at each. Blocks: manager.c at start and end only.                              */
#ifndef TOKEN_INSIDE_H
#define TOKEN_INSIDE_H

#include "token/identifier.h"
#include "token/keys.h"
#include "token/store.h"
#include "token/table.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    WORK_MAX = 65536,    /* operations under way; above it FL_BUSY */
    CREATE_ATTEMPTS = 3, /* numbers tried when the store says that one is taken */
    RANGE_MIN = 100,     /* as Hadoop's default batch */
    RANGE_MAX = 10000,
    SCAN_SLOTS = 4096, /* looked at in one turn: some 50 us */
    SCAN_BATCH = 64    /* expired tokens removed in one turn */
};

/* ---- one operation of a caller (work.c) ---------------------------------------------------------------------------- */

/* Copies of what the caller gave, in one piece of memory with the store's room; wiped when freed. */
struct token_work {
    struct io_mail          mail;           /* the way home when no store is involved */
    struct token_work      *next;           /* waiting for a number */
    struct token_work      *before, *after; /* all under way */
    struct tokens          *tokens;
    struct token_op        *op;
    struct io_reactor      *home;
    struct token_store_op   store;
    struct token_entry     *entry; /* create: until it is published */
    unsigned                attempts;
    uint64_t                asked_ns; /* the store, last */
    int32_t                 number;
    enum fl_status          status; /* of work that waits for a number, when its refill failed */
    struct fl_error         err;
    struct fl_slice         caller, owner, renewer, real_user, service;
    struct token            presented;
    struct token_identifier fields; /* of presented */
    size_t                  bytes;
    _Alignas(16) uint8_t data[];
};

FL_CHECKED enum fl_status token_work_new(struct token_work **out, struct tokens *t, struct token_op *op,
                                         struct fl_error *err);
void token_work_free(struct token_work *w); /* leaves the list of what is under way, discards its entry, wipes */
/* Ends the operation on its home thread, now: w is gone after it. */
void token_work_end(struct token_work *w, enum fl_status status, enum token_fault fault, const struct fl_error *why);
/* The same by mail, for failures inside submit. *why is copied. */
void token_work_end_later(struct token_work *w, enum fl_status status, enum token_fault fault,
                          const struct fl_error *why);
/* A refusal with a sentence of any length, appended to op->out_text beforehand; by mail. */
void token_work_refuse(struct token_work *w, enum token_fault fault);

void token_create_start(struct token_work *w);    /* any registered thread */
void token_create_numbered(struct token_work *w); /* w->number or w->status is set; home thread */
void token_change_start(struct token_work *w);    /* renew, cancel */

/* ---- ranges of numbers (numbers.c) --------------------------------------------------------------------------------- */

/* A range in use and one fetched ahead of need. Owns the works that wait. Thread: any; the lock is never held over a
 * call of the store. */
struct token_numbers {
    pthread_mutex_t       lock;
    int64_t               next, end;             /* next to end - 1 are free */
    int64_t               spare_next, spare_end; /* likewise, afterwards */
    int32_t               want;                  /* size of the next range */
    int32_t               taken;                 /* during the refill under way */
    unsigned              calm;                  /* refills in a row that were needed less than half as large */
    bool                  refilling;
    struct token_work    *waiting, **waiting_end;
    struct token_store_op refill;
};
FL_CHECKED enum fl_status token_numbers_init(struct tokens *t, struct fl_error *err);
void                      token_numbers_done(struct tokens *t);
/* True: w->number is set. False: w waits, and token_create_numbered follows on its home thread. */
bool token_numbers_take(struct token_work *w);
/* Start: the first range, on the calling thread. */
FL_CHECKED enum fl_status token_numbers_first(struct tokens *t, struct fl_error *err);

/* ---- upkeep (roll.c, scan.c): reactor 0's thread ------------------------------------------------------------------- */

struct token_roll {
    bool                  running;
    int64_t               last_ms; /* when a key was last made */
    struct token_store_op op;
    struct fl_secret     *key; /* being added */
};
void token_roll_done(struct tokens *t);
/* Start: one whole roll, waiting for the store. */
FL_CHECKED enum fl_status token_roll_first(struct tokens *t, struct fl_error *err);
void                      token_roll_if_due(struct tokens *t);

struct token_expiry {
    struct token_store_op op;
    struct tokens        *tokens;
};
struct token_scan {
    struct io_timer     timer;
    bool                running, failed;
    int64_t             last_ms; /* when the last scan began */
    int64_t             before_ms;
    struct slab_place   place;
    unsigned            under_way;
    struct token_expiry batch[SCAN_BATCH];
};
void token_scan_if_due(struct tokens *t);

/* ---- the manager (manager.c) --------------------------------------------------------------------------------------- */

/* Where the start waits for the store: one thread, one operation at a time. */
struct token_wait {
    pthread_mutex_t lock;
    pthread_cond_t  came;
    bool            over;
};

struct tokens {
    const struct token_store *backend;
    void                     *store;
    bool                      opened; /* the store */
    struct token_wait         wait;
    struct token_table       *table;
    struct token_keys        *keys;
    enum token_algorithm      algorithm;
    size_t                    key_bytes;
    int64_t                   key_update_ms, max_lifetime_ms, renew_interval_ms, scan_ms, grace_ms;
    int64_t (*wall_ms)(void *arg);
    void                *wall_arg;
    struct io_reactor   *upkeep; /* reactor 0, once it runs */
    struct io_timer      wake;
    struct token_numbers numbers;
    struct token_roll    roll;
    struct token_scan    scan;
    void                *rooms; /* of the store, for the operations of upkeep */
    pthread_mutex_t      works_lock;
    struct token_work   *works;
    _Atomic uint32_t     under_way;
    _Atomic uint64_t     created, renewed, cancelled, expired, failures;
    _Atomic uint64_t     store_ns[TOKEN_CANCEL + 1]; /* of what succeeded, by kind */
    _Atomic int32_t      current_key_id;
};

int64_t token_now_ms(const struct tokens *t);
/* Start: submits op and waits for it. Returns its status. */
FL_CHECKED enum fl_status token_store_wait(struct tokens *t, struct token_store_op *op, struct fl_error *err);
void                      token_count(_Atomic uint64_t *counter);
void                      token_work_took(struct token_work *w); /* the store has done what it was asked for */

#endif
