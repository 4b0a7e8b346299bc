/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's state at its start: snapshot and events of the journal, then the nodes of the
 * configuration, as NODE events where they differ.
 */
#include <errno.h>

#include "backend/node_changes.h"
#include "base/error.h"
#include "daemon/daemon_private.h"
#include "wire/snapshot.h"

int recover (struct daemon *daemon, int64_t *ret_last_full_us, struct pollux_error *err)
{
    struct cluster *cluster = &daemon->loop.cluster;
    struct wire_past past = {0};
    int rc = store_restore (daemon->store, cluster, &past, &daemon->status.history, err);
    int64_t last_us = 0;
    for (int i = 0; i < past.round_count; i++)
        last_us = past.rounds[i].fill ? last_us : past.rounds[i].at_us;
    round_history_restore (&daemon->status.rounds, past.rounds, past.round_count);
    wire_past_clear (&past);
    if (daemon->status.history.lost_rows > 0)
        say (&daemon->logger, LOG_ERROR, "parts of the history are lost",
             LOG_INT ("rows", daemon->status.history.lost_rows),
             LOG_TEXT ("why", daemon->status.history.lost_why.text));
    change_log_restored (&daemon->status.changes, store_snapshot (daemon->store));
    struct source source = store_source (daemon->store);
    struct event event;
    while (rc == 0 && (rc = source.next (source.self, cluster, &event, err)) == 1) {
        cluster_status_fold (&daemon->status, cluster, &event, store_seq (daemon->store));
        rc = cluster_apply_checked (cluster, &event, err); /* the store has checked it */
        if (event.type == EVENT_ROUND && !event.round.fill)
            last_us = event.at_us;
    }
    *ret_last_full_us = last_us;
    return rc;
}

int declare_nodes (struct daemon *daemon, struct pollux_error *err)
{
    struct node_changes changes = {0};
    struct event event;
    int rc = daemon->backend->nodes (daemon->backend_self, &changes.nodes, err);
    if (rc == -EAGAIN) /* the backend will post them */
        return 0;
    changes.count = rc;
    rc = rc < 0 ? rc : 0;
    while (rc == 0 && node_changes_next (&changes, &daemon->loop.cluster, &event) > 0)
        rc = post (daemon, &event, err);
    return rc;
}
