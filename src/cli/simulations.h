/* SPDX-License-Identifier: Apache-2.0 */
/* The simulations of one command: they share the inputs and run in parallel, with a progress line. */
#ifndef CLI_SIMULATIONS_H
#define CLI_SIMULATIONS_H

#include <stdio.h>

#include "base/options.h"
#include "cli/sim_inputs.h"
#include "sim/parallel_runs.h"

/* The task of variant v and workload w is tasks[v * workload_count + w]. */
struct simulations {
    struct sim_task *tasks;
    int count;
};

/* Every workload in `variants` variants.  Tasks have config and workload; the caller adds the
 * policy and what differs between variants.  On success *ret belongs to the caller
 * (simulations_clear).  0 or -ENOMEM. */
int simulations_new (const struct sim_config *config, const struct sim_inputs *inputs, int variants,
                     struct simulations *ret, struct pollux_error *err);

/* Run all on at most `threads` threads (0: one per processor).  Shows progress where standard error
 * is a terminal.  SIGINT stops them: -EINTR. */
int simulations_run (struct simulations *simulations, int threads, struct pollux_error *err);

void simulations_clear (struct simulations *simulations);

/* Load the inputs that files and the operands name, call run, and free the inputs.  Returns the
 * code of run, or the failure to load. */
int with_sim_inputs (struct options *options, struct sim_input_files files,
                     int (*run) (void *self, const struct sim_inputs *inputs, FILE *out,
                                 struct pollux_error *err),
                     void *self, FILE *out, struct pollux_error *err);

#endif
