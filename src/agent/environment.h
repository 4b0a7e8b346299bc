/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_ENVIRONMENT_H
#define AGENT_ENVIRONMENT_H

#include "pollux/pollux.h"

/* The value of a variable, or NULL: from getenv, or from a table in tests. */
typedef const char *variable_fn (const void *context, const char *name);

/* pollux_world_read with variables from `look`. */
int environment_world (variable_fn *look, const void *context, struct pollux_world *ret,
                       struct pollux_error *err);

/* -EINVAL unless 0 <= rank < replicas, 1 <= nodes <= replicas, and so on. */
int environment_check (const struct pollux_world *world, struct pollux_error *err);

/* A variable of this process (getenv). */
const char *environment_variable (const void *unused, const char *name);

#endif
