/* Allocators that fail on demand, for tests called <room>_memory: the linker leads the calls of the rooms here (those
 * inside of other libraries stay as they are). One thread only. */
#include <stdbool.h>
#include <stddef.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
char *__real_strdup(const char *text);

static unsigned fake_allocations; /* so far in this run */
static unsigned fake_failing;     /* the number of the one that fails; 0: none does */

static bool fake_fails(void)
{
    return ++fake_allocations == fake_failing;
}

void *__wrap_malloc(size_t bytes)
{
    return fake_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fake_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *at, size_t bytes)
{
    return fake_fails() ? NULL : __real_realloc(at, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fake_fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

char *__wrap_strdup(const char *text)
{
    return fake_fails() ? NULL : __real_strdup(text);
}

/* Calls run once with enough memory, when it has to give true, and then once for each allocation it made, with that one
 * failing, when it has to give false. It must clean up either way; a sanitizer tells if it does not. */
static void fail_each_allocation_once(bool (*run)(void))
{
    unsigned count;

    fake_failing = 0;
    fake_allocations = 0;
    assert_true(run());
    count = fake_allocations;
    assert_true(count > 0);
    for (unsigned n = 1; n <= count; n++) {
        fake_allocations = 0;
        fake_failing = n;
        assert_false(run());
    }
    fake_failing = 0;
}
