/* The holder of the current ACLs: reading the file, reading it again. */
#include "auth/acl_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

/* What tells one state of the file from another. ctime too: a write within the clock's grain changes no mtime. */
struct signature {
    bool            there;
    dev_t           dev;
    ino_t           ino;
    off_t           size;
    struct timespec mtime, ctime;
};

struct acls {
    struct acl_set  *set;   /* published */
    pthread_mutex_t  lock;  /* one reload at a time */
    char            *file;  /* NULL: the defaults, for good */
    struct signature tried; /* the state that was read last, well or not: a bad file is reported once */
};

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same(const struct signature *a, const struct signature *b)
{
    return a->there == b->there && a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           same_time(a->mtime, b->mtime) && same_time(a->ctime, b->ctime);
}

static struct signature signature_of(const struct stat *st)
{
    return (struct signature){ true, st->st_dev, st->st_ino, st->st_size, st->st_mtim, st->st_ctim };
}

static enum fl_status read_all(int fd, const char *file, struct fl_buf *into, struct fl_error *err)
{
    for (;;) {
        enum fl_status s = fl_buf_reserve(into, 64 * 1024, err);
        ssize_t        n;

        if (s != FL_OK)
            return s;
        n = read(fd, fl_buf_tail(into), fl_buf_room(into));
        if (n == 0)
            return FL_OK;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fl_fail(err, FL_SYSTEM, errno, "cannot read %s", file);
        fl_buf_added(into, (size_t)n);
    }
}

/* *seen is the state that was read, also when reading failed. */
static enum fl_status read_file(const char *file, struct signature *seen, struct fl_buf *into, struct fl_error *err)
{
    FL_AUTO_FD  fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    *seen = (struct signature){ 0 };
    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot open %s", file);
    if (fstat(fd, &st) != 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot look at %s", file);
    *seen = signature_of(&st);
    if (!S_ISREG(st.st_mode))
        return fl_fail(err, FL_USAGE, 0, "%s is not a regular file", file);
    if (st.st_size > PROPERTIES_MAX_BYTES)
        return fl_fail(err, FL_MALFORMED, 0, "%s has %lld bytes, where at most %d are allowed", file,
                       (long long)st.st_size, PROPERTIES_MAX_BYTES);
    return read_all(fd, file, into, err);
}

static enum fl_status load(struct acls *a, struct acl_set **out, struct fl_error *err)
{
    struct fl_buf  xml;
    enum fl_status s;

    fl_buf_init(&xml, PROPERTIES_MAX_BYTES + 256 * 1024);
    s = read_file(a->file, &a->tried, &xml, err);
    if (s == FL_OK) {
        s = acl_set_parse(fl_buf_slice(&xml), out, err);
        if (s != FL_OK)
            s = fl_fail_in(err, "ACLs of %s", a->file);
    }
    fl_buf_done(&xml);
    return s;
}

enum fl_status acls_new(struct acls **out, const char *file, struct fl_error *err)
{
    struct acls    *a = calloc(1, sizeof *a);
    struct acl_set *first = NULL;
    struct fl_error ignored;
    enum fl_status  s;

    if (err == NULL)
        err = &ignored;
    if (a == NULL || (file != NULL && (a->file = strdup(file)) == NULL)) {
        free(a);
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the ACLs");
    }
    pthread_mutex_init(&a->lock, NULL);
    s = file == NULL ? acl_set_parse(FL_LIT("<configuration/>"), &first, err) : load(a, &first, err);
    if (s != FL_OK) {
        acls_free(a);
        return s;
    }
    fl_rcu_publish(&a->set, first);
    *out = a;
    return FL_OK;
}

void acls_free(struct acls *a)
{
    if (a == NULL)
        return;
    acl_set_free(a->set);
    pthread_mutex_destroy(&a->lock);
    free(a->file);
    free(a);
}

const struct acl_set *acls_current(struct acls *a)
{
    return fl_rcu_read(&a->set);
}

static void free_set_rcu(struct rcu_head *head)
{
    acl_set_free(FL_CONTAINER(head, struct acl_set, rcu));
}

static bool unchanged(const struct acls *a)
{
    struct stat      st;
    struct signature now = { 0 };

    if (stat(a->file, &st) == 0)
        now = signature_of(&st);
    return same(&now, &a->tried);
}

enum fl_status acls_reload(struct acls *a, bool force, bool *changed, struct fl_error *err)
{
    struct acl_set *next = NULL, *old;
    struct fl_error ignored;
    enum fl_status  s;

    *changed = false;
    if (a->file == NULL)
        return FL_OK;
    pthread_mutex_lock(&a->lock);
    if (!force && unchanged(a)) {
        pthread_mutex_unlock(&a->lock);
        return FL_OK;
    }
    s = load(a, &next, err == NULL ? &ignored : err);
    if (s == FL_OK) {
        old = a->set; /* only written under the lock */
        fl_rcu_publish(&a->set, next);
        fl_rcu_free(&old->rcu, free_set_rcu);
        *changed = true;
    }
    pthread_mutex_unlock(&a->lock);
    return s;
}
