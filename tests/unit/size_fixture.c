/* SPDX-License-Identifier: Apache-2.0 */
#include "size_fixture.h"

#include "unit.h"

#include "cluster_fixture.h"
#include "power_fixture.h"

void size_scene_init (struct size_scene *scene, const char *goal)
{
    *scene = (struct size_scene){.view = {.now_s = 100000,
                                          .interval_s = 60,
                                          .restart_delay_s = 30,
                                          .p = -1,
                                          .search = POLLUX_EXACT}};
    scene->view.nodes = scene->nodes;
    scene->view.node_power = scene->states;
    scene->view.power = &scene->power;
    scene->view.jobs = scene->pointers;
    assert_int_equal (0, goal_parse (goal, &scene->power.goal, NULL));
    assert_int_equal (0, policy_find ("pollux", &scene->policy, NULL));
}

void size_scene_clear (struct size_scene *scene)
{
    plan_clear (&scene->plan);
}

struct node_group *size_scene_add_group (struct size_scene *scene, const char *name, int min,
                                         int max, int up, double price)
{
    int index = scene->power.count++;
    struct node_group *group = &scene->power.groups[index];
    *group = power_group (name, max, price);
    group->min_nodes = min;
    group->nodes = min;
    scene->power.wanted[index] = up;
    for (int i = 0; i < up; i++) {
        int node = scene->view.node_count++;
        scene->nodes[node] = (struct node){.slots = 4, .available = true};
        node_group_node (group, i, scene->nodes[node].name);
        scene->states[node] = (struct node_power){.group = index, .state = POWER_UP, .came = true};
    }
    return group;
}

void size_scene_start_node (struct size_scene *scene, int node, double ordered_s)
{
    scene->nodes[node].slots = 0;
    scene->nodes[node].available = false;
    scene->states[node].state = POWER_STARTING;
    scene->states[node].came = false;
    scene->states[node].since_us = (int64_t)((scene->view.now_s + ordered_s) * 1e6);
}

struct job *size_scene_add_job (struct size_scene *scene)
{
    int index = scene->view.job_count++;
    struct job *job = &scene->jobs[index];
    *job = (struct job){.spec = {.max_replicas = 64,
                                 .weight = 1,
                                 .preemptible = true,
                                 .adaptive = true,
                                 .restart_delay_s = NAN},
                        .hints = cluster_fixture_hints (100, 1e6),
                        .age_s = 36000,
                        .delay_s = NAN};
    job->hints.max_profiled_replicas = 32;
    snprintf (job->spec.name, sizeof (job->spec.name), "job-%d", index);
    scene->pointers[index] = job;
    return job;
}

void size_scene_run_job (struct size_scene *scene, int job, int node, int replicas)
{
    scene->jobs[job].phase = JOB_RUNNING;
    scene->shares[job] = (struct share){node, replicas};
    scene->jobs[job].placement = (struct placement){&scene->shares[job], 1};
}

struct size_decision size_scene_decide (struct size_scene *scene)
{
    struct size_decision first, second;
    struct memory memory;
    assert_int_equal (0, memory_new (scene->policy, &memory, NULL));
    assert_int_equal (0, decide_full (scene->policy, &scene->view, &memory, &scene->plan, NULL));
    memory_clear (&memory);
    assert_int_equal (0, size_decide (scene->policy, &scene->view, &scene->plan, &first, NULL));
    assert_int_equal (0, size_decide (scene->policy, &scene->view, &scene->plan, &second, NULL));
    assert_memory_equal (first.nodes, second.nodes, sizeof (first.nodes));
    assert_string_equal (first.reason, second.reason);
    assert_true (first.resize == second.resize);
    assert_true (first.utility == second.utility || isnan (first.utility));
    assert_true (first.resize == (first.reason[0] != '\0'));
    return first;
}
