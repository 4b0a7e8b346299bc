/* SPDX-License-Identifier: Apache-2.0 */
/* What a job could have, as offers for the solver. */
#ifndef POLICY_ALLOCATION_OPTIONS_H
#define POLICY_ALLOCATION_OPTIONS_H

#include "cluster/view.h"
#include "policy/goodput_samples.h"
#include "solver/solver.h"

/* What all jobs of a view have in common. */
struct survey {
    const struct view *view;
    int slots, nodes; /* of the nodes that are available */
    int node_most;    /* slots of the largest */
    int fair;         /* replicas of a fair share */
    bool all;         /* look at every count */
};
struct survey survey_make (const struct view *view, bool all);

/* A job's curves and what follows from them: its offers, in order of replicas, and how many times
 * as fast as with its fair share it trains with each. */
struct allocation_options {
    struct goodput_samples one, many;
    double fair;              /* goodput of its fair share; 0: it cannot run */
    double restart;           /* what it keeps of the speedup if it moves */
    struct pollux_shape keep; /* of its current placement, if it can keep it; {0, 0} */
    bool pinned;
    struct offer *offers; /* values are not filled in here */
    double *speedups;
    int count, capacity;
};

/* -EINVAL names a job whose hints are nonsense; -ENOMEM. */
int allocation_options_make (const struct survey *survey, const struct job *job,
                             struct arena *arena, struct allocation_options *ret,
                             struct pollux_error *err);

/* Make the offers again after a curve was split.  -ENOMEM. */
int allocation_options_offers (struct allocation_options *options, struct arena *arena);

#endif
