/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the rates of docs/api.md from hints, placement and batch.  The daemon measures nothing itself:
 * these are predictions of the job's model for its placement.
 */
#include "loop/job_rates.h"

#include <math.h>

#include "policy/speedup.h"

double eta_at (const struct hints *hints, double goodput)
{
    double remaining = fmax (hints->total - hints->progress, 0);
    if (isnan (hints->total) || isnan (hints->progress) || hints->limits.init_batch <= 0)
        return NAN;
    return remaining * (double)hints->limits.init_batch / goodput;
}

double fair_goodput_of (const struct hints *hints, enum pollux_search search, int fair)
{
    struct job_model model = {.known = hints->has_model,
                              .speed = 1,
                              .model = hints->model,
                              .grad = hints->grad,
                              .limits = hints->limits};
    return fair_goodput_on (&model, search, fair);
}

struct job_rates job_rates_at (const struct hints *hints, struct pollux_shape shape,
                               struct pollux_batch batch)
{
    struct job_rates rates = {.throughput = NAN,
                              .efficiency = NAN,
                              .goodput = NAN,
                              .speedup = NAN,
                              .noise_scale = NAN,
                              .eta_s = NAN};
    if (hints->has_model)
        rates.noise_scale = pollux_noise_scale (hints->grad, hints->limits.init_batch);
    if (shape.replicas == 0 || batch.m <= 0)
        return rates;
    rates.batch = batch;
    rates.total_batch = pollux_total_batch (shape, batch);
    if (!hints->has_model)
        return rates;
    rates.throughput = pollux_throughput (&hints->model, shape, batch);
    /* A batch that was chosen for more replicas can be below M0 here.  Efficiency is not defined
     * there, so only the throughput is known. */
    rates.efficiency = pollux_efficiency (hints->grad, hints->limits.init_batch, rates.total_batch);
    rates.goodput = rates.throughput * rates.efficiency;
    rates.eta_s = eta_at (hints, rates.goodput);
    return rates;
}

struct job_rates job_rates_of (const struct job *job, const struct hints *hints,
                               struct pollux_batch batch, enum pollux_search search, int fair)
{
    struct job_rates rates = job_rates_at (hints, placement_shape (job->placement), batch);
    if (!hints->has_model || rates.total_batch <= 0)
        return rates;
    double share = fair_goodput_of (hints, search, fair);
    rates.speedup = share > 0 ? rates.goodput / share : NAN;
    return rates;
}

const struct hints *latest_hints (const struct cluster *cluster, const struct report_set *reports,
                                  int job, struct pollux_batch *ret_batch)
{
    const struct report *report = report_set_latest (reports, job);
    *ret_batch = report ? report->batch : cluster->jobs[job]->batch;
    return report ? &report->hints : &cluster->jobs[job]->hints;
}
