/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jobs learn from earlier ones of their application: which jobs belong together, how many are kept, and what a
 * policy sees of it.
 */
#include "cluster/experience.h"
#include "policy/informed_view.h"
#include "policy/job_model.h"
#include "unit.h"
#include "views.h"

/* ---- The list ------------------------------------------------------------------------------ */

static void names_and_commands_tell_applications (void **state)
{
    (void)state;
    struct job_spec named = {.application = "bert"}, other = {.application = "ncf"},
                    unnamed = {.weight = 1},
                    silent = {.application = "bert", .ignore_experience = true};
    char *train[] = {"train", "--lr=1", NULL}, *split[] = {"train--lr=1", NULL};
    struct launch ann = {.owner = "ann", .command = train},
                  bob = {.owner = "bob", .command = train},
                  ann_split = {.owner = "ann", .command = split};
    assert_true (experience_application (&named, &ann) == experience_application (&named, &bob));
    assert_true (experience_application (&named, NULL) == experience_application (&named, &bob));
    assert_true (experience_application (&named, NULL) != experience_application (&other, NULL));
    assert_true (experience_application (&unnamed, &ann) !=
                 experience_application (&unnamed, &bob));
    assert_true (experience_application (&unnamed, &ann) ==
                 experience_application (&unnamed, &ann));
    assert_true (experience_application (&unnamed, &ann) !=
                 experience_application (&unnamed, &ann_split));
    assert_true (experience_application (&unnamed, NULL) == 0);
    assert_true (experience_application (&silent, &ann) == 0);
}

static struct ended_job past (uint64_t application, double speed)
{
    return (struct ended_job){
        .application = application,
        .hints = {.has_model = true,
                  .model = {0.1 / speed, 0.01 / speed, 0.05, 0.001, 0.02, 0.001, 1.5},
                  .grad = {.sqr = 1, .var = 10},
                  .limits = {128, 8192, 16, 512, true},
                  .max_profiled_replicas = 16,
                  .progress = 900,
                  .total = 1000},
        .noise.points = {[0] = {.sqr = 1, .var = 2}, [7] = {.sqr = 1, .var = 10}},
    };
}

static void the_newest_jobs_are_kept (void **state)
{
    (void)state;
    struct experience experience = {0}, copy;
    for (int i = 0; i < 3 * EXPERIENCE_JOBS; i++) {
        struct ended_job job = past (7, 1 + i);
        assert_int_equal (0, experience_add (&experience, &job));
    }
    assert_int_equal (experience.count, EXPERIENCE_JOBS);
    struct ended_job first = past (7, 1 + 2 * EXPERIENCE_JOBS);
    assert_memory_equal (&experience.jobs[0].hints.model, &first.hints.model,
                         sizeof (first.hints.model));
    for (int i = 0; i < 2 * EXPERIENCE_LIMIT; i++) {
        struct ended_job job = past (100 + (uint64_t)i, 1);
        assert_int_equal (0, experience_add (&experience, &job));
    }
    assert_int_equal (experience.count, EXPERIENCE_LIMIT);
    assert_int_equal (experience.jobs[0].application, 100 + EXPERIENCE_LIMIT);
    assert_int_equal (0, experience_copy (&experience, &copy));
    assert_memory_equal (copy.jobs, experience.jobs,
                         EXPERIENCE_LIMIT * sizeof (experience.jobs[0]));
    experience_clear (&copy);
    experience_clear (&experience);
}

/* ---- What a policy sees --------------------------------------------------------------------- */

struct scenario {
    struct scene scene;
    struct experience experience;
    struct informed_view informed;
};

static void scenario_open (struct scenario *scenario, int jobs, double spread)
{
    *scenario = (struct scenario){.experience.count = 0};
    scene_init (&scenario->scene, 16);
    for (int i = 0; i < jobs; i++) {
        struct ended_job job = past (7, exp (i % 2 ? spread : -spread));
        assert_int_equal (0, experience_add (&scenario->experience, &job));
    }
    scenario->scene.view.experience = &scenario->experience;
}

static struct job *waiting_job (struct scenario *scenario)
{
    struct job *job = scene_add (&scenario->scene, "waits", 1, "");
    job->application = 7;
    job->hints = hints_unknown;
    return job;
}

static const struct job *informed_job (struct scenario *scenario)
{
    informed_view_clear (&scenario->informed);
    assert_int_equal (0, informed_view_new (&scenario->scene.view, &scenario->informed));
    assert_null (scenario->informed.view.experience);
    return scenario->informed.view.jobs[0];
}

static void scenario_close (struct scenario *scenario)
{
    informed_view_clear (&scenario->informed);
    experience_clear (&scenario->experience);
    scene_clear (&scenario->scene);
}

