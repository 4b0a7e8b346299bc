/* SPDX-License-Identifier: Apache-2.0 */
/* Results of simulations, as tables and as JSON. */
#ifndef CLI_SIM_RESULTS_H
#define CLI_SIM_RESULTS_H

#include <jansson.h>
#include <stdio.h>

#include "cli/sim_inputs.h"
#include "cli/sim_variants.h"
#include "cli/terminal.h"
#include "sim/parallel_runs.h"

/* Every workload in every variant: the task of variant v and workload w is
 * tasks[v * workload_count + w]. */
struct sim_report {
    const struct sim_inputs *inputs;
    const struct sim_variant *variants;
    int variant_count;
    enum job_agent_kind agent;
    const struct sim_task *tasks;
};

/* Print tables, and a plot of the distribution of completion times. */
int sim_report_print (const struct sim_report *report, struct terminal terminal, FILE *out,
                      struct pollux_error *err);

/* The same as a JSON object.  with_times: with decide times of the real clock.  Belongs to the caller
 * (json_decref); NULL: no memory. */
json_t *sim_report_json (const struct sim_report *report, bool with_times);

#endif
