/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs of one application are alike: what some of them have measured completes what the others know.  The summary of an
 * application is what its measured jobs have in common; complete adds it to a job.
 * Costs n log n for n jobs, and a bounded amount per application.
 */
#include "policy/informed_view.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/ranges.h"
#include "policy/job_model.h"

/* Jobs of an application that count at most. */
enum { MEASURED_JOBS = 16, TYPES = OTHER_MODELS_LIMIT + 1 };

/* The standard deviation of the logarithm of times between jobs of one application, before any was seen; it counts
 * as much as usual_jobs jobs. */
static const double usual_spread = 0.5;
static const double usual_jobs = 2;

/* Jobs that differ by more than this are not of one kind: they are not used. */
static const double useless_spread = 0.6;

/* A job that differs from the typical one by more standard deviations than this gets nothing from it. */
static const double most_deviations = 3;

/* ---- Measured jobs ------------------------------------------------------------------------- */

/* A job that has measured something. */
struct measured_job {
    uint64_t application;
    int order; /* those that have ended come first, the newest first */
    const struct hints *hints;
    const struct noise_curve *noise;
};

static int compare (const void *left, const void *right)
{
    const struct measured_job *a = left, *b = right;
    if (a->application != b->application)
        return a->application < b->application ? -1 : 1;
    return a->order - b->order;
}

static bool has_evidence (const struct job *job)
{
    return job->application && hints_are_evidence (&job->hints);
}

/* All measured jobs, by application.  Returns their number. */
static int collect (const struct view *view, struct measured_job *measured)
{
    const struct experience *past = view->experience;
    int count = 0;
    for (int i = past->count - 1; i >= 0; i--) {
        const struct ended_job *job = &past->jobs[i];
        measured[count] = (struct measured_job){job->application, count, &job->hints, &job->noise};
        count++;
    }
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        if (has_evidence (job)) {
            measured[count] =
                (struct measured_job){job->application, count, &job->hints, &job->noise};
            count++;
        }
    }
    qsort (measured, (size_t)count, sizeof (measured[0]), compare);
    return count;
}

/* The first measured job of an application; count: there is none. */
static int find (const struct measured_job *measured, int count, uint64_t application)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (measured[middle].application < application)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && measured[low].application == application ? low : count;
}

/* ---- Models of one type -------------------------------------------------------------------- */

static double log_ratio (const struct type_model *a, const struct type_model *b, int nodes,
                         int replicas)
{
    struct pollux_batch batch = {.m = a->max_local < b->max_local ? a->max_local : b->max_local};
    struct pollux_shape shape = {.nodes = nodes, .replicas = replicas};
    return log (pollux_iter_time (&a->model, shape, batch) /
                pollux_iter_time (&b->model, shape, batch));
}

/* How differently two jobs train: the largest logarithm of the ratio of their step times on one replica, and on as many as both
 * have had, on one node and on two. */
static double distance (const struct type_model *a, const struct type_model *b)
{
    int replicas = a->max_profiled_replicas < b->max_profiled_replicas ? a->max_profiled_replicas
                                                                       : b->max_profiled_replicas;
    double most = fabs (log_ratio (a, b, 1, 1));
    if (replicas > 1)
        most = fmax (most, fmax (fabs (log_ratio (a, b, 1, replicas)),
                                 fabs (log_ratio (a, b, 2, replicas))));
    return most;
}

/* ---- Summaries ----------------------------------------------------------------------------- */

/* What the jobs of an application say of one type. */
struct type_summary {
    struct type_model
        model;     /* of the job nearest to all others; with the median of their replicas */
    double spread; /* standard deviation of the logarithm of another job's times to this one's */
};

struct summary {
    int jobs; /* measured; 0: not made yet */
    struct type_summary types[TYPES];
    int type_count;
    struct pollux_limits limits;
    struct pollux_grad noise[NOISE_POINTS]; /* sqr 0: not known */
    int64_t noise_batch[NOISE_POINTS];      /* init_batch of that job */
};

