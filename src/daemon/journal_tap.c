/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps the store's journal: after an event was appended, the status is updated, a line is logged and
 * a prompt round is requested if one may help.  Also post(), the one entry for the daemon's events.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "daemon/daemon_private.h"

/* A line for each group whose size changes. */
static void log_resize (const struct logger *logger, const struct cluster *cluster,
                        const struct event *event)
{
    for (int i = 0; i < cluster->power.count; i++)
        if (event->size.nodes[i] != cluster->power.wanted[i])
            say (logger, LOG_INFO, "size changed",
                 LOG_TEXT ("group", cluster->power.groups[i].name),
                 LOG_INT ("from", cluster->power.wanted[i]), LOG_INT ("to", event->size.nodes[i]),
                 LOG_TEXT ("reason", event->size.reason));
}

/* True if a node comes up that is off, and that the commands have returned, as far as polluxd knows. */
static bool was_returned (const struct daemon *daemon, const struct event *event)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    int node = cluster_find_node (cluster, event->node.name);
    return node >= 0 && cluster->node_power[node].state == POWER_OFF && event->node.slots > 0 &&
           daemon->hooks && power_hooks_have_commands (daemon->hooks);
}

static void log_event (const struct daemon *daemon, const struct event *event)
{
    const struct logger *logger = &daemon->logger;
    const struct cluster *cluster = &daemon->loop.cluster;
    bool submit = event->type == EVENT_SUBMIT;
    const char *job = submit            ? event->submit.spec->name
                      : event->job >= 0 ? cluster->jobs[event->job]->spec.name
                                        : "";
    switch (event->type) {
    case EVENT_SUBMIT:
        say (logger, LOG_INFO, "job submitted", LOG_TEXT ("job", job),
             LOG_TEXT ("owner", event->submit.launch ? event->submit.launch->owner : ""));
        break;
    case EVENT_CANCEL:
        say (logger, LOG_INFO, "job cancelled", LOG_TEXT ("job", job));
        break;
    case EVENT_LIMITS:
        say (logger, LOG_INFO, "limits changed", LOG_TEXT ("job", job),
             LOG_INT ("min", event->limits.min_replicas),
             LOG_INT ("max", event->limits.max_replicas),
             LOG_NUMBER ("weight", event->limits.weight));
        break;
    case EVENT_NODE:
        say (logger, LOG_INFO, "node changed", LOG_TEXT ("node", event->node.name),
             LOG_TEXT ("type", event->node.type), LOG_INT ("slots", event->node.slots),
             LOG_INT ("available", event->node.available));
        if (was_returned (daemon, event))
            say (logger, LOG_WARNING, "a node is up that was returned, and that nobody ordered",
                 LOG_TEXT ("node", event->node.name));
        break;
    case EVENT_START:
        say (logger, LOG_INFO, "generation starts", LOG_TEXT ("job", job),
             LOG_INT ("generation", event->start.generation),
             LOG_INT ("replicas", placement_replicas (event->start.placement)));
        break;
    case EVENT_EXIT:
        say (logger, LOG_INFO, "generation ended", LOG_TEXT ("job", job),
             LOG_INT ("generation", event->exit.generation),
             LOG_TEXT ("how", exit_names[event->exit.kind]),
             LOG_TEXT ("detail", event->exit.detail));
        break;
    case EVENT_GROUPS: {
        char goal[GOAL_SIZE];
        goal_format (&event->groups.goal, goal);
        say (logger, LOG_INFO, "groups changed", LOG_INT ("groups", event->groups.count),
             LOG_TEXT ("goal", goal));
        break;
    }
    case EVENT_SIZE:
        if (event->size.resize)
            log_resize (logger, cluster, event);
        break;
    case EVENT_POWER:
        say (logger, event->power.state == POWER_FAILED ? LOG_WARNING : LOG_INFO,
             "power of a node changed", LOG_TEXT ("node", event->power.node),
             LOG_TEXT ("state", power_names[event->power.state]),
             LOG_TEXT ("detail", event->power.detail));
        break;
    case EVENT_ROUND:
        say (logger, LOG_DEBUG, "round", LOG_INT ("fill", event->round.fill));
        break;
    default:
        break;
    }
}

/* Does a job run on a node of a group? */
static bool is_used (const struct cluster *cluster, const char *name)
{
    int node = cluster_find_node (cluster, name);
    if (node < 0 || cluster->node_power[node].group < 0)
        return false;
    return cluster_uses_node (cluster, node);
}

static int append (void *self, const struct cluster *cluster, const struct event *event,
                   struct pollux_error *err)
{
    struct daemon *daemon = self;
    int rc = daemon->journal.append (daemon->journal.self, cluster, event, err);
    if (rc < 0)
        return rc;
    cluster_status_take (&daemon->status, cluster, event, store_count (daemon->store));
    log_event (daemon, event);
    daemon->dirty = daemon->power_changed = true;
    switch (event->type) {
    case EVENT_EXIT:
        daemon->retries = true;
        round_schedule_request (&daemon->schedule, event->at_us);
        break;
    case EVENT_SUBMIT:
    case EVENT_LIMITS:
    case EVENT_NODE:
        round_schedule_request (&daemon->schedule, event->at_us);
        if (event->type == EVENT_NODE && event->node.slots == 0 &&
            is_used (cluster, event->node.name))
            round_schedule_request_full (&daemon->schedule, event->at_us);
        break;
    case EVENT_POWER:
        /* It is taken away, now or at a known time: its jobs move at once. */
        if (((event->power.state == POWER_DRAINING && event->power.deadline_us > 0) ||
             event->power.state == POWER_STOPPING) &&
            is_used (cluster, event->power.node))
            round_schedule_request_full (&daemon->schedule, event->at_us);
        break;
    case EVENT_SIZE:
        daemon->unsized.text[0] = '\0';
        break;
    case EVENT_GROUPS:
        async_decider_drop_size (daemon->decider); /* it is about other groups */
        break;
    default:
        break;
    }
    return 0;
}

static int commit (void *self, struct pollux_error *err)
{
    struct daemon *daemon = self;
    int64_t from_us = clock_monotonic_us ();
    int rc = daemon->journal.commit (daemon->journal.self, err);
    if (rc < 0)
        return rc;
    histogram_add (&daemon->status.commit_s, (double)(clock_monotonic_us () - from_us) * 1e-6);
    api_committed (daemon->api);
    return 0;
}

struct journal journal_tap (struct daemon *daemon)
{
    return (struct journal){.append = append, .commit = commit, .self = daemon};
}

int post (struct daemon *daemon, struct event *event, struct pollux_error *err)
{
    if (daemon->failed)
        return fail (err, daemon->failed == -EINVAL ? -EIO : daemon->failed, "%s",
                     daemon->failure.text);
    event->at_us = clock_now_us (&daemon->clock);
    int rc = cluster_check (&daemon->loop.cluster, event, err);
    if (rc < 0)
        return rc;
    rc = loop_take_checked (&daemon->loop, event, &daemon->failure);
    if (rc < 0) {
        daemon->failed = rc;
        return fail (err, rc == -EINVAL ? -EIO : rc, "%s", daemon->failure.text);
    }
    return 0;
}
