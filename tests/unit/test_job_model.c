/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of jobs by type: ratios that are learned from other jobs, and predictions by owners' speeds, by ratios and
 * without evidence.
 */
#include "policy/job_model.h"
#include "policy/subview.h"
#include "unit.h"
#include "views.h"

/* Two nodes of each type. */
static const char *const types[] = {"a", "b", "c"};

struct models {
    struct scene scene;
    struct arena arena;
    struct pools pools;
    struct type_ratios ratios;
};

static void models_open (struct models *models)
{
    *models = (struct models){.ratios.count = 0};
    scene_init (&models->scene, 6);
    for (int i = 0; i < 6; i++)
        snprintf (models->scene.nodes[i].type, NAME_SIZE, "%s", types[i / 2]);
}

/* Learn from all jobs that were added. */
static void learn (struct models *models)
{
    const struct view *view = &models->scene.view;
    arena_reset (&models->arena);
    assert_int_equal (0,
                      pools_make (view->nodes, view->node_count, &models->arena, &models->pools));
    assert_int_equal (0, type_ratios_make (view, &models->pools, &models->arena, &models->ratios));
}

static void models_close (struct models *models)
{
    arena_clear (&models->arena);
    scene_clear (&models->scene);
}

static struct pollux_model model_of (double step_s)
{
    return (struct pollux_model){step_s, 0, 0.05, 0.001, 0.02, 0.001, 1.5};
}

/* Hints of a job that was measured on a type, and then on others: its steps there take step_s. */
static void measure (struct hints *hints, const char *type, double step_s, int replicas)
{
    struct type_model *other = &hints->others[hints->other_count];
    if (hints->has_model) {
        *other = (struct type_model){
            .model = model_of (step_s), .max_local = 512, .max_profiled_replicas = replicas};
        snprintf (other->type, NAME_SIZE, "%s", type);
        hints->other_count++;
        return;
    }
    *hints = hints_unknown;
    hints->has_model = true;
    hints->model = model_of (step_s);
    hints->grad = (struct pollux_grad){.sqr = 1, .var = 10};
    hints->limits = (struct pollux_limits){128, 8192, 16, 512, true};
    hints->max_profiled_replicas = replicas;
    snprintf (hints->type, NAME_SIZE, "%s", type);
}

static struct job *add (struct models *models, const char *type, double step_s, int replicas)
{
    char name[NAME_SIZE];
    snprintf (name, sizeof (name), "job-%d", models->scene.view.job_count);
    struct job *job = scene_add (&models->scene, name, 1, "");
    measure (&job->hints, type, step_s, replicas);
    return job;
}

/* A job on two types, on the second `ratio` times as fast as on the first. */
static struct job *add_pair (struct models *models, const char *first, const char *second,
                             double ratio)
{
    struct job *job = add (models, first, 0.1, 1);
    measure (&job->hints, second, 0.1 / ratio, 1);
    return job;
}

static struct type_ratio ratio_of (const struct models *models, int to, int from)
{
    return models->ratios.ratios[to * models->ratios.count + from];
}

static bool near (double a, double b)
{
    return fabs (a - b) < 1e-5;
}

/* ---- Ratios -------------------------------------------------------------------------------- */

/* Expected: the mean and the error of the logarithm, computed by hand: with d = 1.4826 times the median distance from the
 * median, v = (n d^2 + 0.5) / (n + 2), and the error sqrt (v / n), values count up to 3 sqrt (v) from the median. */
