/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop, the same for a simulated and a real cluster:
 *
 *     next event -> check -> append to the journal -> apply to the cluster
 *       -> on ROUND: decide, which posts a PLAN
 *       -> the backend compares desired with actual placements, and posts START and EXIT
 *       -> commit -> the backend acts
 *
 * The backend acts only after the events that describe its actions are committed.  So after a crash
 * the journal tells which actions may have been carried out, and recovery can check them.
 */
#ifndef LOOP_LOOP_H
#define LOOP_LOOP_H

#include "cluster/cluster.h"
#include "policy/policy.h"

struct loop;
struct size_decision;

/* Where events come from.  next returns 1 and an event, 0 at the end, or a negative errno value. */
struct source {
    int (*next) (void *self, const struct cluster *cluster, struct event *ret,
                 struct pollux_error *err);
    void *self;
};

/* Events are appended before they are applied.  append NULL: no journal; commit NULL: no durability.
 * append gets the cluster's state before the event.  Events survive a crash once commit returned 0. */
struct journal {
    int (*append) (void *self, const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err);
    int (*commit) (void *self, struct pollux_error *err);
    void *self;
};

/* Carries plans out.  reconcile compares every job's desired placement with its actual one and posts
 * the events that follow (loop_post); it is idempotent.  act, which may be NULL, carries out what has
 * been committed. */
struct backend {
    int (*reconcile) (void *self, struct loop *loop, struct pollux_error *err);
    int (*act) (void *self, const struct cluster *cluster, struct pollux_error *err);
    void *self;
};

/* Moves a long decision to another thread.  begin returns 1 if it takes the decision: then the owner
 * of the loop posts the PLAN before the next ROUND, and loop->memory belongs to the decider until
 * then.  0: the loop decides at once. */
struct decider_hook {
    int (*begin) (void *self, struct loop *loop, const struct view *view, const struct round *round,
                  struct pollux_error *err);
    void *self;
};

/* undecided is called when no plan was found: the policy failed, after some seconds, or its plan does not fit the cluster.  The
 * loop goes on with the placements that it has.  unsized is called when there is a plan, and the size of the cluster was not
 * decided: it stays as it is.  NULL: the error ends the loop. */
struct failure_hook {
    void (*undecided) (void *self, const struct pollux_error *why, double seconds);
    void (*unsized) (void *self, const struct pollux_error *why);
    void *self;
};

/* Measures decisions.  now_s is a monotonic clock; decided is called before the PLAN is posted. */
struct decision_timer {
    double (*now_s) (void);
    void (*decided) (void *self, const struct view *view, const struct plan *plan, double seconds);
    void *self;
};

/* Set the policy, source (for loop_run), journal and backend; zero the rest. */
struct loop {
    const struct policy *policy;
    struct source source;
    struct journal journal;
    struct backend backend;
    struct decision_timer timer;      /* zero for none */
    struct decider_hook decider_hook; /* zero for none */
    struct failure_hook failure_hook; /* zero for none */
    struct cluster cluster;
    struct memory memory;
    struct plan plan;
};

/* Run until the source ends.  After an error the loop can only be cleared. */
int loop_run (struct loop *loop, struct pollux_error *err);

/* The steps of loop_run, for a caller with its own event loop: loop_begin once; loop_take for each
 * event (check, append, apply, at a ROUND decide); loop_settle after one or several events
 * (reconcile, commit, act). */
int loop_begin (struct loop *loop, struct pollux_error *err);
int loop_take (struct loop *loop, const struct event *event, struct pollux_error *err);
int loop_settle (struct loop *loop, struct pollux_error *err);

/* loop_take for an event that has just passed cluster_check: it is not checked again. */
int loop_take_checked (struct loop *loop, const struct event *event, struct pollux_error *err);

/* Check, append and apply one event, from within a backend's reconcile.  -EINVAL: it does not fit the
 * cluster's state and was not appended. */
int loop_post (struct loop *loop, const struct event *event, struct pollux_error *err);

/* Post the SIZE of a full round, after its PLAN.  loop_take does it; whoever takes the decision of a decider_hook does it, too,
 * with what size_decide returned for the same view and plan. */
int loop_post_size (struct loop *loop, const struct size_decision *size, struct pollux_error *err);

/* Free cluster, memory and plan. */
void loop_clear (struct loop *loop);

#endif
