/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_ENVIRONMENT_H
#define AGENT_ENVIRONMENT_H

#include "pollux/pollux.h"

/* A variable's value or NULL: getenv, or a test's table. */
typedef const char *variable_fn (const void *context, const char *name);

/* pollux_world_read with the variables that `look` knows. */
int environment_world (variable_fn *look, const void *context, struct pollux_world *ret,
                       struct pollux_error *err);

/* -EINVAL unless 0 <= rank < replicas, 1 <= nodes <= replicas, and so on. */
int environment_check (const struct pollux_world *world, struct pollux_error *err);

/* The process's own variables. */
const char *environment_variable (const void *unused, const char *name);

#endif
