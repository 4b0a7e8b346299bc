/* SPDX-License-Identifier: Apache-2.0 */
/* Small views, written by hand or random, and assertions on plans. */
#ifndef TESTS_VIEWS_H
#define TESTS_VIEWS_H

#include "base/rng.h"
#include "policy/policy.h"

enum { SCENE_NODES = 64, SCENE_JOBS = 64 };

/* A view and its memory (scene_init, scene_clear). */
struct scene {
    struct view view;
    struct node nodes[SCENE_NODES];
    struct job jobs[SCENE_JOBS];
    const struct job *pointers[SCENE_JOBS];
};

/* 4-slot nodes, no jobs, time 60 s, rounds every 60 s, restart delay 30 s, p = -1. */
void scene_init (struct scene *scene, int nodes);

/* Add a job that may have 1..64 replicas and requests `request`.  place is its placement: "0:4 2:1" is
 * four replicas on node 0 and one on node 2; "" is none. */
struct job *scene_add (struct scene *scene, const char *name, int request, const char *place);

/* Make the plan the jobs' placements, and advance the time by 60 s. */
void scene_advance (struct scene *scene, const struct plan *plan);

/* Remove a job from the view. */
void scene_remove (struct scene *scene, int job);

/* Random nodes, jobs, limits, hints, oracles and placements.  The placements are feasible, except that
 * nodes may be unavailable; rigid jobs have their requested count. */
void scene_random (struct scene *scene, struct rng *rng);

/* Give the nodes random types, one to three, and half of the jobs models of all types.  Jobs on nodes of several types become pending, except those
 * that are not preemptible. */
void scene_mix (struct scene *scene, struct rng *rng);

/* Let half of the nodes be taken back at random, at one of two rates.  Jobs on nodes with several rates become pending, except those
 * that are not preemptible. */
void scene_revoke (struct scene *scene, struct rng *rng);

void scene_clear (struct scene *scene);

/* A placement as text, in the format of scene_add. */
const char *placement_text (struct placement placement, char *text, size_t size);

/* Fail the test `what` unless the plan has these placements. */
void assert_plan (const char *what, const struct plan *plan, const char *const *expected,
                  int count);

/* Fail the test unless the plan is legal for the policy: no node has more replicas than slots, only
 * available nodes are used, every count is allowed, rigid policies give requested counts, and jobs
 * that are not preemptible keep their placements, and all others run on nodes of one type. */
void assert_feasible (const struct policy *policy, const struct view *view,
                      const struct plan *plan);

#endif