static void a_new_job_starts_with_a_model (void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open (&scenario, 5, 0);
    struct job *job = waiting_job (&scenario);
    const struct job *seen = informed_job (&scenario);
    struct ended_job typical = past (7, 1);
    assert_ptr_not_equal (seen, job);
    assert_false (job->hints.has_model);
    assert_true (seen->hints.has_model);
    assert_int_equal (seen->evidence, 5);
    assert_memory_equal (&seen->hints.model, &typical.hints.model, sizeof (typical.hints.model));
    assert_int_equal (seen->hints.limits.max_batch, 8192);
    assert_true (seen->hints.grad.var == 2); /* of its beginning, not of their ends */
    assert_true (isnan (seen->hints.progress));
    job->hints.progress = 950;
    job->hints.total = 1000;
    assert_true (informed_job (&scenario)->hints.grad.var == 10);
    job->application = 0; /* of a job that ignores it */
    assert_ptr_equal (informed_job (&scenario), job);
    job->application = 8;
    assert_ptr_equal (informed_job (&scenario), job);
    scenario.scene.view.experience = NULL;
    job->application = 7;
    assert_ptr_equal (informed_job (&scenario), job);
    scenario_close (&scenario);
}

/* The noise scale stays if the first batch is another one. */
static void noise_is_that_of_its_own_first_batch (void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open (&scenario, 3, 0);
    struct job *job = waiting_job (&scenario);
    job->hints.limits = (struct pollux_limits){256, 4096, 16, 512, true};
    const struct job *seen = informed_job (&scenario);
    assert_int_equal (seen->hints.limits.max_batch, 4096);
    assert_true (seen->hints.grad.var == 1);
    for (int i = 0; i < 3; i++)
        scenario.experience.jobs[i].noise.points[0].gain_max = 8;
    assert_true (informed_job (&scenario)->hints.grad.gain_max == 4);
    scenario_close (&scenario);
}

static int trusted (int jobs, double spread)
{
    struct scenario scenario;
    scenario_open (&scenario, jobs, spread);
    waiting_job (&scenario);
    int replicas = informed_job (&scenario)->hints.max_profiled_replicas;
    scenario_close (&scenario);
    return replicas;
}

static void many_similar_jobs_are_trusted (void **state)
{
    (void)state;
    assert_true (trusted (1, 0) < trusted (4, 0));
    assert_true (trusted (4, 0) < trusted (8, 0));
    assert_true (trusted (8, 0.3) < trusted (8, 0.1));
    assert_true (trusted (8, 0.1) < trusted (8, 0));
    assert_int_equal (trusted (8, 3), -1); /* of two kinds: they are not used */
    assert_true (trusted (8, 0) <= 16);
}

/* A job that has measured its speed keeps its model; only the limit of its replicas changes. */
static void own_measurements_take_over (void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open (&scenario, 8, 0);
    struct job *job = waiting_job (&scenario);
    job->hints = past (7, 1.2).hints;
    job->hints.max_profiled_replicas = 1;
    const struct job *seen = informed_job (&scenario);
    assert_memory_equal (&seen->hints.model, &job->hints.model, sizeof (job->hints.model));
    assert_true (seen->hints.max_profiled_replicas > 4);
    job->hints.max_profiled_replicas = 64;
    assert_int_equal (informed_job (&scenario)->hints.max_profiled_replicas, 64);
    job->hints = past (7, 20).hints; /* it is like no other */
    job->hints.max_profiled_replicas = 1;
    assert_int_equal (informed_job (&scenario)->hints.max_profiled_replicas, 1);
    scenario_close (&scenario);
}

static void it_does_not_learn_from_itself (void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open (&scenario, 0, 0);
    struct job *job = waiting_job (&scenario);
    job->hints = past (7, 1).hints;
    assert_ptr_equal (informed_job (&scenario), job);
    struct job *second = scene_add (&scenario.scene, "second", 1, "");
    second->application = 7;
    assert_ptr_equal (informed_job (&scenario), job);
    const struct job *taught = scenario.informed.view.jobs[1]; /* from one that trains now */
    assert_true (taught->hints.has_model);
    assert_int_equal (taught->evidence, 1);
    scenario_close (&scenario);
}

/* At most 16 jobs are used; a job that is none of them gets something from all 16. */
static void it_counts_its_teachers (void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open (&scenario, 8, 0);
    for (int i = 0; i < 9; i++) {
        char name[NAME_SIZE];
        snprintf (name, sizeof (name), "job-%d", i);
        struct job *job = scene_add (&scenario.scene, name, 1, "");
        job->application = 7;
        job->hints = past (7, 1).hints;
    }
    assert_int_equal (informed_job (&scenario)->evidence, 15);
    assert_int_equal (scenario.informed.view.jobs[8]->evidence, 16);
    scenario_close (&scenario);
}

/* One job in eight that is ten times as slow changes neither the model nor the trust by much. */
static void one_strange_job_counts_little (void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open (&scenario, 7, 0);
    struct ended_job strange = past (7, 0.1), typical = past (7, 1);
    assert_int_equal (0, experience_add (&scenario.experience, &strange));
    waiting_job (&scenario);
    const struct job *seen = informed_job (&scenario);
    assert_memory_equal (&seen->hints.model, &typical.hints.model, sizeof (typical.hints.model));
    assert_true (seen->hints.max_profiled_replicas >= trusted (6, 0));
    scenario_close (&scenario);
}

