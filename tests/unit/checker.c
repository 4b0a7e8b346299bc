/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definition of the problem, as plainly as it can be written.
 */
#include "checker.h"
#include "unit.h"

enum { NODES = 64, JOBS = 64 };

static char sentence[256];

#define COMPLAIN(...) (snprintf (sentence, sizeof (sentence), __VA_ARGS__), sentence)

/* ---- Feasible ---- */

static bool allowed (const struct job *job, int count)
{
    const struct allowed *rule = &job->spec.allowed;
    bool listed = false;
    if (count == 0)
        return true;
    if (count < job->spec.min_replicas || count > job->spec.max_replicas)
        return false;
    switch (rule->kind) {
    case ALLOWED_ANY:
        return true;
    case ALLOWED_POW2:
        while (count % 2 == 0)
            count /= 2;
        return count == 1;
    case ALLOWED_MULTIPLE:
        return count / rule->multiple * rule->multiple == count;
    case ALLOWED_LIST:
        for (int i = 0; i < rule->count; i++)
            listed |= rule->list[i] == count;
        return listed;
    }
    return false;
}

static int limit_of (const struct job *job)
{
    int fewest = 1;
    while (fewest < job->spec.max_replicas && !allowed (job, fewest))
        fewest++;
    int profiled = job->hints.max_profiled_replicas;
    int trusted = 2 * profiled > fewest ? 2 * profiled : fewest;
    return profiled < 0 || trusted > job->spec.max_replicas ? job->spec.max_replicas : trusted;
}

static int count_of (struct placement placement)
{
    int count = 0;
    for (int i = 0; i < placement.count; i++)
        count += placement.shares[i].replicas;
    return count;
}

static int count_on (struct placement placement, int node)
{
    int count = 0;
    for (int i = 0; i < placement.count; i++)
        count += placement.shares[i].node == node ? placement.shares[i].replicas : 0;
    return count;
}

static bool same (const struct view *view, struct placement a, struct placement b)
{
    for (int node = 0; node < view->node_count; node++)
        if (count_on (a, node) != count_on (b, node))
            return false;
    return true;
}

static bool pinned (const struct view *view, const struct job *job)
{
    bool there = true;
    for (int i = 0; i < job->placement.count; i++)
        there &= view->nodes[job->placement.shares[i].node].available;
    return !job->spec.preemptible && count_of (job->placement) > 0 && there;
}

const char *check_feasible (const struct view *view, const struct plan *plan)
{
    if (plan->job_count != view->job_count)
        return COMPLAIN ("%d jobs in the plan, %d in the view", plan->job_count, view->job_count);
    for (int node = 0; node < view->node_count; node++) {
        int used = 0, spanning = 0;
        for (int i = 0; i < view->job_count; i++) {
            struct placement placement = plan_placement (plan, i);
            used += count_on (placement, node);
            /* Two that are pinned to one node cannot be helped. */
            spanning += placement.count > 1 && count_on (placement, node) > 0 &&
                        !pinned (view, view->jobs[i]);
        }
        bool shared = false;
        for (int i = 0; i < view->job_count; i++)
            shared |= pinned (view, view->jobs[i]) && view->jobs[i]->placement.count > 1 &&
                      count_on (view->jobs[i]->placement, node) > 0;
        int capacity = view->nodes[node].available ? view->nodes[node].slots : 0;
        if (used > capacity)
            return COMPLAIN ("node %d: %d replicas on %d slots", node, used, capacity);
        if (spanning + shared > 1)
            return COMPLAIN ("node %d: %d jobs on several nodes", node, spanning + shared);
    }
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        struct placement placement = plan_placement (plan, i);
        for (int j = 0; j < placement.count; j++) {
            if (placement.shares[j].node < 0 || placement.shares[j].node >= view->node_count)
                return COMPLAIN ("job %d: there is no node %d", i, placement.shares[j].node);
            if (placement.shares[j].replicas < 1)
                return COMPLAIN ("job %d: a share of %d", i, placement.shares[j].replicas);
            if (count_on (placement, placement.shares[j].node) != placement.shares[j].replicas)
                return COMPLAIN ("job %d: node %d twice", i, placement.shares[j].node);
        }
        int count = count_of (placement);
        if (pinned (view, job)) {
            if (!same (view, placement, job->placement))
                return COMPLAIN ("job %d is pinned, and moved", i);
        } else if (!allowed (job, count) || count > limit_of (job)) {
            return COMPLAIN ("job %d: %d replicas are not allowed", i, count);
        }
    }
    return NULL;
}

