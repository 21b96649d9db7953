/* kms_rig.h - a running KMS in the test's own process, on one reactor, and connections to it. */
#ifndef KMS_RIG_H
#define KMS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/rcu.h"
#include "kms/server.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct rig {
    char        folder[64], acls[80];
    struct kms *kms;
    int         fd;
    char        answer[8192];
};

static void write_acls(const struct rig *g, const char *properties)
{
    FILE *f = fopen(g->acls, "w");

    assert_non_null(f);
    fprintf(f, "<configuration>%s</configuration>", properties);
    assert_int_equal(fclose(f), 0);
}

/* properties: of the ACLs, as XML. store: "memory" or "lmdb". */
static void rig_start_on(struct rig *g, const char *store, const char *properties)
{
    char              program[] = "kms", bind[] = "--http_bind=127.0.0.1:0", reactors[] = "--reactors=1";
    char              keys[40], tokens[40], acls[100], audit[100], data[100];
    char             *argv[] = { program, bind, reactors, keys, tokens, acls, audit, data, NULL };
    struct kms_config config;
    struct fl_error   err;

    snprintf(g->folder, sizeof g->folder, "/tmp/featherlock-kms-rig-XXXXXX");
    assert_non_null(mkdtemp(g->folder));
    snprintf(g->acls, sizeof g->acls, "%s/acls.xml", g->folder);
    snprintf(keys, sizeof keys, "--key_store=%s", store);
    snprintf(tokens, sizeof tokens, "--token_store=%s", store);
    snprintf(acls, sizeof acls, "--kms_acls=%s", g->acls);
    snprintf(audit, sizeof audit, "--audit_file=%s/audit.log", g->folder);
    snprintf(data, sizeof data, "--data_dir=%s/data", g->folder);
    write_acls(g, properties);
    fl_rcu_register();
    assert_int_equal(kms_config_read(&config, FL_COUNT(argv) - 1, argv, &err), FL_OK);
    assert_int_equal(kms_new(&g->kms, &config, &err), FL_OK);
    assert_int_equal(kms_start(g->kms, &err), FL_OK);
    fl_rcu_offline(); /* this thread only waits from here on */
}

static inline void rig_start(struct rig *g, const char *properties)
{
    rig_start_on(g, "memory", properties);
}

static int rig_remove(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    return remove(path);
}

static void rig_end(struct rig *g)
{
    close(g->fd);
    kms_stop(g->kms);
    kms_free(g->kms);
    fl_rcu_online();
    fl_rcu_unregister();
    assert_int_equal(nftw(g->folder, rig_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static int rig_connection(const struct rig *g)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    int                fd = socket(AF_INET, SOCK_STREAM, 0);

    at.sin_port = htons((uint16_t)io_listener_port(g->kms->http_listener));
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void rig_connect(struct rig *g)
{
    g->fd = rig_connection(g);
}

/* Until an answer is whole. Returns its status. */
static int rig_receive(struct rig *g, int fd)
{
    size_t      have = 0;
    const char *body = NULL, *length;

    do {
        ssize_t n = recv(fd, g->answer + have, sizeof g->answer - 1 - have, 0);

        assert_true(n > 0);
        have += (size_t)n;
        g->answer[have] = '\0';
        body = strstr(g->answer, "\r\n\r\n");
        length = strstr(g->answer, "Content-Length: ");
    } while (body == NULL || length == NULL || have < (size_t)(body + 4 - g->answer) + strtoul(length + 16, NULL, 10));
    assert_memory_equal(g->answer, "HTTP/1.1 ", 9);
    return (int)strtol(g->answer + 9, NULL, 10);
}

static int rig_ask(struct rig *g, const char *request, size_t len)
{
    assert_int_equal(send(g->fd, request, len, 0), len);
    return rig_receive(g, g->fd);
}

#define RIG_FREE_FOR_ALL                                                           \
    "<property><name>default.key.acl.MANAGEMENT</name><value>*</value></property>" \
    "<property><name>default.key.acl.READ</name><value>*</value></property>"
#define RIG_GET_TOKEN "GET /kms/v1/?op=GETDELEGATIONTOKEN&user.name=alice HTTP/1.1\r\nHost: h\r\n\r\n"

static inline void rig_make_key(struct rig *g)
{
    static const char request[] = "POST /kms/v1/keys?user.name=alice HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n"
                                  "Content-Type: application/json\r\n\r\n{\"name\":\"k\"}";

    assert_int_equal(rig_ask(g, request, sizeof request - 1), 201);
}

/* A request that a fresh token authenticates; its length. */
static inline int rig_verification(struct rig *g, char request[1024])
{
    char token[512];

    assert_int_equal(rig_ask(g, RIG_GET_TOKEN, sizeof RIG_GET_TOKEN - 1), 200);
    assert_int_equal(sscanf(strstr(g->answer, "urlString"), "urlString\":\"%511[A-Za-z0-9_-]", token), 1);
    return snprintf(request, 1024,
                    "GET /kms/v1/key/k/_metadata HTTP/1.1\r\nHost: h\r\nX-Hadoop-Delegation-Token: %s\r\n\r\n", token);
}

#endif
