/* A running KMS in this process: verification, its hottest path, allocates nothing once it runs. The linker leads the
 * allocations of all rooms here, on whatever thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rcu.h"
#include "kms/server.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* ---- a server and a client --------------------------------------------------------------------------------------- */

#define FREE_FOR_ALL "<property><name>default.key.acl.%s</name><value>*</value></property>"

struct rig {
    char        folder[64], acls[80], audit[80];
    struct kms *kms;
    int         fd;
    char        answer[8192];
};

static void write_acls(const struct rig *g)
{
    FILE *f = fopen(g->acls, "w");

    assert_non_null(f);
    fprintf(f, "<configuration>" FREE_FOR_ALL FREE_FOR_ALL "</configuration>", "MANAGEMENT", "READ");
    assert_int_equal(fclose(f), 0);
}

static void start(struct rig *g)
{
    char              program[] = "kms", bind[] = "--http_bind=127.0.0.1:0", keys[] = "--key_store=memory";
    char              tokens[] = "--token_store=memory", reactors[] = "--reactors=1", acls[100], audit[100];
    char             *argv[] = { program, bind, keys, tokens, reactors, acls, audit, NULL };
    struct kms_config config;
    struct fl_error   err;

    snprintf(g->folder, sizeof g->folder, "/tmp/featherlock-kms-memory-XXXXXX");
    assert_non_null(mkdtemp(g->folder));
    snprintf(g->acls, sizeof g->acls, "%s/acls.xml", g->folder);
    snprintf(g->audit, sizeof g->audit, "%s/audit.log", g->folder);
    snprintf(acls, sizeof acls, "--kms_acls=%s", g->acls);
    snprintf(audit, sizeof audit, "--audit_file=%s", g->audit);
    write_acls(g);
    fl_rcu_register();
    assert_int_equal(kms_config_read(&config, FL_COUNT(argv) - 1, argv, &err), FL_OK);
    assert_int_equal(kms_new(&g->kms, &config, &err), FL_OK);
    assert_int_equal(kms_start(g->kms, &err), FL_OK);
    fl_rcu_offline(); /* this thread only waits from here on */
}

static void end(struct rig *g)
{
    close(g->fd);
    kms_stop(g->kms);
    kms_free(g->kms);
    fl_rcu_online();
    fl_rcu_unregister();
    unlink(g->acls);
    unlink(g->audit);
    assert_int_equal(rmdir(g->folder), 0);
}

static void connect_to(struct rig *g)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

    at.sin_port = htons((uint16_t)io_listener_port(g->kms->http_listener));
    g->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(g->fd >= 0);
    assert_int_equal(connect(g->fd, (struct sockaddr *)&at, sizeof at), 0);
}

/* Until the answer is whole; it must be a success. */
static void ask(struct rig *g, const char *request, size_t len)
{
    size_t      have = 0;
    const char *body = NULL, *length;

    assert_int_equal(send(g->fd, request, len, 0), len);
    do {
        ssize_t n = recv(g->fd, g->answer + have, sizeof g->answer - 1 - have, 0);

        assert_true(n > 0);
        have += (size_t)n;
        g->answer[have] = '\0';
        body = strstr(g->answer, "\r\n\r\n");
        length = strstr(g->answer, "Content-Length: ");
    } while (body == NULL || length == NULL || have < (size_t)(body + 4 - g->answer) + strtoul(length + 16, NULL, 10));
    assert_memory_equal(g->answer, "HTTP/1.1 20", 11);
}

static void make_key(struct rig *g)
{
    static const char request[] = "POST /kms/v1/keys?user.name=alice HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n"
                                  "Content-Type: application/json\r\n\r\n{\"name\":\"k\"}";

    ask(g, request, sizeof request - 1);
}

static void get_token(struct rig *g, char token[512])
{
    static const char request[] = "GET /kms/v1/?op=GETDELEGATIONTOKEN&user.name=alice HTTP/1.1\r\nHost: h\r\n\r\n";

    ask(g, request, sizeof request - 1);
    assert_int_equal(sscanf(strstr(g->answer, "urlString"), "urlString\":\"%511[A-Za-z0-9_-]", token), 1);
}

static void verification_allocates_nothing(void **state)
{
    enum { BEFORE = 200, MEASURED = 2000 };
    struct rig g = { .fd = -1 };
    char       token[512], request[1024];
    int        len;
    unsigned   already = 0;

    (void)state;
    start(&g);
    connect_to(&g);
    make_key(&g);
    get_token(&g, token);
    len = snprintf(request, sizeof request,
                   "GET /kms/v1/key/k/_metadata HTTP/1.1\r\nHost: h\r\nX-Hadoop-Delegation-Token: %s\r\n\r\n", token);
    for (int i = 0; i < BEFORE + MEASURED; i++) {
        if (i == BEFORE)
            already = atomic_load(&allocations);
        ask(&g, request, (size_t)len);
    }
    assert_true(already > 0);
    assert_int_equal(atomic_load(&allocations), already);
    end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(verification_allocates_nothing) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
