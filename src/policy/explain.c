/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explanations: the present state, the goodput curve and the limits of a job.  explain_change.c has
 * one more and one less.  Costs about four searches for a best batch per job of the view, plus what
 * the policy's values cost.
 */
#include "policy/explain.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/explain_private.h"
#include "policy/informed_view.h"
#include "policy/revocations.h"
#include "policy/speedup.h"

const char *explain_plural (int count)
{
    return count == 1 ? "" : "s";
}

/* ---- Jobs with some count ----------------------------------------------------------------- */

static struct job_model model_in (const struct explainer *explainer, int index, int pool)
{
    return job_model_on (explainer->view->jobs[index], &explainer->pools, pool, &explainer->ratios);
}

/* Whether the job has a model, but none that says how fast it is in this pool. */
static bool is_guessed (const struct explainer *explainer, int index, int pool)
{
    struct job_model model = model_in (explainer, index, pool);
    return model.known && model.source == MODEL_GUESSED;
}

/* The best batch of a job on a shape of a pool. */
static int best_in (const struct explainer *explainer, int index, int pool,
                    struct pollux_shape shape, struct pollux_best *ret, struct pollux_error *err)
{
    struct job_model model = model_in (explainer, index, pool);
    *ret = (struct pollux_best){.goodput = shape.replicas * model.speed};
    if (!model.known || shape.replicas == 0)
        return 0;
    struct pollux_error why;
    int rc = pollux_best_batch (&model.model, model.grad, &model.limits, explainer->view->search,
                                shape, ret, &why);
    return rc < 0
               ? fail (err, rc, "job %s: %.180s", explainer->view->jobs[index]->spec.name, why.text)
               : 0;
}

int explain_best_on (const struct explainer *explainer, int index, struct pollux_shape shape,
                     struct pollux_best *ret, struct pollux_error *err)
{
    return best_in (explainer, index, explainer->pool_of[index], shape, ret, err);
}

/* As few nodes of a pool as the replicas need. */
static struct pollux_shape shape_in (const struct explainer *explainer, int pool, int replicas)
{
    int node_slots = explainer->pools.list[pool].node_slots; /* 0: all its nodes are drained */
    return (struct pollux_shape){.nodes = replicas > 1 && replicas > node_slots ? 2 : 1,
                                 .replicas = replicas};
}

struct pollux_shape explain_shape (const struct explainer *explainer, int index, int replicas)
{
    return shape_in (explainer, explainer->pool_of[index], replicas);
}

int explain_best_with (const struct explainer *explainer, int index, int replicas,
                       struct pollux_best *ret, struct pollux_error *err)
{
    return explain_best_on (explainer, index, explain_shape (explainer, index, replicas), ret, err);
}

/* The part of its goodput that revocations leave a job on a shape of a pool. */
static double kept_in (const struct explainer *explainer, int index, int pool,
                       struct pollux_shape shape)
{
    double delay_s = view_restart_delay (explainer->view, explainer->view->jobs[index]);
    return revocations_leave (revocations_in (&explainer->pools.list[pool], shape), delay_s);
}

struct job_value explain_value (const struct explainer *explainer, int index,
                                struct pollux_shape shape, double goodput, bool moves)
{
    int pool = explainer->pool_of[index];
    goodput *= kept_in (explainer, index, pool, shape);
    return explainer->policy->values->value (explainer->prepared, index, pool, shape.replicas,
                                             goodput, moves);
}

struct explain_trust explain_trust_of (const struct explainer *explainer, int index)
{
    const struct job *job = explainer->view->jobs[index];
    const struct hints *hints = &job->hints;
    struct explain_trust trust = {.profiled = hints->max_profiled_replicas};
    for (int i = 0; i < hints->other_count && trust.profiled >= 0; i++)
        if (hints->others[i].max_profiled_replicas > trust.profiled)
            trust.profiled = hints->others[i].max_profiled_replicas;
    if (is_guessed (explainer, index, explainer->pool_of[index]))
        trust.profiled = 0;
    int64_t most = trust.trusted = job_trusted_with (job, trust.profiled);
    if (hints->limits.init_batch > 0 && hints->limits.max_batch / hints->limits.min_local < most)
        most = hints->limits.max_batch / hints->limits.min_local;
    trust.most = (int)most;
    return trust;
}

