/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_AGENT_SOCKET_H
#define BACKEND_AGENT_SOCKET_H

#include <sys/types.h>

#include "backend/run.h"

/* A datagram socket agent.sock in a run directory that is open, and its path once the directory is
 * published.  Where that would be too long for a socket (107 bytes), it is in a directory of its
 * own in /tmp. */
int agent_socket_open (int root, const struct run_name *name, int directory, int *ret,
                       char path[RUN_PATH_SIZE], struct pollux_error *err);

/* Remove it, and that directory. */
void agent_socket_remove (const char *path);

/* One message, checked: its length; -EAGAIN: none now; or -EFBIG or -EINVAL and a sentence for one
 * that is dropped. */
ssize_t agent_socket_receive (int socket, char ret[RUN_MESSAGE_LIMIT], struct pollux_error *err);

#endif
