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

struct school {
    struct scene scene;
    struct experience experience;
    struct informed_view informed;
};

static void school_open (struct school *school, int jobs, double spread)
{
    *school = (struct school){.experience.count = 0};
    scene_init (&school->scene, 16);
    for (int i = 0; i < jobs; i++) {
        struct ended_job job = past (7, exp (i % 2 ? spread : -spread));
        assert_int_equal (0, experience_add (&school->experience, &job));
    }
    school->scene.view.experience = &school->experience;
}

static struct job *pupil (struct school *school)
{
    struct job *job = scene_add (&school->scene, "pupil", 1, "");
    job->application = 7;
    job->hints = hints_unknown;
    return job;
}

static const struct job *informed_job (struct school *school)
{
    informed_view_clear (&school->informed);
    assert_int_equal (0, informed_view_new (&school->scene.view, &school->informed));
    assert_null (school->informed.view.experience);
    return school->informed.view.jobs[0];
}

static void school_close (struct school *school)
{
    informed_view_clear (&school->informed);
    experience_clear (&school->experience);
    scene_clear (&school->scene);
}

static void a_new_job_starts_with_a_model (void **state)
{
    (void)state;
    struct school school;
    school_open (&school, 5, 0);
    struct job *job = pupil (&school);
    const struct job *seen = informed_job (&school);
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
    assert_true (informed_job (&school)->hints.grad.var == 10);
    job->application = 0; /* of a job that ignores it */
    assert_ptr_equal (informed_job (&school), job);
    job->application = 8;
    assert_ptr_equal (informed_job (&school), job);
    school.scene.view.experience = NULL;
    job->application = 7;
    assert_ptr_equal (informed_job (&school), job);
    school_close (&school);
}

/* The noise scale stays if the first batch is another one. */
static void noise_is_that_of_its_own_first_batch (void **state)
{
    (void)state;
    struct school school;
    school_open (&school, 3, 0);
    struct job *job = pupil (&school);
    job->hints.limits = (struct pollux_limits){256, 4096, 16, 512, true};
    const struct job *seen = informed_job (&school);
    assert_int_equal (seen->hints.limits.max_batch, 4096);
    assert_true (seen->hints.grad.var == 1);
    for (int i = 0; i < 3; i++)
        school.experience.jobs[i].noise.points[0].gain_max = 8;
    assert_true (informed_job (&school)->hints.grad.gain_max == 4);
    school_close (&school);
}

static int trusted (int jobs, double spread)
{
    struct school school;
    school_open (&school, jobs, spread);
    pupil (&school);
    int replicas = informed_job (&school)->hints.max_profiled_replicas;
    school_close (&school);
    return replicas;
}

static void many_similar_jobs_are_trusted (void **state)
{
    (void)state;
    assert_true (trusted (1, 0) < trusted (4, 0));
    assert_true (trusted (4, 0) < trusted (8, 0));
    assert_true (trusted (8, 0.3) < trusted (8, 0.1));
    assert_true (trusted (8, 0.1) < trusted (8, 0));
    assert_int_equal (trusted (8, 3), -1); /* of two kinds: they teach nothing */
    assert_true (trusted (8, 0) <= 16);
}

/* A job that has measured its speed keeps its model; only the limit of its replicas changes. */
static void own_measurements_take_over (void **state)
{
    (void)state;
    struct school school;
    school_open (&school, 8, 0);
    struct job *job = pupil (&school);
    job->hints = past (7, 1.2).hints;
    job->hints.max_profiled_replicas = 1;
    const struct job *seen = informed_job (&school);
    assert_memory_equal (&seen->hints.model, &job->hints.model, sizeof (job->hints.model));
    assert_true (seen->hints.max_profiled_replicas > 4);
    job->hints.max_profiled_replicas = 64;
    assert_int_equal (informed_job (&school)->hints.max_profiled_replicas, 64);
    job->hints = past (7, 20).hints; /* it is like no other */
    job->hints.max_profiled_replicas = 1;
    assert_int_equal (informed_job (&school)->hints.max_profiled_replicas, 1);
    school_close (&school);
}

static void it_does_not_learn_from_itself (void **state)
{
    (void)state;
    struct school school;
    school_open (&school, 0, 0);
    struct job *job = pupil (&school);
    job->hints = past (7, 1).hints;
    assert_ptr_equal (informed_job (&school), job);
    struct job *second = scene_add (&school.scene, "second", 1, "");
    second->application = 7;
    assert_ptr_equal (informed_job (&school), job);
    const struct job *taught = school.informed.view.jobs[1]; /* from one that trains now */
    assert_true (taught->hints.has_model);
    assert_int_equal (taught->evidence, 1);
    school_close (&school);
}

