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
 * descent on the Lagrangian dual; every price vector gives a bound.  A better beginning only removes points
 * from a hull, so the points of all hulls are found once, for jobs that have nothing elsewhere.
 *
 * The dual is not smooth, so that the descent can stop early: of two equal pools without a price neither gets one, because every job
 * can have the other one for nothing.  Hence it also begins with one price for the slots of all pools together, and the
 * better of both ends is taken.
 */
#include "solver/slot_prices.h"

#include <errno.h>
#include <string.h>

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

/* The hulls of a job in all pools, without their beginning. */
struct hulls {
    double none; /* value if it does not run */
    struct point *points;
    int *ends; /* by pool: index behind its last point; it begins where the one before ends */
};

/* The hull of a job's options in a pool that begins with no slots: its rising part. */
static int hull_of (const struct solver_job *job, int pool, struct point *hull)
{
    double best = job->options[0].value; /* it does not run */
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

/* scratch: room for all options and one more. */
static int hulls_make (const struct solver_job *job, int pool_count, struct point *scratch,
                       struct arena *arena, struct hulls *ret)
{
    ret->none = job->options[0].value;
    ret->ends = arena_take (arena, (size_t)pool_count, sizeof (ret->ends[0]));
    if (!ret->ends)
        return -ENOMEM;
    int count = 0;
    for (int pool = 0; pool < pool_count; pool++) {
        int points = job->option_count > 1 ? hull_of (job, pool, scratch + count) - 1 : 0;
        memmove (scratch + count, scratch + count + 1, (size_t)points * sizeof (scratch[0]));
        count += points;
        ret->ends[pool] = count;
    }
    ret->points = arena_take (arena, (size_t)count, sizeof (ret->points[0]));
    if (!ret->points)
        return -ENOMEM;
    memcpy (ret->points, scratch, (size_t)count * sizeof (scratch[0]));
    return 0;
}

/* The best that a job has outside of a pool, after the price of its slots. */
static double value_elsewhere (const struct hulls *hulls, int pool, const double *prices,
                               int pool_count)
{
    double best = hulls->none;
    for (int other = 0, i = 0; other < pool_count; i = hulls->ends[other++])
        for (; other != pool && i < hulls->ends[other]; i++) {
            double value = hulls->points[i].value - prices[other] * hulls->points[i].replicas;
            best = value > best ? value : best;
        }
    return best;
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

/* Add the steps of a hull to a list of `count`; returns the new count. */
static int add_steps (const struct point *hull, int points, struct step *steps, int count)
{
    for (int j = 1; j < points; j++) {
        int width = hull[j].replicas - hull[j - 1].replicas;
        steps[count++] = (struct step){(hull[j].value - hull[j - 1].value) / width, width};
    }
    return count;
}

/* The steps of all jobs in a pool. */
static int steps_of (const struct hulls *hulls, int job_count, int pool, const double *prices,
                     int pool_count, struct point *hull, struct step *steps)
{
    int count = 0;
    for (int i = 0; i < job_count; i++) {
        double best = value_elsewhere (&hulls[i], pool, prices, pool_count);
        int points = hull_add (hull, 0, (struct point){best, 0});
        for (int j = pool > 0 ? hulls[i].ends[pool - 1] : 0; j < hulls[i].ends[pool]; j++)
            if (hulls[i].points[j].value > best)
                points = hull_add (hull, points, hulls[i].points[j]);
        count = add_steps (hull, points, steps, count);
    }
    return count;
}

/* The steps of all jobs if the slots of all pools were alike; points: scratch, as long as hull. */
static int steps_of_all (const struct hulls *hulls, int job_count, int pool_count,
                         struct point *points, struct point *hull, struct step *steps)
{
    int count = 0;
    for (int i = 0; i < job_count; i++) {
        double best = hulls[i].none;
        int all = hulls[i].ends[pool_count - 1],
            hulled = hull_add (hull, 0, (struct point){best, 0});
        for (int j = 0; j < all; j++) { /* by replicas, of equal ones the best last */
            int at = j;
            struct point point = hulls[i].points[j];
            for (; at > 0 && (points[at - 1].replicas > point.replicas ||
                              (points[at - 1].replicas == point.replicas &&
                               points[at - 1].value > point.value));
                 at--)
                points[at] = points[at - 1];
            points[at] = point;
        }
        for (int j = 0; j < all; j++) {
            if (points[j].value <= best)
                continue;
            best = points[j].value;
            hulled -= hull[hulled - 1].replicas == points[j].replicas;
            hulled = hull_add (hull, hulled, points[j]);
        }
        count = add_steps (hull, hulled, steps, count);
    }
    return count;
}

/* The jobs and their hulls, and scratch. */
struct descent {
    const struct solver_job *jobs;
    const struct hulls *hulls;
    int job_count;
    const int *slots; /* by pool */
    int pool_count;
    struct point *hull, *points;
    struct step *steps;
};

/* Improve the prices pool by pool.  Returns the loss. */
static double descend (const struct descent *descent, double *prices)
{
    int pool_count = descent->pool_count;
    for (int pass = 0; pass < (pool_count > 1 ? PASSES : 1); pass++)
        for (int pool = 0; pool < pool_count; pool++) {
            int count = steps_of (descent->hulls, descent->job_count, pool, prices, pool_count,
                                  descent->hull, descent->steps);
            prices[pool] = fill_slots (descent->steps, count, descent->slots[pool]);
        }
    double loss = 0;
    for (int pool = 0; pool < pool_count; pool++)
        loss -= prices[pool] * descent->slots[pool];
    for (int i = 0; i < descent->job_count; i++)
        loss += descent->jobs[i].option_count > 1 ? loss_at (&descent->jobs[i], prices) : 0;
    return loss;
}

/* The same from one price for all slots; keeps the prices that have the larger loss, which is the better bound. */
static double descend_together (const struct descent *descent, double loss, double *prices,
                                double *others)
{
    int64_t slots = 0;
    for (int pool = 0; pool < descent->pool_count; pool++)
        slots += descent->slots[pool];
    int count = steps_of_all (descent->hulls, descent->job_count, descent->pool_count,
                              descent->points, descent->hull, descent->steps);
    double price = fill_slots (descent->steps, count, slots);
    for (int pool = 0; pool < descent->pool_count; pool++)
        others[pool] = price;
    double other = descend (descent, others);
    if (!(other > loss))
        return loss;
    memcpy (prices, others, (size_t)descent->pool_count * sizeof (prices[0]));
    return other;
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
    struct hulls *hulls = arena_take (arena, (size_t)job_count, sizeof (hulls[0]));
    struct descent descent = {
        .jobs = jobs,
        .hulls = hulls,
        .job_count = job_count,
        .slots = slots,
        .pool_count = pool_count,
        .hull = arena_take (arena, (size_t)most + 1, sizeof (descent.hull[0])),
        .points = arena_take (arena, (size_t)most + 1, sizeof (descent.points[0])),
        .steps = arena_take (arena, total, sizeof (descent.steps[0])),
    };
    double *prices = arena_take (arena, 2 * (size_t)pool_count, sizeof (prices[0]));
    if (!hulls || !descent.hull || !descent.points || !descent.steps || !prices)
        return -ENOMEM;
    for (int i = 0; i < job_count; i++)
        if (hulls_make (&jobs[i], pool_count, descent.hull, arena, &hulls[i]) < 0)
            return -ENOMEM;
    for (int pool = 0; pool < pool_count; pool++)
        prices[pool] = 0;
    double loss = descend (&descent, prices);
    if (pool_count > 1)
        loss = descend_together (&descent, loss, prices, prices + pool_count);
    *ret = (struct slot_prices){prices, loss > 0 ? loss : 0 /* rounding */};
    return 0;
}
