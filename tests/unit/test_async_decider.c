/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decision in the helper thread gives the same plan as one in the loop, even if the cluster
 * changes meanwhile.
 */
#include "unit.h"
#include "daemon/async_decider.h"
#include "views.h"

#include <poll.h>

static void wait_for (struct async_decider *decider)
{
    struct pollfd poll_fd = {.fd = async_decider_fd (decider), .events = POLLIN};
    assert_int_equal (poll (&poll_fd, 1, 60000), 1);
}

static void same_plans (const struct plan *a, const struct plan *b)
{
    assert_int_equal (a->job_count, b->job_count);
    for (int i = 0; i < a->job_count; i++)
        assert_true (placement_equal (plan_placement (a, i), plan_placement (b, i)));
}

static void same_plan_as_in_the_loop (void **state)
{
    (void)state;
    struct rng rng = rng_seed (7);
    for (int i = 0; i < soak_count (200); i++) {
        struct scene scene;
        scene_random (&scene, &rng);
        struct loop loop = {.policy = policies[0]};
        struct plan expected = {0};
        struct memory memory = {0};
        struct async_decider *decider = NULL;
        struct round round = {.fill = i % 3 == 0};
        assert_int_equal (loop_begin (&loop, NULL), 0);
        assert_int_equal (memory_new (loop.policy, &memory, NULL), 0);
        assert_int_equal (async_decider_new (0, &decider, NULL), 0);
        assert_int_equal (round.fill
                              ? decide_fill (loop.policy, &scene.view, &expected, NULL)
                              : decide_full (loop.policy, &scene.view, &memory, &expected, NULL),
                          0);
        struct decider_hook decider_hook = async_decider_hook (decider);
        assert_false (async_decider_busy (decider));
        assert_int_equal (decider_hook.begin (decider_hook.self, &loop, &scene.view, &round, NULL),
                          1);
        assert_true (async_decider_busy (decider));
        for (int j = 0; j < scene.view.job_count; j++) { /* the cluster changes meanwhile */
            scene.jobs[j].placement = scene.jobs[j].desired = (struct placement){0};
            scene.jobs[j].age_s = 0;
            scene.jobs[j].spec.max_replicas = 1;
        }
        wait_for (decider);
        const struct plan *plan = NULL;
        double seconds = -1;
        assert_int_equal (async_decider_finish (decider, &plan, &seconds, NULL), 0);
        assert_true (seconds >= 0);
        assert_false (async_decider_busy (decider));
        same_plans (plan, &expected);
        async_decider_free (decider);
        memory_clear (&memory);
        plan_clear (&expected);
        loop_clear (&loop);
        scene_clear (&scene);
    }
}

static void short_decisions_stay_in_the_loop (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 2);
    scene_add (&scene, "a", 1, "");
    struct loop loop = {.policy = policies[0]};
    struct async_decider *decider = NULL;
    struct round round = {0};
    assert_int_equal (async_decider_new (1000, &decider, NULL), 0);
    struct decider_hook decider_hook = async_decider_hook (decider);
    assert_int_equal (decider_hook.begin (decider_hook.self, &loop, &scene.view, &round, NULL), 0);
    assert_false (async_decider_busy (decider));
    /* After a long decision they run in the thread, until the average is short again. */
    assert_int_equal (loop_begin (&loop, NULL), 0);
    async_decider_measured (decider, 1);
    int threads = 0, rc;
    for (; (rc = decider_hook.begin (decider_hook.self, &loop, &scene.view, &round, NULL)) == 1;
         threads++) {
        const struct plan *plan;
        double seconds;
        wait_for (decider);
        assert_int_equal (async_decider_finish (decider, &plan, &seconds, NULL), 0);
        async_decider_measured (decider, 0.0001);
    }
    assert_int_equal (rc, 0);
    assert_int_equal (threads, 8); /* 1 s / 2^8 < 5 ms */
    loop_clear (&loop);
    async_decider_free (decider);
    scene_clear (&scene);
}