/* At most 16 jobs teach; a job that is none of them learns from all 16. */
static void it_counts_its_teachers (void **state)
{
    (void)state;
    struct school school;
    school_open (&school, 8, 0);
    for (int i = 0; i < 9; i++) {
        char name[NAME_SIZE];
        snprintf (name, sizeof (name), "job-%d", i);
        struct job *job = scene_add (&school.scene, name, 1, "");
        job->application = 7;
        job->hints = past (7, 1).hints;
    }
    assert_int_equal (informed_job (&school)->evidence, 15);
    assert_int_equal (school.informed.view.jobs[8]->evidence, 16);
    school_close (&school);
}

/* One job in eight that is ten times as slow changes neither the model nor the trust by much. */
static void one_strange_job_counts_little (void **state)
{
    (void)state;
    struct school school;
    school_open (&school, 7, 0);
    struct ended_job strange = past (7, 0.1), typical = past (7, 1);
    assert_int_equal (0, experience_add (&school.experience, &strange));
    pupil (&school);
    const struct job *seen = informed_job (&school);
    assert_memory_equal (&seen->hints.model, &typical.hints.model, sizeof (typical.hints.model));
    assert_true (seen->hints.max_profiled_replicas >= trusted (6, 0));
    school_close (&school);
}

/* How many times as fast the second type of the informed view is as the first. */
static struct type_ratio ratio_of (const struct school *school)
{
    const struct view *view = &school->informed.view;
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
    struct school school;
    school_open (&school, 0, 0);
    struct ended_job both = past (7, 1);
    memcpy (both.hints.type, "t4", 3);
    both.hints.others[0] = (struct type_model){
        .type = "a100", .model = both.hints.model, .max_local = 512, .max_profiled_replicas = 8};
    both.hints.others[0].model.alpha_grad /= 4;
    both.hints.others[0].model.beta_grad /= 4;
    both.hints.other_count = 1;
    assert_int_equal (0, experience_add (&school.experience, &both));
    for (int i = 0; i < 16; i++)
        memcpy (school.scene.nodes[i].type, i < 8 ? "t4" : "a100", i < 8 ? 3 : 5);
    pupil (&school);
    struct job *second = scene_add (&school.scene, "second", 1, "");
    second->application = 7;
    second->hints = past (7, 1).hints;
    memcpy (second->hints.type, "t4", 3);
    const struct job *first = informed_job (&school);
    assert_int_equal (first->borrowed, 2);
    assert_int_equal (school.informed.view.jobs[1]->borrowed, 1);
    assert_int_equal (ratio_of (&school).samples, 1);
    assert_true (fabs (ratio_of (&school).mean - log (4)) < 1e-9);
    school.scene.view.experience = NULL;
    informed_job (&school);
    assert_int_equal (ratio_of (&school).samples, 0);
    school_close (&school);
}

/* A job from the time before nodes had types does not stand for all of them. */
static void models_without_a_type_give_way (void **state)
{
    (void)state;
    struct school school;
    school_open (&school, 0, 0);
    struct ended_job typed = past (7, 1), untyped = past (7, 1);
    memcpy (typed.hints.type, "t4", 3);
    assert_int_equal (0, experience_add (&school.experience, &typed));
    assert_int_equal (0, experience_add (&school.experience, &untyped));
    pupil (&school);
    assert_string_equal (informed_job (&school)->hints.type, "t4");
    school_close (&school);
}

/* Types: a job that is 1.2 times as fast as the others on one is assumed to be so on the other. */
static void other_types_are_scaled (void **state)
{
    (void)state;
    struct school school;
    school_open (&school, 0, 0);
    struct ended_job both = past (7, 1), own = past (7, 1.2);
    memcpy (both.hints.type, "t4", 3);
    both.hints.others[0] = (struct type_model){
        .model = both.hints.model, .max_local = 2048, .max_profiled_replicas = 8};
    both.hints.others[0].model.alpha_grad /= 5;
    memcpy (both.hints.others[0].type, "a100", 5);
    both.hints.other_count = 1;
    for (int i = 0; i < 4; i++)
        assert_int_equal (0, experience_add (&school.experience, &both));
    struct job *job = pupil (&school);
    const struct job *seen = informed_job (&school);
    assert_string_equal (seen->hints.type, "t4");
    assert_int_equal (seen->hints.other_count, 1);
    assert_int_equal (seen->hints.others[0].max_local, 2048);
    job->hints = own.hints;
    memcpy (job->hints.type, "t4", 3);
    seen = informed_job (&school);
    assert_int_equal (seen->hints.other_count, 1);
    assert_string_equal (seen->hints.others[0].type, "a100");
    assert_true (
        fabs (seen->hints.others[0].model.alpha_grad * 1.2 / both.hints.others[0].model.alpha_grad -
              1) < 1e-9);
    school_close (&school);
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
