#include "auth/groups_inside.h"

#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/rcu.h"

/* ---- io by hand: two reactors, jobs that run when the test says so ----------------------------------------------- */

struct io_reactor {
    unsigned index;
};

static struct io_reactor  reactors[2] = { { 0 }, { 1 } };
static struct io_reactor *here = &reactors[0];
static struct io_work    *jobs[64];
static size_t             job_count, most_jobs;
static uint64_t           now_ns;

unsigned io_reactors_count(const struct io_reactors *rs)
{
    (void)rs;
    return 2;
}

unsigned io_reactor_index(const struct io_reactor *r)
{
    return r->index;
}

struct io_reactor *io_reactor_here(void)
{
    return here;
}

uint64_t io_now_ns(const struct io_reactor *r)
{
    (void)r;
    return now_ns;
}

enum fl_status io_work_submit(struct io_reactor *home, struct io_work *w, struct fl_error *err)
{
    if (job_count == most_jobs)
        return fl_fail(err, FL_BUSY, 0, "too busy");
    w->home = home;
    jobs[job_count++] = w;
    return FL_OK;
}

static void run_jobs(void)
{
    size_t          count = job_count;
    struct io_work *taken[64];

    memcpy(taken, jobs, sizeof taken);
    job_count = 0;
    for (size_t i = 0; i < count; i++)
        taken[i]->run(taken[i]);
    for (size_t i = 0; i < count; i++)
        taken[i]->done(taken[i]);
}

/* ---- a source by hand -------------------------------------------------------------------------------------------- */

static unsigned look_ups;
static bool     source_fails;

/* "nobody…" is no user; another is in the group of its own name and in "staff". */
static void source(const char *user, struct groups_found *found)
{
    look_ups++;
    found->failed = source_fails;
    if (source_fails || strncmp(user, "nobody", 6) == 0)
        return;
    found->present = true;
    assert_true(groups_found_add(found, user));
    assert_true(groups_found_add(found, "staff"));
}

static struct auth_groups *fresh(size_t most)
{
    struct auth_groups *g = NULL;

    here = &reactors[0];
    job_count = 0;
    most_jobs = FL_COUNT(jobs);
    now_ns = FL_NS_PER_S;
    look_ups = 0;
    source_fails = false;
    assert_int_equal(groups_new_with(&g, NULL, source, most, NULL), FL_OK);
    return g;
}

static void finish(struct auth_groups *g)
{
    fl_rcu_barrier();
    auth_groups_free(g);
}

struct waiter {
    struct auth_group_wait wait;
    unsigned               called;
};

static void called(struct auth_group_wait *w)
{
    FL_CONTAINER(w, struct waiter, wait)->called++;
}

static void fetch(struct auth_groups *g, unsigned reactor, const char *user, struct waiter *w)
{
    *w = (struct waiter){ .wait = { .done = called } };
    assert_int_equal(auth_groups_fetch(g, &reactors[reactor], fl_slice_str(user), &w->wait, NULL), FL_OK);
}

static void know(struct auth_groups *g, const char *user)
{
    struct waiter w;

    fetch(g, 0, user, &w);
    run_jobs();
    assert_int_equal(w.called, 1);
}

/* Group count of a user, or -1: a look-up is needed, or -2: it failed. */
static int cached(struct auth_groups *g, const char *user)
{
    struct auth_group_list list = { NULL, 0 };

    switch (auth_groups_cached(g, fl_slice_str(user), now_ns, &list)) {
    case FL_OK: return (int)list.count;
    case FL_PENDING: return -1;
    case FL_SYSTEM: return -2;
    default: fail();
    }
    return 0;
}

static void groups_are_there_once_a_look_up_is_done(void **state)
{
    struct auth_groups    *g = fresh(100);
    struct auth_group_list list;

    (void)state;
    assert_int_equal(cached(g, "alice"), -1);
    know(g, "alice");
    assert_int_equal(auth_groups_cached(g, FL_LIT("alice"), now_ns, &list), FL_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.names[0], "alice");
    assert_string_equal(list.names[1], "staff");
    finish(g);
}

static void present_ones_are_kept_300_s_and_absent_ones_30(void **state)
{
    struct auth_groups *g = fresh(100);

    (void)state;
    here = NULL; /* no look-up ahead */
    know(g, "alice");
    know(g, "nobody");
    assert_int_equal(cached(g, "nobody"), 0);
    now_ns += 30 * FL_NS_PER_S;
    assert_int_equal(cached(g, "nobody"), -1);
    assert_int_equal(cached(g, "alice"), 2);
    now_ns += 270 * FL_NS_PER_S - 1;
    assert_int_equal(cached(g, "alice"), 2);
    now_ns++;
    assert_int_equal(cached(g, "alice"), -1);
    finish(g);
}

