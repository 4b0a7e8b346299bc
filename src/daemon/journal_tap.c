/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps the store's journal: after an event was appended, the status is updated, a line is logged and
 * a prompt round is requested if one may help.  Also post(), the one entry for the daemon's events.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "daemon/daemon_private.h"

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
    case EVENT_ROUND:
        say (logger, LOG_DEBUG, "round", LOG_INT ("fill", event->round.fill));
        break;
    default:
        break;
    }
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
    daemon->dirty = true;
    switch (event->type) {
    case EVENT_EXIT:
        daemon->retries = true;
        round_schedule_request (&daemon->schedule, event->at_us);
        break;
    case EVENT_SUBMIT:
    case EVENT_LIMITS:
    case EVENT_NODE:
        round_schedule_request (&daemon->schedule, event->at_us);
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
