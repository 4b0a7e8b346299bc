/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The split of a total batch, for the agent's first batch and for simulated jobs.  Integers: a
 * quotient that is whole stays whole.
 */
#include "model/micro_batches.h"

static int64_t divide_up (int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

struct pollux_batch split_into_micro_batches (int64_t total, int replicas, int64_t max_local,
                                              int64_t min_steps)
{
    int64_t local = divide_up (total, replicas);
    int64_t steps = divide_up (local, max_local);
    steps = steps < min_steps ? min_steps : steps;
    return (struct pollux_batch){.m = divide_up (local, steps), .s = steps - 1};
}
