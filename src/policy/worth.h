/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a choice is worth, as one integer, so that sums are exact: equal plans compare equal in
 * whatever order they were added up, and ties are decided as promised.
 *
 *     bit 127 .................. 64 | 63 ....... 42 | 41 ..... 21 | 20 .... 0
 *         loss of value, in units   |   restarts    |  idle jobs  |   slots
 *
 * The value is a double outside; how much of it one unit is, the solver chooses for each problem.
 */
#ifndef POLICY_WORTH_H
#define POLICY_WORTH_H

__extension__ typedef __int128 worth;

#define WORTH_UNIT ((worth)1 << 64)
#define WORTH_RESTART ((worth)1 << 42)
#define WORTH_IDLE ((worth)1 << 21)
#define WORTH_SLOT ((worth)1)
#define WORTH_MOST (((worth)1 << 126) - 1 + ((worth)1 << 126))

/* 2^20 jobs and 2^20 slots: the fields above do not overflow into each other. */
enum { WORTH_JOBS_LIMIT = 1 << 20, WORTH_SLOTS_LIMIT = 1 << 20 };

#endif