struct explain_point explain_point_of (const struct explainer *explainer, int index, int replicas,
                                       struct pollux_best best)
{
    const struct job *job = explainer->view->jobs[index];
    struct explain_point point = {
        .replicas = replicas, .goodput = NAN, .speedup = NAN, .eta_s = NAN};
    if (!job->hints.has_model || is_guessed (explainer, index, explainer->pool_of[index]))
        return point;
    double fair = explainer->fair_goodput;
    point.goodput = replicas > 0 ? best.goodput : 0;
    point.speedup = fair > 0 ? point.goodput / fair : NAN;
    point.batch = best.batch;
    point.total_batch =
        pollux_total_batch ((struct pollux_shape){.nodes = 1, .replicas = replicas}, best.batch);
    double left = job_remaining (job);
    if (!isnan (left) && point.goodput > 0)
        point.eta_s = left * (double)job->hints.limits.init_batch / point.goodput;
    return point;
}

/* ---- The plan ----------------------------------------------------------------------------- */

void explainer_free (struct explainer *explainer)
{
    if (!explainer)
        return;
    if (explainer->prepared)
        explainer->policy->values->release (explainer->prepared);
    free (explainer->planned);
    free (explainer->changed);
    free (explainer->planned_values);
    free (explainer->changed_values);
    arena_clear (&explainer->arena);
    free (explainer);
}

/* The pool that a job runs in, or else the one with the largest goodput for its fair share. */
static int find_pool (const struct explainer *explainer, int index)
{
    const struct pools *pools = &explainer->pools;
    struct placement planned = plan_placement (explainer->plan, index);
    if (planned.count == 0)
        planned = explainer->view->jobs[index]->placement;
    if (planned.count > 0)
        return pools->of_node[planned.shares[0].node];
    int best = 0;
    double most = 0;
    for (int i = 0; i < pools->count && pools->count > 1; i++) {
        struct job_model model = model_in (explainer, index, i);
        double goodput = fair_goodput_on (&model, explainer->view->search, explainer->fair) *
                         kept_in (explainer, index, i, shape_in (explainer, i, explainer->fair));
        if (pools->list[i].slots > 0 && model.most_replicas > 0 && goodput > most) {
            best = i;
            most = goodput;
        }
    }
    return best;
}

/* A job as planned. */
static int add_planned (struct explainer *explainer, int index, struct pollux_error *err)
{
    const struct view *view = explainer->view;
    const struct job *job = view->jobs[index];
    struct placement placement = plan_placement (explainer->plan, index);
    struct pollux_best best;
    explainer->pool_of[index] = find_pool (explainer, index);
    struct pollux_shape shape = placement_shape (placement);
    int rc = explain_best_on (explainer, index, shape, &best, err);
    if (rc < 0)
        return rc;
    int replicas = shape.replicas;
    double goodput = replicas > 0 ? best.goodput : 0;
    explainer->planned[index] =
        (struct explain_state){.replicas = replicas, .goodput = goodput, .step_to = -1};
    if (explainer->prepared)
        explainer->planned_values[index] = explain_value (
            explainer, index, shape, goodput, !placement_same (placement, job->placement));
    for (int i = 0; i < placement.count; i++)
        if (view->nodes[placement.shares[i].node].available)
            explainer->free[explainer->pools.of_node[placement.shares[i].node]] -=
                placement.shares[i].replicas;
    return 0;
}

static int fill (struct explainer *explainer, struct pollux_error *err)
{
    const struct view *view = explainer->view;
    size_t count = (size_t)view->job_count + 1;
    explainer->planned = calloc (count, sizeof (explainer->planned[0]));
    explainer->changed = calloc (count, sizeof (explainer->changed[0]));
    explainer->planned_values = calloc (count, sizeof (explainer->planned_values[0]));
    explainer->changed_values = calloc (count, sizeof (explainer->changed_values[0]));
    explainer->pool_of = arena_take (&explainer->arena, count, sizeof (explainer->pool_of[0]));
    if (!explainer->planned || !explainer->changed || !explainer->planned_values ||
        !explainer->changed_values || !explainer->pool_of ||
        (explainer->policy->revocations ? pools_make : pools_make_by_type) (
            view->nodes, view->node_count, &explainer->arena, &explainer->pools) < 0 ||
        type_ratios_make (view, &explainer->pools, &explainer->arena, &explainer->ratios) < 0)
        return fail (err, -ENOMEM, "no memory for %d jobs", view->job_count);
    explainer->free =
        arena_take (&explainer->arena, (size_t)explainer->pools.count, sizeof (explainer->free[0]));
    if (!explainer->free)
        return fail (err, -ENOMEM, "no memory for %d types", explainer->pools.count);
    for (int i = 0; i < explainer->pools.count; i++)
        explainer->free[i] = explainer->pools.list[i].slots;
    int rc = explainer->policy->values
                 ? explainer->policy->values->prepare (view, &explainer->prepared, err)
                 : 0;
    for (int i = 0; rc == 0 && i < view->job_count; i++)
        rc = add_planned (explainer, i, err);
    for (int i = 0; i < explainer->pools.count; i++)
        explainer->free[i] = explainer->free[i] > 0 ? explainer->free[i] : 0;
    return rc;
}

