/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the paper's objective:
 *
 *     speedup(a) = best goodput(a) / best goodput(fair share)
 *     x          = speedup * nodes/slots, * restart factor if the placement changes
 *     fitness    = ( sum w (x + 0.001)^p / sum w )^(1/p)
 */
#include "policy/speedup.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

#include "base/error.h"

int fair_replicas (const struct view *view)
{
    int slots = view_slots (view), jobs = view->job_count;
    int fair = jobs > 0 ? (slots + jobs - 1) / jobs : slots;
    return fair > 1 ? fair : 1;
}

static double one_node_goodput (const struct job_model *model, enum pollux_search search,
                                int replicas)
{
    struct pollux_best best;
    struct pollux_shape shape = {.nodes = 1, .replicas = replicas};
    int rc =
        pollux_best_batch (&model->model, model->grad, &model->limits, search, shape, &best, NULL);
    return rc == 0 ? best.goodput : 0;
}

/* Larger counts to evaluate at most, a few milliseconds: wrong limits, for which no count has a
 * legal batch, must not delay a round. */
enum { FAIR_REACH = 1 << 14 };

double fair_goodput_on (const struct job_model *model, enum pollux_search search, int fair)
{
    if (!model->known)
        return fair * model->speed;
    /* With more than max_batch / min_local replicas no batch is small enough.  The published search
     * exceeds max_batch there; one count more covers it. */
    int64_t filled = model->limits.max_batch / model->limits.min_local + 1;
    int most = (int)(filled < POLLUX_REPLICAS_LIMIT ? filled : POLLUX_REPLICAS_LIMIT);
    int far = fair < INT_MAX - FAIR_REACH ? fair + FAIR_REACH : INT_MAX;
    double goodput = one_node_goodput (model, search, fair);
    for (int k = fair + 1; k <= most && k <= far && !(goodput > 0); k++)
        goodput = one_node_goodput (model, search, k);
    for (int k = fair - 1 < most ? fair - 1 : most; k >= 1 && !(goodput > 0); k--)
        goodput = one_node_goodput (model, search, k);
    return goodput;
}

/* The mean over the slots of all types, or of those that the job may use. */
static double mean_fair_goodput (const struct job_model *models, const struct pools *pools,
                                 enum pollux_search search, int fair, bool all)
{
    double sum = 0, slots = 0;
    for (int i = 0; i < pools->count; i++) {
        int some = pools->list[i].like == i ? pools->list[i].type_slots : 0;
        bool counts = some > 0 && (all || models[i].most_replicas > 0);
        double goodput = counts ? fair_goodput_on (&models[i], search, fair) : 0;
        if (goodput > 0) {
            sum += some * goodput;
            slots += some;
        }
    }
    return slots > 0 ? sum / slots : 0;
}

double fair_goodput (const struct job_model *models, const struct pools *pools,
                     enum pollux_search search, int fair)
{
    if (pools->type_count == 1)
        return fair_goodput_on (&models[0], search, fair);
    double goodput = mean_fair_goodput (models, pools, search, fair, false);
    return goodput > 0 ? goodput : mean_fair_goodput (models, pools, search, fair, true);
}

int job_curve (const struct job *job, const struct job_model *model, enum pollux_search search,
               int most, double *one, double *many, struct pollux_best *bests,
               struct pollux_error *err)
{
    if (!model->known) {
        for (int k = 1; k <= most; k++) {
            if (one)
                one[k - 1] = k * model->speed;
            if (many)
                many[k - 1] = k > 1 ? k * model->speed : 0;
        }
        return 0;
    }
    struct pollux_error why;
    int rc = pollux_curve (&model->model, model->grad, &model->limits, search, most,
                           one ? bests : NULL, many ? bests + most : NULL, &why);
    if (rc < 0)
        return fail (err, rc, "job %s: %.180s", job->spec.name, why.text);
    for (int k = 0; k < most; k++) {
        if (one)
            one[k] = bests[k].goodput;
        if (many)
            many[k] = bests[most + k].goodput;
    }
    return 0;
}

double restart_factor (const struct view *view, const struct job *job)
{
    double delay_s = view_restart_delay (view, job);
    double trained_s = fmax (job->age_s - job->restarts * delay_s, 0);
    return job->age_s + delay_s > 0 ? trained_s / (job->age_s + delay_s) : 0;
}

double fitness_term (double p, double weight, double x)
{
    double value = x + FITNESS_OFFSET;
    return isinf (p) ? value : weight * (p == 0 ? log (value) : pow (value, p));
}

double fitness_none (double p)
{
    return isinf (p) ? INFINITY : 0;
}

double fitness_add (double p, double sum, double term)
{
    return isinf (p) ? fmin (sum, term) : sum + term;
}

double fitness_mean (double p, double sum, double weights)
{
    if (isinf (p))
        return sum;
    return p == 0 ? exp (sum / weights) : pow (sum / weights, 1 / p);
}
