/* A running KMS in this process: verification, its hottest path, allocates nothing once it runs. The linker leads the
 * allocations of all rooms here, on whatever thread. */
#include "kms_rig.h"

#include <stdatomic.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);

static atomic_uint allocations;

void *__wrap_malloc(size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __real_calloc(count, bytes);
}

void *__wrap_realloc(void *at, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __real_realloc(at, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    atomic_fetch_add(&allocations, 1);
    return __real_aligned_alloc(alignment, bytes);
}

char *__wrap_strdup(const char *text)
{
    atomic_fetch_add(&allocations, 1);
    return __real_strdup(text);
}

static void verification_allocates_nothing(void **state)
{
    enum { BEFORE = 200, MEASURED = 2000 };
    struct rig g = { .fd = -1 };
    char       request[1024];
    int        len;
    unsigned   already = 0;

    (void)state;
    rig_start(&g, RIG_FREE_FOR_ALL);
    rig_connect(&g);
    rig_make_key(&g);
    len = rig_verification(&g, request);
    for (int i = 0; i < BEFORE + MEASURED; i++) {
        if (i == BEFORE)
            already = atomic_load(&allocations);
        assert_int_equal(rig_ask(&g, request, (size_t)len), 200);
    }
    assert_true(already > 0);
    assert_int_equal(atomic_load(&allocations), already);
    rig_end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(verification_allocates_nothing) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
