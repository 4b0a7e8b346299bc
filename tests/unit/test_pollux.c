/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy pollux against the checker: plans are feasible and state their true fitness, the bound
 * holds, tiny problems are solved optimally, real ones at least as well as by the published search.
 */
#include "unit.h"
#include "checker.h"
#include "views.h"

#include <dirent.h>
#include <errno.h>

#include "wire/problem.h"

static struct memory fresh (void)
{
    const struct policy *policy;
    struct memory memory;
    assert_int_equal (0, policy_find ("pollux", &policy, NULL));
    assert_int_equal (0, memory_new (policy, &memory, NULL));
    return memory;
}

static void solve (struct memory *memory, const struct view *view, struct plan *plan)
{
    struct pollux_error err;
    if (decide (memory->policy, view, memory, plan, &err) != 0)
        fail_msg ("%s", err.text);
    const char *wrong = check_feasible (view, plan);
    if (wrong)
        fail_msg ("%s", wrong);
    if (view->job_count == 0)
        return;
    double fitness = check_fitness (view, plan);
    if (relative (plan->fitness, fitness) > 1e-9)
        fail_msg ("the plan claims fitness %.15g, it has %.15g", plan->fitness, fitness);
    assert_true (plan->bound >= plan->fitness);
    assert_true (plan->price >= 0);
}

static const double ps[] = {-1, -1, -1, 0, 1, -INFINITY, -5, 0.5, -0.3, -20, -60, -1000};

/* ---- Large and small, all features mixed ---- */

static void any_problem (void **state)
{
    (void)state;
    static struct scene scene;
    struct memory memory = fresh ();
    struct plan plan = {0};
    int count = soak_count (100000);
    for (int i = 0; i < count; i++) {
        struct rng rng = rng_stream (1, (uint64_t)i);
        scene_random (&scene, &rng);
        if (i % 2 == 1)
            scene_mix (&scene, &rng);
        if (i % 4 >= 2)
            scene_revoke (&scene, &rng);
        scene.view.p = ps[rng_below (&rng, COUNT (ps))];
        scene.view.budget = 200; /* few steps: these checks do not need good plans */
        solve (&memory, &scene.view, &plan);
        scene_clear (&scene);
    }
    plan_clear (&plan);
    memory_clear (&memory);
}

/* ---- Problems so small that all plans can be tried ---- */

static void scene_tiny (struct scene *scene, struct rng *rng)
{
    scene_random (scene, rng);
    struct view *view = &scene->view;
    view->p = ps[rng_below (rng, COUNT (ps))];
    while (view->job_count > 3)
        scene_remove (scene, view->job_count - 1);
    /* Jobs on other nodes than the first three become pending. */
    view->node_count = view->node_count < 3 ? view->node_count : 3;
    int free[3] = {0};
    for (int i = 0; i < view->node_count; i++)
        free[i] = scene->nodes[i].slots = (int)rng_below (rng, 5);
    for (int i = 0; i < view->job_count; i++) {
        struct job *job = &scene->jobs[i];
        bool fits = true;
        for (int j = 0; j < job->placement.count; j++)
            fits &= job->placement.shares[j].node < view->node_count &&
                    job->placement.shares[j].replicas <= free[job->placement.shares[j].node];
        if (!fits)
            job_place (job, (struct placement){0});
        for (int j = 0; j < job->placement.count; j++)
            free[job->placement.shares[j].node] -= job->placement.shares[j].replicas;
        if (job->spec.max_replicas > 6 && rng_below (rng, 2) == 0)
            job->spec.max_replicas = job->spec.min_replicas > 6 ? job->spec.min_replicas : 6;
    }
}

static void tiny_optimum (void **state)
{
    (void)state;
    static struct scene scene;
    struct memory memory = fresh ();
    struct plan plan = {0};
    int count = soak_count (20000), tried = 0, met = 0, tied = 0;
    for (int i = 0; i < count; i++) {
        struct rng rng = rng_stream (2, (uint64_t)i);
        scene_tiny (&scene, &rng);
        if (i % 2 == 1)
            scene_mix (&scene, &rng);
        if (i % 4 >= 2)
            scene_revoke (&scene, &rng);
        if (scene.view.job_count > 0) {
            solve (&memory, &scene.view, &plan);
            struct optimum best = check_optimum (&scene.view);
            struct tally tally = check_tally (&scene.view, &plan);
            if (plan.bound < best.fitness * (1 - 1e-9))
                fail_msg ("problem %d: bound %.15g, optimum %.15g", i, plan.bound, best.fitness);
            if (plan.fitness > best.fitness * (1 + 1e-9))
                fail_msg ("problem %d: fitness %.15g, optimum %.15g", i, plan.fitness,
                          best.fitness);
            tried++;
            bool reached = plan.fitness >= best.fitness * (1 - 1e-9);
            met += reached;
            /* With p far below 0 the fitness, a double, does not show all differences. */
            bool visible = scene.view.p >= -1 || isinf (scene.view.p);
            tied += reached && (!visible || memcmp (&tally, &best.tally, sizeof (tally)) == 0);
        }
        scene_clear (&scene);
    }
    print_message ("%d tiny problems: %d optimal, %d of them with the best tie\n", tried, met,
                   tied);
    assert_true (tried > count / 2);
    assert_true (met >= tried * 0.999);
    assert_true (tied >= met * 0.999);
    plan_clear (&plan);
    memory_clear (&memory);
}

