/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A backend carries out plans: it starts, stops and watches the replicas of jobs.  All backends
 * are in one table; the daemon picks one by name and calls its functions.  Besides, the daemon has
 * the options of the backend `slurm` (daemon/main.c), starts its root process if for_owners is set,
 * and if end_s is set stops all jobs before that time and writes the number of live jobs for the
 * script of the pilot.  One thread:
 *
 *     ops->open (&options, &self);  ops->nodes (self)
 *     fold the journal;             ops->recover (self, &cluster)
 *     loop.backend = backend_for_loop (ops, self)
 *     epoll: ops->fd (self) is readable, or ops->due_us (self) is reached:
 *                ops->step (self, &cluster)
 *     while (ops->next_event (self, &cluster, &event) > 0)
 *         event.at_us = now;  loop_take (&loop, &event);
 *     loop_settle (&loop)      posts START, commits, then acts; after events, and when
 *                              ops->wants_settle
 *
 * The failure of one job is an EXIT event of that job, never an error of the backend.
 */
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include "backend/words.h"
#include "base/log_reader.h"
#include "loop/loop.h"
#include "wire/run_news.h"
#include "wire/slurm_config.h"

/* Borrowed for the call of open, except log, token and their self. */
struct backend_options {
    const char *state;       /* the state directory; it exists and belongs to this user */
    const char *program;     /* the path of pollux, which supervises replicas */
    const char *checkpoints; /* for jobs that name no directory; NULL: STATE/checkpoints */
    const char *url;         /* where supervisors send hints; NULL: they send none */
    const char *ca;          /* the certificates that they trust there; NULL: the system's */
    const char *nvidia_smi;  /* lists the GPUs; NULL: nvidia-smi in the PATH; "": there are none */
    const struct wire_slurm_config *slurm; /* the section slurm of the configuration */
    int owner_socket; /* to the process that acts for owners (for_owners), which open takes over; -1 */
    bool munge;       /* supervisors sign their reports with munge, instead of a token */
    const struct node *nodes; /* declared by the configuration; NULL: the backend finds them */
    int node_count;
    bool has_groups;   /* the configuration has groups: without nodes there are only theirs */
    bool use_cgroups;  /* one per run, where this user may make them */
    int keep_jobs;     /* ended jobs whose logs are kept; 0: 10000 */
    int64_t log_limit; /* bytes of a job's logs; 0: RUN_JOB_LOG_DEFAULT */
    /* Write the token with which supervisors of a generation report: 0, or < 0 if there is none. */
    int (*token) (void *self, const char *job, int generation, char *ret, size_t size);
    /* Log a sentence with a level of syslog(3). */
    void (*log) (void *self, int level, const char *text);
    void *self; /* of token and log */
};

struct backend_ops {
    const char *name, *summary;
    bool shared_state; /* the state directory is on a file system that several hosts share */
    bool remote;       /* replicas run on other machines: supervisors report to the first address to
                  * listen on, not to the socket in the state directory */

    bool for_owners; /* runs jobs as their owners: needs the root process (slurm/as_owner.h) */

    bool groups; /* nodes of groups (cluster/node_group.h) may appear and leave while it runs */
    /* The words of a command that orders these nodes (up), or returns them; names end with NULL.  NULL: the administrator's
     * commands do it. */
    int (*power_words) (bool up, const char *const *names, struct words *ret);

    /* On success *ret belongs to the caller (free). */
    int (*open) (const struct backend_options *options, void **ret, struct pollux_error *err);
    /* Replicas that run go on; the next daemon adopts them.  NULL is fine. */
    void (*free) (void *self);

    /* The nodes, borrowed until free: their number, or an error.  -EAGAIN: they are not known yet;
     * NODE events will report them. */
    int (*nodes) (void *self, const struct node **ret, struct pollux_error *err);

