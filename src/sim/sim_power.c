/* SPDX-License-Identifier: Apache-2.0 */
/* The next event of the provider follows from the states of the nodes and the random numbers of the seed: no queue is kept. */
#include "sim/sim_power.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "scaling/power_next.h"

/* What the provider knows of a node. */
struct sim_node {
    enum power_state state; /* at the last look */
    int64_t ordered_us;     /* when it was ordered last */
    int64_t due_us;         /* starting: it comes; up: the notice; else INT64_MAX */
    uint64_t lives;         /* how often it was up */
    bool came;              /* since it was ordered */
};

static int64_t to_us (double seconds)
{
    return llround (seconds * 1e6);
}

int sim_power_init (struct sim_power *power, const struct sim_config *config,
                    struct pollux_error *err)
{
    *power = (struct sim_power){.config = config};
    for (int g = 0; g < config->group_count; g++) {
        power->capacity += config->groups[g].max_nodes;
        power->started += config->groups[g].nodes;
    }
    power->nodes = calloc ((size_t)power->capacity + 1, sizeof (power->nodes[0]));
    return power->nodes ? 0 : fail (err, -ENOMEM, "no memory for %d nodes", power->capacity);
}

void sim_power_clear (struct sim_power *power)
{
    free (power->nodes);
    power->nodes = NULL;
}

static struct event node_event (const struct node_group *group, const char *name, int64_t at_us)
{
    struct event event = {.at_us = at_us,
                          .type = EVENT_NODE,
                          .job = -1,
                          .node = {.slots = group->slots_per_node, .available = true}};
    memcpy (event.node.type, group->type, NAME_SIZE);
    snprintf (event.node.name, NAME_SIZE, "%s", name);
    return event;
}

int sim_power_start (struct sim_power *power, struct event *ret)
{
    const struct sim_config *config = power->config;
    char name[NAME_SIZE];
    if (!power->begun) {
        power->begun = true;
        *ret = (struct event){
            .type = EVENT_GROUPS,
            .job = -1,
            .groups = {.list = config->groups, .count = config->group_count, .goal = config->goal}};
        return 1;
    }
    while (power->group < config->group_count &&
           power->next == config->groups[power->group].nodes) {
        power->group++;
        power->next = 0;
    }
    if (power->group == config->group_count)
        return 0;
    node_group_node (&config->groups[power->group], power->next++, name);
    *ret = node_event (&config->groups[power->group], name, 0);
    return 1;
}

/* When the provider takes a node back that has come up: its own random numbers, so that the revocations of a node depend
 * neither on the policy nor on other nodes. */
static int64_t draw_notice_us (const struct sim_power *power, const struct cluster *cluster,
                               int index)
{
    const struct node_group *group = &power->config->groups[cluster->node_power[index].group];
    struct sim_node *node = &power->nodes[index];
    uint64_t number = 0;
    for (const char *at = cluster->nodes[index].name; *at; at++)
        number = number * 257 + (unsigned char)*at;
    struct rng rng = rng_stream (power->config->seed ^ 0x7265766fu, number * 65537 + node->lives++);
    if (!(group->revocations_per_day > 0))
        return INT64_MAX;
    double wait_s = -log (1 - rng_uniform (&rng)) * 86400 / group->revocations_per_day;
    return wait_s < 1e9 ? cluster->now_us + to_us (wait_s) : INT64_MAX;
}

/* The hours of a node that is off again, or that the simulation leaves.  An order that was cancelled before the node came
 * counts for nothing, as in the costs. */
static void count_hours (struct sim_power *power, const struct cluster *cluster, int index)
{
    if (!power->nodes[index].came)
        return;
    power->node_s[cluster->node_power[index].group] +=
        (double)(cluster->now_us - power->nodes[index].ordered_us) * 1e-6;
}

void sim_power_look (struct sim_power *power, const struct cluster *cluster)
{
    for (int i = 0; i < cluster->node_count; i++) {
        struct sim_node *node = &power->nodes[i];
        const struct node_power *now = &cluster->node_power[i];
        enum power_state before = i < power->count ? node->state : POWER_OFF;
        if (before == now->state)
            continue;
        const struct node_group *group = &power->config->groups[now->group];
        node->state = now->state;
        node->due_us = INT64_MAX;
        if (before == POWER_OFF) {
            node->ordered_us = cluster->now_us;
            node->came = false;
        }
        if (now->state == POWER_STARTING)
            node->due_us = cluster->now_us + to_us (group->boot_s);
        node->came |= now->state == POWER_UP;
        if (now->state == POWER_UP)
            node->due_us = draw_notice_us (power, cluster, i);
        else if (now->state == POWER_OFF)
            count_hours (power, cluster, i);
    }
    power->count = cluster->node_count;
}

