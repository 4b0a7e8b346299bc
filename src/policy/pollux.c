/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pollux: a plan whose fitness is close to the maximum, with a bound that says how close.
 * The objective turns hints into options with values, and the solver maximises the sum of values.
 *
 * For p = -inf the fitness is the minimum, which is no sum.  But "how many jobs reach x = t?" is one:
 * the bound is the largest t that all jobs could reach by the number of slots alone, the fitness is
 * the largest t for which a plan is found.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/error.h"
#include "policy/objective.h"
#include "policy/policy_list.h"
#include "policy/policy_options.h"
#include "policy/solver_memory.h"
#include "policy/speedup.h"
#include "solver/slot_prices.h"

enum { REFINE_ROUNDS = 2, SMALL_SLOTS = 512 };

static const struct policy_option pollux_options[] = {POLICY_OPTION_P, {0}};

/* The state of one decision. */
struct round {
    const struct view *view;
    struct solver_memory *memory;
    struct objective objective;
    double *x; /* by job, of the plan */
    struct plan *plan;
};

/* Solve for the values that are filled in, and note every job's x. */
static int solve (struct round *round, struct solver_result *ret, struct pollux_error *err)
{
    int rc = objective_solve (&round->objective, round->view, round->memory->solver, round->plan,
                              round->x, ret, err);
    if (rc < 0)
        return rc;
    round->plan->fitness = objective_mean (round->view, round->x);
    return 0;
}

static double least_of (const struct round *round)
{
    double least = INFINITY;
    for (int i = 0; i < round->objective.count; i++)
        least = fmin (least, round->x[i]);
    return least;
}

/* Evaluate more replica counts where the price of a slot says that they could matter.  That changes
 * the price a little, so it is done REFINE_ROUNDS times. */
static int refine (struct round *round, struct pollux_error *err)
{
    struct objective *objective = &round->objective;
    int slots = 0;
    for (int i = 0; i < objective->pools.count; i++)
        slots += objective->slots[i];
    for (int i = 0; i < REFINE_ROUNDS; i++) {
        struct slot_prices relaxed;
        /* In a small cluster every slot counts: more counts are evaluated. */
        if (slot_prices_find (objective->jobs, objective->count, objective->slots,
                              objective->pools.count, &round->memory->arena, &relaxed) < 0 ||
            objective_refine (objective, round->view, relaxed.prices,
                              slots <= SMALL_SLOTS ? 2 : 0.25) < 0)
            return fail (err, -ENOMEM, "no memory for the curves of %d jobs", objective->count);
    }
    return 0;
}

static int decide_sum (struct round *round, struct pollux_error *err)
{
    /* With a very negative p, powers leave the range of a double unless x is relative to the worst
     * job of a good plan.  That is known after the first solution. */
    const double moderate_p = -32;
    const struct view *view = round->view;
    double scale = view->p < moderate_p ? FITNESS_OFFSET : 1;
    struct solver_result result;
    for (;;) {
        objective_value (&round->objective, view, scale);
        int rc = refine (round, err);
        if (rc == 0)
            rc = solve (round, &result, err);
        if (rc < 0)
            return rc;
        double least = least_of (round) + FITNESS_OFFSET;
        if (view->p >= moderate_p || least <= scale * 1.05)
            break;
        scale = least;
    }
    struct plan *plan = round->plan;
    double bound = objective_fitness (view, scale, result.bound);
    plan->price = objective_price (&round->objective, result.prices) *
                  objective_slope (view, bound, result.bound);
    plan->bound = fmax (bound, plan->fitness); /* rounding */
    return 0;
}

/* The fewest slots with which a job's x reaches a threshold; -1 if none of its options does. */
static int slots_for (const struct objective *objective, int job, double threshold)
{
    const struct allocation_options *options = &objective->options[job];
    int fewest = -1;
    for (int i = 0; i < options->count; i++)
        if (objective_x (objective, job, i) >= threshold &&
            (fewest < 0 || options->list[i].replicas < fewest))
            fewest = options->list[i].replicas;
    return fewest;
}

