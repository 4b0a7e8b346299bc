/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs as one integer, so that sums are exact: equal plans compare equal in any order of
 * addition, and ties are broken as solver.h says.
 *
 *     bit 127 .................. 64 | 63 ....... 42 | 41 ..... 21 | 20 .... 0
 *         loss of value, in units   |   restarts    |  idle jobs  |   slots
 *
 * Values are doubles outside.  The solver chooses the value of one unit for each problem.
 */
#ifndef SOLVER_COST_H
#define SOLVER_COST_H

#include <stdint.h>

__extension__ typedef __int128 cost;

#define COST_UNIT ((cost)1 << 64)
#define COST_RESTART ((cost)1 << 42)
#define COST_IDLE ((cost)1 << 21)
#define COST_SLOT ((cost)1)
#define COST_MOST (((cost)1 << 126) - 1 + ((cost)1 << 126))

/* With at most 2^20 jobs and 2^20 slots no field above overflows into the next. */
enum { COST_JOBS_LIMIT = 1 << 20, COST_SLOTS_LIMIT = 1 << 20 };

/* The units of a cost, and its low bits: a = units x COST_UNIT + low bits. */
static inline int64_t cost_units (cost a)
{
    return (int64_t)(a >> 64);
}

static inline cost cost_low_bits (cost a)
{
    return a & (COST_UNIT - 1);
}

/* -1, 0 or 1: a is less than b, equal, or greater. */
static inline int compare_costs (cost a, cost b)
{
    return (a > b) - (a < b);
}

#endif
