/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One workload under one policy on one simulated cluster: the shared loop on virtual time, with a
 * backend that models training.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdatomic.h>

#include "loop/loop.h"
#include "sim/job_agent.h"
#include "sim/workload.h"
#include "wire/node_groups.h"

/* Whether jobs learn from earlier ones of their application.  EXPERIENCE_WRONG: they do, but every second job names
 * another application than its own, to see what wrong experience costs. */
enum experience_kind { EXPERIENCE_OFF, EXPERIENCE_ON, EXPERIENCE_WRONG };
enum { EXPERIENCE_KINDS = EXPERIENCE_WRONG + 1 };
extern const char *const experience_names[EXPERIENCE_KINDS];

/* The cluster and its rules.  sim_defaults gives the published values. */
struct sim_config {
    int nodes, slots_per_node; /* without a type */
    /* Instead: groups of nodes, all with types or none.  With types the rules for clusters with types hold: restart delays
     * and slowdowns of applications, limits of batches by placement, and no restart on other nodes of the same shape. */
    struct node_group groups[NODE_GROUPS_LIMIT];
    int group_count;  /* 0: none */
    struct goal goal; /* fixed: each group has its `nodes` */
    double interval_s, restart_delay_s;
    bool
        one_delay; /* restart_delay_s holds for all applications, also for those that have their own */
    double interference; /* share of speed that a multi-node job loses on a shared node, 0..1 */
    double p;            /* fairness of the policies that have it */
    struct policy_settings settings; /* options of the policy; those of others are ignored */
    int max_replicas;                /* of one job, for policies that choose */
    /* Jobs report their remaining work with a factor exp (error x normal), drawn once per job;
     * 0: exact. */
    double remaining_error;
    /* Step times, synchronisation and noise of a job differ from its application's by three factors
     * exp (spread x normal), drawn once per job; 0: not at all. */
    double job_spread;
    enum experience_kind experience;
    enum job_agent_kind agent;
    uint64_t seed;
    struct journal journal; /* zero: no journal */
};
struct sim_config sim_defaults (void);

/* exp (10) = 22,000: a larger error is useless. */
enum { SIM_ERROR_LIMIT = 10 };

/* How a job differs from its application. */
struct job_factors sim_job_factors (const struct sim_config *config,
                                    const struct workload_job *job);

bool sim_typed (const struct sim_config *config);

/* True if nodes of groups are ordered, returned, taken away or paid: then GROUPS, SIZE and POWER events are posted, and results
 * have costs. */
bool sim_scaled (const struct sim_config *config);
int sim_node_count (const struct sim_config *config);
int sim_slots (const struct sim_config *config);

/* The nodes by group; without groups there is one, of type "".  With a goal: the most nodes that there can be. */
int sim_group_count (const struct sim_config *config);
struct node_group sim_group (const struct sim_config *config, int index);

/* Seconds that a restart takes: the application's own in a cluster with types. */
double sim_delay (const struct sim_config *config, const struct app *app);

/* The most slots of one type: a job runs on nodes of one type.  The second: of those that the application can run on. */
int sim_type_slots (const struct sim_config *config);
int sim_app_slots (const struct sim_config *config, const struct app *app);

/* 0, or -EINVAL with the option and its range. */
int sim_check (const struct sim_config *config, struct pollux_error *err);

/* The progress of a run.  Other threads may read it. */
struct sim_progress {
    _Atomic int64_t now_us;
    _Atomic int jobs_done, rounds;
    _Atomic bool stop; /* set by another thread: the run ends with -EINTR */
};

/* The result of one job. */
struct sim_job {
    double jct_s;
    double rho; /* finish-time fairness: jct_s / JCT of the job alone with its share */
    double slot_s;
    int restarts;
    double cost; /* of the slots that it held */
};

/* The result of a run.  Jobs in the order of the workload. */
struct sim_result {
    struct sim_job *jobs;
    int job_count;
    double mean_jct_s, median_jct_s, p99_jct_s;
    double makespan_s; /* last completion - first submission */
    double slot_hours_per_job, restarts_per_job;
    double utilisation;       /* slot-seconds placed / (slots x makespan) */
    double worst_rho, unfair; /* unfair: share of jobs with rho > 1 */
    int rounds;
    double decide_mean_s, decide_median_s, decide_p99_s, decide_max_s; /* of the real clock */
    /* If sim_scaled: nodes from their orders until they are off, and their price; orders after the start that came. */
    bool scaled;
    double cost, node_hours, group_node_hours[NODE_GROUPS_LIMIT];
    int boots;
    double capacity_s; /* with a goal: slot-seconds that were paid; else 0 */
    bool modelled;     /* some step times come from the fitted model (struct app_step) */
};

/* Run until every job is done.  Equal inputs give an equal result, except the decide times.
 * progress may be NULL.  On success *ret belongs to the caller (sim_result_clear). */
int sim_run (const struct sim_config *config, const struct workload *workload,
             const struct policy *policy, struct sim_progress *progress, struct sim_result *ret,
             struct pollux_error *err);
void sim_result_clear (struct sim_result *result);

#endif
