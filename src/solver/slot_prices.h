/* SPDX-License-Identifier: Apache-2.0 */
/* The prices of slots: the multipliers of the linear relaxation, which ignores nodes. */
#ifndef SOLVER_SLOT_PRICES_H
#define SOLVER_SLOT_PRICES_H

#include "base/arena.h"
#include "solver/solver.h"

struct slot_prices {
    double *prices; /* by pool: value per slot, >= 0; in the arena's memory */
    double loss;    /* of the relaxed problem, against all jobs' best options; a lower bound */
};

/* The prices at which the jobs, if each may take a mixture of its options, use exactly the slots of
 * each pool; 0 if they need fewer.  With several pools they are found pool by pool and are nearly
 * right.  Jobs with a single option do not count.  slots: by pool.  -ENOMEM. */
int slot_prices_find (const struct solver_job *jobs, int job_count, const int *slots,
                      int pool_count, struct arena *arena, struct slot_prices *ret);

#endif
