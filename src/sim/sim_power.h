/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider of a simulated cluster whose nodes belong to groups: nodes that are ordered come after the boot time of their group,
 * those that are returned are off at once, and revocable ones are taken back by a Poisson process, with a notice.
 */
#ifndef SIM_SIM_POWER_H
#define SIM_SIM_POWER_H

#include "sim/sim.h"

struct sim_power {
    const struct sim_config *config;
    bool begun;             /* GROUPS was posted */
    int group, next;        /* the node that comes next at the start */
    struct sim_node *nodes; /* by the cluster's index */
    int count;              /* nodes that were looked at */
    int capacity;           /* most nodes that there can be */
    int started;            /* nodes at the start */
    double node_s
        [NODE_GROUPS_LIMIT]; /* seconds from the orders of nodes that came until they are off */
};

/* -ENOMEM.  sim_power_clear frees it. */
int sim_power_init (struct sim_power *power, const struct sim_config *config,
                    struct pollux_error *err);
void sim_power_clear (struct sim_power *power);

/* 1 and the next event at the start: GROUPS, then a NODE for each node; 0: no more. */
int sim_power_start (struct sim_power *power, struct event *ret);

/* An event of a node was applied to the cluster: note what follows. */
void sim_power_look (struct sim_power *power, const struct cluster *cluster);

/* 1 and the event that comes next, at the cluster's present time or up to until_us; 0: none; -ENOMEM. */
int sim_power_next (struct sim_power *power, const struct cluster *cluster, int64_t until_us,
                    struct event *ret);

/* When the provider takes the first node of a placement away; INT64_MAX: not known yet. */
int64_t sim_power_leaves_us (const struct sim_power *power, const struct cluster *cluster,
                             struct placement placement);

/* Every group has as many nodes as an idle cluster should have. */
bool sim_power_settled (const struct sim_power *power, const struct cluster *cluster);

/* Count the nodes that are not off at the end. */
void sim_power_end (struct sim_power *power, const struct cluster *cluster);

#endif
