/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of options, fitness of sums, and the translation of a view into the solver's problem and
 * of its result into a plan.
 *
 *     x     = speedup * what revocations leave * nodes/slots  (* restart factor if the job moves)
 *     value = -w (x + 0.001)^p  p < 0,   w log (x + 0.001)  p = 0,   w (x + 0.001)^p  p > 0
 */
#include "policy/objective.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "policy/speedup.h"

static int make_options (const struct view *view, bool all, struct arena *arena,
                         struct objective *ret, struct pollux_error *err)
{
    size_t count = (size_t)view->job_count;
    int slots = view_slots (view);
    struct options_context context;
    if (options_context_make (view, all, arena, &context) < 0)
        return fail (err, -ENOMEM, "no memory for the types of %d nodes", view->node_count);
    struct objective objective = {
        .options = arena_take (arena, count, sizeof (objective.options[0])),
        .jobs = arena_take (arena, count, sizeof (objective.jobs[0])),
        .count = view->job_count,
        .pools = context.pools,
        .slots = arena_take (arena, (size_t)context.pools.count, sizeof (objective.slots[0])),
        .per_speedup = slots > 0 ? (double)view_nodes (view) / slots : 0,
        .arena = arena,
    };
    if (!objective.options || !objective.jobs || !objective.slots)
        return fail (err, -ENOMEM, "no memory for the options of %d jobs", view->job_count);
    for (int i = 0; i < context.pools.count; i++)
        objective.slots[i] = context.pools.list[i].slots;
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        struct allocation_options *options = &objective.options[i];
        int rc = allocation_options_make (&context, job, arena, options, err);
        if (rc < 0)
            return rc;
        objective.jobs[i] = (struct solver_job){
            .options = options->list, .option_count = options->count, .current = job->placement};
        if (options->pinned)
            for (int j = 0; j < job->placement.count; j++)
                objective.slots[context.pools.of_node[job->placement.shares[j].node]] -=
                    job->placement.shares[j].replicas;
    }
    for (int i = 0; i < context.pools.count; i++)
        objective.slots[i] = objective.slots[i] > 0 ? objective.slots[i] : 0;
    *ret = objective;
    return 0;
}

int objective_make (const struct view *view, struct arena *arena, struct objective *ret,
                    struct pollux_error *err)
{
    return make_options (view, true, arena, ret, err);
}

int objective_make_sampled (const struct view *view, struct arena *arena, struct objective *ret,
                            struct pollux_error *err)
{
    return make_options (view, false, arena, ret, err);
}

static double x_of (const struct objective *objective, const struct allocation_options *options,
                    double speedup, bool moves)
{
    return speedup * objective->per_speedup * (moves ? options->restart : 1);
}

double objective_x (const struct objective *objective, int job, int option)
{
    const struct allocation_options *options = &objective->options[job];
    return x_of (objective, options, options->speedups[option] * options->kept[option],
                 options->list[option].where != WHERE_KEEP);
}

static double value_of (double p, double weight, double scaled)
{
    const double worst = 1e250; /* the sum over all jobs stays finite */
    if (p == -1)
        return -weight / scaled;
    if (p == 1)
        return weight * scaled;
    if (p == 0)
        return weight * log (scaled);
    double power = pow (scaled, p);
    return p > 0 ? weight * power : -fmin (weight * power, worst);
}

/* The value of a speedup of a job, of which revocations are subtracted. */
static double value_at (const struct objective *objective, const struct view *view, int job,
                        double speedup, bool moves)
{
    double x = x_of (objective, &objective->options[job], speedup, moves);
    return value_of (view->p, view->jobs[job]->spec.weight,
                     (x + FITNESS_OFFSET) / objective->scale);
}

