/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From hints to offers.  Every count of replicas that a job may have is on offer, on one node and
 * on several; so is its current placement, which alone needs no restart:
 *
 *     x     = best goodput / fair goodput x nodes/slots  (x restart factor where it moves)
 *     value = -w (x + 0.001)^p  p < 0,   w log (x + 0.001)  p = 0,   w (x + 0.001)^p  p > 0
 */
#include "policy/objective.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "policy/speedup.h"

/* What the jobs of a view have in common, and scratch for their curves. */
struct survey {
    const struct view *view;
    int slots, nodes, node_most, fair;
    struct arena *arena;
    struct pollux_best *bests;
    double *one, *many; /* goodput by replicas - 1 */
};

static int best_goodput (const struct job *job, enum pollux_search search,
                         struct pollux_shape shape, double *ret, struct pollux_error *err)
{
    const struct hints *hints = &job->hints;
    if (!hints->has_model) {
        *ret = shape.replicas;
        return 0;
    }
    struct pollux_best best;
    struct pollux_error why;
    int rc =
        pollux_best_batch (&hints->model, hints->grad, &hints->limits, search, shape, &best, &why);
    if (rc < 0)
        return fail (err, rc, "job %s: %.180s", job->spec.name, why.text);
    *ret = best.goodput;
    return 0;
}

/* Best goodput for 1..most replicas on one node or on several. */
static int curve (const struct survey *survey, const struct job *job, bool several, int most,
                  double *goodputs, struct pollux_error *err)
{
    const struct hints *hints = &job->hints;
    if (most < 1)
        return 0;
    if (!hints->has_model) {
        for (int k = 1; k <= most; k++)
            goodputs[k - 1] = several && k == 1 ? 0 : k;
        return 0;
    }
    struct pollux_error why;
    int rc = pollux_curve (&hints->model, hints->grad, &hints->limits, survey->view->search, most,
                           several ? NULL : survey->bests, several ? survey->bests : NULL, &why);
    if (rc < 0)
        return fail (err, rc, "job %s: %.180s", job->spec.name, why.text);
    for (int k = 0; k < most; k++)
        goodputs[k] = survey->bests[k].goodput;
    return 0;
}

/* Are the nodes of a placement there?  Not even a pinned job can stay where they are not. */
static bool on_available (const struct view *view, struct placement current)
{
    for (int i = 0; i < current.count; i++)
        if (!view->nodes[current.shares[i].node].available)
            return false;
    return current.count > 0;
}

/* Could the job stay where it is, alone in the cluster? */
static bool can_keep (const struct view *view, struct placement current)
{
    for (int i = 0; i < current.count; i++)
        if (view->nodes[current.shares[i].node].slots < current.shares[i].replicas)
            return false;
    return on_available (view, current);
}

static void add_offer (struct outlook *outlook, int replicas, enum where where, double speedup)
{
    outlook->offers[outlook->count] = (struct offer){.replicas = replicas, .where = where};
    outlook->speedups[outlook->count++] = speedup;
}

static int outlook_room (struct outlook *outlook, struct arena *arena, int most,
                         struct pollux_error *err)
{
    outlook->offers = arena_take (arena, (size_t)most, sizeof (outlook->offers[0]));
    outlook->speedups = arena_take (arena, (size_t)most, sizeof (outlook->speedups[0]));
    if (!outlook->offers || !outlook->speedups)
        return fail (err, -ENOMEM, "no memory for %d offers", most);
    return 0;
}

static int outlook_pinned (const struct survey *survey, const struct job *job, double fair,
                           struct outlook *ret, struct pollux_error *err)
{
    double goodput = 0;
    struct pollux_shape shape = placement_shape (job->placement);
    int rc = outlook_room (ret, survey->arena, 1, err);
    if (rc == 0)
        rc = best_goodput (job, survey->view->search, shape, &goodput, err);
    if (rc == 0)
        add_offer (ret, shape.replicas, WHERE_KEEP, fair > 0 ? goodput / fair : 0);
    return rc;
}

static int outlook_free (const struct survey *survey, const struct job *job, double fair,
                         struct outlook *ret, struct pollux_error *err)
{
    int most = job_trusted_replicas (job);
    most = most < survey->slots ? most : survey->slots;
    int one_most = most < survey->node_most ? most : survey->node_most;
    int many_most = survey->nodes > 1 ? most : 0;
    int rc = curve (survey, job, false, one_most, survey->one, err);
    if (rc == 0)
        rc = curve (survey, job, true, many_most, survey->many, err);
    if (rc == 0)
        rc = outlook_room (ret, survey->arena, one_most + many_most + 2, err);
    if (rc < 0)
        return rc;
    struct pollux_shape current = {0};
    if (can_keep (survey->view, job->placement))
        current = placement_shape (job->placement);
    add_offer (ret, 0, WHERE_NONE, 0);
    for (int k = 1; k <= most && fair > 0; k++) {
        double one = k <= one_most ? survey->one[k - 1] : 0;
        double many = k <= many_most ? survey->many[k - 1] : 0;
        double kept = current.replicas != k ? 0 : current.nodes == 1 ? one : many;
        if (!(one > 0 || many > 0) || !job_allows (job, k))
            continue;
        if (kept > 0)
            add_offer (ret, k, WHERE_KEEP, kept / fair);
        if (one > 0)
            add_offer (ret, k, WHERE_ONE, one / fair);
        if (many > 0)
            add_offer (ret, k, WHERE_MANY, many / fair);
    }
    return 0;
}

