#include "store/inside.h"

#include <openssl/evp.h>

/* A value in the clear, until apply has returned. */
struct opened {
    struct opened *next;
    size_t         len;
    uint8_t        bytes[];
};

void txn_forget_opened(struct store_txn *t)
{
    while (t->opened != NULL) {
        struct opened *o = t->opened;
        t->opened = o->next;
        fl_wipe(o->bytes, o->len);
        free(o);
    }
}

size_t store_name_key(struct fl_slice name, uint8_t out[STORE_NAME_KEY_MAX])
{
    unsigned len = 0;

    if (name.len <= STORE_NAME_MAX) {
        out[0] = 'n';
        if (name.len > 0)
            memcpy(out + 1, name.at, name.len);
        return 1 + name.len;
    }
    out[0] = 'h';
    /* Cannot fail for want of anything but the algorithm, and libcrypto without SHA-256 has failed before this. */
    if (EVP_Digest(name.at, name.len, out + 1, &len, EVP_sha256(), NULL) != 1)
        abort();
    return 1 + len;
}

static enum fl_status check_key(enum store_table table, struct fl_slice key, struct fl_error *err)
{
    if (key.len == 0 || key.len > STORE_KEY_MAX)
        return fl_fail(err, FL_USAGE, 0, "a record key of %zu bytes, where 1 to %d are allowed", key.len,
                       STORE_KEY_MAX);
    if (table == STORE_META && fl_slice_equal(key, HEADER_KEY))
        return fl_fail(err, FL_USAGE, 0, "the record 'header' is the store's own");
    return FL_OK;
}

static MDB_val val_of(struct fl_slice s)
{
    return (MDB_val){ s.len, (void *)(uintptr_t)s.at }; /* LMDB doesn't write through it */
}

static enum fl_status failed(struct store_txn *t, int rc, const char *doing, enum store_table table,
                             struct fl_error *err)
{
    t->failed = rc;
    env_fail(err, &t->store->env, rc, doing);
    return fl_fail_in(err, "table %s", store_table_names[table]);
}

static enum fl_status nothing_there(enum store_table table, struct fl_error *err)
{
    return fl_fail(err, FL_NOT_FOUND, 0, "table %s has no such record", store_table_names[table]);
}

enum fl_status store_get(struct store_txn *t, enum store_table table, struct fl_slice key, struct fl_slice *value,
                         struct fl_error *err)
{
    enum fl_status s = check_key(table, key, err);
    MDB_val        k = val_of(key), v;
    struct opened *o;
    int            rc;

