/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon knows when it starts: the fold of the journal, and the nodes of its
 * configuration.
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
    api_restore (daemon->api, past.rounds, past.round_count);
    wire_past_clear (&past);
    struct source source = store_source (daemon->store);
    struct event event;
    while (rc == 0 && (rc = source.next (source.self, cluster, &event, err)) == 1) {
        api_believe (daemon->api, &event, store_seq (daemon->store), true);
        rc = cluster_apply (cluster, &event, err);
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

/* A node that was drained stays so; one that was away comes back. */
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

int declare_nodes (struct daemon *daemon, struct pollux_error *err)
{
    const struct cluster *cluster = &daemon->loop.cluster;
    const struct machine *machine = &daemon->machine;
    int rc = 0;
    for (int i = 0; rc == 0 && i < machine->node_count; i++)
        rc = declare_present (daemon, &machine->nodes[i].node, err);
    for (int i = 0; rc == 0 && i < cluster->node_count; i++) {
        struct node gone = cluster->nodes[i];
        if (gone.slots == 0 || machine_find (machine, gone.name))
            continue;
        gone.slots = 0;
        gone.available = false;
        rc = declare (daemon, &gone, err);
    }
    return rc;
}
