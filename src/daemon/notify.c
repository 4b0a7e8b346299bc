/* SPDX-License-Identifier: Apache-2.0 */
/*
 * systemd's notification protocol: a datagram to the socket in NOTIFY_SOCKET.  It is small and stable,
 * so libsystemd is not needed.
 */
#include "daemon/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify (const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv ("NOTIFY_SOCKET");
    size_t length = path ? strlen (path) : 0;
    if (length < 2 || length >= sizeof (address.sun_path))
        return;
    memcpy (address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract name */
    int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    sendto (fd, state, strlen (state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address,
            (socklen_t)(offsetof (struct sockaddr_un, sun_path) + length));
    close (fd);
}
