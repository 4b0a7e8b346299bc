/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of the cluster: after each full round a SIZE, in each turn the POWER events that follow from it, from deadlines,
 * and from commands that have ended (power_hooks.h).
 */
#include "scaling/power_next.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "daemon/daemon_private.h"

struct power_hooks_options configured_hooks (const struct daemon *daemon,
                                             const struct wire_config *config)
{
    return (struct power_hooks_options){
        .grow = config->grow,
        .shrink = config->shrink,
        .timeout_s = config->hook_timeout_s,
        .state = daemon->state.path,
        .program = daemon->options->program,
        .power_words = daemon->backend->power_words,
        .logger = &daemon->logger,
    };
}

/* ---- The decision ------------------------------------------------------------------------- */

int post_async_size (struct daemon *daemon, struct pollux_error *err)
{
    struct size_decision size;
    struct event event = {.type = EVENT_SIZE, .job = -1};
    int rc = async_decider_size (daemon->decider, &daemon->loop.cluster, &size, err);
    if (rc <= 0)
        return rc;
    event.size.utility = size.utility;
    event.size.resize = size.resize;
    memcpy (event.size.nodes, size.nodes, sizeof (event.size.nodes));
    memcpy (event.size.reason, size.reason, sizeof (event.size.reason));
    return post (daemon, &event, err);
}

bool size_is_open (const struct daemon *daemon)
{
    const struct power *power = &daemon->loop.cluster.power;
    bool fixed = power->goal.kind == GOAL_FIXED; /* nodes that nobody ordered may have come */
    for (int i = 0; i < power->count; i++)
        if (power->wanted[i] > (fixed ? power->groups[i].nodes : power->groups[i].min_nodes))
            return true;
    return false;
}

/* ---- Events ------------------------------------------------------------------------------- */

/* An idle turn costs nothing that grows with the cluster: nothing follows unless an event was posted, a command has ended, or
 * a deadline has passed. */
static bool may_follow (struct daemon *daemon, int64_t now_us)
{
    bool ended = power_hooks_turn (daemon->hooks, &daemon->loop.cluster);
    daemon->power_changed |= ended || now_us >= daemon->power_due_us ||
                             clock_monotonic_us () >= power_hooks_due_us (daemon->hooks);
    return daemon->power_changed && daemon->loop.cluster.power.count > 0 && !daemon->stopping;
}

/* The next event.  A group with as many orders as grow takes gets no more before grow has ended: the boot time of a node begins
 * with its order. */
static int next_event (const struct daemon *daemon, int64_t now_us, struct event *ret)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    return power_next_except (cluster, power_hooks_full (daemon->hooks, cluster), now_us, ret);
}

int step_power (struct daemon *daemon, struct pollux_error *err)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    struct event event;
    int rc = 0;
    bool returned = false;
    int64_t now_us = clock_now_us (&daemon->clock);
    if (!may_follow (daemon, now_us))
        return 0;
    daemon->power_us = now_us;
    while (rc == 0 && power_hooks_next (daemon->hooks, cluster, now_us, &event) > 0) {
        rc = post (daemon, &event, err);
        returned = true;
    }
    while (rc == 0 && next_event (daemon, now_us, &event) > 0)
        rc = post (daemon, &event, err);
    return rc == 0 && returned ? drop_leftovers (daemon, err) : rc;
}

/* When step_power may post something, if nothing changes until then.  Deadlines that it has seen pass had their events, or
 * wait for a command. */
static int64_t next_power_us (const struct daemon *daemon)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    int64_t due_us = INT64_MAX;
    struct event event;
    if (cluster->power.count == 0)
        return due_us;
    if (next_event (daemon, daemon->power_us, &event) > 0) /* after what settle has posted */
        return daemon->power_us;
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        if (power->deadline_us <= daemon->power_us)
            continue;
        int64_t stop_us =
            power->state == POWER_DRAINING ? power_stop_us (cluster, i) : power->deadline_us;
        int64_t at_us = stop_us > daemon->power_us ? stop_us : power->deadline_us;
        due_us = at_us < due_us ? at_us : due_us;
    }
    return due_us;
}

void act_power (struct daemon *daemon)
{
    if (!daemon->power_changed || daemon->stopping)
        return;
    power_hooks_act (daemon->hooks, &daemon->loop.cluster, clock_now_us (&daemon->clock));
    daemon->power_due_us = next_power_us (daemon);
    daemon->power_changed = false;
}
