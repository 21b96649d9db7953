/* kms_rig.h - a running KMS in the test's own process, on memory and one reactor, and a connection to it. */
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
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct rig {
    char        folder[64], acls[80], audit[80];
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

/* properties: of the ACLs, as XML. */
static void rig_start(struct rig *g, const char *properties)
{
    char              program[] = "kms", bind[] = "--http_bind=127.0.0.1:0", keys[] = "--key_store=memory";
    char              tokens[] = "--token_store=memory", reactors[] = "--reactors=1", acls[100], audit[100];
    char             *argv[] = { program, bind, keys, tokens, reactors, acls, audit, NULL };
    struct kms_config config;
    struct fl_error   err;

    snprintf(g->folder, sizeof g->folder, "/tmp/featherlock-kms-rig-XXXXXX");
    assert_non_null(mkdtemp(g->folder));
    snprintf(g->acls, sizeof g->acls, "%s/acls.xml", g->folder);
    snprintf(g->audit, sizeof g->audit, "%s/audit.log", g->folder);
    snprintf(acls, sizeof acls, "--kms_acls=%s", g->acls);
    snprintf(audit, sizeof audit, "--audit_file=%s", g->audit);
    write_acls(g, properties);
    fl_rcu_register();
    assert_int_equal(kms_config_read(&config, FL_COUNT(argv) - 1, argv, &err), FL_OK);
    assert_int_equal(kms_new(&g->kms, &config, &err), FL_OK);
    assert_int_equal(kms_start(g->kms, &err), FL_OK);
    fl_rcu_offline(); /* this thread only waits from here on */
}

static void rig_end(struct rig *g)
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

static void rig_connect(struct rig *g)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };

    at.sin_port = htons((uint16_t)io_listener_port(g->kms->http_listener));
    g->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(g->fd >= 0);
    assert_int_equal(connect(g->fd, (struct sockaddr *)&at, sizeof at), 0);
}

/* Until the answer is whole. Returns its status. */
static int rig_ask(struct rig *g, const char *request, size_t len)
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
    assert_memory_equal(g->answer, "HTTP/1.1 ", 9);
    return (int)strtol(g->answer + 9, NULL, 10);
}

#endif
