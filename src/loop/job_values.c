/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a job for charts.  The rates are those of the API (job_rates.h).
 */
#include "loop/job_values.h"

#include <math.h>
#include <string.h>

#include "cluster/cluster_past.h"

struct job_state job_state_of (const struct job *job)
{
    return (struct job_state){
        .hints = &job->hints, .batch = job->batch, .shape = placement_shape (job->placement)};
}

struct job_rates job_values_of (const struct job_state *state, float ret[POINT_VALUES])
{
    bool runs = state->shape.replicas > 0;
    const struct hints *hints = state->hints;
    struct job_rates rates = job_rates_at (hints, state->shape, state->batch);
    const double values[POINT_VALUES] = {
        [POINT_REPLICAS] = state->shape.replicas,
        [POINT_NODES] = state->shape.nodes,
        [POINT_BATCH] = rates.total_batch > 0 ? rates.total_batch : NAN,
        [POINT_RATE_FACTOR] = runs && state->measured ? hints->rate_factor : NAN,
        [POINT_NOISE_SCALE] = rates.noise_scale,
        [POINT_THROUGHPUT] = runs ? rates.throughput : 0,
        [POINT_EFFICIENCY] = rates.efficiency,
        [POINT_GOODPUT] = runs ? rates.goodput : 0,
        [POINT_PROGRESS] = hints->progress,
        [POINT_STEP_S] = runs && state->measured && hints->step_s > 0 ? hints->step_s : NAN,
    };
    for (int i = 0; i < POINT_VALUES; i++)
        ret[i] = chart_number (values[i]);
    return rates;
}

/* The goodput of one replica with its best batch. */
static double one_replica_goodput (const struct hints *hints, const struct job *job, int64_t at_us,
                                   struct job_past *past)
{
    const struct pollux_shape one = {.nodes = 1, .replicas = 1};
    struct pollux_best best;
    if (past && past->one_replica_batch.m > 0 && at_us < past->next_search_us)
        return (double)past->one_replica_batch.m /
               pollux_grad_time (&hints->model, past->one_replica_batch.m) *
               pollux_efficiency (hints->grad, hints->limits.init_batch,
                                  pollux_total_batch (one, past->one_replica_batch));
    if (pollux_best_batch (&hints->model, hints->grad, &hints->limits, POLLUX_EXACT, one, &best,
                           NULL) < 0 ||
        !(best.goodput > 0))
        return fair_goodput_of (hints, POLLUX_EXACT, 1); /* needs more replicas */
    if (past) {
        past->one_replica_batch = best.batch;
        past->next_search_us = at_us + (at_us - job->submit_us) / 4;
    }
    return best.goodput;
}

double job_relative_goodput (const struct job_state *state, const struct job_rates *rates,
                             const struct job *job, int64_t at_us, struct job_past *past)
{
    const struct hints *hints = state->hints;
    if (state->shape.replicas == 0 || !hints->has_model)
        return state->shape.replicas;
    double alone = one_replica_goodput (hints, job, at_us, past), goodput = rates->goodput;
    struct pollux_best best;
    /* Its batch is not known, or was chosen for another placement: it will choose the best one. */
    if (!(goodput > 0) && pollux_best_batch (&hints->model, hints->grad, &hints->limits,
                                             POLLUX_EXACT, state->shape, &best, NULL) == 0)
        goodput = best.goodput;
    return alone > 0 && goodput > 0 ? goodput / alone : 0;
}

/* The model of nodes of a type; NULL: unknown.  Hints and nodes without a type match every type. */
static const struct pollux_model *model_on (const struct hints *hints, const char *type)
{
    if (!hints->has_model)
        return NULL;
    if (!hints->type[0] || !type[0] || strcmp (hints->type, type) == 0)
        return &hints->model;
    for (int i = 0; i < hints->other_count; i++)
        if (strcmp (hints->others[i].type, type) == 0)
            return &hints->others[i].model;
    return NULL;
}

double job_predicted_s (const struct cluster *cluster, const struct hints *hints,
                        const struct measured_step *step)
{
    const struct pollux_model *model = model_on (hints, cluster->nodes[step->node].type);
    struct pollux_shape shape = {.nodes = step->nodes, .replicas = step->replicas};
    struct pollux_batch batch = {.m = step->m};
    if (!model)
        return NAN;
    return pollux_total_batch (shape, batch) / pollux_throughput (model, shape, batch);
}
