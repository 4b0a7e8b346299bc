/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One array has all nodes that there could be; a question changes which of them are available.  So pools, models and the goodput
 * of one replica are the same for all questions.
 */
#include "scaling/what_if.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/goodput_samples.h"
#include "policy/speedup.h"
#include "scaling/power_next.h"

/* ---- Nodes -------------------------------------------------------------------------------- */

/* A node that is up, with its load as in power_next. */
struct loaded {
    int node;
    int64_t load;
    int pinned; /* replicas of jobs that may not be moved */
};

static int by_load (const void *a, const void *b)
{
    const struct loaded *x = a, *y = b;
    if (x->load != y->load)
        return x->load > y->load ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* The loads of all nodes of the view. */
static struct loaded *list_loads (struct what_if *what_if, const struct view *view)
{
    size_t nodes = (size_t)view->node_count + 1;
    struct loaded *loaded = arena_take (&what_if->arena, nodes, sizeof (loaded[0]));
    int64_t *loads = arena_take (&what_if->arena, nodes, sizeof (loads[0]));
    if (!loaded || !loads)
        return NULL;
    power_loads (view->jobs, view->job_count, view->node_count, loads);
    for (int i = 0; i < view->node_count; i++)
        loaded[i] = (struct loaded){.node = i, .load = loads[i]};
    for (int j = 0; j < view->job_count; j++)
        for (int k = 0; job_pinned (view->jobs[j]) && k < view->jobs[j]->placement.count; k++)
            loaded[view->jobs[j]->placement.shares[k].node].pinned +=
                view->jobs[j]->placement.shares[k].replicas;
    return loaded;
}

/* The nodes of a group that are up, in the order in which they stay, and how many of them cannot be emptied. */
static int list_up (struct what_if *what_if, const struct view *view, const struct loaded *loads,
                    struct loaded *scratch, int group)
{
    struct group_nodes *list = &what_if->groups[group];
    int most = node_group_most (&view->power->groups[group]);
    for (int i = 0; i < view->node_count; i++)
        if (view->node_power[i].group == group && view->node_power[i].state == POWER_UP)
            scratch[list->up++] = loads[i];
    qsort (scratch, (size_t)list->up, sizeof (scratch[0]), by_load);
    list->count = list->up > most ? list->up : most;
    list->nodes = arena_take (&what_if->arena, (size_t)list->count + 1, sizeof (list->nodes[0]));
    list->usable = arena_take (&what_if->arena, (size_t)list->count + 1, sizeof (list->usable[0]));
    list->held = arena_take (&what_if->arena, (size_t)list->count + 1, sizeof (list->held[0]));
    if (!list->nodes || !list->usable || !list->held)
        return -ENOMEM;
    for (int i = 0; i < list->up; i++) {
        list->nodes[i] = scratch[i].node;
        list->pinned += scratch[i].pinned > 0;
    }
    return 0;
}

/* Sum up what the first nodes of a group have for jobs. */
static void sum_slots (struct group_nodes *list, const struct view *view,
                       const struct loaded *loads)
{
    list->usable[0] = list->held[0] = 0;
    for (int i = 0; i < list->count; i++) {
        bool usable = i >= list->up || view->nodes[list->nodes[i]].available;
        list->usable[i + 1] = list->usable[i] + usable;
        list->held[i + 1] =
            list->held[i] + (usable && i < list->up ? loads[list->nodes[i]].pinned : 0);
    }
}

static struct node fresh_node (const struct node_group *group)
{
    struct node node = {.revocations_per_s = node_group_revocations (group)};
    memcpy (node.name, group->name, sizeof (node.name));
    memcpy (node.type, group->type, sizeof (node.type));
    return node;
}

/* Copy the nodes of the view, and add those that could be ordered, without slots. */
static int list_nodes (struct what_if *what_if, const struct view *view, const struct loaded *loads)
{
    const struct power *power = view->power;
    size_t room = (size_t)view->node_count + 1;
    for (int g = 0; g < power->count; g++)
        room += (size_t)power->groups[g].max_nodes;
    struct node *nodes = arena_take (&what_if->arena, room, sizeof (nodes[0]));
    struct loaded *scratch = arena_take (&what_if->arena, room, sizeof (scratch[0]));
    if (!nodes || !loads || !scratch)
        return -ENOMEM;
    if (view->node_count > 0)
        memcpy (nodes, view->nodes, (size_t)view->node_count * sizeof (nodes[0]));
    int count = view->node_count;
    for (int g = 0; g < power->count; g++) {
        struct group_nodes *list = &what_if->groups[g];
        if (list_up (what_if, view, loads, scratch, g) < 0)
            return -ENOMEM;
        for (int i = list->up; i < list->count; i++) {
            nodes[count] = fresh_node (&power->groups[g]);
            list->nodes[i] = count++;
        }
        sum_slots (list, view, loads);
    }
    what_if->nodes = nodes;
    what_if->view.nodes = nodes;
    what_if->view.node_count = count;
    what_if->view.power = NULL;
    what_if->view.node_power = NULL;
    return 0;
}

/* Give each group its number of nodes. */
static void set_nodes (struct what_if *what_if, const int numbers[NODE_GROUPS_LIMIT])
{
    for (int g = 0; g < what_if->power->count; g++) {
        const struct group_nodes *list = &what_if->groups[g];
        for (int i = 0; i < list->count; i++) {
            struct node *node = &what_if->nodes[list->nodes[i]];
            node->available = i < numbers[g] && list->usable[i + 1] > list->usable[i];
            /* A node that is up and not needed is drained: jobs that may not be moved finish there. */
            if (i >= list->up)
                node->slots = i < numbers[g] ? what_if->power->groups[g].slots_per_node : 0;
        }
    }
}

/* ---- Jobs --------------------------------------------------------------------------------- */

/* The slots of each pool on nodes of no group. */
static int list_loose (struct what_if *what_if, const struct view *view, const struct loaded *loads)
{
    size_t pools = (size_t)what_if->pools.count;
    what_if->loose = arena_take (&what_if->arena, pools, sizeof (what_if->loose[0]));
    what_if->loose_held = arena_take (&what_if->arena, pools, sizeof (what_if->loose_held[0]));
    if (!what_if->loose || !what_if->loose_held)
        return -ENOMEM;
    memset (what_if->loose, 0, pools * sizeof (what_if->loose[0]));
    memset (what_if->loose_held, 0, pools * sizeof (what_if->loose_held[0]));
    for (int i = 0; i < view->node_count; i++)
        if (view->node_power[i].group < 0 && view->nodes[i].available) {
            int pool = what_if->pools.of_node[i];
            what_if->loose[pool] += view->nodes[i].slots;
            what_if->loose_held[pool] += loads[i].pinned;
        }
    return 0;
}

static int list_models (struct what_if *what_if)
{
    const struct view *view = &what_if->view;
    struct type_ratios ratios;
    /* Some policies put jobs on nodes that are taken back at different rates. */
    if (pools_make_by_type (view->nodes, view->node_count, &what_if->arena, &what_if->pools) < 0 ||
        type_ratios_make (view, &what_if->pools, &what_if->arena, &ratios) < 0)
        return -ENOMEM;
    size_t jobs = (size_t)view->job_count, pools = (size_t)what_if->pools.count;
    what_if->models = arena_take (&what_if->arena, jobs * pools + 1, sizeof (what_if->models[0]));
    what_if->one = arena_take (&what_if->arena, jobs * pools + 1, sizeof (what_if->one[0]));
    what_if->best_one = arena_take (&what_if->arena, jobs + 1, sizeof (what_if->best_one[0]));
    if (!what_if->models || !what_if->one || !what_if->best_one)
        return -ENOMEM;
    for (size_t j = 0; j < jobs; j++) {
        double best = 0;
        for (size_t p = 0; p < pools; p++) {
            struct job_model *model = &what_if->models[j * pools + p];
            double *one = &what_if->one[j * pools + p];
            *model = job_model_on (view->jobs[j], &what_if->pools, (int)p, &ratios);
            *one = model->most_replicas > 0 ? fair_goodput_on (model, view->search, 1) : 0;
            best = fmax (best, *one);
        }
        what_if->best_one[j] = best;
    }
    return 0;
}

int what_if_new (const struct policy *policy, const struct view *view, const struct plan *plan,
                 struct what_if *ret, struct pollux_error *err)
{
    struct what_if what_if = {.policy = policy, .power = view->power, .base = plan};
    if (informed_view_new (view, &what_if.informed) < 0)
        return fail (err, -ENOMEM, "no memory to decide the size for %d jobs", view->job_count);
    what_if.view = what_if.informed.view;
    const struct loaded *loads = list_loads (&what_if, view);
    int rc = list_nodes (&what_if, view, loads);
    if (rc == 0)
        rc = list_models (&what_if);
    if (rc == 0)
        rc = list_loose (&what_if, view, loads);
    if (rc == 0)
        *ret = what_if;
    else
        what_if_clear (&what_if);
    return rc == 0 ? 0
                   : fail (err, rc, "no memory to decide the size for %d jobs", view->job_count);
}

void what_if_clear (struct what_if *what_if)
{
    informed_view_clear (&what_if->informed);
    plan_clear (&what_if->plan);
    arena_clear (&what_if->arena);
}

/* ---- Questions ---------------------------------------------------------------------------- */

double what_if_price (const struct what_if *what_if, const int nodes[NODE_GROUPS_LIMIT])
{
    double price = 0;
    for (int g = 0; g < what_if->power->count; g++)
        price += nodes[g] * what_if->power->groups[g].price_per_node_hour;
    return price;
}

/* The goodput of a job in a plan, relative to one replica: of the same type, and of the best type. */
static int job_speeds (const struct what_if *what_if, const struct plan *plan, int job,
                       double *same_type, double *best_type, struct pollux_error *err)
{
    struct placement placement = plan_placement (plan, job);
    int pool = placement.count > 0 ? pools_find (&what_if->pools, placement) : -1;
    double goodput = 0;
    *same_type = *best_type = 0;
    if (pool < 0)
        return 0;
    size_t at = (size_t)job * (size_t)what_if->pools.count + (size_t)pool;
    int rc = goodput_samples_at (what_if->view.jobs[job], &what_if->models[at],
                                 what_if->view.search, placement_shape (placement), &goodput, err);
    if (rc == 0 && what_if->one[at] > 0) {
        *same_type = goodput / what_if->one[at];
        *best_type = goodput / what_if->best_one[job];
    }
    return rc;
}

static int measure (struct what_if *what_if, const struct plan *plan, struct forecast *ret,
                    struct pollux_error *err)
{
    const struct view *view = &what_if->view;
    struct forecast forecast = {.slots = view_slots (view)};
    double sum = 0;
    forecast.speeds =
        arena_take (&what_if->arena, (size_t)view->job_count + 1, sizeof (forecast.speeds[0]));
    if (!forecast.speeds)
        return fail (err, -ENOMEM, "no memory for the goodput of %d jobs", view->job_count);
    for (int j = 0; j < view->job_count; j++) {
        struct placement before = plan_placement (what_if->base, j);
        double same_type;
        int rc = job_speeds (what_if, plan, j, &same_type, &forecast.speeds[j], err);
        if (rc < 0)
            return rc;
        sum += same_type;
        forecast.goodput += forecast.speeds[j];
        if (before.count > 0 && !placement_equal (before, plan_placement (plan, j)))
            forecast.restarts += forecast.speeds[j] * view_restart_delay (view, view->jobs[j]);
    }
    forecast.utility = view->job_count > 0 && forecast.slots > 0 ? sum / forecast.slots : NAN;
    *ret = forecast;
    return 0;
}

static void set_numbers (const struct what_if *what_if, const int nodes[NODE_GROUPS_LIMIT],
                         struct forecast *ret)
{
    memcpy (ret->nodes, nodes, sizeof (ret->nodes));
    ret->price = what_if_price (what_if, nodes);
}

int what_if_present (struct what_if *what_if, struct forecast *ret, struct pollux_error *err)
{
    int nodes[NODE_GROUPS_LIMIT] = {0};
    int rc = measure (what_if, what_if->base, ret, err);
    for (int g = 0; g < what_if->power->count; g++)
        nodes[g] = what_if->groups[g].up;
    if (rc == 0)
        set_numbers (what_if, nodes, ret);
    return rc;
}

int what_if_ask (struct what_if *what_if, const int nodes[NODE_GROUPS_LIMIT], struct forecast *ret,
                 struct pollux_error *err)
{
    struct memory memory;
    int rc = memory_new (what_if->policy, &memory, err);
    if (rc < 0)
        return rc;
    set_nodes (what_if, nodes);
    what_if->asked++;
    rc = decide_full (what_if->policy, &what_if->view, &memory, &what_if->plan, err);
    memory_clear (&memory);
    if (rc == 0)
        rc = measure (what_if, &what_if->plan, ret, err);
    if (rc == 0)
        set_numbers (what_if, nodes, ret);
    return rc;
}

/* Slots of a type on which one job can run; on which it can run beside jobs that may not be moved.  Policies that count revocations
 * keep jobs on nodes that are taken back at the same rate (cluster/pools.h). */
static int slots_alike (const struct what_if *what_if, int pool, double revocations_per_day,
                        bool beside, const int nodes[NODE_GROUPS_LIMIT])
{
    const struct power *power = what_if->power;
    bool apart = what_if->policy->revocations;
    int slots = 0;
    if (!apart || !(revocations_per_day > 0))
        slots = what_if->loose[pool] - (beside ? what_if->loose_held[pool] : 0);
    for (int g = 0; g < power->count; g++)
        if (strcmp (power->groups[g].type, what_if->pools.list[pool].type) == 0 &&
            (!apart || power->groups[g].revocations_per_day == revocations_per_day))
            slots += what_if->groups[g].usable[nodes[g]] * power->groups[g].slots_per_node -
                     (beside ? what_if->groups[g].held[nodes[g]] : 0);
    return slots;
}

/* The most slots on which a job can run, with these numbers of nodes. */
static int most_slots (const struct what_if *what_if, const struct job *job,
                       const int nodes[NODE_GROUPS_LIMIT])
{
    const struct power *power = what_if->power;
    int most = 0;
    for (int p = 0; p < what_if->pools.count; p++)
        for (int g = -1; g < power->count && job_allows_type (job, what_if->pools.list[p].type);
             g++) {
            double rate = g < 0 ? 0 : power->groups[g].revocations_per_day;
            int slots = slots_alike (what_if, p, rate, job->placement.count == 0, nodes);
            most = slots > most ? slots : most;
        }
    return most;
}

int what_if_misfits (const struct what_if *what_if, const int nodes[NODE_GROUPS_LIMIT])
{
    const struct view *view = &what_if->view;
    int misfits = 0;
    for (int j = 0; j < view->job_count; j++) {
        const struct job *job = view->jobs[j];
        int least = what_if->policy->elastic ? job_next_replicas (job, 0) : job_request (job);
        misfits += most_slots (what_if, job, nodes) < least;
    }
    return misfits;
}
