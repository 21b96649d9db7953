#include "base/rcu.h"

#include "base/own.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MAGIC = 0x600d, TURNS = 2000 };

struct thing {
    struct rcu_head head;
    int             number;
    volatile int    magic; /* else the compiler drops the last store before free */
};

static struct thing *published;
static atomic_int    alive;
static atomic_bool   enough;

static struct thing *new_thing(int number)
{
    struct thing *t = malloc(sizeof *t);

    assert_non_null(t);
    t->number = number;
    t->magic = MAGIC;
    atomic_fetch_add(&alive, 1);
    return t;
}

static void free_thing(struct rcu_head *head)
{
    struct thing *t = FL_CONTAINER(head, struct thing, head);

    t->magic = 0;
    free(t);
    atomic_fetch_sub(&alive, 1);
}

/* A reactor in small: looks once a turn, and is offline between turns. Gives the count of what it found wrong. */
static void *read_in_turns(void *turns)
{
    intptr_t wrong = 0;
    int      before = -1;

    fl_rcu_register();
    while (!atomic_load(&enough)) {
        struct thing *t = fl_rcu_read(&published);

        wrong += t->magic != MAGIC || t->number < before;
        before = t->number;
        atomic_fetch_add((atomic_int *)turns, 1);
        fl_rcu_offline();
        fl_rcu_online();
    }
    fl_rcu_unregister();
    return (void *)wrong;
}

static void readers_see_whole_things_while_they_are_replaced(void **state)
{
    pthread_t  readers[2];
    atomic_int turns[2] = { 0, 0 };
    void      *wrong;

    (void)state;
    atomic_store(&enough, false);
    fl_rcu_register();
    fl_rcu_publish(&published, new_thing(0));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_in_turns, &turns[i]), 0);
    for (int i = 1; atomic_load(&turns[0]) < TURNS || atomic_load(&turns[1]) < TURNS; i++) {
        struct thing *old = published;

        fl_rcu_publish(&published, new_thing(i));
        fl_rcu_free(&old->head, free_thing);
        fl_rcu_offline();
        sched_yield(); /* to the readers: they are to see many of the things */
        fl_rcu_online();
    }
    atomic_store(&enough, true);
    fl_rcu_offline();
    for (int i = 0; i < 2; i++) {
        pthread_join(readers[i], &wrong);
        assert_null(wrong);
    }
    fl_rcu_barrier();
    assert_int_equal(atomic_load(&alive), 1);
    fl_rcu_online();
    fl_rcu_free(&published->head, free_thing);
    fl_rcu_unregister();
    fl_rcu_barrier();
    assert_int_equal(atomic_load(&alive), 0);
}

/* A reader that holds what it has read until it is told to go offline. */
struct holder {
    pthread_mutex_t lock;
    pthread_cond_t  changed;
    bool            holds, may_go, saw_it_whole;
};

