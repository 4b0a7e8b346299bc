/* SPDX-License-Identifier: Apache-2.0 */
#include "power_fixture.h"

#include "unit.h"

struct node_group power_group (const char *name, int most, double price)
{
    struct node_group group = {
        .slots_per_node = 4, .max_nodes = most, .boot_s = 180, .price_per_node_hour = price};
    snprintf (group.name, sizeof (group.name), "%s", name);
    return group;
}

int power_groups (struct cluster *cluster, int64_t at_us, const struct node_group *groups,
                  int count)
{
    struct event event = {.at_us = at_us,
                          .type = EVENT_GROUPS,
                          .job = -1,
                          .groups = {groups, count, {.kind = GOAL_FIXED}}};
    return cluster_apply (cluster, &event, NULL);
}

int power_node (struct cluster *cluster, int64_t at_us, const char *name, int slots)
{
    struct event event = {.at_us = at_us,
                          .type = EVENT_NODE,
                          .job = -1,
                          .node = {.slots = slots, .available = slots > 0}};
    snprintf (event.node.name, sizeof (event.node.name), "%s", name);
    return cluster_apply (cluster, &event, NULL);
}

int power_post (struct cluster *cluster, int64_t at_us, const char *name, enum power_state state,
                int64_t deadline_us)
{
    struct event event = {.at_us = at_us,
                          .type = EVENT_POWER,
                          .job = -1,
                          .power = {.state = state, .deadline_us = deadline_us}};
    snprintf (event.power.node, sizeof (event.power.node), "%s", name);
    return cluster_apply (cluster, &event, NULL);
}

int power_size (struct cluster *cluster, int64_t at_us, int nodes)
{
    struct event event = {.at_us = at_us,
                          .type = EVENT_SIZE,
                          .job = -1,
                          .size = {.utility = NAN, .resize = true, .reason = "a test"}};
    for (int i = 0; i < cluster->power.count; i++)
        event.size.nodes[i] = nodes;
    return cluster_apply (cluster, &event, NULL);
}

void power_job (struct cluster *cluster, int64_t at_us, const char *owner, bool preemptible,
                int node, int replicas)
{
    static char *command[] = {"true", NULL}, *environment[] = {NULL};
    struct launch launch = {.command = command, .environment = environment};
    struct job_spec spec = {.max_replicas = 64, .weight = 1, .preemptible = preemptible};
    struct share share = {node, replicas};
    struct event submit = {.at_us = at_us,
                           .type = EVENT_SUBMIT,
                           .job = cluster->job_count,
                           .submit = {.spec = &spec, .launch = &launch}};
    struct event start = {.at_us = at_us,
                          .type = EVENT_START,
                          .job = cluster->job_count,
                          .start = {.generation = 1, .placement = {&share, 1}}};
    snprintf (spec.name, sizeof (spec.name), "job %d", cluster->job_count);
    snprintf (launch.owner, sizeof (launch.owner), "%s", owner);
    assert_int_equal (0, cluster_apply (cluster, &submit, NULL));
    assert_int_equal (0, cluster_apply (cluster, &start, NULL));
}

void power_exit (struct cluster *cluster, int64_t at_us, int job)
{
    struct event event = {
        .at_us = at_us,
        .type = EVENT_EXIT,
        .job = job,
        .exit = {.generation = cluster->jobs[job]->generation, .kind = EXITED_FINISHED}};
    assert_int_equal (0, cluster_apply (cluster, &event, NULL));
}

enum power_state power_state_of (const struct cluster *cluster, const char *name)
{
    int node = cluster_find_node (cluster, name);
    return node < 0 ? POWER_NONE : cluster->node_power[node].state;
}
