/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a view and the plan of its round to the wanted numbers of nodes:
 *
 *     without a job the groups go to their minimum, at once
 *     nothing else changes while an earlier change is not complete, and for some time after it
 *     -> the goal says whether it is time to look for another size, and which one is best (size_goal.h)
 *     -> the change must bring more than it costs
 */
#include "scaling/size.h"

#include <math.h>
#include <string.h>

#include "scaling/size_goal.h"
#include "scaling/size_reason.h"

/* ---- When --------------------------------------------------------------------------------- */

/* The longest boot of the groups that can have nodes. */
static double longest_boot_s (const struct power *power)
{
    double boot_s = 0;
    for (int g = 0; g < power->count; g++)
        if (!power->groups[g].retired)
            boot_s = fmax (boot_s, power->groups[g].boot_s);
    return boot_s;
}

/* The longest boot of the groups that grow. */
static double growth_boot_s (const struct power *power, const struct forecast *now,
                             const struct forecast *then)
{
    double boot_s = 0;
    for (int g = 0; g < power->count; g++)
        if (then->nodes[g] > now->nodes[g])
            boot_s = fmax (boot_s, power->groups[g].boot_s);
    return boot_s;
}

static double mean_restart_s (const struct view *view)
{
    double sum = 0;
    for (int j = 0; j < view->job_count; j++)
        sum += view_restart_delay (view, view->jobs[j]);
    return view->job_count > 0 ? sum / view->job_count : view->restart_delay_s;
}

/* A change shows its effect when its nodes have come, the next round has placed jobs on them, and these have restarted. */
static bool is_cooling (const struct view *view)
{
    double cooldown_s = longest_boot_s (view->power) + view->interval_s + mean_restart_s (view);
    return view->power->resized_us > 0 &&
           view->now_s - (double)view->power->resized_us * 1e-6 < cooldown_s;
}

/* ---- Is it worth it? ---------------------------------------------------------------------- */

/* How long the jobs will use their nodes: the mean of the times until they end, weighted by their goodput.  A job whose
 * remaining work is not known is expected to stay as long as it has been there. */
static double expected_stay_s (const struct what_if *what_if, const struct forecast *forecast)
{
    double sum = 0, weights = 0;
    for (int j = 0; j < what_if->view.job_count; j++) {
        const struct job *job = what_if->view.jobs[j];
        double speed = forecast->speeds[j], init_batch = (double)job->hints.limits.init_batch;
        double left_s = job_remaining (job) * init_batch / (speed * what_if->best_one[j]);
        bool known = job->hints.has_model && init_batch > 0 && isfinite (left_s);
        sum += speed * (known ? left_s : job->age_s);
        weights += speed;
    }
    return weights > 0 ? sum / weights : 0;
}

/* No node comes beyond those that are ordered, and none goes that is up. */
static bool only_cancels (const struct view *view, const struct forecast *now,
                          const struct forecast *then)
{
    for (int g = 0; g < view->power->count; g++)
        if (then->nodes[g] < now->nodes[g] ||
            then->nodes[g] > node_power_ordered (view->node_power, view->node_count, g))
            return false;
    return true;
}

/* Growth: the gain in goodput, over the expected stay without the boot, exceeds what is lost by restarts.
 * Fewer nodes: the goodput that their price could buy during the stay exceeds it.  Nodes on which no job runs bring nothing. */
static bool is_worth (const struct what_if *what_if, const struct forecast *now,
                      const struct forecast *then)
{
    double stay_s = expected_stay_s (what_if, then);
    if (only_cancels (&what_if->informed.view, now, then))
        return true;
    if (then->slots > now->slots)
        return (then->goodput - now->goodput) *
                   (stay_s - growth_boot_s (what_if->power, now, then)) >
               then->restarts;
    if (!(now->goodput > 0))
        return true;
    double saved = now->price > 0 ? (now->price - then->price) / now->price
                                  : 1 - (double)then->slots / now->slots;
    return saved * now->goodput * stay_s > then->restarts;
}

