/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop, the same around a simulated and a real cluster:
 *
 *     next event -> append to the journal (remember) -> apply to the cluster (believe)
 *       -> on ROUND: decide, which posts a PLAN -> on PLAN: the backend reconciles (act)
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "cluster/cluster.h"
#include "policy/policy.h"

struct loop;

/* Where events come from.  next: 1 with an event, 0 at the end, or an error. */
struct source {
    int (*next) (void *self, const struct cluster *cluster, struct event *ret,
                 struct pollux_error *err);
    void *self;
};

/* Where events are remembered before they are believed.  Both may be NULL: nowhere. */
struct journal {
    int (*append) (void *self, const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err);
    void *self;
};

/* Who carries plans out: compares the plan with what runs, and tells what it does by posting
 * START and EXIT events (loop_post). */
struct backend {
    int (*reconcile) (void *self, struct loop *loop, const struct plan *plan,
                      struct pollux_error *err);
    void *self;
};

/* Whoever wants to know how long decisions take.  now_s is a monotonic clock. */
struct stopwatch {
    double (*now_s) (void);
    void (*decided) (void *self, const struct view *view, const struct plan *plan, double seconds);
    void *self;
};

/* The three tables, plus the policy.  Zero the rest. */
struct loop {
    const struct policy *policy;
    struct source source;
    struct journal journal;
    struct backend backend;
    struct stopwatch stopwatch; /* zero for none */
    struct cluster cluster;
    struct memory memory;
    struct plan plan;
};

/* Until the source ends.  Errors are final. */
int loop_run (struct loop *loop, struct pollux_error *err);

/* Remember and believe one event, from within a backend's reconcile. */
int loop_post (struct loop *loop, const struct event *event, struct pollux_error *err);

/* Free cluster, memory and plan. */
void loop_clear (struct loop *loop);

#endif
