#include "io_rig.h"

static const struct io_protocol silent = { .name = "silent" };

/* ---- order ---- */

enum { SENDERS = 4, LETTERS = 20000 };

struct letter {
    struct io_mail mail;
    unsigned       sender, number;
};

static struct letter    letters[SENDERS][LETTERS];
static unsigned         next_of[SENDERS];
static bool             out_of_order, elsewhere;
static struct rig_count delivered = RIG_COUNT_INIT;
static struct rig      *current;

static void check_order(struct io_mail *m)
{
    struct letter *l = FL_CONTAINER(m, struct letter, mail);

    out_of_order |= l->number != next_of[l->sender]++;
    elsewhere |= io_reactor_here() != io_reactors_at(current->rs, 0);
    if (l->number == LETTERS - 1)
        rig_add(&delivered, 1);
}

static void *post_all(void *arg)
{
    struct letter *mine = arg;

    for (unsigned i = 0; i < LETTERS; i++)
        io_post(io_reactors_at(current->rs, 0), &mine[i].mail);
    return NULL;
}

static void letters_of_each_sender_arrive_in_order(void **state)
{
    struct rig rig = { 0 };
    pthread_t  threads[SENDERS];

    (void)state;
    current = &rig;
    rig_start(&rig, &silent);
    for (unsigned s = 0; s < SENDERS; s++)
        for (unsigned i = 0; i < LETTERS; i++)
            letters[s][i] = (struct letter){ .mail = { .deliver = check_order }, .sender = s, .number = i };
    for (unsigned s = 0; s < SENDERS; s++)
        assert_int_equal(pthread_create(&threads[s], NULL, post_all, letters[s]), 0);
    for (unsigned s = 0; s < SENDERS; s++)
        pthread_join(threads[s], NULL);
    assert_true(rig_wait(&delivered, SENDERS));
    rig_end(&rig, 0);
    assert_false(out_of_order);
    assert_false(elsewhere);
    for (unsigned s = 0; s < SENDERS; s++)
        assert_int_equal(next_of[s], LETTERS);
}

/* ---- ping-pong between reactors ---- */

static struct rig_count rounds = RIG_COUNT_INIT;
static unsigned         hops;

static void hop(struct io_mail *m)
{
    unsigned at = io_reactor_index(io_reactor_here());

    if (++hops == 2000)
        rig_add(&rounds, 1);
    else
        io_post(io_reactors_at(current->rs, 1 - at), m);
}

static void a_letter_may_be_posted_again_while_it_is_delivered(void **state)
{
    struct rig     rig = { .config = { .reactors = 2 } };
    struct io_mail m = { .deliver = hop };

    (void)state;
    current = &rig;
    rig_start(&rig, &silent);
    io_post(io_reactors_at(rig.rs, 0), &m);
    assert_true(rig_wait(&rounds, 1));
    rig_end(&rig, 0);
    assert_int_equal(hops, 2000);
}

/* ---- timers ---- */

static struct rig_count fired = RIG_COUNT_INIT;
static struct io_timer  timers[3];
static int              order[3], order_len;

static void fire(struct io_timer *t)
{
    order[order_len++] = (int)(t - timers);
    if (t->running)
        abort();
    rig_add(&fired, 1);
}

static void start_timers(struct io_reactor *r, void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        timers[i] = (struct io_timer){ .fire = fire };
    io_timer_start(r, &timers[0], 5 * FL_NS_PER_MS);
    io_timer_start(r, &timers[1], 1 * FL_NS_PER_MS);
    io_timer_start(r, &timers[2], 2 * FL_NS_PER_MS);
    io_timer_start(r, &timers[1], 9 * FL_NS_PER_MS); /* restarted: later now */
    io_timer_stop(&timers[2]);
    io_timer_stop(&timers[2]);
    if (rig_get(&fired) != 0)
        abort();
}

static void timers_fire_once_in_order_and_stopped_ones_never(void **state)
{
    struct rig rig = { 0 };

    (void)state;
    rig_start(&rig, &silent);
    rig_on_reactor(&rig, start_timers, NULL);
    assert_true(rig_wait(&fired, 2));
    rig_end(&rig, 0);
    assert_int_equal(rig_get(&fired), 2);
    assert_int_equal(order[0], 0);
    assert_int_equal(order[1], 1);
}

/* ---- workers ---- */

struct job {
    struct io_work     work;
    struct io_reactor *expected;
    int                in, out;
};

static struct job       jobs[IO_WORK_WAITING_MAX + 64];
static struct rig_count jobs_done = RIG_COUNT_INIT, gate = RIG_COUNT_INIT, entered = RIG_COUNT_INIT;
static unsigned         refused, taken;
static char             refusal[240];

static void square(struct io_work *w)
{
    struct job *j = FL_CONTAINER(w, struct job, work);

    if (io_reactor_here() != NULL)
        abort(); /* a worker is no reactor */
    j->out = j->in * j->in;
}

static void job_done(struct io_work *w)
{
    struct job *j = FL_CONTAINER(w, struct job, work);

    if (io_reactor_here() != j->expected || j->out != j->in * j->in)
        abort();
    rig_add(&jobs_done, 1);
}

