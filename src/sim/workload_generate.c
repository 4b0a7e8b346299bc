/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workload is a list of arrivals, each with an application and a size.  Times, applications and
 * sizes have their own random streams of the seed, so that another mix does not change the times.
 */
#include "sim/workload_generate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "sim/arrivals.h"
#include "sim/job_sizes.h"

enum stream { STREAM_TIMES, STREAM_APPS, STREAM_SIZES };

struct kind {
    const struct app *app;
    struct job_size sizes[SIZES_LIMIT];
    int size_count;
    double slot_s; /* slot time of its middle size */
    double weight;
};

struct recipe recipe_default (void)
{
    return (struct recipe){
        .jobs = 160,
        .hours = 8,
        .start_hour = NAN,
        .day_night = 4,
        .max_replicas = 64,
        .slots_per_node = 4,
    };
}

static int check_recipe (const struct recipe *recipe, struct pollux_error *err)
{
    if (recipe->jobs < 0 || recipe->jobs > WORKLOAD_JOBS_LIMIT)
        return fail (err, -EINVAL, "expected 1 to %d jobs, got %d", WORKLOAD_JOBS_LIMIT,
                     recipe->jobs);
    if (recipe->jobs == 0 && !(recipe->jobs_per_hour > 0 && isfinite (recipe->jobs_per_hour)))
        return fail (err, -EINVAL, "a number of jobs, or jobs per hour, must be above 0");
    if (!(recipe->hours > 0 && recipe->hours <= RECIPE_HOURS_LIMIT))
        return fail (err, -EINVAL, "expected more than 0 and at most %d hours, got %g",
                     RECIPE_HOURS_LIMIT, recipe->hours);
    if (!isnan (recipe->start_hour) && !(recipe->start_hour >= 0 && recipe->start_hour <= 24))
        return fail (err, -EINVAL, "expected a start hour from 0 to 24, got %g",
                     recipe->start_hour);
    if (!(recipe->day_night >= 1 && recipe->day_night <= RECIPE_DAY_NIGHT_LIMIT))
        return fail (err, -EINVAL, "expected a ratio of day to night from 1 to %d, got %g",
                     RECIPE_DAY_NIGHT_LIMIT, recipe->day_night);
    if (recipe->max_replicas < 1 || recipe->slots_per_node < 1)
        return fail (err, -EINVAL, "expected at least 1 replica per job and 1 slot per node");
    if (recipe->history && recipe->mix)
        return fail (err, -EINVAL, "a history decides the mix of applications: give one of them");
    return 0;
}

/* ---- Applications and sizes --------------------------------------------------------------- */

static struct kind *make_kinds (const struct ground_truth *truth, const struct recipe *recipe)
{
    struct kind *kinds = calloc ((size_t)ground_truth_count (truth), sizeof *kinds);
    for (int i = 0; kinds && i < ground_truth_count (truth); i++) {
        struct kind *kind = &kinds[i];
        kind->app = ground_truth_at (truth, i);
        kind->size_count =
            app_sizes (kind->app, recipe->max_replicas, recipe->slots_per_node, kind->sizes);
        const struct job_size *middle = &kind->sizes[kind->size_count / 2];
        kind->slot_s = middle->seconds * middle->replicas;
        kind->weight = recipe->mix ? recipe->mix[i] : pow (1 + kind->slot_s / 3600, -0.7);
    }
    return kinds;
}

static const struct kind *draw_kind (const struct kind *kinds, int count, struct rng *rng)
{
    double total = 0;
    for (int i = 0; i < count; i++)
        total += kinds[i].weight;
    double left = rng_uniform (rng) * total;
    const struct kind *kind = NULL;
    for (int i = 0; i < count; i++) {
        if (kinds[i].weight <= 0)
            continue;
        kind = &kinds[i]; /* the last one if rounding leaves a remainder */
        left -= kind->weight;
        if (left < 0)
            break;
    }
    return kind;
}

/* The kind whose slot time is nearest in ratio. */
static const struct kind *nearest_kind (const struct kind *kinds, int count, double slot_s)
{
    const struct kind *nearest = NULL;
    double least = INFINITY;
    for (int i = 0; i < count; i++) {
        double distance = fabs (log (kinds[i].slot_s / slot_s));
        if (distance < least) {
            nearest = &kinds[i];
            least = distance;
        }
    }
    return nearest;
}

/* ---- Together ----------------------------------------------------------------------------- */

static void fill_job (struct workload_job *job, int number, const struct arrival *arrival,
                      const struct kind *kind, struct rng *sizes)
{
    const struct job_size *size = &kind->sizes[rng_below (sizes, (uint64_t)kind->size_count)];
    /* The application's name is cut if the number would not fit. */
    (void)snprintf (job->name, sizeof job->name, "%.*s-%d", NAME_SIZE - 12, app_name (kind->app),
                    number);
    job->submit_s = arrival->at_s;
    job->app = kind->app;
    job->replicas = size->replicas;
    job->batch = size->batch;
}

int workload_generate (const struct ground_truth *truth, const struct recipe *recipe,
                       struct workload *ret, struct pollux_error *err)
{
    struct recipe usual = recipe_default ();
    if (!recipe)
        recipe = &usual;
    struct rng times = rng_stream (recipe->seed, STREAM_TIMES);
    struct rng apps = rng_stream (recipe->seed, STREAM_APPS);
    struct rng sizes = rng_stream (recipe->seed, STREAM_SIZES);
    struct arrival *arrivals = NULL;
    int count = 0, code = check_recipe (recipe, err);
    if (code == 0)
        code = recipe->history ? arrivals_sample (recipe, &times, &arrivals, &count, err)
                               : arrivals_draw (recipe, &times, &arrivals, &count, err);
    if (code < 0)
        return code;

    struct kind *kinds = make_kinds (truth, recipe);
    struct workload_job *jobs = calloc ((size_t)count, sizeof *jobs);
    if (!kinds || !jobs)
        code = fail (err, -ENOMEM, "no memory for %d jobs", count);
    for (int i = 0; code == 0 && i < count; i++) {
        const struct kind *kind =
            isnan (arrivals[i].slot_s)
                ? draw_kind (kinds, ground_truth_count (truth), &apps)
                : nearest_kind (kinds, ground_truth_count (truth), arrivals[i].slot_s);
        if (kind)
            fill_job (&jobs[i], i, &arrivals[i], kind, &sizes);
        else
            code = fail (err, -EINVAL, "the mix has no application with a weight above 0");
    }
    free (kinds);
    free (arrivals);
    if (code < 0) {
        free (jobs);
        return code;
    }
    *ret = (struct workload){.jobs = jobs, .count = count};
    return 0;
}
