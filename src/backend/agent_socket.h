/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_AGENT_SOCKET_H
#define BACKEND_AGENT_SOCKET_H

#include <sys/types.h>

#include "backend/run.h"

/* Open a datagram socket agent.sock in an open run directory.  path: its path once the directory is
 * published.  If that is too long for a socket (107 bytes), or its file system has no sockets, the
 * socket is in a new directory in /tmp. */
int agent_socket_open (int root, const struct run_name *name, int directory, int *ret,
                       char path[RUN_PATH_SIZE], struct pollux_error *err);

/* Remove the socket, and its directory in /tmp. */
void agent_socket_remove (const char *path);

/* Receive one valid message: its length.  -EAGAIN: there is none now; -EFBIG, -EINVAL: an invalid one
 * was dropped. */
ssize_t agent_socket_receive (int socket, char ret[RUN_MESSAGE_LIMIT], struct pollux_error *err);

#endif