void sim_power_end (struct sim_power *power, const struct cluster *cluster)
{
    for (int i = 0; i < power->count; i++)
        if (power->nodes[i].state != POWER_OFF)
            count_hours (power, cluster, i);
}

static struct event power_event (const struct cluster *cluster, int node, enum power_state state,
                                 int64_t at_us, int64_t deadline_us)
{
    struct event event = {.at_us = at_us,
                          .type = EVENT_POWER,
                          .job = -1,
                          .power = {.state = state, .deadline_us = deadline_us}};
    memcpy (event.power.node, cluster->nodes[node].name, NAME_SIZE);
    return event;
}

/* A node comes, or a notice. */
static struct event due_event (const struct sim_power *power, const struct cluster *cluster, int i)
{
    const struct sim_node *node = &power->nodes[i];
    const struct node_group *group = &power->config->groups[cluster->node_power[i].group];
    int64_t at_us = node->due_us;
    if (node->state == POWER_STARTING)
        return node_event (group, cluster->nodes[i].name, at_us);
    struct event event =
        power_event (cluster, i, POWER_DRAINING, at_us, at_us + to_us (group->notice_s));
    snprintf (event.power.detail, sizeof (event.power.detail), "the provider takes it back");
    return event;
}

/* A job that still runs on a node at its deadline loses its placement. */
static bool evict (const struct cluster *cluster, int node, int64_t at_us, struct event *ret)
{
    for (int i = 0; i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        for (int k = 0; k < job->placement.count; k++)
            if (job->placement.shares[k].node == node) {
                *ret =
                    (struct event){.at_us = at_us,
                                   .type = EVENT_EXIT,
                                   .job = cluster->live.indices[i],
                                   .exit = {.generation = job->generation, .kind = EXITED_STOPPED}};
                snprintf (ret->exit.detail, sizeof (ret->exit.detail),
                          "the provider took node %s away", cluster->nodes[node].name);
                return true;
            }
    }
    return false;
}

int sim_power_next (struct sim_power *power, const struct cluster *cluster, int64_t until_us,
                    struct event *ret)
{
    int first = -1;
    for (int i = 0; i < power->count; i++) {
        struct sim_node *node = &power->nodes[i];
        const struct node_power *now = &cluster->node_power[i];
        if (node->state == POWER_STOPPING ||
            (node->state == POWER_FAILED && now->deadline_us <= cluster->now_us)) {
            *ret = power_event (cluster, i, POWER_OFF, cluster->now_us, 0); /* returned at once */
            return 1;
        }
        if (node->due_us <= until_us && node->state != POWER_OFF &&
            (first < 0 || node->due_us < power->nodes[first].due_us))
            first = i;
    }
    int found = power_next (cluster, cluster->now_us, ret);
    if (found != 0)
        return found;
    int64_t deadline_us = power_due_us (cluster);
    if (deadline_us <= until_us && (first < 0 || deadline_us < power->nodes[first].due_us)) {
        for (int i = 0; i < power->count; i++) {
            if (cluster->node_power[i].deadline_us != deadline_us)
                continue;
            if (power->nodes[i].state == POWER_DRAINING && evict (cluster, i, deadline_us, ret))
                return 1;
            if (power->nodes[i].state == POWER_FAILED) {
                *ret = power_event (cluster, i, POWER_OFF, deadline_us, 0);
                return 1;
            }
        }
        return power_next (cluster, deadline_us, ret);
    }
    if (first < 0)
        return 0;
    *ret = due_event (power, cluster, first);
    return 1;
}

int64_t sim_power_leaves_us (const struct sim_power *power, const struct cluster *cluster,
                             struct placement placement)
{
    int64_t leaves_us = INT64_MAX;
    for (int k = 0; k < placement.count; k++) {
        int i = placement.shares[k].node;
        const struct node_power *now = &cluster->node_power[i];
        const struct node_group *group = &power->config->groups[now->group];
        int64_t at_us = INT64_MAX;
        if (now->state == POWER_DRAINING && now->deadline_us > 0)
            at_us = now->deadline_us;
        else if (now->state == POWER_UP && power->nodes[i].due_us < INT64_MAX)
            at_us = power->nodes[i].due_us + to_us (group->notice_s);
        leaves_us = at_us < leaves_us ? at_us : leaves_us;
    }
    return leaves_us;
}

bool sim_power_settled (const struct sim_power *power, const struct cluster *cluster)
{
    for (int g = 0; g < power->config->group_count; g++)
        if (power->config->goal.kind != GOAL_FIXED &&
            cluster->power.wanted[g] != power->config->groups[g].min_nodes)
            return false;
    return !power_in_flight (cluster);
}