/* ---- Fitness ---- */

static double goodput_of (const struct view *view, const struct job *job, int nodes, int replicas)
{
    struct pollux_best best;
    struct pollux_shape shape = {.nodes = nodes, .replicas = replicas};
    if (replicas == 0)
        return 0;
    if (!job->hints.has_model)
        return replicas;
    if (pollux_best_batch (&job->hints.model, job->hints.grad, &job->hints.limits, view->search,
                           shape, &best, NULL) != 0)
        return NAN;
    return best.goodput;
}

/* Nodes and slots of the cluster, and what every job's fair share would give it. */
struct share_out {
    int nodes, slots;
    double fair[JOBS];
};

static struct share_out share_out (const struct view *view)
{
    struct share_out out = {0};
    for (int i = 0; i < view->node_count; i++)
        if (view->nodes[i].available) {
            out.nodes++;
            out.slots += view->nodes[i].slots;
        }
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        int fair = (int)ceil ((double)out.slots / view->job_count);
        fair = fair > 1 ? fair : 1;
        int64_t most = job->hints.has_model
                           ? job->hints.limits.max_batch / job->hints.limits.min_local + 1
                           : fair;
        double goodput = goodput_of (view, job, 1, fair);
        for (int k = fair + 1; k <= most && goodput == 0; k++)
            goodput = goodput_of (view, job, 1, k);
        for (int k = fair - 1; k >= 1 && goodput == 0; k--)
            goodput = goodput_of (view, job, 1, k);
        out.fair[i] = goodput;
    }
    return out;
}

static double term_of (const struct view *view, const struct share_out *out, int index,
                       struct placement placement)
{
    const struct job *job = view->jobs[index];
    double goodput = goodput_of (view, job, placement.count, count_of (placement));
    if (goodput == 0)
        return 0.001;
    double x = goodput / out->fair[index] * out->nodes / out->slots;
    if (!same (view, placement, job->placement)) {
        double delay =
            isnan (job->spec.restart_delay_s) ? view->restart_delay_s : job->spec.restart_delay_s;
        double trained = job->age_s - job->restarts * delay;
        trained = trained > 0 ? trained : 0;
        x *= job->age_s + delay > 0 ? trained / (job->age_s + delay) : 1;
    }
    return x + 0.001;
}

static double mean_of (const struct view *view, const double *terms)
{
    double least = INFINITY, sum = 0, weights = 0;
    for (int i = 0; i < view->job_count; i++)
        least = fmin (least, terms[i]);
    if (isinf (view->p))
        return least;
    for (int i = 0; i < view->job_count; i++) {
        double weight = view->jobs[i]->spec.weight;
        sum += weight * (view->p == 0 ? log (terms[i]) : pow (terms[i] / least, view->p));
        weights += weight;
    }
    return view->p == 0 ? exp (sum / weights) : least * pow (sum / weights, 1 / view->p);
}

double check_fitness (const struct view *view, const struct plan *plan)
{
    double terms[JOBS];
    struct share_out out = share_out (view);
    for (int i = 0; i < view->job_count; i++)
        terms[i] = term_of (view, &out, i, plan_placement (plan, i));
    return mean_of (view, terms);
}

