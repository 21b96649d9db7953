#include "base/encode.h"
#include "store/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PASSPHRASE_MAX = 64 * 1024, MADE_BYTES = 32 };

static enum fl_status write_all(int fd, struct fl_slice bytes, const char *file, struct fl_error *err)
{
    while (bytes.len > 0) {
        ssize_t n = write(fd, bytes.at, bytes.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fl_fail(err, FL_SYSTEM, errno, "cannot write %s", file);
        bytes = fl_slice_from(bytes, (size_t)n);
    }
    return FL_OK;
}

static enum fl_status write_random(int fd, const char *file, struct fl_error *err)
{
    FL_AUTO(fl_secret) bytes = fl_secret_random(MADE_BYTES);
    FL_AUTO(fl_secret) text = fl_secret_new(FL_HEX_LEN(MADE_BYTES) + 1);
    static const char digits[] = "0123456789abcdef";
    enum fl_status    s;

    if (bytes == NULL || text == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a passphrase");
    for (size_t i = 0; i < MADE_BYTES; i++) {
        uint8_t byte = fl_secret_bytes(bytes)[i];
        fl_secret_bytes(text)[2 * i] = (uint8_t)digits[byte >> 4];
        fl_secret_bytes(text)[2 * i + 1] = (uint8_t)digits[byte & 15];
    }
    fl_secret_bytes(text)[FL_HEX_LEN(MADE_BYTES)] = '\n';
    if ((s = write_all(fd, fl_secret_slice(text), file, err)) != FL_OK)
        return s;
    return fsync(fd) == 0 ? FL_OK : fl_fail(err, FL_SYSTEM, errno, "cannot write %s to disk", file);
}

/* Whole or not at all: half a passphrase left by a crash would be taken for one. link() refuses an existing name as
 * O_EXCL does. */
static enum fl_status make_file(const char *file, struct fl_error *err)
{
    FL_AUTO_MEM char *folder = folder_of(file), *draft = NULL;
    FL_AUTO_FD        fd = -1;
    enum fl_status    s;

    if (folder == NULL || asprintf(&draft, "%s.%d.new", file, (int)getpid()) < 0)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a path");
    unlink(draft); /* of a process that died with this pid */
    fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot make the passphrase file %s", file);
    s = write_random(fd, draft, err);
    if (s == FL_OK && link(draft, file) != 0)
        s = fl_fail(err, FL_SYSTEM, errno, "cannot make the passphrase file %s", file);
    unlink(draft);
    return s == FL_OK ? folder_sync(folder, err) : s;
}

static enum fl_status check_file(int fd, const char *file, struct fl_error *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot look at the passphrase file %s", file);
    if (!S_ISREG(st.st_mode))
        return fl_fail(err, FL_USAGE, 0, "the passphrase file %s is no regular file", file);
    if ((st.st_mode & 077) != 0)
        return fl_fail(err, FL_USAGE, 0, "others have access to the passphrase file %s (mode %04o): chmod 600 %s", file,
                       (unsigned)st.st_mode & 07777, file);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return fl_fail(err, FL_USAGE, 0, "the passphrase file %s belongs to user %u, not to this process's user %u",
                       file, (unsigned)st.st_uid, (unsigned)geteuid());
    if (st.st_size < 1 || st.st_size > PASSPHRASE_MAX)
        return fl_fail(err, FL_USAGE, 0, "the passphrase file %s has %lld bytes, where 1 to %d are allowed", file,
                       (long long)st.st_size, PASSPHRASE_MAX);
    return FL_OK;
}

/* At most PASSPHRASE_MAX bytes, even of a file that grows meanwhile. */
static enum fl_status read_all(int fd, const char *file, struct fl_secret *into, size_t *len, struct fl_error *err)
{
    size_t got = 0;

    while (got < PASSPHRASE_MAX) {
        ssize_t n = read(fd, fl_secret_bytes(into) + got, PASSPHRASE_MAX - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return fl_fail(err, FL_SYSTEM, errno, "cannot read the passphrase file %s", file);
        if (n == 0)
            break;
        got += (size_t)n;
    }
    *len = got;
    return FL_OK;
}

static struct fl_slice without_newline(struct fl_slice s)
{
    if (s.len > 0 && s.at[s.len - 1] == '\n')
        s.len--;
    if (s.len > 0 && s.at[s.len - 1] == '\r')
        s.len--;
    return s;
}

enum fl_status passphrase_read(const char *file, bool may_make, struct fl_secret **out, struct fl_error *err)
{
    FL_AUTO(fl_secret) all = fl_secret_new(PASSPHRASE_MAX);
    FL_AUTO_FD      fd = open(file, O_RDONLY | O_CLOEXEC);
    struct fl_slice passphrase;
    enum fl_status  s = FL_OK;
    size_t          len = 0;

    if (fd < 0 && errno == ENOENT && may_make) {
        if ((s = make_file(file, err)) != FL_OK)
            return s;
        fd = open(file, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot open the passphrase file %s", file);
    if (all == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a passphrase");
    if ((s = check_file(fd, file, err)) != FL_OK || (s = read_all(fd, file, all, &len, err)) != FL_OK)
        return s;
    passphrase = without_newline(fl_slice_of(fl_secret_bytes(all), len));
    if (passphrase.len == 0)
        return fl_fail(err, FL_USAGE, 0, "the passphrase file %s holds nothing but a newline", file);
    if ((*out = fl_secret_copy(passphrase)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a passphrase");
    return FL_OK;
}
