/* token/store.h - where tokens, master keys and their counters are kept: one asynchronous interface, a table a store.
 *
 * The table of live tokens in memory belongs to the manager, and verification reads nothing else. A store makes changes
 * last and says in which order they happened. So each change is one operation with two callbacks:
 *
 *   submit ──> the store's own time ──> publish, on the thread that knows the order ──> done, at home by mail
 *
 * publish changes the manager's tables. It is called once, after the change is durable and never after a failure, at
 * the change's place among all changes to the same token or key; `done` follows it. So what was answered can be seen,
 * what is seen was durable, and a renewal that lost against a cancel can't bring the token back.
 *   memory     The table is the store: publish decides, at once, on the submitting thread. Only `done` travels.
 *   LMDB       publish is store_job.committed, on the store's thread in commit order. A cancel is committed, then
 *              dropped from the table, then answered: if it can't be committed the token stays valid and the caller
 *              learns so, and there is no moment at which a refused token comes back.
 *   ZooKeeper  (the third that this is drawn to suit) publish is called where the reply is handled, on the one stream of
 *              replies and watch events. CREATE is create(DT_n) in a multi (NodeExists: FL_EXISTS), RENEW getData and
 *              setData with the version read, CANCEL the delete with its bell and the wait that follows it (publish at
 *              the delete's reply, done after the wait), EXPIRE getData and delete with the version read, NUMBERS the
 *              compare-and-set of the counter, ADD_KEY counter and node. What others changed arrives as events:
 *              tokens_learn_*, tokens_forget_*. Its table lacks tokens that exist, so table_is_whole is false:
 *              renewals and cancels of tokens unknown here are asked of it, and it learns before it publishes.
 * An operation of unknown outcome (a lost reply) is the store's to find out; if it can't, FL_TIMEOUT.
 *
 * Owns:    a store its connection or folder, and each operation's mail, next and room from submit until done.
 * Thread:  submit: any thread registered with RCU. Blocks: open and close only.                                       */
#ifndef TOKEN_STORE_H
#define TOKEN_STORE_H

#include "token/token.h"

enum token_store_verb {
    TOKEN_STORE_NUMBERS,    /* reserve up to `count` token numbers: first, granted. FL_DENIED when none are left */
    TOKEN_STORE_ADD_KEY,    /* key_id from the store's own counter, then the key under it; publish makes it current */
    TOKEN_STORE_EXTEND_KEY, /* a new expiry for key_id */
    TOKEN_STORE_DROP_KEY,   /* FL_OK too when it is gone already */
    TOKEN_STORE_CREATE,     /* FL_EXISTS: the number is taken; the manager takes another */
    TOKEN_STORE_RENEW,      /* FL_NOT_FOUND unless the stored identifier is the same, by value */
    TOKEN_STORE_CANCEL,     /* likewise */
    TOKEN_STORE_EXPIRE      /* only if the *stored* renew date is below before_ms, else FL_EXISTS. FL_OK: gone */
};

struct token_store_op {
    struct io_mail         mail; /* the store's; the manager's before submit and after done */
    struct token_store_op *next; /* likewise */
    void                  *room; /* room_bytes of the store's own, 16-byte aligned */
    struct io_reactor     *home; /* where done is delivered. NULL (start only): done runs on whatever thread ends it,
                                    possibly inside submit */
    enum token_store_verb  verb;
    void                  *context; /* the manager's */

    struct fl_slice         identifier; /* CREATE; RENEW, CANCEL: as presented */
    struct token_identifier fields;     /* of it; its sequence is the number */
    struct fl_slice         password;   /* CREATE */
    int64_t                 renew_ms;   /* CREATE, RENEW: the new renew date */
    int32_t                 number;     /* EXPIRE */
    int64_t                 before_ms;  /* EXPIRE */

    int32_t         key_id;    /* in; ADD_KEY: out */
    struct fl_slice key;       /* ADD_KEY */
    int64_t         expiry_ms; /* ADD_KEY, EXTEND_KEY */

    int32_t count;          /* NUMBERS: wanted */
    int32_t first, granted; /* out: first to first + granted - 1 are reserved for good, 1 <= granted <= count */

    /* The manager's. NULL for NUMBERS. FL_NOT_FOUND or FL_EXISTS as above, where the table is the store. */
    enum fl_status (*publish)(struct token_store_op *op);
    void (*done)(struct token_store_op *op); /* never inside submit, but for home NULL */
    enum fl_status  status;                  /* out; err says more unless FL_OK, FL_NOT_FOUND or FL_EXISTS */
    struct fl_error err;
};

struct token_store {
    const char *name;           /* "memory", "lmdb", … */
    bool        table_is_whole; /* what the manager's table lacks doesn't exist: no need to ask */
    size_t      room_bytes;
    /* Loads by tokens_learn_* before it returns; *self is what the others get. */
    enum fl_status (*open)(void **self, void *arg, struct tokens *manager, struct fl_error *err);
    void (*close)(void *self); /* after it no callback comes; reactors have ended, so done may never have been called */
    /* FL_OK: done will come. Otherwise nothing happened (FL_BUSY, FL_CLOSED). */
    enum fl_status (*submit)(void *self, struct token_store_op *op, struct fl_error *err);
};

extern const struct token_store token_store_memory; /* arg: NULL */
extern const struct token_store token_store_lmdb;   /* arg: struct store */

/* The 32-bit counters of numbers and key ids: how many of `wanted` may follow `counter`. FL_DENIED when it stands at
 * 2147483647: numbers are never used again, so it doesn't wrap. FL_MALFORMED when it is negative. `what`: "token
 * numbers". */
FL_CHECKED enum fl_status token_store_range(const char *what, int32_t counter, int32_t wanted, int32_t *granted,
                                            struct fl_error *err);
/* Ends an operation: sets its status, calls done at home (or here if home is NULL). For stores that keep no mail. */
void token_store_answer(struct token_store_op *op, enum fl_status status);

/* What a store tells unasked: at load, and what others changed in a shared store. One thread at a time, registered.
 * Records are those of token/record.h and are copied. FL_MALFORMED, FL_NO_MEMORY. A token known already takes the
 * record's renew date; one with the same number and other bytes replaces it. */
FL_CHECKED enum fl_status tokens_learn_token(struct tokens *t, struct fl_slice record, struct fl_error *err);
FL_CHECKED enum fl_status tokens_learn_key(struct tokens *t, struct fl_slice record, struct fl_error *err);
void                      tokens_forget_token(struct tokens *t, int32_t number);
/* While much is learnt at the start, every thousand tokens or so: keeps look-ups short. Blocks briefly. */
void tokens_learnt_many(struct tokens *t);
void tokens_forget_key(struct tokens *t, int32_t key_id);

#endif
