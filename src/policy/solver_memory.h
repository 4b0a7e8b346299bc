/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the policies that solve the allocation problem: scratch memory that is reused from
 * round to round.  No decision depends on an earlier one through it. */
#ifndef POLICY_SOLVER_MEMORY_H
#define POLICY_SOLVER_MEMORY_H

#include "base/arena.h"
#include "solver/solver.h"

struct solver_memory {
    struct arena arena; /* of one round */
    struct solver *solver;
};

/* For policy.memory_new and policy.memory_free.  free takes NULL.  -ENOMEM. */
int solver_memory_new (void **ret, struct pollux_error *err);
void solver_memory_free (void *memory);

#endif
