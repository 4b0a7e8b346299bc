/* SPDX-License-Identifier: Apache-2.0 */
/* Results of simulations, for people and for scripts. */
#ifndef CLI_SIM_REPORT_H
#define CLI_SIM_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "cli/sim_inputs.h"
#include "cli/terminal.h"
#include "sim/parallel_runs.h"

/* Every workload under every policy: the task of policy p and workload w is
 * tasks[p * workload_count + w]. */
struct sim_report {
    const struct sim_inputs *inputs;
    const struct policy *const *policies;
    int policy_count;
    const struct sim_task *tasks;
};

/* Tables, and the distribution of completion times as a drawing. */
int sim_report_print (const struct sim_report *report, struct terminal terminal, FILE *out,
                      struct pollux_error *err);

/* The same as an object; times of the real clock only where asked for.  NULL: no memory;
 * otherwise the caller's (json_decref). */
json_t *sim_report_json (const struct sim_report *report, bool with_times);

#endif
