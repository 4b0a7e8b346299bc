/* SPDX-License-Identifier: Apache-2.0 */
/* What a job could have, as options for the solver. */
#ifndef POLICY_ALLOCATION_OPTIONS_H
#define POLICY_ALLOCATION_OPTIONS_H

#include "cluster/view.h"
#include "policy/goodput_samples.h"
#include "solver/solver.h"

/* What all jobs of a view have in common. */
struct options_context {
    const struct view *view;
    int slots, nodes; /* of the nodes that are available */
    int node_most;    /* slots of the largest */
    int fair;         /* replicas of a fair share */
    bool all;         /* look at every count */
};
struct options_context options_context_make (const struct view *view, bool all);

/* A job's curves and what follows from them: its options, in order of replicas, and how many times
 * as fast as with its fair share it trains with each. */
struct allocation_options {
    struct goodput_samples one, many;
    double fair;              /* goodput of its fair share; 0: it cannot run */
    double restart;           /* what it keeps of the speedup if it moves */
    struct pollux_shape keep; /* of its current placement, if it can keep it; {0, 0} */
    bool pinned;
    struct solver_option *list; /* values are not filled in here */
    double *speedups;
    int count, capacity;
};

/* -EINVAL names a job whose hints are nonsense; -ENOMEM. */
int allocation_options_make (const struct options_context *context, const struct job *job,
                             struct arena *arena, struct allocation_options *ret,
                             struct pollux_error *err);

/* Make the options again after a curve was split.  -ENOMEM. */
int allocation_options_list (struct allocation_options *options, struct arena *arena);

#endif