int explainer_new (const struct policy *policy, const struct view *view, const struct plan *plan,
                   struct explainer **ret, struct pollux_error *err)
{
    struct explainer *explainer = calloc (1, sizeof (*explainer));
    if (!explainer)
        return fail (err, -ENOMEM, "no memory for an explanation");
    *explainer = (struct explainer){
        .policy = policy, .view = view, .plan = plan, .fair = fair_replicas (view)};
    int rc = fill (explainer, err);
    if (rc < 0)
        explainer_free (explainer);
    else
        *ret = explainer;
    return rc;
}

/* ---- The curve ---------------------------------------------------------------------------- */

/* All counts up to 64, then steps that grow with the count: few points for a long curve. */
static int next_shown (int replicas)
{
    return replicas < 64 ? replicas + 1 : replicas + replicas / 4;
}

static int curve_make (const struct explainer *explainer, int index, struct explanation *ret,
                       struct pollux_error *err)
{
    const struct job *job = explainer->view->jobs[index];
    const struct pool *pool = &explainer->pools.list[explainer->pool_of[index]];
    int slots = job_allows_type (job, pool->type) ? pool->slots : 0;
    int most = job->spec.max_replicas < slots ? job->spec.max_replicas : slots;
    int count = 0;
    for (int from = 1; from <= most && count < EXPLAIN_POINTS;) {
        int replicas = job_next_replicas (job, from - 1); /* the first allowed one from `from` on */
        if (replicas == 0 || replicas > most)
            break;
        struct pollux_best best;
        int rc = explain_best_with (explainer, index, replicas, &best, err);
        if (rc < 0)
            return rc;
        ret->curve[count++] = explain_point_of (explainer, index, replicas, best);
        from = next_shown (replicas);
    }
    ret->curve_count = count;
    return 0;
}

/* ---- Other types -------------------------------------------------------------------------- */

/* The job in another pool, compared with its present goodput. */
static int type_make (const struct explainer *explainer, int index, int pool, double goodput,
                      struct explain_type *ret, struct pollux_error *err)
{
    const struct pool *size = &explainer->pools.list[pool];
    struct job_model model = model_in (explainer, index, pool);
    int home = explainer->pool_of[index];
    int most = explainer->planned[index].replicas;
    most = most < model.most_replicas ? most : model.most_replicas;
    most = most < size->slots ? most : size->slots;
    *ret = (struct explain_type){
        .replicas = job_fit_replicas (explainer->view->jobs[index], most),
        .revocable = size->revocations_per_s > 0,
        .known =
            model.known && model.source != MODEL_GUESSED && !is_guessed (explainer, index, home),
        .predicted = model.source == MODEL_PREDICTED ||
                     model_in (explainer, index, home).source == MODEL_PREDICTED,
        .goodput = NAN,
    };
    const struct job *job = explainer->view->jobs[index];
    const struct pool *own = &explainer->pools.list[home];
    double ratio = size->like == own->like
                       ? 1
                       : job_type_speed (job, size->type) / job_type_speed (job, own->type);
    if (!model.known && isfinite (ratio)) { /* its owner says how fast it is */
        ret->known = ret->predicted = true;
        ret->goodput = ratio * ret->replicas / explainer->planned[index].replicas;
    }
    memcpy (ret->type, size->type, NAME_SIZE);
    struct pollux_shape shape = shape_in (explainer, pool, ret->replicas);
    struct pollux_best best;
    int rc = best_in (explainer, index, pool, shape, &best, err);
    if (rc == 0 && model.known && ret->known && ret->replicas > 0 && goodput > 0)
        ret->goodput = best.goodput / goodput;
    struct pollux_shape now = placement_shape (plan_placement (explainer->plan, index));
    ret->goodput *= kept_in (explainer, index, pool, shape) / kept_in (explainer, index, home, now);
    return rc;
}

