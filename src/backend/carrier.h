/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the generation logic (generation.h, generation_set.h) asks of the place where replicas run.
 * It decides; a carrier only starts, stops and looks.  Today's carrier is this machine's processes
 * (local_carrier in local_private.h).
 *
 * A run is one process tree: a replica, or the mpirun of an MPI job.  Runs of a generation are
 * numbered by rank.  No function waits.
 */
#ifndef BACKEND_CARRIER_H
#define BACKEND_CARRIER_H

#include "cluster/cluster.h"

struct generation;
struct rank;

struct carrier {
    /* Start one run; its rank becomes RANK_STARTING.  Before the first run of a generation, make
     * what all of them need.  -EINVAL: the job's own fault; other errors: the carrier's. */
    int (*start) (void *self, const struct cluster *cluster, struct generation *generation,
                  int rank, struct pollux_error *err);
    /* Compare a run with its rank and bring the rank up to date.  A run whose supervisor died is
     * killed, with one attempt per call. */
    int (*look) (void *self, struct generation *generation, int rank, struct pollux_error *err);
    /* Make sure that a run without a supervisor never starts: its rank is RANK_ENDED, or
     * RANK_STARTING if a supervisor was faster. */
    void (*refuse) (void *self, struct generation *generation, int rank, bool stopped,
                    const char *why);
    /* Ask a run to stop.  The runs of an orphan are killed instead. */
    void (*stop) (void *self, struct rank *rank);
    /* Record, for the next daemon, that the scheduler asked the generation to stop. */
    void (*mark_stop) (void *self, struct generation *generation);
    /* Release what a rank holds: descriptors. */
    void (*release) (void *self, struct rank *rank);

    /* Why the failure of a generation that is over is not the job's own: a sentence in *text, or
     * NULL. */
    const char *(*excuse) (void *self, const struct generation *generation,
                           struct pollux_error *text);
    /* The job's last failure was its own, or it did not fail: its excuses count from 0 again. */
    void (*forget_excuses) (void *self, int job);
    /* The generation is over: remove files that are not needed any more. */
    void (*clean_up) (void *self, const struct cluster *cluster,
                      const struct generation *generation);
    /* Remove what is left of a generation that must not exist. */
    void (*remove) (void *self, const char *job, int number);
};

#endif
