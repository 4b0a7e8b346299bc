/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "cluster/plan.h"
#include "cluster/view.h"

struct policy_option;
struct pool_room;
struct priority;

/* What one job contributes to a policy's objective. */
struct job_value {
    double x;    /* the input of policy_values.fitness */
    double term; /* the larger the sum of the terms of all jobs, the larger the fitness */
};

/* The objective of a policy, job by job, for explanations (policy/explain.h). */
struct policy_values {
    /* Prepare the values of one view, which must outlive them.  On success *ret belongs to the
     * caller (release).  -EINVAL names a job whose hints are invalid; -ENOMEM. */
    int (*prepare) (const struct view *view, void **ret, struct pollux_error *err);
    void (*release) (void *prepared);
    /* A job of the view in a pool (of pools_make, if the policy counts revocations, else of pools_make_by_type) with
     * that many replicas and that best goodput (the replica count itself for a job without a model; 0 without slots),
     * times what revocations leave of it.  moves: it does not keep its current placement. */
    struct job_value (*value) (const void *prepared, int job, int pool, int replicas,
                               double goodput, bool moves);
    /* The fitness of a plan, as in plan.fitness, from the values of all jobs of the view. */
    double (*fitness) (const void *prepared, const struct job_value *values);
};

/* A policy turns a view into a plan: a pure function of the view and of the policy's memory of
 * earlier rounds.  Equal view and memory give an equal plan, bit for bit. */
struct policy {
    const char *name;
    const char *summary; /* one line for --help */
    bool adaptive;       /* jobs tune their batch; false: they keep fixed_batch, as requested */
    bool elastic;        /* it decides replica counts; false: fixed_replicas or none */
    bool oracle;         /* it needs job.oracle, which only a simulation has */
    bool
        requested; /* simulated jobs that tune their batch tell it the requested one (fixed_batch) */
    bool one_type;    /* it refuses views with nodes of several types */
    bool revocations; /* it counts that nodes may be taken back (policy/revocations.h) */
    bool rates;       /* speeds of simulated jobs are iterations per second, as requested */
    enum pollux_search search;           /* how its jobs choose their batch */
    const struct policy_option *options; /* policy/policy_options.h; NULL: it has none */
    const char *const
        *retired; /* names of former options, ended by NULL: accepted, without effect */
    const struct policy_values *values; /* NULL: it has no objective, plan.fitness is NaN */
    /* Its memory: bytes, which are zero in a fresh start (0: it has none); what a fresh start needs besides, or NULL; and how to
     * free its contents, also after memory_init has failed. */
    size_t memory_size;
    int (*memory_init) (void *memory, struct pollux_error *err);
    void (*memory_clear) (void *memory);
    /* Fill the plan, which was reset for the view's jobs. */
    int (*decide) (const struct view *view, void *memory, struct plan *plan,
                   struct pollux_error *err);
    /* Instead of decide, for a policy that serves jobs one after the other: see decide_in_order
     * (policy/priority_order.h). */
    int (*rank) (const struct view *view, void *memory, struct priority *priorities,
                 struct pollux_error *err);
    /* Instead of rank, for one that counts the slots left of each type: see with_pool_room
     * (policy/pool_room.h). */
    int (*share_out) (const struct view *view, struct pool_room *room, struct priority *priorities);
};

/* All policies, the default first; ended by NULL. */
extern const struct policy *const policies[];

/* The policy of that name.  -ENOENT: the sentence lists all names. */
int policy_find (const char *name, const struct policy **ret, struct pollux_error *err);

/* The state of a policy from round to round. */
struct memory {
    const struct policy *policy;
    void *state;
};
int memory_new (const struct policy *policy, struct memory *ret, struct pollux_error *err);
void memory_clear (struct memory *memory);

/* One decision.  plan is zero or from an earlier round.  -EINVAL if the view's settings are not
 * options of the policy.  On failure the memory can be used further, and the plan is not valid. */
int decide (const struct policy *policy, const struct view *view, struct memory *memory,
            struct plan *plan, struct pollux_error *err);

/* The same, but jobs that may not be moved stay on drained nodes (not available, but with slots).
 * The policy decides on a subview without these jobs and their slots; the plan's fitness is that of
 * the subview. */
int decide_full (const struct policy *policy, const struct view *view, struct memory *memory,
                 struct plan *plan, struct pollux_error *err);

/* The same, but every job keeps its desired placement, and only free slots are given out, to jobs
 * without any: no job restarts because another one came or went.  The policy decides on a subview
 * of the free slots, with a memory that is dropped afterwards. */
int decide_fill (const struct policy *policy, const struct view *view, struct plan *plan,
                 struct pollux_error *err);

#endif
