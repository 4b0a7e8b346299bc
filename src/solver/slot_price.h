/* SPDX-License-Identifier: Apache-2.0 */
/* The price of a slot: the multiplier of the linear relaxation, which ignores nodes. */
#ifndef SOLVER_SLOT_PRICE_H
#define SOLVER_SLOT_PRICE_H

#include "base/arena.h"
#include "solver/solver.h"

struct slot_price {
    double price; /* value per slot, >= 0 */
    double loss;  /* of the relaxed problem, against all jobs' best options */
};

/* The price at which the jobs, if each may take a mixture of its options, use exactly `slots`
 * slots; 0 if they need fewer.  Jobs with a single option do not count.  -ENOMEM. */
int slot_price_find (const struct solver_job *jobs, int job_count, int slots, struct arena *arena,
                     struct slot_price *ret);

#endif
