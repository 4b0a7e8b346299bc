/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a job's past for charts: its values over time, its generations, and its measured
 * step times.
 *
 * Memory of one job at most, in bytes: 129 points x 48 + 32 generations x (56 + 16 shares x 8 + a
 * sentence of 160) + 32 measured steps x 56 = 19 kB.  A job of half an hour with two generations
 * has 2 kB.
 */
#ifndef CLUSTER_JOB_PAST_H
#define CLUSTER_JOB_PAST_H

#include "cluster/event.h"

/* Values of a job.  NaN: unknown. */
enum point_value {
    POINT_REPLICAS,
    POINT_NODES,
    POINT_BATCH,       /* the total batch, samples */
    POINT_RATE_FACTOR, /* on its learning rate */
    POINT_NOISE_SCALE, /* samples */
    POINT_THROUGHPUT,  /* samples/s; 0 while it does not run */
    POINT_EFFICIENCY,
    POINT_GOODPUT,  /* useful samples/s; 0 while it does not run */
    POINT_PROGRESS, /* iterations of M0 */
    POINT_STEP_S,   /* measured seconds of a step with synchronisation */
};
enum { POINT_VALUES = POINT_STEP_S + 1 };
extern const char *const point_names[POINT_VALUES];

/* The time from at_us to the next point: the mean of each value over it, weighted by time; of the
 * progress the value at its beginning. */
struct job_point {
    int64_t at_us;
    float values[POINT_VALUES];
};

/* Points of a job at most.  When there are more, neighbours are merged. */
enum { JOB_POINTS_LIMIT = 128 };

/* Nodes of a generation that are kept by name. */
enum { GENERATION_SHARES_LIMIT = 16 };

struct past_generation {
    int generation;
    int64_t started_us;
    int64_t ready_us, ended_us; /* -1: not yet */
    int kind;                   /* an exit_kind; -1: it runs, or moved without an exit */
    char *detail;               /* owned; NULL: none */
    int replicas, nodes;
    struct share *shares; /* owned: of its first nodes */
    int share_count;
};

/* The first generations of a job that are kept, and how many in all: these and the last ones. */
enum { GENERATIONS_FIRST = 8, GENERATIONS_LIMIT = 32 };

/* The time of a step in one configuration, as the job reported it last. */
struct measured_step {
    int node; /* the first one: gives the type */
    int nodes, replicas;
    int64_t m;
    int64_t at_us; /* of the report */
    double step_s;
    double predicted_s; /* by the job's last model; NaN: it has not ended, or had none */
};

enum { MEASURED_STEPS_LIMIT = 32 };

/* Starts zeroed, with job_past_begin. */
struct job_past {
    struct job_point *points; /* oldest first; the last one ends at until_us */
    int point_count, point_capacity;
    int64_t until_us;            /* the values below hold since then */
    float present[POINT_VALUES]; /* not yet in a point */
    int64_t resolution_us;       /* the last point grows until it is this long */
    int64_t next_report_us;      /* reports before then that say nothing new are skipped */
    int64_t goodput;             /* relative to one replica, in millionths */
    /* Its best batch on one replica, {0, 0} before the first search, and when to search again. */
    struct pollux_batch one_replica_batch;
    int64_t next_search_us;
    struct past_generation *generations; /* in order */
    int generation_count, generation_capacity;
    struct measured_step *measured; /* the least recently reported first */
    int measured_count, measured_capacity;
};

void job_past_begin (struct job_past *past, int64_t at_us, const float values[POINT_VALUES]);
void job_past_clear (struct job_past *past);

/* The values changed at this time: those before held until then.  -ENOMEM: that time is lost. */
int job_past_set (struct job_past *past, int64_t at_us, const float values[POINT_VALUES]);

/* A generation starts.  The placement is copied.  -ENOMEM: it is not kept. */
int job_past_start (struct job_past *past, int generation, int64_t at_us,
                    struct placement placement);

/* The last generation is ready; or it ends, with an exit_kind, or -1 if it moved without an exit. */
void job_past_ready (struct job_past *past, int64_t at_us);
void job_past_exit (struct job_past *past, int64_t at_us, int kind, const char *detail);

/* A measured step, in place of an earlier one of the same type, shape and m.  nodes: of the
 * cluster, for the types. */
int job_past_measure (struct job_past *past, const struct node *nodes,
                      const struct measured_step *step);

/* Free memory that is reserved for later: the job has ended. */
void job_past_shrink (struct job_past *past);

#endif
