/* SPDX-License-Identifier: Apache-2.0 */
/* Models of a job by type, measured or predicted. */
#include "policy/job_model.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The standard error of a ratio that one job has measured: other jobs differ from it by about this much. */
static const double one_sample_error = 0.5;

/* ---- What the job has measured ------------------------------------------------------------- */

struct job_model job_model_last (const struct job *job)
{
    return (struct job_model){.known = job->hints.has_model,
                              .speed = 1,
                              .model = job->hints.model,
                              .grad = job->hints.grad,
                              .limits = job->hints.limits,
                              .most_replicas = job_trusted_replicas (job)};
}

static struct job_model model_of_other (const struct job *job, const struct type_model *other)
{
    struct job_model model = job_model_last (job);
    model.model = other->model;
    model.limits.max_local = other->max_local;
    model.most_replicas = job_trusted_with (job, other->max_profiled_replicas);
    return model;
}

/* Its model of a type, one of the first `count` that it has; false: there is none. */
static bool model_among (const struct job *job, int count, const char *type, struct job_model *ret)
{
    const struct hints *hints = &job->hints;
    if (count > 0 && strcmp (hints->type, type) == 0) {
        *ret = job_model_last (job);
        return true;
    }
    for (int i = 0; i < count - 1; i++)
        if (strcmp (hints->others[i].type, type) == 0) {
            *ret = model_of_other (job, &hints->others[i]);
            return true;
        }
    return false;
}

static int model_count (const struct job *job)
{
    return job->hints.has_model ? 1 + job->hints.other_count : 0;
}

/* Its model of a type; false: it has none. */
static bool measured_on (const struct job *job, const char *type, struct job_model *ret)
{
    return model_among (job, model_count (job), type, ret);
}

/* ---- Ratios ------------------------------------------------------------------------------- */

/* Samples per second of one replica with its largest batch. */
static double speed_of (const struct job_model *model)
{
    double m = (double)model->limits.max_local;
    return m / pollux_grad_time (&model->model, model->limits.max_local);
}

static struct type_ratio *ratio_at (const struct type_ratios *ratios, int to, int from)
{
    return &ratios->ratios[to * ratios->count + from];
}

/* Count a job that has measured several pools itself: models that it borrowed would count twice.  error is the sum of squares until all are counted. */
static void add_job (struct type_ratios *ratios, const struct pools *pools, const struct job *job)
{
    int own = model_count (job) - job->borrowed;
    for (int to = 0; to < pools->count; to++)
        for (int from = 0; from < pools->count; from++) {
            struct job_model a, b;
            if (to == from || !model_among (job, own, pools->list[to].type, &a) ||
                !model_among (job, own, pools->list[from].type, &b))
                continue;
            double ratio = log (speed_of (&a) / speed_of (&b));
            struct type_ratio *known = ratio_at (ratios, to, from);
            double before = known->mean; /* Welford's method */
            known->mean += (ratio - before) / ++known->samples;
            known->error += (ratio - before) * (ratio - known->mean);
        }
}

int type_ratios_make (const struct view *view, const struct pools *pools, struct arena *arena,
                      struct type_ratios *ret)
{
    size_t count = (size_t)pools->count;
    struct type_ratios ratios = {.count = pools->count,
                                 .ratios =
                                     arena_take (arena, count * count, sizeof (ratios.ratios[0]))};
    if (!ratios.ratios)
        return -ENOMEM;
    for (size_t i = 0; i < count * count; i++)
        ratios.ratios[i] = (struct type_ratio){0};
    for (int i = 0; i < view->job_count && pools->count > 1; i++)
        if (view->jobs[i]->hints.other_count > 0)
            add_job (&ratios, pools, view->jobs[i]);
    for (size_t i = 0; i < count * count; i++) {
        struct type_ratio *known = &ratios.ratios[i];
        double n = known->samples;
        /* As if there were two more jobs, which differ by the usual amount. */
        double variance = (known->error + 2 * one_sample_error * one_sample_error) / (n + 2);
        known->error = n > 0 ? sqrt (variance / n) : INFINITY;
    }
    *ret = ratios;
    return 0;
}

