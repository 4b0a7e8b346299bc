/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The placements of all jobs, in one array whose memory the next round uses again.
 */
#include "cluster/plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int plan_reset (struct plan *plan, int job_count)
{
    if (job_count > plan->job_capacity) {
        size_t count = (size_t)job_count;
        struct span *spans = realloc (plan->spans, count * sizeof (spans[0]));
        if (!spans)
            return -ENOMEM;
        plan->spans = spans;
        double *speedups = realloc (plan->speedups, count * sizeof (speedups[0]));
        if (!speedups)
            return -ENOMEM;
        plan->speedups = speedups;
        plan->job_capacity = job_count;
    }
    for (int i = 0; i < job_count; i++) {
        plan->spans[i] = (struct span){0, 0};
        plan->speedups[i] = NAN;
    }
    plan->job_count = job_count;
    plan->share_count = 0;
    plan->fitness = plan->bound = plan->price = NAN;
    return 0;
}

int plan_place (struct plan *plan, int job, struct placement placement)
{
    int needed = plan->share_count + placement.count;
    if (needed > plan->share_capacity) {
        int capacity = needed > 2 * plan->share_capacity ? needed : 2 * plan->share_capacity;
        struct share *shares = realloc (plan->shares, (size_t)capacity * sizeof (shares[0]));
        if (!shares)
            return -ENOMEM;
        plan->shares = shares;
        plan->share_capacity = capacity;
    }
    if (placement.count > 0)
        memcpy (plan->shares + plan->share_count, placement.shares,
                (size_t)placement.count * sizeof (plan->shares[0]));
    plan->spans[job] = (struct span){.first = plan->share_count, .count = placement.count};
    plan->share_count = needed;
    return 0;
}

struct placement plan_placement (const struct plan *plan, int job)
{
    struct span span = plan->spans[job];
    return (struct placement){.shares = plan->shares ? plan->shares + span.first : NULL,
                              .count = span.count};
}

void plan_clear (struct plan *plan)
{
    free (plan->spans);
    free (plan->speedups);
    free (plan->shares);
    *plan = (struct plan){0};
}
