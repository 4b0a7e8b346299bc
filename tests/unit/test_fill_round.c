/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds that only fill free slots: earlier plans stay, and only jobs without a placement or a
 * planned one get free slots.  Full rounds: which jobs stay on a drained node.
 */
#include "unit.h"
#include "views.h"

/* Add a job with this placement and this desired placement; both as for scene_add. */
static void add (struct scene *scene, const char *name, int request, const char *place,
                 const char *desired)
{
    struct scene other;
    scene_init (&other, scene->view.node_count);
    struct job *wanted = scene_add (&other, name, request, desired);
    struct job *job = scene_add (scene, name, request, place);
    assert_int_equal (0, job_desire (job, wanted->placement));
    scene_clear (&other);
}

static void fill (struct scene *scene, const char *what, const char *const *expected)
{
    const struct policy *fifo = NULL;
    struct plan plan = {0};
    assert_int_equal (0, policy_find ("fifo", &fifo, NULL));
    assert_int_equal (0, decide_fill (fifo, &scene->view, &plan, NULL));
    assert_plan (what, &plan, expected, scene->view.job_count);
    plan_clear (&plan);
}

static void earlier_plans_stay (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 3);
    add (&scene, "runs", 4, "0:4", "0:4");
    add (&scene, "is about to start", 2, "", "1:2");
    add (&scene, "is about to stop", 1, "1:1", "");
    add (&scene, "waits", 4, "", "");
    add (&scene, "waits too", 1, "", "");
    fill (&scene, "two jobs fit", (const char *const[]){"0:4", "1:2", "", "2:4", "1:1"});
    scene_clear (&scene);
}

/* A moving job uses its old slots until it stops, and its new slots are reserved; slots in both
 * count once. */
static void moving_jobs_hold_old_and_new_slots (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 2);
    add (&scene, "moves", 4, "0:4", "1:2");
    add (&scene, "waits", 2, "", "");
    add (&scene, "waits too", 1, "", "");
    fill (&scene, "half a node is left", (const char *const[]){"1:2", "1:2", ""});
    scene_clear (&scene);

    scene_init (&scene, 2);
    add (&scene, "shrinks", 4, "0:4", "0:2");
    add (&scene, "grows", 3, "1:1", "1:3");
    add (&scene, "waits", 1, "", "");
    add (&scene, "waits too", 1, "", "");
    fill (&scene, "one slot is left", (const char *const[]){"0:2", "1:3", "1:1", ""});
    scene_clear (&scene);
}

/* A node that is drained, or has fewer slots than are in use, gets no new job; its jobs stay. */
static void lost_slots_move_no_job (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 2);
    add (&scene, "runs", 4, "0:4", "0:4");
    add (&scene, "runs too", 1, "1:1", "1:1");
    add (&scene, "waits", 1, "", "");
    scene.nodes[0].slots = 2;
    scene.nodes[1].available = false;
    fill (&scene, "nothing is left", (const char *const[]){"0:4", "1:1", ""});
    scene_clear (&scene);
}

/* A full round moves preemptible jobs off a drained node; other jobs keep their whole placement. */
static void drained_nodes_keep_pinned_jobs (void **state)
{
    (void)state;
    for (const struct policy *const *policy = policies; *policy; policy++) {
        struct scene scene;
        struct memory memory;
        struct plan plan = {0};
        if ((*policy)->oracle)
            continue;
        scene_init (&scene, 3);
        add (&scene, "stays", 3, "0:2 1:1", "0:2 1:1");
        add (&scene, "moves", 1, "0:1", "0:1");
        scene.jobs[0].spec.preemptible = false;
        scene.jobs[1].spec.preemptible = true;
        scene.nodes[0].available = false;
        assert_int_equal (0, memory_new (*policy, &memory, NULL));
        for (int i = 0; i < 2; i++) {
            assert_int_equal (0, decide_full (*policy, &scene.view, &memory, &plan, NULL));
            assert_true (placement_equal (plan_placement (&plan, 0), scene.jobs[0].placement));
            struct placement moved = plan_placement (&plan, 1);
            assert_true (moved.count > 0);
            for (int j = 0; j < moved.count; j++)
                assert_int_not_equal (moved.shares[j].node, 0);
        }
        scene.nodes[0].slots = 0; /* the node is lost */
        assert_int_equal (0, decide_full (*policy, &scene.view, &memory, &plan, NULL));
        assert_false (placement_equal (plan_placement (&plan, 0), scene.jobs[0].placement));
        plan_clear (&plan);
        memory_clear (&memory);
        scene_clear (&scene);
    }
}