static void value_job (const struct objective *objective, const struct view *view, int job)
{
    struct allocation_options *options = &objective->options[job];
    for (int i = 0; i < options->count; i++)
        options->list[i].value =
            value_at (objective, view, job, options->speedups[i] * options->kept[i],
                      options->list[i].where != WHERE_KEEP);
    objective->jobs[job].options = options->list;
    objective->jobs[job].option_count = options->count;
}

void objective_value (struct objective *objective, const struct view *view, double scale)
{
    objective->scale = scale;
    for (int i = 0; i < objective->count; i++)
        value_job (objective, view, i);
}

/* The value of a goodput of a job in a pool, if it moves there. */
static double value_in (const struct objective *objective, const struct view *view, int job,
                        int pool, struct pollux_shape shape, double goodput)
{
    const struct allocation_options *options = &objective->options[job];
    double kept = allocation_options_kept (options, pool, shape);
    return value_at (objective, view, job, goodput / options->fair * kept, true);
}

/* Split the gaps of a curve whose bound, minus the price of the slots, exceeds *least - slack.
 * *least is the best surplus so far.  Returns 1 if there were any, 0 if not, or -ENOMEM. */
static int refine_curve (const struct objective *objective, const struct view *view, int job,
                         int pool, struct goodput_samples *curve, double price, double *least,
                         double slack)
{
    int changed = 0;
    for (int i = 0; i + 1 < curve->count;) {
        const struct goodput_sample *sample = &curve->samples[i];
        struct pollux_shape shape = {.nodes = curve->nodes, .replicas = sample->replicas + 1};
        if (!(sample->bound > 0) ||
            value_in (objective, view, job, pool, shape, sample->bound) - price * shape.replicas <
                *least - slack) {
            i++;
            continue;
        }
        if (goodput_samples_split (curve, i, objective->arena) < 0)
            return -ENOMEM;
        changed = 1;
        sample = &curve->samples[i + 1];
        shape.replicas = sample->replicas;
        double value = value_in (objective, view, job, pool, shape, sample->goodput);
        *least = fmax (*least, value - price * sample->replicas);
    }
    return changed;
}

double objective_price (const struct objective *objective, const double *prices)
{
    double most = 0;
    for (int i = 0; i < objective->pools.count; i++)
        most = fmax (most, prices[i]);
    return most;
}

/* The same for all curves of a job. */
static int refine_curves (const struct objective *objective, const struct view *view, int job,
                          const double *prices, double *least, double slack)
{
    const struct allocation_options *options = &objective->options[job];
    int changed = 0;
    for (int i = 0; i < options->pool_count; i++) {
        struct pool_curves *curves = &options->curves[i];
        int one = refine_curve (objective, view, job, i, &curves->one, prices[i], least,
                                slack * prices[i]);
        int many = refine_curve (objective, view, job, i, &curves->many, prices[i], least,
                                 slack * prices[i]);
        if (one < 0 || many < 0)
            return -ENOMEM;
        changed |= one | many;
    }
    return changed;
}

int objective_refine (struct objective *objective, const struct view *view, const double *prices,
                      double slack)
{
    for (int i = 0; i < objective->count; i++) {
        struct allocation_options *options = &objective->options[i];
        if (options->pinned || !(options->fair > 0))
            continue;
        double least = -INFINITY;
        for (int j = 0; j < options->count; j++) {
            const struct solver_option *option = &options->list[j];
            if (option->where != WHERE_BEYOND)
                least = fmax (least, option->value - prices[option->pool] * option->replicas);
        }
        int changed = refine_curves (objective, view, i, prices, &least, slack);
        if (changed < 0)
            return -ENOMEM;
        if (changed == 0)
            continue;
        if (allocation_options_list (options, objective->arena) < 0)
            return -ENOMEM;
        value_job (objective, view, i);
    }
    return 0;
}

static double weights_of (const struct view *view)
{
    double weights = 0;
    for (int i = 0; i < view->job_count; i++)
        weights += view->jobs[i]->spec.weight;
    return weights;
}

