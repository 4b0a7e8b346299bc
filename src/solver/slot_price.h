/* SPDX-License-Identifier: Apache-2.0 */
/* The price of a slot: the multiplier of the problem without nodes. */
#ifndef SOLVER_SLOT_PRICE_H
#define SOLVER_SLOT_PRICE_H

#include "base/arena.h"
#include "solver/solver.h"

struct slot_price {
    double price; /* >= 0, value per slot */
    double loss;  /* of value against every job's best option, with fractions of options allowed */
};

/* The price at which the jobs' options, if they may be mixed, together use `slots` slots: 0 if
 * they need fewer.  Jobs with a single option do not take part.  -ENOMEM. */
int slot_price_find (const struct solver_job *jobs, int job_count, int slots, struct arena *arena,
                     struct slot_price *ret);

#endif