static void waiters_for_one_user_share_a_look_up(void **state)
{
    struct auth_groups *g = fresh(100);
    struct waiter       a, b, other, elsewhere;

    (void)state;
    fetch(g, 0, "alice", &a);
    fetch(g, 0, "alice", &b);
    fetch(g, 0, "bob", &other);
    fetch(g, 1, "alice", &elsewhere);
    assert_int_equal(job_count, 3); /* a reactor's own */
    assert_int_equal(a.called, 0);
    run_jobs();
    assert_int_equal(a.called + b.called + other.called + elsewhere.called, 4);
    assert_int_equal(look_ups, 3);
    assert_int_equal(groups_entries(g), 2);
    finish(g);
}

static void past_three_quarters_the_old_list_serves_while_a_new_one_is_fetched(void **state)
{
    struct auth_groups *g = fresh(100);

    (void)state;
    know(g, "alice");
    now_ns += 225 * FL_NS_PER_S - 1;
    assert_int_equal(cached(g, "alice"), 2);
    assert_int_equal(job_count, 0);
    now_ns++;
    assert_int_equal(cached(g, "alice"), 2);
    here = &reactors[1];
    assert_int_equal(cached(g, "alice"), 2);
    assert_int_equal(job_count, 1); /* one, whoever asks */
    run_jobs();
    now_ns += 225 * FL_NS_PER_S - 1;
    assert_int_equal(cached(g, "alice"), 2);
    assert_int_equal(look_ups, 2);
    assert_int_equal(groups_entries(g), 1);
    finish(g);
}

static void a_look_up_ahead_that_finds_no_worker_is_tried_again(void **state)
{
    struct auth_groups *g = fresh(100);

    (void)state;
    know(g, "alice");
    now_ns += 226 * FL_NS_PER_S;
    most_jobs = 0;
    assert_int_equal(cached(g, "alice"), 2);
    most_jobs = 1;
    assert_int_equal(cached(g, "alice"), 2);
    assert_int_equal(job_count, 1);
    run_jobs();
    finish(g);
}

static void too_busy_is_told_and_nobody_is_called(void **state)
{
    struct auth_groups *g = fresh(100);
    struct waiter       w = { .wait = { .done = called } };
    struct fl_error     err;

    (void)state;
    most_jobs = 0;
    assert_int_equal(auth_groups_fetch(g, &reactors[0], FL_LIT("alice"), &w.wait, &err), FL_BUSY);
    most_jobs = 1;
    assert_int_equal(auth_groups_fetch(g, &reactors[0], FL_LIT("alice"), &w.wait, &err), FL_OK);
    run_jobs();
    assert_int_equal(w.called, 1);
    finish(g);
}

static void a_failing_source_takes_no_good_list_away(void **state)
{
    struct auth_groups *g = fresh(100);

    (void)state;
    know(g, "alice");
    now_ns += 226 * FL_NS_PER_S;
    source_fails = true;
    assert_int_equal(cached(g, "alice"), 2);
    run_jobs();
    assert_int_equal(cached(g, "alice"), 2);
    now_ns += 74 * FL_NS_PER_S;
    assert_int_equal(cached(g, "alice"), -1);
    know(g, "alice");
    assert_int_equal(cached(g, "alice"), -2);
    now_ns += FL_NS_PER_S;
    assert_int_equal(cached(g, "alice"), -1); /* tried again soon */
    source_fails = false;
    know(g, "alice");
    assert_int_equal(cached(g, "alice"), 2);
    finish(g);
}

static void names_that_no_system_has_are_absent_without_asking(void **state)
{
    struct auth_groups *g = fresh(100);
    char                name[300];

    (void)state;
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = '\0';
    know(g, name);
    know(g, "");
    assert_int_equal(cached(g, name), 0);
    assert_int_equal(cached(g, ""), 0);
    assert_int_equal(look_ups, 0);
    finish(g);
}

static void the_number_of_users_is_bounded_and_expired_ones_go_first(void **state)
{
    struct auth_groups *g = fresh(64);
    char                name[32];

    (void)state;
    here = NULL;
    for (int i = 0; i < 32; i++) {
        snprintf(name, sizeof name, "nobody%d", i);
        know(g, name);
    }
    now_ns += 31 * FL_NS_PER_S;
    for (int i = 0; i < 33; i++) {
        snprintf(name, sizeof name, "user%d", i);
        know(g, name);
    }
    assert_true(groups_entries(g) <= 64);
    for (int i = 0; i < 33; i++) { /* room was made among the expired */
        snprintf(name, sizeof name, "user%d", i);
        assert_int_equal(cached(g, name), 2);
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "more%d", i);
        know(g, name);
        assert_int_equal(cached(g, name), 2); /* the newcomer itself stays */
        assert_true(groups_entries(g) <= 64);
    }
    finish(g);
}

