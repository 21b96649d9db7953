/* store/inside.h - what the parts of the store know of each other.
 *
 * folder.c: the data folder and its lock. passphrase.c: the file that holds it. seal.c: scrypt and AES-256-GCM.
 * header.c: the record that says how the rest is encrypted. env.c: LMDB, and how its map grows. txn.c: records.
 * writer.c: the thread. backup.c: copies. store.c: the face.
 * Thread:  "writer": the store's thread, or the one that opens the store, before that thread exists.                 */
#ifndef STORE_INSIDE_H
#define STORE_INSIDE_H

#include "base/rcu.h"
#include "base/secret.h"
#include "store/store.h"

#include <lmdb.h>
#include <pthread.h>

/* ---- folder.c
 * ------------------------------------------------------------------------------------------------------------ */

/* Makes the folder when it is missing (0700), checks that nobody else may write it, locks it. *lock: the lock's
 * descriptor; closing it gives the folder free. FL_BUSY names the process that has it. */
FL_CHECKED enum fl_status folder_take(const char *dir, int *lock, struct fl_error *err);
FL_CHECKED enum fl_status folder_sync(const char *dir, struct fl_error *err);
/* The folder of a file, for folder_sync: "." without a slash. malloc'ed; NULL without memory. */
char *folder_of(const char *file);
/* dir/name, malloc'ed; NULL without memory. */
char *folder_join(const char *dir, const char *name);

/* ---- passphrase.c
 * ---------------------------------------------------------------------------------------------------------- */

/* The bytes of the file without its last newline. may_make: a missing file is made, of 256 random bits. */
FL_CHECKED enum fl_status passphrase_read(const char *file, bool may_make, struct fl_secret **out,
                                          struct fl_error *err);

/* ---- seal.c
 * ------------------------------------------------------------------------------------------------------------------ */

/* Sealed: a format byte, a nonce, the ciphertext, the tag. The associated data is the table's name with its NUL, the
 * format byte, and the record's key: what was sealed for one place opens at no other.
 * Nonces are 96 random bits. NIST SP 800-38D 8.3 allows 2^32 of them under one key; a store that writes 100 records a
 * second gets there after 16 months of it. seal.c says what follows. */
enum { SEAL_FORMAT = 1, SEAL_NONCE = 12, SEAL_TAG = 16, SEAL_OVERHEAD = 1 + SEAL_NONCE + SEAL_TAG };
struct seal;
struct scrypt_params {
    uint32_t n, r, p;
};
enum { SCRYPT_SALT = 32 };
FL_CHECKED enum fl_status seal_new(struct seal **out, struct fl_slice passphrase, const struct scrypt_params *params,
                                   const uint8_t salt[SCRYPT_SALT], struct fl_error *err);
void                      seal_free(struct seal *s);
FL_AUTO_DEFINE(seal);
/* out has value.len + SEAL_OVERHEAD bytes. */
FL_CHECKED enum fl_status seal_close(struct seal *s, const char *table, struct fl_slice key, struct fl_slice value,
                                     uint8_t *out, struct fl_error *err);
/* out has sealed.len - SEAL_OVERHEAD bytes; nothing of it may be used after a failure. FL_MALFORMED names the record.
 */
FL_CHECKED enum fl_status seal_open(struct seal *s, const char *table, struct fl_slice key, struct fl_slice sealed,
                                    uint8_t *out, struct fl_error *err);

/* ---- header.c
 * ------------------------------------------------------------------------------------------------------------------ */

#define HEADER_KEY FL_LIT("header")
enum { HEADER_FORMAT = 1, HEADER_BYTES = 4 + 3 * 4 + SCRYPT_SALT + SEAL_OVERHEAD };
/* A new one for a store under this passphrase. */
FL_CHECKED enum fl_status header_make(struct fl_slice passphrase, uint8_t out[HEADER_BYTES], struct seal **seal,
                                      struct fl_error *err);
/* FL_MALFORMED: no header, or of another format. FL_DENIED: of another passphrase. */
FL_CHECKED enum fl_status header_open(struct fl_slice header, struct fl_slice passphrase, struct seal **seal,
                                      struct fl_error *err);
/* Shape and format only: enough to tell a store from other files. */
FL_CHECKED enum fl_status header_check(struct fl_slice header, struct fl_error *err);

/* ---- env.c
 * ----------------------------------------------------------------------------------------------------------------------
 */

struct env {
    char    *dir;
    MDB_env *lmdb;
    MDB_dbi  tables[STORE_TABLES];
    uint64_t map_bytes;
};
extern const char *const store_table_names[STORE_TABLES];

FL_CHECKED enum fl_status env_open(struct env *e, const char *dir, uint64_t map_bytes, struct fl_error *err);
void                      env_close(struct env *e);
/* After MDB_MAP_FULL, no transaction being open: a map of twice the size. */
FL_CHECKED enum fl_status env_grow(struct env *e, struct fl_error *err);
/* After a failure that LMDB regards as fatal: the environment anew, from what is on disk. */
FL_CHECKED enum fl_status env_reopen(struct env *e, struct fl_error *err);
uint64_t                  env_used_bytes(const struct env *e);
/* A sentence for what LMDB returned. A full disk is told as such, whichever of its faces it shows. */
enum fl_status env_fail(struct fl_error *err, const struct env *e, int rc, const char *doing);
/* FL_MALFORMED unless lmdb's file is as long as its pages say; reading past its end would end the process. */
FL_CHECKED enum fl_status env_check_length(MDB_env *lmdb, const char *file, struct fl_error *err);

/* ---- txn.c
 * ------------------------------------------------------------------------------------------------------------------------
 */

struct opened;
struct store_txn {
    struct store  *store;
    MDB_txn       *lmdb;
    struct opened *opened; /* plain values, until the job's apply has returned */
    unsigned       writes;
    int            failed; /* what LMDB said when it, and not the caller, was at fault; 0: fine */
};
void txn_forget_opened(struct store_txn *t);

/* ---- writer.c, backup.c, store.c
 * ------------------------------------------------------------------------------------------------- */

enum { GROUP_MAX = 1024, WAITING_MAX = 65536 };

/* Something that is no change and that the store's thread does between two commits while the caller waits. */
struct task {
    struct task *next;
    enum fl_status (*run)(struct store *s, struct task *t, struct fl_error *err);
    enum fl_status  status;
    struct fl_error err;
    bool            after_jobs; /* waits for those that wait already */
    bool            over;
};

struct store {
    struct env   env;
    struct seal *seal;
    int          lock_fd;
    pthread_t    writer;
    bool         running;

    pthread_mutex_t    lock; /* guards what follows */
    pthread_cond_t     work, task_over, released;
    struct store_job  *first, **last;
    struct task       *tasks;
    size_t             waiting;
    bool               closing, hold;
    unsigned           may_commit; /* with hold */
    struct store_stats stats;      /* but for waiting */
};
/* A caller that waits for the store's thread may be a reader: offline meanwhile, so that it holds up nobody. */
static inline bool reader_waits(void)
{
    bool reader = rcu_read_ongoing();

    if (reader)
        fl_rcu_offline();
    return reader;
}

static inline void reader_goes_on(bool reader)
{
    if (reader)
        fl_rcu_online();
}

void                     *writer_main(void *store);
FL_CHECKED enum fl_status writer_do(struct store *s, struct task *t,
                                    struct fl_error *err); /* any thread but the store's */

#endif
