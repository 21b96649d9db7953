#include "store/inside.h"

/* Not one of LMDB's codes: a job wrote and then refused, against its contract. Its writes must not stay. */
enum { WROTE_AND_REFUSED = -1 };

/* ---- waiting
 * ----------------------------------------------------------------------------------------------------------------- */

static bool task_is_due(const struct store *s)
{
    return s->tasks != NULL && (!s->tasks->after_jobs || s->first == NULL);
}

/* What there is to do next: a task, or the jobs that wait, up to GROUP_MAX. *count is 0 for a task; false: the end. */
static bool take_work(struct store *s, struct task **task, struct store_job *jobs[GROUP_MAX], size_t *count)
{
    *task = NULL;
    *count = 0;
    fl_rcu_offline();
    pthread_mutex_lock(&s->lock);
    while (s->tasks == NULL && s->first == NULL && !s->closing)
        pthread_cond_wait(&s->work, &s->lock);
    if (task_is_due(s)) {
        *task = s->tasks;
        s->tasks = (*task)->next;
    }
    while (*task == NULL && s->first != NULL && *count < GROUP_MAX) {
        jobs[(*count)++] = s->first;
        s->first = s->first->next;
    }
    s->waiting -= *count;
    pthread_mutex_unlock(&s->lock);
    fl_rcu_online();
    return *task != NULL || *count > 0;
}

/* Tests hold the commit here. */
static void wait_for_permission(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->hold && s->may_commit == 0 && !s->closing)
        pthread_cond_wait(&s->released, &s->lock);
    if (s->may_commit > 0)
        s->may_commit--;
    pthread_mutex_unlock(&s->lock);
}

/* ---- one transaction
 * ------------------------------------------------------------------------------------------------------------ */

static int commit(struct store *s, MDB_txn *txn, size_t accepted)
{
    int rc;

    fl_rcu_offline(); /* for as long as the disk takes */
    wait_for_permission(s);
    rc = mdb_txn_commit(txn);
    fl_rcu_online();
    if (rc != 0)
        return rc;
    pthread_mutex_lock(&s->lock);
    s->stats.commits++;
    s->stats.jobs += accepted;
    s->stats.map_bytes = s->env.map_bytes;
    s->stats.used_bytes = env_used_bytes(&s->env);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static void apply_one(struct store_txn *t, struct store_job *j)
{
    unsigned before = t->writes;

    j->status = j->apply(j, t, &j->err);
    txn_forget_opened(t);
    if (t->failed == 0 && j->status != FL_OK && t->writes != before)
        t->failed = WROTE_AND_REFUSED;
}

/* 0: each job was applied and committed, or refused. Else nothing was written. */
static int attempt(struct store *s, struct store_job **jobs, size_t count)
{
    struct store_txn t = { .store = s };
    size_t           accepted = 0;
    int              rc = s->env.lmdb == NULL ? MDB_PANIC : mdb_txn_begin(s->env.lmdb, NULL, 0, &t.lmdb);

    if (rc != 0)
        return rc;
    for (size_t i = 0; i < count && t.failed == 0; i++) {
        apply_one(&t, jobs[i]);
        accepted += jobs[i]->status == FL_OK;
    }
    if (t.failed == 0 && accepted > 0)
        return commit(s, t.lmdb, accepted);
    mdb_txn_abort(t.lmdb);
    return t.failed;
}

/* Repairs what can be: a full map, an environment that a failed disk has closed for further use. */
static int attempt_repairing(struct store *s, struct store_job **jobs, size_t count, struct fl_error *why)
{
    bool reopened = false;

    for (;;) {
        int            rc = attempt(s, jobs, count);
        enum fl_status repaired;

        if (rc == 0 || rc == WROTE_AND_REFUSED)
            return rc;
        if (rc != MDB_MAP_FULL && (rc != MDB_PANIC || reopened)) {
            env_fail(why, &s->env, rc, "writing");
            return rc;
        }
        fl_rcu_offline();
        repaired = rc == MDB_MAP_FULL ? env_grow(&s->env, why) : env_reopen(&s->env, why);
        fl_rcu_online();
        reopened = reopened || rc == MDB_PANIC;
        if (repaired != FL_OK)
            return rc;
    }
}

/* ---- groups
 * ------------------------------------------------------------------------------------------------------------------------
 */

static void deliver(struct io_mail *m)
{
    struct store_job *j = FL_CONTAINER(m, struct store_job, mail);

    j->done(j);
}

static void conclude(struct store_job **jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i]->status == FL_OK && jobs[i]->committed != NULL)
            jobs[i]->committed(jobs[i]);
    for (size_t i = 0; i < count; i++) {
        struct store_job *j = jobs[i];
        if (j->home == NULL) {
            j->done(j);
        } else {
            j->mail.deliver = deliver;
            io_post(j->home, &j->mail);
        }
    }
}

static void run_alone(struct store *s, struct store_job *j)
{
    struct fl_error why;
    int             rc = attempt_repairing(s, &j, 1, &why);

    if (rc != 0 && rc != WROTE_AND_REFUSED) {
        j->status = why.status;
        j->err = why;
    }
    conclude(&j, 1);
}

/* A group fails as one, so that one job's fault must not be the others': they go again, each for itself. */
static void run_group(struct store *s, struct store_job **jobs, size_t count)
{
    struct fl_error why;

    if (count > 1 && attempt_repairing(s, jobs, count, &why) == 0)
        conclude(jobs, count);
    else
        for (size_t i = 0; i < count; i++)
            run_alone(s, jobs[i]);
}

static void run_task(struct store *s, struct task *t)
{
    t->status = t->run(s, t, &t->err);
    pthread_mutex_lock(&s->lock);
    t->over = true;
    pthread_cond_broadcast(&s->task_over);
    pthread_mutex_unlock(&s->lock);
}

void *writer_main(void *store)
{
    struct store     *s = store;
    struct store_job *jobs[GROUP_MAX];
    struct task      *task;
    size_t            count;

    fl_rcu_register();
    while (take_work(s, &task, jobs, &count)) {
        if (task != NULL)
            run_task(s, task);
        else
            run_group(s, jobs, count);
    }
    fl_rcu_unregister();
    return NULL;
}

enum fl_status writer_do(struct store *s, struct task *t, struct fl_error *err)
{
    bool reader;

    pthread_mutex_lock(&s->lock);
    if (s->closing) {
        pthread_mutex_unlock(&s->lock);
        return fl_fail(err, FL_CLOSED, 0, "the store is being closed");
    }
    t->next = s->tasks;
    s->tasks = t;
    pthread_cond_signal(&s->work);
    reader = reader_waits();
    while (!t->over)
        pthread_cond_wait(&s->task_over, &s->lock);
    pthread_mutex_unlock(&s->lock);
    reader_goes_on(reader);
    if (t->status != FL_OK && err != NULL)
        *err = t->err;
    return t->status;
}

static enum fl_status do_nothing(struct store *s, struct task *t, struct fl_error *err)
{
    (void)s;
    (void)t;
    (void)err;
    return FL_OK;
}

void store_settle(struct store *s)
{
    struct task t = { .run = do_nothing, .after_jobs = true };

    FL_IGNORE(writer_do(s, &t, NULL)); /* FL_CLOSED: closing settles as well */
}
