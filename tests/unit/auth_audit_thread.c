#include "auth/audit_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

#define WALL_MS INT64_C(1796089167839)

/* A folder with the log, watched for writes. */
struct place {
    char dir[64], log[96], old[96];
    int  watch;
};

static int set_up(void **state)
{
    struct place *p = calloc(1, sizeof *p);

    assert_non_null(p);
    snprintf(p->dir, sizeof p->dir, "/tmp/fl-auth-audit-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    snprintf(p->log, sizeof p->log, "%s/audit.log", p->dir);
    snprintf(p->old, sizeof p->old, "%s/audit.log.1", p->dir);
    p->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(p->watch, p->dir, IN_MODIFY | IN_CREATE) >= 0);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;

    unlink(p->log);
    unlink(p->old);
    rmdir(p->dir);
    close(p->watch);
    free(p);
    return 0;
}

/* Waits until something in the folder changes. */
static void wait_for_change(struct place *p)
{
    struct pollfd ready = { .fd = p->watch, .events = POLLIN };
    char          events[4096];

    assert_int_equal(poll(&ready, 1, 30000), 1);
    assert_true(read(p->watch, events, sizeof events) > 0);
}

static char *text_of(const char *path)
{
    FILE  *f = fopen(path, "r");
    char  *text = calloc(1, 16 << 20);
    size_t len;

    assert_non_null(f);
    assert_non_null(text);
    len = fread(text, 1, (16 << 20) - 1, f);
    text[len] = '\0';
    fclose(f);
    return text;
}

static unsigned lines_in(const char *path)
{
    char    *text = text_of(path);
    unsigned lines = 0;

    for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    free(text);
    return lines;
}

static struct audit *log_to(const char *file, unsigned reactors, size_t ring_bytes, bool drop)
{
    struct audit_config c = {
        .file = file, .window_ns = 10 * FL_NS_PER_S, .ring_bytes = ring_bytes, .drop = drop, .reactors = reactors
    };
    struct audit   *a = NULL;
    struct fl_error err = { FL_OK, 0, "" };

    if (audit_new(&a, &c, &err) != FL_OK)
        fail_msg("%s", err.text);
    return a;
}

static bool record(struct audit *a, unsigned reactor, const char *user, int64_t wall_ms)
{
    return audit_record(a, reactor, AUDIT_OK, AUDIT_GET_METADATA, NULL, FL_LIT("k1"), fl_slice_str(user), FL_LIT(""),
                        wall_ms);
}

static void a_record_is_in_the_file_without_any_further_call(void **state)
{
    struct place *p = *state;
    struct audit *a = log_to(p->log, 1, 0, false);
    char         *text;

    assert_true(record(a, 0, "alice", WALL_MS));
    while (lines_in(p->log) == 0)
        wait_for_change(p);
    text = text_of(p->log);
    assert_string_equal(text, "2026-12-01 01:39:27,839 OK[op=GET_METADATA, key=k1, user=alice] \n");
    free(text);
    assert_int_equal(audit_health(a, NULL), FL_OK);
    audit_free(a);
}

static void the_end_writes_what_is_left_and_closes_open_windows(void **state)
{
    struct place      *p = *state;
    struct audit      *a = log_to(p->log, 2, 0, false);
    struct audit_stats stats;
    char              *text;

    for (int i = 0; i < 3; i++)
        assert_true(
            audit_record(a, 1, AUDIT_OK, AUDIT_DECRYPT_EEK, NULL, FL_LIT("k1"), FL_LIT("dec"), FL_LIT(""), WALL_MS));
    assert_true(
        audit_record(a, 0, AUDIT_UNAUTHORIZED, AUDIT_LEVEL2, "READ", FL_LIT("k1"), FL_LIT("bob"), FL_LIT(""), WALL_MS));
    audit_stats(a, &stats);
    assert_int_equal(stats.records, 4);
    audit_free(a);
    text = text_of(p->log);
    assert_non_null(strstr(text, "accessCount=1, interval=0ms] \n"));
    assert_non_null(strstr(text, "accessCount=3, interval="));
    assert_non_null(strstr(text, "UNAUTHORIZED[op=READ, key=k1, user=bob] \n"));
    assert_int_equal(lines_in(p->log), 3);
    free(text);
}

