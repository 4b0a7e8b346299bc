/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of the last change of each job and each node is kept in two arrays by index.  Events come here before they are applied, new ones and those of a
 * journal that is read again, so a restarted daemon has the numbers too.
 *
 * If memory is missing, everything counts as changed: `since` becomes the number of the event.
 */
#include "loop/change_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/excerpt.h"

void change_log_clear (struct change_log *log)
{
    free (log->jobs);
    free (log->nodes);
    *log = (struct change_log){0};
}

void change_log_restored (struct change_log *log, int64_t number)
{
    change_log_clear (log);
    log->number = log->since = number;
}

static void mark (struct change_log *log, int64_t **numbers, int *capacity, int index)
{
    if (index < 0)
        return;
    int64_t *grown = array_reserve_zeroed (*numbers, index, capacity, sizeof (grown[0]));
    if (!grown) {
        log->since = log->number;
        return;
    }
    *numbers = grown;
    grown[index] = log->number;
}

static void mark_job (struct change_log *log, int job)
{
    mark (log, &log->jobs, &log->job_capacity, job);
}

static int64_t number_of (const struct change_log *log, const int64_t *numbers, int capacity,
                          int index)
{
    int64_t number = index < capacity ? numbers[index] : 0;
    return number > log->since ? number : log->since;
}

int64_t change_log_job (const struct change_log *log, int job)
{
    return number_of (log, log->jobs, log->job_capacity, job);
}

int64_t change_log_node (const struct change_log *log, int node)
{
    return number_of (log, log->nodes, log->node_capacity, node);
}

/* ---- Plans --------------------------------------------------------------------------------- */

static void add_nodes (char ret[PLAN_CHANGES_SIZE], const struct cluster *cluster,
                       struct placement placement)
{
    if (placement.count == 1)
        append (ret, PLAN_CHANGES_SIZE, "%s", cluster->nodes[placement.shares[0].node].name);
    else
        append (ret, PLAN_CHANGES_SIZE, "%d nodes", placement.count);
}

static void add_change (char ret[PLAN_CHANGES_SIZE], const struct cluster *cluster,
                        const struct job *job, struct placement to)
{
    struct placement from = job->desired;
    int before = placement_replicas (from), after = placement_replicas (to);
    append (ret, PLAN_CHANGES_SIZE, "%s ", job->spec.name);
    if (after == 0) {
        append (ret, PLAN_CHANGES_SIZE, "stops");
    } else if (before == 0) {
        append (ret, PLAN_CHANGES_SIZE, "starts with %d", after);
    } else {
        bool moves = from.count != 1 || to.count != 1 || from.shares[0].node != to.shares[0].node;
        append (ret, PLAN_CHANGES_SIZE, "%d -> %d", before, after);
        if (moves && (before == after || (from.count == 1 && to.count == 1))) {
            append (ret, PLAN_CHANGES_SIZE, " (");
            add_nodes (ret, cluster, from);
            append (ret, PLAN_CHANGES_SIZE, " -> ");
            add_nodes (ret, cluster, to);
            append (ret, PLAN_CHANGES_SIZE, ")");
        }
    }
}

int plan_changes_write (const struct cluster *cluster, const struct plan *plan,
                        char ret[PLAN_CHANGES_SIZE])
{
    enum { SHOWN = 3 };
    int count = 0, shown = 0;
    for (int i = 0; i < plan->job_count; i++)
        count += !placement_equal (cluster->active.jobs[i]->desired, plan_placement (plan, i));
    snprintf (ret, PLAN_CHANGES_SIZE, "%d job%s changed: ", count, count == 1 ? "" : "s");
    for (int i = 0; i < plan->job_count && shown < SHOWN && shown < count; i++) {
        struct placement to = plan_placement (plan, i);
        if (placement_equal (cluster->active.jobs[i]->desired, to))
            continue;
        append (ret, PLAN_CHANGES_SIZE, "%s", shown++ > 0 ? ", " : "");
        add_change (ret, cluster, cluster->active.jobs[i], to);
    }
    if (count > shown)
        append (ret, PLAN_CHANGES_SIZE, ", %d more", count - shown);
    return count;
}

static void take_plan (struct change_log *log, const struct cluster *cluster,
                       const struct plan *plan)
{
    struct plan_changes changes = {.round = log->round, .at_us = log->round_us};
    if (plan->job_count != cluster->active.count)
        return; /* it does not fit and will be refused */
    log->slots_number = log->number;
    for (int i = 0; i < plan->job_count; i++)
        if (!placement_equal (cluster->active.jobs[i]->desired, plan_placement (plan, i)))
            mark_job (log, cluster->active.indices[i]);
    if (plan_changes_write (cluster, plan, changes.text) > 0)
        log->last = changes;
}

static void mark_node (struct change_log *log, const struct cluster *cluster, const char *name)
{
    int node = cluster_find_node (cluster, name);
    log->slots_number = log->number;
    mark (log, &log->nodes, &log->node_capacity, node < 0 ? cluster->node_count : node);
}

void change_log_take (struct change_log *log, const struct cluster *cluster,
                      const struct event *event, int64_t number)
{
    log->number = number;
    switch (event->type) {
    case EVENT_NODE:
        mark_node (log, cluster, event->node.name);
        break;
    case EVENT_POWER:
        mark_node (log, cluster, event->power.node);
        break;
    case EVENT_GROUPS: /* nodes may join or leave groups, and jobs cost more or less on them */
        for (int i = 0; i < cluster->node_count; i++)
            mark_node (log, cluster, cluster->nodes[i].name);
        for (int i = 0; i < cluster->live.count; i++)
            mark_job (log, cluster->live.indices[i]);
        break;
    case EVENT_SIZE:
        break;
    case EVENT_HINTS:
        for (int i = 0; i < event->hints.count; i++)
            mark_job (log, event->hints.reports[i].job);
        break;
    case EVENT_ROUND:
        log->round = number;
        log->round_us = event->at_us;
        log->fill = event->round.fill;
        break;
    case EVENT_PLAN:
        take_plan (log, cluster, event->plan);
        break;
    case EVENT_CANCEL:
    case EVENT_START:
    case EVENT_EXIT:
        log->slots_number = log->number;
        mark_job (log, event->job);
        break;
    default:
        mark_job (log, event->job);
    }
}
