#include "store_rig.h"

static void what_was_written_is_there_after_reopening(void **state)
{
    struct rig    *r = *state;
    struct rig_job j = rig_job_of(RIG_DELETE, STORE_TOKENS, FL_LIT("b"), FL_LIT(""));

    rig_open(r);
    assert_int_equal(rig_put(r, STORE_TOKENS, FL_LIT("a"), FL_LIT("one")), FL_OK);
    assert_int_equal(rig_put(r, STORE_TOKENS, FL_LIT("b"), FL_LIT("two")), FL_OK);
    assert_int_equal(rig_put(r, STORE_COUNTERS, FL_LIT("a"), FL_LIT("")),
                     FL_OK); /* tables are apart, values may be empty */
    assert_int_equal(rig_put(r, STORE_TOKENS, FL_LIT("a"), FL_LIT("three")), FL_OK);
    assert_int_equal(rig_run(r, &j), FL_OK);
    rig_reopen(r);
    rig_expect(r, STORE_TOKENS, FL_LIT("a"), FL_LIT("three"));
    rig_expect(r, STORE_COUNTERS, FL_LIT("a"), FL_LIT(""));
    rig_expect_none(r, STORE_TOKENS, FL_LIT("b"));
    j = rig_job_of(RIG_DELETE, STORE_TOKENS, FL_LIT("b"), FL_LIT(""));
    assert_int_equal(rig_run(r, &j), FL_NOT_FOUND);
}

enum { MANY = 100 };

/* One job is held before its commit; what comes meanwhile shares the next. */
static void hold_one_and_submit(struct rig *r, struct rig_job *first, struct rig_job *jobs, size_t count)
{
    *first = rig_job_of(RIG_PUT, STORE_TOKENS, FL_LIT("first"), FL_LIT("x"));
    r->config.test_hold = true;
    rig_open(r);
    rig_submit(r, first);
    rig_wait_until_taken(r);
    for (size_t i = 0; i < count; i++)
        rig_submit(r, &jobs[i]);
}

static void jobs_that_wait_share_a_commit(void **state)
{
    struct rig        *r = *state;
    struct rig_job     first, jobs[MANY];
    struct store_stats stats;
    char               keys[MANY][8];

    for (int i = 0; i < MANY; i++) {
        snprintf(keys[i], sizeof keys[i], "%d", i);
        jobs[i] = rig_job_of(RIG_PUT, STORE_TOKENS, fl_slice_str(keys[i]), FL_LIT("v"));
    }
    hold_one_and_submit(r, &first, jobs, MANY);
    store_stats(r->store, &stats);
    assert_int_equal(stats.waiting, MANY);
    assert_int_equal(stats.commits, 0);
    assert_int_equal(first.done_at, 0); /* no answer before the commit */
    store_test_release(r->store, 1);
    assert_int_equal(rig_wait(&first), FL_OK);
    store_test_release(r->store, 1);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(rig_wait(&jobs[i]), FL_OK);
    store_stats(r->store, &stats);
    assert_int_equal(stats.commits, 2);
    assert_int_equal(stats.jobs, MANY + 1);
    assert_true(stats.used_bytes > 0 && stats.map_bytes == UINT64_C(64) << 30);
    for (int i = 0; i < MANY; i++) { /* all committed before the first answer, each in its place */
        assert_true(jobs[i].committed_at < jobs[0].done_at);
        assert_true(i == 0 ||
                    (jobs[i].committed_at > jobs[i - 1].committed_at && jobs[i].done_at > jobs[i - 1].done_at));
    }
}

