/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of an explanation.  All jobs are valued as the objective of policy pollux values
 * them,
 *
 *     x = speedup x nodes/slots, x restart factor where the count changes,
 *
 * so that "who would have to give a slot" is the job whose loss is least, and "who could use it"
 * the one whose gain is largest.  Costs about four searches for a best batch per job of the view.
 */
#include "policy/explain.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "policy/speedup.h"

/* So many small steps are looked for; more is a change that nobody calls one more. */
enum { EXPLAIN_STEPS = 256 };

/* What all questions have in common. */
struct scene {
    const struct view *view;
    int slots, nodes, node_most, fair, free;
    double per_speedup;
    double p; /* the view's, within what powers can take */
    struct stand {
        int replicas;
        double fair; /* goodput of its fair share */
        double x;
    } * stands; /* by job: as it is */
    struct imagined {
        int replicas;
        double x;
        int step_to;      /* the next smaller count; -1: not asked yet */
        double step_loss; /* of value per slot */
    } * imagined;         /* by job: as it would be */
};

/* ---- Jobs with some count ----------------------------------------------------------------- */

/* Where the job is, or will be. */
static struct placement held_by (const struct job *job)
{
    return job->placement.count > 0 ? job->placement : job->desired;
}

/* The best batch on a shape; without a model goodput is the number of replicas. */
static int best_on (const struct scene *scene, const struct job *job, struct pollux_shape shape,
                    struct pollux_best *ret, struct pollux_error *err)
{
    const struct hints *hints = &job->hints;
    *ret = (struct pollux_best){.goodput = shape.replicas};
    if (!hints->has_model || shape.replicas == 0)
        return 0;
    struct pollux_error why;
    int rc = pollux_best_batch (&hints->model, hints->grad, &hints->limits, scene->view->search,
                                shape, ret, &why);
    return rc < 0 ? fail (err, rc, "job %s: %.180s", job->spec.name, why.text) : 0;
}

/* The same with so many replicas, on as few nodes as they need. */
static int best_with (const struct scene *scene, const struct job *job, int replicas,
                      struct pollux_best *ret, struct pollux_error *err)
{
    struct pollux_shape shape = {.nodes = replicas > scene->node_most ? 2 : 1,
                                 .replicas = replicas};
    return best_on (scene, job, shape, ret, err);
}

static double x_of (const struct scene *scene, int index, double goodput, bool moves)
{
    const struct stand *stand = &scene->stands[index];
    double speedup = stand->fair > 0 ? goodput / stand->fair : 0;
    double kept = moves ? restart_factor (scene->view, scene->view->jobs[index]) : 1;
    return speedup * scene->per_speedup * kept;
}

/* x of a job with another count than it has. */
static int x_with (const struct scene *scene, int index, int replicas, double *ret,
                   struct pollux_error *err)
{
    struct pollux_best best;
    int rc = best_with (scene, scene->view->jobs[index], replicas, &best, err);
    if (rc == 0)
        *ret = x_of (scene, index, replicas > 0 ? best.goodput : 0, true);
    return rc;
}

/* A job's term of the sum that is to be large. */
static double value_of (const struct scene *scene, int index, double x)
{
    double p = isinf (scene->p) ? FITNESS_LEAST_P : scene->p;
    double term = fitness_term (p, scene->view->jobs[index]->spec.weight, x);
    return p < 0 ? -term : term;
}

/* ---- The scene ---------------------------------------------------------------------------- */

static void scene_clear (struct scene *scene)
{
    free (scene->stands);
    free (scene->imagined);
}

