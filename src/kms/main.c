/* `featherlock kms`: from arguments to exit status. The main thread serves nothing: it waits for signals, and once a
 * second looks at what may have changed. */
#include "kms/kms.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rcu.h"
#include "kms/server.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_S = 1, RATES_S = 5 };

static int explain(enum fl_status s, const struct fl_error *err)
{
    fprintf(stderr, "featherlock kms: %s\n", err->text);
    if (s == FL_USAGE)
        fputs("`featherlock kms --help` lists the flags\n", stderr);
    return s == FL_USAGE ? KMS_EXIT_USAGE : KMS_EXIT_FAILED;
}

static int print_help(void)
{
    struct fl_buf help;
    int           status = KMS_EXIT_FAILED;

    fl_buf_init(&help, 0);
    if (fl_flags_help(kms_flag_table(), &help) && fwrite(help.data, 1, help.write, stdout) == help.write &&
        fflush(stdout) == 0)
        status = KMS_EXIT_OK;
    fl_buf_done(&help);
    return status;
}

/* Blocked before any thread exists, so that every thread inherits it and signals wait for this one. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error of the write, not our end */
}

/* Left alone, glibc takes each big block that is freed for a sign that more will come, and raises the size up to which
 * it keeps blocks for itself. And what lies in its heaps stays there below the last block in use: after ten thousand
 * connections with half a request each, or one large body, the memory was gone for good. So a buffer of io's size is
 * mapped for itself; those that reactors keep in their pools cost no call. */
static void give_memory_back(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 * 1024);
    mallopt(M_TRIM_THRESHOLD, 1024 * 1024);
}

static void warn_of_config(const struct kms *k)
{
    fl_warn("kms",
            "authentication is %s: whoever reaches the port is believed to be the user they name; use it only on a "
            "network that you trust",
            k->authenticator->name);
    if (k->config.kms_acls == NULL)
        fl_warn("kms", "no --kms_acls: without ACLs for keys every operation on a key is denied");
    if (!k->config.key_authorization)
        fl_warn("kms", "--key_authorization is off: the ACLs of single keys are not looked at");
    if (k->config.audit_file == NULL)
        fl_warn("kms", "no --audit_file: nobody will know who used which key");
}

/* One write, so that a reader of the pipe never sees half a line. */
static enum fl_status tell_ready(const struct kms *k, struct fl_error *err)
{
    struct fl_buf  line;
    enum fl_status s = FL_OK;

    fl_buf_init(&line, 4096);
    FL_BUF_LIT(&line, "ready");
    kms_addresses(k, &line);
    fl_buf_printf(&line, " pid=%ld\n", (long)getpid());
    if (write(STDOUT_FILENO, line.data, line.write) < 0 && errno != EBADF && errno != EPIPE)
        s = fl_fail(err, FL_SYSTEM, errno, "cannot write the ready line to standard output");
    fl_buf_done(&line);
    kms_notify("READY=1");
    return s;
}

/* Until SIGTERM or SIGINT. */
static void wait_for_end(struct kms *k, const sigset_t *set)
{
    const struct timespec look = { .tv_sec = LOOK_S };
    uint64_t              rates_at = fl_now_ns() + RATES_S * FL_NS_PER_S;

    for (;;) {
        int number;

        fl_rcu_offline();
        number = sigtimedwait(set, NULL, &look);
        fl_rcu_online();
        if (number == SIGTERM || number == SIGINT)
            return;
        if (number == SIGHUP)
            fl_info("kms", "SIGHUP: taking ACLs and certificate anew, reopening the audit file");
        kms_reload(k, number == SIGHUP);
        if (fl_now_ns() >= rates_at) {
            rates_at += RATES_S * FL_NS_PER_S;
            kms_meters_tick(k);
        }
    }
}

static int serve(struct kms *k, const sigset_t *set)
{
    struct fl_error err;
    enum fl_status  s = kms_start(k, &err);

    if (s != FL_OK)
        return explain(s, &err);
    if (tell_ready(k, &err) != FL_OK)
        fl_warn("kms", "%s", err.text);
    fl_info("kms", "serving after %llu ms", (unsigned long long)((fl_now_ns() - k->started_ns) / FL_NS_PER_MS));
    wait_for_end(k, set);
    fl_info("kms", "ending: answers in flight have %llu s", (unsigned long long)(k->config.drain_ns / FL_NS_PER_S));
    kms_notify("STOPPING=1");
    fl_rcu_offline();
    kms_stop(k);
    fl_rcu_online();
    return KMS_EXIT_OK;
}

int kms_main(int argc, char **argv)
{
    struct kms_config config;
    struct kms       *k = NULL;
    struct fl_error   err;
    sigset_t          set;
    enum fl_status    s = kms_config_read(&config, argc, argv, &err);
    int               status;

    if (s != FL_OK) {
        kms_config_done(&config);
        return s == FL_CLOSED ? print_help() : explain(s, &err);
    }
    fl_log_setup((enum fl_log_level)config.log_level, config.log_format == 1, STDERR_FILENO);
    give_memory_back();
    block_signals(&set);
    fl_rcu_register();
    s = kms_new(&k, &config, &err);
    if (s == FL_OK) {
        warn_of_config(k);
        status = serve(k, &set);
    } else {
        status = explain(s, &err);
    }
    kms_config_done(&config);
    fl_rcu_offline(); /* closing waits for other threads, which may wait for a grace period */
    kms_free(k);
    fl_rcu_online();
    fl_rcu_unregister();
    return status;
}