double objective_fitness (const struct view *view, double scale, double sum)
{
    double mean = sum / weights_of (view);
    if (view->p == 0)
        return scale * exp (mean);
    return scale * pow (fabs (mean), 1 / view->p);
}

double objective_slope (const struct view *view, double fitness, double sum)
{
    double slope = view->p == 0 ? fitness / weights_of (view) : fitness / (view->p * sum);
    return isfinite (slope) ? slope : 0;
}

double objective_mean (const struct view *view, const double *x)
{
    double least = INFINITY, sum = 0;
    for (int i = 0; i < view->job_count; i++)
        least = fmin (least, x[i] + FITNESS_OFFSET);
    if (isinf (view->p))
        return least;
    for (int i = 0; i < view->job_count; i++) /* divided by the least: no power overflows */
        sum += value_of (view->p, view->jobs[i]->spec.weight, (x[i] + FITNESS_OFFSET) / least);
    return objective_fitness (view, least, sum);
}

void objective_threshold (const struct objective *objective, double threshold)
{
    for (int i = 0; i < objective->count; i++) {
        struct allocation_options *options = &objective->options[i];
        for (int j = 0; j < options->count; j++)
            options->list[j].value = objective_x (objective, i, j) >= threshold ? 0 : -1;
    }
}

int objective_option (const struct objective *objective, int job, struct placement placement)
{
    const struct allocation_options *options = &objective->options[job];
    int replicas = placement_replicas (placement), pool = 0;
    if (placement.count > 0)
        pool = objective->pools.of_node[placement.shares[0].node];
    enum where where = replicas == 0 ? WHERE_NONE : placement.count == 1 ? WHERE_ONE : WHERE_MANY;
    if (replicas > 0 && placement_same (placement, objective->jobs[job].current))
        where = WHERE_KEEP;
    for (int i = 0; i < options->count; i++)
        if (options->list[i].replicas == replicas && options->list[i].where == where &&
            options->list[i].pool == pool)
            return i;
    return -1;
}

/* Slots by node, 0 where a node is not available.  NULL: no memory. */
static const int *slots_of (const struct view *view, struct arena *arena)
{
    int *slots = arena_take (arena, (size_t)view->node_count, sizeof (slots[0]));
    for (int i = 0; slots && i < view->node_count; i++)
        slots[i] = view->nodes[i].available ? view->nodes[i].slots : 0;
    return slots;
}

int objective_solve (const struct objective *objective, const struct view *view,
                     struct solver *solver, struct plan *plan, double *x, struct solver_result *ret,
                     struct pollux_error *err)
{
    struct solver_problem problem = {
        .slots = slots_of (view, objective->arena),
        .pools = objective->pools.of_node,
        .node_count = view->node_count,
        .pool_count = objective->pools.count,
        .jobs = objective->jobs,
        .job_count = objective->count,
        .seed = view->seed,
        .work = view->budget,
    };
    struct solver_conflict conflict;
    if (!problem.slots || plan_reset (plan, view->job_count) < 0)
        return fail (err, -ENOMEM, "no memory for a plan of %d jobs", view->job_count);
    int rc = solver_solve (solver, &problem, ret, &conflict, err);
    if (rc == -EINVAL)
        return fail (err, rc,
                     "infeasible: job %s is pinned with %d replicas on node %s, which has %d free "
                     "for it",
                     view->jobs[conflict.job]->spec.name, conflict.replicas,
                     view->nodes[conflict.node].name, conflict.free);
    if (rc < 0)
        return rc;
    for (int i = 0; i < objective->count; i++) {
        if (plan_place (plan, i, ret->placements[i]) < 0)
            return fail (err, -ENOMEM, "no memory for a plan of %d jobs", view->job_count);
        int option = objective_option (objective, i, ret->placements[i]);
        plan->speedups[i] = objective->options[i].speedups[option];
        if (x)
            x[i] = objective_x (objective, i, option);
    }
    return 0;
}
