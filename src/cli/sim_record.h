/* SPDX-License-Identifier: Apache-2.0 */
/* What `pollux sim` keeps of its simulations besides their results: journals (--record) and
 * outcomes (--report). */
#ifndef CLI_SIM_RECORD_H
#define CLI_SIM_RECORD_H

#include "recorded/outcome.h"
#include "cli/simulations.h"

struct sim_record;

struct sim_record_options {
    /* FILE.db: the journal of the only simulation; a folder, which is made if it is missing: a journal
     * POLICY-WORKLOAD.db for each simulation; NULL: no journals. */
    const char *path;
    bool outcomes;       /* keep outcomes */
    const char *command; /* that made them; borrowed */
};

/* Let all simulations be recorded, which have a policy and have not run yet.  Before anything is
 * made, -EEXIST: a journal exists; -EINVAL: several simulations and one file.  On success *ret
 * belongs to the caller (sim_record_free), and must live as long as the simulations run. */
int sim_record_new (const struct sim_record_options *options, const struct sim_inputs *inputs,
                    struct simulations *simulations, struct sim_record **ret,
                    struct pollux_error *err);
void sim_record_free (struct sim_record *record);

/* The outcomes, in the order of the simulations, after all have run. */
const struct outcome *sim_record_outcomes (const struct sim_record *record);

#endif
