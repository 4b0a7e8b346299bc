/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of simulations: the applications and workloads named on the command line. */
#ifndef CLI_SIM_INPUTS_H
#define CLI_SIM_INPUTS_H

#include "sim/workload.h"
#include "sim/sim.h"
#include "sim/ground_truth.h"

/* A workload and the name of its file without .csv. */
struct sim_workload {
    char name[NAME_SIZE];
    struct workload workload;
};

struct sim_inputs {
    struct ground_truth *truth;
    struct sim_workload *workloads;
    int count;
};

/* The source of the applications; both NULL: the built-in profiles. */
struct sim_input_files {
    const char *traces_dir, *profiles;
};

/* 1024 workloads in one run: some tens of megabytes. */
enum { SIM_INPUTS_WORKLOADS_LIMIT = 1024 };

/* Load the applications, then every operand: a workload file, or a folder with *.csv files, taken in
 * alphabetical order.  No operands: the built-in workload.  Names must differ.  On
 * success *ret belongs to the caller (sim_inputs_clear). */
int sim_inputs_load (struct sim_input_files files, char *const *operands, int count,
                     struct sim_inputs *ret, struct pollux_error *err);
void sim_inputs_clear (struct sim_inputs *inputs);

/* For each group of nodes whose type no application of the workloads can use, a sentence on stderr, which names the types that
 * they can use. */
void sim_inputs_warn (const struct sim_inputs *inputs, const struct sim_config *config,
                      const char *command);

#endif