/* How many times as fast the second type of the informed view is as the first. */
static struct type_ratio ratio_of (const struct scenario *scenario)
{
    const struct view *view = &scenario->informed.view;
    struct arena arena = {0};
    struct pools pools;
    struct type_ratios ratios;
    assert_int_equal (0, pools_make (view->nodes, view->node_count, &arena, &pools));
    assert_int_equal (0, type_ratios_make (view, &pools, &arena, &ratios));
    assert_int_equal (pools.count, 2);
    struct type_ratio ratio = ratios.ratios[1 * pools.count + 0];
    arena_clear (&arena);
    return ratio;
}

/* Ratios of speeds between types come from the jobs that measured them, of which the second has ended, not from those that
 * borrowed their models; without experience only from those of the view. */
static void borrowed_models_are_no_evidence (void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open (&scenario, 0, 0);
    struct ended_job both = past (7, 1);
    memcpy (both.hints.type, "t4", 3);
    both.hints.others[0] = (struct type_model){
        .type = "a100", .model = both.hints.model, .max_local = 512, .max_profiled_replicas = 8};
    both.hints.others[0].model.alpha_grad /= 4;
    both.hints.others[0].model.beta_grad /= 4;
    both.hints.other_count = 1;
    assert_int_equal (0, experience_add (&scenario.experience, &both));
    for (int i = 0; i < 16; i++)
        memcpy (scenario.scene.nodes[i].type, i < 8 ? "t4" : "a100", i < 8 ? 3 : 5);
    waiting_job (&scenario);
    struct job *second = scene_add (&scenario.scene, "second", 1, "");
    second->application = 7;
    second->hints = past (7, 1).hints;
    memcpy (second->hints.type, "t4", 3);
    const struct job *first = informed_job (&scenario);
    assert_int_equal (first->borrowed, 2);
    assert_int_equal (scenario.informed.view.jobs[1]->borrowed, 1);
    assert_int_equal (ratio_of (&scenario).samples, 1);
    assert_true (fabs (ratio_of (&scenario).mean - log (4)) < 1e-9);
    scenario.scene.view.experience = NULL;
    informed_job (&scenario);
    assert_int_equal (ratio_of (&scenario).samples, 0);
    scenario_close (&scenario);
}

/* A job from the time before nodes had types does not stand for all of them. */
static void models_without_a_type_give_way (void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open (&scenario, 0, 0);
    struct ended_job typed = past (7, 1), untyped = past (7, 1);
    memcpy (typed.hints.type, "t4", 3);
    assert_int_equal (0, experience_add (&scenario.experience, &typed));
    assert_int_equal (0, experience_add (&scenario.experience, &untyped));
    waiting_job (&scenario);
    assert_string_equal (informed_job (&scenario)->hints.type, "t4");
    scenario_close (&scenario);
}

/* Types: a job that is 1.2 times as fast as the others on one is assumed to be so on the other. */
static void other_types_are_scaled (void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open (&scenario, 0, 0);
    struct ended_job both = past (7, 1), own = past (7, 1.2);
    memcpy (both.hints.type, "t4", 3);
    both.hints.others[0] = (struct type_model){
        .model = both.hints.model, .max_local = 2048, .max_profiled_replicas = 8};
    both.hints.others[0].model.alpha_grad /= 5;
    memcpy (both.hints.others[0].type, "a100", 5);
    both.hints.other_count = 1;
    for (int i = 0; i < 4; i++)
        assert_int_equal (0, experience_add (&scenario.experience, &both));
    struct job *job = waiting_job (&scenario);
    const struct job *seen = informed_job (&scenario);
    assert_string_equal (seen->hints.type, "t4");
    assert_int_equal (seen->hints.other_count, 1);
    assert_int_equal (seen->hints.others[0].max_local, 2048);
    job->hints = own.hints;
    memcpy (job->hints.type, "t4", 3);
    seen = informed_job (&scenario);
    assert_int_equal (seen->hints.other_count, 1);
    assert_string_equal (seen->hints.others[0].type, "a100");
    assert_true (
        fabs (seen->hints.others[0].model.alpha_grad * 1.2 / both.hints.others[0].model.alpha_grad -
              1) < 1e-9);
    scenario_close (&scenario);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (names_and_commands_tell_applications),
        cmocka_unit_test (the_newest_jobs_are_kept),
        cmocka_unit_test (a_new_job_starts_with_a_model),
        cmocka_unit_test (noise_is_that_of_its_own_first_batch),
        cmocka_unit_test (many_similar_jobs_are_trusted),
        cmocka_unit_test (own_measurements_take_over),
        cmocka_unit_test (it_does_not_learn_from_itself),
        cmocka_unit_test (one_strange_job_counts_little),
        cmocka_unit_test (it_counts_its_teachers),
        cmocka_unit_test (borrowed_models_are_no_evidence),
        cmocka_unit_test (models_without_a_type_give_way),
        cmocka_unit_test (other_types_are_scaled),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
