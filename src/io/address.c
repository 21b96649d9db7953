#include "io/inside.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/un.h>

static enum fl_status refuse(struct fl_error *err, const char *bind)
{
    return fl_fail(err, FL_USAGE, 0,
                   "bad address '%s': wanted is 127.0.0.1:9600, [::1]:9600 or unix:/path (a number, no host name)",
                   bind);
}

static enum fl_status parse_unix(struct io_address *a, const char *bind, struct fl_error *err)
{
    struct sockaddr_un *un = (struct sockaddr_un *)(void *)&a->at;
    size_t              len;

    a->path = bind + strlen("unix:");
    len = strlen(a->path);
    if (len == 0 || len >= sizeof un->sun_path)
        return fl_fail(err, FL_USAGE, 0, "bad address '%s': the path has %zu bytes, where 1 to %zu are allowed", bind,
                       len, sizeof un->sun_path - 1);
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, a->path, len + 1);
    a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
    return FL_OK;
}

static bool parse_port(const char *text, in_port_t *port)
{
    unsigned long n = 0;

    if (*text == '\0' || strlen(text) > 5)
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9')
            return false;
        n = n * 10 + (unsigned long)(*text - '0');
    }
    *port = htons((uint16_t)n);
    return n <= 65535;
}

/* "host:port" or "[host]:port" into its two parts. */
static bool split(const char *bind, char *host, size_t room, const char **port, bool *v6)
{
    const char *end;

    *v6 = *bind == '[';
    if (*v6)
        bind++;
    end = *v6 ? strchr(bind, ']') : strrchr(bind, ':');
    if (end == NULL || (*v6 && end[1] != ':') || (size_t)(end - bind) >= room)
        return false;
    memcpy(host, bind, (size_t)(end - bind));
    host[end - bind] = '\0';
    *port = end + (*v6 ? 2 : 1);
    return true;
}

enum fl_status io_address_parse(struct io_address *a, const char *bind, struct fl_error *err)
{
    struct sockaddr_in  *v4 = (struct sockaddr_in *)(void *)&a->at;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&a->at;
    const char          *port;
    char                 host[INET6_ADDRSTRLEN];
    bool                 is_v6;

    *a = (struct io_address){ .len = 0 };
    if (bind == NULL)
        return fl_fail(err, FL_USAGE, 0, "no address to listen on");
    if (strncmp(bind, "unix:", 5) == 0)
        return parse_unix(a, bind, err);
    if (!split(bind, host, sizeof host, &port, &is_v6))
        return refuse(err, bind);
    a->at.ss_family = is_v6 ? AF_INET6 : AF_INET;
    a->len = is_v6 ? sizeof *v6 : sizeof *v4;
    if (inet_pton(a->at.ss_family, host, is_v6 ? (void *)&v6->sin6_addr : (void *)&v4->sin_addr) != 1 ||
        !parse_port(port, is_v6 ? &v6->sin6_port : &v4->sin_port))
        return refuse(err, bind);
    return FL_OK;
}

void io_address_text(const struct sockaddr *at, char *text, size_t room)
{
    const struct sockaddr_in  *v4 = (const struct sockaddr_in *)(const void *)at;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)at;
    char                       host[INET6_ADDRSTRLEN] = "?";

    if (at->sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        snprintf(text, room, "[%s]:%u", host, ntohs(v6->sin6_port));
    } else if (at->sa_family == AF_INET) {
        inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
        snprintf(text, room, "%s:%u", host, ntohs(v4->sin_port));
    } else {
        snprintf(text, room, "unix:%s", ((const struct sockaddr_un *)(const void *)at)->sun_path);
    }
}