static void submit_some(struct io_reactor *r, void *arg)
{
    (void)arg;
    for (int i = 0; i < 100; i++) {
        jobs[i] = (struct job){ .work = { .run = square, .done = job_done }, .expected = r, .in = i };
        if (io_work_submit(r, &jobs[i].work, NULL) != FL_OK)
            abort();
    }
}

static void jobs_run_on_workers_and_come_home(void **state)
{
    struct rig rig = { .config = { .workers = 3 } };

    (void)state;
    jobs_done.n = 0;
    rig_start(&rig, &silent);
    rig_on_reactor(&rig, submit_some, NULL);
    rig_end(&rig, 0); /* even a drain without grace waits for them */
    assert_int_equal(rig_get(&jobs_done), 100);
}

static void wait_at_gate(struct io_work *w)
{
    (void)w;
    rig_add(&entered, 1);
    if (!rig_wait(&gate, 1))
        abort();
}

static void plain_done(struct io_work *w)
{
    (void)w;
    rig_add(&jobs_done, 1);
}

static void submit_blocker(struct io_reactor *r, void *arg)
{
    (void)arg;
    jobs[0] = (struct job){ .work = { .run = wait_at_gate, .done = plain_done } };
    if (io_work_submit(r, &jobs[0].work, NULL) != FL_OK)
        abort();
}

static void submit_too_many(struct io_reactor *r, void *arg)
{
    struct fl_error err;

    (void)arg;
    for (unsigned i = 1; i < FL_COUNT(jobs); i++) {
        jobs[i] = (struct job){ .work = { .run = square, .done = plain_done } };
        if (io_work_submit(r, &jobs[i].work, &err) == FL_OK) {
            taken++;
        } else {
            refused++;
            memcpy(refusal, err.text, sizeof refusal);
            if (err.status != FL_BUSY)
                abort();
        }
    }
}

static void too_many_waiting_jobs_are_refused_in_words(void **state)
{
    struct rig rig = { .config = { .workers = 1 } };

    (void)state;
    jobs_done.n = 0;
    rig_start(&rig, &silent);
    rig_on_reactor(&rig, submit_blocker, NULL);
    assert_true(rig_wait(&entered, 1)); /* the only worker is busy, nothing waits */
    rig_on_reactor(&rig, submit_too_many, NULL);
    rig_add(&gate, 1);
    rig_end(&rig, 0);
    assert_int_equal(taken, IO_WORK_WAITING_MAX);
    assert_int_equal(refused, FL_COUNT(jobs) - 1 - IO_WORK_WAITING_MAX);
    assert_int_equal(rig_get(&jobs_done), IO_WORK_WAITING_MAX + 1);
    assert_string_equal(refusal, "10000 jobs wait for 1 workers, no more are taken");
}

/* ---- hooks and settings ---- */

static struct rig_count begun = RIG_COUNT_INIT, ended = RIG_COUNT_INIT;

static void on_begin(struct io_reactor *r, void *arg)
{
    if (io_reactor_here() != r || arg != &begun)
        abort();
    rig_add(&begun, 1);
}

static void on_end(struct io_reactor *r, void *arg)
{
    if (io_reactor_here() != r || arg != &begun)
        abort();
    rig_add(&ended, 1);
}

static void hooks_run_on_each_reactor(void **state)
{
    struct rig     rig = { .config = { .reactors = 3 } };
    struct io_hook hook = { .begin = on_begin, .end = on_end, .arg = &begun };

    (void)state;
    rig_make(&rig, &silent);
    assert_int_equal(io_reactors_hook(rig.rs, &hook, NULL), FL_OK);
    rig_run(&rig);
    assert_true(rig_wait(&begun, 3));
    assert_int_equal(rig_get(&ended), 0);
    rig_end(&rig, 0);
    assert_int_equal(rig_get(&ended), 3);
    assert_null(io_reactor_here());
}

static void bad_settings_are_refused_in_words(void **state)
{
    struct io_reactors *rs = NULL;
    struct fl_error     err;
    struct io_config    config = { .workers = 0, .max_connections = 1 };

    (void)state;
    assert_int_equal(io_reactors_new(&rs, &config, &err), FL_USAGE);
    assert_string_equal(err.text, "0 workers, where 1 to 1024 are allowed");
    config = (struct io_config){ .workers = 1 };
    assert_int_equal(io_reactors_new(&rs, &config, &err), FL_USAGE);
    config = (struct io_config){ .reactors = 5000, .workers = 1, .max_connections = 1 };
    assert_int_equal(io_reactors_new(&rs, &config, &err), FL_USAGE);
    assert_null(rs);
    config.reactors = 0;
    assert_int_equal(io_reactors_new(&rs, &config, &err), FL_OK);
    assert_true(io_reactors_count(rs) >= 1); /* one a core */
    io_reactors_free(rs);                    /* never started */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_of_each_sender_arrive_in_order),
        cmocka_unit_test(a_letter_may_be_posted_again_while_it_is_delivered),
        cmocka_unit_test(timers_fire_once_in_order_and_stopped_ones_never),
        cmocka_unit_test(jobs_run_on_workers_and_come_home),
        cmocka_unit_test(too_many_waiting_jobs_are_refused_in_words),
        cmocka_unit_test(hooks_run_on_each_reactor),
        cmocka_unit_test(bad_settings_are_refused_in_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
