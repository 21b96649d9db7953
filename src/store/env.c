#include "store/inside.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MAP_DEFAULT (UINT64_C(64) << 30)
#define MAP_LEAST (UINT64_C(1) << 20)
enum { OPEN_TRIES = 64, FULL_BELOW_BYTES = 16 << 20 };

const char *const store_table_names[STORE_TABLES] = {
    [STORE_KEYS] = "keys",         [STORE_KEY_VERSIONS] = "key_versions",
    [STORE_TOKENS] = "tokens",     [STORE_MASTER_KEYS] = "master_keys",
    [STORE_COUNTERS] = "counters", [STORE_META] = "meta",
};

void env_close(struct env *e)
{
    if (e->lmdb != NULL)
        mdb_env_close(e->lmdb);
    e->lmdb = NULL;
}

/* Where LMDB writes less than was asked for it returns EIO, and that is what a disk gives that fills up just then. */
static bool looks_full(const struct env *e)
{
    struct statvfs disk;
    struct rlimit  limit;

    return (statvfs(e->dir, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < FULL_BELOW_BYTES) ||
           (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY);
}

enum fl_status env_fail(struct fl_error *err, const struct env *e, int rc, const char *doing)
{
    switch (rc) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return fl_fail(err, FL_SYSTEM, rc, "disk full while %s in %s", doing, e->dir);
    case EIO:
        return looks_full(e) ? fl_fail(err, FL_SYSTEM, ENOSPC, "disk full while %s in %s", doing, e->dir)
                             : fl_fail(err, FL_SYSTEM, rc, "the disk failed while %s in %s", doing, e->dir);
    case ENOMEM: return fl_fail(err, FL_NO_MEMORY, rc, "no memory while %s in %s", doing, e->dir);
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
        return fl_fail(err, FL_MALFORMED, 0, "the store in %s is damaged (%s): restore a backup", e->dir,
                       mdb_strerror(rc));
    default:
        return fl_fail(err, FL_SYSTEM, rc > 0 ? rc : 0, "%s in %s failed%s%s", doing, e->dir, rc < 0 ? ": " : "",
                       rc < 0 ? mdb_strerror(rc) : "");
    }
}

static uint64_t length_by_pages(MDB_env *lmdb)
{
    MDB_envinfo info;
    MDB_stat    stat;

    mdb_env_info(lmdb, &info);
    mdb_env_stat(lmdb, &stat);
    return ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize;
}

static int descriptor(MDB_env *lmdb)
{
    mdb_filehandle_t fd = -1;

    mdb_env_get_fd(lmdb, &fd);
    return fd;
}

enum fl_status env_check_length(MDB_env *lmdb, const char *file, struct fl_error *err)
{
    struct stat st;

    if (fstat(descriptor(lmdb), &st) != 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot look at %s", file);
    if ((uint64_t)st.st_size < length_by_pages(lmdb))
        return fl_fail(err, FL_MALFORMED, 0, "%s has %llu bytes, where %llu belong to it: it is cut off", file,
                       (unsigned long long)st.st_size, (unsigned long long)length_by_pages(lmdb));
    return FL_OK;
}

/* Reading a mapped file past its end ends the process. A file may be shorter than its pages in good order, since LMDB
 * doesn't write pages that were taken and given back within one transaction; or it was cut off, and then the zeros
 * that come to stand there are told from records. */
static int lengthen(MDB_env *lmdb)
{
    struct stat st;

    if (fstat(descriptor(lmdb), &st) != 0)
        return errno;
    if ((uint64_t)st.st_size >= length_by_pages(lmdb))
        return 0;
    return ftruncate(descriptor(lmdb), (off_t)length_by_pages(lmdb)) == 0 ? 0 : errno;
}

static int open_tables(struct env *e)
{
    MDB_txn *txn;
    int      rc = mdb_txn_begin(e->lmdb, NULL, 0, &txn);

    if (rc != 0)
        return rc;
    for (int t = 0; t < STORE_TABLES; t++) {
        if ((rc = mdb_dbi_open(txn, store_table_names[t], MDB_CREATE, &e->tables[t])) != 0) {
            mdb_txn_abort(txn);
            return rc;
        }
    }
    return mdb_txn_commit(txn);
}

static int open_once(struct env *e, uint64_t map_bytes)
{
    int rc = mdb_env_create(&e->lmdb);

    if (rc != 0)
        return rc;
    /* Without any of LMDB's flags that trade safety: a commit is on disk when it returns. */
    if ((rc = mdb_env_set_mapsize(e->lmdb, (size_t)map_bytes)) == 0 &&
        (rc = mdb_env_set_maxdbs(e->lmdb, STORE_TABLES)) == 0 && (rc = mdb_env_open(e->lmdb, e->dir, 0, 0600)) == 0 &&
        (rc = lengthen(e->lmdb)) == 0 && (rc = open_tables(e)) == 0) {
        MDB_envinfo info;
        mdb_env_info(e->lmdb, &info);
        e->map_bytes = info.me_mapsize;
        return 0;
    }
    env_close(e);
    return rc;
}

static enum fl_status open_fitting(struct env *e, uint64_t map_bytes, struct fl_error *err)
{
    int rc = 0;

    for (int i = 0; i < OPEN_TRIES; i++) {
        if ((rc = open_once(e, map_bytes)) == 0)
            return FL_OK;
        if (rc == MDB_MAP_FULL) /* too small even for empty tables */
            map_bytes *= 2;
        else if (rc == ENOMEM && map_bytes / 2 >= MAP_LEAST) /* the address space is limited */
            map_bytes /= 2;
        else
            break;
    }
    return env_fail(err, e, rc, "opening the store");
}

enum fl_status env_open(struct env *e, const char *dir, uint64_t map_bytes, struct fl_error *err)
{
    if ((e->dir = strdup(dir)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path");
    return open_fitting(e, map_bytes == 0 ? MAP_DEFAULT : map_bytes, err);
}

/* Growing in place would leave LMDB with pointers into nothing when the larger map is refused. Opening anew costs
 * little and ends well both ways: nothing but the file is needed, for all readers' data lies in the tables. */
enum fl_status env_grow(struct env *e, struct fl_error *err)
{
    uint64_t before = e->map_bytes;

    env_close(e);
    if (open_once(e, before * 2) == 0)
        return FL_OK;
    if (open_fitting(e, before, err) != FL_OK)
        return fl_fail_in(err, "after a refused attempt to make the store's map larger");
    return fl_fail(err, FL_SYSTEM, 0,
                   "the store's map of %llu bytes is full, and the system refuses a larger one: raise the limit on "
                   "address space (ulimit -v)",
                   (unsigned long long)before);
}

enum fl_status env_reopen(struct env *e, struct fl_error *err)
{
    env_close(e);
    return open_fitting(e, e->map_bytes, err);
}

uint64_t env_used_bytes(const struct env *e)
{
    return length_by_pages(e->lmdb);
}
