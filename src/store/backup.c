#include "store/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- backup
 * ----------------------------------------------------------------------------------------------------------------------
 */

struct backup {
    struct task task;
    const char *file;
    int         fd;
};

/* Compacted, and by the store's thread: the copy is the state between two commits. Changes wait meanwhile. */
static enum fl_status copy_out(struct store *s, struct task *task, struct fl_error *err)
{
    struct backup *b = FL_CONTAINER(task, struct backup, task);
    int            rc;

    if (s->env.lmdb == NULL)
        return fl_fail(err, FL_SYSTEM, 0, "the store could not be opened again after its disk failed");
    rc = mdb_env_copyfd2(s->env.lmdb, b->fd, MDB_CP_COMPACT);
    if (rc != 0)
        return fl_fail(err, FL_SYSTEM, rc > 0 ? rc : 0, "cannot write the backup %s%s%s", b->file, rc < 0 ? ": " : "",
                       rc < 0 ? mdb_strerror(rc) : "");
    return FL_OK;
}

/* From a complete draft to the file: all or nothing, also after a power failure. */
static enum fl_status put_in_place(int fd, const char *draft, const char *file, struct fl_error *err)
{
    FL_AUTO_MEM char *folder = folder_of(file);

    if (folder == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path");
    if (fsync(fd) != 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot write %s to disk", draft);
    if (rename(draft, file) != 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot rename %s to %s", draft, file);
    return folder_sync(folder, err);
}

enum fl_status store_backup(struct store *s, const char *file, struct fl_error *err)
{
    FL_AUTO_MEM char *draft = NULL;
    FL_AUTO_FD        fd = -1;
    struct backup     b = { .task.run = copy_out, .file = file };
    enum fl_status    status;

    if (asprintf(&draft, "%s.tmp", file) < 0)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path");
    fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return fl_fail(err, FL_EXISTS, 0, "%s is there: another backup is under way, or one broke off; then remove it",
                       draft);
    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot make %s", draft);
    b.fd = fd;
    if ((status = writer_do(s, &b.task, err)) != FL_OK || (status = put_in_place(fd, draft, file, err)) != FL_OK)
        unlink(draft);
    return status;
}

/* ---- restore
 * ------------------------------------------------------------------------------------------------------------------------
 */

static enum fl_status copy_in(const char *file, int from, int to, struct fl_error *err)
{
    for (;;) {
        uint8_t part[64 * 1024];
        ssize_t n = read(from, part, sizeof part);
        if (n < 0)
            return fl_fail(err, FL_SYSTEM, errno, "cannot read the backup %s", file);
        if (n == 0)
            return FL_OK;
        for (ssize_t done = 0, w; done < n; done += w)
            if ((w = write(to, part + done, (size_t)(n - done))) < 0)
                return fl_fail(err, FL_SYSTEM, errno, "cannot copy the backup %s", file);
    }
}

static enum fl_status find_header(MDB_env *lmdb, const char *file, struct fl_error *err)
{
    MDB_txn       *txn;
    MDB_dbi        meta;
    MDB_val        k = { HEADER_KEY.len, (void *)(uintptr_t)HEADER_KEY.at }, v;
    enum fl_status status;
    int            rc = mdb_txn_begin(lmdb, NULL, MDB_RDONLY, &txn);

    if (rc != 0)
        return fl_fail(err, FL_MALFORMED, 0, "%s is no backup of a store: %s", file, mdb_strerror(rc));
    if ((rc = mdb_dbi_open(txn, store_table_names[STORE_META], 0, &meta)) == 0)
        rc = mdb_get(txn, meta, &k, &v);
    status = rc == 0 ? header_check(fl_slice_of(v.mv_data, v.mv_size), err)
                     : fl_fail(err, FL_MALFORMED, 0, "%s is no backup of a store: %s", file, mdb_strerror(rc));
    mdb_txn_abort(txn);
    return status;
}

/* LMDB has no checksums, so this finds files of another kind and cut-off ones; damage inside is found by the seals. */
static enum fl_status check_copy(const char *file, const char *copy, struct fl_error *err)
{
    MDB_env       *lmdb = NULL;
    enum fl_status status;
    int            rc = mdb_env_create(&lmdb);

    if (rc != 0)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for looking at a backup");
    mdb_env_set_maxdbs(lmdb, STORE_TABLES);
    rc = mdb_env_open(lmdb, copy, MDB_NOSUBDIR | MDB_RDONLY | MDB_NOLOCK, 0600);
    if (rc != 0)
        status = fl_fail(err, FL_MALFORMED, 0, "%s is no backup of a store: %s", file, mdb_strerror(rc));
    else if ((status = env_check_length(lmdb, file, err)) == FL_OK)
        status = find_header(lmdb, file, err);
    mdb_env_close(lmdb);
    return status;
}

static enum fl_status restore_into(const char *file, const char *data, struct fl_error *err)
{
    FL_AUTO_FD        from = open(file, O_RDONLY | O_CLOEXEC), to = -1;
    FL_AUTO_MEM char *draft = NULL;
    enum fl_status    status;

    if (from < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot open the backup %s", file);
    if (asprintf(&draft, "%s.tmp", data) < 0)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path");
    to = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600); /* ours alone: the folder is locked */
    if (to < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot make %s", draft);
    if ((status = copy_in(file, from, to, err)) != FL_OK || (status = check_copy(file, draft, err)) != FL_OK ||
        (status = put_in_place(to, draft, data, err)) != FL_OK)
        unlink(draft);
    return status;
}

enum fl_status store_restore(const char *file, const char *data_dir, struct fl_error *err)
{
    FL_AUTO_MEM char *data = folder_join(data_dir, "data.mdb");
    FL_AUTO_FD        lock = -1;
    enum fl_status    status;

    if (data == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path");
    if ((status = folder_take(data_dir, &lock, err)) != FL_OK)
        return status;
    if (access(data, F_OK) == 0)
        return fl_fail(err, FL_EXISTS, 0, "%s holds a store already: restore into another folder, or move %s away",
                       data_dir, data);
    return restore_into(file, data, err);
}
