/* systemd's notification protocol: a datagram to a Unix socket. */
#include "kms/server.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

void kms_notify(const char *state)
{
    const char        *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    size_t             len = path == NULL ? 0 : strlen(path);
    FL_AUTO_FD         fd = -1;

    if (len < 2 || len >= sizeof to.sun_path || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(to.sun_path, path, len);
    if (path[0] == '@') /* the abstract namespace */
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    /* Nobody listening is systemd's affair, not ours. */
    FL_IGNORE(sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0);
}
