/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves with few samples: first at powers of two, then where goodput_samples_split adds one.
 */
#include "policy/goodput_samples.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "model/model.h"

/* Up to this number of counts it is cheaper to evaluate all. */
enum { ALL_COUNTS = 16 };

/* Evaluate one shape of a job; without a model its goodput is its replicas. */
static int evaluate (const struct job *job, const struct job_model *model,
                     enum pollux_search search, struct pollux_shape shape,
                     struct goodput_sample *ret, struct pollux_error *err)
{
    struct goodput_sample sample = {.replicas = shape.replicas,
                                    .goodput = shape.replicas * model->speed};
    if (model->known) {
        struct pollux_best best;
        struct pollux_error why;
        int rc = pollux_best_batch (&model->model, model->grad, &model->limits, search, shape,
                                    &best, &why);
        if (rc < 0)
            return fail (err, rc, "job %s: %.180s", job->spec.name, why.text);
        sample.goodput = best.goodput;
        sample.total = pollux_total_batch (shape, best.batch);
    }
    *ret = sample;
    return 0;
}

int goodput_samples_at (const struct job *job, const struct job_model *model,
                        enum pollux_search search, struct pollux_shape shape, double *ret,
                        struct pollux_error *err)
{
    struct goodput_sample sample = {0};
    int rc = evaluate (job, model, search, shape, &sample, err);
    if (rc == 0)
        *ret = sample.goodput;
    return rc;
}

/* Bound the goodput between sample i and the next. */
static void bound_gap (struct goodput_samples *curve, int i)
{
    struct goodput_sample *here = &curve->samples[i], *next = here + 1;
    const struct job_model *model = curve->model;
    here->bound = 0;
    if (i + 1 == curve->count || next->replicas == here->replicas + 1)
        return;
    int low = here->replicas + 1, high = next->replicas - 1;
    double guess = next->total > 0 ? next->total : here->total;
    here->bound = model->known ? model_goodput_bound (&model->model, model->grad, &model->limits,
                                                      curve->nodes, low, high, guess)
                               : high * model->speed;
}

/* The count to evaluate after k: the next allowed one up to dense, then the next power of two,
 * `also` or the last; 0: none. */
static int next_count (const struct job *job, int k, int dense, int most, int also)
{
    if (k < dense) {
        int next = job_next_replicas (job, k);
        return next <= most ? next : 0;
    }
    int next = 1;
    while (next <= k)
        next *= 2;
    next = next < most ? next : most;
    next = also > k && also < next ? also : next;
    return next > k ? next : 0;
}

int goodput_samples_make (const struct job *job, const struct job_model *model,
                          enum pollux_search search, int nodes, int least, int most, int dense,
                          int also, struct arena *arena, struct goodput_samples *ret,
                          struct pollux_error *err)
{
    struct goodput_samples curve = {.job = job, .model = model, .search = search, .nodes = nodes};
    least = least > job->spec.min_replicas ? least : job->spec.min_replicas;
    /* Restricted counts are few, and a gap between them holds no allowed count. */
    if (most - least < ALL_COUNTS || job->spec.allowed.kind != ALLOWED_ANY)
        dense = most;
    int first = job_next_replicas (job, least - 1);
    first = first <= most ? first : 0;
    for (int k = first; k > 0; k = next_count (job, k, dense, most, also))
        curve.capacity++;
    curve.capacity += dense < most ? ALL_COUNTS : 0;
    curve.samples = arena_take (arena, (size_t)curve.capacity, sizeof (curve.samples[0]));
    if (!curve.samples)
        return fail (err, -ENOMEM, "no memory for the curve of job %s", job->spec.name);
    for (int k = first; k > 0; k = next_count (job, k, dense, most, also)) {
        struct pollux_shape shape = {.nodes = nodes, .replicas = k};
        int rc = evaluate (job, model, search, shape, &curve.samples[curve.count], err);
        if (rc < 0)
            return rc;
        curve.count++;
    }
    for (int i = 0; i < curve.count; i++)
        if (curve.samples[i].replicas >= dense)
            bound_gap (&curve, i);
    *ret = curve;
    return 0;
}

int goodput_samples_split (struct goodput_samples *curve, int i, struct arena *arena)
{
    if (curve->count == curve->capacity) {
        int capacity = 2 * curve->capacity;
        struct goodput_sample *samples = arena_take (arena, (size_t)capacity, sizeof (samples[0]));
        if (!samples)
            return -ENOMEM;
        memcpy (samples, curve->samples, (size_t)curve->count * sizeof (samples[0]));
        curve->samples = samples;
        curve->capacity = capacity;
    }
    int middle = (curve->samples[i].replicas + curve->samples[i + 1].replicas) / 2;
    struct pollux_shape shape = {.nodes = curve->nodes, .replicas = middle};
    memmove (&curve->samples[i + 2], &curve->samples[i + 1],
             (size_t)(curve->count - i - 1) * sizeof (curve->samples[0]));
    curve->count++;
    /* Cannot fail: the same hints were valid for the first sample. */
    (void)evaluate (curve->job, curve->model, curve->search, shape, &curve->samples[i + 1], NULL);
    bound_gap (curve, i);
    bound_gap (curve, i + 1);
    return 0;
}
