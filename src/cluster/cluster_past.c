/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Means over equal periods.  A value is integrated over time and divided at the end of its period,
 * so the mean does not depend on how often events come.
 *
 *     points  | 10:00 | 10:01 | 10:02 |        ring buffer of means
 *     open                            | 10:03  integrals so far
 */
#include "cluster/cluster_past.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char *const series_names[] = {
    [SERIES_SLOTS] = "slots",     [SERIES_USED] = "used",       [SERIES_RUNNING] = "running",
    [SERIES_WAITING] = "waiting", [SERIES_GOODPUT] = "goodput", [SERIES_PRICE] = "price",
};
_Static_assert(sizeof (series_names) / sizeof (series_names[0]) == SERIES_VALUES,
               "a name for each value");

static const double US = 1e-6;

/* The period that is not over, as a point. */
static struct series_point open_point (const struct series *series)
{
    struct series_point point = {.at_us = series->open_us};
    for (int i = 0; i < SERIES_VALUES; i++)
        point.values[i] =
            series->known_s[i] > 0 ? chart_number (series->sums[i] / series->known_s[i]) : NAN;
    return point;
}

static int has_open (const struct series *series)
{
    for (int i = 0; i < SERIES_VALUES; i++)
        if (series->known_s[i] > 0)
            return 1;
    return 0;
}

/* Append, or replace the oldest one. */
static int append (struct series *series, const struct series_point *point)
{
    if (series->count == series->limit) {
        series->points[series->first] = *point;
        series->first = (series->first + 1) % series->limit;
        return 0;
    }
    struct series_point *points =
        array_grow (series->points, series->count, &series->capacity, sizeof (points[0]));
    if (!points)
        return -ENOMEM;
    series->points = points;
    points[series->count++] = *point;
    return 0;
}

/* End the open period and begin the one that contains a time. */
static int next_period (struct series *series, int64_t at_us)
{
    int rc = 0;
    if (has_open (series)) {
        struct series_point point = open_point (series);
        rc = append (series, &point);
    }
    memset (series->sums, 0, sizeof (series->sums));
    memset (series->known_s, 0, sizeof (series->known_s));
    series->open_us = at_us - at_us % series->period_us;
    return rc;
}

int series_add (struct series *series, int64_t from_us, int64_t until_us,
                const double values[SERIES_VALUES])
{
    /* A longer time without events fills the whole ring with the same values. */
    int64_t kept_us = series->period_us * (series->limit + 1);
    int rc = 0;
    if (until_us - from_us > kept_us)
        from_us = until_us - kept_us;
    while (from_us < until_us) {
        if (from_us < series->open_us || from_us - series->open_us >= series->period_us) {
            int code = next_period (series, from_us);
            rc = rc < 0 ? rc : code;
        }
        int64_t end_us = series->open_us + series->period_us;
        end_us = end_us < until_us ? end_us : until_us;
        double seconds = (double)(end_us - from_us) * US;
        for (int i = 0; i < SERIES_VALUES; i++) {
            if (isnan (chart_number (values[i])))
                continue;
            series->sums[i] += values[i] * seconds;
            series->known_s[i] += seconds;
        }
        from_us = end_us;
    }
    return rc;
}

int series_count (const struct series *series)
{
    return series->count + has_open (series);
}

struct series_point series_get (const struct series *series, int i)
{
    return i < series->count ? series->points[(series->first + i) % series->count]
                             : open_point (series);
}

int series_restore (struct series *series, const struct series_point *point)
{
    bool later = series->count == 0 || point->at_us > series_get (series, series->count - 1).at_us;
    if (point->at_us < 0 || point->at_us % series->period_us != 0 || !later)
        return -EINVAL;
    return append (series, point);
}

void series_clear (struct series *series)
{
    free (series->points);
    *series = (struct series){.period_us = series->period_us, .limit = series->limit};
}

struct cluster_past cluster_past_make (void)
{
    return (struct cluster_past){
        .minutes = {.period_us = (int64_t)60 * 1000000, .limit = PAST_MINUTES},
        .hours = {.period_us = (int64_t)3600 * 1000000, .limit = PAST_HOURS},
        .until_us = -1,
        .hints_us = -1,
        .price = NAN,
    };
}

/* A series without points copies as one without memory. */
static int copy_points (const struct series *series, struct series *ret)
{
    *ret = *series;
    ret->capacity = series->count;
    ret->points = NULL;
    if (series->count == 0)
        return 0;
    size_t bytes = (size_t)series->count * sizeof (ret->points[0]);
    ret->points = malloc (bytes);
    if (!ret->points)
        return -ENOMEM;
    memcpy (ret->points, series->points, bytes);
    return 0;
}

int cluster_past_copy (const struct cluster_past *past, struct cluster_past *ret)
{
    struct cluster_past copy = *past;
    int minutes = copy_points (&past->minutes, &copy.minutes);
    int hours = copy_points (&past->hours, &copy.hours);
    *ret = copy;
    if (minutes == 0 && hours == 0)
        return 0;
    free (copy.minutes.points);
    free (copy.hours.points);
    *ret = cluster_past_make ();
    return -ENOMEM;
}

void cluster_past_clear (struct cluster_past *past)
{
    series_clear (&past->minutes);
    series_clear (&past->hours);
}