static int types_make (const struct explainer *explainer, int index, struct explanation *ret,
                       struct pollux_error *err)
{
    const struct pools *pools = &explainer->pools;
    int rc = 0, own = explainer->pool_of[index];
    if (pools->count == 1 || ret->current.replicas == 0)
        return 0;
    memcpy (ret->type, pools->list[own].type, NAME_SIZE);
    ret->revocable = pools->list[own].revocations_per_s > 0;
    for (int i = 0; rc == 0 && i < pools->count; i++) {
        if (i == own || pools->list[i].slots == 0 ||
            !job_allows_type (explainer->view->jobs[index], pools->list[i].type))
            continue;
        if (ret->type_count < EXPLAIN_TYPES)
            rc = type_make (explainer, index, i, ret->current.goodput,
                            &ret->types[ret->type_count++], err);
        else
            ret->more_types++;
    }
    return rc;
}

/* ---- Limits ------------------------------------------------------------------------------- */

static void add_limit (struct explanation *ret, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
static void add_limit (struct explanation *ret, const char *format, ...)
{
    if (ret->limit_count == EXPLAIN_LIMITS)
        return;
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (ret->limits[ret->limit_count++], EXPLAIN_SENTENCE, format, arguments);
    va_end (arguments);
}

static void find_model_limits (const struct job *job, struct explanation *ret)
{
    if (job_pinned (job))
        add_limit (ret, "It is not preemptible: it keeps what it has until it ends.");
    if (!job->hints.has_model && job->spec.adaptive)
        add_limit (ret,
                   "It has not reported a model yet: until then it gets the fewest replicas that "
                   "it can run with.");
    else if (!job->hints.has_model)
        add_limit (ret, "It reports no model: twice the replicas count as twice the speed.");
    if (job->evidence > 0)
        add_limit (
            ret,
            "Until it has measured more itself, %d other job%s of its application count%s too.",
            job->evidence, job->evidence == 1 ? "" : "s", job->evidence == 1 ? "s" : "");
}

static void find_size_limits (const struct explainer *explainer, int index, struct explanation *ret)
{
    const struct job *job = explainer->view->jobs[index];
    const struct job_spec *spec = &job->spec;
    struct explain_trust trust = explain_trust_of (explainer, index);
    int replicas = explainer->planned[index].replicas, trusted = trust.trusted, most = trust.most;
    bool held_by_trust = replicas > 0 && job->hints.has_model && trusted < spec->max_replicas &&
                         job_next_replicas (job, replicas) > trusted;
    if (replicas > 0 && replicas == spec->max_replicas)
        add_limit (ret, "It has its maximum of %d replica%s.", spec->max_replicas,
                   explain_plural (spec->max_replicas));
    else if (held_by_trust && trust.profiled == 0)
        add_limit (ret, "It is not measured yet: until then it gets the fewest replicas that it "
                        "can run with.");
    else if (held_by_trust)
        add_limit (ret,
                   "It has been measured with up to %d replica%s so far; it may have at most twice "
                   "as many until it has run with more.",
                   trust.profiled, explain_plural (trust.profiled));
    if (most < trusted && job_next_replicas (job, replicas) > most)
        add_limit (
            ret, "Its batch limits (max_batch %lld, min_local %lld) feed at most %d replicas.",
            (long long)job->hints.limits.max_batch, (long long)job->hints.limits.min_local, most);
    if (replicas > 0 && replicas == spec->min_replicas)
        add_limit (ret, "It has its minimum of %d replica%s: with fewer it would have to stop.",
                   spec->min_replicas, explain_plural (spec->min_replicas));
    if (spec->allowed.kind == ALLOWED_POW2)
        add_limit (ret, "It runs with powers of two only.");
    else if (spec->allowed.kind == ALLOWED_MULTIPLE && spec->allowed.multiple > 1)
        add_limit (ret, "It runs with multiples of %d only.", spec->allowed.multiple);
    else if (spec->allowed.kind == ALLOWED_LIST)
        add_limit (ret, "It runs with %d listed counts only.", spec->allowed.count);
}

static void find_type_limits (const struct job *job, struct explanation *ret)
{
    const struct allowed_types *types = &job->spec.types;
    char list[EXPLAIN_SENTENCE / 2] = "";
    size_t length = 0;
    for (int i = 0; i < types->count && length < sizeof (list); i++)
        length += (size_t)snprintf (list + length, sizeof (list) - length, "%s%s",
                                    i > 0 ? ", " : "", types->list[i]);
    if (types->count > 0)
        add_limit (ret, "It runs on %s only: %s.",
                   types->except ? "types of nodes other than these" : "these types of nodes",
                   list);
}

/* "3 times a day"; of revocations per second. */
static void rate_text (double per_s, char *ret, size_t size)
{
    double per_day = per_s * 86400;
    if (per_day >= 10)
        snprintf (ret, size, "%.0f times a day", per_day);
    else if (per_day >= 1.5)
        snprintf (ret, size, "%.2g times a day", per_day);
    else if (per_day > 0.75)
        snprintf (ret, size, "once a day");
    else
        snprintf (ret, size, "once in %.2g days", 1 / per_day);
}

static void find_revocations (const struct explainer *explainer, int index, struct explanation *ret)
{
    const struct view *view = explainer->view;
    double per_s = revocations_on (view, plan_placement (explainer->plan, index));
    double kept = revocations_leave (per_s, view_restart_delay (view, view->jobs[index]));
    char rate[64];
    if (!(per_s > 0))
        return;
    rate_text (per_s, rate, sizeof (rate));
    add_limit (ret,
               "Its nodes may be taken back: it is expected to restart %s for this reason, which "
               "costs %.2g %% of its goodput.",
               rate, 100 * (1 - kept));
}

/* The goodput of a job with its fair share, over all types. */
static int find_fair_goodput (struct explainer *explainer, int index, struct pollux_error *err)
{
    size_t count = (size_t)explainer->pools.count;
    struct job_model *models = malloc (count * sizeof (models[0]));
    if (!models)
        return fail (err, -ENOMEM, "no memory for %zu types", count);
    for (int i = 0; i < explainer->pools.count; i++)
        models[i] = model_in (explainer, index, i);
    explainer->fair_goodput =
        fair_goodput (models, &explainer->pools, explainer->view->search, explainer->fair);
    free (models);
    return 0;
}

/* ---- The whole ---------------------------------------------------------------------------- */

int explain (struct explainer *explainer, int index, struct explanation *ret,
             struct pollux_error *err)
{
    const struct job *job = explainer->view->jobs[index];
    struct explanation *all = calloc (1, sizeof (*all)); /* 20 KiB */
    struct pollux_best best;
    struct placement placement = plan_placement (explainer->plan, index);
    int rc = all ? explain_best_on (explainer, index, placement_shape (placement), &best, err)
                 : fail (err, -ENOMEM, "no memory for an explanation");
    if (rc == 0)
        rc = find_fair_goodput (explainer, index, err);
    if (rc == 0) {
        all->job = job;
        all->index = index;
        all->policy = explainer->policy->name;
        all->has_objective = explainer->prepared != NULL;
        all->has_model = job->hints.has_model;
        all->fair = explainer->fair;
        all->fitness = explainer->prepared ? explainer->policy->values->fitness (
                                                 explainer->prepared, explainer->planned_values)
                                           : NAN;
        all->current =
            explain_point_of (explainer, index, explainer->planned[index].replicas, best);
        rc = curve_make (explainer, index, all, err);
    }
    if (rc == 0)
        rc = types_make (explainer, index, all, err);
    if (rc == 0)
        rc = explain_more (explainer, index, &all->more, err);
    if (rc == 0)
        rc = explain_less (explainer, index, &all->less, err);
    if (rc == 0) {
        find_model_limits (job, all);
        find_size_limits (explainer, index, all);
        find_type_limits (job, all);
        find_revocations (explainer, index, all);
        *ret = *all;
    }
    free (all);
    return rc;
}

int explain_present (const struct policy *policy, const struct view *view, int job,
                     struct explanation *ret, struct pollux_error *err)
{
    struct explainer *explainer = NULL;
    struct informed_view informed = {0};
    struct plan plan = {0};
    int rc = informed_view_new (view, &informed);
    if (rc == 0)
        rc = plan_reset (&plan, view->job_count);
    for (int i = 0; rc == 0 && i < view->job_count; i++) {
        const struct job *it = view->jobs[i];
        rc = plan_place (&plan, i, it->placement.count > 0 ? it->placement : it->desired);
    }
    if (rc < 0)
        fail (err, rc, "no memory for a plan of %d jobs", view->job_count);
    if (rc == 0)
        rc = explainer_new (policy, &informed.view, &plan, &explainer, err);
    if (rc == 0)
        rc = explain (explainer, job, ret, err);
    if (rc == 0)
        ret->job = view->jobs[job]; /* not the informed copy, which is freed */
    explainer_free (explainer);
    plan_clear (&plan);
    informed_view_clear (&informed);
    return rc;
}
