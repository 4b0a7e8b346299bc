/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of nodes and costs in snapshots.  In the whole, if there are any:
 *
 *     "groups": {"goal": "fixed", "groups": [...], "wanted": {"spot": 4}, "complete_us": {"spot": ...}, "resized_us": ...,
 *                "reason": "...", "utilities": [0.5, ...], "boots": 7},
 *     "ledger": [{"month": "2026-11", "capacity": true, "slot_s": 3600.0, "cost": 9.8},
 *                {"month": "2026-11", "owner": "ann", "slot_s": 1800.0, "cost": 4.9}]
 *
 * and in each node: "state", "since_us", "deadline_us", "billed_us", "came", "failures".
 */
#ifndef WIRE_POWER_H
#define WIRE_POWER_H

#include "cluster/cluster.h"
#include "wire/json.h"

/* Add `groups` and `ledger` to the whole; nothing if there are none. */
int wire_groups_put (const struct cluster *cluster, json_t *whole, struct pollux_error *err);
int wire_ledger_put (const struct cluster *cluster, json_t *whole, struct pollux_error *err);

/* Restore them.  Groups come before the nodes. */
int wire_groups_restore (const struct wire_place *whole, struct cluster *cluster, int64_t now_us,
                         struct pollux_error *err);
int wire_ledger_restore (const struct wire_place *whole, struct cluster *cluster, int64_t now_us,
                         struct pollux_error *err);

/* One node with its state.  A snapshot of an older version has no states: the node is billed from now_us on. */
int wire_node_put (const struct cluster *cluster, int node, json_t *object,
                   struct pollux_error *err);
int wire_node_restore (const struct wire_place *place, struct cluster *cluster, int64_t now_us,
                       struct pollux_error *err);

#endif