static void ratios_of_jobs (void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int count;
        double ratios[6], mean, error;
        int samples;
    } cases[] = {
        {"no job", 0, {0}, 0, INFINITY, 0},
        {"one job", 1, {4}, 1.3862943611198906, 0.40824829046386302, 1},
        {"two jobs: between them", 2, {2, 8}, 1.3862943611198906, 0.5714204, 2},
        {"three jobs: their mean", 3, {8, 2, 3}, 1.2904003, 0.3249736, 3},
        {"one job of five lies", 5, {4, 4, 900, 4, 4}, 1.546655, 0.119523, 5},
        {"two jobs of five lie", 5, {4, 900, 900, 4, 4}, 1.707015, 0.119523, 5},
        {"one of five lies downwards", 5, {4, 4, 0.002, 4, 4}, 1.225934, 0.119523, 5},
        {"a ratio that no machine has does not count", 3, {4, 1001, 4}, 1.3862944, 0.25, 2},
        {"nor one that overflows", 2, {4, 1e300}, 1.3862944, 0.408248, 1},
        {"nor its inverse", 2, {4, 1e-300}, 1.3862944, 0.408248, 1},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct models models;
        models_open (&models);
        for (int k = 0; k < cases[i].count; k++)
            add_pair (&models, "a", "b", cases[i].ratios[k]);
        learn (&models);
        struct type_ratio there = ratio_of (&models, 1, 0), back = ratio_of (&models, 0, 1);
        if (there.samples != cases[i].samples || !near (there.mean, cases[i].mean) ||
            !(near (there.error, cases[i].error) || there.error == cases[i].error))
            fail_msg ("%s: %d samples, mean %.9g, error %.9g", cases[i].what, there.samples,
                      there.mean, there.error);
        assert_int_equal (back.samples, there.samples);
        assert_true (back.mean == -there.mean && back.error == there.error);
        assert_int_equal (ratio_of (&models, 2, 0).samples, 0);
        models_close (&models);
    }
}

/* The same jobs in another order give the same bits. */
static void order_does_not_count (void **state)
{
    (void)state;
    static const double ratios[] = {3, 5, 2.5, 7, 4};
    struct type_ratio first = {0};
    for (size_t shift = 0; shift < COUNT (ratios); shift++) {
        struct models models;
        models_open (&models);
        for (size_t k = 0; k < COUNT (ratios); k++)
            add_pair (&models, "a", "b", ratios[(k + shift) % COUNT (ratios)]);
        learn (&models);
        struct type_ratio now = ratio_of (&models, 1, 0);
        first = shift == 0 ? now : first;
        assert_true (now.mean == first.mean && now.error == first.error);
        models_close (&models);
    }
}

/* Models in journals of older software: times of any size, and a job's own model without any time that a machine has. */
static void extreme_times_harm_nobody (void **state)
{
    (void)state;
    static const double steps_s[][2] = {
        {1e-310, 1e-310}, {0.03, 1e-310}, {1e12, 1e-300}, {1e-300, 1e12}};
    static const char *const names[] = {"pollux", "pollux-jct", "sia"};
    for (size_t i = 0; i < COUNT (steps_s) * COUNT (names); i++) {
        struct models models;
        const struct policy *policy;
        struct memory memory;
        struct plan plan = {0};
        struct pollux_error err = {""};
        models_open (&models);
        struct job *strange = add (&models, "a", steps_s[i % COUNT (steps_s)][0], 1);
        measure (&strange->hints, "b", steps_s[i % COUNT (steps_s)][1], 1);
        add_pair (&models, "a", "b", 4);
        struct job *victim = add (&models, "a", 0.1, 1);
        learn (&models);
        assert_true (near (ratio_of (&models, 1, 0).mean, log (4)) ||
                     steps_s[i % COUNT (steps_s)][0] == steps_s[i % COUNT (steps_s)][1]);
        struct job_model model = job_model_on (victim, &models.pools, 1, &models.ratios);
        assert_true (model.source == MODEL_PREDICTED && model.model.alpha_grad > 0.01 &&
                     model.model.alpha_grad < 1);
        assert_int_equal (0, policy_find (names[i / COUNT (steps_s)], &policy, NULL));
        assert_int_equal (0, memory_new (policy, &memory, NULL));
        if (decide (policy, &models.scene.view, &memory, &plan, &err) < 0)
            fail_msg ("%s: %s", policy->name, err.text);
        assert_feasible (policy, &models.scene.view, &plan);
        memory_clear (&memory);
        plan_clear (&plan);
        models_close (&models);
    }
}

/* ---- Predictions --------------------------------------------------------------------------- */

static void speed (struct job *job, const char *type, double speed)
{
    struct type_speed *next = &job->spec.speeds.list[job->spec.speeds.count++];
    snprintf (next->type, NAME_SIZE, "%s", type);
    next->speed = speed;
}

