/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The backend that carries plans out on this machine: each replica runs under a supervisor
 * (backend/supervisor.h) that outlives this process, and what is known of it is in its run
 * directory (backend/run.h).  For one thread:
 *
 *     loop.backend = local_backend (local);
 *     loop_begin, fold the journal;  local_recover (local, &loop.cluster)
 *     epoll:  local_fd (local) readable, or local_due_us (local) reached:
 *                 local_step (local, &loop.cluster)
 *     while (local_next_event (local, &loop.cluster, &event) > 0)
 *         event.at_us = now;  loop_take (&loop, &event);
 *     loop_settle (&loop)      posts START, commits, and starts and stops supervisors; after
 *                              events, and when local_wants_settle
 *
 * What goes wrong with one job is an EXIT of that job with a sentence, never an error here.
 */
#ifndef BACKEND_LOCAL_H
#define BACKEND_LOCAL_H

#include "backend/machine.h"
#include "loop/loop.h"

struct local;

/* All strings and the machine are borrowed for the call; NULL and 0 mean what is in brackets. */
struct local_options {
    const char *state;             /* the state directory, which is there and ours */
    const char *program;           /* the path of pollux */
    const char *mpirun;            /* (mpirun in the PATH of the base environment) */
    const char *checkpoints;       /* (STATE/checkpoints), for jobs that name none */
    const char *url;               /* where supervisors send hints (nowhere) */
    const char *cgroup;            /* where runs have their cgroups (none); see machine_cgroup */
    char *const *environment;      /* of all replicas, before their own (PATH, HOME, USER, ...) */
    const struct machine *machine; /* outlives the backend */
    int port_first, port_count;    /* for MASTER_PORT (PORT_FIRST, PORT_COUNT) */
    int keep_generations;          /* whose logs are kept per job, the running one included (3) */
    int keep_jobs;                 /* ended ones whose logs are kept (10000) */
    /* The token with which a job's supervisors report; 0, or < 0: none. */
    int (*token) (void *self, const char *job, char *ret, size_t size);
    /* A sentence for the log, with a level of syslog(3). */
    void (*log) (void *self, int level, const char *text);
    void *self;
};

/* On success *ret is the caller's (local_free). */
int local_new (const struct local_options *options, struct local **ret, struct pollux_error *err);

/* Whatever runs goes on, for the next one to adopt. */
void local_free (struct local *local);

struct backend local_backend (struct local *local);

/* After the journal has been folded, before anything else: adopt what runs, read how the rest
 * ended, and start what was committed but not started.  Whatever runs though it should not, is
 * killed.  -EPROTO if a supervisor that lives speaks a version that is not known here, -EINVAL if
 * there are runs and the journal is empty: then it is not the one that started them. */
int local_recover (struct local *local, const struct cluster *cluster, struct pollux_error *err);

/* A descriptor for epoll, and when to step though it is not readable: in microseconds of
 * CLOCK_MONOTONIC, INT64_MAX for never.  Nothing here waits. */
int local_fd (const struct local *local);
int64_t local_due_us (const struct local *local);
void local_step (struct local *local, const struct cluster *cluster);

/* 1 and what has happened: a STARTED or an EXIT, whose time is the caller's to say, and which must
 * be taken; or 0. */
int local_next_event (struct local *local, const struct cluster *cluster, struct event *ret);

/* Is there something to be reconciled though there was no event?  A time to wait is over, or an
 * orphan that held up others is gone. */
bool local_wants_settle (const struct local *local);

/* The job's agent has reported for this generation: that is when an adaptive job has STARTED.
 * Others have when all their replicas run. */
void local_reported (struct local *local, const struct cluster *cluster, int job);

/* From now on start nothing, and with the next act stop all that runs.  It is done when
 * local_count is 0. */
void local_stop_all (struct local *local);

/* How many generations run, orphans that are being killed included. */
int local_count (const struct local *local);

/* The descriptor of STATE/run, for those who read logs (run_open_log). */
int local_root (const struct local *local);

#endif
