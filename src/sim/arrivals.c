/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of submission, from a Poisson process whose rate follows the time of day, or sampled
 * from the history of a real cluster.
 */
#include "sim/arrivals.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const double day_s = 86400, week_s = 7 * 86400.0, hour_s = 3600;
static const double busiest_hour = 14, usual_start_hour = 9;
enum { DAY_HOURS = 24, WEEK_HOURS = 168 };

static int by_time (const void *left, const void *right)
{
    const struct arrival *a = left, *b = right;
    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* ---- By the day --------------------------------------------------------------------------- */

/* Share of the busiest rate, in 1/ratio .. 1. */
static double day_rate (double ratio, double hour)
{
    double phase = 2 * M_PI * (hour - busiest_hour) / DAY_HOURS;
    return pow (ratio, (cos (phase) - 1) / 2);
}

/* The mean share over some hours, by the minute. */
static double mean_rate (double ratio, double start_hour, double hours)
{
    double sum = 0;
    int steps = (int)ceil (hours * 60);
    for (int i = 0; i < steps; i++)
        sum += day_rate (ratio, start_hour + (i + 0.5) * hours / steps);
    return sum / steps;
}

/* A Poisson number by counting exponential gaps; at most limit. */
static int draw_count (double expected, int limit, struct rng *rng)
{
    int count = 0;
    double at = -log (1 - rng_uniform (rng));
    while (at <= expected && count < limit) {
        at -= log (1 - rng_uniform (rng));
        count++;
    }
    return count;
}

/* Rejection sampling: an hour is accepted with its share of the busiest rate. */
static double draw_hour (const struct recipe *recipe, double start_hour, struct rng *rng)
{
    for (;;) {
        double hour = rng_uniform (rng) * recipe->hours;
        if (rng_uniform (rng) < day_rate (recipe->day_night, start_hour + hour))
            return hour;
    }
}

int arrivals_draw (const struct recipe *recipe, struct rng *rng, struct arrival **ret,
                   int *ret_count, struct pollux_error *err)
{
    double start = isnan (recipe->start_hour) ? usual_start_hour : recipe->start_hour;
    int count = recipe->jobs;
    if (count == 0) {
        double share = mean_rate (recipe->day_night, start, recipe->hours) /
                       mean_rate (recipe->day_night, 0, DAY_HOURS);
        count = draw_count (recipe->jobs_per_hour * recipe->hours * share, WORKLOAD_JOBS_LIMIT + 1,
                            rng);
    }
    if (count < 1)
        return fail (err, -EINVAL, "no job arrived; ask for more hours or more jobs per hour");
    if (count > WORKLOAD_JOBS_LIMIT)
        return fail (err, -EINVAL,
                     "more than %d jobs arrive; ask for fewer hours or fewer jobs "
                     "per hour",
                     WORKLOAD_JOBS_LIMIT);
    struct arrival *arrivals = calloc ((size_t)count, sizeof *arrivals);
    if (!arrivals)
        return fail (err, -ENOMEM, "no memory for %d jobs", count);
    for (int i = 0; i < count; i++)
        arrivals[i] = (struct arrival){
            .at_s = floor (draw_hour (recipe, start, rng) * hour_s), .slot_s = NAN, .order = i};
    qsort (arrivals, (size_t)count, sizeof *arrivals, by_time);
    *ret = arrivals;
    *ret_count = count;
    return 0;
}

/* ---- Of a history ------------------------------------------------------------------------- */

/* The part of a history to sample: length_s from start_s on, repeated every period_s (a day, a
 * week, or infinite). */
struct window {
    double start_s, length_s, period_s;
};

/* Seconds since the window's start, within its period. */
static double window_at (const struct window *window, int64_t at_s)
{
    double at = (double)at_s - window->start_s;
    if (!isfinite (window->period_s))
        return at;
    at = fmod (at, window->period_s);
    return at < 0 ? at + window->period_s : at;
}

/* The hour of the period that starts the window with most jobs. */
static int busiest_start (const struct job_history *history, const struct window *window)
{
    int hours = (int)(window->period_s / hour_s), length = (int)ceil (window->length_s / hour_s);
    int counts[WEEK_HOURS] = {0}, best = 0, most = -1;
    for (int i = 0; i < history->count; i++)
        counts[(int)(window_at (window, history->jobs[i].at_s) / hour_s)]++;
    for (int start = 0; start < hours; start++) {
        int inside = 0;
        for (int i = 0; i < length; i++)
            inside += counts[(start + i) % hours];
        if (inside > most) {
            most = inside;
            best = start;
        }
    }
    return best;
}

static struct window make_window (const struct recipe *recipe)
{
    struct window window = {.length_s = recipe->hours * hour_s, .start_s = INFINITY};
    window.period_s = window.length_s <= day_s    ? day_s
                      : window.length_s <= week_s ? week_s
                                                  : INFINITY;
    for (int i = 0; i < recipe->history->count; i++)
        window.start_s = fmin (window.start_s, (double)recipe->history->jobs[i].at_s);
    if (isnan (recipe->start_hour) && !isfinite (window.period_s))
        return window;                                       /* from the first job on */
    window.start_s = floor (window.start_s / day_s) * day_s; /* the midnight before it */
    if (isnan (recipe->start_hour))
        window.start_s += busiest_start (recipe->history, &window) * hour_s;
    else
        window.start_s += recipe->start_hour * hour_s;
    return window;
}

int arrivals_sample (const struct recipe *recipe, struct rng *rng, struct arrival **ret,
                     int *ret_count, struct pollux_error *err)
{
    const struct job_history *history = recipe->history;
    struct window window = make_window (recipe);
    struct arrival *arrivals = calloc ((size_t)history->count, sizeof *arrivals);
    if (!arrivals)
        return fail (err, -ENOMEM, "no memory for %d jobs", history->count);
    int there = 0;
    for (int i = 0; i < history->count; i++) {
        double at = window_at (&window, history->jobs[i].at_s);
        if (at >= 0 && at < window.length_s)
            arrivals[there++] =
                (struct arrival){.at_s = at, .slot_s = history->jobs[i].slot_s, .order = i};
    }
    double wanted = recipe->jobs > 0 ? recipe->jobs : ceil (recipe->jobs_per_hour * recipe->hours);
    if (wanted > there) {
        free (arrivals);
        return fail (err, -EINVAL,
                     "the history has %d jobs in these hours, fewer than %.0f; ask for fewer",
                     there, wanted);
    }
    int count = (int)wanted;
    for (int i = 0; i < count; i++) { /* the first steps of a Fisher-Yates shuffle */
        int other = i + (int)rng_below (rng, (uint64_t)(there - i));
        struct arrival drawn = arrivals[other];
        arrivals[other] = arrivals[i];
        arrivals[i] = drawn;
    }
    qsort (arrivals, (size_t)count, sizeof *arrivals, by_time);
    *ret = arrivals;
    *ret_count = count;
    return 0;
}
