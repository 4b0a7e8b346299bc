/* SPDX-License-Identifier: Apache-2.0 */
/* A small cluster for the daemon's tests.  Each call applies an event, and asserts that it is
 * valid. */
#ifndef TESTS_CLUSTER_FIXTURE_H
#define TESTS_CLUSTER_FIXTURE_H

#include "cluster/cluster.h"

struct cluster_fixture {
    struct cluster cluster;
    int64_t now_us;     /* time of the next event; tests advance it */
    struct round round; /* how to decide: pollux, p = -1, 60 s */
};

/* At 2026-01-01 00:00:00 UTC, with nodes n0, n1, ... of `slots` slots each. */
void cluster_fixture_init (struct cluster_fixture *fixture, int nodes, int slots);
void cluster_fixture_clear (struct cluster_fixture *fixture);

/* Apply an event at now_us. */
void cluster_fixture_apply (struct cluster_fixture *fixture, struct event *event);

/* A preemptible job of owner ann: sh -c true, with SECRET=x in its environment. */
int cluster_fixture_submit (struct cluster_fixture *fixture, const char *name, int min, int max);

/* Hints of a job that scales well, with this progress. */
struct hints cluster_fixture_hints (double progress, double total);
void cluster_fixture_report (struct cluster_fixture *fixture, int job, struct hints hints,
                             struct pollux_batch batch);

/* A round, then its plan, with one placement for each active job: "0:2 1:1" is two replicas on n0
 * and one on n1. */
void cluster_fixture_plan (struct cluster_fixture *fixture, const char *const *places);

void cluster_fixture_start (struct cluster_fixture *fixture, int job, const char *place);
void cluster_fixture_exit (struct cluster_fixture *fixture, int job, enum exit_kind kind,
                           const char *detail);
void cluster_fixture_drain (struct cluster_fixture *fixture, int node);

#endif
