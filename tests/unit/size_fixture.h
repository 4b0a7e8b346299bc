/* SPDX-License-Identifier: Apache-2.0 */
/* A view with groups of nodes and jobs, to decide the size of its cluster. */
#ifndef TESTS_SIZE_FIXTURE_H
#define TESTS_SIZE_FIXTURE_H

#include "scaling/size.h"

enum { SIZE_SCENE_NODES = 64, SIZE_SCENE_JOBS = 24 };

/* A view with groups and jobs, and the plan of its round. */
struct size_scene {
    struct node nodes[SIZE_SCENE_NODES];
    struct node_power states[SIZE_SCENE_NODES];
    struct power power;
    struct job jobs[SIZE_SCENE_JOBS];
    const struct job *pointers[SIZE_SCENE_JOBS];
    struct share shares[SIZE_SCENE_JOBS];
    struct view view;
    struct plan plan;
    const struct policy *policy;
};

/* Policy pollux, no node and no job. */
void size_scene_init (struct size_scene *scene, const char *goal);
void size_scene_clear (struct size_scene *scene);

/* Add a group, with `up` nodes of 4 slots that are up. */
struct node_group *size_scene_add_group (struct size_scene *scene, const char *name, int min,
                                         int max, int up, double price);

/* Let a node start that was ordered this much later than now (seconds). */
void size_scene_start_node (struct size_scene *scene, int node, double ordered_s);

/* Add a job that scales well, 10 hours old, with as much work left as a replica does in some hours. */
struct job *size_scene_add_job (struct size_scene *scene);

/* Let a job run with this many replicas on one node. */
void size_scene_run_job (struct size_scene *scene, int job, int node, int replicas);

/* Decide on a plan, then twice on the size: the same both times. */
struct size_decision size_scene_decide (struct size_scene *scene);

#endif