static int by_value (const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The spread by the distances to the typical job, its own distance, 0, included.  The largest of four or more does not count: one
 * job that is unlike the others changes nothing. */
static double spread_of (double *distances, int count)
{
    double sum = 0;
    int used = count >= 4 ? count - 1 : count;
    qsort (distances, (size_t)count, sizeof (distances[0]), by_value);
    for (int i = 0; i < used; i++)
        sum += distances[i] * distances[i];
    double variance = (sum + usual_jobs * usual_spread * usual_spread) / (used + usual_jobs);
    return sqrt (variance * (1 + 1.0 / used));
}

static struct type_summary summarise_type (const struct type_model *models, int count)
{
    double distances[MEASURED_JOBS][MEASURED_JOBS] = {{0}}, replicas[MEASURED_JOBS] = {0},
           least = INFINITY;
    int typical = 0;
    for (int i = 0; i < count; i++) {
        double sum = 0;
        for (int j = 0; j < count; j++) {
            distances[i][j] = j < i    ? distances[j][i]
                              : j == i ? 0
                                       : distance (&models[i], &models[j]);
            sum += distances[i][j];
        }
        if (sum < least) {
            least = sum;
            typical = i;
        }
        replicas[i] = models[i].max_profiled_replicas;
    }
    struct type_summary summary = {.model = models[typical],
                                   .spread = spread_of (distances[typical], count)};
    qsort (replicas, (size_t)count, sizeof (replicas[0]), by_value);
    summary.model.max_profiled_replicas = (int)replicas[(count - 1) / 2];
    return summary;
}

static bool has_type (const struct summary *summary, const char *type)
{
    for (int i = 0; i < summary->type_count; i++)
        if (strcmp (summary->types[i].model.type, type) == 0)
            return true;
    return false;
}

/* Drop types whose jobs are too different, and that of nodes without a type if there are others: a model without a type would
 * hold for all types. */
static void keep_useful (struct summary *summary)
{
    int useful = 0, typed = 0;
    for (int i = 0; i < summary->type_count; i++)
        if (summary->types[i].spread <= useless_spread) {
            typed += summary->types[i].model.type[0] != '\0';
            summary->types[useful++] = summary->types[i];
        }
    summary->type_count = 0;
    for (int i = 0; i < useful; i++)
        if (typed == 0 || summary->types[i].model.type[0])
            summary->types[summary->type_count++] = summary->types[i];
}

static void summarise_types (const struct measured_job *measured, int count,
                             struct summary *summary)
{
    for (int i = 0; i < count; i++)
        for (int t = 0; t <= measured[i].hints->other_count; t++) {
            struct type_model models[MEASURED_JOBS], first = hints_model_at (measured[i].hints, t);
            int known = 0;
            if (summary->type_count == TYPES || has_type (summary, first.type))
                continue;
            for (int j = i; j < count; j++) {
                int at = hints_type_index (measured[j].hints, first.type);
                if (at >= 0)
                    models[known++] = hints_model_at (measured[j].hints, at);
            }
            summary->types[summary->type_count++] = summarise_type (models, known);
        }
    keep_useful (summary);
}

/* The noise scale at a point of a curve; NaN: not known. */
static double noise_scale (const struct measured_job *measured, int point)
{
    const struct pollux_grad *grad = &measured->noise->points[point];
    return grad->sqr > 0 ? (double)measured->hints->limits.init_batch * grad->var / grad->sqr : NAN;
}

/* At each point the statistics of the job with the median of the noise scales. */
static void summarise_noise (const struct measured_job *measured, int count,
                             struct summary *summary)
{
    for (int point = 0; point < NOISE_POINTS; point++) {
        double scales[MEASURED_JOBS];
        int known = 0;
        for (int i = 0; i < count; i++)
            if (!isnan (noise_scale (&measured[i], point)))
                scales[known++] = noise_scale (&measured[i], point);
        if (known == 0)
            continue;
        qsort (scales, (size_t)known, sizeof (scales[0]), by_value);
        for (int i = 0; i < count; i++)
            if (noise_scale (&measured[i], point) == scales[(known - 1) / 2]) {
                summary->noise[point] = measured[i].noise->points[point];
                summary->noise_batch[point] = measured[i].hints->limits.init_batch;
            }
    }
}

static void summarise (const struct measured_job *measured, int count, struct summary *summary)
{
    int same = 1;
    while (same < count && same < MEASURED_JOBS &&
           measured[same].application == measured[0].application)
        same++;
    *summary = (struct summary){.jobs = same, .limits = measured[0].hints->limits};
    summarise_types (measured, same, summary);
    summarise_noise (measured, same, summary);
}

/* ---- Completing a job ---------------------------------------------------------------------- */

/* So many replicas count as measured: between 1, if other jobs tell nothing of this one, and as many as they have had. */
static int deserved_replicas (const struct type_summary *summary)
{
    double relative = summary->spread / usual_spread, trust = 1 / (1 + relative * relative);
    return (int)pow (summary->model.max_profiled_replicas, trust);
}

/* The noise at the known point that is nearest to the job's progress, for its own first batch. */
static struct pollux_grad noise_at (const struct summary *summary, const struct hints *hints)
{
    int at = hints_noise_point (hints), best = -1;
    for (int point = 0; point < NOISE_POINTS; point++)
        if (summary->noise[point].sqr > 0 && (best < 0 || abs (point - at) < abs (best - at)))
            best = point;
    if (best < 0)
        return (struct pollux_grad){.sqr = 1,
                                    .var = 0}; /* large batches are no use: nothing is promised */
    struct pollux_grad grad = summary->noise[best];
    double ratio = (double)summary->noise_batch[best] / (double)hints->limits.init_batch;
    grad.var *= ratio;
    if (grad.gain_max > 0)
        grad.gain_max = fmin (fmax (grad.gain_max * ratio, 1), MODEL_GAIN_LIMIT);
    return grad;
}

/* Add what a summary says of a type, with all times multiplied by a factor.  Not if its largest batch is below the
 * smallest one of the job: then it is not the same program. */
static void add_type (struct hints *hints, const struct type_summary *summary, double factor)
{
    if (hints->other_count == OTHER_MODELS_LIMIT ||
        summary->model.max_local < hints->limits.min_local)
        return;
    struct type_model *other = &hints->others[hints->other_count++];
    *other = summary->model;
    other->model = model_faster (other->model, 1 / factor);
    other->max_profiled_replicas = deserved_replicas (summary);
}

/* The hints of a job that has measured nothing.  False: nothing is added. */
static bool first_hints (const struct hints *own, const struct summary *summary, struct hints *ret)
{
    struct hints hints = *own;
    const struct type_model *first = &summary->types[0].model;
    if (hints.limits.init_batch == 0)
        hints.limits = summary->limits;
    if (first->type[0] || own->limits.init_batch == 0)
        hints.limits.max_local = first->max_local;
    if (hints.limits.max_local < hints.limits.min_local)
        return false;
    hints.has_model = true;
    hints.model = first->model;
    memcpy (hints.type, first->type, NAME_SIZE);
    hints.max_profiled_replicas = deserved_replicas (&summary->types[0]);
    hints.grad = noise_at (summary, &hints);
    hints.other_count = 0;
    for (int i = 1; i < summary->type_count; i++)
        add_type (&hints, &summary->types[i], 1);
    *ret = hints;
    return true;
}

/* How many times as slow as the typical job this one is, on the type that it trained on last; NaN: nothing tells, or it
 * is not like the others. */
static double own_factor (const struct hints *own, const struct summary *summary)
{
    struct type_model present = hints_model_at (own, 0);
    for (int i = 0; i < summary->type_count; i++)
        if (strcmp (summary->types[i].model.type, own->type) == 0) {
            double ratio = log_ratio (&present, &summary->types[i].model, 1, 1);
            return fabs (ratio) > most_deviations * summary->types[i].spread ? (double)NAN
                                                                             : exp (ratio);
        }
    return NAN;
}

static int most (int a, int b)
{
    return a > b ? a : b;
}

/* The hints of a job that has measured something.  False: nothing is added. */
static bool more_hints (const struct hints *own, const struct summary *summary, struct hints *ret)
{
    double factor = own_factor (own, summary);
    struct hints hints = *own;
    if (isnan (factor) || own->max_profiled_replicas < 1)
        return false;
    for (int i = 0; i < summary->type_count; i++) {
        const struct type_summary *typical = &summary->types[i];
        int at = hints_type_index (own, typical->model.type);
        if (at < 0) {
            add_type (&hints, typical, factor);
            continue;
        }
        int *replicas =
            at > 0 ? &hints.others[at - 1].max_profiled_replicas : &hints.max_profiled_replicas;
        *replicas = most (*replicas, deserved_replicas (typical));
    }
    *ret = hints;
    return true;
}

static bool in_range (const struct hints *hints)
{
    bool legal = hints->grad.var <= MODEL_GRAD_LIMIT;
    for (int i = 0; i < hints_model_count (hints); i++) {
        struct type_model model = hints_model_at (hints, i);
        legal &= model_in_range (&model.model, model.max_local);
    }
    return legal;
}

/* The measured jobs of a summary, the first of which is given, without the job itself. */
static int count_others (const struct measured_job *first, const struct summary *summary,
                         const struct job *job)
{
    int others = summary->jobs;
    for (int i = 0; i < summary->jobs; i++)
        others -= first[i].hints == &job->hints;
    return others;
}

/* A copy of the job with what the summary of `others` other jobs adds; the job itself if that is nothing; NULL: no memory. */
static const struct job *complete (const struct job *job, const struct summary *summary, int others,
                                   struct arena *arena)
{
    struct hints hints;
    if (others < 1 || summary->type_count == 0)
        return job;
    bool more = job->hints.has_model ? more_hints (&job->hints, summary, &hints)
                                     : first_hints (&job->hints, summary, &hints);
    if (!more || !in_range (&hints))
        return job;
    struct job *informed = arena_take (arena, 1, sizeof (*informed));
    if (!informed)
        return NULL;
    *informed = *job;
    informed->hints = hints;
    informed->evidence = others;
    informed->borrowed = hints.other_count - job->hints.other_count + !job->hints.has_model;
    return informed;
}

/* ---- The whole ----------------------------------------------------------------------------- */

void informed_view_clear (struct informed_view *informed)
{
    arena_clear (&informed->arena);
}

static int inform (const struct view *view, struct informed_view *informed)
{
    struct arena *arena = &informed->arena;
    size_t jobs = (size_t)view->job_count, most = jobs + (size_t)view->experience->count + 1;
    const struct job **list = arena_take (arena, jobs + 1, sizeof (list[0]));
    struct measured_job *measured = arena_take (arena, most, sizeof (measured[0]));
    struct summary **summaries = arena_take (arena, most, sizeof (summaries[0]));
    if (!list || !measured || !summaries)
        return -ENOMEM;
    int count = collect (view, measured);
    memset (summaries, 0, most * sizeof (summaries[0]));
    for (int i = 0; i < view->job_count; i++) {
        int at =
            view->jobs[i]->application ? find (measured, count, view->jobs[i]->application) : count;
        list[i] = view->jobs[i];
        if (at == count)
            continue;
        if (!summaries[at]) {
            summaries[at] = arena_take (arena, 1, sizeof (*summaries[at]));
            if (!summaries[at])
                return -ENOMEM;
            summarise (&measured[at], count - at, summaries[at]);
        }
        int others = count_others (&measured[at], summaries[at], view->jobs[i]);
        list[i] = complete (view->jobs[i], summaries[at], others, arena);
        if (!list[i])
            return -ENOMEM;
    }
    informed->view.jobs = list;
    return 0;
}

int informed_view_new (const struct view *view, struct informed_view *ret)
{
    struct informed_view informed = {.view = *view};
    int rc = view->experience ? inform (view, &informed) : 0;
    if (view->experience)
        informed.view.learned = view->experience;
    informed.view.experience = NULL;
    if (rc < 0)
        informed_view_clear (&informed);
    else
        *ret = informed;
    return rc;
}
