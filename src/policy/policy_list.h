/* SPDX-License-Identifier: Apache-2.0 */
/* The policies, each in the file of its name; policy.c has the table. */
#ifndef POLICY_POLICIES_H
#define POLICY_POLICIES_H

#include "policy/policy.h"

extern const struct policy policy_equal_share;
extern const struct policy policy_pollux;
extern const struct policy policy_pollux_jct;
extern const struct policy policy_fifo;
extern const struct policy policy_gavel;
extern const struct policy policy_las;
extern const struct policy policy_optimus;
extern const struct policy policy_pollux_ga;
extern const struct policy policy_sia;
extern const struct policy policy_srtf;
extern const struct policy policy_tiresias;

/* The values of the paper's objective, which several of them maximise (fitness_values.c). */
extern const struct policy_values fitness_values;

#endif
