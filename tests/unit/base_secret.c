#include "base/secret.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_new_secret_is_all_zeros(void **state)
{
    static const size_t lens[] = { 1, 20, 40, 41, 4096, 4097, 65536 };

    (void)state;
    for (size_t i = 0; i < FL_COUNT(lens); i++) {
        FL_AUTO(fl_secret) s = fl_secret_new(lens[i]);

        assert_non_null(s);
        assert_int_equal(fl_secret_slice(s).len, lens[i]);
        assert_ptr_equal(fl_secret_slice(s).at, fl_secret_bytes(s));
        for (size_t j = 0; j < lens[i]; j++)
            assert_int_equal(fl_secret_bytes(s)[j], 0);
        memset(fl_secret_bytes(s), 0xff, lens[i]); /* so that the next round finds it if it isn't wiped */
    }
}

static void lengths_outside_of_the_limits_are_refused(void **state)
{
    (void)state;
    assert_null(fl_secret_new(0));
    assert_null(fl_secret_new(65537));
    assert_null(fl_secret_new(SIZE_MAX));
    assert_null(fl_secret_copy((struct fl_slice){ NULL, 0 }));
    assert_null(fl_secret_random(0));
}

static void a_slot_given_back_comes_again_wiped(void **state)
{
    struct fl_secret *s = fl_secret_copy(FL_LIT("a password")), *again;
    uint8_t          *bytes = fl_secret_bytes(s);

    (void)state;
    assert_memory_equal(bytes, "a password", 10);
    fl_secret_free(s);
    again = fl_secret_new(10);
    assert_ptr_equal(fl_secret_bytes(again), bytes);
    assert_memory_equal(bytes, "\0\0\0\0\0\0\0\0\0\0", 10);
    fl_secret_free(again);
}

static void many_secrets_do_not_touch_each_other(void **state)
{
    enum { COUNT = 3000 };
    static struct fl_secret *all[COUNT];

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        all[i] = fl_secret_new(1 + i * 7 % 300);
        assert_non_null(all[i]);
        memset(fl_secret_bytes(all[i]), (int)(i % 251), fl_secret_slice(all[i]).len);
    }
    for (size_t i = 0; i < COUNT; i += 2) {
        fl_secret_free(all[i]);
        all[i] = NULL;
    }
    for (size_t i = 1; i < COUNT; i += 2) {
        struct fl_slice s = fl_secret_slice(all[i]);

        assert_int_equal(s.len, 1 + i * 7 % 300);
        assert_int_equal(s.at[0], i % 251);
        assert_int_equal(s.at[s.len - 1], i % 251);
        fl_secret_free(all[i]);
    }
    fl_secret_free(NULL);
}

static void random_secrets_differ(void **state)
{
    FL_AUTO(fl_secret) a = fl_secret_random(32);
    FL_AUTO(fl_secret) b = fl_secret_random(32);

    (void)state;
    assert_false(fl_equal_ct(fl_secret_slice(a), fl_secret_slice(b)));
}

