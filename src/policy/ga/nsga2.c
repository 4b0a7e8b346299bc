/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fronts by a sweep: by falling first objective, a point joins the first front whose last point
 * does not dominate it.  That last point has the largest second objective of its front, and a point
 * dominated by a front is dominated by all earlier ones, so bisection finds the front.
 *
 *     second |  o        x         Fronts o and x.  From right to left each front only rises.
 *            |     x  o     x
 *            |          x     o
 *            +------------------ first
 */
#include "policy/ga/nsga2.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/compare.h"

struct key {
    double first, second;
    int index;
};

/* Second objective falling, then the index rising. */
static int by_second (const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int order = compare_doubles (b->second, a->second);
    return order ? order : a->index - b->index;
}

/* First objective falling, then the second, then the index rising. */
static int by_first (const void *left, const void *right)
{
    const struct key *a = left, *b = right;
    int order = compare_doubles (b->first, a->first);
    return order ? order : by_second (left, right);
}

/* Does a dominate b?  a does not come after b in the sweep. */
static bool dominates (const struct key *a, const struct key *b)
{
    return a->second > b->second || (a->second == b->second && a->first > b->first);
}

/* Rank the keys, which are sorted by_first; returns the number of fronts. */
static int sweep (const struct key *keys, int count, struct nsga2_point *points)
{
    const struct key *last[NSGA2_LIMIT];
    int fronts = 0;
    for (int i = 0; i < count; i++) {
        int low = 0, high = fronts;
        while (low < high) {
            int middle = (low + high) / 2;
            if (dominates (last[middle], &keys[i]))
                low = middle + 1;
            else
                high = middle;
        }
        last[low] = &keys[i];
        fronts = low == fronts ? fronts + 1 : fronts;
        points[keys[i].index].rank = low;
    }
    return fronts;
}

/* Crowding in one front, whose keys are sorted by_first.  Of equal points all but the first have
 * distance 0. */
static void crowd (const struct key *front, int count, struct nsga2_point *points)
{
    double first_range = front[0].first - front[count - 1].first;
    double second_range = front[count - 1].second - front[0].second;
    const struct key *before = NULL;
    for (int i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && front[next].first == front[i].first; next++)
            points[front[next].index].crowding = 0;
        struct nsga2_point *point = &points[front[i].index];
        if (!before || next == count)
            point->crowding = INFINITY;
        else
            point->crowding = (before->first - front[next].first) / first_range +
                              (front[next].second - before->second) / second_range;
        before = &front[i];
    }
}

void nsga2_select (struct nsga2_point *points, int count, int keep, int *ret)
{
    struct key keys[NSGA2_LIMIT], fronts[NSGA2_LIMIT];
    int starts[NSGA2_LIMIT + 1] = {0}, ends[NSGA2_LIMIT];
    if (count == 0)
        return;
    for (int i = 0; i < count; i++)
        keys[i] = (struct key){points[i].first, points[i].second, i};
    qsort (keys, (size_t)count, sizeof (keys[0]), by_first);
    int front_count = sweep (keys, count, points);

    for (int i = 0; i < count; i++)
        starts[points[i].rank + 1]++;
    for (int f = 0; f < front_count; f++) {
        ends[f] = starts[f];
        starts[f + 1] += starts[f];
    }
    for (int i = 0; i < count; i++)
        fronts[ends[points[keys[i].index].rank]++] = keys[i];

    int kept = 0;
    for (int f = 0; f < front_count; f++) {
        struct key *front = fronts + starts[f];
        int size = ends[f] - starts[f];
        crowd (front, size, points);
        if (kept + size > keep && kept < keep) { /* the front that is split */
            for (int i = 0; i < size; i++)
                front[i].second = points[front[i].index].crowding;
            qsort (front, (size_t)size, sizeof (front[0]), by_second);
        }
        for (int i = 0; i < size && kept < keep; i++)
            ret[kept++] = front[i].index;
    }
}

int nsga2_compare (const struct nsga2_point *a, const struct nsga2_point *b)
{
    bool a_better = a->first > b->first || a->second > b->second;
    bool b_better = b->first > a->first || b->second > a->second;
    if (a_better != b_better)
        return a_better ? 1 : -1;
    return (a->crowding > b->crowding) - (a->crowding < b->crowding);
}
