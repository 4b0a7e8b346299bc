/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_COMMAND_SPAWN_H
#define BACKEND_COMMAND_SPAWN_H

#include "backend/command_set.h"

/* A started command.  The descriptors are the caller's; they do not block.  A detached command has no output,
 * and its error is a file in memory. */
struct spawned_command {
    int pid, pidfd, output, error;
};

/* Start the process of a request: in its own session, with no signal blocked or ignored.  -ENOENT: there is
 * no such program. */
int command_spawn (const struct command_request *request, struct spawned_command *ret,
                   struct pollux_error *err);

#endif