static bool affordable (const struct objective *objective, double threshold, int64_t slots)
{
    for (int i = 0; i < objective->count; i++) {
        int some = slots_for (objective, i, threshold);
        if (some < 0)
            return false;
        slots -= some;
    }
    return slots >= 0;
}

static int ascending (const void *a, const void *b)
{
    return compare_doubles (*(const double *)a, *(const double *)b);
}

/* All x that any job can reach, sorted. */
static int thresholds_make (struct round *round, double **ret, size_t *ret_count)
{
    const struct objective *objective = &round->objective;
    size_t count = 0, room = 0;
    for (int i = 0; i < objective->count; i++)
        room += (size_t)objective->options[i].count;
    double *thresholds = arena_take (&round->memory->arena, room, sizeof (thresholds[0]));
    if (!thresholds)
        return -ENOMEM;
    for (int i = 0; i < objective->count; i++)
        for (int j = 0; j < objective->options[i].count; j++)
            thresholds[count++] = objective_x (objective, i, j);
    qsort (thresholds, count, sizeof (thresholds[0]), ascending);
    *ret = thresholds;
    *ret_count = count;
    return 0;
}

/* The index of the largest threshold that all jobs reach with `slots` slots; 0 if a pinned job has no
 * goodput. */
static size_t last_affordable (const struct objective *objective, const double *thresholds,
                               size_t count, int slots)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (affordable (objective, thresholds[middle], slots))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int decide_least (struct round *round, struct pollux_error *err)
{
    const struct objective *objective = &round->objective;
    double *thresholds;
    size_t count;
    if (thresholds_make (round, &thresholds, &count) < 0)
        return fail (err, -ENOMEM, "no memory for the thresholds of %d jobs", objective->count);
    int slots = view_slots (round->view);
    size_t bound = last_affordable (objective, thresholds, count, slots);
    size_t next = last_affordable (objective, thresholds, count, slots + 1);
    size_t low = 0, high = bound + 1, tried = bound; /* low is reached, high is not */
    for (;;) {
        struct solver_result result;
        objective_threshold (objective, thresholds[tried]);
        int rc = solve (round, &result, err);
        if (rc < 0)
            return rc;
        double least = least_of (round);
        if (least < thresholds[tried])
            high = tried;
        else
            for (low = tried; low + 1 < high && thresholds[low + 1] <= least; low++)
                ;
        if (high - low <= 1 && tried == low)
            break;
        tried = high - low > 1 ? (low + high) / 2 : low;
    }
    round->plan->bound = thresholds[bound] + FITNESS_OFFSET;
    round->plan->price = thresholds[next] - thresholds[bound];
    return 0;
}

static int pollux_decide (const struct view *view, void *memory, struct plan *plan,
                          struct pollux_error *err)
{
    struct arena *arena = &((struct solver_memory *)memory)->arena;
    struct round round = {.view = view, .memory = memory, .plan = plan};
    arena_reset (arena);
    if (view->job_count == 0)
        return 0;
    round.x = arena_take (arena, (size_t)view->job_count, sizeof (round.x[0]));
    if (!round.x)
        return fail (err, -ENOMEM, "no memory for %d jobs", view->job_count);
    bool least = isinf (view->p);
    int rc = least ? objective_make (view, arena, &round.objective, err)
                   : objective_make_sampled (view, arena, &round.objective, err);
    if (rc < 0)
        return rc;
    return least ? decide_least (&round, err) : decide_sum (&round, err);
}

const struct policy policy_pollux = {
    .name = "pollux",
    .summary = "the paper's objective, fair goodput, maximised with a proven bound",
    .adaptive = true,
    .elastic = true,
    .revocations = true,
    .search = POLLUX_EXACT,
    .options = pollux_options,
    .values = &fitness_values,
    SOLVER_MEMORY,
    .decide = pollux_decide,
};
