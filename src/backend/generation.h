/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One generation of a job: its runs, from before their start until all of them have ended.
 *
 *     WAITING --start--> STARTING --seen--> RUNNING --status--> ENDED
 *        |                  |                  |                  ^
 *        +---- refused -----+------------------------------------>+
 *                                              +--lost--> KILLING-+
 *
 * The carrier starts and stops shares:
 *
 *     placement  n0 x2, n2 x1         ranks   0 1 2
 *     shares     [0: ranks 0 to 1 on n0] [1: rank 2 on n2]
 *
 * Under MPI it depends on the carrier (carrier.h).  With mpirun there is one more run, the last, in a
 * share of its own: mpirun.  The carrier starts only that one, and mpirun starts the others, which
 * are STARTING from the beginning.  Without mpirun all ranks are one share (one_mpi_share of the set), or
 * there is a share per node, as without MPI.
 */
#ifndef BACKEND_GENERATION_H
#define BACKEND_GENERATION_H

#include "backend/exit_judgement.h"
#include "backend/generation_set.h"
#include "backend/run.h"

enum rank_phase {
    RANK_WAITING, /* to be started */
    RANK_STARTING,
    RANK_RUNNING,
    RANK_KILLING, /* its supervisor died: its processes are being killed */
    RANK_ENDED,
};

/* One run. */
struct rank {
    struct generation *generation;
    enum rank_phase phase;
    int node;             /* in the cluster */
    int supervisor;       /* pidfd; -1: not known, so look at the run regularly */
    int supervisor_error; /* what the supervisor wrote to its standard error; -1: none */
    bool notified;        /* the pidfd is readable: the supervisor has ended */
    bool begun;           /* its run was seen: if that is missing later, it was removed */
    bool command_runs;
    bool stop_sent, error_logged;
    int64_t ended_us; /* when this daemon learned of its end, by its monotonic clock */
};

/* Runs that start and stop as one. */
struct generation_share {
    int first, count; /* ranks */
    int node;         /* in the cluster; of an MPI job's only share: the first */
    void *carried;    /* the carrier's own; NULL: none */
};

enum stop_reason {
    STOP_NONE,
    STOP_ASKED,  /* by the scheduler */
    STOP_FAILED, /* one run failed, so the others stop */
    STOP_GONE,   /* a node of a group is gone */
};

struct generation {
    int job; /* in the cluster; -1: an orphan, to be killed */
    char name[NAME_SIZE];
    int number;
    enum launcher launcher;
    int replicas, runs;         /* runs: replicas, and mpirun under MPI */
    struct rank *ranks;         /* one per run, as exits */
    struct replica_exit *exits; /* valid where the phase is RANK_ENDED */
    struct generation_share *shares;
    int share_count;
    struct run_slot_map slot_map; /* slots; port 0: not chosen yet */
    enum stop_reason stop;
    char gone[NAME_SIZE];    /* of STOP_GONE: the node */
    bool prepared;           /* its directory and slot map are written */
    bool recovered;          /* a supervisor of an earlier daemon may still appear */
    bool obsolete;           /* remove its directory at the end */
    bool carrier_failed;     /* it could not be started: not the job's failure */
    bool started;            /* STARTED was reported, or need not be */
    bool reports_started;    /* STARTED is the next event */
    bool over;               /* all runs have ended */
    int64_t since_us;        /* when it was added */
    int64_t replicas_end_us; /* when its last replica ended; 0: not yet */
    int64_t due_us;          /* when to step next */
    int64_t pause_us;        /* the pause before the step after that */
};

/* Add a generation to the set.  NULL: no memory. */
struct generation *generation_add (struct generation_set *set, const char *name, int number,
                                   struct placement placement, enum launcher launcher);
/* Remove and free it; its slots become free. */
void generation_drop (struct generation_set *set, struct generation *generation);

/* Give each replica the lowest free slot of its node.  -ENOSPC: a node has fewer free slots; the replicas hold slots that
 * it does not have, so that nothing starts in their place before they have ended.  -ENOMEM. */
int generation_take_slots (struct generation_set *set, const struct cluster *cluster,
                           struct generation *generation);

/* Give the replicas these slots, taken or not.  False: they do not fit the replicas. */
bool generation_hold_slots (struct generation_set *set, struct generation *generation,
                            const struct run_slot_map *slot_map);

/* Start, look at and stop runs as far as possible now. */
void generation_step (struct generation_set *set, const struct cluster *cluster,
                      struct generation *generation, int64_t now_us);
/* Stop it.  Only the first reason counts. */
void generation_stop (struct generation_set *set, struct generation *generation,
                      enum stop_reason reason);

/* The EXIT event of a generation that is over. */
void generation_exit (struct generation_set *set, const struct cluster *cluster,
                      struct generation *generation, struct event *ret);

/* ---- For carriers ---- */

/* A run has ended.  lost: its supervisor died without a status. */
void generation_end_rank (struct generation_set *set, struct generation *generation, int rank,
                          const struct run_status *status, bool lost);
/* The next looks come in short intervals again. */
void generation_look_soon (const struct generation_set *set, struct generation *generation);
/* Is there time to start or refuse one more run in this step? */
bool generation_has_time (struct generation_set *set);
/* The generation of a job that is in the set; NULL: none. */
struct generation *generation_find (const struct generation_set *set, int job);
/* The generation of a run that is in the set; NULL: none. */
struct generation *generation_find_run (const struct generation_set *set,
                                        const struct run_name *name);
/* JOB/GENERATION/RANK of a run. */
struct run_name generation_run_name (const struct generation *generation, int rank);
/* The share that a run is in. */
struct generation_share *generation_share_of (const struct generation *generation, int rank);
/* The carrier failed, not the job: nothing is started for some seconds. */
void generation_carrier_failed (struct generation_set *set, struct generation *generation);
/* Has the run ended, or lost its supervisor? */
bool rank_is_gone (const struct rank *rank);
/* The rank of mpirun; NULL: no MPI job. */
struct rank *generation_mpirun (const struct generation *generation);

#endif
