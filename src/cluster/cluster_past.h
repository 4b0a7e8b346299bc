/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of the cluster's past for charts: means per minute for a day, and per hour for a year.
 */
#ifndef CLUSTER_CLUSTER_PAST_H
#define CLUSTER_CLUSTER_PAST_H

#include <float.h>
#include <math.h>
#include <stdint.h>

/* A number as a chart keeps it.  What no float can hold is unknown. */
static inline float chart_number (double number)
{
    return fabs (number) <= (double)FLT_MAX ? (float)number : NAN;
}

/* Values of a cluster. */
enum series_value {
    SERIES_SLOTS,   /* of all nodes */
    SERIES_USED,    /* slots that jobs hold */
    SERIES_RUNNING, /* jobs */
    SERIES_WAITING, /* jobs */
    SERIES_GOODPUT, /* sum over running jobs of goodput / own goodput on one replica */
    SERIES_PRICE,   /* of a slot, in the latest plan that has one */
};
enum { SERIES_VALUES = SERIES_PRICE + 1 };
extern const char *const series_names[SERIES_VALUES];

/* Means over one period.  NaN: unknown in all of it. */
struct series_point {
    int64_t at_us; /* its beginning, a multiple of the period */
    float values[SERIES_VALUES];
};

/* Points of equal periods in a ring buffer, and the period that is not over.  Starts as
 * {.period_us, .limit}; series_clear frees it. */
struct series {
    int64_t period_us;
    int limit; /* points at most */
    struct series_point *points;
    int first, count, capacity; /* first: the place of the oldest */
    int64_t open_us;            /* beginning of the period that is not over */
    /* Of that period: the integral of a value over the time in which it was known, and that time, in
     * seconds. */
    double sums[SERIES_VALUES], known_s[SERIES_VALUES];
};

/* These values held from a time until another one; times never go back.  -ENOMEM: a point is lost. */
int series_add (struct series *series, int64_t from_us, int64_t until_us,
                const double values[SERIES_VALUES]);

/* The number of points, with the one that is not over, if any of its values is known; and point i,
 * the oldest first. */
int series_count (const struct series *series);
struct series_point series_get (const struct series *series, int i);

/* Append a point that is over, for a restore.  -EINVAL: its time is no later multiple of the
 * period; -ENOMEM. */
int series_restore (struct series *series, const struct series_point *point);

void series_clear (struct series *series);

/* A day of minutes, and 366 days of hours: 10,224 points of 32 bytes, 330 kB. */
enum { PAST_MINUTES = 1440, PAST_HOURS = 8784 };

struct cluster_past {
    struct series minutes, hours;
    int64_t until_us; /* the time of the last event; -1: none yet */
    int64_t hints_us; /* the time of the last HINTS; -1: none yet */
    double price;     /* of the latest plan that has one; NaN: unknown */
};

struct cluster_past cluster_past_make (void);
/* On failure (-ENOMEM) ret is empty. */
int cluster_past_copy (const struct cluster_past *past, struct cluster_past *ret);
void cluster_past_clear (struct cluster_past *past);

#endif