static void a_refusal_leaves_the_others(void **state)
{
    struct rig    *r = *state;
    struct rig_job first, jobs[3] = {
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("a"), FL_LIT("1")),
        rig_job_of(RIG_REFUSE, STORE_KEYS, FL_LIT("b"), FL_LIT("2")),
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("c"), FL_LIT("3")),
    };
    struct store_stats stats;

    hold_one_and_submit(r, &first, jobs, 3);
    store_test_release(r->store, 2);
    assert_int_equal(rig_wait(&jobs[0]), FL_OK);
    assert_int_equal(rig_wait(&jobs[1]), FL_EXISTS);
    assert_string_equal(jobs[1].job.err.text, "refused");
    assert_int_equal(rig_wait(&jobs[2]), FL_OK);
    assert_int_equal(jobs[1].committed_at, 0);
    assert_int_equal(jobs[0].applied, 1); /* nobody had to run again */
    store_stats(r->store, &stats);
    assert_int_equal(stats.jobs, 3);
    r->config.test_hold = false;
    rig_reopen(r);
    rig_expect(r, STORE_KEYS, FL_LIT("a"), FL_LIT("1"));
    rig_expect(r, STORE_KEYS, FL_LIT("c"), FL_LIT("3"));
}

static void writes_of_a_job_that_then_refuses_do_not_stay(void **state)
{
    struct rig    *r = *state;
    struct rig_job first, jobs[3] = {
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("a"), FL_LIT("1")),
        rig_job_of(RIG_PUT_AND_REFUSE, STORE_KEYS, FL_LIT("b"), FL_LIT("2")),
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("c"), FL_LIT("3")),
    };

    hold_one_and_submit(r, &first, jobs, 3);
    store_test_release(r->store, 10);
    assert_int_equal(rig_wait(&jobs[0]), FL_OK);
    assert_int_equal(rig_wait(&jobs[1]), FL_DENIED);
    assert_int_equal(rig_wait(&jobs[2]), FL_OK);
    assert_true(jobs[0].applied > 1); /* one by one */
    rig_expect(r, STORE_KEYS, FL_LIT("a"), FL_LIT("1"));
    rig_expect_none(r, STORE_KEYS, FL_LIT("b"));
    rig_expect(r, STORE_KEYS, FL_LIT("c"), FL_LIT("3"));
}

static void a_job_sees_what_those_before_it_did(void **state)
{
    struct rig    *r = *state;
    struct rig_job first, jobs[4] = {
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("a"), FL_LIT("1")),
        rig_job_of(RIG_GET, STORE_KEYS, FL_LIT("a"), FL_LIT("")),
        rig_job_of(RIG_DELETE, STORE_KEYS, FL_LIT("a"), FL_LIT("")),
        rig_job_of(RIG_DELETE, STORE_KEYS, FL_LIT("a"), FL_LIT("")),
    };

    hold_one_and_submit(r, &first, jobs, 4);
    store_test_release(r->store, 2);
    assert_int_equal(rig_wait(&jobs[1]), FL_OK);
    assert_true(fl_slice_equal(fl_slice_of(jobs[1].got, jobs[1].got_len), FL_LIT("1")));
    assert_int_equal(rig_wait(&jobs[2]), FL_OK);
    assert_int_equal(rig_wait(&jobs[3]), FL_NOT_FOUND);
    free(jobs[1].got);
}

static void closing_finishes_what_was_submitted(void **state)
{
    struct rig    *r = *state;
    struct rig_job first, jobs[2] = {
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("a"), FL_LIT("1")),
        rig_job_of(RIG_PUT, STORE_KEYS, FL_LIT("b"), FL_LIT("2")),
    };

    hold_one_and_submit(r, &first, jobs, 2);
    rig_close(r); /* although nobody released a commit */
    assert_true(first.done_at > 0 && jobs[0].done_at > 0 && jobs[1].done_at > 0);
    assert_int_equal(jobs[1].job.status, FL_OK);
    r->config.test_hold = false;
    rig_open(r);
    rig_expect(r, STORE_KEYS, FL_LIT("b"), FL_LIT("2"));
}