/* Runs what in a child and returns its wait status; what it says about its death goes nowhere. */
static int in_a_child(void (*what)(struct fl_secret *s), struct fl_secret *s)
{
    int   status;
    pid_t child = fork();

    if (child == 0) {
        struct rlimit no_core = { 0, 0 };

        setrlimit(RLIMIT_CORE, &no_core);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(3);
        signal(SIGABRT, SIG_DFL); /* cmocka and the sanitizers catch them */
        signal(SIGSEGV, SIG_DFL);
        what(s);
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void look_for_zeros(struct fl_secret *s)
{
    if (fl_secret_bytes(s)[0] != 0)
        _exit(1);
    fl_secret_free(s); /* nothing there any more, and no harm */
}

static void a_forked_child_finds_zeros(void **state)
{
    FL_AUTO(fl_secret) s = fl_secret_copy(FL_LIT("key"));
    int status;

    (void)state;
    status = in_a_child(look_for_zeros, s);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_memory_equal(fl_secret_bytes(s), "key", 3);
}

static void free_twice(struct fl_secret *unused)
{
    struct fl_secret *s = fl_secret_new(20), *neighbour = fl_secret_new(20);

    (void)unused;
    (void)neighbour; /* keeps the arena */
    fl_secret_free(s);
    fl_secret_free(s);
}

static void run_over_a_neighbour(struct fl_secret *unused)
{
    struct fl_secret *a = fl_secret_new(40), *b = fl_secret_new(40);
    uint8_t          *low = FL_MIN(fl_secret_bytes(a), fl_secret_bytes(b));

    (void)unused;
    memset(low, 0x41, 40 + 24);
    fl_secret_free(low == fl_secret_bytes(a) ? b : a);
}

static void run_over_the_end_of_the_arena(struct fl_secret *unused)
{
    struct fl_secret *s = fl_secret_new(65536);
    volatile uint8_t *bytes = fl_secret_bytes(s);

    (void)unused;
    for (size_t i = 65536; i < 65536 + 8192; i++)
        bytes[i] = 0x41;
}

static void misuse_ends_the_program(void **state)
{
    int status;

    (void)state;
    status = in_a_child(free_twice, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    status = in_a_child(run_over_a_neighbour, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    status = in_a_child(run_over_the_end_of_the_arena, NULL);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

static void use_up_locked_memory(struct fl_secret *unused)
{
    static char       any[8192];
    struct rlimit     none = { 0, 0 };
    size_t            before = fl_secret_unlocked_bytes(), least, counted;
    struct fl_secret *s;

    (void)unused;
    setrlimit(RLIMIT_MEMLOCK, &none);
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) /* root locks beyond any limit */
        _exit(4);
    least = mlock(any, sizeof any) == 0 ? 0 : 65536; /* sanitizers make mlock a lie that always succeeds */
    s = fl_secret_new(65536);
    counted = fl_secret_unlocked_bytes() - before;
    if (s == NULL || counted < least || (least == 0 && counted != 0))
        _exit(1);
    fl_secret_free(s);
    _exit(fl_secret_unlocked_bytes() == before ? 0 : 2);
}

static void beyond_the_limit_secrets_are_counted_as_unlocked(void **state)
{
    int status;

    (void)state;
    status = in_a_child(use_up_locked_memory, NULL);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void constant_time_equality_is_equality(void **state)
{
    (void)state;
    assert_true(fl_equal_ct(FL_LIT("abc"), FL_LIT("abc")));
    assert_false(fl_equal_ct(FL_LIT("abc"), FL_LIT("abd")));
    assert_false(fl_equal_ct(FL_LIT("abc"), FL_LIT("abcd")));
    assert_true(fl_equal_ct(FL_LIT(""), (struct fl_slice){ NULL, 0 }));
}

static void wipe_leaves_zeros_and_takes_nothing(void **state)
{
    uint8_t bytes[4] = { 1, 2, 3, 4 };

    (void)state;
    fl_wipe(bytes, 3);
    assert_memory_equal(bytes, "\0\0\0\4", 4);
    fl_wipe(NULL, 0);
}

static void random_fills_the_whole_length(void **state)
{
    static uint8_t  bytes[100000]; /* more than one getrandom gives at once after a signal */
    struct fl_error err;
    size_t          zeros = 0;

    (void)state;
    assert_int_equal(fl_random(bytes, sizeof bytes, &err), FL_OK);
    for (size_t i = sizeof bytes - 1000; i < sizeof bytes; i++)
        zeros += bytes[i] == 0;
    assert_true(zeros < 100);
    assert_int_equal(fl_random(NULL, 0, &err), FL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misuse_ends_the_program), /* first: its children are then no heirs of secrets */
        cmocka_unit_test(a_new_secret_is_all_zeros),
        cmocka_unit_test(lengths_outside_of_the_limits_are_refused),
        cmocka_unit_test(a_slot_given_back_comes_again_wiped),
        cmocka_unit_test(many_secrets_do_not_touch_each_other),
        cmocka_unit_test(random_secrets_differ),
        cmocka_unit_test(a_forked_child_finds_zeros),
        cmocka_unit_test(beyond_the_limit_secrets_are_counted_as_unlocked),
        cmocka_unit_test(constant_time_equality_is_equality),
        cmocka_unit_test(wipe_leaves_zeros_and_takes_nothing),
        cmocka_unit_test(random_fills_the_whole_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
