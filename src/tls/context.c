/* tls/context.c - contexts, counted, and the holder that reload swaps. */
#include "tls/provider.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tls_context {
    const struct tls_provider *provider;
    void                      *of_provider;
    atomic_uint                refs;
    char                       summary[300];
};

enum fl_status tls_provider_find(const struct tls_provider **out, const char *name, struct fl_error *err)
{
    static const struct tls_provider *const all[] = { &tls_provider_openssl };

    for (size_t i = 0; i < FL_COUNT(all); i++) {
        if (name == NULL || strcmp(name, all[i]->name) == 0) {
            *out = all[i];
            return FL_OK;
        }
    }
    return fl_fail(err, FL_USAGE, 0, "unknown TLS provider '%s', where 'openssl' is allowed", name);
}

enum fl_status tls_context_new(struct tls_context **out, const struct tls_config *config, struct fl_error *err)
{
    FL_AUTO(tls_context) t = calloc(1, sizeof *t);
    enum fl_status s;

    if (t == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for a TLS context");
    atomic_store(&t->refs, 1);
    if ((s = tls_provider_find(&t->provider, config->provider, err)) != FL_OK ||
        (s = t->provider->context_new(&t->of_provider, config, err)) != FL_OK)
        return s;
    t->provider->summary(t->of_provider, t->summary, sizeof t->summary);
    *out = FL_TAKE(t);
    return FL_OK;
}

struct tls_context *tls_context_ref(struct tls_context *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

/* Gives up one count: connections that still use the context keep it. */
void tls_context_free(struct tls_context *t)
{
    if (t == NULL || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (t->of_provider != NULL)
        t->provider->context_free(t->of_provider);
    free(t);
}

const char *tls_context_summary(const struct tls_context *t)
{
    return t->summary;
}

enum fl_status tls_context_engine(struct tls_context *t, struct tls_engine **out, const char *peer_name,
                                  struct fl_error *err)
{
    return t->provider->engine_new(out, t->of_provider, peer_name, err);
}

/* ---- the holder ---------------------------------------------------------------------------------------------------- */

enum { FILES = 3 };

/* What of a file tells that it is another. All zero for a file that isn't there. */
struct stamp {
    dev_t           device;
    ino_t           inode;
    off_t           size;
    struct timespec modified;
};

struct tls_holder {
    struct tls_config   config; /* strings are ours */
    char               *strings[7];
    pthread_mutex_t     lock; /* held for a pointer's copy, and by reload for the swap */
    struct tls_context *current;
    struct stamp        loaded[FILES];
};

static void take_stamps(const struct tls_config *config, struct stamp *into)
{
    const char *const files[FILES] = { config->certificate_file, config->private_key_file, config->ca_file };

    for (int i = 0; i < FILES; i++) {
        struct stat st;

        into[i] = (struct stamp){ 0 };
        if (files[i] != NULL && stat(files[i], &st) == 0)
            into[i] = (struct stamp){ st.st_dev, st.st_ino, st.st_size, st.st_mtim };
    }
}

static bool same_stamps(const struct stamp *a, const struct stamp *b)
{
    for (int i = 0; i < FILES; i++)
        if (a[i].device != b[i].device || a[i].inode != b[i].inode || a[i].size != b[i].size ||
            a[i].modified.tv_sec != b[i].modified.tv_sec || a[i].modified.tv_nsec != b[i].modified.tv_nsec)
            return false;
    return true;
}

static bool copy_config(struct tls_holder *h, const struct tls_config *from)
{
    const char **const fields[] = { &h->config.provider, &h->config.certificate_file, &h->config.private_key_file,
                                    &h->config.ca_file,  &h->config.ciphers,          &h->config.ciphersuites,
                                    &h->config.alpn };

    _Static_assert(FL_COUNT(fields) == FL_COUNT(h->strings), "every string of the config is copied");
    h->config = *from;
    for (size_t i = 0; i < FL_COUNT(fields); i++) {
        if (*fields[i] != NULL && (h->strings[i] = strdup(*fields[i])) == NULL)
            return false;
        *fields[i] = h->strings[i];
    }
    return true;
}

FL_AUTO_DEFINE(tls_holder);

enum fl_status tls_holder_new(struct tls_holder **out, const struct tls_config *config, struct fl_error *err)
{
    FL_AUTO(tls_holder) h = calloc(1, sizeof *h);
    enum fl_status s;

    if (h == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for TLS");
    pthread_mutex_init(&h->lock, NULL);
    if (!copy_config(h, config))
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for TLS");
    take_stamps(&h->config, h->loaded);
    if ((s = tls_context_new(&h->current, &h->config, err)) != FL_OK)
        return s;
    *out = FL_TAKE(h);
    return FL_OK;
}

void tls_holder_free(struct tls_holder *h)
{
    if (h == NULL)
        return;
    tls_context_free(h->current);
    for (size_t i = 0; i < FL_COUNT(h->strings); i++)
        free(h->strings[i]);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

enum fl_status tls_holder_reload(struct tls_holder *h, struct fl_error *err)
{
    struct tls_context *fresh = NULL, *old;
    struct stamp        stamps[FILES];
    enum fl_status      s;

    take_stamps(&h->config, stamps); /* before reading: a file written meanwhile counts as changed */
    if ((s = tls_context_new(&fresh, &h->config, err)) != FL_OK)
        return s;
    pthread_mutex_lock(&h->lock);
    old = h->current;
    h->current = fresh;
    memcpy(h->loaded, stamps, sizeof stamps);
    pthread_mutex_unlock(&h->lock);
    tls_context_free(old);
    return FL_OK;
}

bool tls_holder_changed(const struct tls_holder *h)
{
    struct tls_holder *mutable = (struct tls_holder *)(uintptr_t)h; /* for the lock alone */
    struct stamp now[FILES];
    bool         same;

    take_stamps(&h->config, now);
    pthread_mutex_lock(&mutable->lock);
    same = same_stamps(now, h->loaded);
    pthread_mutex_unlock(&mutable->lock);
    return !same;
}

struct tls_context *tls_holder_ref(struct tls_holder *h)
{
    struct tls_context *t;

    pthread_mutex_lock(&h->lock);
    t = tls_context_ref(h->current);
    pthread_mutex_unlock(&h->lock);
    return t;
}
