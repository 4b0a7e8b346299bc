/* SPDX-License-Identifier: Apache-2.0 */
/* Small views made by hand or by chance, and the questions that tests ask of plans. */
#ifndef TESTS_VIEWS_H
#define TESTS_VIEWS_H

#include "base/rng.h"
#include "policy/policy.h"

enum { SCENE_NODES = 64, SCENE_JOBS = 64 };

/* A view with the memory behind it.  Zeroed by scene_init; scene_clear frees. */
struct scene {
    struct view view;
    struct node nodes[SCENE_NODES];
    struct job jobs[SCENE_JOBS];
    const struct job *pointers[SCENE_JOBS];
};

/* 4-slot nodes, no jobs, time 60 s, rounds every 60 s, restart delay 30 s, p = -1. */
void scene_init (struct scene *scene, int nodes);

/* Add a job called NAME that may run on 1..64 replicas and asks for `request`; it is placed as in
 * place ("0:4 2:1": four replicas on node 0, one on node 2; "" not at all). */
struct job *scene_add (struct scene *scene, const char *name, int request, const char *place);

/* Let the plan become the jobs' placements, and 60 s pass. */
void scene_advance (struct scene *scene, const struct plan *plan);

/* Take a job out of the view. */
void scene_remove (struct scene *scene, int job);

/* Nodes, jobs, limits, hints, oracles and placements by chance.  Current placements are
 * feasible, except on nodes that are not available; rigid ones are as requested. */
void scene_random (struct scene *scene, struct rng *rng);

void scene_clear (struct scene *scene);

/* A plan's placement of a job, written as for scene_add. */
const char *placement_text (struct placement placement, char *text, size_t size);

/* Fail the test, called what, unless the plan gives every job what the array says. */
void assert_plan (const char *what, const struct plan *plan, const char *const *expected,
                  int count);

/* Fail the test unless the plan is one that the policy may give: no node over its slots, none that
 * is not available, every count allowed, requests honoured by rigid policies, jobs that may not
 * be preempted where they were. */
void assert_feasible (const struct policy *policy, const struct view *view,
                      const struct plan *plan);

#endif