static struct job_model on (const struct models *models, const struct job *job, int pool)
{
    return job_model_on (job, &models->pools, pool, &models->ratios);
}

static void owners_speeds_come_first (void **state)
{
    (void)state;
    struct models models;
    models_open (&models);
    for (int i = 0; i < 4; i++)
        add_pair (&models, "a", "c", 2);
    struct job *job = add (&models, "a", 0.1, 2);
    learn (&models);
    speed (job, "a", 2);
    /* No speed of c: by the ratio. */
    assert_true (near (on (&models, job, 2).model.alpha_grad, 0.05));
    speed (job, "c", 10);
    struct job_model model = on (&models, job, 2);
    assert_int_equal (model.source, MODEL_PREDICTED);
    assert_true (near (model.model.alpha_grad, 0.1 / 5) && near (model.model.alpha_node, 0.05 / 5));
    assert_int_equal (model.most_replicas, 4); /* twice those on a */
    /* Of two types, the one that it had more replicas on. */
    measure (&job->hints, "b", 0.3, 3);
    speed (job, "b", 1);
    model = on (&models, job, 2);
    assert_true (near (model.model.alpha_grad, 0.3 / 10));
    assert_int_equal (model.most_replicas, 6);
    job->hints.others[0].max_profiled_replicas = 2;
    assert_true (near (on (&models, job, 2).model.alpha_grad, 0.1 / 5)); /* equal: the first */
    /* One that no node has any more, last. */
    memcpy (job->hints.others[0].type, "z", 2);
    memcpy (job->hints.type, "y", 2);
    speed (job, "z", 1);
    assert_true (near (on (&models, job, 2).model.alpha_grad, 0.3 / 10));
    models_close (&models);
}

/* Without a model only the ratios of the stated speeds count: the same in other units changes none. */
static void stated_speeds_are_relative (void **state)
{
    (void)state;
    static const double units[] = {1, 10, 0.01};
    for (int i = 0; i < 3; i++) {
        struct models models;
        models_open (&models);
        struct job *job = scene_add (&models.scene, "unknown", 1, "");
        learn (&models);
        assert_true (on (&models, job, 0).speed == 1); /* nothing is stated */
        speed (job, "a", units[i]);
        speed (job, "z", 4 * units[i]);
        assert_false (on (&models, job, 0).known);
        assert_true (near (on (&models, job, 0).speed, units[i]));
        assert_true (near (on (&models, job, 1).speed, 2 * units[i])); /* between them */
        models_close (&models);
    }
}

static void the_least_error_wins (void **state)
{
    (void)state;
    struct models models;
    models_open (&models);
    add_pair (&models, "a", "c", 10);
    for (int i = 0; i < 4; i++)
        add_pair (&models, "b", "c", 2);
    struct job *job = add (&models, "a", 0.1, 1);
    learn (&models);
    /* Only from a. */
    struct job_model model = on (&models, job, 2);
    assert_int_equal (model.source, MODEL_PREDICTED);
    assert_true (near (model.model.alpha_grad, 0.1 / 10));
    /* From b, which four jobs have measured. */
    measure (&job->hints, "b", 0.3, 1);
    model = on (&models, job, 2);
    assert_true (near (model.model.alpha_grad, 0.3 / 2));
    assert_int_equal (model.most_replicas, 2);
    models_close (&models);
}

/* Jobs that contradict each other: a lower speed, by what the error exceeds that of one job. */
static void doubtful_ratios_are_lowered (void **state)
{
    (void)state;
    struct models models;
    models_open (&models);
    struct job *job = add (&models, "a", 0.1, 1);
    add_pair (&models, "a", "b", 4);
    add_pair (&models, "a", "b", 400);
    learn (&models);
    double error = ratio_of (&models, 1, 0).error;
    assert_true (error > 1);
    assert_true (near (on (&models, job, 1).model.alpha_grad, 0.1 / 40 * exp (error - 0.41)));
    models_close (&models);
}

/* Takes part in a round that fills slots: the last job. */
static bool waits (const struct view *view, const struct job *job)
{
    return job == view->jobs[view->job_count - 1];
}

