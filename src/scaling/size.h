/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many nodes each group should have, for the goal of the cluster: a pure function of the view.  docs/scaling.md has the
 * rules and what they were measured to bring.
 */
#ifndef SCALING_SIZE_H
#define SCALING_SIZE_H

#include "cluster/plan.h"
#include "policy/policy.h"

/* The contents of a SIZE event. */
struct size_decision {
    double
        utility; /* of the plan: the sum of the jobs' goodput relative to one replica, divided by the slots; NaN: no job */
    bool resize;
    int nodes[NODE_GROUPS_LIMIT]; /* by group, if resize */
    char reason
        [DETAIL_SIZE]; /* why, in a sentence: "8 -> 6 nodes: the last two bring 3 % of the goodput for 25 % of the cost" */
};

/* Decide after a full round, whose plan is given, with the policy that made it.  The view has groups (view->power).  It
 * changes nothing while an earlier change is not complete, except that a cluster without jobs goes to its minimum.  -EINVAL names a job with invalid hints; -ENOMEM. */
int size_decide (const struct policy *policy, const struct view *view, const struct plan *plan,
                 struct size_decision *ret, struct pollux_error *err);

#endif