static int stand_make (struct scene *scene, int index, struct pollux_error *err)
{
    const struct job *job = scene->view->jobs[index];
    struct placement held = held_by (job);
    struct pollux_best best;
    int rc = best_on (scene, job, placement_shape (held), &best, err);
    if (rc < 0)
        return rc;
    struct stand *stand = &scene->stands[index];
    stand->replicas = placement_replicas (held);
    stand->fair = fair_goodput (job, scene->view->search, scene->fair);
    stand->x = x_of (scene, index, stand->replicas > 0 ? best.goodput : 0, false);
    for (int i = 0; i < held.count; i++)
        if (scene->view->nodes[held.shares[i].node].available)
            scene->free -= held.shares[i].replicas;
    return 0;
}

static int scene_make (const struct view *view, struct scene *ret, struct pollux_error *err)
{
    struct scene scene = {.view = view,
                          .slots = view_slots (view),
                          .nodes = view_nodes (view),
                          .fair = fair_replicas (view),
                          .p = view->p < FITNESS_LEAST_P && !isinf (view->p) ? FITNESS_LEAST_P
                                                                             : view->p};
    scene.free = scene.slots;
    scene.per_speedup = scene.slots > 0 ? (double)scene.nodes / scene.slots : 0;
    for (int i = 0; i < view->node_count; i++)
        if (view->nodes[i].available && view->nodes[i].slots > scene.node_most)
            scene.node_most = view->nodes[i].slots;
    scene.stands = calloc ((size_t)view->job_count + 1, sizeof (scene.stands[0]));
    scene.imagined = calloc ((size_t)view->job_count + 1, sizeof (scene.imagined[0]));
    int rc = scene.stands && scene.imagined
                 ? 0
                 : fail (err, -ENOMEM, "no memory for %d jobs", view->job_count);
    for (int i = 0; rc == 0 && i < view->job_count; i++)
        rc = stand_make (&scene, i, err);
    if (rc < 0) {
        scene_clear (&scene);
        return rc;
    }
    scene.free = scene.free > 0 ? scene.free : 0;
    *ret = scene;
    return 0;
}

/* ---- The curve ---------------------------------------------------------------------------- */

static struct explain_point point_of (const struct scene *scene, int index, int replicas,
                                      struct pollux_best best)
{
    const struct job *job = scene->view->jobs[index];
    struct explain_point point = {
        .replicas = replicas, .goodput = NAN, .speedup = NAN, .eta_s = NAN};
    if (!job->hints.has_model)
        return point;
    double goodput = replicas > 0 ? best.goodput : 0;
    double fair = scene->stands[index].fair;
    point.goodput = goodput;
    point.speedup = fair > 0 ? goodput / fair : NAN;
    point.batch = best.batch;
    point.total_batch =
        pollux_total_batch ((struct pollux_shape){.nodes = 1, .replicas = replicas}, best.batch);
    double left = job_remaining (job);
    if (!isnan (left) && goodput > 0)
        point.eta_s = left * (double)job->hints.limits.init_batch / goodput;
    return point;
}

/* All counts up to 64, then steps that grow with the count, so that few points reach far. */
static int next_shown (int replicas)
{
    return replicas < 64 ? replicas + 1 : replicas + replicas / 4;
}

static int curve_make (const struct scene *scene, int index, struct explanation *ret,
                       struct pollux_error *err)
{
    const struct job *job = scene->view->jobs[index];
    int most = job->spec.max_replicas < scene->slots ? job->spec.max_replicas : scene->slots;
    int count = 0;
    for (int from = 1; from <= most && count < EXPLAIN_POINTS;) {
        int replicas = job_next_replicas (job, from - 1); /* the first allowed one from there on */
        if (replicas == 0 || replicas > most)
            break;
        struct pollux_best best;
        int rc = best_with (scene, job, replicas, &best, err);
        if (rc < 0)
            return rc;
        ret->curve[count++] = point_of (scene, index, replicas, best);
        from = next_shown (replicas);
    }
    ret->curve_count = count;
    return 0;
}

const char *plural (int count)
{
    return count == 1 ? "" : "s";
}

