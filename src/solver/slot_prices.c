/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear relaxation of the knapsack.  If a job may take a mixture of options, only those on
 * the upper hull of (replicas, value) matter.  The relaxed optimum takes the steps of all hulls by
 * falling value per slot until the slots are used:
 *
 *     value                              steps of all jobs, by value per slot
 *       |        __o-----o               |###
 *       |    _o--    x                   |#####
 *       |  /    x                        |#######.......  <- price
 *       | o x                            |       :  .....
 *       +------------------ replicas     +-------+--------- slots
 *
 * The last step is found by selection, not by sorting: linear time.
 *
 * With several pools the price of one pool is found in this way while the others stay: a job's hull
 * then begins with the best that it has in the other pools, after their prices.  This is coordinate
 * descent on the Lagrangian dual; every price vector gives a bound.
 */
#include "solver/slot_prices.h"

#include <errno.h>
#include <math.h>

/* Passes over all pools; one pool needs one. */
enum { PASSES = 6 };

/* A segment of a hull: value per slot, and its slots. */
struct step {
    double slope;
    int width;
};

struct point {
    double value;
    int replicas;
};

/* Add a point to the right of a hull whose slopes fall; returns the new count. */
static int hull_add (struct point *hull, int count, struct point point)
{
    while (count > 1) {
        struct point last = hull[count - 1], before = hull[count - 2];
        if ((last.value - before.value) * (point.replicas - before.replicas) >
            (point.value - before.value) * (last.replicas - before.replicas))
            break;
        count--; /* last lies below the line */
    }
    hull[count] = point;
    return count + 1;
}

/* The best that a job has outside of a pool, after the price of its slots. */
static double value_elsewhere (const struct solver_job *job, int pool, const double *prices)
{
    double best = job->options[0].value; /* it does not run */
    for (int i = 1; i < job->option_count; i++) {
        const struct solver_option *option = &job->options[i];
        if (option->pool != pool)
            best = fmax (best, option->value - prices[option->pool] * option->replicas);
    }
    return best;
}

/* The rising part of a job's hull in a pool. */
static int hull_of (const struct solver_job *job, int pool, const double *prices,
                    struct point *hull)
{
    double best = value_elsewhere (job, pool, prices);
    int count = hull_add (hull, 0, (struct point){best, 0});
    for (int i = 1; i < job->option_count; i++) {
        struct point point = {job->options[i].value, job->options[i].replicas};
        if (job->options[i].pool != pool || point.value <= best)
            continue; /* more slots for no more value */
        best = point.value;
        if (hull[count - 1].replicas == point.replicas)
            count--;
        count = hull_add (hull, count, point);
    }
    return count;
}

static void swap (struct step *a, struct step *b)
{
    struct step held = *a;
    *a = *b;
    *b = held;
}

static double middle (double a, double b, double c)
{
    return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
}

/* The slope of the step at which the steps, the steepest first, fill the slots; 0 if they do not. */
static double fill_slots (struct step *steps, int count, int64_t slots)
{
    int low = 0,
        high = count; /* undecided; those before low are taken, those from high on are not */
    while (low < high) {
        double pivot =
            middle (steps[low].slope, steps[(low + high) / 2].slope, steps[high - 1].slope);
        int64_t width = 0, equal = 0;
        int above = low, end = high; /* [low, above) > pivot, [above, i) == pivot */
        for (int i = low; i < end;) {
            if (steps[i].slope > pivot) {
                width += steps[i].width;
                swap (&steps[i++], &steps[above++]);
            } else if (steps[i].slope < pivot) {
                swap (&steps[i], &steps[--end]);
            } else {
                equal += steps[i++].width;
            }
        }
        if (width > slots) {
            high = above;
        } else if (width + equal >= slots) {
            return pivot;
        } else {
            slots -= width + equal;
            low = end;
        }
    }
    return 0;
}

/* A job's loss at these prices: against its best option, plus the price of its slots. */
static double loss_at (const struct solver_job *job, const double *prices)
{
    struct solver_option best = job->options[0], chosen = best;
    for (int i = 1; i < job->option_count; i++) {
        struct solver_option option = job->options[i];
        best = option.value > best.value ? option : best;
        if (option.value - prices[option.pool] * option.replicas >
            chosen.value - prices[chosen.pool] * chosen.replicas)
            chosen = option;
    }
    return best.value - chosen.value + prices[chosen.pool] * chosen.replicas;
}

/* The steps of all jobs in a pool. */
static int steps_of (const struct solver_job *jobs, int job_count, int pool, const double *prices,
                     struct point *hull, struct step *steps)
{
    int count = 0;
    for (int i = 0; i < job_count; i++) {
        int points = jobs[i].option_count > 1 ? hull_of (&jobs[i], pool, prices, hull) : 0;
        for (int j = 1; j < points; j++) {
            int width = hull[j].replicas - hull[j - 1].replicas;
            steps[count++] = (struct step){(hull[j].value - hull[j - 1].value) / width, width};
        }
    }
    return count;
}

int slot_prices_find (const struct solver_job *jobs, int job_count, const int *slots,
                      int pool_count, struct arena *arena, struct slot_prices *ret)
{
    size_t total = 0;
    int most = 0;
    for (int i = 0; i < job_count; i++) {
        total += (size_t)jobs[i].option_count;
        most = most > jobs[i].option_count ? most : jobs[i].option_count;
    }
    struct point *hull = arena_take (arena, (size_t)most + 1, sizeof (hull[0]));
    struct step *steps = arena_take (arena, total, sizeof (steps[0]));
    double *prices = arena_take (arena, (size_t)pool_count, sizeof (prices[0]));
    if (!hull || !steps || !prices)
        return -ENOMEM;
    for (int pool = 0; pool < pool_count; pool++)
        prices[pool] = 0;
    for (int pass = 0; pass < (pool_count > 1 ? PASSES : 1); pass++)
        for (int pool = 0; pool < pool_count; pool++)
            prices[pool] = fill_slots (steps, steps_of (jobs, job_count, pool, prices, hull, steps),
                                       slots[pool]);
    double loss = 0;
    for (int pool = 0; pool < pool_count; pool++)
        loss -= prices[pool] * slots[pool];
    for (int i = 0; i < job_count; i++)
        loss += jobs[i].option_count > 1 ? loss_at (&jobs[i], prices) : 0;
    *ret = (struct slot_prices){prices, loss > 0 ? loss : 0 /* rounding */};
    return 0;
}
