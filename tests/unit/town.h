/* SPDX-License-Identifier: Apache-2.0 */
/* A small cluster for the daemon's tests, told by events, a line each.  Every call asserts that its
 * event fits. */
#ifndef TESTS_TOWN_H
#define TESTS_TOWN_H

#include "cluster/cluster.h"

struct town {
    struct cluster cluster;
    int64_t now_us;     /* of the next event; a test moves it forward */
    struct round round; /* how to decide: pollux, p = -1, 60 s */
};

/* At 2026-01-01 00:00:00 UTC, with nodes n0, n1, ... of so many slots each. */
void town_init (struct town *town, int nodes, int slots);
void town_clear (struct town *town);

/* Let an event happen now. */
void town_apply (struct town *town, struct event *event);

/* A preemptible job of owner ann: sh -c true, with SECRET=x in its environment. */
int town_submit (struct town *town, const char *name, int min, int max);

/* A model of a job that scales well, and how far it is. */
struct hints town_hints (double progress, double total);
void town_report (struct town *town, int job, struct hints hints, struct pollux_batch batch);

/* A round; then the plan that gives each active job what the text says: "0:2 1:1" is two replicas
 * on n0 and one on n1. */
void town_plan (struct town *town, const char *const *places);

void town_start (struct town *town, int job, const char *place);
void town_exit (struct town *town, int job, enum exit_kind kind, const char *detail);
void town_drain (struct town *town, int node);

#endif
