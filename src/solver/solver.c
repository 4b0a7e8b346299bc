/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a solution: slot price, exact losses, piece prices, greedy plan, local search.
 * Losses above a cap, a multiple of the relaxed problem's loss, count as the cap.  If the plan
 * shows that the cap was wrong, all steps are repeated with a better one.
 */
#include "solver/solver.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "solver/greedy_pack.h"
#include "solver/local_search.h"
#include "solver/dual.h"
#include "solver/slot_prices.h"

/* The default of problem.work, in steps of about 50 ns. */
enum { WORK_LEAST = 5000, WORK_PER_JOB = 160 };

enum { CAP_TRIES = 16, CAP_STEPS = 8, OPTIONS_MOST = 128 };

/* Of the dual; with several pools prices need longer to settle. */
enum { ROUNDS_ONE_POOL = 24, ROUNDS_POOLS = 48 };

struct solver {
    struct arena arena;
};

int solver_new (struct solver **ret, struct pollux_error *err)
{
    struct solver *solver = calloc (1, sizeof (*solver));
    if (!solver)
        return fail (err, -ENOMEM, "no memory for a solver");
    *ret = solver;
    return 0;
}

void solver_free (struct solver *solver)
{
    if (solver)
        arena_clear (&solver->arena);
    free (solver);
}

static bool pinned (const struct solver_job *job)
{
    return job->option_count == 1 && job->options[0].where == WHERE_KEEP;
}

