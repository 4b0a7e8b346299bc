/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mean number of jobs in the system, as a function of arrays.
 */
#include "sim/mean_concurrency.h"

#include <errno.h>
#include <stdlib.h>

static int compare (const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The integral over time of the number of stays in the system.  With begins and ends sorted and
 * summed it takes two binary searches:
 *     area (t) = sum over from <= t of (t - from) - sum over to <= t of (t - to)  */
struct ends {
    double *at_s, *sum_s; /* sorted; sum_s[i] of the first i */
    int count;
};

static double overlap_until (const struct ends *ends, double t)
{
    int low = 0, high = ends->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (ends->at_s[middle] <= t)
            low = middle + 1;
        else
            high = middle;
    }
    return low * t - ends->sum_s[low];
}

static void sort_ends (struct ends *ends)
{
    qsort (ends->at_s, (size_t)ends->count, sizeof (ends->at_s[0]), compare);
    ends->sum_s[0] = 0;
    for (int i = 0; i < ends->count; i++)
        ends->sum_s[i + 1] = ends->sum_s[i] + ends->at_s[i];
}

int mean_concurrency (const struct stay *stays, int count, double *ret)
{
    size_t n = (size_t)count;
    double *memory = malloc ((4 * n + 2) * sizeof (memory[0]));
    if (!memory)
        return -ENOMEM;
    struct ends begun = {.at_s = memory, .sum_s = memory + 2 * n, .count = count};
    struct ends ended = {.at_s = memory + n, .sum_s = memory + 3 * n + 1, .count = count};
    for (int i = 0; i < count; i++) {
        begun.at_s[i] = stays[i].from_s;
        ended.at_s[i] = stays[i].to_s;
    }
    sort_ends (&begun);
    sort_ends (&ended);
    for (int i = 0; i < count; i++) {
        double from = stays[i].from_s, to = stays[i].to_s;
        double area = overlap_until (&begun, to) - overlap_until (&ended, to) -
                      (overlap_until (&begun, from) - overlap_until (&ended, from));
        ret[i] = to > from ? area / (to - from) : 1;
    }
    free (memory);
    return 0;
}
