/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank and number of replicas from environment variables.  Each launcher has its own names: a row of
 * the table.  The first launcher whose rank and number of replicas are both set is used; values of
 * two launchers (torchrun within a Slurm job, for example) are never combined.
 */
#include "agent/environment.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"

/* Names of variables; NULL: the launcher has none.  Of two names the first that is set is used. */
struct launcher {
    const char *rank, *replicas[2], *local_rank, *local_replicas, *nodes[2];
};

static const struct launcher launchers[] = {
    {"RANK",
     {"WORLD_SIZE", NULL},
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     {"POLLUX_NODES", "GROUP_WORLD_SIZE"}},
    {"OMPI_COMM_WORLD_RANK",
     {"OMPI_COMM_WORLD_SIZE", NULL},
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     {"POLLUX_NODES", NULL}},
    {"SLURM_PROCID",
     {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
     "SLURM_LOCALID",
     NULL,
     {"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}},
};

const char *environment_variable (const void *unused, const char *name)
{
    (void)unused;
    return getenv (name);
}

struct environment {
    variable_fn *look;
    const void *context;
};

/* The first of two names that is set and not empty, or NULL. */
static const char *first_set (const struct environment *environment, const char *const names[2])
{
    for (int i = 0; i < 2; i++) {
        const char *value = names[i] ? environment->look (environment->context, names[i]) : NULL;
        if (value && *value)
            return names[i];
    }
    return NULL;
}

/* Read a number >= low; *ret does not change if the variable is not set. */
static int read_number (const struct environment *environment, const char *name, int64_t low,
                        int64_t high, int *ret, struct pollux_error *err)
{
    const char *text = name ? environment->look (environment->context, name) : NULL;
    int64_t value;
    if (!text || !*text)
        return 0;
    if (number_int64 (text, &value) < 0 || value < low || value > high)
        return fail (err, -EINVAL, "environment: %s: expected a number %lld..%lld, got '%.40s'",
                     name, (long long)low, (long long)high, text);
    *ret = (int)value;
    return 0;
}

static int read_launcher (const struct environment *environment, const struct launcher *launcher,
                          struct pollux_world *ret, struct pollux_error *err)
{
    struct pollux_world world = *ret;
    int local = 0, nodes = 0, limit = POLLUX_REPLICAS_LIMIT;
    int code = read_number (environment, first_set (environment, launcher->replicas), 1, limit,
                            &world.shape.replicas, err);
    if (code == 0)
        code = read_number (environment, launcher->rank, 0, world.shape.replicas - 1, &world.rank,
                            err);
    if (code == 0)
        code =
            read_number (environment, launcher->local_rank, 0, limit - 1, &world.local_rank, err);
    if (code == 0)
        code = read_number (environment, launcher->local_replicas, 1, world.shape.replicas, &local,
                            err);
    if (code == 0)
        code = read_number (environment, first_set (environment, launcher->nodes), 1, limit, &nodes,
                            err);
    if (code < 0)
        return code;
    if (nodes == 0)
        nodes = local > 0 ? (world.shape.replicas + local - 1) / local : 1;
    /* A Slurm allocation may have more nodes than the step has tasks. */
    world.shape.nodes = nodes < world.shape.replicas ? nodes : world.shape.replicas;
    *ret = world;
    return 0;
}

int environment_world (variable_fn *look, const void *context, struct pollux_world *ret,
                       struct pollux_error *err)
{
    struct environment environment = {look, context};
    struct pollux_world world = {.shape = {1, 1}};
    int code =
        read_number (&environment, "POLLUX_GENERATION", 1, INT32_MAX, &world.generation, err);
    for (size_t i = 0; code == 0 && i < sizeof (launchers) / sizeof (launchers[0]); i++) {
        const char *rank[2] = {launchers[i].rank, NULL};
        if (!first_set (&environment, rank) || !first_set (&environment, launchers[i].replicas))
            continue;
        code = read_launcher (&environment, &launchers[i], &world, err);
        break;
    }
    if (code == 0)
        *ret = world;
    return code;
}

int environment_check (const struct pollux_world *world, struct pollux_error *err)
{
    struct pollux_shape shape = world->shape;
    if (shape.replicas < 1 || shape.replicas > POLLUX_REPLICAS_LIMIT || shape.nodes < 1 ||
        shape.nodes > shape.replicas)
        return fail (err, -EINVAL, "agent: expected 1 <= nodes <= replicas <= %d, got %d and %d",
                     POLLUX_REPLICAS_LIMIT, shape.nodes, shape.replicas);
    if (world->rank < 0 || world->rank >= shape.replicas || world->local_rank < 0 ||
        world->generation < 0)
        return fail (err, -EINVAL,
                     "agent: there is no replica %d (locally %d) of %d, generation %d", world->rank,
                     world->local_rank, shape.replicas, world->generation);
    return 0;
}

int pollux_world_read (struct pollux_world *ret, struct pollux_error *err)
{
    return environment_world (environment_variable, NULL, ret, err);
}