static void what_is_under_way_is_forgotten_at_the_end(void **state)
{
    struct auth_groups *g = fresh(100);
    struct waiter       w;

    (void)state;
    fetch(g, 0, "alice", &w);
    finish(g);
    assert_int_equal(w.called, 0);
}

/* ---- the system's own -------------------------------------------------------------------------------------------- */

static void the_systems_users_and_groups_are_found(void **state)
{
    struct groups_found found = { 0 };
    struct passwd      *me = getpwuid(getuid());
    struct group       *mine = me == NULL ? NULL : getgrgid(me->pw_gid);
    bool                seen = false;

    (void)state;
    assert_non_null(mine);
    fl_buf_init(&found.names, 1 << 20);
    groups_from_nss(me->pw_name, &found);
    assert_true(found.present);
    assert_false(found.failed);
    for (const char *name = (const char *)found.names.data; found.count-- > 0; name += strlen(name) + 1)
        seen = seen || strcmp(name, mine->gr_name) == 0;
    assert_true(seen);
    fl_buf_done(&found.names);
}

static void a_name_that_the_system_does_not_know_is_absent(void **state)
{
    struct groups_found found = { 0 };

    (void)state;
    fl_buf_init(&found.names, 1 << 20);
    groups_from_nss("no such user here", &found);
    assert_false(found.present);
    assert_int_equal(found.count, 0);
    fl_buf_done(&found.names);
}

static void the_short_name_ends_at_the_first_sign(void **state)
{
    (void)state;
    assert_true(fl_slice_equal(auth_short_name(FL_LIT("alice")), FL_LIT("alice")));
    assert_true(fl_slice_equal(auth_short_name(FL_LIT("alice@EXAMPLE.COM")), FL_LIT("alice")));
    assert_true(fl_slice_equal(auth_short_name(FL_LIT("hdfs/nn1@X")), FL_LIT("hdfs")));
    assert_int_equal(auth_short_name(FL_LIT("")).len, 0);
    assert_true(fl_slice_equal(auth_short_name(FL_LIT("hdfs/nn1")), FL_LIT("hdfs")));
    assert_true(fl_slice_equal(auth_short_name(FL_LIT("alice/")), FL_LIT("alice/")));
    assert_true(fl_slice_equal(auth_short_name(FL_LIT("/alice")), FL_LIT("/alice")));
    assert_true(fl_slice_equal(auth_short_name(FL_LIT("a/b/c")), FL_LIT("a/b/c")));
}

static void a_name_with_an_at_sign_needs_its_parts(void **state)
{
    static const char *const good[] = { "", "alice", "alice/", "/", "a/b/c", "alice@R", "alice/h@R", "a b@R" };
    static const char *const bad[] = { "@",     "@R",      "alice@",    "alice/@R",    "/h@R",
                                       "a@b@c", "a/b/c@R", "alice@R/x", "alice/h@R@S", "alice/h@R/S" };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(good); i++)
        assert_false(auth_name_malformed(fl_slice_str(good[i])));
    for (size_t i = 0; i < FL_COUNT(bad); i++)
        assert_true(auth_name_malformed(fl_slice_str(bad[i])));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_there_once_a_look_up_is_done),
        cmocka_unit_test(present_ones_are_kept_300_s_and_absent_ones_30),
        cmocka_unit_test(waiters_for_one_user_share_a_look_up),
        cmocka_unit_test(past_three_quarters_the_old_list_serves_while_a_new_one_is_fetched),
        cmocka_unit_test(a_look_up_ahead_that_finds_no_worker_is_tried_again),
        cmocka_unit_test(too_busy_is_told_and_nobody_is_called),
        cmocka_unit_test(a_failing_source_takes_no_good_list_away),
        cmocka_unit_test(names_that_no_system_has_are_absent_without_asking),
        cmocka_unit_test(the_number_of_users_is_bounded_and_expired_ones_go_first),
        cmocka_unit_test(what_is_under_way_is_forgotten_at_the_end),
        cmocka_unit_test(the_systems_users_and_groups_are_found),
        cmocka_unit_test(a_name_with_an_at_sign_needs_its_parts),
        cmocka_unit_test(a_name_that_the_system_does_not_know_is_absent),
        cmocka_unit_test(the_short_name_ends_at_the_first_sign),
    };

    fl_rcu_register();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    fl_rcu_unregister();
    return failed;
}
