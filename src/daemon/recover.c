/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's state at its start: snapshot and events of the journal, then the nodes of the
 * configuration, as NODE events where they differ.
 */
#include <string.h>

#include "base/error.h"
#include "daemon/daemon_private.h"
#include "wire/snapshot.h"

int recover (struct daemon *daemon, int64_t *ret_last_full_us, struct pollux_error *err)
{
    struct cluster *cluster = &daemon->loop.cluster;
    struct wire_past past = {0};
    int rc = store_restore (daemon->store, cluster, &past, err);
    int64_t last_us = 0;
    for (int i = 0; i < past.round_count; i++)
        last_us = past.rounds[i].fill ? last_us : past.rounds[i].at_us;
    round_history_restore (&daemon->status.rounds, past.rounds, past.round_count);
    wire_past_clear (&past);
    struct source source = store_source (daemon->store);
    struct event event;
    while (rc == 0 && (rc = source.next (source.self, cluster, &event, err)) == 1) {
        round_history_take (&daemon->status.rounds, cluster, &event, store_seq (daemon->store));
        rc = cluster_apply_checked (cluster, &event, err); /* the store has checked it */
        if (event.type == EVENT_ROUND && !event.round.fill)
            last_us = event.at_us;
    }
    *ret_last_full_us = last_us;
    return rc;
}

static int declare (struct daemon *daemon, const struct node *node, struct pollux_error *err)
{
    struct event event = {.type = EVENT_NODE, .job = -1, .node = *node};
    return post (daemon, &event, err);
}

static bool same_node (const struct node *a, const struct node *b)
{
    return a->slots == b->slots && strcmp (a->type, b->type) == 0;
}

/* A drained node stays drained.  A node that was gone (0 slots) becomes available again. */
static int declare_present (struct daemon *daemon, const struct node *node,
                            struct pollux_error *err)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    int index = cluster_find_node (cluster, node->name);
    if (index < 0)
        return declare (daemon, node, err);
    const struct node *known = &cluster->nodes[index];
    if (same_node (known, node))
        return 0;
    struct node changed = *node;
    changed.available = known->available || known->slots == 0;
    return declare (daemon, &changed, err);
}

static bool has_node (const struct node *nodes, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp (nodes[i].name, name) == 0)
            return true;
    return false;
}

int declare_nodes (struct daemon *daemon, struct pollux_error *err)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    const struct node *nodes = NULL;
    int count = daemon->backend->nodes (daemon->backend_self, &nodes, err);
    int rc = count < 0 ? count : 0;
    for (int i = 0; rc == 0 && i < count; i++)
        rc = declare_present (daemon, &nodes[i], err);
    for (int i = 0; rc == 0 && i < cluster->node_count; i++) {
        struct node gone = cluster->nodes[i];
        if (gone.slots == 0 || has_node (nodes, count, gone.name))
            continue;
        gone.slots = 0;
        gone.available = false;
        rc = declare (daemon, &gone, err);
    }
    return rc;
}
