/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent of a simulated job that adapts its batch.
 *
 *     published    as in the published simulator: it knows the present noise, takes the best batch at
 *                  once, and makes the progress that the noise allows
 *     real         the rules of the agent in training programs (model/adaptation.h): evidence, probes,
 *                  steps of at most a factor of 2, hysteresis, the limit of the gain.  Progress is
 *                  counted with the limited gain
 *
 * Both measure step times and noise as the ground truth has them: exactly.
 */
#ifndef SIM_JOB_AGENT_H
#define SIM_JOB_AGENT_H

#include "model/adaptation.h"
#include "sim/training.h"

enum job_agent_kind { JOB_AGENT_PUBLISHED, JOB_AGENT_REAL, JOB_AGENT_KINDS };

/* By kind. */
extern const char *const job_agent_names[JOB_AGENT_KINDS];

struct job_agent {
    enum job_agent_kind kind;
    struct batch_adapter adapter;
    /* Of the real one: */
    struct adaptation adaptation;
    int64_t total_batch; /* that it trained with last; 0: none */
};

/* search: of the published agent's batches. */
struct job_agent job_agent_start (enum job_agent_kind kind, enum pollux_search search,
                                  const struct app *app);

/* Its functions for a training; valid as long as the agent. */
struct batch_chooser job_agent_chooser (struct job_agent *agent);

/* The gradient statistics that it reports.  A job whose batch its owner has fixed has no limit of the
 * gain: its learning rate is for that batch. */
struct pollux_grad job_agent_grad (const struct job_agent *agent, const struct training *training);

#endif