static int survey_make (const struct view *view, struct arena *arena, struct survey *ret)
{
    struct survey survey = {
        .view = view,
        .slots = view_slots (view),
        .nodes = view_nodes (view),
        .fair = fair_replicas (view),
        .arena = arena,
    };
    for (int i = 0; i < view->node_count; i++)
        if (view->nodes[i].available && view->nodes[i].slots > survey.node_most)
            survey.node_most = view->nodes[i].slots;
    int most = 0;
    for (int i = 0; i < view->job_count; i++) {
        int some = job_trusted_replicas (view->jobs[i]);
        most = most > some ? most : some;
    }
    size_t room = (size_t)(most < survey.slots ? most : survey.slots);
    survey.bests = arena_take (arena, room, sizeof (survey.bests[0]));
    survey.one = arena_take (arena, room, sizeof (survey.one[0]));
    survey.many = arena_take (arena, room, sizeof (survey.many[0]));
    if (!survey.bests || !survey.one || !survey.many)
        return -ENOMEM;
    *ret = survey;
    return 0;
}

int objective_make (const struct view *view, struct arena *arena, struct objective *ret,
                    struct pollux_error *err)
{
    size_t count = (size_t)view->job_count;
    struct survey survey;
    struct objective objective = {
        .outlooks = arena_take (arena, count, sizeof (objective.outlooks[0])),
        .jobs = arena_take (arena, count, sizeof (objective.jobs[0])),
        .count = view->job_count,
    };
    if (!objective.outlooks || !objective.jobs || survey_make (view, arena, &survey) < 0)
        return fail (err, -ENOMEM, "no memory for the outlooks of %d jobs", view->job_count);
    objective.per_speedup = survey.slots > 0 ? (double)survey.nodes / survey.slots : 0;
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        struct outlook *outlook = &objective.outlooks[i];
        double fair = fair_goodput (job, view->search, survey.fair);
        *outlook = (struct outlook){.fair = fair, .restart = restart_factor (view, job)};
        int rc = job_pinned (job) && on_available (view, job->placement)
                     ? outlook_pinned (&survey, job, fair, outlook, err)
                     : outlook_free (&survey, job, fair, outlook, err);
        if (rc < 0)
            return rc;
        objective.jobs[i] = (struct solver_job){
            .offers = outlook->offers, .offer_count = outlook->count, .current = job->placement};
    }
    *ret = objective;
    return 0;
}

double objective_x (const struct objective *objective, int job, int offer)
{
    const struct outlook *outlook = &objective->outlooks[job];
    bool moves = outlook->offers[offer].where != WHERE_KEEP;
    return outlook->speedups[offer] * objective->per_speedup * (moves ? outlook->restart : 1);
}

static double value_of (double p, double weight, double scaled)
{
    const double worst = 1e250; /* of many jobs the sum stays finite */
    if (p == -1)
        return -weight / scaled;
    if (p == 1)
        return weight * scaled;
    if (p == 0)
        return weight * log (scaled);
    double power = pow (scaled, p);
    return p > 0 ? weight * power : -fmin (weight * power, worst);
}

void objective_value (const struct objective *objective, const struct view *view, double scale)
{
    for (int i = 0; i < objective->count; i++) {
        struct outlook *outlook = &objective->outlooks[i];
        double weight = view->jobs[i]->spec.weight;
        for (int j = 0; j < outlook->count; j++)
            outlook->offers[j].value = value_of (
                view->p, weight, (objective_x (objective, i, j) + OBJECTIVE_OFFSET) / scale);
    }
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
        least = fmin (least, x[i] + OBJECTIVE_OFFSET);
    if (isinf (view->p))
        return least;
    for (int i = 0; i < view->job_count; i++) /* relative to the least: no power overflows */
        sum += value_of (view->p, view->jobs[i]->spec.weight, (x[i] + OBJECTIVE_OFFSET) / least);
    return objective_fitness (view, least, sum);
}

void objective_threshold (const struct objective *objective, double threshold)
{
    for (int i = 0; i < objective->count; i++) {
        struct outlook *outlook = &objective->outlooks[i];
        for (int j = 0; j < outlook->count; j++)
            outlook->offers[j].value = objective_x (objective, i, j) >= threshold ? 0 : -1;
    }
}

int objective_offer (const struct objective *objective, int job, struct placement placement)
{
    const struct outlook *outlook = &objective->outlooks[job];
    int replicas = placement_replicas (placement);
    enum where where = replicas == 0 ? WHERE_NONE : placement.count == 1 ? WHERE_ONE : WHERE_MANY;
    if (replicas > 0 && placement_same (placement, objective->jobs[job].current))
        where = WHERE_KEEP;
    for (int i = 0; i < outlook->count; i++)
        if (outlook->offers[i].replicas == replicas && outlook->offers[i].where == where)
            return i;
    return -1;
}
