#include "auth/cookie_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

enum { RANDOM_SECRET_LEN = 32, SECRET_FILE_MAX = 64 * 1024 };

bool cookie_sign(uint64_t id, const struct fl_secret *secret, struct fl_slice text, char out[COOKIE_SIGNATURE_LEN])
{
    uint8_t mac[AUTH_MAC_LEN];
    char    encoded[COOKIE_SIGNATURE_LEN + 1];

    if (!auth_mac(id, fl_secret_slice(secret), text, mac))
        return false;
    EVP_EncodeBlock((unsigned char *)encoded, mac, AUTH_MAC_LEN);
    memcpy(out, encoded, COOKIE_SIGNATURE_LEN);
    return true;
}

/* ---- the secrets ------------------------------------------------------------------------------------------------- */

static void free_secrets(struct cookie_secrets *s)
{
    if (s == NULL)
        return;
    fl_secret_free(s->current);
    fl_secret_free(s->previous);
    free(s);
}

static void free_secrets_rcu(struct rcu_head *head)
{
    free_secrets(FL_CONTAINER(head, struct cookie_secrets, rcu));
}

/* Takes current over, also on failure. old NULL: the first. Each set has its own copies, so that the old one can be
 * freed by itself; the ids go with the secret, so that threads keep their contexts. */
static struct cookie_secrets *new_secrets(struct fl_secret *current, const struct cookie_secrets *old)
{
    struct cookie_secrets *s = calloc(1, sizeof *s);

    if (s == NULL || current == NULL) {
        fl_secret_free(current);
        free(s);
        return NULL;
    }
    s->current = current;
    s->current_id = auth_mac_id();
    if (old != NULL) {
        s->previous = fl_secret_copy(fl_secret_slice(old->current));
        s->previous_id = old->current_id;
        if (s->previous == NULL) {
            free_secrets(s);
            return NULL;
        }
    }
    return s;
}

