/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definition of the problem, written as simply as possible: feasible plans, fitness, and a
 * search through all plans.
 */
#include "checker.h"
#include "unit.h"

enum { NODES = 64, JOBS = 64 };

static char sentence[256];

#define SENTENCE(...) (snprintf (sentence, sizeof (sentence), __VA_ARGS__), sentence)

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

/* What the job has measured on a type; what it measured last if it does not say where. */
static struct type_model model_on (const struct job *job, const char *type)
{
    const struct hints *hints = &job->hints;
    struct type_model model = {.model = hints->model,
                               .max_local = hints->limits.max_local,
                               .max_profiled_replicas = hints->max_profiled_replicas};
    for (int i = 0; i < hints->other_count; i++)
        if (strcmp (hints->others[i].type, type) == 0)
            model = hints->others[i];
    return model;
}

static bool may_use (const struct job *job, const char *type)
{
    const struct allowed_types *types = &job->spec.types;
    for (int i = 0; i < types->count; i++)
        if (strcmp (types->list[i], type) == 0)
            return !types->except;
    return types->count == 0 || types->except;
}

/* What its owner says, or the geometric mean of all that he says; 1 by default. */
static double speed_on (const struct job *job, const char *type)
{
    const struct type_speeds *speeds = &job->spec.speeds;
    double product = 1;
    for (int i = 0; i < speeds->count; i++) {
        if (strcmp (speeds->list[i].type, type) == 0)
            return speeds->list[i].speed;
        product *= speeds->list[i].speed;
    }
    return speeds->count ? pow (product, 1.0 / speeds->count) : 1;
}

static int limit_of (const struct job *job)
{
    int fewest = 1;
    while (fewest < job->spec.max_replicas && !allowed (job, fewest))
        fewest++;
    int profiled = job->hints.max_profiled_replicas; /* the largest of all types */
    for (int i = 0; i < job->hints.other_count && profiled >= 0; i++)
        if (job->hints.others[i].max_profiled_replicas > profiled)
            profiled = job->hints.others[i].max_profiled_replicas;
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

static const char *type_of (const struct view *view, struct placement placement)
{
    return placement.count > 0 ? view->nodes[placement.shares[0].node].type : "";
}

/* Same type, and equally often taken back. */
static bool alike (const struct node *a, const struct node *b)
{
    return strcmp (a->type, b->type) == 0 && a->revocations_per_s == b->revocations_per_s;
}

static bool all_alike (const struct view *view, struct placement placement)
{
    bool yes = true;
    for (int i = 1; i < placement.count; i++)
        yes &= alike (&view->nodes[placement.shares[i].node],
                      &view->nodes[placement.shares[i - 1].node]);
    return yes;
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
        return SENTENCE ("%d jobs in the plan, %d in the view", plan->job_count, view->job_count);
    for (int node = 0; node < view->node_count; node++) {
        int used = 0, spanning = 0;
        for (int i = 0; i < view->job_count; i++) {
            struct placement placement = plan_placement (plan, i);
            used += count_on (placement, node);
            /* Two jobs that are both pinned may share a node. */
            spanning += placement.count > 1 && count_on (placement, node) > 0 &&
                        !pinned (view, view->jobs[i]);
        }
        bool shared = false;
        for (int i = 0; i < view->job_count; i++)
            shared |= pinned (view, view->jobs[i]) && view->jobs[i]->placement.count > 1 &&
                      count_on (view->jobs[i]->placement, node) > 0;
        int capacity = view->nodes[node].available ? view->nodes[node].slots : 0;
        if (used > capacity)
            return SENTENCE ("node %d: %d replicas on %d slots", node, used, capacity);
        if (spanning + shared > 1)
            return SENTENCE ("node %d: %d jobs on several nodes", node, spanning + shared);
    }
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        struct placement placement = plan_placement (plan, i);
        for (int j = 0; j < placement.count; j++) {
            if (placement.shares[j].node < 0 || placement.shares[j].node >= view->node_count)
                return SENTENCE ("job %d: there is no node %d", i, placement.shares[j].node);
            if (placement.shares[j].replicas < 1)
                return SENTENCE ("job %d: a share of %d", i, placement.shares[j].replicas);
            if (count_on (placement, placement.shares[j].node) != placement.shares[j].replicas)
                return SENTENCE ("job %d: node %d twice", i, placement.shares[j].node);
        }
        int count = count_of (placement);
        if (pinned (view, job)) {
            if (!same (view, placement, job->placement))
                return SENTENCE ("job %d is pinned, and moved", i);
        } else if (!allowed (job, count) || count > limit_of (job)) {
            return SENTENCE ("job %d: %d replicas are not allowed", i, count);
        } else if (!all_alike (view, placement)) {
            return SENTENCE ("job %d: nodes of several types or rates", i);
        } else if (count > 0 && !may_use (job, type_of (view, placement))) {
            return SENTENCE ("job %d: nodes of a type that it may not use", i);
        }
    }
    return NULL;
}

