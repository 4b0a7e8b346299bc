/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket for messages of the agent.  Datagrams, so that an agent sends without waiting and a
 * message is complete or absent.  Only this user can reach it: its directory has mode 0700.
 */
#define _GNU_SOURCE
#include "backend/agent_socket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

#define SOCKET "agent.sock"

static int bind_to (int file, const char *path, struct pollux_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf (address.sun_path, sizeof (address.sun_path), "%s", path);
    return bind (file, (struct sockaddr *)&address, sizeof (address)) < 0
               ? fail (err, -errno, "%s: %s", path, strerror (errno))
               : 0;
}

/* The path for agents; returns its length, which may exceed that of a socket's path. */
static int final_path (int root, const struct run_name *name, char *ret, size_t size)
{
    char link[32], directory[PATH_MAX];
    snprintf (link, sizeof (link), "/proc/self/fd/%d", root);
    ssize_t length = readlink (link, directory, sizeof (directory) - 1);
    if (length < 0)
        return INT_MAX;
    directory[length] = '\0';
    return snprintf (ret, size, "%s/%s/" SOCKET, directory, run_path (name).text);
}

static int bind_in_tmp (int file, char path[RUN_PATH_SIZE], struct pollux_error *err)
{
    char directory[] = "/tmp/pollux-XXXXXX";
    if (!mkdtemp (directory))
        return fail (err, -errno, "%s: %s", directory, strerror (errno));
    snprintf (path, RUN_PATH_SIZE, "%s/" SOCKET, directory);
    int code = bind_to (file, path, err);
    if (code < 0)
        rmdir (directory);
    return code;
}

int agent_socket_open (int root, const struct run_name *name, int directory, int *ret,
                       char path[RUN_PATH_SIZE], struct pollux_error *err)
{
    char here[64];
    int file = socket (AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (file < 0)
        return fail (err, -errno, "no socket: %s", strerror (errno));
    int code = -EINVAL;
    if (final_path (root, name, path, RUN_PATH_SIZE) <
        (int)sizeof (((struct sockaddr_un *)0)->sun_path)) {
        snprintf (here, sizeof (here), "/proc/self/fd/%d/" SOCKET, directory);
        code = bind_to (file, here, err);
    }
    if (code < 0) /* the path is too long, or the file system has no sockets */
        code = bind_in_tmp (file, path, err);
    if (code < 0) {
        path[0] = '\0';
        close (file);
    } else {
        *ret = file;
    }
    return code;
}

void agent_socket_remove (const char *path)
{
    char parent[RUN_PATH_SIZE];
    struct stat stat;
    const char *slash = strrchr (path, '/');
    if (!slash || lstat (path, &stat) < 0 || !S_ISSOCK (stat.st_mode) || stat.st_uid != geteuid ())
        return;
    unlink (path);
    snprintf (parent, sizeof (parent), "%.*s", (int)(slash - path), path);
    slash = strrchr (parent, '/');
    if (slash && strncmp (slash, "/pollux-", 8) == 0)
        rmdir (parent);
}

ssize_t agent_socket_receive (int socket, char ret[RUN_MESSAGE_LIMIT], struct pollux_error *err)
{
    ssize_t length = recv (socket, ret, RUN_MESSAGE_LIMIT, MSG_TRUNC | MSG_DONTWAIT);
    if (length < 0)
        return -EAGAIN;
    if ((size_t)length > RUN_MESSAGE_LIMIT)
        return fail (err, -EFBIG, "%zd bytes: expected at most %zu", length, RUN_MESSAGE_LIMIT);
    int code = run_message_check (ret, (size_t)length, err);
    return code < 0 ? code : length;
}