static void set_and_tell(struct holder *h, bool *what)
{
    pthread_mutex_lock(&h->lock);
    *what = true;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

static void wait_for(struct holder *h, const bool *what)
{
    pthread_mutex_lock(&h->lock);
    while (!*what)
        pthread_cond_wait(&h->changed, &h->lock);
    pthread_mutex_unlock(&h->lock);
}

static void *hold(void *holder)
{
    struct holder *h = holder;
    struct thing  *t;

    fl_rcu_register();
    t = fl_rcu_read(&published);
    set_and_tell(h, &h->holds);
    wait_for(h, &h->may_go);
    h->saw_it_whole = t->magic == MAGIC && atomic_load(&alive) == 1;
    fl_rcu_unregister();
    return NULL;
}

static void nothing_is_freed_under_a_reader(void **state)
{
    struct holder h = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
    struct thing *t = new_thing(1);
    pthread_t     reader;

    (void)state;
    fl_rcu_register();
    fl_rcu_publish(&published, t);
    assert_int_equal(pthread_create(&reader, NULL, hold, &h), 0);
    wait_for(&h, &h.holds);
    fl_rcu_publish(&published, NULL);
    fl_rcu_free(&t->head, free_thing);
    fl_rcu_offline(); /* the writer is no reader now: only the holder keeps it */
    assert_int_equal(atomic_load(&alive), 1);
    set_and_tell(&h, &h.may_go);
    fl_rcu_barrier();
    pthread_join(reader, NULL);
    assert_true(h.saw_it_whole);
    assert_int_equal(atomic_load(&alive), 0);
    fl_rcu_online();
    assert_null(fl_rcu_read(&published));
    fl_rcu_unregister();
}

/* A hash table, as rooms use it: it grows while a reader looks things up. */
struct entry {
    struct cds_lfht_node node;
    struct rcu_head      head;
    unsigned long        key;
    volatile int         magic;
};

struct table_reader {
    struct cds_lfht *table;
    intptr_t         wrong;
    atomic_ulong     highest; /* key that was found so far */
};

enum { ENTRIES = 1000 };

static int is_entry(struct cds_lfht_node *node, const void *key)
{
    struct entry *e = FL_CONTAINER(node, struct entry, node);

    fl_rcu_told_acquire_(e);
    return e->key == *(const unsigned long *)key;
}

static struct entry *find_entry(struct cds_lfht *table, unsigned long key)
{
    struct cds_lfht_iter  iter;
    struct cds_lfht_node *node;

    cds_lfht_lookup(table, key * 0x9e3779b97f4a7c15, is_entry, &key, &iter);
    node = cds_lfht_iter_get_node(&iter);
    return node == NULL ? NULL : FL_CONTAINER(node, struct entry, node);
}

static void *look_up(void *reader)
{
    struct table_reader *r = reader;

    fl_rcu_register();
    for (unsigned long key = 0; key < ENTRIES;) {
        struct entry *e = find_entry(r->table, key);

        if (e != NULL) {
            r->wrong += e->magic != MAGIC;
            atomic_store(&r->highest, ++key);
        }
        fl_rcu_offline();
        fl_rcu_online();
    }
    fl_rcu_unregister();
    return NULL;
}

static void free_entry(struct rcu_head *head)
{
    struct entry *e = FL_CONTAINER(head, struct entry, head);

    e->magic = 0;
    free(e);
    atomic_fetch_sub(&alive, 1);
}

static void add_entry(struct cds_lfht *table, unsigned long key)
{
    struct entry *e = malloc(sizeof *e);

    assert_non_null(e);
    cds_lfht_node_init(&e->node);
    e->key = key;
    e->magic = MAGIC;
    atomic_fetch_add(&alive, 1);
    fl_rcu_told_release_(e);
    cds_lfht_add(table, key * 0x9e3779b97f4a7c15, &e->node);
}

static void remove_entry(struct cds_lfht *table, unsigned long key)
{
    struct entry *e = find_entry(table, key);

    assert_non_null(e);
    assert_int_equal(cds_lfht_del(table, &e->node), 0);
    fl_rcu_free(&e->head, free_entry);
}

static void a_hash_table_grows_and_shrinks_under_a_reader(void **state)
{
    struct table_reader r = { .wrong = 0 };
    pthread_t           thread;

    (void)state;
    fl_rcu_register();
    r.table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE, NULL);
    assert_non_null(r.table);
    assert_int_equal(pthread_create(&thread, NULL, look_up, &r), 0);
    for (unsigned long added = 0, removed = 0; removed < ENTRIES;) {
        if (added < ENTRIES)
            add_entry(r.table, added++);
        if (removed < atomic_load(&r.highest)) /* the reader is past it */
            remove_entry(r.table, removed++);
        fl_rcu_offline();
        sched_yield();
        fl_rcu_online();
    }
    fl_rcu_offline();
    pthread_join(thread, NULL);
    fl_rcu_barrier();
    fl_rcu_unregister();
    assert_int_equal(r.wrong, 0);
    assert_int_equal(atomic_load(&alive), 0);
    assert_int_equal(cds_lfht_destroy(r.table, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_whole_things_while_they_are_replaced),
        cmocka_unit_test(nothing_is_freed_under_a_reader),
        cmocka_unit_test(a_hash_table_grows_and_shrinks_under_a_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
