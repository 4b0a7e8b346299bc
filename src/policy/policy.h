/* SPDX-License-Identifier: Apache-2.0 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "cluster/plan.h"
#include "cluster/view.h"

/* A policy turns a view into a plan: a pure function of the view and of the policy's memory of
 * earlier rounds.  Equal view and memory give an equal plan, bit for bit. */
struct policy {
    const char *name;
    const char *summary; /* one line for people */
    bool adaptive;       /* jobs tune their batch; false: they keep fixed_batch, as requested */
    bool elastic;        /* decides how many replicas; false: fixed_replicas or none */
    bool oracle;         /* needs job.oracle, which only a simulation has */
    enum pollux_search search; /* how its jobs choose their batch */
    /* The memory of a fresh start; both NULL for a policy that has none. */
    int (*memory_new) (void **ret, struct pollux_error *err);
    void (*memory_free) (void *memory);
    /* Fill the plan, which was reset for the view's jobs. */
    int (*decide) (const struct view *view, void *memory, struct plan *plan,
                   struct pollux_error *err);
};

/* All policies, the default first; ended by NULL. */
extern const struct policy *const policies[];

/* The policy of that name.  -ENOENT lists the names that there are. */
int policy_find (const char *name, const struct policy **ret, struct pollux_error *err);

/* What a policy remembers from round to round. */
struct memory {
    const struct policy *policy;
    void *state;
};
int memory_new (const struct policy *policy, struct memory *ret, struct pollux_error *err);
void memory_clear (struct memory *memory);

/* One decision.  plan is zero or from an earlier round.  On failure the memory is as good as
 * new, and plan says nothing. */
int decide (const struct policy *policy, const struct view *view, struct memory *memory,
            struct plan *plan, struct pollux_error *err);

/* The same, but jobs that may not be moved stay on nodes that are drained (not available, though
 * they have slots), which policies know nothing of: they see the rest as a cluster of its own.  The
 * plan's fitness is that of the rest. */
int decide_full (const struct policy *policy, const struct view *view, struct memory *memory,
                 struct plan *plan, struct pollux_error *err);

/* The same, but earlier plans stand (every job's desired placement) and only free slots are given
 * out, to jobs that have none: nobody restarts because somebody came or went.  The policy sees the
 * free slots as a cluster of their own, and remembers nothing of it. */
int decide_fill (const struct policy *policy, const struct view *view, struct plan *plan,
                 struct pollux_error *err);

#endif
