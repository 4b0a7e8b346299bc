/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paper's objective, in pieces:
 *
 *     speedup(a) = best goodput(a) / best goodput(fair share)
 *     x          = speedup x nodes/slots, x restart factor if the placement changes
 *     fitness    = ( sum w (x + 0.001)^p / sum w )^(1/p)
 */
#include "policy/speedup.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"

int fair_replicas (const struct view *view)
{
    int slots = view_slots (view), jobs = view->job_count;
    int fair = jobs > 0 ? (slots + jobs - 1) / jobs : slots;
    return fair > 1 ? fair : 1;
}

double fair_goodput (const struct job *job, enum pollux_search search, int fair)
{
    const struct hints *hints = &job->hints;
    if (!hints->has_model)
        return fair;
    /* Beyond max_batch / min_local replicas no batch is small enough for all of them. */
    for (int64_t k = fair;
         k <= hints->limits.max_batch / hints->limits.min_local && k <= POLLUX_REPLICAS_LIMIT;
         k++) {
        struct pollux_best best;
        struct pollux_shape shape = {.nodes = 1, .replicas = (int)k};
        if (pollux_best_batch (&hints->model, hints->grad, &hints->limits, search, shape, &best,
                               NULL) == 0 &&
            best.goodput > 0)
            return best.goodput;
    }
    return 0;
}

int job_curve (const struct job *job, enum pollux_search search, int most, double *one,
               double *many, struct pollux_best *bests, struct pollux_error *err)
{
    const struct hints *hints = &job->hints;
    if (!hints->has_model) {
        for (int k = 1; k <= most; k++) {
            one[k - 1] = k;
            many[k - 1] = k > 1 ? k : 0;
        }
        return 0;
    }
    struct pollux_error why;
    int rc = pollux_curve (&hints->model, hints->grad, &hints->limits, search, most, bests,
                           bests + most, &why);
    if (rc < 0)
        return fail (err, rc, "job %s: %.180s", job->spec.name, why.text);
    for (int k = 0; k < most; k++) {
        one[k] = bests[k].goodput;
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

double fitness (const struct view *view, const double *x)
{
    const double offset = 0.001; /* a job without slots is bad, not infinitely so */
    double sum = 0, weights = 0, least = INFINITY;
    for (int i = 0; i < view->job_count; i++) {
        double value = x[i] + offset, weight = view->jobs[i]->spec.weight;
        least = fmin (least, value);
        sum += weight * (view->p == 0 ? log (value) : pow (value, view->p));
        weights += weight;
    }
    if (view->job_count == 0)
        return NAN;
    if (isinf (view->p))
        return least;
    return view->p == 0 ? exp (sum / weights) : pow (sum / weights, 1 / view->p);
}
