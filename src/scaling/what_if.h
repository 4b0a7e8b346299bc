/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What would another number of nodes bring?  The policy decides for a view in which the groups have other numbers of nodes, and
 * the goodput of its plan is summed.
 *
 * One question costs one decision without memory: milliseconds for 64 slots, 0.4 s for 32,768.
 */
#ifndef SCALING_WHAT_IF_H
#define SCALING_WHAT_IF_H

#include "base/arena.h"
#include "cluster/plan.h"
#include "policy/informed_view.h"
#include "policy/job_model.h"
#include "policy/policy.h"

/* The nodes of a group in the order in which they stay: those that are up, the next victim of power_next last; then those that
 * could be ordered. */
struct group_nodes {
    int *nodes; /* indices in what_if.nodes */
    int count;  /* as many as the group may have, or has */
    int up;     /* of these, up now */
    int pinned; /* of these, with jobs that may not be moved: they cannot be emptied */
    int *
        usable; /* by number of nodes: how many of the first ones take replicas, because nobody has drained them */
    int *held; /* by number of nodes: slots of these that jobs hold that may not be moved */
};

/* Everything that questions about one view share.  what_if_clear frees it. */
struct what_if {
    const struct policy *policy;
    const struct power *power;
    const struct plan *base; /* the plan of this round */
    struct informed_view informed;
    struct view view; /* of `nodes`, without groups */
    struct node *nodes;
    struct group_nodes groups[NODE_GROUPS_LIMIT];
    struct pools pools;
    struct job_model *models; /* by job and pool */
    double *one;              /* by job and pool: goodput of one replica with its best batch */
    double *best_one;         /* by job: the best of these */
    int *loose;               /* by pool: slots of nodes of no group */
    int *loose_held;          /* of these, slots that jobs hold that may not be moved */
    struct plan plan;         /* of the last question */
    struct arena arena;
    int asked; /* questions so far */
};

/* What a plan brings. */
struct forecast {
    int nodes[NODE_GROUPS_LIMIT];
    int slots;
    double price;   /* per hour, of all nodes of groups */
    double goodput; /* the sum over jobs of the goodput relative to the best one of one replica */
    double
        utility; /* the same relative to one replica of the same type, divided by the slots; NaN: no job or no slot */
    double
        restarts; /* goodput that is lost by restarts of jobs that run elsewhere than in the plan of the round: relative goodput x seconds */
    double *speeds; /* by job: its goodput relative to the best one of one replica; the arena's */
};

/* The view, which has groups, and the plan of its round must outlive *ret.  -ENOMEM. */
int what_if_new (const struct policy *policy, const struct view *view, const struct plan *plan,
                 struct what_if *ret, struct pollux_error *err);
void what_if_clear (struct what_if *what_if);

/* What the plan of the round brings; to be called before the first question.  And what the policy would reach with these numbers
 * of nodes by group.  -EINVAL names a job with invalid hints; -ENOMEM. */
int what_if_present (struct what_if *what_if, struct forecast *ret, struct pollux_error *err);
int what_if_ask (struct what_if *what_if, const int nodes[NODE_GROUPS_LIMIT], struct forecast *ret,
                 struct pollux_error *err);

/* The price per hour of numbers of nodes. */
double what_if_price (const struct what_if *what_if, const int nodes[NODE_GROUPS_LIMIT]);

/* Jobs that could not run on these numbers of nodes even if no other job were there, for jobs that wait: no other job that may be
 * moved. */
int what_if_misfits (const struct what_if *what_if, const int nodes[NODE_GROUPS_LIMIT]);

#endif