static void more_than_65536_waiting_jobs_are_refused(void **state)
{
    enum { MOST = 65536 };
    struct rig     *r = *state;
    struct rig_job *jobs = calloc(MOST + 1, sizeof *jobs), first;
    struct fl_error err;

    assert_non_null(jobs);
    for (size_t i = 0; i <= MOST; i++)
        jobs[i] = rig_job_of(RIG_REFUSE, STORE_KEYS, FL_LIT("a"), FL_LIT(""));
    hold_one_and_submit(r, &first, jobs, MOST);
    assert_int_equal(store_submit(r->store, &jobs[MOST].job, &err), FL_BUSY);
    assert_non_null(strstr(err.text, "65536"));
    store_test_release(r->store, 1);
    for (size_t i = 0; i < MOST; i++)
        assert_int_equal(rig_wait(&jobs[i]), FL_EXISTS);
    assert_int_equal(jobs[MOST].done_at, 0);
    free(jobs);
}

static void record_keys_have_their_limits(void **state)
{
    static const uint8_t bytes[STORE_KEY_MAX + 1] = { 1 };
    struct rig          *r = *state;
    struct rig_job       j = rig_job_of(RIG_PUT, STORE_KEYS, fl_slice_of(bytes, sizeof bytes), FL_LIT("v"));

    rig_open(r);
    assert_int_equal(rig_run(r, &j), FL_USAGE);
    assert_non_null(strstr(j.job.err.text, "481 bytes"));
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT(""), FL_LIT("v")), FL_USAGE);
    assert_int_equal(rig_put(r, STORE_META, FL_LIT("header"), FL_LIT("v")), FL_USAGE);
    assert_int_equal(rig_put(r, STORE_META, FL_LIT("other"), FL_LIT("v")), FL_OK);
    assert_int_equal(rig_put(r, STORE_KEYS, fl_slice_of(bytes, STORE_KEY_MAX), FL_LIT("longest")), FL_OK);
    rig_reopen(r);
    rig_expect(r, STORE_KEYS, fl_slice_of(bytes, STORE_KEY_MAX), FL_LIT("longest"));
    rig_expect(r, STORE_META, FL_LIT("other"), FL_LIT("v"));
}

static void large_values_are_kept(void **state)
{
    enum { LARGE = 3 << 20 };
    struct rig *r = *state;
    uint8_t    *value = malloc(LARGE);

    assert_non_null(value);
    for (size_t i = 0; i < LARGE; i++)
        value[i] = (uint8_t)(i * 7 >> 3);
    rig_open(r);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("k"), fl_slice_of(value, LARGE)), FL_OK);
    rig_reopen(r);
    rig_expect(r, STORE_KEYS, FL_LIT("k"), fl_slice_of(value, LARGE));
    free(value);
}

static void names_become_record_keys(void **state)
{
    static const uint8_t name[401] = { 'x' };
    uint8_t              short_key[STORE_NAME_KEY_MAX], long_key[STORE_NAME_KEY_MAX], other[STORE_NAME_KEY_MAX];

    (void)state;
    assert_int_equal(store_name_key(FL_LIT("ab"), short_key), 3);
    assert_memory_equal(short_key, "nab", 3);
    assert_int_equal(store_name_key(fl_slice_of(name, 400), short_key), 401);
    assert_int_equal(store_name_key(fl_slice_of(name, 401), long_key), 33);
    assert_int_equal(long_key[0], 'h');
    /* the hash itself, as a name, is another record */
    assert_int_equal(store_name_key(fl_slice_of(long_key + 1, 32), other), 33);
    assert_memory_not_equal(long_key, other, 33);
    /* FIPS 180-2, B.3: a million times 'a' */
    {
        static const uint8_t digest[] = { 0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92 };
        uint8_t             *million = malloc(1000000);
        assert_non_null(million);
        memset(million, 'a', 1000000);
        assert_int_equal(store_name_key(fl_slice_of(million, 1000000), long_key), 33);
        assert_memory_equal(long_key + 1, digest, sizeof digest);
        free(million);
    }
}

struct seen {
    char text[64];
};

