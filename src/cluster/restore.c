/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restore nodes and jobs from a snapshot; for a job: apply SUBMIT, then copy the rest of its state.  The state is
 * checked first: readers of a cluster rely on properties that events guarantee, for example that
 * only running jobs have a placement and that no time is in the future.
 */
#include "cluster/restore.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"

/* ---- Nodes -------------------------------------------------------------------------------- */

int cluster_restore_groups (struct cluster *cluster, const struct power *power, int64_t now_us,
                            struct pollux_error *err)
{
    struct event event = {
        .type = EVENT_GROUPS, .job = -1, .groups = {power->groups, power->count, power->goal}};
    int rc = power_check_groups (cluster, &event, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < power->count; i++) {
        const struct node_group *group = &power->groups[i];
        int most = node_group_most (group);
        if (power->wanted[i] < group->min_nodes || power->wanted[i] > most)
            return fail (err, -EINVAL, "group %s: %d nodes are wanted, expected %d to %d",
                         group->name, power->wanted[i], group->min_nodes, most);
        if (power->complete_us[i] > now_us)
            return fail (err, -EINVAL, "group %s: it was complete after the snapshot", group->name);
    }
    if (power->resized_us > now_us)
        return fail (err, -EINVAL, "the size of the groups changed after the snapshot");
    cluster->power = *power;
    return 0;
}

/* The reason why events cannot have led to this state; NULL: they can. */
static const char *node_contradiction (const struct node *node, const struct node_power *power,
                                       int group, int64_t now_us)
{
    enum power_state state = power->state;
    bool here = state == POWER_UP || state == POWER_DRAINING;
    if ((group < 0) != (state == POWER_NONE))
        return group < 0 ? "it has a state, but no group" : "its group is known, but not its state";
    if (power->since_us > now_us || power->billed_us > now_us)
        return "its times are after the snapshot";
    if (state != POWER_NONE && state != POWER_STOPPING && here != (node->slots > 0))
        return here ? "it is up, but has no slots" : "it is off, but has slots";
    if (state != POWER_STOPPING ? power->came != here : !power->came && node->slots > 0)
        return "whether it has come contradicts its state";
    if ((state == POWER_NONE || state == POWER_UP) && power->deadline_us > 0)
        return "it has a deadline, but waits for nothing";
    if (state == POWER_FAILED ? power->failures == 0
                              : (here || state == POWER_NONE) && power->failures > 0)
        return "its failures contradict its state";
    return NULL;
}

int cluster_restore_node (struct cluster *cluster, const struct node *node,
                          const struct node_power *power, int64_t now_us, struct pollux_error *err)
{
    int group = node_groups_find_node (cluster->power.groups, cluster->power.count, node->name);
    const char *why = node_contradiction (node, power, group, now_us);
    if (cluster_find_node (cluster, node->name) >= 0)
        why = "expected every node once";
    if (why)
        return fail (err, -EINVAL, "node %s: %s", node->name, why);
    if (cluster->node_count == NODES_LIMIT)
        return fail (err, -EINVAL, "more than %d nodes", NODES_LIMIT);
    int index = cluster_add_node (cluster, node->name, power->since_us, err);
    if (index < 0)
        return index;
    cluster->nodes[index] = *node;
    cluster->node_power[index] = *power;
    cluster->node_power[index].group = group;
    /* A node without slots that joined a group could stay available in earlier versions. */
    cluster->nodes[index].available &= power->state == POWER_NONE || power->state == POWER_UP;
    if (group >= 0)
        cluster->nodes[index].revocations_per_s =
            node_group_revocations (&cluster->power.groups[group]);
    return 0;
}

int cluster_restore_costs (struct cluster *cluster, const struct ledger_row *row, int64_t now_us,
                           struct pollux_error *err)
{
    bool fits = row->month <= ledger_month (now_us) && !(row->capacity && row->owner[0]) &&
                row->slot_s >= 0 && row->cost >= 0 && isfinite (row->slot_s) &&
                isfinite (row->cost);
    int rc = fits ? ledger_restore (&cluster->ledger, row) : -EINVAL;
    if (rc == -EINVAL)
        return fail (err, -EINVAL,
                     "costs that events do not make: expected each month and owner once, up to the "
                     "snapshot");
    return rc < 0 ? fail (err, rc, "no memory for the ledger") : 0;
}

/* ---- Jobs --------------------------------------------------------------------------------- */

/* The reason why events cannot have led to this state; NULL: they can. */
static const char *contradiction (const struct job *job, int64_t submit_us, int64_t now_us)
{
    if (job->charged_us < submit_us || job->charged_us > now_us || job->aged_us < submit_us ||
        job->aged_us > now_us || job->start_us > now_us)
        return "its times are not between its submission and the snapshot";
    if (!job_live (job) && (job->end_us < submit_us || job->end_us > now_us))
        return "its end is not between its submission and the snapshot";
    if (job_runs (job) && job->generation < 1)
        return "it runs, but has no generation";
    if (!job_runs (job) && job->placement.count > 0)
        return "it has slots, but does not run";
    if (!job_live (job) && job->desired.count > 0)
        return "it has ended, but a plan gives it slots";
    return NULL;
}

int cluster_restore_job (struct cluster *cluster, const struct event *submit, const struct job *job,
                         int64_t now_us, struct pollux_error *err)
{
    const char *name = submit->submit.spec->name, *why = contradiction (job, submit->at_us, now_us);
    if (why)
        return fail (err, -EINVAL, "job %s: %s", name, why);
    int rc = cluster_apply (cluster, submit, err);
    if (rc < 0)
        return rc;
    struct job *to = cluster->jobs[cluster->job_count - 1], submitted = *to;
    *to = *job;
    to->spec = submitted.spec;
    to->spec.min_replicas = job->spec.min_replicas;
    to->spec.max_replicas = job->spec.max_replicas;
    to->spec.weight = job->spec.weight;
    to->oracle = submitted.oracle;
    to->oracle.remaining = job->oracle.remaining;
    to->submit_us = submitted.submit_us;
    to->launch = submitted.launch;
    to->application = submitted.application;
    to->placement = to->desired = (struct placement){0};
    to->shares = to->desired_shares = NULL;
    to->share_capacity = to->desired_capacity = 0;
    if (job_place (to, job->placement) < 0 || job_desire (to, job->desired) < 0)
        return fail (err, -ENOMEM, "no memory for the placement of job %s", name);
    if (!job_live (to))
        cluster->live.count--; /* SUBMIT has added it at the end of the list */
    return 0;
}

int cluster_restore_experience (struct cluster *cluster, const struct ended_job *job,
                                struct pollux_error *err)
{
    if (!job->application || !hints_are_evidence (&job->hints))
        return fail (err, -EINVAL, "a job of the experience has no application or no model");
    if (experience_add (&cluster->experience, job) < 0)
        return fail (err, -ENOMEM, "no memory for the experience of %d jobs", EXPERIENCE_LIMIT);
    return 0;
}

int cluster_restore_time (struct cluster *cluster, int64_t now_us, struct pollux_error *err)
{
    if (now_us < cluster->now_us)
        return fail (err, -EINVAL, "the snapshot is of %lld us, but a job was submitted at %lld us",
                     (long long)now_us, (long long)cluster->now_us);
    cluster->now_us = now_us;
    return 0;
}