    if (s != FL_OK)
        return s;
    rc = mdb_get(t->lmdb, t->store->env.tables[table], &k, &v);
    if (rc == MDB_NOTFOUND)
        return nothing_there(table, err);
    if (rc != 0)
        return failed(t, rc, "reading a record", table, err);
    if ((o = malloc(sizeof *o + v.mv_size)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a record of %zu bytes", v.mv_size);
    o->next = t->opened;
    o->len = v.mv_size; /* a little more than will be used: all of it is wiped */
    t->opened = o;
    s = seal_open(t->store->seal, store_table_names[table], key, fl_slice_of(v.mv_data, v.mv_size), o->bytes, err);
    if (s != FL_OK)
        return s;
    *value = fl_slice_of(o->bytes, v.mv_size - SEAL_OVERHEAD);
    return FL_OK;
}

enum fl_status store_put(struct store_txn *t, enum store_table table, struct fl_slice key, struct fl_slice value,
                         struct fl_error *err)
{
    enum fl_status s = check_key(table, key, err);
    MDB_val        k = val_of(key), v = { value.len + SEAL_OVERHEAD, NULL };
    int            rc;

    if (s != FL_OK)
        return s;
    if (value.len > INT32_MAX)
        return fl_fail(err, FL_USAGE, 0, "a record of %zu bytes, where at most %d are allowed", value.len, INT32_MAX);
    t->writes++;
    /* Sealed right into the page. */
    rc = mdb_put(t->lmdb, t->store->env.tables[table], &k, &v, MDB_RESERVE);
    if (rc != 0)
        return failed(t, rc, "writing a record", table, err);
    return seal_close(t->store->seal, store_table_names[table], key, value, v.mv_data, err);
}

enum fl_status store_delete(struct store_txn *t, enum store_table table, struct fl_slice key, struct fl_error *err)
{
    enum fl_status s = check_key(table, key, err);
    MDB_val        k = val_of(key);
    int            rc;

    if (s != FL_OK)
        return s;
    rc = mdb_del(t->lmdb, t->store->env.tables[table], &k, NULL);
    if (rc == MDB_NOTFOUND)
        return nothing_there(table, err);
    if (rc != 0)
        return failed(t, rc, "deleting a record", table, err);
    t->writes++;
    return FL_OK;
}

/* ---- scanning
 * -------------------------------------------------------------------------------------------------------------- */

enum { QUIESCENT_EACH = 256 };

struct scan {
    struct task      task;
    enum store_table table;
    enum fl_status (*each)(void *ctx, struct fl_slice key, struct fl_slice value, struct fl_error *err);
    void    *ctx;
    uint8_t *plain; /* room for one value */
    size_t   room;
};

static enum fl_status give_one(struct store *s, struct scan *scan, MDB_val k, MDB_val v, struct fl_error *err)
{
    struct fl_slice key = fl_slice_of(k.mv_data, k.mv_size);
    enum fl_status  status;

    if (scan->table == STORE_META && fl_slice_equal(key, HEADER_KEY))
        return FL_OK;
    if (v.mv_size > scan->room) {
        uint8_t *more = malloc(v.mv_size * 2);
        if (more == NULL)
            return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a record of %zu bytes", v.mv_size);
        free(scan->plain);
        scan->plain = more;
        scan->room = v.mv_size * 2;
    }
    status =
        seal_open(s->seal, store_table_names[scan->table], key, fl_slice_of(v.mv_data, v.mv_size), scan->plain, err);
    if (status == FL_OK)
        status = scan->each(scan->ctx, key, fl_slice_of(scan->plain, v.mv_size - SEAL_OVERHEAD), err);
    fl_wipe(scan->plain, v.mv_size);
    return status;
}

static enum fl_status scan_records(struct store *s, struct scan *scan, MDB_cursor *cursor, struct fl_error *err)
{
    MDB_val        k, v;
    enum fl_status status = FL_OK;
    int            rc = 0;

    for (unsigned n = 1; status == FL_OK && (rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT)) == 0; n++) {
        status = give_one(s, scan, k, v, err);
        if (n % QUIESCENT_EACH == 0) { /* a table that is being filled waits for this to grow */
            fl_rcu_offline();
            fl_rcu_online();
        }
    }
    if (rc != 0 && rc != MDB_NOTFOUND)
        return env_fail(err, &s->env, rc, "reading records");
    return status;
}

static enum fl_status run_scan(struct store *s, struct task *task, struct fl_error *err)
{
    struct scan   *scan = FL_CONTAINER(task, struct scan, task);
    MDB_txn       *txn;
    MDB_cursor    *cursor;
    enum fl_status status;
    int            rc = s->env.lmdb == NULL ? MDB_PANIC : mdb_txn_begin(s->env.lmdb, NULL, MDB_RDONLY, &txn);

    if (rc != 0)
        return env_fail(err, &s->env, rc, "reading records");
    rc = mdb_cursor_open(txn, s->env.tables[scan->table], &cursor);
    if (rc == 0) {
        status = scan_records(s, scan, cursor, err);
        mdb_cursor_close(cursor);
    } else {
        status = env_fail(err, &s->env, rc, "reading records");
    }
    mdb_txn_abort(txn);
    free(scan->plain);
    return status;
}

enum fl_status store_scan(struct store *s, enum store_table table,
                          enum fl_status (*each)(void *ctx, struct fl_slice key, struct fl_slice value,
                                                 struct fl_error *err),
                          void *ctx, struct fl_error *err)
{
    struct scan scan = { .task.run = run_scan, .table = table, .each = each, .ctx = ctx };

    return writer_do(s, &scan.task, err);
}
