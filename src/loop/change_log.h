/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What has changed since when: for each job and node the number of the last event that changed it.  A client that
 * knows the cluster up to an event needs only what has changed since (GET /v1/watch).
 */
#ifndef LOOP_CHANGE_LOG_H
#define LOOP_CHANGE_LOG_H

#include "cluster/cluster.h"

/* The last round that has changed something, in one line:
 *     "5 jobs changed: resnet 2 -> 4, bert 4 -> 2 (n0 -> n1), gpt starts with 8, 2 more" */
enum { PLAN_CHANGES_SIZE = 1024 }; /* three jobs, with three names of 63 bytes each */
struct plan_changes {
    int64_t round, at_us; /* number and time of its ROUND; 0: there was none */
    char text[PLAN_CHANGES_SIZE];
};

/* Zero to begin with. */
struct change_log {
    int64_t number; /* of the last event */
    int64_t since;  /* what changed up to this event is not known */
    int64_t
        slots_number; /* of the last event that may have changed who may have which slots; 0: none */
    int64_t *jobs, *nodes; /* by index; entries beyond the capacity: not changed since `since` */
    int job_capacity, node_capacity;
    struct plan_changes last;
    /* Of the ROUND whose PLAN comes next. */
    int64_t round, round_us;
    bool fill;
};
void change_log_clear (struct change_log *log);

/* The cluster was restored from a snapshot that ends with this event. */
void change_log_restored (struct change_log *log, int64_t number);

/* An event that is applied next, as this number of the journal. */
void change_log_take (struct change_log *log, const struct cluster *cluster,
                      const struct event *event, int64_t number);

/* The number of the last event that changed a job or a node; `since` if it is older. */
int64_t change_log_job (const struct change_log *log, int job);
int64_t change_log_node (const struct change_log *log, int node);

/* Write what a plan changes, for jobs of cluster->active, and return how many of them. */
int plan_changes_write (const struct cluster *cluster, const struct plan *plan,
                        char ret[PLAN_CHANGES_SIZE]);

#endif