static enum fl_status note(void *ctx, struct fl_slice key, struct fl_slice value, struct fl_error *err)
{
    struct seen *s = ctx;
    size_t       len = strlen(s->text);

    snprintf(s->text + len, sizeof s->text - len, "%.*s=%.*s;", FL_SLICE_ARGS(key), FL_SLICE_ARGS(value));
    return fl_slice_equal(key, FL_LIT("stop")) ? fl_fail(err, FL_DENIED, 0, "stopped") : FL_OK;
}

static void a_scan_goes_in_order_of_keys(void **state)
{
    struct rig     *r = *state;
    struct seen     s = { "" };
    struct fl_error err;

    rig_open(r);
    assert_int_equal(store_scan(r->store, STORE_KEYS, note, &s, NULL), FL_OK);
    assert_string_equal(s.text, "");
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("b"), FL_LIT("2")), FL_OK);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("a"), FL_LIT("1")), FL_OK);
    assert_int_equal(rig_put(r, STORE_META, FL_LIT("m"), FL_LIT("")), FL_OK);
    assert_int_equal(store_scan(r->store, STORE_KEYS, note, &s, NULL), FL_OK);
    assert_string_equal(s.text, "a=1;b=2;");
    s.text[0] = '\0';
    assert_int_equal(store_scan(r->store, STORE_META, note, &s, NULL), FL_OK);
    assert_string_equal(s.text, "m=;"); /* not the header */
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("stop"), FL_LIT("3")), FL_OK);
    assert_int_equal(rig_put(r, STORE_KEYS, FL_LIT("t"), FL_LIT("4")), FL_OK);
    s.text[0] = '\0';
    assert_int_equal(store_scan(r->store, STORE_KEYS, note, &s, &err), FL_DENIED);
    assert_string_equal(err.text, "stopped");
    assert_string_equal(s.text, "a=1;b=2;stop=3;");
}

struct writers {
    struct rig *rig;
    unsigned    number;
};

enum { THREADS = 4, EACH = 300 };

static void *write_some(void *arg)
{
    struct writers *w = arg;
    char            key[16];

    for (unsigned i = 0; i < EACH; i++) {
        snprintf(key, sizeof key, "%u-%u", w->number, i);
        if (rig_put(w->rig, STORE_TOKENS, fl_slice_str(key), fl_slice_str(key)) != FL_OK)
            return NULL;
    }
    return arg;
}

static enum fl_status count_one(void *ctx, struct fl_slice key, struct fl_slice value, struct fl_error *err)
{
    if (!fl_slice_equal(key, value))
        return fl_fail(err, FL_MALFORMED, 0, "another's value");
    ++*(unsigned *)ctx;
    return FL_OK;
}

static void many_threads_write(void **state)
{
    struct rig    *r = *state;
    struct writers w[THREADS];
    pthread_t      threads[THREADS];
    void          *result;
    unsigned       count = 0;

    rig_open(r);
    for (unsigned i = 0; i < THREADS; i++) {
        w[i] = (struct writers){ r, i };
        assert_int_equal(pthread_create(&threads[i], NULL, write_some, &w[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, &w[i]);
    }
    assert_int_equal(store_scan(r->store, STORE_TOKENS, count_one, &count, NULL), FL_OK);
    assert_int_equal(count, THREADS * EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STORE(what_was_written_is_there_after_reopening),
        WITH_STORE(jobs_that_wait_share_a_commit),
        WITH_STORE(a_refusal_leaves_the_others),
        WITH_STORE(writes_of_a_job_that_then_refuses_do_not_stay),
        WITH_STORE(a_job_sees_what_those_before_it_did),
        WITH_STORE(closing_finishes_what_was_submitted),
        WITH_STORE(more_than_65536_waiting_jobs_are_refused),
        WITH_STORE(record_keys_have_their_limits),
        WITH_STORE(large_values_are_kept),
        cmocka_unit_test(names_become_record_keys),
        WITH_STORE(a_scan_goes_in_order_of_keys),
        WITH_STORE(many_threads_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