/* ---- Fitness ---- */

static double goodput_of (const struct view *view, const struct job *job, const char *type,
                          int nodes, int replicas)
{
    struct pollux_best best;
    struct pollux_shape shape = {.nodes = nodes, .replicas = replicas};
    if (replicas == 0)
        return 0;
    if (!job->hints.has_model)
        return replicas * speed_on (job, type);
    struct type_model known = model_on (job, type);
    struct pollux_limits limits = job->hints.limits;
    limits.max_local = known.max_local;
    if (pollux_best_batch (&known.model, job->hints.grad, &limits, view->search, shape, &best,
                           NULL) != 0)
        return NAN;
    return best.goodput;
}

/* Nodes and slots of the cluster, and every job's goodput with its fair share. */
struct fair_shares {
    int nodes, slots;
    double goodputs[JOBS];
};

static double fair_goodput_of (const struct view *view, const struct job *job, const char *type,
                               int replicas)
{
    int64_t most = job->hints.has_model
                       ? job->hints.limits.max_batch / job->hints.limits.min_local + 1
                       : replicas;
    double goodput = goodput_of (view, job, type, 1, replicas);
    for (int k = replicas + 1; k <= most && goodput == 0; k++)
        goodput = goodput_of (view, job, type, 1, k);
    for (int k = replicas - 1; k >= 1 && goodput == 0; k--)
        goodput = goodput_of (view, job, type, 1, k);
    return goodput;
}

static struct fair_shares fair_shares_of (const struct view *view)
{
    struct fair_shares out = {0};
    for (int i = 0; i < view->node_count; i++)
        if (view->nodes[i].available) {
            out.nodes++;
            out.slots += view->nodes[i].slots;
        }
    for (int i = 0; i < view->job_count; i++) {
        int replicas = (int)ceil ((double)out.slots / view->job_count);
        replicas = replicas > 1 ? replicas : 1;
        /* The mean over the slots on whose type it can run; over all slots if there are none. */
        double sum = 0, slots = 0;
        for (int all = 0; all <= 1 && slots == 0; all++)
            for (int j = 0; j < view->node_count; j++) {
                const struct node *node = &view->nodes[j];
                bool usable = node->available && (all || may_use (view->jobs[i], node->type));
                double goodput =
                    usable ? fair_goodput_of (view, view->jobs[i], node->type, replicas) : 0;
                sum += goodput * node->slots;
                slots += goodput > 0 ? node->slots : 0;
            }
        out.goodputs[i] = slots > 0 ? sum / slots : 0;
    }
    return out;
}

static double delay_of (const struct view *view, const struct job *job)
{
    return isnan (job->spec.restart_delay_s) ? view->restart_delay_s : job->spec.restart_delay_s;
}

/* How many times as long a job takes because its nodes are taken back: the fewest nodes that could have its replicas
 * count, but at least two of several. */
static double longer_by_revocations (const struct view *view, const struct job *job,
                                     struct placement placement)
{
    const struct node *first = &view->nodes[placement.shares[0].node];
    int largest = 0, nodes = 1;
    for (int i = 0; i < view->node_count; i++)
        if (view->nodes[i].available && alike (&view->nodes[i], first) &&
            view->nodes[i].slots > largest)
            largest = view->nodes[i].slots;
    while (nodes * largest < count_of (placement))
        nodes++;
    if (placement.count > 1 && nodes < 2)
        nodes = 2;
    return 1 + nodes * first->revocations_per_s * delay_of (view, job);
}

