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

static void make_key(struct rig *g)
{
    static const char request[] = "POST /kms/v1/keys?user.name=alice HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n"
                                  "Content-Type: application/json\r\n\r\n{\"name\":\"k\"}";

    assert_int_equal(rig_ask(g, request, sizeof request - 1), 201);
}

static void get_token(struct rig *g, char token[512])
{
    static const char request[] = "GET /kms/v1/?op=GETDELEGATIONTOKEN&user.name=alice HTTP/1.1\r\nHost: h\r\n\r\n";

    assert_int_equal(rig_ask(g, request, sizeof request - 1), 200);
    assert_int_equal(sscanf(strstr(g->answer, "urlString"), "urlString\":\"%511[A-Za-z0-9_-]", token), 1);
}

static void verification_allocates_nothing(void **state)
{
    static const char acls[] = "<property><name>default.key.acl.MANAGEMENT</name><value>*</value></property>"
                               "<property><name>default.key.acl.READ</name><value>*</value></property>";
    enum { BEFORE = 200, MEASURED = 2000 };
    struct rig g = { .fd = -1 };
    char       token[512], request[1024];
    int        len;
    unsigned   already = 0;

    (void)state;
    rig_start(&g, acls);
    rig_connect(&g);
    make_key(&g);
    get_token(&g, token);
    len = snprintf(request, sizeof request,
                   "GET /kms/v1/key/k/_metadata HTTP/1.1\r\nHost: h\r\nX-Hadoop-Delegation-Token: %s\r\n\r\n", token);
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
