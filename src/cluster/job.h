/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_JOB_H
#define CLUSTER_JOB_H

#include <stdint.h>

#include "cluster/launch.h"
#include "cluster/node.h"
#include "model/placement.h"

/* A sentence for people about how a run ended. */
enum { DETAIL_SIZE = 160 };

/* Which replica counts a job can run with, besides its minimum and maximum. */
enum allowed_kind { ALLOWED_ANY, ALLOWED_POW2, ALLOWED_MULTIPLE, ALLOWED_LIST };

enum { ALLOWED_LIST_LIMIT = 64 };

struct allowed {
    enum allowed_kind kind;
    int multiple;                 /* ALLOWED_MULTIPLE: of this, >= 1 */
    int list[ALLOWED_LIST_LIMIT]; /* ALLOWED_LIST: `count` counts, ascending */
    int count;
};

/* What the owner says, once. */
struct job_spec {
    char name[NAME_SIZE];
    char application[NAME_SIZE]; /* what a simulation looks up; "" otherwise */
    int min_replicas;            /* 0, or at least so many whenever it runs */
    int max_replicas;            /* >= 1 */
    struct allowed allowed;
    double weight;          /* > 0, 1 by default */
    bool preemptible;       /* false: once placed it stays as it is until it ends */
    bool adaptive;          /* tunes its batch to its placement; false: fixed_batch always */
    double restart_delay_s; /* NaN: the cluster's */
    /* The request, for policies that honour requests; 0 where there is none. */
    int fixed_replicas;
    int64_t fixed_batch;
};

/* What the job's agent reports.  Unknown numbers are NaN. */
struct hints {
    bool has_model; /* model and grad are there */
    struct pollux_model model;
    struct pollux_grad grad;
    struct pollux_limits limits; /* init_batch 0: unknown */
    int max_profiled_replicas;   /* -1: unknown, so no limit follows from it */
    double progress, total;      /* iterations of init_batch done, and in all */
};

/* What a simulation's oracle knows and no agent can, for policies that are published with it:
 * iteration times with the fixed batch on k = 1..count slots packed on full nodes, and the
 * iterations at that batch still to do. */
struct oracle {
    double *iter_s; /* owned by the job */
    int count;
    double remaining;
};

enum job_phase {
    JOB_PENDING,    /* no generation of it runs */
    JOB_RUNNING,    /* one does, from its START to its EXIT */
    JOB_CANCELLING, /* the same, but it will not run again */
    JOB_FINISHED,
    JOB_FAILED,
    JOB_CANCELLED,
};
enum { JOB_PHASES = JOB_CANCELLED + 1 };
extern const char *const job_phase_names[JOB_PHASES];

/* A job as the cluster believes it to be.  Whatever is added here is to be kept by snapshots, too
 * (wire/snapshot.c). */
struct job {
    struct job_spec spec;
    struct hints hints;
    struct oracle oracle;
    struct pollux_batch batch; /* what it trains with now, {0, 0} if unknown */
    enum job_phase phase;
    int64_t submit_us, end_us; /* end_us: when it finished, failed or was cancelled */
    double age_s;              /* since its submission, as of the last round */
    int64_t age_us, aged_us;   /* the sum behind it, and up to when it was summed */
    double attained_s;         /* slot-seconds held up to charged_us */
    double held_s;             /* seconds with slots, up to charged_us */
    int64_t charged_us;
    int generation;             /* runs started so far */
    int restarts;               /* of these, by the scheduler's choice, after the first */
    bool failed_last;           /* the last run ended by itself, so the next is no such choice */
    int failures;               /* runs that ended so */
    int64_t retry_us;           /* not before; after a failure */
    int64_t start_us;           /* of the last START */
    double delay_s;             /* measured from START to STARTED, NaN before the first */
    struct placement placement; /* where it runs */
    struct placement desired;   /* where the last plan wants it */
    struct share *shares, *desired_shares; /* the memory behind them */
    int share_capacity, desired_capacity;
    struct launch *launch;    /* owned; NULL in simulations */
    char detail[DETAIL_SIZE]; /* of the last EXIT */
};

/* May the job run with so many replicas?  0 is always allowed here: not to run. */
bool job_allows (const struct job *job, int replicas);

/* The smallest allowed count above that one, or 0 if there is none.  Negative counts are as 0. */
int job_next_replicas (const struct job *job, int replicas);

/* The largest allowed count up to that one; 0, not to run, always is.  0 for negative counts. */
int job_fit_replicas (const struct job *job, int replicas);

/* What a policy that decides no sizes gives the job: the count that it asked for, or the fewest
 * that it can run with. */
int job_request (const struct job *job);

/* Has it a placement that it may not lose? */
bool job_pinned (const struct job *job);

/* The most replicas that the job may have now: its maximum, and at most twice what it has been
 * profiled with (at least the fewest that it can run with), so that its model is not trusted far
 * beyond what it has seen. */
int job_trusted_replicas (const struct job *job);

/* The most replicas that it can use now: those, and no more than its batch limits can feed. */
int job_most_replicas (const struct job *job);

/* Has it not ended? */
bool job_live (const struct job *job);

/* Does a generation of it run? */
bool job_runs (const struct job *job);

/* Iterations of init_batch still to do; NaN if unknown. */
double job_remaining (const struct job *job);

/* Copy a placement, or a desired one, into the job.  0 or -ENOMEM. */
int job_place (struct job *job, struct placement placement);
int job_desire (struct job *job, struct placement placement);

/* Free what it holds, not the job itself. */
void job_clear (struct job *job);

#endif
