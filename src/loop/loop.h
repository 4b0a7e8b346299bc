/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop, the same around a simulated and a real cluster:
 *
 *     next event -> append to the journal (remember) -> apply to the cluster (believe)
 *       -> on ROUND: decide, which posts a PLAN
 *       -> the backend compares what is desired with what runs, and posts START and EXIT
 *       -> commit -> the backend acts
 *
 * Nothing is done to the outside world before the events that say so are committed: whoever
 * dies in between finds them in the journal, and can tell what was done and what was not.
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

/* Where events are remembered before they are believed; append NULL: nowhere.  What commit has
 * confirmed survives anything; NULL where that is nobody's wish. */
struct journal {
    int (*append) (void *self, const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err);
    int (*commit) (void *self, struct pollux_error *err);
    void *self;
};

/* Who carries plans out.  reconcile compares every job's desired placement with where it runs and
 * posts (loop_post) what follows; it is called again and again and does nothing twice.  act, which
 * may be NULL, does to the outside world what has been committed. */
struct backend {
    int (*reconcile) (void *self, struct loop *loop, struct pollux_error *err);
    int (*act) (void *self, const struct cluster *cluster, struct pollux_error *err);
    void *self;
};

/* Who decides elsewhere, so that a long decision does not hold up the loop.  begin: 1, and the plan
 * comes as a PLAN event before the next ROUND; the loop's memory is the thinker's until then.  0:
 * the loop decides, now. */
struct decider_hook {
    int (*begin) (void *self, struct loop *loop, const struct view *view, const struct round *round,
                  struct pollux_error *err);
    void *self;
};

/* Whoever wants to know how long decisions take.  now_s is a monotonic clock. */
struct decision_timer {
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
    struct decision_timer timer;      /* zero for none */
    struct decider_hook decider_hook; /* zero for none */
    struct cluster cluster;
    struct memory memory;
    struct plan plan;
};

/* Until the source ends.  Errors are final. */
int loop_run (struct loop *loop, struct pollux_error *err);

/* The steps of loop_run, for those who wait for events in their own way: take an event (remember,
 * believe, at a round decide), then, after one or several of them, settle (reconcile, commit,
 * act).  loop_begin comes first. */
int loop_begin (struct loop *loop, struct pollux_error *err);
int loop_take (struct loop *loop, const struct event *event, struct pollux_error *err);
int loop_settle (struct loop *loop, struct pollux_error *err);

/* Remember and believe one event, from within a backend's reconcile.  One that does not fit is
 * refused before it is remembered. */
int loop_post (struct loop *loop, const struct event *event, struct pollux_error *err);

/* Free cluster, memory and plan. */
void loop_clear (struct loop *loop);

#endif