    /* After the journal is folded and before anything else: adopt what runs, read how the rest
     * ended, start what was committed but not started, kill what should not run.  -EPROTO: a
     * supervisor that lives has an unknown version; -EINVAL: there are runs but the journal is
     * empty, so another journal started them. */
    int (*recover) (void *self, const struct cluster *cluster, struct pollux_error *err);

    /* Can this job be run?  -EINVAL, -EPERM, -ENOENT: a sentence for its owner.  NULL: every job. */
    int (*check) (void *self, const struct launch *launch, struct pollux_error *err);

    /* A descriptor for epoll (-1: none), and the time of the next step even if it is not readable:
     * microseconds of CLOCK_MONOTONIC, INT64_MAX: none.  step never waits. */
    int (*fd) (const void *self);
    int64_t (*due_us) (const void *self);
    void (*step) (void *self, const struct cluster *cluster);

    /* 1 and a STARTED, EXIT or NODE, which the caller gives a time and must take; or 0. */
    int (*next_event) (void *self, const struct cluster *cluster, struct event *ret);
    /* True if there is something to reconcile without a new event. */
    bool (*wants_settle) (const void *self);

    /* As in struct backend of loop/loop.h. */
    int (*reconcile) (void *self, struct loop *loop, struct pollux_error *err);
    int (*act) (void *self, const struct cluster *cluster, struct pollux_error *err);

    /* The agent of a job's running generation has reported.  This makes an adaptive job STARTED;
     * other jobs are STARTED when all their replicas run. */
    void (*reported) (void *self, const struct cluster *cluster, int job);

    /* The supervisor of a run of the job's running generation tells how it goes.  -EINVAL: there is
     * no such rank. */
    int (*news) (void *self, const struct cluster *cluster, int job, const struct run_news *news,
                 struct pollux_error *err);

    /* Start nothing from now on, and stop everything with the next act; done when count is 0. */
    void (*stop_all) (void *self);
    /* Generations that run, including those that are being killed. */
    int (*count) (const void *self);

    /* When the place where replicas run ends, as an allocation of Slurm does: seconds since 1970, -1:
     * not known.  The daemon stops everything in time and ends.  NULL: never. */
    int64_t (*end_s) (const void *self);

    /* Open a replica's log for reading, file number 0 (newest) or an older one: a descriptor, the
     * caller's (close).  Each file keeps its inode for life, also when it gets another number.
     * -ENOENT if there is none.  NULL: read_log is used. */
    int (*open_log) (void *self, const char *job, int generation, int rank, int number, int *ret,
                     struct pollux_error *err);
    /* A piece of a replica's log, from a position on; without one (inode 0) from its last lines on, -1: from its first
     * kept byte.  For files in a file system that polluxd must not wait for.  -EAGAIN: it is being read, ask again;
     * -ENOENT: there is no log.  NULL: open_log is used. */
    int (*read_log) (void *self, const char *job, int generation, int rank, int64_t lines,
                     const struct log_position *from, struct log_piece *ret,
                     struct pollux_error *err);
    /* The oldest generation of a job whose files are kept, up to `last`.  -ENOENT: there is none; -EAGAIN:
     * ask again. */
    int (*oldest_log) (void *self, const char *job, int last, int *ret);
    /* Where a job's checkpoints are: an absolute path, the caller's (free).  NULL: not known, or not
     * yet. */
    char *(*checkpoint_dir) (void *self, const struct job *job);
    /* The exit code of the first replica of a generation that failed, and its rank; 0 and rank 0 if
     * none is known. */
    int (*first_failure) (void *self, const char *job, int generation, int *ret_rank);
};

/* All backends; NULL at the end. */
extern const struct backend_ops *const backends[];

/* The backend of that name.  -ENOENT: there is none; err lists the names. */
int backend_find (const char *name, const struct backend_ops **ret, struct pollux_error *err);

/* What the loop needs of it. */
struct backend backend_for_loop (const struct backend_ops *ops, void *self);

#endif