static double term_of (const struct view *view, const struct fair_shares *fair, int index,
                       struct placement placement)
{
    const struct job *job = view->jobs[index];
    double goodput =
        goodput_of (view, job, type_of (view, placement), placement.count, count_of (placement));
    if (goodput == 0)
        return 0.001;
    double x = goodput / fair->goodputs[index] * fair->nodes / fair->slots;
    x /= longer_by_revocations (view, job, placement);
    if (!same (view, placement, job->placement)) {
        double delay = delay_of (view, job);
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
    struct fair_shares fair = fair_shares_of (view);
    for (int i = 0; i < view->job_count; i++)
        terms[i] = term_of (view, &fair, i, plan_placement (plan, i));
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

struct enumeration {
    const struct view *view;
    struct fair_shares fair;
    int free[NODES];
    bool multi[NODES];
    double terms[JOBS];
    struct optimum best;
};

static bool is_better (struct tally a, struct tally b)
{
    if (a.restarts != b.restarts)
        return a.restarts < b.restarts;
    return a.running != b.running ? a.running > b.running : a.slots < b.slots;
}

static void try_job (struct enumeration *search, int job, struct tally tally);

/* Try all placements of a job that extend `shares` on the nodes from `node` on. */
static void try_node (struct enumeration *search, int job, int node, struct share *shares,
                      int count, struct tally tally)
{
    const struct view *view = search->view;
    struct placement placement = {.shares = shares, .count = count};
    if (node < view->node_count) {
        for (int some = 0; some <= search->free[node]; some++) {
            shares[count] = (struct share){.node = node, .replicas = some};
            try_node (search, job, node + 1, shares, count + (some > 0), tally);
        }
        return;
    }
    int replicas = count_of (placement);
    const char *type = type_of (view, placement);
    if (!allowed (view->jobs[job], replicas) || replicas > limit_of (view->jobs[job]) ||
        !all_alike (view, placement) || (replicas > 0 && !may_use (view->jobs[job], type)))
        return;
    for (int i = 0; i < count && count > 1; i++)
        if (search->multi[shares[i].node])
            return;
    /* A job without goodput gets no slots. */
    double term = term_of (view, &search->fair, job, placement);
    if (replicas > 0 && goodput_of (view, view->jobs[job], type, count, replicas) == 0)
        return;
    for (int i = 0; i < count; i++) {
        search->free[shares[i].node] -= shares[i].replicas;
        search->multi[shares[i].node] |= count > 1;
    }
    search->terms[job] = term;
    tally_add (view, job, placement, &tally);
    try_job (search, job + 1, tally);
    for (int i = 0; i < count; i++) {
        search->free[shares[i].node] += shares[i].replicas;
        if (count > 1)
            search->multi[shares[i].node] = false;
    }
}

static void try_job (struct enumeration *search, int job, struct tally tally)
{
    const struct view *view = search->view;
    struct share shares[NODES];
    if (job < view->job_count && pinned (view, view->jobs[job])) {
        tally_add (view, job, view->jobs[job]->placement, &tally);
        try_job (search, job + 1, tally);
    } else if (job < view->job_count) {
        try_node (search, job, 0, shares, 0, tally);
    } else {
        double fitness = mean_of (view, search->terms);
        double nearly = 1e-12 * fitness;
        if (fitness > search->best.fitness + nearly ||
            (fitness > search->best.fitness - nearly && is_better (tally, search->best.tally))) {
            search->best.fitness = fmax (search->best.fitness, fitness);
            search->best.tally = tally;
        }
    }
}

struct optimum check_optimum (const struct view *view)
{
    struct enumeration search = {
        .view = view, .fair = fair_shares_of (view), .best = {.fitness = -1}};
    for (int i = 0; i < view->node_count; i++)
        search.free[i] = view->nodes[i].available ? view->nodes[i].slots : 0;
    for (int i = 0; i < view->job_count; i++)
        if (pinned (view, view->jobs[i])) {
            struct placement placement = view->jobs[i]->placement;
            search.terms[i] = term_of (view, &search.fair, i, placement);
            for (int j = 0; j < placement.count; j++) {
                search.free[placement.shares[j].node] -= placement.shares[j].replicas;
                search.multi[placement.shares[j].node] |= placement.count > 1;
            }
        }
    try_job (&search, 0, (struct tally){0});
    return search.best;
}
