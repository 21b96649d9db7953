/* `featherlock check`: opens everything as the server would, says what it found, and serves nothing. */
#include "kms/kms.h"

#include "base/log.h"
#include "base/rcu.h"
#include "kms/server.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void line(const char *name, const char *value)
{
    printf("%-16s %s\n", name, value);
}

static void say_listeners(const struct kms *k)
{
    line("http", k->http_listener == NULL ? "none" : io_listener_text(k->http_listener));
    line("https", k->https_listener == NULL ? "none" : io_listener_text(k->https_listener));
    if (k->https_listener != NULL)
        line("certificate", k->config.certificate_file);
    printf("%-16s %u\n", "reactors", io_reactors_count(k->reactors));
}

static enum fl_status count_one(void *ctx, struct fl_slice key, struct fl_slice value, struct fl_error *err)
{
    (void)key;
    (void)value;
    (void)err;
    ++*(size_t *)ctx;
    return FL_OK;
}

static void say_stores(const struct kms *k, bool folder_there)
{
    struct fl_error err;
    size_t          tokens = 0;

    if (!folder_there) {
        printf("%-16s %s, would be made\n", "data folder", k->config.data_dir);
        return;
    }
    line("keys in", k->provider_uri);
    printf("%-16s %zu\n", "keys", keys_count(k->keys));
    if (k->store != NULL && store_scan(k->store, STORE_TOKENS, count_one, &tokens, &err) != FL_OK)
        line("tokens", err.text);
    else
        printf("%-16s %zu\n", "tokens", tokens);
}

static void say_access(const struct kms *k)
{
    line("authentication", k->authenticator->name);
    line("ACLs", k->config.kms_acls == NULL ? "none: every operation on a key would be denied" : k->config.kms_acls);
    for (size_t i = 0; i < k->config.proxyusers.count; i++)
        line("may act", k->config.proxyusers.at[i]);
    line("audit", k->config.audit_file == NULL ? "none" : k->config.audit_file);
}

static int finish(struct kms *k, bool folder_there)
{
    int status;

    say_listeners(k);
    say_stores(k, folder_there);
    say_access(k);
    status = fflush(stdout) == 0 ? KMS_EXIT_OK : KMS_EXIT_FAILED;
    fl_rcu_offline(); /* closing waits for other threads, which may wait for a grace period */
    kms_free(k);
    fl_rcu_online();
    return status;
}

int kms_check_main(int argc, char **argv)
{
    struct kms_config config;
    struct kms       *k = NULL;
    struct fl_error   err;
    struct stat       st;
    bool              folder_there = true;
    enum fl_status    s = kms_config_read(&config, argc, argv, &err);
    int               status = KMS_EXIT_OK;

    if (s == FL_CLOSED) {
        puts("usage: featherlock check [flags of featherlock kms]");
        kms_config_done(&config);
        return KMS_EXIT_OK;
    }
    fl_log_setup(FL_LOG_WARN, false, STDERR_FILENO);
    fl_rcu_register();
    config.token_store = KMS_STORE_MEMORY; /* opening them would make a master key; they are counted instead */
    if (s == FL_OK && config.data_dir != NULL && stat(config.data_dir, &st) != 0) {
        folder_there = false;
        config.key_store = KMS_STORE_MEMORY;
    }
    if (s == FL_OK)
        s = kms_new(&k, &config, &err);
    if (s == FL_OK) {
        status = finish(k, folder_there);
    } else {
        fprintf(stderr, "featherlock check: %s\n", err.text);
        status = s == FL_USAGE ? KMS_EXIT_USAGE : KMS_EXIT_FAILED;
    }
    kms_config_done(&config);
    fl_rcu_unregister();
    return status;
}