/* ---- Predictions -------------------------------------------------------------------------- */

/* All times divided by the ratio of speeds. */
static struct pollux_model faster (struct pollux_model model, double ratio)
{
    model.alpha_grad /= ratio;
    model.beta_grad /= ratio;
    model.alpha_node /= ratio;
    model.beta_node /= ratio;
    model.alpha_local /= ratio;
    model.beta_local /= ratio;
    return model;
}

/* Take the model of a type, if the owner has given its speed, the job was measured there, and had more replicas than with
 * the one before.  speed: of that one; NaN: there is none yet. */
static void prefer (const struct job *job, const char *type, double *speed, struct job_model *ret)
{
    struct job_model other;
    double from = job_type_speed (job, type);
    if (isnan (from) || !measured_on (job, type, &other) ||
        (!isnan (*speed) && other.most_replicas <= ret->most_replicas))
        return;
    *speed = from;
    *ret = other;
}

/* The prediction by the owner's speeds of this type and one that it was measured on; false: the owner has not given them.
 * Of several types the one that it had most replicas on, the first of these in the cluster: if it were the present one, a
 * job could be sent to and fro between two types that it judges by each other.  Types that no node has any more come
 * last. */
static bool predict_by_owner (const struct job *job, const struct pools *pools, int pool,
                              struct job_model *ret)
{
    double to = job_type_speed (job, pools->list[pool].type), best = NAN;
    for (int i = 0; i < pools->count; i++)
        prefer (job, pools->list[i].type, &best, ret);
    if (isnan (best)) {
        prefer (job, job->hints.type, &best, ret);
        for (int i = 0; i < job->hints.other_count; i++)
            prefer (job, job->hints.others[i].type, &best, ret);
    }
    if (isnan (to) || isnan (best))
        return false;
    ret->model = faster (ret->model, to / best);
    ret->source = MODEL_PREDICTED;
    return true;
}

static struct job_model predict (const struct job *job, const struct pools *pools, int pool,
                                 const struct type_ratios *ratios)
{
    struct job_model model = job_model_last (job), other;
    const struct type_ratio *best = NULL;
    for (int from = 0; from < pools->count; from++) {
        const struct type_ratio *ratio = ratio_at (ratios, pool, from);
        if (ratio->samples > 0 && (!best || ratio->error < best->error) &&
            measured_on (job, pools->list[from].type, &other)) {
            best = ratio;
            model = other;
        }
    }
    model.source = best ? MODEL_PREDICTED : MODEL_GUESSED;
    if (best)
        model.model = faster (model.model, exp (best->mean));
    else
        model.most_replicas = job_trusted_with (job, 0);
    return model;
}

/* The most replicas on any type that the job has trained on: what it has learned of scaling counts for all types. */
static int most_trusted (const struct job *job)
{
    int most = job_trusted_replicas (job);
    for (int i = 0; i < job->hints.other_count; i++) {
        int trusted = job_trusted_with (job, job->hints.others[i].max_profiled_replicas);
        most = trusted > most ? trusted : most;
    }
    return most;
}

struct job_model job_model_on (const struct job *job, const struct pools *pools, int pool,
                               const struct type_ratios *ratios)
{
    const char *type = pools->list[pool].type;
    struct job_model model = job_model_last (job);
    double speed = job_type_speed (job, type);
    if (!model.known)
        model.speed = isnan (speed) ? 1 : speed;
    else if (type[0] != '\0' && job->hints.type[0] != '\0' && !measured_on (job, type, &model) &&
             !predict_by_owner (job, pools, pool, &model))
        model = predict (job, pools, pool, ratios);
    if (model.known && model.source != MODEL_GUESSED)
        model.most_replicas = most_trusted (job);
    if (!job_allows_type (job, type))
        model.most_replicas = 0;
    return model;
}