static void without_a_file_every_record_is_fine(void **state)
{
    struct audit      *a = log_to(NULL, 1, 0, false);
    struct audit_stats stats;

    (void)state;
    assert_true(record(a, 0, "alice", WALL_MS));
    audit_stats(a, &stats);
    assert_int_equal(stats.records, 0);
    audit_reopen(a);
    audit_free(a);
}

static void a_file_that_cannot_be_opened_is_named(void **state)
{
    struct audit_config c = { .file = "/nonexistent/audit.log", .reactors = 1 };
    struct audit       *a = NULL;
    struct fl_error     err;

    (void)state;
    assert_int_equal(audit_new(&a, &c, &err), FL_SYSTEM);
    assert_non_null(strstr(err.text, "/nonexistent/audit.log"));
    assert_null(a);
    c.file = "/dev/null";
    c.reactors = 0;
    assert_int_equal(audit_new(&a, &c, &err), FL_USAGE);
}

static void the_file_is_for_its_owner_and_group_and_is_appended_to(void **state)
{
    struct place *p = *state;
    struct audit *a = log_to(p->log, 1, 0, false);
    struct stat   st;

    assert_true(record(a, 0, "alice", WALL_MS));
    audit_free(a);
    assert_int_equal(stat(p->log, &st), 0);
    assert_int_equal(st.st_mode & 0137, 0);
    a = log_to(p->log, 1, 0, false);
    assert_true(record(a, 0, "bob", WALL_MS));
    audit_free(a);
    assert_int_equal(lines_in(p->log), 2);
}

static void after_a_rotation_lines_go_to_the_new_file(void **state)
{
    struct place *p = *state;
    struct audit *a = log_to(p->log, 1, 0, false);

    assert_true(record(a, 0, "before", WALL_MS));
    while (lines_in(p->log) == 0)
        wait_for_change(p);
    assert_int_equal(rename(p->log, p->old), 0);
    audit_reopen(a);
    while (access(p->log, F_OK) != 0)
        wait_for_change(p);
    assert_true(record(a, 0, "after", WALL_MS));
    audit_free(a);
    assert_int_equal(lines_in(p->old), 1);
    assert_int_equal(lines_in(p->log), 1);
}

/* ---- a file that takes no more ----------------------------------------------------------------------------------- */

