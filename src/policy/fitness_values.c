/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of the paper's objective, which pollux and pollux-ga maximise:
 *
 *     x       = goodput / goodput of the fair share x nodes/slots  (x restart factor if it moves)
 *     fitness = power mean of x + 0.001 with exponent p
 *
 * For p = -inf, where the fitness is the minimum and no sum, terms are those of FITNESS_LEAST_P: the
 * worst-off jobs still count most.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "policy/objective.h"
#include "policy/policy_list.h"
#include "policy/speedup.h"

struct prepared {
    const struct view *view;
    double per_speedup;
    struct arena arena;
    double *fair; /* by job: goodput of its fair share */
    double *x;    /* by job; scratch */
};

static void release (void *self)
{
    struct prepared *prepared = self;
    if (!prepared)
        return;
    arena_clear (&prepared->arena);
    free (prepared);
}

/* The goodput of every job with its fair share.  -ENOMEM. */
static int find_fair (struct prepared *prepared)
{
    const struct view *view = prepared->view;
    struct options_context context;
    if (options_context_make (view, false, &prepared->arena, &context) < 0)
        return -ENOMEM;
    size_t count = (size_t)context.pools.count;
    struct job_model *models = arena_take (&prepared->arena, count, sizeof (models[0]));
    if (!models)
        return -ENOMEM;
    for (int i = 0; i < view->job_count; i++) {
        for (int pool = 0; pool < context.pools.count; pool++)
            models[pool] = job_model_on (view->jobs[i], &context.pools, pool, &context.ratios);
        prepared->fair[i] = fair_goodput (models, &context.pools, view->search, context.fair);
    }
    return 0;
}

static int prepare (const struct view *view, void **ret, struct pollux_error *err)
{
    int slots = view_slots (view);
    size_t count = (size_t)view->job_count + 1;
    struct prepared *prepared = calloc (1, sizeof (*prepared));
    if (prepared) {
        prepared->view = view;
        prepared->per_speedup = slots > 0 ? (double)view_nodes (view) / slots : 0;
        prepared->fair = arena_take (&prepared->arena, count, sizeof (prepared->fair[0]));
        prepared->x = arena_take (&prepared->arena, count, sizeof (prepared->x[0]));
    }
    if (!prepared || !prepared->fair || !prepared->x || find_fair (prepared) < 0) {
        release (prepared);
        return fail (err, -ENOMEM, "no memory for the values of %d jobs", view->job_count);
    }
    *ret = prepared;
    return 0;
}

static struct job_value value (const void *self, int job, int pool, int replicas, double goodput,
                               bool moves)
{
    const struct prepared *prepared = self;
    const struct view *view = prepared->view;
    (void)pool;
    (void)replicas;
    double fair = prepared->fair[job], p = fmax (view->p, FITNESS_LEAST_P);
    double speedup = fair > 0 ? goodput / fair : 0;
    double kept = moves ? restart_factor (view, view->jobs[job]) : 1;
    struct job_value ret = {.x = speedup * prepared->per_speedup * kept};
    double term = fitness_term (p, view->jobs[job]->spec.weight, ret.x);
    ret.term = p < 0 ? -term : term;
    return ret;
}

static double fitness (const void *self, const struct job_value *values)
{
    const struct prepared *prepared = self;
    for (int i = 0; i < prepared->view->job_count; i++)
        prepared->x[i] = values[i].x;
    return prepared->view->job_count > 0 ? objective_mean (prepared->view, prepared->x) : NAN;
}

const struct policy_values fitness_values = {
    .prepare = prepare, .release = release, .value = value, .fitness = fitness};
