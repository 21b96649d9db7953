#include "base/arena.h"
#include "base/encode.h"
#include "base/flags.h"
#include "base/hist.h"
#include "base/metrics.h"
#include "base/secret.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_malloc.c"

static bool grow_a_buffer(void)
{
    struct fl_buf b;
    bool          ok;

    fl_buf_init(&b, 0);
    for (int i = 0; i < 1000; i++)
        fl_buf_put_str(&b, "0123456789");
    ok = !b.failed;
    assert_true(ok ? fl_buf_len(&b) == 10000 : fl_buf_len(&b) % 10 == 0); /* each whole or not at all */
    fl_buf_done(&b);
    return ok;
}

static void a_buffer_keeps_what_it_has_when_it_cannot_grow(void **state)
{
    struct fl_buf   b;
    struct fl_error err;

    (void)state;
    fail_each_allocation_once(grow_a_buffer);
    fl_buf_init(&b, 0);
    assert_true(fl_buf_put_str(&b, "kept"));
    fake_allocations = 0;
    fake_failing = 1;
    assert_int_equal(fl_buf_reserve(&b, 4000, &err), FL_NO_MEMORY);
    fake_failing = 0;
    assert_string_equal(err.text, "no memory for a buffer of 4096 bytes");
    assert_true(fl_slice_equal(fl_buf_slice(&b), FL_LIT("kept")));
    assert_int_equal(fl_buf_reserve(&b, 4000, &err), FL_OK);
    fl_buf_done(&b);
}

static bool write_texts(void)
{
    struct fl_buf b;
    bool          ok;

    fl_buf_init(&b, 0);
    for (int i = 0; i < 20; i++) {
        fl_hex_put(&b, FL_LIT("0123456789abcdef0123456789abcdef"));
        fl_base64_put(&b, FL_LIT("0123456789abcdef0123456789abcdef"));
        fl_base64url_put(&b, FL_LIT("0123456789abcdef0123456789abcdef"));
        fl_json_put_string(&b, FL_LIT("a \"b\" \xff 0123456789abcdef0123456789abcdef"));
        fl_buf_printf(&b, "%d and %s", i, "0123456789abcdef0123456789abcdef");
    }
    ok = !b.failed;
    fl_buf_done(&b);
    return ok;
}

static void encoders_mark_the_buffer_failed(void **state)
{
    (void)state;
    fail_each_allocation_once(write_texts);
}

static bool use_an_arena(void)
{
    struct fl_arena a;
    bool            ok = true;

    fl_arena_init(&a, 64, 4096);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++) {
            void *at = fl_arena_take(&a, 48);

            ok = ok && at != NULL && fl_arena_copy(&a, FL_LIT("text")).at != NULL;
            if (at != NULL)
                memset(at, round, 48);
        }
        fl_arena_reset(&a);
    }
    fl_arena_done(&a);
    return ok;
}

static void an_arena_goes_on_after_a_failure(void **state)
{
    struct fl_arena a;

    (void)state;
    fail_each_allocation_once(use_an_arena);
    fl_arena_init(&a, 64, 4096);
    fake_allocations = 0;
    fake_failing = 1;
    assert_null(fl_arena_take(&a, 8));
    assert_null(fl_arena_take(&a, SIZE_MAX));
    assert_non_null(fl_arena_take(&a, 8));
    fake_failing = 0;
    fl_arena_done(&a);
}

struct some_flags {
    char             *folder;
    struct fl_strings peers;
};

static const struct fl_flag flags[] = {
    { .name = "folder",
      .type = FL_FLAG_STRING,
      .offset = offsetof(struct some_flags, folder),
      .default_text = "/",
      .help = "Folder." },
    { .name = "peer", .type = FL_FLAG_STRINGS, .offset = offsetof(struct some_flags, peers), .help = "Peers." },
};
static const struct fl_flag_table table = {
    .flags = flags, .count = 2, .program = "test", .summary = "Tests.", .arguments = "KEY..."
};

static bool parse_flags(void)
{
    FL_AUTO_FD        fd = memfd_create("flags", MFD_CLOEXEC);
    char              file[64], program[] = "test", words[] = "--folder=/x", key[] = "key";
    char             *argv[] = { program, file, words, key, key, key, key, key, key, key, key, NULL };
    struct some_flags f = { .folder = NULL };
    struct fl_strings args;
    struct fl_error   err;
    enum fl_status    s;

    assert_int_equal(write(fd, "peer=a\npeer=b\n", 14), 14);
    snprintf(file, sizeof file, "--flagfile=/proc/self/fd/%d", fd);
    s = fl_flags_parse(&table, &f, 11, argv, &args, &err);
    if (s != FL_OK) {
        assert_int_equal(s, FL_NO_MEMORY);
        assert_non_null(strstr(err.text, "no memory for"));
        return false;
    }
    fl_strings_done(&args);
    fl_flags_done(&table, &f);
    return true;
}

static void parsing_flags_leaves_nothing_behind(void **state)
{
    (void)state;
    fail_each_allocation_once(parse_flags);
}

static bool write_help(void)
{
    struct fl_buf b;
    bool          ok;

    fl_buf_init(&b, 0);
    ok = fl_flags_help(&table, &b);
    fl_buf_done(&b);
    return ok;
}

static void help_is_whole_or_failed(void **state)
{
    (void)state;
    fail_each_allocation_once(write_help);
}

static bool make_all(void)
{
    static const struct fl_metric metric = { "name_total", NULL, "Help.", FL_COUNTER };
    FL_AUTO(fl_metrics) m = fl_metrics_new(&metric, 1, 3);
    FL_AUTO(fl_hist) h = fl_hist_new();
    FL_AUTO(fl_secret) s = fl_secret_random(65536); /* has an arena of its own, each time */
    FL_AUTO_MEM char *copy = fl_slice_dup(FL_LIT("text"));

    return m != NULL && h != NULL && s != NULL && copy != NULL;
}

static void makers_give_null(void **state)
{
    (void)state;
    fail_each_allocation_once(make_all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_keeps_what_it_has_when_it_cannot_grow),
        cmocka_unit_test(encoders_mark_the_buffer_failed),
        cmocka_unit_test(an_arena_goes_on_after_a_failure),
        cmocka_unit_test(parsing_flags_leaves_nothing_behind),
        cmocka_unit_test(help_is_whole_or_failed),
        cmocka_unit_test(makers_give_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