static void ratios_of_the_whole_count_in_a_part (void **state)
{
    (void)state;
    struct models models;
    struct subview part;
    models_open (&models);
    add_pair (&models, "a", "b", 4);
    struct job *job = add (&models, "a", 0.1, 1);
    assert_int_equal (0, subview_new (&models.scene.view, waits, &part));
    assert_int_equal (1, part.view.job_count);
    learn (&models);
    assert_int_equal (0,
                      type_ratios_make (&part.view, &models.pools, &models.arena, &models.ratios));
    assert_true (near (on (&models, job, 1).model.alpha_grad, 0.1 / 4));
    subview_clear (&part);
    models_close (&models);
}

static void without_evidence_it_is_a_guess (void **state)
{
    (void)state;
    struct models models;
    models_open (&models);
    struct job *job = add (&models, "a", 0.1, 8);
    learn (&models);
    struct job_model model = on (&models, job, 1);
    assert_int_equal (model.source, MODEL_GUESSED);
    assert_true (model.model.alpha_grad == 0.1);
    assert_int_equal (model.most_replicas, 1);
    assert_int_equal (on (&models, job, 0).source, MODEL_MEASURED);
    assert_int_equal (on (&models, job, 0).most_replicas, 16);
    job->spec.min_replicas = 3;
    assert_int_equal (on (&models, job, 1).most_replicas, 3);
    snprintf (job->spec.types.list[job->spec.types.count++], NAME_SIZE, "a");
    assert_int_equal (on (&models, job, 1).most_replicas, 0);
    models_close (&models);
}

/* The nodes of a running job have another type now: it stays with its replicas. */
static void a_guess_keeps_what_runs (void **state)
{
    (void)state;
    static const char *const names[] = {"pollux", "pollux-jct"};
    for (size_t i = 0; i < COUNT (names); i++) {
        struct models models;
        const struct policy *policy;
        struct memory memory;
        struct plan plan = {0};
        const char *expected[] = {"2:2"};
        models_open (&models);
        for (int node = 0; node < 6; node++)
            models.scene.nodes[node].available = node == 2;
        struct job *job = scene_add (&models.scene, "job", 1, "2:2");
        measure (&job->hints, "z", 0.1, 2);
        job->age_s = 3600;
        job->generation = 1;
        learn (&models);
        assert_int_equal (on (&models, job, 1).source, MODEL_GUESSED);
        assert_int_equal (on (&models, job, 1).most_replicas, 2);
        assert_int_equal (on (&models, job, 0).most_replicas, 1);
        assert_int_equal (0, policy_find (names[i], &policy, NULL));
        assert_int_equal (0, memory_new (policy, &memory, NULL));
        assert_int_equal (0, decide (policy, &models.scene.view, &memory, &plan, NULL));
        assert_plan (names[i], &plan, expected, 1);
        memory_clear (&memory);
        plan_clear (&plan);
        models_close (&models);
    }
}

/* A prediction that no machine can have is a guess instead. */
static void predictions_stay_in_range (void **state)
{
    (void)state;
    struct models models;
    models_open (&models);
    add_pair (&models, "a", "b", 900);
    struct job *job = add (&models, "a", 2e-9, 8);
    learn (&models);
    assert_int_equal (on (&models, job, 1).source, MODEL_GUESSED);
    assert_true (on (&models, job, 1).model.alpha_grad == 2e-9);
    speed (job, "a", 1);
    speed (job, "b", 2);
    assert_int_equal (on (&models, job, 1).source, MODEL_PREDICTED);
    job->spec.speeds.list[1].speed = 3;
    assert_int_equal (on (&models, job, 1).source, MODEL_GUESSED);
    models_close (&models);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (ratios_of_jobs),
        cmocka_unit_test (order_does_not_count),
        cmocka_unit_test (extreme_times_harm_nobody),
        cmocka_unit_test (owners_speeds_come_first),
        cmocka_unit_test (stated_speeds_are_relative),
        cmocka_unit_test (the_least_error_wins),
        cmocka_unit_test (doubtful_ratios_are_lowered),
        cmocka_unit_test (ratios_of_the_whole_count_in_a_part),
        cmocka_unit_test (without_evidence_it_is_a_guess),
        cmocka_unit_test (a_guess_keeps_what_runs),
        cmocka_unit_test (predictions_stay_in_range),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
