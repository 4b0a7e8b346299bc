/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to listen on: literal ones only, because what a name resolves to can change.  A Unix socket
 * gets its mode before it has a name, so that other users can never connect.
 */
#define _GNU_SOURCE
#include "http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "http/header_check.h"

enum { BACKLOG = 512 };

static int parse_unix (const char *text, struct address *ret, struct pollux_error *err)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&ret->sockaddr;
    const char *path = text + 5;
    size_t length = strlen (path);
    if (path[0] != '/' || length >= sizeof (un->sun_path))
        return fail (err, -EINVAL, "%s: a Unix socket has an absolute path of at most %zu bytes",
                     text, sizeof (un->sun_path) - 1);
    un->sun_family = AF_UNIX;
    memcpy (un->sun_path, path, length + 1);
    ret->length = (socklen_t)sizeof (*un);
    return 0;
}

static bool parse_port (const char *text, in_port_t *ret)
{
    size_t digits = strspn (text, "0123456789");
    long port = strtol (text, NULL, 10);
    *ret = htons ((uint16_t)port);
    return digits >= 1 && digits <= 5 && text[digits] == '\0' && port <= 65535;
}

static int parse_inet (const char *text, struct address *ret, struct pollux_error *err)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&ret->sockaddr;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&ret->sockaddr;
    char host[INET6_ADDRSTRLEN];
    bool bracket = text[0] == '[';
    const char *colon = strrchr (text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    if (bracket && length > 2 && text[length - 1] == ']' && length - 2 < sizeof (host)) {
        memcpy (host, text + 1, length - 2);
        host[length - 2] = '\0';
        six->sin6_family = AF_INET6;
        ret->length = (socklen_t)sizeof (*six);
        if (inet_pton (AF_INET6, host, &six->sin6_addr) == 1 &&
            parse_port (colon + 1, &six->sin6_port))
            return 0;
    } else if (!bracket && length > 0 && length < sizeof (host)) {
        memcpy (host, text, length);
        host[length] = '\0';
        four->sin_family = AF_INET;
        ret->length = (socklen_t)sizeof (*four);
        if (inet_pton (AF_INET, strcmp (host, "localhost") == 0 ? "127.0.0.1" : host,
                       &four->sin_addr) == 1 &&
            parse_port (colon + 1, &four->sin_port))
            return 0;
    }
    return fail (err, -EINVAL,
                 "'%s' is no address to listen on: expected one like 127.0.0.1:7467, [::1]:7467 or "
                 "unix:/run/pollux.sock",
                 text);
}

int address_parse (const char *text, struct address *ret, struct pollux_error *err)
{
    struct address address = {.length = 0};
    int code = strncmp (text, "unix:", 5) == 0 ? parse_unix (text, &address, err)
                                               : parse_inet (text, &address, err);
    if (code < 0)
        return code;
    snprintf (address.text, sizeof (address.text), "%s", text);
    *ret = address;
    return 0;
}

bool address_is_local (const struct address *address)
{
    const struct sockaddr *sockaddr = (const struct sockaddr *)&address->sockaddr;
    return sockaddr->sa_family == AF_UNIX || check_loopback (address_host (sockaddr).text);
}

struct address_host address_host (const struct sockaddr *sockaddr)
{
    struct address_host host = {.text = "unix"};
    const struct sockaddr_in *four = (const struct sockaddr_in *)sockaddr;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)sockaddr;
    if (sockaddr->sa_family == AF_INET)
        inet_ntop (AF_INET, &four->sin_addr, host.text, sizeof (host.text));
    else if (sockaddr->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED (&six->sin6_addr))
        inet_ntop (AF_INET, &six->sin6_addr.s6_addr[12], host.text, sizeof (host.text));
    else if (sockaddr->sa_family == AF_INET6)
        inet_ntop (AF_INET6, &six->sin6_addr, host.text, sizeof (host.text));
    return host;
}

/* Unlink a socket at that path on which no process listens. */
static void remove_stale (const struct address *address)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&address->sockaddr;
    struct stat status;
    if (lstat (un->sun_path, &status) < 0 || !S_ISSOCK (status.st_mode))
        return;
    int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect (fd, (const struct sockaddr *)un, address->length) < 0 && errno == ECONNREFUSED)
        unlink (un->sun_path);
    close (fd);
}

/* Update the address with the port that the kernel has chosen. */
static int read_port (struct address *address, int fd)
{
    struct sockaddr *sockaddr = (struct sockaddr *)&address->sockaddr;
    if (sockaddr->sa_family == AF_UNIX)
        return 0;
    if (getsockname (fd, sockaddr, &address->length) < 0)
        return -errno;
    bool six = sockaddr->sa_family == AF_INET6;
    in_port_t port = six ? ((struct sockaddr_in6 *)sockaddr)->sin6_port
                         : ((struct sockaddr_in *)sockaddr)->sin_port;
    snprintf (address->text, sizeof (address->text), six ? "[%s]:%u" : "%s:%u",
              address_host (sockaddr).text, (unsigned)ntohs (port));
    return 0;
}

int address_listen (struct address *address, struct pollux_error *err)
{
    const struct sockaddr *sockaddr = (const struct sockaddr *)&address->sockaddr;
    int one = 1;
    int fd = socket (sockaddr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        goto failed;
    if (sockaddr->sa_family == AF_UNIX) {
        remove_stale (address);
        if (fchmod (fd, 0600) < 0) /* Linux gives the file this mode when it is bound */
            goto failed;
    } else if (setsockopt (fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof (one)) < 0 ||
               (sockaddr->sa_family == AF_INET6 &&
                setsockopt (fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof (one)) < 0)) {
        goto failed;
    }
    if (bind (fd, sockaddr, address->length) < 0 || listen (fd, BACKLOG) < 0 ||
        read_port (address, fd) < 0)
        goto failed;
    return fd;
failed:;
    int code = -errno;
    if (fd >= 0)
        close (fd);
    return fail (err, code, "cannot listen on %s: %s%s", address->text, strerror (-code),
                 code == -EADDRINUSE
                     ? "; another program listens there: stop it, or choose another port"
                     : "");
}

void address_close (const struct address *address, int fd)
{
    const struct sockaddr_un *un = (const struct sockaddr_un *)&address->sockaddr;
    if (fd < 0)
        return;
    if (un->sun_family == AF_UNIX)
        unlink (un->sun_path);
    close (fd);
}
