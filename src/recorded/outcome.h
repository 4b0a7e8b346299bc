/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outcome of one policy on one workload: what happened to jobs and slots, for reports.  It is
 * made by folding events, once:
 *
 *     a journal      outcome_read_journal
 *     a simulation   config.journal = outcome_journal (...)
 *     a RESULT.json  outcome_read_result: completion times and numbers, no timelines
 *
 * Times are microseconds on the cluster's clock; a simulation starts at 0.
 */
#ifndef RECORDED_OUTCOME_H
#define RECORDED_OUTCOME_H

#include <jansson.h>

#include "cluster/cluster.h"
#include "loop/loop.h"
#include "wire/recording.h"

/* From this time on a job has so many replicas. */
struct replica_change {
    int64_t at_us;
    int replicas;
};

struct outcome_job {
    char name[NAME_SIZE], application[NAME_SIZE];
    enum job_phase phase;
    int64_t submit_us, end_us; /* end_us: only of jobs that have ended */
    double jct_s;              /* of a job that has finished, else NaN */
    double rho;                /* NaN: unknown */
    int restarts, failures;
    struct replica_change *changes;
    int change_count, change_capacity;
};

/* From this time on the cluster has so many slots and so many of them are used. */
struct usage_change {
    int64_t at_us;
    int slots, used;      /* slots: of all nodes, as in the history (cluster/cluster_past.h) */
    int running, waiting; /* jobs */
};

/* The numbers by which policies are compared (sim/sim.h).  NaN: unknown. */
struct outcome_numbers {
    double mean_jct_s, median_jct_s, p99_jct_s; /* of finished jobs */
    double makespan_s;                          /* last end - first submission */
    double slot_hours_per_job, restarts_per_job, utilisation, worst_rho, unfair;
    int jobs, finished, failed, cancelled, live, rounds;
};

/* Zero to begin with; outcome_clear frees it. */
struct outcome {
    char source[NAME_SIZE * 2]; /* name of the file */
    char policy[NAME_SIZE];     /* of the last full round; "": none */
    bool several_policies;
    struct recording recording;
    bool has_events; /* false: made of a RESULT.json: jobs have jct_s only, and there is no usage */
    bool compacted;  /* the journal begins with a snapshot, at from_us */
    int64_t from_us, until_us;
    struct outcome_job *jobs; /* in order of submission */
    int job_count, job_capacity;
    struct usage_change *usage;
    int usage_count, usage_capacity;
    struct outcome_numbers numbers;
    /* While events are taken. */
    bool begun; /* there was a snapshot or an event */
    struct cluster cluster;
    struct usage_change now;
    int rounds;
};

void outcome_clear (struct outcome *outcome);

/* Begin with the cluster that is in outcome->cluster: empty, or restored from a snapshot. */
int outcome_start (struct outcome *outcome, const char *source, struct pollux_error *err);

/* The next event, which fits the state (cluster_check).  -ENOMEM. */
int outcome_take (struct outcome *outcome, const struct event *event, struct pollux_error *err);

/* After the last event: compute the numbers, and free the cluster.  recording has rho, if known; it
 * is taken over and zeroed. */
int outcome_finish (struct outcome *outcome, struct recording *recording, struct pollux_error *err);

/* A journal that takes the events of a simulation into the outcome, after outcome_start. */
struct journal outcome_journal (struct outcome *outcome);

/* Read a journal, which is opened read-only.  On success *ret belongs to the caller. */
int outcome_read_journal (const char *path, struct outcome *ret, struct pollux_error *err);

/* Read a RESULT.json of `pollux sim --json`: an outcome for each policy and workload.  On success
 * *ret has *count of them; the caller frees each, and the array. */
int outcome_read_result (const char *path, struct outcome **ret, int *ret_count,
                         struct pollux_error *err);
int outcome_parse_result (const char *name, const char *text, size_t length, struct outcome **ret,
                          int *ret_count, struct pollux_error *err);

/* What a report embeds (docs/formats.md), as JSON, and as text in which each < is written \u003c:
 * then no name in it ends the script element that holds it.  command: that makes the report, or
 * NULL.  The caller frees it; NULL: no memory. */
json_t *outcomes_json (const struct outcome *outcomes, int count, const char *command,
                       double made_s);
char *outcomes_text (const struct outcome *outcomes, int count, const char *command, double made_s);

#endif
