/* The KMS as a whole: what is opened in which order, and closed in the opposite one. */
#include "kms/server.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rcu.h"
#include "kms/control.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static bool given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static const char *or_null(const char *text)
{
    return given(text) ? text : NULL;
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

/* Beside connections: the store, logs, files that are read again, listeners, and what each reactor waits with. */
enum { FILES = 64, FILES_A_REACTOR = 8, LEAST_CONNECTIONS = 16 };

/* Connections must not use up the descriptors that reading ACLs again or reopening a log will need. So the limit is
 * raised as far as the system lets us, and where that is not enough, fewer connections are taken. */
static FL_CHECKED enum fl_status fit_connections(const struct kms_config *f, unsigned *out, struct fl_error *err)
{
    long          reactors = f->reactors > 0 ? (long)f->reactors : sysconf(_SC_NPROCESSORS_ONLN);
    rlim_t        other = FILES + (rlim_t)FL_MAX(reactors, 1) * FILES_A_REACTOR;
    rlim_t        wanted = other + (rlim_t)f->max_connections;
    struct rlimit limit;

    *out = (unsigned)f->max_connections;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return FL_OK;
    limit.rlim_cur = FL_MIN(wanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return FL_OK;
    if (limit.rlim_cur >= wanted)
        return FL_OK;
    if (limit.rlim_cur < other + LEAST_CONNECTIONS)
        return fl_fail(err, FL_SYSTEM, 0,
                       "%llu open files are allowed, where at least %llu are needed: raise `ulimit -n` or LimitNOFILE=",
                       (unsigned long long)limit.rlim_cur, (unsigned long long)other + LEAST_CONNECTIONS);
    *out = (unsigned)(limit.rlim_cur - other);
    fl_warn("kms",
            "at most %u connections are taken, not --max_connections=%u: only %llu open files are allowed; raise "
            "`ulimit -Hn` or LimitNOFILE= to %llu",
            *out, (unsigned)f->max_connections, (unsigned long long)limit.rlim_cur, (unsigned long long)wanted);
    return FL_OK;
}

/* ---- listening --------------------------------------------------------------------------------------------------- */

static FL_CHECKED enum fl_status open_reactors(struct kms *k, struct fl_error *err)
{
    struct io_config   io = { .reactors = (unsigned)k->config.reactors, .workers = (unsigned)k->config.workers };
    struct http_limits limits = { .head_bytes = k->config.head_bytes,
                                  .body_bytes = k->config.body_bytes,
                                  .head_ns = k->config.head_ns,
                                  .body_ns = k->config.body_ns,
                                  .idle_ns = k->config.idle_ns };
    enum fl_status     s = fit_connections(&k->config, &io.max_connections, err);

    if (s != FL_OK || (s = io_reactors_new(&k->reactors, &io, err)) != FL_OK)
        return s;
    return http_service_new(&k->http, &limits, kms_handle, k, err);
}

static FL_CHECKED enum fl_status open_tls(struct kms *k, struct fl_error *err)
{
    struct tls_config tls = { .certificate_file = k->config.certificate_file,
                              .private_key_file = or_null(k->config.private_key_file),
                              .ca_file = or_null(k->config.ca_certificate_file),
                              .min_protocol = k->config.tls_min_protocol == 0 ? TLS_VERSION_1_2 : TLS_VERSION_1_3,
                              .ciphers = or_null(k->config.tls_ciphers),
                              .ciphersuites = or_null(k->config.tls_ciphersuites) };

    return given(k->config.https_bind) ? tls_holder_new(&k->tls, &tls, err) : FL_OK;
}

static FL_CHECKED enum fl_status listen_on(struct kms *k, const char *bind, bool secure, struct io_listener **out,
                                           struct fl_error *err)
{
    struct io_listen_config l = { .bind = bind,
                                  .protocol = http_protocol(),
                                  .owner = k->http,
                                  .attach = secure ? tls_attach_server : NULL,
                                  .attach_arg = secure ? k->tls : NULL };

    return given(bind) ? io_listen(k->reactors, &l, out, err) : FL_OK;
}

/* ---- another user ------------------------------------------------------------------------------------------------ */

static FL_CHECKED enum fl_status become(const char *user, struct fl_error *err)
{
    const struct passwd *p;

    if (!given(user))
        return FL_OK;
    errno = 0;
    if ((p = getpwnam(user)) == NULL)
        return fl_fail(err, FL_USAGE, errno, "--user=%s: there is no such user", user);
    if (initgroups(user, p->pw_gid) != 0 || setgid(p->pw_gid) != 0 || setuid(p->pw_uid) != 0)
        return fl_fail(err, FL_SYSTEM, errno, "--user=%s: cannot become that user; start as root or leave --user away",
                       user);
    return FL_OK;
}

/* ---- stores ------------------------------------------------------------------------------------------------------ */

static FL_CHECKED enum fl_status name_provider(struct kms *k, struct fl_error *err)
{
    if (k->config.key_store == KMS_STORE_MEMORY)
        k->provider_uri = strdup("memory:///");
    else if (asprintf(&k->provider_uri, "lmdb://file@%s", k->config.data_dir) < 0)
        k->provider_uri = NULL;
    return k->provider_uri == NULL ? fl_fail(err, FL_NO_MEMORY, 0, "no memory for the store's name") : FL_OK;
}

static FL_CHECKED enum fl_status open_store(struct kms *k, struct fl_error *err)
{
    FL_AUTO_MEM char   *beside = NULL;
    struct store_config s = { .data_dir = k->config.data_dir,
                              .password_file = or_null(k->config.keystore_password_file),
                              .map_bytes = k->config.map_bytes };

    if (k->config.key_store == KMS_STORE_MEMORY && k->config.token_store == KMS_STORE_MEMORY)
        return FL_OK;
    if (s.password_file == NULL) {
        if (asprintf(&beside, "%s/passphrase", s.data_dir) < 0)
            return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the passphrase file's name");
        s.password_file = beside;
        s.make_password = true;
    }
    return store_open(&k->store, &s, err);
}

/* Without it only backups of the running server are missing: no reason not to serve. */
static void open_control(struct kms *k)
{
    struct fl_error err;

    if (kms_control_open(&k->control, k, &err) != FL_OK)
        fl_warn("kms", "no control socket, so no backups of the running server: %s", err.text);
}

static FL_CHECKED enum fl_status open_keys(struct kms *k, struct fl_error *err)
{
    struct keys_config keys = { .store = k->config.key_store == KMS_STORE_LMDB ? k->store : NULL };

    return keys_open(&k->keys, &keys, err);
}

static FL_CHECKED enum fl_status open_tokens(struct kms *k, struct fl_error *err)
{
    const struct kms_config *f = &k->config;
    struct tokens_config     t = { .algorithm = (enum token_algorithm)f->token_algorithm,
                                   .key_bits = (unsigned)f->token_key_bits,
                                   .key_update_ns = f->token_update_ns,
                                   .max_lifetime_ns = f->token_lifetime_ns,
                                   .renew_interval_ns = f->token_renew_ns,
                                   .removal_scan_ns = f->token_scan_ns,
                                   .removal_grace_ns = f->token_grace_ns,
                                   .store = f->token_store == KMS_STORE_LMDB ? k->store : NULL,
                                   .reactors = k->reactors };

    return tokens_open(&k->tokens, &t, err);
}

/* ---- access ------------------------------------------------------------------------------------------------------ */

static FL_CHECKED enum fl_status open_cookies(struct kms *k, struct fl_error *err)
{
    const struct kms_config   *f = &k->config;
    struct auth_cookies_config c = { .validity_ns = f->cookie_validity_ns,
                                     .max_inactive_ns = f->cookie_inactive_ns,
                                     .secret_file = or_null(f->signature_secret_file),
                                     .path = or_null(f->cookie_path),
                                     .domain = or_null(f->cookie_domain),
                                     .persistent = f->cookie_persistent,
                                     .secure = given(f->https_bind) && !given(f->http_bind),
                                     .type = k->authenticator->cookie_type };

    return auth_cookies_new(&k->cookies, &c, err);
}

/* What the ACL file says in vain. */
static void warn_of_acls(const struct kms *k)
{
    const struct fl_strings *warnings = acl_set_warnings(acls_current(k->acls));

    for (size_t i = 0; i < warnings->count; i++)
        fl_warn("kms", "%s: %s", k->config.kms_acls, warnings->at[i]);
}

static FL_CHECKED enum fl_status open_access(struct kms *k, struct fl_error *err)
{
    struct audit_config a = { .file = or_null(k->config.audit_file),
                              .window_ns = k->config.audit_window_ns,
                              .drop = k->config.audit_full == 1,
                              .reactors = io_reactors_count(k->reactors) };
    enum fl_status      s;

    k->authenticator = kms_authenticator_at(k->config.authentication);
    if ((s = acls_new(&k->acls, or_null(k->config.kms_acls), err)) != FL_OK)
        return s;
    warn_of_acls(k);
    if ((s = auth_proxies_new(&k->proxies, &k->config.proxyusers, err)) != FL_OK ||
        (s = auth_groups_new(&k->groups, k->reactors, err)) != FL_OK || (s = open_cookies(k, err)) != FL_OK)
        return s;
    return audit_new(&k->audit, &a, err);
}

static FL_CHECKED enum fl_status open_here(struct kms *k, struct fl_error *err)
{
    unsigned       count = io_reactors_count(k->reactors);
    enum fl_status s = kms_meters_new(k, err);

    if (s != FL_OK)
        return s;
    if ((k->here = aligned_alloc(64, count * sizeof *k->here)) == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for %u reactors", count);
    memset(k->here, 0, count * sizeof *k->here);
    for (unsigned i = 0; i < count; i++) {
        k->here[i].index = i;
        k->here[i].metrics = fl_metrics_set(k->metrics, i);
        fl_buf_init(&k->here[i].body, 256 << 20);
        fl_buf_init(&k->here[i].head, 1 << 20);
        fl_buf_init(&k->here[i].text, 1 << 20);
    }
    return FL_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static FL_CHECKED enum fl_status open_all(struct kms *k, struct fl_error *err)
{
    enum fl_status s;

    if ((s = open_reactors(k, err)) != FL_OK || (s = open_tls(k, err)) != FL_OK ||
        (s = listen_on(k, k->config.http_bind, false, &k->http_listener, err)) != FL_OK ||
        (s = listen_on(k, k->config.https_bind, true, &k->https_listener, err)) != FL_OK ||
        (s = become(k->config.user, err)) != FL_OK || (s = name_provider(k, err)) != FL_OK ||
        (s = open_store(k, err)) != FL_OK || (s = open_keys(k, err)) != FL_OK || (s = open_tokens(k, err)) != FL_OK ||
        (s = open_access(k, err)) != FL_OK)
        return s;
    open_control(k);
    return open_here(k, err);
}

enum fl_status kms_new(struct kms **out, struct kms_config *config, struct fl_error *err)
{
    struct kms    *k = calloc(1, sizeof *k);
    enum fl_status s;

    if (k == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for the server");
    k->config = *config;
    memset(config, 0, sizeof *config);
    k->started_ns = fl_now_ns();
    if ((s = open_all(k, err)) != FL_OK) {
        kms_free(k);
        return s;
    }
    *out = k;
    return FL_OK;
}

enum fl_status kms_start(struct kms *k, struct fl_error *err)
{
    return io_reactors_start(k->reactors, err);
}

void kms_stop(struct kms *k)
{
    io_reactors_drain(k->reactors, k->config.drain_ns);
    io_reactors_join(k->reactors);
}

static void free_here(struct kms *k)
{
    unsigned count = k->here == NULL ? 0 : io_reactors_count(k->reactors);

    for (unsigned i = 0; i < count; i++) {
        fl_buf_done(&k->here[i].body);
        fl_buf_done(&k->here[i].head);
        fl_buf_done(&k->here[i].text);
    }
    free(k->here);
}

void kms_free(struct kms *k)
{
    if (k == NULL)
        return;
    free_here(k);
    kms_meters_free(k);
    tokens_close(k->tokens);
    keys_close(k->keys);
    store_close(k->store);
    audit_free(k->audit);
    auth_groups_free(k->groups);
    io_reactors_free(k->reactors);
    http_service_free(k->http);
    kms_control_free(k->control);
    auth_cookies_free(k->cookies);
    auth_proxies_free(k->proxies);
    acls_free(k->acls);
    tls_holder_free(k->tls);
    free(k->provider_uri);
    kms_config_done(&k->config);
    free(k);
}

void kms_addresses(const struct kms *k, struct fl_buf *out)
{
    if (k->http_listener != NULL)
        fl_buf_printf(out, " http=%s", io_listener_text(k->http_listener));
    if (k->https_listener != NULL)
        fl_buf_printf(out, " https=%s", io_listener_text(k->https_listener));
}

/* ---- reload ------------------------------------------------------------------------------------------------------ */

static void reload_acls(struct kms *k, bool force)
{
    struct fl_error err;
    bool            changed = false;

    if (acls_reload(k->acls, force, &changed, &err) != FL_OK)
        fl_err("kms", "%s; the ACLs before it stay in force", err.text);
    if (!changed)
        return;
    fl_info("kms", "ACLs taken from %s", k->config.kms_acls);
    warn_of_acls(k);
}

static void reload_certificate(struct kms *k, bool force)
{
    struct fl_error err;

    if (k->tls == NULL || (!force && !tls_holder_changed(k->tls)))
        return;
    if (tls_holder_reload(k->tls, &err) != FL_OK)
        fl_err("kms", "%s; the certificate before it stays in use", err.text);
    else
        fl_info("kms", "certificate taken from %s", k->config.certificate_file);
}

/* Said once when it begins and once when it is over. */
static void watch_audit(struct kms *k)
{
    struct fl_error err;
    bool            failing = audit_health(k->audit, &err) != FL_OK;

    if (failing && !k->audit_failing)
        fl_err("kms", "the audit log can't be written: %s; requests are %s when its memory is full", err.text,
               k->config.audit_full == 1 ? "served unrecorded" : "refused");
    else if (!failing && k->audit_failing)
        fl_info("kms", "the audit log is written again");
    k->audit_failing = failing;
}

void kms_reload(struct kms *k, bool force)
{
    watch_audit(k);
    reload_acls(k, force);
    reload_certificate(k, force);
    auth_cookies_tick(k->cookies, fl_wall_ms());
    if (force)
        audit_reopen(k->audit);
}
