#include "store/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *folder_join(const char *dir, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

char *folder_of(const char *file)
{
    const char *slash = strrchr(file, '/');

    if (slash == NULL)
        return strdup(".");
    return slash == file ? strdup("/") : strndup(file, (size_t)(slash - file));
}

enum fl_status folder_sync(const char *dir, struct fl_error *err)
{
    FL_AUTO_FD fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot open folder %s", dir);
    if (fsync(fd) != 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot write folder %s to disk", dir);
    return FL_OK;
}

static enum fl_status make_missing(const char *dir, struct fl_error *err)
{
    char          *above;
    enum fl_status s;

    if (mkdir(dir, 0700) != 0)
        return errno == EEXIST ? FL_OK : fl_fail(err, FL_SYSTEM, errno, "cannot make the data folder %s", dir);
    if ((above = folder_of(dir)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path");
    s = folder_sync(above, err);
    free(above);
    return s;
}

static enum fl_status check_mode(const char *dir, struct fl_error *err)
{
    struct stat st;

    if (stat(dir, &st) != 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot look at the data folder %s", dir);
    if (!S_ISDIR(st.st_mode))
        return fl_fail(err, FL_USAGE, 0, "%s is no folder, where the data folder is wanted", dir);
    if ((st.st_mode & 022) != 0)
        return fl_fail(err, FL_USAGE, 0, "others may write the data folder %s (mode %04o): chmod 700 %s", dir,
                       (unsigned)st.st_mode & 07777, dir);
    return FL_OK;
}

static enum fl_status refuse_second(const char *dir, int fd, struct fl_error *err)
{
    char    pid[16] = "";
    ssize_t n = pread(fd, pid, sizeof pid - 1, 0);

    pid[n > 0 ? strcspn(pid, "\n") : 0] = '\0';
    return fl_fail(err, FL_BUSY, 0, "the data folder %s is in use by process %s: stop that one, or use another folder",
                   dir, pid[0] == '\0' ? "(unknown)" : pid);
}

static enum fl_status lock_open_file(const char *dir, int fd, struct fl_error *err)
{
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? refuse_second(dir, fd, err)
                                    : fl_fail(err, FL_SYSTEM, errno, "cannot lock the data folder %s", dir);
    /* For people only: the lock itself is the kernel's, so a full disk must not keep the server from starting. */
    if (ftruncate(fd, 0) == 0)
        dprintf(fd, "%d\n", (int)getpid());
    return FL_OK;
}

/* The file stays when the lock is given up: removing it would let two processes lock two files of one name. */
enum fl_status folder_take(const char *dir, int *lock, struct fl_error *err)
{
    FL_AUTO_MEM char *path = folder_join(dir, "lock");
    enum fl_status    s;
    int               fd;

    if (path == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path");
    if ((s = make_missing(dir, err)) != FL_OK || (s = check_mode(dir, err)) != FL_OK)
        return s;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot open %s: the data folder must be writable", path);
    if ((s = lock_open_file(dir, fd, err)) == FL_OK)
        *lock = fd;
    else
        close(fd);
    return s;
}
