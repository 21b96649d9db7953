/* A home without a reactor: mail waits in order until the test delivers it. The test includes this file; its io_post
 * stands in front of io's. */
#include "io/io.h"

#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t  came;
    struct io_mail *first, **last;
    char            address;
} fake_home = { .lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER };

static struct io_reactor *fake_home_here(void)
{
    return (struct io_reactor *)(void *)&fake_home.address;
}

void io_post(struct io_reactor *to, struct io_mail *m)
{
    (void)to;
    pthread_mutex_lock(&fake_home.lock);
    m->next = NULL;
    if (fake_home.first == NULL)
        fake_home.last = &fake_home.first;
    *fake_home.last = m;
    fake_home.last = &m->next;
    pthread_cond_signal(&fake_home.came);
    pthread_mutex_unlock(&fake_home.lock);
}

/* Waits for the next mail and delivers it on this thread. */
static void fake_home_turn(void)
{
    struct io_mail *m;

    pthread_mutex_lock(&fake_home.lock);
    while (fake_home.first == NULL)
        pthread_cond_wait(&fake_home.came, &fake_home.lock);
    m = fake_home.first;
    fake_home.first = m->next;
    pthread_mutex_unlock(&fake_home.lock);
    m->deliver(m);
}