static void limit_files_to(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Records until the ring takes no more; how many it took. */
static unsigned fill(struct audit *a)
{
    unsigned took = 0;

    while (record(a, 0, "alice", WALL_MS)) {
        took++;
        assert_true(took < 10000000);
    }
    return took;
}

static void a_full_disk_refuses_records_and_loses_none_it_took(void **state)
{
    struct place      *p = *state;
    struct audit      *a;
    struct audit_stats stats;
    struct fl_error    err;
    unsigned           took;

    signal(SIGXFSZ, SIG_IGN); /* over the limit write() then fails like on a full disk */
    limit_files_to(1000);
    a = log_to(p->log, 1, 16 * 1024, false);
    took = fill(a);
    audit_stats(a, &stats);
    assert_true(stats.refused >= 1);
    assert_int_equal(stats.records, took);
    assert_int_equal(stats.dropped, 0);
    do
        audit_stats(a, &stats);
    while (stats.write_errors == 0);
    assert_int_equal(audit_health(a, &err), FL_SYSTEM);
    assert_non_null(strstr(err.text, p->log));
    assert_int_equal(err.sys, EFBIG);
    limit_files_to(RLIM_INFINITY);
    audit_free(a);
    assert_int_equal(lines_in(p->log), took);
}

static void a_line_torn_by_a_full_disk_is_whole_in_the_next_file(void **state)
{
    struct place      *p = *state;
    struct audit      *a;
    struct audit_stats stats;
    char              *text;

    signal(SIGXFSZ, SIG_IGN);
    limit_files_to(30); /* within the first line */
    a = log_to(p->log, 1, 0, false);
    assert_true(record(a, 0, "alice", WALL_MS));
    do
        audit_stats(a, &stats);
    while (stats.write_errors == 0);
    assert_int_equal(rename(p->log, p->old), 0);
    audit_reopen(a);
    while (access(p->log, F_OK) != 0)
        wait_for_change(p);
    limit_files_to(RLIM_INFINITY);
    audit_free(a);
    text = text_of(p->log);
    assert_string_equal(text, "2026-12-01 01:39:27,839 OK[op=GET_METADATA, key=k1, user=alice] \n");
    free(text);
}

static void with_drop_a_full_ring_is_counted_and_nobody_refused(void **state)
{
    struct audit      *a = log_to("/dev/full", 1, 16 * 1024, true);
    struct audit_stats stats;

    (void)state;
    do {
        assert_true(record(a, 0, "alice", WALL_MS));
        audit_stats(a, &stats);
    } while (stats.dropped == 0);
    assert_int_equal(stats.refused, 0);
    audit_free(a);
}

/* ---- several reactors -------------------------------------------------------------------------------------------- */

enum { WRITERS = 3, EACH = 20000 };

struct writer {
    struct audit *a;
    unsigned      index;
};

static void *write_many(void *at)
{
    struct writer *w = at;
    char           user[32];

    for (int i = 0; i < EACH; i++) {
        snprintf(user, sizeof user, "r%u-%d", w->index, i);
        while (!record(w->a, w->index, user, WALL_MS + i))
            sched_yield();
    }
    return NULL;
}

static void every_record_of_every_reactor_is_written_once_in_its_order(void **state)
{
    struct place *p = *state;
    struct audit *a = log_to(p->log, WRITERS, 64 * 1024, false);
    struct writer writers[WRITERS];
    pthread_t     threads[WRITERS];
    unsigned      next[WRITERS] = { 0 }, reactor, i;
    char         *text, *rest, *line;

    for (unsigned n = 0; n < WRITERS; n++) {
        writers[n] = (struct writer){ a, n };
        assert_int_equal(pthread_create(&threads[n], NULL, write_many, &writers[n]), 0);
    }
    for (unsigned n = 0; n < WRITERS; n++)
        pthread_join(threads[n], NULL);
    audit_free(a);
    text = rest = text_of(p->log);
    while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
        assert_non_null(strstr(line, "user=r"));
        assert_int_equal(sscanf(strstr(line, "user=r"), "user=r%u-%u]", &reactor, &i), 2);
        assert_true(reactor < WRITERS && i == next[reactor]);
        next[reactor]++;
    }
    for (unsigned n = 0; n < WRITERS; n++)
        assert_int_equal(next[n], EACH);
    free(text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_record_is_in_the_file_without_any_further_call, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_writes_what_is_left_and_closes_open_windows, set_up, tear_down),
        cmocka_unit_test(without_a_file_every_record_is_fine),
        cmocka_unit_test(a_file_that_cannot_be_opened_is_named),
        cmocka_unit_test_setup_teardown(the_file_is_for_its_owner_and_group_and_is_appended_to, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_a_rotation_lines_go_to_the_new_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_refuses_records_and_loses_none_it_took, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_torn_by_a_full_disk_is_whole_in_the_next_file, set_up, tear_down),
        cmocka_unit_test(with_drop_a_full_ring_is_counted_and_nobody_refused),
        cmocka_unit_test_setup_teardown(every_record_of_every_reactor_is_written_once_in_its_order, set_up, tear_down),
    };

    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
