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

/* The fields of a policy that has it. */
#define SOLVER_MEMORY                                                                              \
    .memory_size = sizeof (struct solver_memory), .memory_init = solver_memory_init,               \
    .memory_clear = solver_memory_clear
int solver_memory_init (void *memory, struct pollux_error *err);
void solver_memory_clear (void *memory);

#endif