/* Place the pinned jobs, even where two jobs on several nodes share a node. */
static int put_pinned (const struct option_lists *lists, struct packing *packing,
                       struct solver_conflict *conflict)
{
    for (int i = 0; i < packing->job_count; i++) {
        struct placement current = packing->jobs[i].current;
        if (!pinned (&packing->jobs[i]))
            continue;
        for (int j = 0; j < current.count; j++) {
            struct share share = current.shares[j];
            if (packing->free[share.node] < share.replicas) {
                *conflict = (struct solver_conflict){.job = i,
                                                     .node = share.node,
                                                     .replicas = share.replicas,
                                                     .free = packing->free[share.node]};
                return -EINVAL;
            }
        }
        if (packing_put (packing, i, &lists->lists[i].options[0], current) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Its unit is still a double of full precision. */
static const double least_cap = 1e-200;

/* The next cap to try, or 0 if this one is right: above the loss of every job of the plan, so that
 * different losses stay different, and not so large that small losses round to 0.  After CAP_STEPS tries
 * a cap that is still too small rises to the largest loss: it then falls to what that plan loses. */
static double next_cap (const struct option_lists *lists, const struct packing *packing,
                        double largest, double lost, int tried)
{
    cost cap = (cost)llround (lists->cap / lists->unit) * COST_UNIT;
    bool reached = false;
    for (int i = 0; i < packing->job_count; i++)
        reached |= packing->places[i].option->loss >= cap;
    if (reached && tried >= CAP_STEPS)
        return lists->cap < largest ? largest : 0;
    if (reached)
        return lists->cap < largest ? lists->cap * 0x1p20 : 0;
    return lost > least_cap && lost < lists->cap * 0x1p-24 ? lost * 0x1p8 : 0;
}

/* The supplies of all pools. */
static int supplies_make (const struct packing *packing, struct arena *arena, struct supply *ret)
{
    for (int i = 0; i < packing->pool_count; i++) {
        struct supply supply = {.most = packing->pools[i].free_most};
        size_t sizes = (size_t)supply.most + 1;
        supply.open = arena_take (arena, sizes, sizeof (int));
        supply.closed = arena_take (arena, sizes, sizeof (int));
        if (!supply.open || !supply.closed)
            return -ENOMEM;
        for (int r = 0; r <= supply.most; r++)
            supply.open[r] = supply.closed[r] = 0;
        ret[i] = supply;
    }
    for (int i = 0; i < packing->node_count; i++) {
        const struct supply *supply = &ret[packing->pool_of[i]];
        (packing->closed[i] ? supply->closed : supply->open)[packing->capacity[i]]++;
    }
    return 0;
}

static double largest_loss (const struct solver_job *jobs, int job_count)
{
    double largest = 0;
    for (int i = 0; i < job_count; i++) {
        double least = INFINITY, most = -INFINITY;
        for (int j = 0; j < jobs[i].option_count; j++) {
            least = fmin (least, jobs[i].options[j].value);
            most = fmax (most, jobs[i].options[j].value);
        }
        largest = fmax (largest, most - least);
    }
    return largest;
}

/* The jobs' placements, in the solver's memory; NULL: no memory. */
static const struct placement *placements_of (const struct packing *packing)
{
    struct placement *placements =
        arena_take (packing->arena, (size_t)packing->job_count, sizeof (placements[0]));
    for (int i = 0; placements && i < packing->job_count; i++) {
        placements[i] = (struct placement){.shares = packing->places[i].shares,
                                           .count = packing->places[i].count};
        /* Same shares: keep their order, so that ranks do not move. */
        if (placement_same (placements[i], packing->jobs[i].current))
            placements[i] = packing->jobs[i].current;
    }
    return placements;
}

/* Value of the plan, and its loss against the jobs' best options. */
struct sum {
    double value, lost;
};

static struct sum plan_sum (const struct solver_job *jobs, const struct packing *packing)
{
    struct sum sum = {0};
    for (int i = 0; i < packing->job_count; i++) {
        const struct priced_option *chosen = packing->places[i].option;
        double best = -INFINITY, value = NAN;
        for (int j = 0; j < jobs[i].option_count; j++) {
            const struct solver_option *option = &jobs[i].options[j];
            best = fmax (best, option->value);
            if (option->where == chosen->where && option->replicas == chosen->replicas &&
                option->pool == chosen->pool)
                value = option->value;
        }
        sum.value += value;
        sum.lost += best - value;
    }
    return sum;
}

/* The slots of each pool that pinned jobs leave.  NULL: no memory. */
static const int *slots_by_pool (const struct solver_problem *problem, struct arena *arena)
{
    int *slots = arena_take (arena, (size_t)problem->pool_count, sizeof (slots[0]));
    for (int i = 0; slots && i < problem->pool_count; i++)
        slots[i] = 0;
    for (int i = 0; slots && i < problem->node_count; i++)
        slots[problem->pools[i]] += problem->slots[i];
    for (int i = 0; slots && i < problem->job_count; i++)
        if (pinned (&problem->jobs[i]))
            slots[problem->jobs[i].options[0].pool] -= problem->jobs[i].options[0].replicas;
    for (int i = 0; slots && i < problem->pool_count; i++)
        slots[i] = slots[i] > 0 ? slots[i] : 0;
    return slots;
}

int solver_solve (struct solver *solver, const struct solver_problem *problem,
                  struct solver_result *ret, struct solver_conflict *conflict,
                  struct pollux_error *err)
{
    const struct solver_job *jobs = problem->jobs;
    int job_count = problem->job_count, pool_count = problem->pool_count, slots = 0;
    struct arena *arena = &solver->arena;
    for (int i = 0; i < problem->node_count; i++)
        slots += problem->slots[i];
    if (job_count > COST_JOBS_LIMIT || slots > COST_SLOTS_LIMIT)
        return fail (err, -E2BIG, "%d jobs on %d slots; at most %d and %d can be scheduled",
                     job_count, slots, COST_JOBS_LIMIT, COST_SLOTS_LIMIT);
    arena_reset (arena);
    const int *pool_slots = slots_by_pool (problem, arena);
    struct supply *supplies = arena_take (arena, (size_t)pool_count, sizeof (supplies[0]));
    struct piece_prices *prices = arena_take (arena, (size_t)pool_count, sizeof (prices[0]));
    double *start = arena_take (arena, (size_t)pool_count, sizeof (start[0]));
    struct slot_prices relaxed;
    if (!pool_slots || !supplies || !prices || !start ||
        slot_prices_find (jobs, job_count, pool_slots, pool_count, arena, &relaxed) < 0)
        goto no_memory;
    slots = 0;
    for (int i = 0; i < pool_count; i++)
        slots += pool_slots[i];
    double largest = largest_loss (jobs, job_count);
    int64_t work =
        problem->work > 0 ? problem->work : WORK_LEAST + (int64_t)WORK_PER_JOB * job_count;
    double cap = relaxed.loss * 0x1p10;
    for (int tried = 1; tried <= CAP_TRIES; tried++) {
        struct option_lists lists;
        struct packing packing;
        cap = cap > least_cap && cap < largest ? cap : fmax (largest, least_cap);
        for (int i = 0; i < pool_count; i++)
            start[i] = fmin (relaxed.prices[i], cap);
        if (option_lists_make (jobs, job_count, slots, cap, arena, &lists) < 0 ||
            packing_make (problem, arena, &packing) < 0)
            goto no_memory;
        int rc = put_pinned (&lists, &packing, conflict);
        if (rc == -EINVAL)
            return rc;
        packing_set_capacity (&packing);
        if (rc < 0 || supplies_make (&packing, arena, supplies) < 0 ||
            dual_ascend (&lists, supplies, pool_count, start,
                         pool_count > 1 ? ROUNDS_POOLS : ROUNDS_ONE_POOL, arena, prices) < 0)
            goto no_memory;
        option_lists_price (&lists, prices, supply_price (supplies, prices, pool_count),
                            OPTIONS_MOST);
        packing.prices = prices;
        cost bound = lists.bound;
        if (greedy_pack (&lists, &packing) < 0 ||
            local_search (&lists, &packing, problem->seed, work, &bound) < 0)
            goto no_memory;
        struct sum sum = plan_sum (jobs, &packing);
        cap = next_cap (&lists, &packing, largest, sum.lost, tried);
        if (cap > 0 && tried < CAP_TRIES)
            continue;
        const struct placement *placements = placements_of (&packing);
        if (!placements)
            goto no_memory;
        /* Rounding, half a unit per job, and the low bits that break ties. */
        double lost = option_lists_value (&lists, bound - job_count * COST_UNIT);
        *ret = (struct solver_result){
            .placements = placements,
            .value = sum.value,
            .bound = lists.best - fmax (lost, 0),
            .prices = relaxed.prices,
        };
        return 0;
    }
no_memory:
    return fail (err, -ENOMEM, "no memory to solve for %d jobs on %d nodes", job_count,
                 problem->node_count);
}
