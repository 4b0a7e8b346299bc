/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port is free if it can be bound on all addresses of both families that this machine has.
 */
#include "backend/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static bool can_bind (int family, const struct sockaddr *address, socklen_t length)
{
    int yes = 1, file = socket (family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return errno == EAFNOSUPPORT;
    setsockopt (file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof (yes));
    if (family == AF_INET6)
        setsockopt (file, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof (yes));
    /* If another program with SO_REUSEADDR has bound it but not listened, only listen fails. */
    bool can = (bind (file, address, length) == 0 && listen (file, 1) == 0) ||
               errno == EADDRNOTAVAIL; /* no interface has this family */
    close (file);
    return can;
}

bool port_is_free (int port)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons ((in_port_t)port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons ((in_port_t)port)};
    return can_bind (AF_INET, (const struct sockaddr *)&four, sizeof (four)) &&
           can_bind (AF_INET6, (const struct sockaddr *)&six, sizeof (six));
}
