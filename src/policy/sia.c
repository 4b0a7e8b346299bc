/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sia (SOSP'23), for comparison on clusters with several types of GPUs.  A job gets one configuration: a power of two of
 * slots on one node, or whole nodes, of one type.  Costs are the job's goodput there, relative to its worst
 * configuration, to the power p, with a factor for restarts; a job without slots costs lambda.  The integer program
 * (least sum of costs within the slots of each type) goes to the solver, with the slots of a type as one large node.
 * Placement on nodes comes afterwards: it succeeds for such sizes on equal nodes; among jobs that may not be moved a job
 * may get a smaller configuration, or none.
 *
 * Two cases that were not published.  Nodes of one type with different numbers of slots count as one pool per number,
 * so a job has nodes of one size.  A job that cannot have these configurations (multiples of 3, say) has the counts
 * that it can run with next below them; on nodes it takes one, or whole ones and a rest, or else what is free.
 *
 * Equal costs are frequent, because they are rounded to two decimals.  A job rather stays; else the round's seed breaks
 * ties.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "policy/job_model.h"
#include "policy/policy_list.h"
#include "policy/policy_options.h"
#include "policy/solver_memory.h"

/* A pool has at most one configuration per count, and one whole node that is larger. */
enum { REPLICAS_MOST = 64, CONFIGS_PER_POOL = REPLICAS_MOST + 1, SOLVER_WORK = 2000000 };
/* Of a program that was not published, with many small pools or counts that fit badly: its proof takes too long. */
enum { IRREGULAR_WORK = 50000 };

/* Goodput of a configuration that is never chosen, the largest cost, and the most by which a tie is broken. */
static const double never = 1e-4, cost_most = 3000, jitter = 1e-6;
/* Added to the value of the configuration of a job that is restarting: it stays, unless its slots are gone. */
static const double stays_bonus = 1e4;

static const struct policy_option sia_options[] = {
    {.name = "sia_p", .min = -10, .max = -0.01, .usual = -0.5, .help = "exponent of the goodput"},
    {.name = "sia_lambda",
     .min = 1.01,
     .max = 1000,
     .usual = 1.1,
     .help = "cost of a job without slots"},
    {0},
};

/* Restart penalties that were published with other values than the restart delays. */
static const struct {
    const char *application;
    double penalty_s;
} penalties[] = {{"cifar10", 30}, {"ncf", 30}, {"yolov3", 45}};

/* A configuration, by pool and then by slots. */
struct config {
    int pool, slots;
    bool regular; /* a power of two on one node, or whole nodes */
};

/* The state of one decision. */
struct round {
    const struct view *view;
    struct arena *arena;
    struct pools pools; /* by type and slots of a node */
    struct config *configs;
    int config_count;
    bool irregular; /* nodes of one type have several sizes, or a job has counts of its own */
    int *slots;     /* by pool: without those of jobs that may not be moved */
};

/* ---- Configurations ------------------------------------------------------------------------ */

/* The pool of nodes of that type and size; pools->count if there is none yet. */
static int pool_of (struct pools *pools, const int *sizes, const struct node *node)
{
    int pool = 0;
    while (pool < pools->count &&
           (sizes[pool] != node->slots || strcmp (pools->list[pool].type, node->type) != 0))
        pool++;
    return pool;
}

/* As pools_make, but by type and slots of a node. */
static int equal_nodes_make (const struct view *view, struct arena *arena, struct pools *ret)
{
    size_t count = (size_t)view->node_count + 1;
    int *of_node = arena_take (arena, count, sizeof (of_node[0])),
        *sizes = arena_take (arena, count, sizeof (sizes[0]));
    struct pools pools = {.list = arena_take (arena, count, sizeof (pools.list[0])),
                          .of_node = of_node};
    if (!of_node || !sizes || !pools.list)
        return -ENOMEM;
    for (int i = 0; i < view->node_count; i++) {
        const struct node *node = &view->nodes[i];
        int pool = of_node[i] = pool_of (&pools, sizes, node);
        if (pool == pools.count) {
            sizes[pools.count] = node->slots;
            pools.list[pools.count++] = (struct pool){.type = node->type};
        }
        if (!node->available)
            continue;
        pools.list[pool].nodes++;
        pools.list[pool].slots += node->slots;
        pools.list[pool].node_slots = node->slots;
    }
    if (pools.count == 0)
        pools.list[pools.count++] = (struct pool){.type = ""};
    *ret = pools;
    return 0;
}

static bool is_regular (const struct pool *pool, int slots)
{
    if (slots < pool->node_slots)
        return (slots & (slots - 1)) == 0;
    return slots % pool->node_slots == 0;
}

/* All counts up to the limit.  Nodes with more slots than that also are whole. */
static void add_configs (struct round *round, int index)
{
    const struct pool *pool = &round->pools.list[index];
    for (int k = 1; k <= pool->slots && k <= REPLICAS_MOST; k++)
        round->configs[round->config_count++] =
            (struct config){index, k, .regular = is_regular (pool, k)};
    if (pool->node_slots > REPLICAS_MOST)
        round->configs[round->config_count++] =
            (struct config){index, pool->node_slots, .regular = true};
}

/* Can the job have only counts of its own in the pool, and no regular configuration? */
static bool has_own_counts (const struct round *round, const struct job *job, int pool)
{
    if (job->spec.allowed.kind == ALLOWED_MULTIPLE || job->spec.allowed.kind == ALLOWED_LIST)
        return true;
    for (int i = 0; i < round->config_count; i++)
        if (round->configs[i].pool == pool && round->configs[i].regular &&
            job_allows (job, round->configs[i].slots))
            return false;
    return true;
}

/* Of a job with counts of its own: the fewest, and those to which a regular configuration is rounded down.  All of them
 * would make the program much larger. */
static bool is_own_config (const struct round *round, const struct job *job, int index)
{
    const struct config *config = &round->configs[index];
    int next = job_next_replicas (job, config->slots);
    if (config->slots == job_next_replicas (job, 0))
        return true;
    for (int i = index; i < round->config_count && round->configs[i].pool == config->pool &&
                        (next == 0 || round->configs[i].slots < next);
         i++)
        if (round->configs[i].regular)
            return true;
    return false;
}

/* The configuration that the job has now; -1: none of these. */
static int present_config (const struct round *round, const struct job *job)
{
    int pool = pools_find (&round->pools, job->placement),
        slots = placement_replicas (job->placement);
    for (int i = 0; pool >= 0 && i < round->config_count; i++)
        if (round->configs[i].pool == pool && round->configs[i].slots == slots)
            return i;
    return -1;
}

/* ---- Goodput ------------------------------------------------------------------------------- */

/* The model of a type as the job has measured it; false: it has not. */
static bool measured_in (const struct round *round, const struct job *job, int pool,
                         struct type_model *ret)
{
    const struct hints *hints = &job->hints;
    const char *type = round->pools.list[pool].type;
    if (!hints->has_model)
        return false;
    *ret = (struct type_model){.model = hints->model,
                               .max_local = hints->limits.max_local,
                               .max_profiled_replicas = hints->max_profiled_replicas};
    if (!hints->type[0] || strcmp (hints->type, type) == 0)
        return true;
    for (int i = 0; i < hints->other_count; i++)
        if (strcmp (hints->others[i].type, type) == 0) {
            *ret = hints->others[i];
            return true;
        }
    return false;
}

/* The most replicas of a job, on every type. */
static int replica_limit (const struct round *round, const struct job *job)
{
    const struct pollux_limits *limits = &job->hints.limits;
    int64_t most = job_next_replicas (job, 0);
    struct type_model model;
    for (int i = 0; i < round->pools.count; i++)
        if (measured_in (round, job, i, &model)) {
            int64_t trusted = job_trusted_with (job, model.max_profiled_replicas);
            most = trusted > most ? trusted : most;
        }
    most = most < REPLICAS_MOST ? most : REPLICAS_MOST;
    if (limits->min_local > 0 && limits->max_batch / limits->min_local < most)
        most = limits->max_batch / limits->min_local;
    return (int)(most < job->spec.max_replicas ? most : job->spec.max_replicas);
}

static double best_goodput (const struct round *round, const struct job *job,
                            const struct type_model *model, int pool, int slots)
{
    int node_slots = round->pools.list[pool].node_slots; /* 0: all its nodes are drained */
    int nodes = node_slots > 0 ? (slots + node_slots - 1) / node_slots : 1;
    struct pollux_shape shape = {.nodes = nodes, .replicas = slots};
    struct pollux_limits limits = job->hints.limits;
    struct pollux_best best;
    limits.max_local = model->max_local;
    if (job->spec.fixed_batch > 0) /* as published: the policy searches up to the request */
        limits.max_batch = job->spec.fixed_batch;
    return pollux_best_batch (&model->model, job->hints.grad, &limits, POLLUX_REFERENCE, shape,
                              &best, NULL) == 0
               ? best.goodput
               : 0;
}

static double speed_ratio (const struct round *round, const struct job *job, int to, int from)
{
    double ratio = job_type_speed (job, round->pools.list[to].type) /
                   job_type_speed (job, round->pools.list[from].type);
    return isfinite (ratio) ? ratio : 1;
}

/* Is this the smallest configuration of its type with which the job can run? */
static bool is_smallest (const struct round *round, const struct job *job, int index, int fewest)
{
    const struct config *config = &round->configs[index];
    if (config->slots < fewest || !job_allows (job, config->slots))
        return false;
    for (int i = 0; i < index; i++)
        if (round->configs[i].pool == config->pool && round->configs[i].slots >= fewest &&
            (round->configs[i].regular || !config->regular) &&
            job_allows (job, round->configs[i].slots))
            return false;
    return true;
}

/* Fill in a job's goodputs, relative to the least one; `never` where it may not run. */
static void find_goodputs (const struct round *round, const struct job *job, double *ret)
{
    /* first: the first type with a model; fewest: replicas of a job without any. */
    int first = -1, most = replica_limit (round, job), fewest = job_next_replicas (job, 0);
    struct type_model model;
    double least = INFINITY;
    bool own = false;
    for (int i = round->pools.count - 1; i >= 0; i--)
        first = measured_in (round, job, i, &model) ? i : first;
    for (int i = 0; i < round->config_count; i++) {
        struct config config = round->configs[i];
        ret[i] = never;
        if (i == 0 || config.pool != round->configs[i - 1].pool)
            own = has_own_counts (round, job, config.pool);
        if ((own ? !is_own_config (round, job, i) : !config.regular) ||
            !job_allows_type (job, round->pools.list[config.pool].type) ||
            !job_allows (job, config.slots) || (config.slots > most && first >= 0))
            continue;
        if (first < 0)
            ret[i] = is_smallest (round, job, i, fewest) ? 1 : never;
        else if (measured_in (round, job, config.pool, &model))
            ret[i] = best_goodput (round, job, &model, config.pool, config.slots);
        else if (measured_in (round, job, first, &model))
            ret[i] = best_goodput (round, job, &model, first, config.slots) *
                     speed_ratio (round, job, config.pool, first);
        if (ret[i] > never)
            least = fmin (least, ret[i]);
    }
    for (int i = 0; i < round->config_count; i++)
        ret[i] = ret[i] > never ? fmax (ret[i] / least, never) : never;
}

/* ---- Costs --------------------------------------------------------------------------------- */

/* A real job may have any name for its application: only those of simulations are the published ones. */
static double penalty_of (const struct view *view, const struct job *job)
{
    for (size_t i = 0; !job->launch && i < sizeof (penalties) / sizeof (penalties[0]); i++)
        if (strcmp (penalties[i].application, job->spec.application) == 0)
            return penalties[i].penalty_s;
    return view_restart_delay (view, job);
}

/* The factor of every configuration but the present one. */
static double restart_damping (const struct view *view, const struct job *job)
{
    double penalty_s = penalty_of (view, job);
    return job->age_s < penalty_s
               ? 1
               : fmax (job->age_s - job->restarts * penalty_s, 0) / (job->age_s + penalty_s);
}

/* True while the job still serves its restart delay: it stays as it is. */
static bool is_restarting (const struct view *view, const struct job *job)
{
    return job_runs (job) && job->start_us > 0 && /* 0: not known, in a problem file */
           view->now_s - (double)job->start_us * 1e-6 < view_restart_delay (view, job);
}

/* The options of a job: value lambda - cost, so that no slots are worth 0. */
static int make_options (struct round *round, const struct job *job, struct rng *rng,
                         struct solver_job *ret)
{
    const struct view *view = round->view;
    double p = policy_option_value (view, &sia_options[0]),
           lambda = policy_option_value (view, &sia_options[1]);
    size_t room = (size_t)round->config_count + 2;
    double *goodputs = arena_take (round->arena, room, sizeof (goodputs[0]));
    struct solver_option *list = arena_take (round->arena, room, sizeof (list[0]));
    struct share *share = arena_take (round->arena, 1, sizeof (*share));
    if (!goodputs || !list || !share)
        return -ENOMEM;
    list[0] = (struct solver_option){.where = WHERE_NONE};
    *ret = (struct solver_job){.options = list, .option_count = 1};
    if (view_is_fixed (view, job))
        return 0;
    int present = present_config (round, job), count = 0;
    double damping = restart_damping (view, job);
    bool stays = present >= 0 && is_restarting (view, job) &&
                 view_is_available (view, job->placement) &&
                 job_allows_type (job, round->pools.list[round->configs[present].pool].type) &&
                 job_allows (job, round->configs[present].slots);
    find_goodputs (round, job, goodputs);
    count = 1;
    for (int i = 0; i < round->config_count; i++) {
        if (stays ? i != present : goodputs[i] <= never)
            continue;
        if (round->configs[i].slots > round->slots[round->configs[i].pool])
            continue;
        double goodput = goodputs[i] * (present >= 0 && i != present ? damping : 1);
        double cost = fmin (rint (100 * pow (goodput, p)) / 100, cost_most);
        list[count++] = (struct solver_option){
            .value = lambda - cost + jitter * rng_uniform (rng) + (i == present ? 2 * jitter : 0) +
                     (stays ? stays_bonus : 0),
            .replicas = round->configs[i].slots,
            .pool = round->configs[i].pool,
            .where = i == present ? WHERE_KEEP : WHERE_ONE,
        };
    }
    ret->option_count = count;
    if (present >= 0) {
        *share = (struct share){round->configs[present].pool, round->configs[present].slots};
        ret->current = (struct placement){share, 1};
    }
    return 0;
}

/* ---- Nodes --------------------------------------------------------------------------------- */

/* The free slots of one pool's nodes while jobs are placed. */
struct ring {
    const struct round *round;
    int pool;
    int *free; /* by node */
    int next;  /* where the search for a node begins */
    struct share *shares;
};

/* Take k slots: on one node, or on completely free nodes.  The number of shares; 0: there is no room. */
static int ring_take (struct ring *ring, int slots)
{
    const struct round *round = ring->round;
    int nodes = round->view->node_count, node_slots = round->pools.list[ring->pool].node_slots,
        count = 0;
    for (int step = 0, from = ring->next; step < nodes && slots > 0; step++) {
        int node = (from + step) % nodes, part = slots < node_slots ? slots : node_slots;
        if (round->pools.of_node[node] != ring->pool || ring->free[node] < part)
            continue;
        ring->free[node] -= part;
        ring->shares[count++] = (struct share){node, part};
        slots -= part;
        ring->next = (node + 1) % nodes;
    }
    if (slots == 0)
        return count;
    for (int i = 0; i < count; i++)
        ring->free[ring->shares[i].node] += ring->shares[i].replicas;
    return 0;
}

/* Take k slots wherever some are free. */
static int ring_take_any (struct ring *ring, int slots)
{
    const struct round *round = ring->round;
    int nodes = round->view->node_count, count = 0, room = 0;
    for (int i = 0; i < nodes; i++)
        room += round->pools.of_node[i] == ring->pool ? ring->free[i] : 0;
    if (room < slots)
        return 0;
    for (int node = ring->next; slots > 0; node = (node + 1) % nodes) {
        int part = slots < ring->free[node] ? slots : ring->free[node];
        if (round->pools.of_node[node] != ring->pool || part <= 0)
            continue;
        ring->free[node] -= part;
        ring->shares[count++] = (struct share){node, part};
        slots -= part;
    }
    return count;
}

static int by_node (const void *a, const void *b)
{
    return ((const struct share *)a)->node - ((const struct share *)b)->node;
}

static void use (struct ring *ring, struct placement placement)
{
    for (int j = 0; j < placement.count; j++)
        ring->free[placement.shares[j].node] -= placement.shares[j].replicas;
}

static bool has_room (const struct ring *ring, struct placement placement)
{
    for (int j = 0; j < placement.count; j++)
        if (ring->free[placement.shares[j].node] < placement.shares[j].replicas)
            return false;
    return true;
}

/* Slots as a configuration asks for them; a job with counts of its own also takes any others. */
static int ring_take_counted (struct ring *ring, bool own, int slots)
{
    int count = ring_take (ring, slots);
    return count == 0 && own ? ring_take_any (ring, slots) : count;
}

/* The next smaller configuration of the pool; 0: none. */
static int smaller (const struct ring *ring, const struct job *job, bool own, int slots)
{
    if (own)
        return job_fit_replicas (job, slots - 1);
    int node_slots = ring->round->pools.list[ring->pool].node_slots;
    return slots > node_slots ? slots - node_slots : slots / 2;
}

/* Place the jobs of a pool, largest first.  keep: jobs whose configuration does not change keep their nodes.  1: all
 * found room; 0: one did not, and has fewer slots or none; -ENOMEM. */
static int place_pool (struct ring *ring, const struct placement *chosen, bool keep,
                       struct plan *plan)
{
    const struct view *view = ring->round->view;
    int largest = 0, all = 1;
    for (int i = 0; i < view->node_count; i++)
        ring->free[i] = view->nodes[i].available ? view->nodes[i].slots : 0;
    for (int i = 0; i < view->job_count; i++)
        if (view_is_fixed (view, view->jobs[i]))
            use (ring, view->jobs[i]->placement);
    ring->next = 0;
    for (int i = 0; i < view->job_count; i++) {
        struct placement now = view->jobs[i]->placement;
        if (chosen[i].count == 0 || chosen[i].shares[0].node != ring->pool)
            continue;
        int slots = chosen[i].shares[0].replicas;
        largest = slots > largest ? slots : largest;
        if (plan_place (plan, i, (struct placement){0}) < 0)
            return -ENOMEM;
        if (!keep || placement_replicas (now) != slots ||
            pools_find (&ring->round->pools, now) != ring->pool || !view_is_available (view, now) ||
            !has_room (ring, now))
            continue;
        use (ring, now);
        if (plan_place (plan, i, now) < 0)
            return -ENOMEM;
    }
    for (int slots = largest; slots > 0; slots--)
        for (int i = 0; i < view->job_count; i++) {
            if (chosen[i].count == 0 || chosen[i].shares[0].node != ring->pool ||
                chosen[i].shares[0].replicas != slots || plan_placement (plan, i).count > 0)
                continue;
            const struct job *job = view->jobs[i];
            bool own = has_own_counts (ring->round, job, ring->pool);
            int count = ring_take_counted (ring, own, slots);
            for (int k = smaller (ring, job, own, slots); count == 0 && k > 0;
                 k = smaller (ring, job, own, k)) {
                all = 0;
                count = job_allows (job, k) ? ring_take_counted (ring, own, k) : 0;
            }
            if (count == 0) {
                all = 0;
                continue;
            }
            qsort (ring->shares, (size_t)count, sizeof (ring->shares[0]), by_node);
            if (plan_place (plan, i, (struct placement){ring->shares, count}) < 0)
                return -ENOMEM;
        }
    return all;
}

static int place_all (const struct round *round, const struct placement *chosen, struct plan *plan)
{
    size_t nodes = (size_t)round->view->node_count + 1;
    struct ring ring = {.round = round,
                        .free = arena_take (round->arena, nodes, sizeof (ring.free[0])),
                        .shares = arena_take (round->arena, nodes, sizeof (ring.shares[0]))};
    if (!ring.free || !ring.shares)
        return -ENOMEM;
    for (ring.pool = 0; ring.pool < round->pools.count; ring.pool++) {
        int placed = place_pool (&ring, chosen, true, plan);
        if (placed == 0) /* those that keep their nodes leave no whole nodes */
            placed = place_pool (&ring, chosen, false, plan);
        if (placed < 0)
            return placed;
    }
    for (int i = 0; i < round->view->job_count; i++)
        if (view_is_fixed (round->view, round->view->jobs[i]) &&
            plan_place (plan, i, round->view->jobs[i]->placement) < 0)
            return -ENOMEM;
    return 0;
}

/* ---- The decision -------------------------------------------------------------------------- */

static int round_make (struct round *round)
{
    const struct view *view = round->view;
    if (equal_nodes_make (view, round->arena, &round->pools) < 0)
        return -ENOMEM;
    size_t pools = (size_t)round->pools.count;
    for (int i = 0; i < round->pools.count; i++)
        for (int j = 0; j < i; j++)
            round->irregular |= strcmp (round->pools.list[i].type, round->pools.list[j].type) == 0;
    for (int i = 0; i < view->job_count; i++)
        round->irregular |= view->jobs[i]->spec.allowed.kind == ALLOWED_MULTIPLE ||
                            view->jobs[i]->spec.allowed.kind == ALLOWED_LIST;
    round->slots = arena_take (round->arena, pools, sizeof (round->slots[0]));
    round->configs =
        arena_take (round->arena, pools * CONFIGS_PER_POOL, sizeof (round->configs[0]));
    if (!round->slots || !round->configs)
        return -ENOMEM;
    for (int i = 0; i < round->pools.count; i++) {
        round->slots[i] = round->pools.list[i].slots;
        add_configs (round, i);
    }
    for (int i = 0; i < view->job_count; i++) {
        struct placement placement = view->jobs[i]->placement;
        for (int j = 0; view_is_fixed (view, view->jobs[i]) && j < placement.count; j++)
            round->slots[round->pools.of_node[placement.shares[j].node]] -=
                placement.shares[j].replicas;
    }
    for (int i = 0; i < round->pools.count; i++)
        round->slots[i] = round->slots[i] > 0 ? round->slots[i] : 0;
    return 0;
}

static int sia_decide (const struct view *view, void *memory, struct plan *plan,
                       struct pollux_error *err)
{
    struct solver_memory *self = memory;
    struct round round = {.view = view, .arena = &self->arena};
    arena_reset (&self->arena);
    size_t count = (size_t)view->job_count + 1;
    struct solver_job *jobs = arena_take (&self->arena, count, sizeof (jobs[0]));
    int rc = jobs ? round_make (&round) : -ENOMEM;
    int *pools =
        rc == 0 ? arena_take (&self->arena, (size_t)round.pools.count, sizeof (pools[0])) : NULL;
    struct rng rng = rng_seed (view->seed);
    for (int i = 0; i < view->job_count && rc == 0; i++)
        rc = make_options (&round, view->jobs[i], &rng, &jobs[i]);
    if (rc < 0 || !pools)
        return fail (err, -ENOMEM, "no memory for the configurations of %d jobs", view->job_count);
    for (int i = 0; i < round.pools.count; i++)
        pools[i] = i;
    struct solver_problem problem = {.slots = round.slots,
                                     .pools = pools,
                                     .node_count = round.pools.count,
                                     .pool_count = round.pools.count,
                                     .jobs = jobs,
                                     .job_count = view->job_count,
                                     .seed = view->seed,
                                     .work = round.irregular ? IRREGULAR_WORK : SOLVER_WORK};
    struct solver_result result;
    struct solver_conflict conflict;
    rc = solver_solve (self->solver, &problem, &result, &conflict, err);
    if (rc == -EINVAL)
        return fail (err, rc, "job %s: its %d slots are not there any more",
                     view->jobs[conflict.job]->spec.name, conflict.replicas);
    if (rc < 0)
        return rc;
    return place_all (&round, result.placements, plan) < 0
               ? fail (err, -ENOMEM, "no memory for the placements of %d jobs", view->job_count)
               : 0;
}

const struct policy policy_sia = {
    .name = "sia",
    .summary = "Sia (SOSP'23): least sum of costs over configurations of types",
    .adaptive = true,
    .elastic = true,
    .requested = true,
    .search = POLLUX_REFERENCE,
    .options = sia_options,
    SOLVER_MEMORY,
    .decide = sia_decide,
};