/* ---- Problems from simulations, with the fitness of the published search ---- */

static void golden_problems (void **state)
{
    (void)state;
    const char *folder = TEST_DATA "golden/decide";
    struct dirent **entries;
    int count = scandir (folder, &entries, NULL, alphasort), tried = 0;
    if (count < 0)
        fail_msg ("%s: cannot open; start the test in the root of the repository", folder);
    for (int i = 0; i < count; i++) {
        char path[512];
        struct problem *problem;
        struct pollux_error err;
        snprintf (path, sizeof (path), "%s/%s", folder, entries[i]->d_name);
        free (entries[i]);
        if (!strstr (path, ".json"))
            continue;
        if (problem_read (path, &problem, &err) != 0)
            fail_msg ("%s", err.text);
        json_t *root = json_load_file (path, 0, NULL);
        double theirs =
            json_real_value (json_object_get (json_object_get (root, "reference_ga"), "fitness"));
        json_decref (root);
        struct memory memory = fresh ();
        struct plan plan = {0};
        solve (&memory, &problem->view, &plan);
        assert_true (theirs > 0);
        if (plan.fitness < theirs * (1 - 1e-12))
            fail_msg ("%s: fitness %.9g, the published search's %.9g", path, plan.fitness, theirs);
        plan_clear (&plan);
        memory_clear (&memory);
        problem_free (problem);
        tried++;
    }
    free (entries);
    assert_true (tried > 0);
}

/* ---- Equal inputs, equal plans ---- */

static void assert_equal_plans (const struct plan *a, const struct plan *b)
{
    assert_int_equal (a->job_count, b->job_count);
    for (int i = 0; i < a->job_count; i++)
        assert_true (placement_equal (plan_placement (a, i), plan_placement (b, i)));
    if (a->job_count > 0) {
        assert_memory_equal (&a->fitness, &b->fitness, sizeof (double));
        assert_memory_equal (&a->bound, &b->bound, sizeof (double));
        assert_memory_equal (&a->price, &b->price, sizeof (double));
    }
}

static void repeatable (void **state)
{
    (void)state;
    static struct scene scene;
    struct memory used = fresh ();
    struct plan first = {0}, second = {0}, third = {0};
    for (int i = 0; i < soak_count (1000); i++) {
        struct rng rng = rng_stream (3, (uint64_t)i);
        scene_random (&scene, &rng);
        struct memory memory = fresh ();
        solve (&memory, &scene.view, &first);
        solve (&memory, &scene.view, &second);
        solve (&used, &scene.view, &third); /* memory that other problems have used */
        assert_equal_plans (&first, &second);
        assert_equal_plans (&first, &third);
        memory_clear (&memory);
        scene_clear (&scene);
    }
    plan_clear (&first);
    plan_clear (&second);
    plan_clear (&third);
    memory_clear (&used);
}

/* ---- By hand ---- */

static void pinned_beyond_capacity (void **state)
{
    (void)state;
    static struct scene scene;
    struct memory memory = fresh ();
    struct plan plan = {0};
    struct pollux_error err;
    scene_init (&scene, 1);
    scene_add (&scene, "a", 0, "0:3")->spec.preemptible = false;
    scene_add (&scene, "b", 0, "0:2")->spec.preemptible = false;
    assert_int_equal (-EINVAL, decide (memory.policy, &scene.view, &memory, &plan, &err));
    assert_non_null (strstr (err.text, "job b"));
    assert_non_null (strstr (err.text, "node n0"));
    scene_clear (&scene);
    plan_clear (&plan);
    memory_clear (&memory);
}

static void nothing_to_decide (void **state)
{
    (void)state;
    static struct scene scene;
    struct memory memory = fresh ();
    struct plan plan = {0};
    scene_init (&scene, 2);
    solve (&memory, &scene.view, &plan);
    assert_int_equal (0, plan.job_count);
    scene_add (&scene, "a", 0, "");
    scene.view.node_count = 0;
    solve (&memory, &scene.view, &plan);
    assert_int_equal (0, plan_placement (&plan, 0).count);
    assert_true (relative (plan.fitness, 0.001) < 1e-12);
    scene_clear (&scene);
    plan_clear (&plan);
    memory_clear (&memory);
}

/* Two equal jobs could exchange their placements without loss: neither moves. */
static void ties_stay (void **state)
{
    (void)state;
    static struct scene scene;
    struct memory memory = fresh ();
    struct plan plan = {0};
    static const char *const stay[] = {"1:4", "0:4"};
    scene_init (&scene, 2);
    scene.view.restart_delay_s = 0; /* moving costs nothing */
    scene_add (&scene, "a", 0, "1:4")->age_s = 100;
    scene_add (&scene, "b", 0, "0:4")->age_s = 100;
    solve (&memory, &scene.view, &plan);
    assert_plan ("two that run", &plan, stay, 2);
    scene_clear (&scene);
    plan_clear (&plan);
    memory_clear (&memory);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (pinned_beyond_capacity),
        cmocka_unit_test (nothing_to_decide),
        cmocka_unit_test (ties_stay),
        cmocka_unit_test (golden_problems),
        cmocka_unit_test (repeatable),
        cmocka_unit_test (tiny_optimum),
        cmocka_unit_test (any_problem),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
