/* tests/unit/store_rig.h - a store in a folder of its own, and jobs to wait for. Included by store_*.c and key_store.c.
 */
#ifndef STORE_RIG_H
#define STORE_RIG_H

#include "store/store.h"

#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define RIG __attribute__((unused)) static

struct rig {
    char                folder[64], data[96], password[96];
    struct store_config config;
    struct store       *store;
};

RIG int rig_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

RIG int rig_begin(void **state)
{
    struct rig *r = calloc(1, sizeof *r);

    assert_non_null(r);
    snprintf(r->folder, sizeof r->folder, "/tmp/fl-store-XXXXXX");
    assert_non_null(mkdtemp(r->folder));
    snprintf(r->data, sizeof r->data, "%s/data", r->folder);
    snprintf(r->password, sizeof r->password, "%s/passphrase", r->folder);
    r->config = (struct store_config){ .data_dir = r->data, .password_file = r->password, .make_password = true };
    *state = r;
    return 0;
}

RIG void rig_close(struct rig *r)
{
    store_close(r->store);
    r->store = NULL;
}

RIG int rig_end(void **state)
{
    struct rig *r = *state;

    rig_close(r);
    nftw(r->folder, rig_remove, 16, FTW_DEPTH | FTW_PHYS);
    free(r);
    return 0;
}

RIG void rig_open(struct rig *r)
{
    struct fl_error err = { .text = "" };

    if (store_open(&r->store, &r->config, &err) != FL_OK)
        fail_msg("%s", err.text);
}

RIG void rig_reopen(struct rig *r)
{
    rig_close(r);
    rig_open(r);
}

/* Opening must fail with this status and a sentence that holds this text. */
RIG void rig_refused(struct rig *r, enum fl_status status, const char *text)
{
    struct fl_error err = { .text = "" };

    assert_int_equal(store_open(&r->store, &r->config, &err), status);
    assert_null(r->store);
    if (strstr(err.text, text) == NULL)
        fail_msg("'%s' lacks '%s'", err.text, text);
}

/* ---- jobs
 * ----------------------------------------------------------------------------------------------------------------------
 */

enum rig_kind { RIG_PUT, RIG_DELETE, RIG_GET, RIG_REFUSE, RIG_PUT_AND_REFUSE };

struct rig_job {
    struct store_job job;
    enum rig_kind    kind;
    enum store_table table;
    struct fl_slice  key, value;
    uint8_t         *got; /* of RIG_GET; rig_finish frees */
    size_t           got_len;
    unsigned         applied;               /* how often */
    unsigned         committed_at, done_at; /* places in the order of all; 0: not */
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    unsigned        order, done;
} rig_log = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

RIG enum fl_status rig_get(struct rig_job *r, struct store_txn *t, struct fl_error *err)
{
    struct fl_slice value;
    enum fl_status  s = store_get(t, r->table, r->key, &value, err);

    if (s != FL_OK)
        return s;
    free(r->got);
    r->got = malloc(value.len + 1);
    assert_non_null(r->got);
    memcpy(r->got, value.at, value.len);
    r->got_len = value.len;
    return FL_OK;
}

RIG enum fl_status rig_apply(struct store_job *j, struct store_txn *t, struct fl_error *err)
{
    struct rig_job *r = FL_CONTAINER(j, struct rig_job, job);
    enum fl_status  s;

    r->applied++;
    switch (r->kind) {
    case RIG_PUT: return store_put(t, r->table, r->key, r->value, err);
    case RIG_DELETE: return store_delete(t, r->table, r->key, err);
    case RIG_GET: return rig_get(r, t, err);
    case RIG_PUT_AND_REFUSE:
        s = store_put(t, r->table, r->key, r->value, err);
        return s != FL_OK ? s : fl_fail(err, FL_DENIED, 0, "refused after writing");
    default: return fl_fail(err, FL_EXISTS, 0, "refused");
    }
}

RIG void rig_committed(struct store_job *j)
{
    struct rig_job *r = FL_CONTAINER(j, struct rig_job, job);

    pthread_mutex_lock(&rig_log.lock);
    r->committed_at = ++rig_log.order;
    pthread_mutex_unlock(&rig_log.lock);
}

RIG void rig_done(struct store_job *j)
{
    struct rig_job *r = FL_CONTAINER(j, struct rig_job, job);

    pthread_mutex_lock(&rig_log.lock);
    r->done_at = ++rig_log.order;
    rig_log.done++;
    pthread_cond_broadcast(&rig_log.changed);
    pthread_mutex_unlock(&rig_log.lock);
}

RIG struct rig_job rig_job_of(enum rig_kind kind, enum store_table table, struct fl_slice key, struct fl_slice value)
{
    return (struct rig_job){ .job = { .apply = rig_apply, .committed = rig_committed, .done = rig_done },
                             .kind = kind,
                             .table = table,
                             .key = key,
                             .value = value };
}

RIG void rig_submit(struct rig *r, struct rig_job *j)
{
    assert_int_equal(store_submit(r->store, &j->job, NULL), FL_OK);
}

RIG enum fl_status rig_wait(struct rig_job *j)
{
    pthread_mutex_lock(&rig_log.lock);
    while (j->done_at == 0)
        pthread_cond_wait(&rig_log.changed, &rig_log.lock);
    pthread_mutex_unlock(&rig_log.lock);
    return j->job.status;
}

RIG enum fl_status rig_run(struct rig *r, struct rig_job *j)
{
    rig_submit(r, j);
    return rig_wait(j);
}

RIG enum fl_status rig_put(struct rig *r, enum store_table table, struct fl_slice key, struct fl_slice value)
{
    struct rig_job j = rig_job_of(RIG_PUT, table, key, value);

    return rig_run(r, &j);
}

RIG void rig_expect(struct rig *r, enum store_table table, struct fl_slice key, struct fl_slice value)
{
    struct rig_job j = rig_job_of(RIG_GET, table, key, value);

    assert_int_equal(rig_run(r, &j), FL_OK);
    assert_true(fl_slice_equal(fl_slice_of(j.got, j.got_len), value));
    free(j.got);
}

RIG void rig_expect_none(struct rig *r, enum store_table table, struct fl_slice key)
{
    struct rig_job j = rig_job_of(RIG_GET, table, key, FL_LIT(""));

    assert_int_equal(rig_run(r, &j), FL_NOT_FOUND);
}

/* Waits until the thread has taken everything that waited: with test_hold, it stands before its commit then. */
RIG void rig_wait_until_taken(struct rig *r)
{
    struct store_stats stats;

    do {
        sched_yield();
        store_stats(r->store, &stats);
    } while (stats.waiting > 0);
}

#define WITH_STORE(test) cmocka_unit_test_setup_teardown(test, rig_begin, rig_end)

#endif
