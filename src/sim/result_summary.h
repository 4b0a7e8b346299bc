/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RESULT_SUMMARY_H
#define SIM_RESULT_SUMMARY_H

#include "policy/policy.h"
#include "sim/sim.h"

/* Complete a result whose jobs have jct_s, slot_s and restarts: fairness, and the numbers over all
 * jobs.  decide_s has result->rounds times and gets sorted. */
int result_summarise (const struct sim_config *config, const struct workload *workload,
                      const struct policy *policy, double *decide_s, struct sim_result *result,
                      struct pollux_error *err);

#endif