/* Reads at most room bytes; the count, or -1. */
static ssize_t read_whole(int fd, uint8_t *into, size_t room)
{
    size_t len = 0;

    while (len < room) {
        ssize_t n = read(fd, into + len, room - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    return (ssize_t)len;
}

/* 3.1: the secret is the whole content, trailing newline included. Java decodes it as UTF-8 and encodes it again,
 * which changes other bytes: refused here, since the cookies of the two would not match. */
static enum fl_status read_secret_file(const char *path, struct fl_secret **out, struct fl_error *err)
{
    FL_AUTO(fl_secret) whole = fl_secret_new(SECRET_FILE_MAX);
    FL_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t    len;

    if (fd < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot open the cookie secret file %s", path);
    if (whole == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the cookie secret");
    len = read_whole(fd, fl_secret_bytes(whole), SECRET_FILE_MAX);
    if (len < 0)
        return fl_fail(err, FL_SYSTEM, errno, "cannot read the cookie secret file %s", path);
    if (len == 0 || len == SECRET_FILE_MAX)
        return fl_fail(err, FL_USAGE, 0, "the cookie secret file %s holds %s, where 1 to %d are allowed", path,
                       len == 0 ? "0 bytes" : "more bytes", SECRET_FILE_MAX - 1);
    if (!fl_utf8_valid(fl_slice_of(fl_secret_bytes(whole), (size_t)len)))
        return fl_fail(err, FL_USAGE, 0,
                       "the cookie secret file %s is not UTF-8 text: Java servers would sign otherwise", path);
    *out = fl_secret_copy(fl_slice_of(fl_secret_bytes(whole), (size_t)len));
    return *out == NULL ? fl_fail(err, FL_NO_MEMORY, 0, "no memory for the cookie secret") : FL_OK;
}

static enum fl_status first_secret(const char *file, struct fl_secret **out, struct fl_error *err)
{
    if (file != NULL)
        return read_secret_file(file, out, err);
    *out = fl_secret_random(RANDOM_SECRET_LEN);
    return *out == NULL ? fl_fail(err, FL_NO_MEMORY, 0, "no memory or entropy for the cookie secret") : FL_OK;
}

/* ---- the holder -------------------------------------------------------------------------------------------------- */

static enum fl_status set_type(struct auth_cookies *c, const char *type, struct fl_error *err)
{
    struct fl_slice given = fl_slice_str(type);

    if (fl_slice_equal(given, FL_LIT("simple-dt")))
        c->type = FL_LIT("simple-dt");
    else if (fl_slice_equal(given, FL_LIT("kerberos-dt")))
        c->type = FL_LIT("kerberos-dt");
    else
        return fl_fail(err, FL_USAGE, 0, "cookie type '%s', where simple-dt and kerberos-dt are allowed",
                       type == NULL ? "" : type);
    return FL_OK;
}

/* A cookie attribute that could end the attribute, the header or the message is refused. */
static enum fl_status copy_attribute(const char *name, const char *value, char **out, struct fl_error *err)
{
    if (value == NULL || *value == '\0')
        return FL_OK;
    for (const char *p = value; *p != '\0'; p++)
        if (*p <= ' ' || *p > '~' || *p == ';' || *p == ',')
            return fl_fail(err, FL_USAGE, 0,
                           "cookie %s '%s' has the byte 0x%02x, where printable ASCII without ';', "
                           "',' and blanks is allowed",
                           name, value, (unsigned char)*p);
    *out = strdup(value);
    return *out == NULL ? fl_fail(err, FL_NO_MEMORY, 0, "no memory for the cookie %s", name) : FL_OK;
}

static enum fl_status configure(struct auth_cookies *c, const struct auth_cookies_config *config, struct fl_error *err)
{
    enum fl_status s = set_type(c, config->type, err);

    if (s == FL_OK)
        s = copy_attribute("path", config->path, &c->path, err);
    if (s == FL_OK)
        s = copy_attribute("domain", config->domain, &c->domain, err);
    c->validity_ms = (int64_t)(config->validity_ns / FL_NS_PER_MS);
    if (s == FL_OK && c->validity_ms <= 0)
        return fl_fail(err, FL_USAGE, 0, "cookie validity of %llu ns, where at least 1 ms is needed",
                       (unsigned long long)config->validity_ns);
    c->persistent = config->persistent;
    c->secure = config->secure;
    c->rolls = config->secret_file == NULL;
    return s;
}

enum fl_status auth_cookies_new(struct auth_cookies **out, const struct auth_cookies_config *config,
                                struct fl_error *err)
{
    struct auth_cookies *c = calloc(1, sizeof *c);
    struct fl_secret    *secret = NULL;
    enum fl_status       s;

    if (c == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the cookie settings");
    atomic_flag_clear(&c->rolling);
    s = configure(c, config, err);
    if (s == FL_OK)
        s = first_secret(config->secret_file, &secret, err);
    if (s == FL_OK) {
        struct cookie_secrets *first = new_secrets(secret, NULL);

        if (first == NULL)
            s = fl_fail(err, FL_NO_MEMORY, 0, "no memory for the cookie secret");
        else
            fl_rcu_publish(&c->secrets, first);
    }
    if (s != FL_OK) {
        auth_cookies_free(c);
        return s;
    }
    *out = c;
    return FL_OK;
}

void auth_cookies_free(struct auth_cookies *c)
{
    if (c == NULL)
        return;
    free_secrets(c->secrets);
    free(c->path);
    free(c->domain);
    free(c);
}

/* Without memory the old secret serves on; the next tick tries again. */
static bool roll(struct auth_cookies *c)
{
    struct cookie_secrets *old = c->secrets; /* only the writer is here, so a plain read will do */
    struct cookie_secrets *next = new_secrets(fl_secret_random(RANDOM_SECRET_LEN), old);

    if (next == NULL)
        return false;
    fl_rcu_publish(&c->secrets, next);
    fl_rcu_free(&old->rcu, free_secrets_rcu);
    return true;
}

void auth_cookies_tick(struct auth_cookies *c, int64_t now_ms)
{
    int64_t due = atomic_load_explicit(&c->next_roll_ms, memory_order_relaxed);

    if (!c->rolls || (due != 0 && now_ms < due) || atomic_flag_test_and_set_explicit(&c->rolling, memory_order_acquire))
        return;
    due = atomic_load_explicit(&c->next_roll_ms, memory_order_relaxed); /* another thread may just have rolled */
    if (due == 0) {
        due = now_ms + c->validity_ms;
    } else if (now_ms >= due && roll(c)) {
        /* After a long pause (a suspended machine) the secret made just now would become the previous one although
         * nothing was signed with it, and the one before it is too old to be accepted: so it is rolled twice. */
        if (now_ms - due >= c->validity_ms)
            FL_IGNORE(roll(c)); /* the next period repeats it */
        due = now_ms - due >= c->validity_ms ? now_ms + c->validity_ms : due + c->validity_ms;
    }
    atomic_store_explicit(&c->next_roll_ms, due, memory_order_relaxed);
    atomic_flag_clear_explicit(&c->rolling, memory_order_release);
}
