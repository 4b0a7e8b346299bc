/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One generation of a job on this machine: its runs, from before their start until nothing of
 * them is left.
 *
 *     WAITING --spawn--> COMING --directory--> RUNNING --status--> ENDED
 *        |                  |                     |                  ^
 *        +---- refused -----+--------------------------------------->+
 *                                                 +--lost--> DYING --+
 *
 * Under mpi there is one run more, the last: mpirun, which is spawned and starts the others; they
 * are COMING from the beginning.
 */
#ifndef BACKEND_GENERATION_H
#define BACKEND_GENERATION_H

#include "backend/local.h"
#include "backend/run.h"
#include "backend/slot_map.h"
#include "backend/exit_judgement.h"

enum rank_phase {
    RANK_WAITING, /* to be started */
    RANK_COMING,  /* somebody is about to start it */
    RANK_RUNNING,
    RANK_DYING, /* its supervisor died: what is left is being killed */
    RANK_ENDED,
};

struct rank {
    struct generation *generation;
    enum rank_phase phase;
    int node;         /* in the cluster */
    int supervisor;   /* pidfd; -1: not known */
    int said;         /* its first words, see spawn.h; -1: none */
    bool woken;       /* the pidfd says that it has ended */
    bool has_replica; /* the command runs */
    bool stop_sent, complained;
};

enum stop_reason {
    STOP_NONE,
    STOP_ASKED,  /* the scheduler wants it */
    STOP_FAILED, /* one of them has failed, so the others go, too */
};

struct generation {
    int job; /* in the cluster; -1: an orphan, to be killed */
    char name[NAME_SIZE];
    int number;
    int world, count;             /* replicas; runs */
    struct rank *ranks;           /* count of each */
    struct replica_exit *endings; /* of those that have ended */
    struct run_slot_map slot_map; /* slots; port 0: not chosen yet */
    enum stop_reason stop;
    bool prepared;  /* directory and seats are there */
    bool recovered; /* a supervisor of an earlier daemon may be on its way */
    bool obsolete;  /* remove its directory at the end */
    bool unlucky;   /* this machine could not start it: not the job's failure */
    bool started, announce;
    bool over;                 /* all have ended */
    int64_t begun_us, idle_us; /* when it was begun here; when its last replica ended */
    int64_t due_us, pause_us;  /* when to look next, and how long after that */
};

struct local {
    int root, epoll;
    char *directory; /* STATE/run */
    char *program, *mpirun, *checkpoints, *url, *cgroup;
    char **base;
    const struct machine *machine;
    int port_first, port_count, next_port;
    int keep_generations, keep_jobs;
    int (*token) (void *self, const char *job, char *ret, size_t size);
    void (*log) (void *self, int level, const char *text);
    void *self;
    struct slot_map slot_map;
    struct generation **generations; /* in no order */
    int count, capacity;
    struct collision {
        int job, count;
    } * collisions; /* ports that were taken, in succession */
    int collision_count;
    bool closing, unsettled;
    int exits;              /* told so far */
    int64_t held_us;        /* start nothing before this; 0: no such time */
    int64_t start_until_us; /* in this step; 0: none was started so far */
    struct run_view *view;  /* of the last look */
};

int64_t local_now_us (void);
void local_log (const struct local *local, int level, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* ---- generation.c ---- */

/* Add a generation with so many replicas and, under mpi, one run more.  NULL: no memory. */
struct generation *generation_add (struct local *local, const char *name, int number, int world,
                                   bool mpi);
/* Take it out: its seats are free again. */
void generation_drop (struct local *local, struct generation *generation);
/* What the clock and the runs demand. */
void generation_step (struct local *local, const struct cluster *cluster,
                      struct generation *generation, int64_t now_us);
/* Stop it, once. */
void generation_stop (struct local *local, struct generation *generation, enum stop_reason reason);
/* Look at a run now, and believe what is seen; used at recovery, too.  -EPROTO and the like as
 * run_look. */
int generation_look (struct local *local, struct generation *generation, int rank,
                     struct pollux_error *err);

/* ---- generation_start.c ---- */

/* Where the job runs: give each replica a slot, the lowest that are free.  0, or -ENOSPC or
 * -ENOMEM. */
int generation_seat (struct local *local, const struct cluster *cluster,
                     struct generation *generation);
/* Start one run, and what must be there before the first.  -EINVAL for what is the job's own fault;
 * all other failures are this machine's, or the daemon's. */
int generation_start (struct local *local, const struct cluster *cluster,
                      struct generation *generation, int rank, struct pollux_error *err);

/* ---- local_exit.c ---- */

/* The EXIT event of a generation that is over. */
void local_exit (struct local *local, const struct cluster *cluster, struct generation *generation,
                 struct event *ret);

/* ---- local_recover.c ---- */

/* Remove the directory of a generation that must not be there.  What still runs in it is killed
 * first, as an orphan. */
void local_remove (struct local *local, const char *job, int number);
/* Of jobs that ended long ago, remove the logs. */
void local_prune (struct local *local, const struct cluster *cluster);

#endif
