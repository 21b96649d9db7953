#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What was logged since begin_log, up to 64 KiB: the most a pipe holds. */
static int  ends[2];
static char logged[65537];

static void begin_log(enum fl_log_level level, bool json)
{
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    fl_log_setup(level, json, ends[1]);
}

static const char *end_log(void)
{
    ssize_t n = read(ends[0], logged, sizeof logged - 1);

    logged[n < 0 ? 0 : n] = '\0';
    fl_log_setup(FL_LOG_NONE, false, STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    return logged;
}

static void assert_matches(const char *text, const char *pattern)
{
    regex_t re;

    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&re, text, 0, NULL, 0) != 0)
        fail_msg("'%s' is not like '%s'", text, pattern);
    regfree(&re);
}

#define TIME "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z"

static void a_text_line_is_time_level_room_sentence(void **state)
{
    (void)state;
    begin_log(FL_LOG_INFO, false);
    fl_info("kms", "listening on %s port=%d", "127.0.0.1", 9600);
    fl_warn("store", "slow");
    fl_err("io", "gone");
    assert_matches(end_log(), "^" TIME " INFO kms listening on 127\\.0\\.0\\.1 port=9600\n" TIME
                              " WARN store slow\n" TIME " ERROR io gone\n$");
}

static void a_json_line_is_one_object(void **state)
{
    (void)state;
    begin_log(FL_LOG_DEBUG, true);
    fl_debug("kms", "key '%s'", "a\"b\nc");
    assert_matches(end_log(), "^\\{\"time\":\"" TIME "\",\"level\":\"debug\",\"room\":\"kms\","
                              "\"message\":\"key 'a\\\\\"b\\\\nc'\"\\}\n$");
}

static void what_is_below_the_level_is_not_written(void **state)
{
    (void)state;
    begin_log(FL_LOG_WARN, false);
    assert_false(fl_log_wants(FL_LOG_INFO));
    assert_true(fl_log_wants(FL_LOG_WARN));
    fl_info("kms", "no");
    fl_debug("kms", "no");
    assert_string_equal(end_log(), "");
    begin_log(FL_LOG_NONE, false);
    assert_false(fl_log_wants(FL_LOG_NONE));
    fl_err("kms", "no");
    assert_string_equal(end_log(), "");
}

static void a_peer_cannot_begin_a_line_of_its_own(void **state)
{
    (void)state;
    begin_log(FL_LOG_INFO, false);
    fl_info("kms", "user '%s'", "x\n2026 INFO kms all is well\r\x1b[2J\x7f");
    assert_matches(end_log(), " user 'x\\\\n2026 INFO kms all is well\\\\x0d\\\\x1b\\[2J\\\\x7f'\n$");
    assert_ptr_equal(strchr(logged, '\n'), logged + strlen(logged) - 1);
}

static void a_long_sentence_is_cut_between_characters(void **state)
{
    char text[3001];

    (void)state;
    for (size_t i = 0; i < sizeof text - 1; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    text[sizeof text - 1] = '\0';
    for (size_t shift = 0; shift < 2; shift++) {
        begin_log(FL_LOG_INFO, true);
        fl_info("kms", "%s%s", shift == 0 ? "" : "x", text);
        assert_matches(end_log(), "\xc3\xa4\\.\\.\\.\"\\}\n$");
        assert_null(strstr(logged, "\xef\xbf\xbd"));
    }
}

static void the_longest_escapes_still_fit(void **state)
{
    char text[2048];

    (void)state;
    memset(text, 1, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    begin_log(FL_LOG_INFO, true);
    fl_info("kms", "%s", text);
    assert_matches(end_log(), "\\\\u0001\\\\u0001\"\\}\n$");
    assert_true(strlen(logged) > 2047 * 6);
}

static void errno_survives(void **state)
{
    (void)state;
    fl_log_setup(FL_LOG_INFO, false, -1); /* each write fails */
    errno = ENOENT;
    fl_info("kms", "nobody hears it");
    assert_int_equal(errno, ENOENT);
    fl_log_setup(FL_LOG_NONE, false, STDERR_FILENO);
}

enum { LINES = 300 };

static void *log_lines(void *room)
{
    for (int i = 0; i < LINES; i++)
        fl_info(room, "0123456789012345678901234567890123456789");
    return NULL;
}

static void lines_of_two_threads_do_not_mix(void **state)
{
    static char rooms[2][4] = { "one", "two" };
    pthread_t   threads[2];
    char       *line, *rest;
    int         lines = 0;

    (void)state;
    begin_log(FL_LOG_INFO, false);
    assert_int_equal(pthread_create(&threads[0], NULL, log_lines, rooms[0]), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, log_lines, rooms[1]), 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    end_log();
    for (rest = logged; (line = strsep(&rest, "\n")) != NULL && *line != '\0'; lines++)
        assert_matches(line, "^" TIME " INFO (one|two) 0123456789012345678901234567890123456789$");
    assert_int_equal(lines, 2 * LINES);
}

/* Takes what a full pipe holds, so that the writer goes on. */
static void *drain(void *sum)
{
    char    bytes[4096];
    ssize_t n;

    fcntl(ends[0], F_SETFL, 0);
    while ((n = read(ends[0], bytes, sizeof bytes)) > 0)
        *(size_t *)sum += (size_t)n;
    return NULL;
}

static void a_full_pipe_is_waited_for(void **state)
{
    pthread_t reader;
    size_t    sum = 0, before = 0;
    char      filling[1024] = { 0 };

    (void)state;
    begin_log(FL_LOG_INFO, false);
    while (write(ends[1], filling, sizeof filling) > 0)
        before += sizeof filling;
    assert_int_equal(pthread_create(&reader, NULL, drain, &sum), 0);
    for (int i = 0; i < 5000; i++)
        fl_info("kms", "%s", "x");
    fl_log_setup(FL_LOG_NONE, false, STDERR_FILENO);
    close(ends[1]);
    pthread_join(reader, NULL);
    close(ends[0]);
    assert_int_equal(sum - before, 5000 * strlen("2026-12-01T04:50:21.123Z INFO kms x\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_line_is_time_level_room_sentence),
        cmocka_unit_test(a_json_line_is_one_object),
        cmocka_unit_test(what_is_below_the_level_is_not_written),
        cmocka_unit_test(a_peer_cannot_begin_a_line_of_its_own),
        cmocka_unit_test(a_long_sentence_is_cut_between_characters),
        cmocka_unit_test(the_longest_escapes_still_fit),
        cmocka_unit_test(errno_survives),
        cmocka_unit_test(lines_of_two_threads_do_not_mix),
        cmocka_unit_test(a_full_pipe_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