static int impossible (struct explain_change *ret, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
/* Always 0: that it cannot be is an answer. */
static int impossible (struct explain_change *ret, const char *format, ...)
{
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (ret->why, sizeof (ret->why), format, arguments);
    va_end (arguments);
    return 0;
}

/* ---- What if ------------------------------------------------------------------------------ */

/* Begin with all jobs as they are. */
static void imagine_present (struct scene *scene)
{
    for (int i = 0; i < scene->view->job_count; i++)
        scene->imagined[i] = (struct imagined){
            .replicas = scene->stands[i].replicas, .x = scene->stands[i].x, .step_to = -1};
}

static int imagine (struct scene *scene, int index, int replicas, struct pollux_error *err)
{
    struct imagined *imagined = &scene->imagined[index];
    imagined->replicas = replicas;
    imagined->step_to = -1;
    if (replicas != scene->stands[index].replicas)
        return x_with (scene, index, replicas, &imagined->x, err);
    imagined->x = scene->stands[index].x;
    return 0;
}

/* Could the job give slots, and what would the sum lose per slot if it went down to its next
 * smaller count?  Known once it was asked, until the job's count changes. */
static int ask_giver (struct scene *scene, int index, struct pollux_error *err)
{
    struct imagined *imagined = &scene->imagined[index];
    const struct job *job = scene->view->jobs[index];
    if (imagined->step_to >= 0)
        return 0;
    imagined->step_to = imagined->replicas;
    imagined->step_loss = INFINITY;
    if (imagined->replicas == 0 || job_pinned (job) || job->phase == JOB_CANCELLING)
        return 0;
    int to = job_fit_replicas (job, imagined->replicas - 1);
    double x = 0;
    int rc = x_with (scene, index, to, &x, err);
    if (rc < 0)
        return rc;
    imagined->step_to = to;
    imagined->step_loss = (value_of (scene, index, imagined->x) - value_of (scene, index, x)) /
                          (imagined->replicas - to);
    return 0;
}

/* Let others give so many slots, each time whoever loses least.  1 if they can, 0 if not. */
static int collect_slots (struct scene *scene, int taker, int needed, struct pollux_error *err)
{
    for (int steps = 0; needed > 0 && steps < EXPLAIN_STEPS; steps++) {
        int giver = -1;
        for (int i = 0; i < scene->view->job_count; i++) {
            int rc = i == taker ? 0 : ask_giver (scene, i, err);
            if (rc < 0)
                return rc;
            if (i != taker && isfinite (scene->imagined[i].step_loss) &&
                (giver < 0 || scene->imagined[i].step_loss < scene->imagined[giver].step_loss))
                giver = i;
        }
        if (giver < 0)
            return 0;
        int to = scene->imagined[giver].step_to;
        needed -= scene->imagined[giver].replicas - to;
        int rc = imagine (scene, giver, to, err);
        if (rc < 0)
            return rc;
    }
    return needed <= 0;
}

/* Let the one who gains most have some of so many slots; nobody if nobody gains. */
static int give_slots (struct scene *scene, int giver, int slots, struct pollux_error *err)
{
    int taker = -1, taken = 0;
    double most = 0;
    for (int i = 0; i < scene->view->job_count; i++) {
        const struct job *job = scene->view->jobs[i];
        int from = scene->stands[i].replicas, to = job_next_replicas (job, from);
        if (i == giver || to == 0 || to - from > slots || job_pinned (job) ||
            job->phase == JOB_CANCELLING || to > job_most_replicas (job))
            continue;
        double x = 0;
        int rc = x_with (scene, i, to, &x, err);
        if (rc < 0)
            return rc;
        double gain = value_of (scene, i, x) - value_of (scene, i, scene->stands[i].x);
        if (gain > most) {
            most = gain;
            taker = i;
            taken = to;
        }
    }
    return taker < 0 ? 0 : imagine (scene, taker, taken, err);
}

/* Who else has another count than now, and what all this does to the fitness. */
static void conclude (const struct scene *scene, int index, struct explain_change *change)
{
    double sum = fitness_none (scene->p), weights = 0;
    for (int i = 0; i < scene->view->job_count; i++) {
        const struct job *job = scene->view->jobs[i];
        const struct imagined *imagined = &scene->imagined[i];
        const struct stand *stand = &scene->stands[i];
        sum = fitness_add (scene->p, sum, fitness_term (scene->p, job->spec.weight, imagined->x));
        weights += job->spec.weight;
        if (i == index || imagined->replicas == stand->replicas)
            continue;
        if (change->other_count++ >= EXPLAIN_OTHERS)
            continue;
        struct explain_other *other = &change->others[change->other_count - 1];
        *other = (struct explain_other){
            .from = stand->replicas, .to = imagined->replicas, .goodput = NAN};
        snprintf (other->name, sizeof (other->name), "%s", job->spec.name);
        double kept = restart_factor (scene->view, job);
        if (job->hints.has_model && stand->x > 0)
            other->goodput = imagined->replicas == 0 ? 0 : imagined->x / kept / stand->x;
    }
    change->fitness = weights > 0 ? fitness_mean (scene->p, sum, weights) : NAN;
}

/* The job itself with another count. */
static int imagine_self (struct scene *scene, int index, int replicas, struct explain_change *ret,
                         struct pollux_error *err)
{
    struct pollux_best best;
    int rc = best_with (scene, scene->view->jobs[index], replicas, &best, err);
    if (rc < 0)
        return rc;
    const struct stand *stand = &scene->stands[index];
    ret->point = point_of (scene, index, replicas, best);
    double now = scene->per_speedup > 0 ? stand->x / scene->per_speedup : 0; /* its speedup */
    ret->goodput = now > 0 ? ret->point.speedup / now : NAN;
    imagine_present (scene);
    return imagine (scene, index, replicas, err);
}

static int explain_more (struct scene *scene, int index, struct explain_change *ret,
                         struct pollux_error *err)
{
    const struct job *job = scene->view->jobs[index];
    int from = scene->stands[index].replicas, to = job_next_replicas (job, from);
    *ret = (struct explain_change){.goodput = NAN, .fitness = NAN, .point.replicas = to};
    if (to == 0)
        return impossible (ret, "its limits allow no more than %d replica%s", from, plural (from));
    if (job_pinned (job))
        return impossible (ret, "it is not preemptible, so it stays as it is until it ends");
    if (to > scene->slots)
        return impossible (ret, "the nodes that take replicas have %d slots in all", scene->slots);
    if (to > job_trusted_replicas (job))
        return impossible (ret,
                           "it has been measured with up to %d replica%s, and its model is trusted "
                           "up to twice that",
                           job->hints.max_profiled_replicas,
                           plural (job->hints.max_profiled_replicas));
    if (to > job_most_replicas (job))
        return impossible (ret, "with %d replicas its batch limits leave too few samples for each",
                           to);
    int rc = imagine_self (scene, index, to, ret, err);
    if (rc < 0)
        return rc;
    int needed = to - from;
    ret->free = needed < scene->free ? needed : scene->free;
    rc = collect_slots (scene, index, needed - ret->free, err);
    if (rc < 0)
        return rc;
    ret->possible = rc == 1;
    if (ret->possible)
        conclude (scene, index, ret);
    else
        return impossible (ret, "%d of the %d slots are free, and no other job can give any",
                           ret->free, needed);
    return 0;
}

static int explain_less (struct scene *scene, int index, struct explain_change *ret,
                         struct pollux_error *err)
{
    const struct job *job = scene->view->jobs[index];
    int from = scene->stands[index].replicas;
    *ret = (struct explain_change){.goodput = NAN, .fitness = NAN};
    if (from == 0)
        return impossible (ret, "it has no slots");
    if (job_pinned (job))
        return impossible (ret, "it is not preemptible, so it stays as it is until it ends");
    int to = job_fit_replicas (job, from - 1);
    int rc = imagine_self (scene, index, to, ret, err);
    if (rc == 0)
        rc = give_slots (scene, index, from - to + scene->free, err);
    if (rc < 0)
        return rc;
    ret->possible = true;
    conclude (scene, index, ret);
    return 0;
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

/* Limits that keep the job from a count that it might otherwise have. */
static void find_limits (const struct scene *scene, int index, struct explanation *ret)
{
    const struct job *job = scene->view->jobs[index];
    const struct job_spec *spec = &job->spec;
    int replicas = scene->stands[index].replicas;
    int trusted = job_trusted_replicas (job), most = job_most_replicas (job);
    if (job_pinned (job))
        add_limit (ret, "It is not preemptible: it keeps what it has until it ends.");
    if (!job->hints.has_model && spec->adaptive)
        add_limit (ret,
                   "It has not reported a model yet: until then it gets the fewest replicas that "
                   "it can run with.");
    else if (!job->hints.has_model)
        add_limit (ret, "It reports no model: twice the replicas count as twice the speed.");
    if (replicas > 0 && replicas == spec->max_replicas)
        add_limit (ret, "It has its maximum of %d replica%s.", spec->max_replicas,
                   plural (spec->max_replicas));
    else if (replicas > 0 && job->hints.has_model && trusted < spec->max_replicas &&
             job_next_replicas (job, replicas) > trusted)
        add_limit (ret,
                   "It has been measured with up to %d replica%s so far; it may have at most twice "
                   "as many until it has run with more.",
                   job->hints.max_profiled_replicas, plural (job->hints.max_profiled_replicas));
    if (most < trusted && job_next_replicas (job, replicas) > most)
        add_limit (
            ret, "Its batch limits (max_batch %lld, min_local %lld) feed at most %d replicas.",
            (long long)job->hints.limits.max_batch, (long long)job->hints.limits.min_local, most);
    if (replicas > 0 && replicas == spec->min_replicas)
        add_limit (ret, "It has its minimum of %d replica%s: with fewer it would have to stop.",
                   spec->min_replicas, plural (spec->min_replicas));
    if (spec->allowed.kind == ALLOWED_POW2)
        add_limit (ret, "It runs with powers of two only.");
    else if (spec->allowed.kind == ALLOWED_MULTIPLE && spec->allowed.multiple > 1)
        add_limit (ret, "It runs with multiples of %d only.", spec->allowed.multiple);
    else if (spec->allowed.kind == ALLOWED_LIST)
        add_limit (ret, "It runs with %d listed counts only.", spec->allowed.count);
}

int explain (const struct view *view, int index, struct explanation *ret, struct pollux_error *err)
{
    struct scene scene;
    int rc = scene_make (view, &scene, err);
    if (rc < 0)
        return rc;
    const struct job *job = view->jobs[index];
    struct explanation *all = calloc (1, sizeof (*all)); /* 40 KiB */
    struct pollux_best best;
    rc = all ? best_on (&scene, job, placement_shape (held_by (job)), &best, err)
             : fail (err, -ENOMEM, "no memory for an explanation");
    if (rc == 0) {
        all->job = job;
        all->has_model = job->hints.has_model;
        all->fair = scene.fair;
        all->current = point_of (&scene, index, scene.stands[index].replicas, best);
        imagine_present (&scene);
        struct explain_change none = {0};
        conclude (&scene, index, &none);
        all->fitness = none.fitness;
        rc = curve_make (&scene, index, all, err);
    }
    if (rc == 0)
        rc = explain_more (&scene, index, &all->more, err);
    if (rc == 0)
        rc = explain_less (&scene, index, &all->less, err);
    if (rc == 0) {
        find_limits (&scene, index, all);
        *ret = *all;
    }
    free (all);
    scene_clear (&scene);
    return rc;
}
