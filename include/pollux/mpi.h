/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transport of the agent's numbers over MPI, for programs that use MPI.  The library itself does
 * not.  All calls are collective; replica 0 of the agent must be rank 0 of comm.
 */
#ifndef POLLUX_MPI_H
#define POLLUX_MPI_H

#include <errno.h>
#include <mpi.h>
#include <pollux/pollux.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Rank and replicas from MPI, for setup.world.  Use it if mpirun is not Open MPI's, or if the
 * program splits its communicator.  generation comes from the environment. */
static inline int pollux_mpi_world (MPI_Comm comm, struct pollux_world *ret,
                                    struct pollux_error *err)
{
    struct pollux_world world;
    MPI_Comm local;
    int first, code = pollux_world_read (&world, err);
    if (code < 0)
        return code;
    if (MPI_Comm_rank (comm, &world.rank) != MPI_SUCCESS ||
        MPI_Comm_size (comm, &world.shape.replicas) != MPI_SUCCESS ||
        MPI_Comm_split_type (comm, MPI_COMM_TYPE_SHARED, world.rank, MPI_INFO_NULL, &local) !=
            MPI_SUCCESS) {
        if (err)
            snprintf (err->text, sizeof (err->text), "MPI gives no rank or no size");
        return -EIO;
    }
    MPI_Comm_rank (local, &world.local_rank);
    MPI_Comm_free (&local);
    /* Count machines by their first replica; polluxd may divide a machine into several nodes. */
    first = world.local_rank == 0;
    MPI_Allreduce (MPI_IN_PLACE, &first, 1, MPI_INT, MPI_SUM, comm);
    if (first > world.shape.nodes || world.shape.nodes > world.shape.replicas)
        world.shape.nodes = first;
    *ret = world;
    return 0;
}

/* Replace a few numbers, for example squared norms, by their means over the replicas. */
static inline int pollux_mpi_mean (MPI_Comm comm, double *values, int count)
{
    int replicas, i;
    if (MPI_Comm_size (comm, &replicas) != MPI_SUCCESS ||
        MPI_Allreduce (MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, comm) != MPI_SUCCESS)
        return -EIO;
    for (i = 0; i < count; i++)
        values[i] /= replicas;
    return 0;
}

/* Decide, broadcast and follow.  If any replica was asked to stop, for example by a signal that only
 * it got, all stop. */
static inline int pollux_mpi_advise (MPI_Comm comm, struct pollux_agent *agent,
                                     struct pollux_advice *ret, struct pollux_error *err)
{
    int stop = pollux_agent_stopping (agent), code = MPI_SUCCESS;
    size_t count;
    double *numbers;
    if (pollux_agent_world (agent).shape.replicas > 1)
        code = MPI_Allreduce (MPI_IN_PLACE, &stop, 1, MPI_INT, MPI_MAX, comm);
    if (stop)
        pollux_agent_stop (agent);
    numbers = pollux_agent_decide (agent, &count);
    if (code == MPI_SUCCESS && pollux_agent_world (agent).shape.replicas > 1)
        code = MPI_Bcast (numbers, (int)count, MPI_DOUBLE, 0, comm);
    if (code != MPI_SUCCESS) {
        if (err)
            snprintf (err->text, sizeof (err->text), "MPI failed to broadcast the advice");
        return -EIO;
    }
    return pollux_agent_follow (agent, ret, err);
}

#ifdef __cplusplus
}
#endif
#endif