static void tally_add (const struct view *view, int job, struct placement placement,
                       struct tally *tally)
{
    int count = count_of (placement);
    tally->restarts += count_of (view->jobs[job]->placement) > 0 &&
                       !same (view, placement, view->jobs[job]->placement);
    tally->running += count > 0;
    tally->slots += count;
}

struct tally check_tally (const struct view *view, const struct plan *plan)
{
    struct tally tally = {0};
    for (int i = 0; i < view->job_count; i++)
        tally_add (view, i, plan_placement (plan, i), &tally);
    return tally;
}

/* ---- All plans ---- */

struct trial {
    const struct view *view;
    struct share_out out;
    int free[NODES];
    bool owned[NODES];
    double terms[JOBS];
    struct optimum best;
};

static bool goes_before (struct tally a, struct tally b)
{
    if (a.restarts != b.restarts)
        return a.restarts < b.restarts;
    return a.running != b.running ? a.running > b.running : a.slots < b.slots;
}

static void try_job (struct trial *trial, int job, struct tally tally);

/* All placements of a job that put something on nodes from `node` on. */
static void try_node (struct trial *trial, int job, int node, struct share *shares, int count,
                      struct tally tally)
{
    const struct view *view = trial->view;
    struct placement placement = {.shares = shares, .count = count};
    if (node < view->node_count) {
        for (int some = 0; some <= trial->free[node]; some++) {
            shares[count] = (struct share){.node = node, .replicas = some};
            try_node (trial, job, node + 1, shares, count + (some > 0), tally);
        }
        return;
    }
    int replicas = count_of (placement);
    if (!allowed (view->jobs[job], replicas) || replicas > limit_of (view->jobs[job]))
        return;
    for (int i = 0; i < count && count > 1; i++)
        if (trial->owned[shares[i].node])
            return;
    /* A job that would not train is not run. */
    double term = term_of (view, &trial->out, job, placement);
    if (replicas > 0 && goodput_of (view, view->jobs[job], count, replicas) == 0)
        return;
    for (int i = 0; i < count; i++) {
        trial->free[shares[i].node] -= shares[i].replicas;
        trial->owned[shares[i].node] |= count > 1;
    }
    trial->terms[job] = term;
    tally_add (view, job, placement, &tally);
    try_job (trial, job + 1, tally);
    for (int i = 0; i < count; i++) {
        trial->free[shares[i].node] += shares[i].replicas;
        if (count > 1)
            trial->owned[shares[i].node] = false;
    }
}

static void try_job (struct trial *trial, int job, struct tally tally)
{
    const struct view *view = trial->view;
    struct share shares[NODES];
    if (job < view->job_count && pinned (view, view->jobs[job])) {
        tally_add (view, job, view->jobs[job]->placement, &tally);
        try_job (trial, job + 1, tally);
    } else if (job < view->job_count) {
        try_node (trial, job, 0, shares, 0, tally);
    } else {
        double fitness = mean_of (view, trial->terms);
        double nearly = 1e-12 * fitness;
        if (fitness > trial->best.fitness + nearly ||
            (fitness > trial->best.fitness - nearly && goes_before (tally, trial->best.tally))) {
            trial->best.fitness = fmax (trial->best.fitness, fitness);
            trial->best.tally = tally;
        }
    }
}

struct optimum check_optimum (const struct view *view)
{
    struct trial trial = {.view = view, .out = share_out (view), .best = {.fitness = -1}};
    for (int i = 0; i < view->node_count; i++)
        trial.free[i] = view->nodes[i].available ? view->nodes[i].slots : 0;
    for (int i = 0; i < view->job_count; i++)
        if (pinned (view, view->jobs[i])) {
            struct placement placement = view->jobs[i]->placement;
            trial.terms[i] = term_of (view, &trial.out, i, placement);
            for (int j = 0; j < placement.count; j++) {
                trial.free[placement.shares[j].node] -= placement.shares[j].replicas;
                trial.owned[placement.shares[j].node] |= placement.count > 1;
            }
        }
    try_job (&trial, 0, (struct tally){0});
    return trial.best;
}
