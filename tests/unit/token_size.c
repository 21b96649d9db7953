/* A million tokens: what each costs in memory, how long a verification takes, and that the scan's turns stay short. */
#include "token_world.h"

#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(FL_TSAN)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

enum { TOKENS = SANITIZED ? 50000 : 1000000, SAMPLES = 1000 };

static size_t resident_bytes(void)
{
    unsigned long pages = 0, resident = 0;
    FILE         *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &pages, &resident), 2);
    fclose(f);
    return resident * 4096;
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * FL_NS_PER_S + (uint64_t)t.tv_nsec;
}

static void fill(struct world *w, struct issued samples[SAMPLES])
{
    for (int i = 0; i < TOKENS; i++) {
        struct call c = create_call("alice", "yarn");

        call_submit(w, &c);
        call_finish(&c);
        if (i % (TOKENS / SAMPLES) == 0)
            issued_of(&samples[i / (TOKENS / SAMPLES)], &c);
        token_op_done(&c.op);
        if (i % 1000 == 0) { /* as a reactor does each turn; the table's growth waits for it */
            fl_rcu_offline();
            fl_rcu_online();
        }
    }
}

static void check_memory(size_t before, const struct issued *sample)
{
    size_t own = sample->token.identifier.len + sample->token.password.len;
    size_t each = (resident_bytes() - before) / TOKENS;

    print_message("%d tokens: %zu bytes each, of which %zu are identifier and password\n", TOKENS, each, own);
    if (!SANITIZED) /* sanitizers keep shadows of it */
        assert_true(each - own < 200);
}

static void verify_samples(struct world *w, const struct issued samples[SAMPLES])
{
    enum { ROUNDS = 200 };
    uint64_t start = cpu_ns(), each;

    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SAMPLES; i++)
            assert_true(verify(w, &samples[i], NULL) == FL_OK);
    each = (cpu_ns() - start) / ((uint64_t)ROUNDS * SAMPLES);
    print_message("a verification takes %llu ns of CPU\n",
                  (unsigned long long)each); /* told, not judged: machines differ */
}

static void check_scan(struct world *w)
{
    uint64_t start, turns;

    w->tokens->scan.last_ms = 0;
    start = cpu_ns();
    turns = fake_pass(&w->reactors, 6000);
    assert_true(turns >= TOKENS / SCAN_SLOTS);
    print_message("a scan takes %llu us of CPU, in %llu turns\n", (unsigned long long)(cpu_ns() - start) / 1000,
                  (unsigned long long)turns);
    assert_int_equal(stats_of(w).live, TOKENS);
}

static void a_million_tokens_take_little_memory_and_verify(void **state)
{
    static struct issued samples[SAMPLES];
    struct world         w;
    size_t               before;

    (void)state;
    world_init(&w);
    world_open(&w);
    before = resident_bytes();
    fill(&w, samples);
    check_memory(before, &samples[0]);
    verify_samples(&w, samples);
    check_scan(&w);
    for (int i = 0; i < SAMPLES; i++)
        issued_done(&samples[i]);
    world_close(&w);
}

/* ---- slabs ----------------------------------------------------------------------------------------------------------------- */

static void a_slot_of_any_size_is_whole_apart_from_others_and_wiped_when_given_back(void **state)
{
    static const size_t sizes[] = { 1,   16,  17,  64,   100,  255,  256,   257,   320,   321,
                                    512, 513, 640, 1000, 4096, 4097, 20000, 33000, 57345, 65536 };
    struct token_slabs *s = token_slabs_new();
    uint8_t            *slots[FL_COUNT(sizes)];

    (void)state;
    assert_non_null(s);
    for (size_t i = 0; i < FL_COUNT(sizes); i++) {
        slots[i] = token_slab_take(s, sizes[i]);
        assert_non_null(slots[i]);
        assert_int_equal((uintptr_t)slots[i] % 16, 0);
        if (sizes[i] > sizeof(struct slab_head))
            memset(slots[i] + sizeof(struct slab_head), (int)(i + 1), sizes[i] - sizeof(struct slab_head));
    }
    for (size_t i = 0; i < FL_COUNT(sizes); i++)
        for (size_t at = sizeof(struct slab_head); at < sizes[i]; at++)
            assert_int_equal(slots[i][at], i + 1);
    for (size_t i = 0; i < FL_COUNT(sizes); i++) {
        token_slab_give(slots[i]);
        for (size_t at = sizeof(struct slab_head) + sizeof(void *); at < sizes[i]; at++)
            assert_int_equal(slots[i][at], 0);
        assert_ptr_equal(token_slab_take(s, sizes[i]), slots[i]); /* and is used again */
    }
    assert_null(token_slab_take(s, SLAB_SLOT_MAX + 1));
    token_slabs_free(s);
}

static void the_walk_sees_each_used_slot_once_in_parts(void **state)
{
    enum { SLOTS = 10000 };
    static bool         seen[SLOTS];
    struct token_slabs *s = token_slabs_new();
    struct slab_place   place = { 0 };
    int32_t             numbers[7];
    size_t              sum = 0, n;

    (void)state;
    for (int i = 0; i < SLOTS; i++) {
        struct slab_head *h = token_slab_take(s, (size_t)(100 + i % 300));

        atomic_store(&h->number, i);
        atomic_store(&h->mark, i % 2 == 0 ? 10 : 20);
        if (i % 5 == 0)
            token_slab_give(h);
    }
    while (!place.end) {
        n = token_slabs_below(s, &place, 100, 20, numbers, FL_COUNT(numbers));
        for (size_t i = 0; i < n; i++) {
            assert_true(numbers[i] % 2 == 0 && !seen[numbers[i]]);
            seen[numbers[i]] = true;
        }
        sum += n;
    }
    assert_int_equal(sum, SLOTS / 2 - SLOTS / 10); /* the even ones that were not given back */
    token_slabs_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_of_any_size_is_whole_apart_from_others_and_wiped_when_given_back),
        cmocka_unit_test(the_walk_sees_each_used_slot_once_in_parts),
        cmocka_unit_test(a_million_tokens_take_little_memory_and_verify),
    };

    return cmocka_run_group_tests(tests, rcu_on, rcu_off);
}
