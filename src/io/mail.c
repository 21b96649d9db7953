#include "io/inside.h"

/* A stack that senders push to and the receiver takes whole: one compare-and-swap a letter, and the loop is woken by the
 * letter that found the box empty. Turned round it is in order for each sender. */
void io_post(struct io_reactor *to, struct io_mail *m)
{
    struct io_mail *newest = atomic_load_explicit(&to->mailbox, memory_order_relaxed);

    do
        m->next = newest;
    while (
        !atomic_compare_exchange_weak_explicit(&to->mailbox, &newest, m, memory_order_release, memory_order_relaxed));
    if (newest == NULL)
        ev_async_send(to->loop, &to->mail_came);
}

static struct io_mail *turn_round(struct io_mail *m)
{
    struct io_mail *oldest = NULL, *next;

    for (; m != NULL; m = next) {
        next = m->next;
        m->next = oldest;
        oldest = m;
    }
    return oldest;
}

void io_mail_deliver(struct io_reactor *r)
{
    struct io_mail *m = turn_round(atomic_exchange_explicit(&r->mailbox, NULL, memory_order_acquire)), *next;

    for (; m != NULL; m = next) {
        next = m->next; /* deliver may free m or post it again */
        m->next = NULL;
        m->deliver(m);
    }
}
