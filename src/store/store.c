#include "store/inside.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

static void stop_writer(struct store *s)
{
    bool reader = reader_waits();

    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->work);
    pthread_cond_broadcast(&s->released);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->writer, NULL);
    reader_goes_on(reader);
}

void store_close(struct store *s)
{
    if (s == NULL)
        return;
    if (s->running)
        stop_writer(s);
    env_close(&s->env);
    free(s->env.dir);
    seal_free(s->seal);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    pthread_cond_destroy(&s->work);
    pthread_cond_destroy(&s->task_over);
    pthread_cond_destroy(&s->released);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void close_half_open(struct store **s)
{
    store_close(*s);
}

/* ---- opening
 * -------------------------------------------------------------------------------------------------------------------
 */

static struct store *new_store(const struct store_config *config)
{
    struct store *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->lock_fd = -1;
    s->last = &s->first;
    s->hold = config->test_hold;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->work, NULL);
    pthread_cond_init(&s->task_over, NULL);
    pthread_cond_init(&s->released, NULL);
    return s;
}

/* A new passphrase never fits an old store, so one is made for a new store only. */
static enum fl_status read_passphrase(const struct store_config *config, struct fl_secret **out, struct fl_error *err)
{
    FL_AUTO_MEM char *data = folder_join(config->data_dir, "data.mdb");
    bool              is_new;

    if (data == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path");
    is_new = access(data, F_OK) != 0;
    if (config->make_password && !is_new && access(config->password_file, F_OK) != 0 && errno == ENOENT)
        return fl_fail(err, FL_USAGE, 0, "the passphrase file %s is missing, and %s holds a store that needs it",
                       config->password_file, config->data_dir);
    return passphrase_read(config->password_file, config->make_password && is_new, out, err);
}

static int put_header(struct env *e, const uint8_t header[HEADER_BYTES])
{
    MDB_txn *txn;
    MDB_val  k = { HEADER_KEY.len, (void *)(uintptr_t)HEADER_KEY.at }, v = { HEADER_BYTES, (void *)(uintptr_t)header };
    int      rc = mdb_txn_begin(e->lmdb, NULL, 0, &txn);

    if (rc != 0)
        return rc;
    if ((rc = mdb_put(txn, e->tables[STORE_META], &k, &v, 0)) == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return rc;
}

static enum fl_status write_header(struct store *s, struct fl_slice passphrase, struct fl_error *err)
{
    uint8_t        header[HEADER_BYTES];
    enum fl_status status = header_make(passphrase, header, &s->seal, err);
    int            rc;

    if (status != FL_OK)
        return status;
    while ((rc = put_header(&s->env, header)) == MDB_MAP_FULL)
        if ((status = env_grow(&s->env, err)) != FL_OK)
            return status;
    if (rc != 0)
        return env_fail(err, &s->env, rc, "making the store");
    return folder_sync(s->env.dir, err);
}

/* Reads the header, or finds that the store is new and empty. */
static enum fl_status read_header(struct store *s, struct fl_slice passphrase, bool *is_new, struct fl_error *err)
{
    MDB_txn       *txn;
    MDB_val        k = { HEADER_KEY.len, (void *)(uintptr_t)HEADER_KEY.at }, v;
    MDB_stat       keys = { 0 }, tokens = { 0 };
    enum fl_status status = FL_OK;
    int            rc = mdb_txn_begin(s->env.lmdb, NULL, MDB_RDONLY, &txn);

    if (rc != 0)
        return env_fail(err, &s->env, rc, "reading the header");
    rc = mdb_get(txn, s->env.tables[STORE_META], &k, &v);
    *is_new = rc == MDB_NOTFOUND;
    mdb_stat(txn, s->env.tables[STORE_KEYS], &keys);
    mdb_stat(txn, s->env.tables[STORE_TOKENS], &tokens);
    if (rc == 0)
        status = header_open(fl_slice_of(v.mv_data, v.mv_size), passphrase, &s->seal, err);
    else if (*is_new && keys.ms_entries + tokens.ms_entries > 0)
        status = fl_fail(err, FL_MALFORMED, 0, "there are records but no header: the store is damaged");
    else if (!*is_new)
        status = env_fail(err, &s->env, rc, "reading the header");
    mdb_txn_abort(txn);
    return status;
}

static enum fl_status unlock(struct store *s, struct fl_slice passphrase, const struct store_config *config,
                             struct fl_error *err)
{
    bool           is_new = false;
    enum fl_status status = read_header(s, passphrase, &is_new, err);

    if (status == FL_DENIED)
        return fl_fail(err, FL_DENIED, 0, "the passphrase in %s doesn't fit the store in %s: it was made with another",
                       config->password_file, config->data_dir);
    if (status != FL_OK) {
        fl_fail_in(err, "opening the store in %s", config->data_dir);
        return status;
    }
    return is_new ? write_header(s, passphrase, err) : FL_OK;
}

/* Signals are for the program's threads. SIGXFSZ above all: blocked, a write past the limit on file size is an error
 * like that of a full disk, and not the process's end. */
static enum fl_status start_writer(struct store *s, struct fl_error *err)
{
    sigset_t all, before;
    int      rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&s->writer, NULL, writer_main, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return fl_fail(err, FL_SYSTEM, rc, "cannot start the store's thread");
    s->running = true;
    return FL_OK;
}

enum fl_status store_open(struct store **out, const struct store_config *config, struct fl_error *err)
{
    __attribute__((cleanup(close_half_open))) struct store *s = new_store(config);
    FL_AUTO(fl_secret) passphrase = NULL;
    enum fl_status status;

    if (s == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a store");
    if (config->data_dir == NULL || config->password_file == NULL)
        return fl_fail(err, FL_USAGE, 0, "the embedded store needs a data folder and a passphrase file");
    if ((status = folder_take(config->data_dir, &s->lock_fd, err)) != FL_OK ||
        (status = read_passphrase(config, &passphrase, err)) != FL_OK ||
        (status = env_open(&s->env, config->data_dir, config->map_bytes, err)) != FL_OK ||
        (status = unlock(s, fl_secret_slice(passphrase), config, err)) != FL_OK)
        return status;
    s->stats.map_bytes = s->env.map_bytes;
    s->stats.used_bytes = env_used_bytes(&s->env);
    if ((status = start_writer(s, err)) != FL_OK)
        return status;
    *out = FL_TAKE(s);
    return FL_OK;
}

/* ---- any thread
 * ------------------------------------------------------------------------------------------------------------------ */

enum fl_status store_submit(struct store *s, struct store_job *j, struct fl_error *err)
{
    enum fl_status status = FL_OK;

    j->next = NULL;
    pthread_mutex_lock(&s->lock);
    if (s->closing) {
        status = fl_fail(err, FL_CLOSED, 0, "the store is being closed");
    } else if (s->waiting >= WAITING_MAX) {
        status = fl_fail(err, FL_BUSY, 0, "%d changes wait for the disk already", WAITING_MAX);
    } else {
        if (s->first == NULL) {
            s->last = &s->first;
            pthread_cond_signal(&s->work);
        }
        *s->last = j;
        s->last = &j->next;
        s->waiting++;
    }
    pthread_mutex_unlock(&s->lock);
    return status;
}

void store_stats(struct store *s, struct store_stats *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->stats;
    out->waiting = s->waiting;
    pthread_mutex_unlock(&s->lock);
}

void store_test_release(struct store *s, unsigned commits)
{
    pthread_mutex_lock(&s->lock);
    s->may_commit += commits;
    pthread_cond_broadcast(&s->released);
    pthread_mutex_unlock(&s->lock);
}
