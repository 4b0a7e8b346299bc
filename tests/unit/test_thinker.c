/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deciding in a thread is deciding: the same plan as in place, whatever happens to the cluster
 * meanwhile.
 */
#include "unit.h"
#include "daemon/thinker.h"
#include "views.h"

#include <poll.h>

static void wait_for (struct thinking *thinking)
{
    struct pollfd poll_fd = {.fd = thinking_fd (thinking), .events = POLLIN};
    assert_int_equal (poll (&poll_fd, 1, 60000), 1);
}

static void same_plans (const struct plan *a, const struct plan *b)
{
    assert_int_equal (a->job_count, b->job_count);
    for (int i = 0; i < a->job_count; i++)
        assert_true (placement_equal (plan_placement (a, i), plan_placement (b, i)));
}

static void thinks_as_the_loop_does (void **state)
{
    (void)state;
    struct rng rng = rng_seed (7);
    for (int i = 0; i < soak_count (200); i++) {
        struct scene scene;
        scene_random (&scene, &rng);
        struct loop loop = {.policy = policies[0]};
        struct plan expected = {0};
        struct memory memory = {0};
        struct thinking *thinking = NULL;
        struct round round = {.fill = i % 3 == 0};
        assert_int_equal (loop_begin (&loop, NULL), 0);
        assert_int_equal (memory_new (loop.policy, &memory, NULL), 0);
        assert_int_equal (thinking_new (0, &thinking, NULL), 0);
        assert_int_equal (round.fill
                              ? decide_fill (loop.policy, &scene.view, &expected, NULL)
                              : decide_full (loop.policy, &scene.view, &memory, &expected, NULL),
                          0);
        struct thinker thinker = thinking_thinker (thinking);
        assert_false (thinking_busy (thinking));
        assert_int_equal (thinker.begin (thinker.self, &loop, &scene.view, &round, NULL), 1);
        assert_true (thinking_busy (thinking));
        for (int j = 0; j < scene.view.job_count; j++) { /* life goes on */
            scene.jobs[j].placement = scene.jobs[j].desired = (struct placement){0};
            scene.jobs[j].age_s = 0;
            scene.jobs[j].spec.max_replicas = 1;
        }
        wait_for (thinking);
        const struct plan *plan = NULL;
        double seconds = -1;
        assert_int_equal (thinking_finish (thinking, &plan, &seconds, NULL), 0);
        assert_true (seconds >= 0);
        assert_false (thinking_busy (thinking));
        same_plans (plan, &expected);
        thinking_free (thinking);
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
    struct thinking *thinking = NULL;
    struct round round = {0};
    assert_int_equal (thinking_new (1000, &thinking, NULL), 0);
    struct thinker thinker = thinking_thinker (thinking);
    assert_int_equal (thinker.begin (thinker.self, &loop, &scene.view, &round, NULL), 0);
    assert_false (thinking_busy (thinking));
    /* Unless they were not short lately. */
    assert_int_equal (loop_begin (&loop, NULL), 0);
    thinking_took (thinking, 1);
    int threads = 0, rc;
    for (; (rc = thinker.begin (thinker.self, &loop, &scene.view, &round, NULL)) == 1; threads++) {
        const struct plan *plan;
        double seconds;
        wait_for (thinking);
        assert_int_equal (thinking_finish (thinking, &plan, &seconds, NULL), 0);
        thinking_took (thinking, 0.0001);
    }
    assert_int_equal (rc, 0);
    assert_int_equal (threads, 8); /* 1 s / 2^8 < 5 ms */
    loop_clear (&loop);
    thinking_free (thinking);
    scene_clear (&scene);
}

static void a_decision_nobody_takes_is_waited_for (void **state)
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
    struct thinking *thinking = NULL;
    struct round round = {0};
    assert_int_equal (loop_begin (&loop, NULL), 0);
    assert_int_equal (thinking_new (0, &thinking, NULL), 0);
    struct thinker thinker = thinking_thinker (thinking);
    assert_int_equal (thinker.begin (thinker.self, &loop, &scene.view, &round, NULL), 1);
    thinking_free (thinking);
    loop_clear (&loop);
    scene_clear (&scene);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (thinks_as_the_loop_does),
        cmocka_unit_test (short_decisions_stay_in_the_loop),
        cmocka_unit_test (a_decision_nobody_takes_is_waited_for),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
