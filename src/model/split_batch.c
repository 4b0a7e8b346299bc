/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The split of a total batch over replicas and micro-steps, for the agent's first batch, for
 * simulated jobs and for the Python package.  Integers: a quotient that is whole stays whole.
 */
#include "pollux/pollux.h"

static int64_t divide_up (int64_t a, int64_t b)
{
    return a / b + (a % b > 0);
}

struct pollux_batch pollux_split_batch (int64_t total, int replicas, int64_t max_local,
                                        int64_t min_steps)
{
    if (total < 1 || replicas < 1 || max_local < 1 || min_steps < 1)
        return (struct pollux_batch){0};
    int64_t local = divide_up (total, replicas);
    int64_t steps = divide_up (local, max_local);
    steps = steps < min_steps ? min_steps : steps;
    return (struct pollux_batch){.m = divide_up (local, steps), .s = steps - 1};
}
