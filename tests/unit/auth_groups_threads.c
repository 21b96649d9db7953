/* The group cache on real reactors and workers, whose threads meet in the table all the time. */
#include "auth/groups_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/rcu.h"

enum { REACTORS = 2, USERS = 40, MOST = 24, QUESTIONS = 6000 };

static atomic_uint look_ups;

static void source(const char *user, struct groups_found *found)
{
    atomic_fetch_add(&look_ups, 1);
    found->present = user[1] != '7';
    if (found->present && !groups_found_add(found, user))
        abort();
}

/* One on each reactor: asks for one user after the other; more users than the table holds. */
struct asker {
    struct auth_group_wait wait;
    struct io_timer        timer;
    struct io_reactor     *reactor;
    struct auth_groups    *g;
    struct io_reactors    *all;
    unsigned               asked, wrong, waited;
    bool                   waiting;
};

static struct asker askers[REACTORS];
static atomic_uint  finished;

/* True: it was answered from the table. */
static bool ask(struct asker *a)
{
    struct auth_group_list list;
    char                   user[16];
    struct fl_slice        name;

    snprintf(user, sizeof user, "u%u", a->asked * 7 % USERS);
    name = fl_slice_str(user);
    if (auth_groups_cached(a->g, name, io_now_ns(a->reactor), &list) == FL_OK) {
        bool right = user[1] == '7' ? list.count == 0 : list.count == 1 && strcmp(list.names[0], user) == 0;

        a->wrong += !right;
        a->asked++;
        return true;
    }
    if (auth_groups_fetch(a->g, a->reactor, name, &a->wait, NULL) != FL_OK)
        abort();
    a->waiting = true;
    return false;
}

static void go_on(struct asker *a)
{
    for (int i = 0; i < 50 && a->asked < QUESTIONS; i++)
        if (!ask(a))
            return; /* the waiter goes on */
    if (a->asked < QUESTIONS)
        io_timer_start(a->reactor, &a->timer, 1);
    else if (atomic_fetch_add(&finished, 1) + 1 == REACTORS)
        io_reactors_drain(a->all, FL_NS_PER_S);
}

static void on_timer(struct io_timer *t)
{
    go_on(FL_CONTAINER(t, struct asker, timer));
}

static void on_groups(struct auth_group_wait *w)
{
    struct asker *a = FL_CONTAINER(w, struct asker, wait);

    a->waiting = false;
    a->waited++;
    go_on(a);
}

static void begin(struct io_reactor *r, void *arg)
{
    struct asker *a = &askers[io_reactor_index(r)];

    *a = (struct asker){
        .wait = { .done = on_groups }, .timer = { .fire = on_timer }, .reactor = r, .g = arg, .all = io_reactor_all(r)
    };
    io_timer_start(r, &a->timer, 1);
}

static void reactors_share_one_table_that_overflows_all_the_time(void **state)
{
    struct io_config    config = { .reactors = REACTORS, .workers = 2, .max_connections = 16 };
    struct io_reactors *rs = NULL;
    struct auth_groups *g = NULL;
    struct io_hook      hook = { .begin = begin };
    struct fl_error     err = { FL_OK, 0, "" };

    (void)state;
    assert_int_equal(io_reactors_new(&rs, &config, &err), FL_OK);
    assert_int_equal(groups_new_with(&g, rs, source, MOST, &err), FL_OK);
    hook.arg = g;
    assert_int_equal(io_reactors_hook(rs, &hook, &err), FL_OK);
    assert_int_equal(io_reactors_start(rs, &err), FL_OK);
    io_reactors_join(rs);
    for (int i = 0; i < REACTORS; i++) {
        assert_int_equal(askers[i].asked, QUESTIONS);
        assert_int_equal(askers[i].wrong, 0);
        assert_true(askers[i].waited > 0);
        assert_false(askers[i].waiting);
    }
    assert_true(atomic_load(&look_ups) > USERS);
    assert_true(groups_entries(g) <= MOST + REACTORS);
    io_reactors_free(rs);
    fl_rcu_register();
    fl_rcu_barrier();
    fl_rcu_unregister();
    auth_groups_free(g);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reactors_share_one_table_that_overflows_all_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
