/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which groups to re-solve.  A small cluster is first taken as one group, whose knapsack gives
 * the bound; then come groups of a few nodes around the jobs with most regret.
 */
#include "policy/improve.h"

#include <errno.h>
#include <string.h>

#include "base/rng.h"
#include "policy/group.h"

enum { PARTNERS = 2, GROUP_STEPS = 400, IDLE_JOBS = 4 };

static bool pinned (const struct menus *menus, int job)
{
    return menus->menus[job].count == 1 && menus->menus[job].choices[0].where == WHERE_KEEP;
}

/* All nodes and jobs, if they are few. */
static bool take_all (const struct menus *menus, const struct packing *packing, struct group *group)
{
    group_begin (group);
    for (int i = 0; i < packing->node_count; i++)
        if ((packing->free[i] > 0 || packing->count[i] > 0) && !group_add_node (group, i))
            return false;
    for (int i = 0; i < packing->job_count; i++)
        if (!pinned (menus, i) && !group_add_job (group, i))
            return false;
    return true;
}

/* Is the job wholly on nodes of the group? */
static bool inside (const struct packing *packing, int job)
{
    const struct place *place = &packing->places[job];
    for (int i = 0; i < place->count; i++)
        if (packing->local[place->shares[i].node] < 0)
            return false;
    return true;
}

/* The nodes of a job, of its current placement and some others; and who is on them. */
static void take_around (const struct menus *menus, const struct packing *packing,
                         struct group *group, int job, struct rng *rng)
{
    const struct place *place = &packing->places[job];
    struct placement current = packing->jobs[job].current;
    group_begin (group);
    int nodes[GROUP_NODES], count = 0;
    for (int i = 0; i < place->count && count < GROUP_NODES / 2; i++)
        nodes[count++] = place->shares[i].node;
    for (int i = 0; i < current.count && count < GROUP_NODES / 2; i++)
        nodes[count++] = current.shares[i].node;
    for (int i = 0; i < PARTNERS; i++)
        nodes[count++] = (int)rng_below (rng, (uint64_t)packing->node_count);
    int added[GROUP_NODES], added_count = 0;
    for (int i = 0; i < count; i++)
        if ((packing->free[nodes[i]] > 0 || packing->count[nodes[i]] > 0) &&
            group_add_node (group, nodes[i]))
            added[added_count++] = nodes[i];
    if (inside (packing, job))
        group_add_job (group, job);
    for (int i = 0; i < added_count; i++)
        for (int j = 0; j < packing->count[added[i]]; j++) {
            int tenant = packing->tenants[packing->first[added[i]] + j];
            if (inside (packing, tenant) && !pinned (menus, tenant))
                group_add_job (group, tenant);
        }
}

int improve (struct menus *menus, struct packing *packing, uint64_t seed, int64_t steps,
             worth *bound)
{
    struct group *group = group_new (menus, packing);
    if (!group)
        return -ENOMEM;
    worth loss = packing_loss (packing);
    if (loss <= *bound)
        return 0;
    menus_trim (menus, loss - menus->bound);
    if (take_all (menus, packing, group)) {
        worth knapsack = group_bound (group);
        for (int i = 0; i < packing->job_count; i++)
            if (pinned (menus, i))
                knapsack += packing->places[i].choice->loss;
        *bound = knapsack > *bound ? (knapsack < loss ? knapsack : loss) : *bound;
        int64_t half = steps / 2;
        worth gain = group_solve (group, &half);
        if (gain < 0)
            return -ENOMEM;
        steps -= steps / 2 - half;
        loss -= gain;
        menus_trim (menus, loss - menus->bound);
    }
    struct rng rng = rng_seed (seed);
    while (steps > 0 && loss > *bound && packing->job_count > 0) {
        int job = -1;
        worth most = -1;
        for (int i = 0; i < 3; i++) { /* the one with most regret of three */
            int some = (int)rng_below (&rng, (uint64_t)packing->job_count);
            worth regret = menu_regret (menus, &menus->menus[some], packing->places[some].choice);
            if (!pinned (menus, some) && regret > most) {
                most = regret;
                job = some;
            }
        }
        int64_t some = steps < GROUP_STEPS ? steps : GROUP_STEPS, left = some;
        if (job < 0) {
            steps--;
            continue;
        }
        take_around (menus, packing, group, job, &rng);
        worth gain = group_solve (group, &left);
        if (gain < 0)
            return -ENOMEM;
        loss -= gain;
        steps -= some - left;
    }
    return 0;
}