/* A node with fewer slots than jobs hold there that may not be moved: these stay, others leave, and all other jobs are placed. */
static void small_nodes_keep_pinned_jobs (void **state)
{
    (void)state;
    for (const struct policy *const *policy = policies; *policy; policy++) {
        struct scene scene;
        struct memory memory;
        struct plan plan = {0};
        if ((*policy)->oracle)
            continue;
        scene_init (&scene, 3);
        add (&scene, "stays", 1, "0:1", "0:1");
        add (&scene, "stays too", 2, "0:1 1:1", "0:1 1:1");
        add (&scene, "moves", 1, "0:1", "0:1");
        add (&scene, "waits", 1, "", "");
        for (int i = 0; i < 4; i++)
            scene.jobs[i].spec.preemptible = i >= 2;
        scene.nodes[0].slots = 1;
        assert_int_equal (0, memory_new (*policy, &memory, NULL));
        assert_int_equal (0, decide_full (*policy, &scene.view, &memory, &plan, NULL));
        for (int i = 0; i < 4; i++) {
            struct placement placement = plan_placement (&plan, i);
            bool searches = strcmp ((*policy)->name, "pollux-ga") == 0; /* it may find nothing */
            if (placement.count == 0 && (i < 3 || !searches))
                fail_msg ("%s: job %d has no slots", (*policy)->name, i);
            if (i < 2)
                assert_true (placement_equal (placement, scene.jobs[i].placement));
            for (int j = 0; i >= 2 && j < placement.count; j++)
                assert_int_not_equal (placement.shares[j].node, 0);
        }
        assert_int_equal (scene.nodes[0].slots, 1);
        plan_clear (&plan);
        memory_clear (&memory);
        scene_clear (&scene);
    }
}

/* Any policy, any scene: jobs with a placement keep it, and no slot is given twice. */
static void no_job_restarts (void **state)
{
    (void)state;
    struct rng rng = rng_seed (12);
    for (int i = 0; i < soak_count (400); i++) {
        struct scene scene;
        scene_random (&scene, &rng);
        for (int j = 0; j < scene.view.job_count; j++)
            if (rng_below (&rng, 4) > 0)
                assert_int_equal (0, job_desire (&scene.jobs[j], scene.jobs[j].placement));
        for (const struct policy *const *policy = policies; *policy; policy++) {
            if (strcmp ((*policy)->name, "pollux-ga") == 0 && i % 20 > 0)
                continue; /* slow */
            struct plan plan = {0};
            int used[SCENE_NODES] = {0}, held[SCENE_NODES] = {0};
            assert_int_equal (0, decide_fill (*policy, &scene.view, &plan, NULL));
            for (int j = 0; j < scene.view.job_count; j++) {
                const struct job *job = scene.view.jobs[j];
                struct placement placement = plan_placement (&plan, j);
                bool waits = job->placement.count == 0 && job->desired.count == 0;
                if (!waits)
                    assert_true (placement_equal (placement, job->desired));
                /* A desired placement equals the placement of its job: count it once. */
                struct placement takes = waits ? placement : job->placement;
                for (int k = 0; k < takes.count; k++) {
                    used[takes.shares[k].node] += takes.shares[k].replicas;
                    held[takes.shares[k].node] += waits ? 0 : takes.shares[k].replicas;
                }
            }
            for (int j = 0; j < scene.view.node_count; j++) {
                int slots = scene.nodes[j].available ? scene.nodes[j].slots : 0;
                assert_true (used[j] <= (slots > held[j] ? slots : held[j]));
            }
            plan_clear (&plan);
        }
        scene_clear (&scene);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (earlier_plans_stay),
        cmocka_unit_test (moving_jobs_hold_old_and_new_slots),
        cmocka_unit_test (lost_slots_move_no_job),
        cmocka_unit_test (drained_nodes_keep_pinned_jobs),
        cmocka_unit_test (small_nodes_keep_pinned_jobs),
        cmocka_unit_test (no_job_restarts),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
