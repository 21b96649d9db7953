/* io/work.c - threads for what blocks or burns. */
#include "io/inside.h"

#include <stdlib.h>

struct io_workers {
    pthread_mutex_t lock;
    pthread_cond_t  more;
    struct io_work *first, **last; /* FIFO */
    unsigned        waiting;
    bool            ended;
    unsigned        threads, started;
    pthread_t       at[];
};

enum fl_status io_workers_new(struct io_workers **out, unsigned threads, struct fl_error *err)
{
    struct io_workers *ws = calloc(1, sizeof *ws + threads * sizeof ws->at[0]);

    if (ws == NULL)
        return fl_fail(err, FL_NO_MEMORY, 0, "no memory for %u workers", threads);
    pthread_mutex_init(&ws->lock, NULL);
    pthread_cond_init(&ws->more, NULL);
    ws->last = &ws->first;
    ws->threads = threads;
    *out = ws;
    return FL_OK;
}

static struct io_work *next_job(struct io_workers *ws)
{
    struct io_work *w;

    pthread_mutex_lock(&ws->lock);
    while (ws->first == NULL && !ws->ended)
        pthread_cond_wait(&ws->more, &ws->lock);
    if ((w = ws->first) != NULL) {
        if ((ws->first = w->next) == NULL)
            ws->last = &ws->first;
        ws->waiting--;
    }
    pthread_mutex_unlock(&ws->lock);
    return w;
}

static void *worker_body(void *arg)
{
    struct io_workers *ws = arg;
    struct io_work    *w;

    while ((w = next_job(ws)) != NULL) {
        w->run(w);
        io_post(w->home, &w->mail);
    }
    return NULL;
}

static void came_home(struct io_mail *m)
{
    struct io_work *w = FL_CONTAINER(m, struct io_work, mail);

    w->home->works_out--;
    w->done(w);
}

enum fl_status io_work_submit(struct io_reactor *home, struct io_work *w, struct fl_error *err)
{
    struct io_workers *ws = home->rs->workers;
    bool               full;

    w->home = home;
    w->next = NULL;
    w->mail.deliver = came_home;
    pthread_mutex_lock(&ws->lock);
    full = ws->waiting >= IO_WORK_WAITING_MAX;
    if (!full) {
        *ws->last = w;
        ws->last = &w->next;
        ws->waiting++;
    }
    pthread_mutex_unlock(&ws->lock);
    if (full)
        return fl_fail(err, FL_BUSY, 0, "%d jobs wait for %u workers, no more are taken", IO_WORK_WAITING_MAX,
                       ws->threads);
    home->works_out++;
    pthread_cond_signal(&ws->more);
    return FL_OK;
}

enum fl_status io_workers_start(struct io_workers *ws, struct fl_error *err)
{
    for (; ws->started < ws->threads; ws->started++) {
        int failed = pthread_create(&ws->at[ws->started], NULL, worker_body, ws);

        if (failed != 0)
            return fl_fail(err, FL_SYSTEM, failed, "cannot start worker %u of %u", ws->started, ws->threads);
    }
    return FL_OK;
}

void io_workers_stop(struct io_workers *ws)
{
    pthread_mutex_lock(&ws->lock);
    ws->ended = true;
    pthread_mutex_unlock(&ws->lock);
    pthread_cond_broadcast(&ws->more);
    for (; ws->started > 0; ws->started--)
        pthread_join(ws->at[ws->started - 1], NULL);
}

void io_workers_free(struct io_workers *ws)
{
    if (ws == NULL)
        return;
    pthread_cond_destroy(&ws->more);
    pthread_mutex_destroy(&ws->lock);
    free(ws);
}