/* ---- The decision ------------------------------------------------------------------------- */

static bool is_wanted (const struct power *power, const int *nodes)
{
    return memcmp (nodes, power->wanted, (size_t)power->count * sizeof (nodes[0])) == 0;
}

/* No job decides: the groups go to their minimum, or to their fixed size.  A group with a failed order does not grow. */
static void restore (const struct view *view, bool idle, struct size_decision *ret)
{
    const struct power *power = view->power;
    int nodes[NODE_GROUPS_LIMIT] = {0};
    for (int g = 0; g < power->count; g++) {
        const struct node_group *group = &power->groups[g];
        int most = node_group_most (group), wanted = idle ? group->min_nodes : group->nodes;
        bool blocked =
            node_power_blocked (view->node_power, view->node_count, g, view_now_us (view));
        nodes[g] = wanted < most ? wanted : most;
        if (blocked && nodes[g] > power->wanted[g])
            nodes[g] = power->wanted[g];
    }
    if (is_wanted (power, nodes))
        return;
    ret->resize = true;
    memcpy (ret->nodes, nodes, sizeof (ret->nodes));
    size_reason_text (view, nodes, idle ? "there is no job" : "this is the fixed size",
                      ret->reason);
}

/* Nodes that must be returned whatever they bring: they cost more than the budget. */
static bool is_too_dear (const struct power *power, const struct forecast *now)
{
    return power->goal.kind == GOAL_BUDGET && now->price > power->goal.limit;
}

/* Jobs that fit nowhere even at the largest size: they force nothing. */
static int least_misfits (const struct what_if *what_if)
{
    int most[NODE_GROUPS_LIMIT] = {0};
    for (int g = 0; g < what_if->power->count; g++)
        most[g] = node_group_most (&what_if->power->groups[g]);
    return what_if_misfits (what_if, most);
}

static int resize (struct what_if *what_if, const struct view *view, const struct forecast *now,
                   struct size_decision *ret, struct pollux_error *err)
{
    int misfits = what_if_misfits (what_if, now->nodes);
    bool dear = is_too_dear (view->power, now);
    bool wait = is_cooling (view) || size_goal_met (view, now);
    struct forecast best;
    if (wait && !dear && misfits <= least_misfits (what_if))
        return 0;
    int rc = size_goal_search (what_if, &best, err);
    if (rc < 0 || is_wanted (view->power, best.nodes))
        return rc;
    /* Jobs that fit nowhere, whatever the size, force nothing. */
    bool forced = what_if_misfits (what_if, best.nodes) < misfits;
    if (!forced && !dear && (wait || !is_worth (what_if, now, &best)))
        return 0;
    ret->resize = true;
    memcpy (ret->nodes, best.nodes, sizeof (ret->nodes));
    size_reason (view, now, &best, forced, ret->reason);
    return 0;
}

int size_decide (const struct policy *policy, const struct view *view, const struct plan *plan,
                 struct size_decision *ret, struct pollux_error *err)
{
    struct size_decision decision = {.utility = NAN};
    struct what_if what_if;
    struct forecast now;
    if (!view->power) {
        *ret = decision;
        return 0;
    }
    int rc = what_if_new (policy, view, plan, &what_if, err);
    if (rc < 0)
        return rc;
    bool fixed = view->power->goal.kind == GOAL_FIXED;
    bool complete =
        !node_power_in_flight (view->power, view->node_power, view->node_count, view_now_us (view));
    bool idle = view->job_count == 0 && !fixed;
    rc = what_if_present (&what_if, &now, err);
    if (rc == 0)
        decision.utility = now.utility;
    /* Fewer nodes than now, whatever starts: power_next cancels orders first. */
    if (rc == 0 && idle && view->paused == 0)
        restore (view, true, &decision);
    else if (rc == 0 && fixed && complete)
        restore (view, false, &decision);
    else if (rc == 0 && !idle && complete)
        rc = resize (&what_if, view, &now, &decision, err);
    what_if_clear (&what_if);
    if (rc == 0)
        *ret = decision;
    return rc;
}