/* With groups of nodes the thread decides on their size, too, after full rounds; not if the groups change meanwhile. */
static void sizes_follow_full_rounds (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 2);
    scene_add (&scene, "a", 1, "");
    struct power power = {.count = 1,
                          .groups = {{.name = "g", .slots_per_node = 4, .max_nodes = 2}}};
    struct node_power node_power[2] = {{.group = -1}, {.group = -1}};
    struct loop loop = {.policy = policies[0]};
    struct async_decider *decider = NULL;
    assert_int_equal (loop_begin (&loop, NULL), 0);
    assert_int_equal (async_decider_new (0, &decider, NULL), 0);
    struct decider_hook decider_hook = async_decider_hook (decider);
    scene.view.node_power = node_power;
    for (int i = 0; i < 4; i++) {
        bool groups = i > 0, fill = i == 2, dropped = i == 3;
        struct round round = {.fill = fill};
        struct size_decision size;
        const struct plan *plan;
        double seconds;
        scene.view.power = groups ? &power : NULL;
        assert_int_equal (decider_hook.begin (decider_hook.self, &loop, &scene.view, &round, NULL),
                          1);
        if (dropped)
            async_decider_drop_size (decider);
        wait_for (decider);
        assert_int_equal (async_decider_finish (decider, &plan, &seconds, NULL), 0);
        struct cluster cluster = {.power = power};
        assert_int_equal (async_decider_size (decider, &cluster, &size, NULL),
                          groups && !fill && !dropped);
    }
    loop_clear (&loop);
    async_decider_free (decider);
    scene_clear (&scene);
}

/* The thread wants an idle cluster to go to its minimum.  That is dropped if nodes have come or go meanwhile. */
static void outdated_sizes_are_dropped (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 2);
    struct node_power before[2] = {{.group = 0, .state = POWER_UP},
                                   {.group = 0, .state = POWER_UP}};
    struct power power = {
        .count = 1,
        .groups = {{.name = "g", .slots_per_node = 4, .max_nodes = 3}},
        .goal = {.kind = GOAL_BAND, .low = 0.3, .high = 0.6},
        .wanted = {2},
    };
    const struct {
        const char *what;
        struct node_power nodes[3];
        int wanted, posted;
    } rows[] = {
        {"nothing has changed", {before[0], before[1]}, 2, 1},
        {"a node is gone", {before[0], {.group = 0, .state = POWER_STOPPING}}, 2, 0},
        {"an order was cancelled", {before[0], before[1], {.state = POWER_STOPPING}}, 2, 0},
        {"a node came that nobody ordered", {before[0], before[1], before[0]}, 3, 0},
        {"an order has failed", {before[0], {.state = POWER_FAILED}}, 1, 0},
    };
    scene.view.power = &power;
    scene.view.node_power = before;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct loop loop = {.policy = policies[0]};
        struct async_decider *decider = NULL;
        struct node_power nodes[3];
        struct cluster cluster = {.power = power, .node_power = nodes, .node_count = 3};
        struct round round = {0};
        struct size_decision size;
        const struct plan *plan;
        double seconds;
        memcpy (nodes, rows[i].nodes, sizeof (nodes));
        cluster.power.wanted[0] = rows[i].wanted;
        assert_int_equal (loop_begin (&loop, NULL), 0);
        assert_int_equal (async_decider_new (0, &decider, NULL), 0);
        struct decider_hook hook = async_decider_hook (decider);
        assert_int_equal (hook.begin (hook.self, &loop, &scene.view, &round, NULL), 1);
        wait_for (decider);
        assert_int_equal (async_decider_finish (decider, &plan, &seconds, NULL), 0);
        int posted = async_decider_size (decider, &cluster, &size, NULL);
        if (posted != rows[i].posted)
            fail_msg ("%s: %d", rows[i].what, posted);
        async_decider_free (decider);
        loop_clear (&loop);
    }
    scene_clear (&scene);
}

static void free_waits_for_a_running_decision (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 16);
    for (int i = 0; i < 40; i++) {
        char name[8];
        snprintf (name, sizeof (name), "j%d", i);
        scene_add (&scene, name, 1, "");
    }
    struct loop loop = {.policy = policies[0]};
    struct async_decider *decider = NULL;
    struct round round = {0};
    assert_int_equal (loop_begin (&loop, NULL), 0);
    assert_int_equal (async_decider_new (0, &decider, NULL), 0);
    struct decider_hook decider_hook = async_decider_hook (decider);
    assert_int_equal (decider_hook.begin (decider_hook.self, &loop, &scene.view, &round, NULL), 1);
    async_decider_free (decider);
    loop_clear (&loop);
    scene_clear (&scene);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (same_plan_as_in_the_loop),
        cmocka_unit_test (short_decisions_stay_in_the_loop),
        cmocka_unit_test (sizes_follow_full_rounds),
        cmocka_unit_test (outdated_sizes_are_dropped),
        cmocka_unit_test (free_waits_for_a_running_decision),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
