/* store/store.h - the embedded database: one LMDB environment in the data folder, one thread that writes it.
 *
 * Only the store's thread opens transactions. Jobs that wait at the same time share one commit; none waits for company
 * that isn't there. After the commit the jobs' `committed` run on the store's thread in commit order (it is registered
 * with RCU, so they publish to the tables there), then `done` at home by mail. So a write is durable before its answer,
 * and what readers see follows the order of commits.
 * Records are encrypted (AES-256-GCM) under a key that scrypt derives from the passphrase file, with table and record
 * key as associated data, so that records can't be swapped.
 *
 * Owns:    the folder's lock, environment, thread, data key (locked memory).
 * Thread:  store_open, store_close: start. store_submit: any. Blocks: open and close only. */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/own.h"
#include "io/io.h"

struct store;
struct store_txn;

struct store_config {
    const char *data_dir; /* made with mode 0700 when missing; flock'ed: a second process is refused with its pid */
    const char *password_file; /* mode 0600 demanded (no group or other bits) */
    bool        make_password; /* write 256 random bits there when the file is missing */
    uint64_t    map_bytes;     /* address space; 0: 64 GiB, lower on refusal; grows on MDB_MAP_FULL */
    bool        test_hold;     /* tests: commits wait for store_test_release */
};
FL_CHECKED enum fl_status store_open(struct store **out, const struct store_config *config, struct fl_error *err);
void                      store_close(struct store *s); /* finishes what was submitted; NULL is fine */

enum store_table {
    STORE_KEYS,
    STORE_KEY_VERSIONS,
    STORE_TOKENS,
    STORE_MASTER_KEYS,
    STORE_COUNTERS,
    STORE_META,
    STORE_TABLES
};

struct store_job {
    struct io_mail     mail;
    struct store_job  *next;
    struct io_reactor *home; /* where done is delivered; NULL: done runs on the store's thread */
    /* On the store's thread, inside the write transaction. Checks first, writes then. A status other than FL_OK keeps
     * this job's writes out (none may have happened before a refusal of its own; when a write itself fails the store
     * aborts the group and tries its jobs one by one). May run again after such an abort: no side effects elsewhere. */
    enum fl_status (*apply)(struct store_job *j, struct store_txn *t, struct fl_error *err);
    void (*committed)(struct store_job *j); /* store's thread, in commit order; only after success; may be NULL */
    void (*done)(struct store_job *j);      /* home; j is the caller's again. status and err tell */
    enum fl_status  status;
    struct fl_error err;
};
/* Any thread. FL_BUSY above 65,536 waiting jobs, FL_CLOSED after close began; then done is not called. */
FL_CHECKED enum fl_status store_submit(struct store *s, struct store_job *j, struct fl_error *err);
/* Waits until the store's thread is through with every job: committed has run, done has run or is in the mail. Blocking;
 * any thread but reactors. With it a room makes sure that no job of its own comes any more before it ends. */
void store_settle(struct store *s);

/* Inside apply. Keys are 1 to STORE_KEY_MAX bytes (names of any length: store_name_key). Values are sealed and opened
 * here; FL_MALFORMED: a record doesn't open, for it is damaged or was moved. The tables under RCU don't show yet what
 * the jobs before in the same commit have done; the records do. */
enum { STORE_KEY_MAX = 480, STORE_NAME_MAX = 400, STORE_NAME_KEY_MAX = 1 + STORE_NAME_MAX };
/* The record key of a name, into out; returns its length. Names up to STORE_NAME_MAX bytes stand there as they are,
 * longer ones as their SHA-256; a first byte tells which. Room for a suffix is left below STORE_KEY_MAX. */
size_t store_name_key(struct fl_slice name, uint8_t out[STORE_NAME_KEY_MAX]);
/* *value is valid until apply returns. FL_NOT_FOUND. */
FL_CHECKED enum fl_status store_get(struct store_txn *t, enum store_table table, struct fl_slice key,
                                    struct fl_slice *value, struct fl_error *err);
FL_CHECKED enum fl_status store_put(struct store_txn *t, enum store_table table, struct fl_slice key,
                                    struct fl_slice value, struct fl_error *err);
FL_CHECKED enum fl_status store_delete(struct store_txn *t, enum store_table table, struct fl_slice key,
                                       struct fl_error *err); /* FL_NOT_FOUND */

/* Start, before jobs: every record of a table in key order. each returns FL_OK to go on. The value is wiped after. */
FL_CHECKED enum fl_status store_scan(struct store *s, enum store_table table,
                                     enum fl_status (*each)(void *ctx, struct fl_slice key, struct fl_slice value,
                                                            struct fl_error *err),
                                     void *ctx, struct fl_error *err);

/* A consistent copy of the running store into a file (mode 0600, written beside it and renamed), by the store's thread.
 * Restore makes a data folder of it; refuses a folder that holds a store. Blocking; any thread but reactors. */
FL_CHECKED enum fl_status store_backup(struct store *s, const char *file, struct fl_error *err);
FL_CHECKED enum fl_status store_restore(const char *file, const char *data_dir, struct fl_error *err);

struct store_stats {
    uint64_t commits, jobs; /* jobs whose changes were committed */
    uint64_t map_bytes, used_bytes;
    uint64_t waiting; /* jobs that no transaction has taken yet */
};
void store_stats(struct store *s, struct store_stats *out); /* any */

/* Tests: with test_hold the thread stops before each commit until released. */
void store_test_release(struct store *s, unsigned commits);

#endif
