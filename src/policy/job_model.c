/* SPDX-License-Identifier: Apache-2.0 */
/* Models of a job by type, measured or predicted. */
#include "policy/job_model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "model/ranges.h"

/* The standard error of a ratio that one job has measured: other jobs differ from it by about this much. */
static const double one_sample_error = 0.5;

/* A larger ratio of speeds between two types is an error of a measurement, or a lie. */
static const double most_ratio = 1e3;

/* A ratio that differs from the median by more standard deviations than this counts as if it differed by these. */
static const double most_deviations = 3;

/* The error of a ratio that one job has measured, rounded up.  A larger one means that jobs contradict each other. */
static const double one_job_error = 0.41;

/* The standard deviation of normal numbers whose median absolute deviation is 1. */
static const double deviation_of_median = 1.4826;

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

/* Its model of a type; false: it has none. */
static bool measured_on (const struct job *job, const char *type, struct job_model *ret)
{
    int at = hints_type_index (&job->hints, type);
    if (at >= 0)
        *ret = at > 0 ? model_of_other (job, &job->hints.others[at - 1]) : job_model_last (job);
    return at >= 0;
}

/* ---- Ratios ------------------------------------------------------------------------------- */

/* The logarithm of the ratio of speeds between two pools, as one job has measured it. */
struct observation {
    int to, from;
    double ratio, distance; /* from the median of the two pools */
};

static int compare_observations (const void *left, const void *right)
{
    const struct observation *a = left, *b = right;
    return a->to != b->to       ? a->to - b->to
           : a->from != b->from ? a->from - b->from
                                : compare_doubles (a->ratio, b->ratio);
}

/* The logarithm of samples per second, of one replica with its largest batch. */
static double log_speed (const struct type_model *model)
{
    return log ((double)model->max_local / pollux_grad_time (&model->model, model->max_local));
}

/* Write what a job has measured on each two pools, with the first `own` of its models.  Returns the number of
 * observations; list NULL: only that. */
static int observe (const struct hints *hints, int own, const struct pools *pools,
                    struct observation *list)
{
    int count = 0;
    for (int to = 1; to < pools->count && own > 1; to++) {
        int a = hints_type_index (hints, pools->list[to].type);
        for (int from = 0; from < to && a >= 0 && a < own; from++) {
            int b = hints_type_index (hints, pools->list[from].type);
            if (b < 0 || b >= own)
                continue;
            struct type_model there = hints_model_at (hints, a), here = hints_model_at (hints, b);
            double ratio = log_speed (&there) - log_speed (&here);
            if (!(fabs (ratio) <= log (most_ratio))) /* or NaN */
                continue;
            if (list)
                list[count] = (struct observation){to, from, ratio, 0};
            count++;
        }
    }
    return count;
}

/* The same for all jobs of the view, also those outside this part of it, and those that have ended: models that a job has borrowed would count twice. */
static int observe_all (const struct view *view, const struct pools *pools,
                        struct observation *list)
{
    const struct view *whole = view->whole ? view->whole : view;
    int count = 0;
    for (int i = 0; i < whole->job_count && pools->count > 1; i++) {
        const struct job *job = whole->jobs[i];
        count += observe (&job->hints, hints_model_count (&job->hints) - job->borrowed, pools,
                          list ? list + count : NULL);
    }
    for (int i = 0; view->learned && i < view->learned->count && pools->count > 1; i++) {
        const struct hints *hints = &view->learned->jobs[i].hints;
        count += observe (hints, hints_model_count (hints), pools, list ? list + count : NULL);
    }
    return count;
}

static int compare_distances (const void *left, const void *right)
{
    const struct observation *a = left, *b = right;
    return compare_doubles (a->distance, b->distance);
}

/* The ratio of two pools by their observations, which are sorted: the mean, with those far from the median moved to
 * most_deviations from it.  One job that is unlike the others changes little. */
static struct type_ratio summarise (struct observation *sorted, int count)
{
    struct type_ratio known = {.samples = count};
    int low = (count - 1) / 2, high = count / 2;
    double median = (sorted[low].ratio + sorted[high].ratio) / 2, n = count;
    for (int i = 0; i < count; i++)
        sorted[i].distance = fabs (sorted[i].ratio - median);
    qsort (sorted, (size_t)count, sizeof (sorted[0]), compare_distances);
    double spread = deviation_of_median * (sorted[low].distance + sorted[high].distance) / 2;
    /* As if there were two more jobs, which differ by the usual amount. */
    double variance = (n * spread * spread + 2 * one_sample_error * one_sample_error) / (n + 2);
    double most = most_deviations * sqrt (variance);
    for (int i = 0; i < count; i++)
        known.mean += fmin (fmax (sorted[i].ratio, median - most), median + most) / n;
    known.error = sqrt (variance / n);
    return known;
}

