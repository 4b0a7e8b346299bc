/* SPDX-License-Identifier: Apache-2.0 */
/* Events of groups of nodes, applied to a cluster.  Each call returns what cluster_apply returns. */
#ifndef TESTS_POWER_FIXTURE_H
#define TESTS_POWER_FIXTURE_H

#include "cluster/cluster.h"

/* A group of at most `most` nodes of 4 slots, none at the start, at a price per node-hour. */
struct node_group power_group (const char *name, int most, double price);

int power_groups (struct cluster *cluster, int64_t at_us, const struct node_group *groups,
                  int count);
int power_node (struct cluster *cluster, int64_t at_us, const char *name, int slots);
int power_post (struct cluster *cluster, int64_t at_us, const char *name, enum power_state state,
                int64_t deadline_us);
/* The same number of nodes for each group. */
int power_size (struct cluster *cluster, int64_t at_us, int nodes);

/* Submit job `index` of an owner, and start its first generation with some replicas on a node. */
void power_job (struct cluster *cluster, int64_t at_us, const char *owner, bool preemptible,
                int node, int replicas);
void power_exit (struct cluster *cluster, int64_t at_us, int job);

/* The state of a node; POWER_NONE: it is unknown. */
enum power_state power_state_of (const struct cluster *cluster, const char *name);

#endif
