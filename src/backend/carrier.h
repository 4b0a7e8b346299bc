/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the generation logic (generation.h, generation_set.h) asks of the place where replicas run.
 * It decides; a carrier only starts, stops and looks.  The carriers are this machine's processes
 * (local_carrier in local_private.h) and Slurm (slurm/slurm_carrier.h).
 *
 * A run is one process tree: a replica, or the mpirun of an MPI job.  Runs of a generation are
 * numbered by rank.  A share is what starts and stops as one: the runs on one node, or mpirun; its
 * number is that of its place in generation->shares.  No function waits.
 */
#ifndef BACKEND_CARRIER_H
#define BACKEND_CARRIER_H

#include "cluster/cluster.h"

struct generation;
struct rank;
struct run_news;

struct carrier {
    /* Pauses between looks at a run: the first, which doubles, and the longest. */
    int64_t pause_us, pause_limit_us;
    /* True: an MPI job has one more run, mpirun, which starts its ranks.  False: an MPI job has
     * no more runs than others. */
    bool mpirun;

    /* Start the runs of a share that are RANK_WAITING; they become RANK_STARTING.  As many as there
     * is time for (generation_has_time), at least one; the rest with the next call.  Before the
     * first run of a generation, make what all of them need.  On failure the first run that is still
     * RANK_WAITING could not be started.  -EINVAL: the job's own fault; other errors: the
     * carrier's. */
    int (*start) (void *self, const struct cluster *cluster, struct generation *generation,
                  int share, struct pollux_error *err);
    /* Compare a run with its rank and bring the rank up to date.  A run whose supervisor died is
     * killed, with one attempt per call. */
    int (*look) (void *self, struct generation *generation, int rank, struct pollux_error *err);
    /* A supervisor's news of its run.  NULL: the run is only looked at. */
    void (*news) (void *self, struct generation *generation, const struct run_news *news);
    /* Make sure that a run without a supervisor never starts: its rank is RANK_ENDED, or
     * RANK_STARTING if a supervisor was faster. */
    void (*refuse) (void *self, struct generation *generation, int rank, bool stopped,
                    const char *why);
    /* Ask the runs of a share to stop.  It is called at every step of a generation that stops, so
     * repeat the request only as often as it is useful.  The runs of an orphan are killed instead. */
    void (*stop) (void *self, struct generation *generation, int share);
    /* Record, for the next daemon, that the scheduler asked the generation to stop. */
    void (*mark_stop) (void *self, struct generation *generation);
    /* Release what a rank holds: descriptors. */
    void (*release) (void *self, struct rank *rank);
    /* The generation is dropped: release what its share holds (carried).  NULL: nothing. */
    void (*release_share) (void *self, struct generation *generation, int share);

    /* Why a generation that is over failed, or was stopped, although neither the job nor the scheduler is
     * the reason: a sentence in *text, or NULL.  *ret_pause_s, 0 before the call: how long the job has to
     * wait, at most PAUSE_LIMIT. */
    const char *(*excuse) (void *self, const struct generation *generation,
                           struct pollux_error *text, int *ret_pause_s);
    /* The job's last failure was its own, or it did not fail: its excuses count from 0 again. */
    void (*forget_excuses) (void *self, int job);
    /* May jobs start?  False: later, and wants_settle is set then.  NULL: always. */
    bool (*may_start) (void *self);
    /* The generation is over: remove files that are not needed any more. */
    void (*clean_up) (void *self, const struct cluster *cluster,
                      const struct generation *generation);
    /* Remove what is left of a generation that must not exist. */
    void (*remove) (void *self, const char *job, int number);
};

#endif