static struct type_ratio *ratio_at (const struct type_ratios *ratios, int to, int from)
{
    return &ratios->ratios[to * ratios->count + from];
}

int type_ratios_make (const struct view *view, const struct pools *pools, struct arena *arena,
                      struct type_ratios *ret)
{
    size_t cells = (size_t)pools->count * (size_t)pools->count;
    int count = observe_all (view, pools, NULL);
    struct observation *list = arena_take (arena, (size_t)count + 1, sizeof (list[0]));
    struct type_ratios ratios = {.count = pools->count,
                                 .ratios = arena_take (arena, cells, sizeof (ratios.ratios[0]))};
    if (!list || !ratios.ratios)
        return -ENOMEM;
    for (size_t i = 0; i < cells; i++)
        ratios.ratios[i] = (struct type_ratio){.error = INFINITY};
    observe_all (view, pools, list);
    qsort (list, (size_t)count, sizeof (list[0]), compare_observations);
    for (int first = 0, next; first < count; first = next) {
        int to = list[first].to, from = list[first].from;
        for (next = first + 1; next < count && list[next].to == to && list[next].from == from;)
            next++;
        struct type_ratio known = summarise (list + first, next - first);
        *ratio_at (&ratios, to, from) = known;
        known.mean = -known.mean;
        *ratio_at (&ratios, from, to) = known;
    }
    *ret = ratios;
    return 0;
}

/* ---- Predictions -------------------------------------------------------------------------- */

struct pollux_model model_faster (struct pollux_model model, double ratio)
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
    ret->model = model_faster (ret->model, to / best);
    ret->source = MODEL_PREDICTED;
    return true;
}

/* The prediction by the ratio with the least error; false: none is known.  If jobs contradict each other, the speed is
 * lower by what the error exceeds that of a single job: a job does not leave a type that it knows for a doubtful one. */
static bool predict_by_ratios (const struct job *job, const struct pools *pools, int pool,
                               const struct type_ratios *ratios, struct job_model *ret)
{
    struct job_model other;
    const struct type_ratio *best = NULL;
    for (int from = 0; from < pools->count; from++) {
        const struct type_ratio *ratio = ratio_at (ratios, pool, from);
        if (ratio->samples > 0 && (!best || ratio->error < best->error) &&
            measured_on (job, pools->list[from].type, &other)) {
            best = ratio;
            *ret = other;
        }
    }
    if (!best)
        return false;
    double doubt = fmax (best->error - one_job_error, 0);
    ret->model = model_faster (ret->model, exp (best->mean - doubt));
    ret->source = MODEL_PREDICTED;
    return true;
}

/* The replicas that it has on nodes of the pool's type now. */
static int present_replicas (const struct job *job, const struct pools *pools, int pool)
{
    int present = pools_find (pools, job->placement);
    bool there = present >= 0 && pools->list[present].like == pools->list[pool].like;
    return there ? placement_replicas (job->placement) : 0;
}

/* The model of a type that the job has not trained on. */
static struct job_model predict (const struct job *job, const struct pools *pools, int pool,
                                 const struct type_ratios *ratios)
{
    struct job_model model;
    if ((predict_by_owner (job, pools, pool, &model) ||
         predict_by_ratios (job, pools, pool, ratios, &model)) &&
        model_in_range (&model.model, model.limits.max_local))
        return model;
    model = job_model_last (job);
    model.source = MODEL_GUESSED;
    int fewest = job_trusted_with (job, 0), present = present_replicas (job, pools, pool);
    model.most_replicas = fewest > present ? fewest : present;
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
    if (!model.known)
        model.speed = job_assumed_speed (job, type);
    else if (type[0] != '\0' && job->hints.type[0] != '\0' && !measured_on (job, type, &model))
        model = predict (job, pools, pool, ratios);
    if (model.known && model.source != MODEL_GUESSED)
        model.most_replicas = most_trusted (job);
    if (!job_allows_type (job, type))
        model.most_replicas = 0;
    return model;
}
