/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents of simulated jobs.  The real one differs from that in src/agent in what the ground truth fixes:
 *
 *   - times are exact;
 *   - so is the noise: traces have averages over many updates, which are not averaged again;
 *   - an update makes no more progress than the noise of its epoch allows;
 *   - the factor of the learning rate is not modelled.
 */
#include "sim/job_agent.h"

#include <math.h>

const char *const job_agent_names[] = {
    [JOB_AGENT_PUBLISHED] = "published",
    [JOB_AGENT_REAL] = "real",
};

struct job_agent job_agent_start (enum job_agent_kind kind, enum pollux_search search,
                                  const struct app *app)
{
    return (struct job_agent){
        .kind = kind,
        .adapter.search = search,
        .adaptation =
            adaptation_start (app_limits (app)->init_batch, app_dataset_size (app), false),
    };
}

/* ---- The real agent ----------------------------------------------------------------------- */

/* The job was placed: it continues with its total batch, and chooses after the next update. */
static int real_place (void *self, const struct training *training, struct pollux_batch *ret,
                       struct pollux_error *err)
{
    (void)err;
    struct job_agent *agent = self;
    adaptation_place (&agent->adaptation);
    *ret =
        adaptation_first_batch (&training->limits, agent->total_batch, training->replicas, false);
    return 0;
}

static struct pollux_shape shape_of (const struct training *training)
{
    return (struct pollux_shape){.nodes = training->nodes, .replicas = training->replicas};
}

static struct training_update real_begin (void *self, const struct training *training)
{
    const struct job_agent *agent = self;
    const struct pollux_limits *limits = &training->limits;
    struct training_update update = {.batch = training->batch};
    if (probe_is_needed (limits, training->replicas) &&
        probe_is_due (agent->adaptation.updates, false))
        update.batch = probe_batch (limits, training->batch);
    double total = pollux_total_batch (shape_of (training), update.batch);
    struct pollux_rate rate = {.init_batch = limits->init_batch,
                               .total_batch = (int64_t)total,
                               .progress = training->progress};
    update.counted_gain = pollux_rate_advance (&rate, adaptation_grad (&agent->adaptation));
    update.grad = training_grad (training, total);
    update.gain =
        fmin (update.counted_gain, pollux_gain (update.grad, total / (double)limits->init_batch));
    return update;
}

static int real_end (void *self, const struct training *training,
                     const struct training_update *update, struct pollux_batch *ret,
                     struct pollux_error *err)
{
    struct job_agent *agent = self;
    const struct pollux_limits *limits = &training->limits;
    struct pollux_shape shape = shape_of (training);
    double scale = pollux_total_batch (shape, update->batch) / (double)limits->init_batch;
    if (training->replicas > 1 || update->batch.s > 0) { /* several gradients to compare */
        adaptation_measure (&agent->adaptation, update->grad, scale);
        evidence_set_mean (&agent->adaptation.evidence, update->grad.sqr, update->grad.var);
    }
    adaptation_advance (&agent->adaptation, update->counted_gain);
    if (adaptation_take_turn (&agent->adaptation)) {
        int code = batch_adapter_refit (&agent->adapter, training, err);
        if (code < 0)
            return code;
        (void)adaptation_choose (&batch_adapter_here (&agent->adapter, training)->fit.model,
                                 adaptation_grad (&agent->adaptation), limits, shape, false, ret);
    }
    agent->total_batch = (int64_t)pollux_total_batch (shape, *ret);
    return 0;
}

/* ---- Both --------------------------------------------------------------------------------- */

struct batch_chooser job_agent_chooser (struct job_agent *agent)
{
    if (agent->kind == JOB_AGENT_REAL)
        return (struct batch_chooser){
            .choose = real_place, .begin = real_begin, .end = real_end, .self = agent};
    return (struct batch_chooser){.choose = batch_adapt, .self = &agent->adapter};
}

struct pollux_grad job_agent_grad (const struct job_agent *agent, const struct training *training)
{
    bool adapts = agent->kind == JOB_AGENT_REAL && training->requested_batch == 0;
    return adapts ? adaptation_grad (&agent->adaptation) : training->grad;
}
