/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux-jct: which jobs it prefers and explores, no job waits for ever, plans are feasible, values do
 * not depend on the order of the nodes, and on the published workloads the mean completion time is
 * shorter than with the published search.
 */
#include "unit.h"
#include "checker.h"
#include "views.h"

#include <jansson.h>

#include "sim/sim.h"

#define OSDI21 TEST_DATA "osdi21/"

static const struct policy *policy_named (const char *name)
{
    const struct policy *policy;
    assert_int_equal (0, policy_find (name, &policy, NULL));
    return policy;
}

static struct memory fresh (void)
{
    struct memory memory;
    assert_int_equal (0, memory_new (policy_named ("pollux-jct"), &memory, NULL));
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
    assert_true (isfinite (plan->fitness) && plan->bound >= plan->fitness && plan->price >= 0);
}

/* ---- Any problem ---- */

static void assert_same (const struct plan *a, const struct plan *b)
{
    assert_int_equal (a->job_count, b->job_count);
    for (int i = 0; i < a->job_count; i++)
        assert_true (placement_equal (plan_placement (a, i), plan_placement (b, i)));
    assert_true (a->job_count == 0 || (a->fitness == b->fitness && a->bound == b->bound));
}

/* Plans are feasible, and do not depend on earlier decisions with the same memory. */
static void any_problem (void **state)
{
    (void)state;
    static struct scene scene;
    struct memory used = fresh ();
    struct plan plan = {0}, again = {0};
    for (int i = 0; i < soak_count (20000); i++) {
        struct rng rng = rng_stream (7, (uint64_t)i);
        scene_random (&scene, &rng);
        if (i % 2 == 1)
            scene_mix (&scene, &rng);
        if (i % 4 >= 2)
            scene_revoke (&scene, &rng);
        scene.view.budget = 200;
        /* Some jobs are past their end, some far from it, some report no total. */
        static const double totals[] = {0, 1, 1e4, 1e9, 1e300, NAN};
        for (int j = 0; j < scene.view.job_count; j++) {
            scene.jobs[j].hints.progress = 10;
            scene.jobs[j].hints.total = totals[rng_below (&rng, COUNT (totals))];
        }
        solve (&used, &scene.view, &plan);
        if (i % 10 == 0) {
            struct memory new = fresh ();
            solve (&new, &scene.view, &again);
            assert_same (&plan, &again);
            memory_clear (&new);
        }
        scene_clear (&scene);
    }
    plan_clear (&plan);
    plan_clear (&again);
    memory_clear (&used);
}

/* ---- Jobs with the same curve ---- */

/* A job with a model that speeds up well on one node and fairly on several. */
static struct job *add_job (struct scene *scene, const char *name, double left, const char *place)
{
    struct job *job = scene_add (scene, name, 1, place);
    job->hints = (struct hints){
        .has_model = true,
        .model = {.alpha_grad = 0.05,
                  .beta_grad = 0.002,
                  .alpha_node = 0.05,
                  .beta_node = 0.001,
                  .alpha_local = 0.02,
                  .beta_local = 0.0005,
                  .gamma = 2},
        .grad = {.sqr = 1, .var = 16},
        .limits = {.init_batch = 128, .max_batch = 8192, .min_local = 32, .max_local = 256},
        .max_profiled_replicas = 64,
        .progress = 100,
        .total = 100 + left,
    };
    job->age_s = 600;
    return job;
}

static int replicas_of (const struct plan *plan, int job)
{
    return placement_replicas (plan_placement (plan, job));
}

/* Decide for the scene and clear it.  counts: replicas by job. */
static void counts_of (struct scene *scene, int *counts)
{
    struct memory memory = fresh ();
    struct plan plan = {0};
    solve (&memory, &scene->view, &plan);
    for (int i = 0; i < scene->view.job_count; i++)
        counts[i] = replicas_of (&plan, i);
    scene_clear (scene);
    plan_clear (&plan);
    memory_clear (&memory);
}

static void shorter_first (void **state)
{
    (void)state;
    static struct scene scene;
    int counts[3];
    for (int nodes = 1; nodes <= 8; nodes *= 2) {
        scene_init (&scene, nodes);
        add_job (&scene, "long", 1e6, "");
        add_job (&scene, "middle", 3e4, "");
        add_job (&scene, "short", 1e3, "");
        counts_of (&scene, counts);
        if (!(counts[0] <= counts[1] && counts[1] <= counts[2] && counts[0] < counts[2]))
            fail_msg ("%d nodes: %d, %d, %d replicas", nodes, counts[0], counts[1], counts[2]);
    }
}

/* One slot, always a new short job, and a long one that waits: at last the long one gets the slot. */
static void no_starvation (void **state)
{
    (void)state;
    static struct scene scene;
    double waited_s = 0;
    for (bool served = false; !served; waited_s += 600) {
        assert_true (waited_s < 30 * 86400.);
        int counts[2];
        scene_init (&scene, 1);
        scene.nodes[0].slots = 1;
        add_job (&scene, "long", 1e6, "")->age_s = waited_s;
        add_job (&scene, "short", 1e3, "")->age_s = 60;
        counts_of (&scene, counts);
        assert_int_equal (1, counts[0] + counts[1]);
        served = counts[0] == 1;
        assert_false (served && waited_s < 3600);
    }
}

static void weights_count (void **state)
{
    (void)state;
    static struct scene scene;
    int counts[2];
    scene_init (&scene, 2);
    add_job (&scene, "plain", 1e4, "");
    add_job (&scene, "weighty", 1e4, "")->spec.weight = 4;
    counts_of (&scene, counts);
    assert_true (counts[1] > counts[0]);
}

/* A job of unknown length counts as a typical one while it has had little service, and as long after
 * much; so does a job past its declared end. */
static void unknown_ends (void **state)
{
    (void)state;
    static struct scene scene;
    for (int i = 0; i < 2; i++) {
        int counts[3];
        double left = i == 0 ? NAN : -50;
        for (int had = 0; had < 2; had++) {
            scene_init (&scene, 2);
            add_job (&scene, "long", 1e6, "");
            add_job (&scene, "short", 1e3, "");
            add_job (&scene, "unknown", left, "")->attained_s = had ? 1e7 : 0;
            counts_of (&scene, counts);
            assert_true (counts[1] > counts[2]);
            assert_true (had ? counts[2] < counts[0] : counts[2] > counts[0]);
        }
    }
}

/* Equal jobs and one slot: a job that has begun, and now reports its work, is not driven out by a new
 * one that does not yet. */
static void begun_jobs_stay (void **state)
{
    (void)state;
    static struct scene scene;
    for (double left = 1e2; left <= 1e6; left *= 10) {
        int counts[2];
        scene_init (&scene, 1);
        scene.nodes[0].slots = 1;
        struct job *begun = add_job (&scene, "begun", left, "0:1");
        begun->hints.max_profiled_replicas = 1;
        begun->attained_s = 60;
        struct job *new = scene_add (&scene, "new", 1, "");
        begun->age_s = 120;
        new->age_s = 60;
        counts_of (&scene, counts);
        assert_int_equal (1, counts[0]);
        assert_int_equal (0, counts[1]);
    }
}

/* With all times longer or shorter by a factor, the plan is as good: values have no unit. */
static void no_unit_of_time (void **state)
{
    (void)state;
    static struct scene scene;
    struct memory memory = fresh ();
    struct plan plan = {0}, scaled = {0};
    static const double factors[] = {0.1, 10, 1000};
    for (int i = 0; i < soak_count (2000); i++) {
        double factor = factors[i % (int)COUNT (factors)];
        for (int with = 0; with < 2; with++) {
            struct rng rng = rng_stream (8, (uint64_t)i);
            double times = with ? factor : 1;
            static const char *const places[] = {"", "", "0:1", "1:2", "0:1 1:1", "2:2"};
            scene_init (&scene, 4);
            scene.view.interval_s = 60 * times;
            scene.view.restart_delay_s = 30 * times;
            for (int j = 0; j < 6; j++) {
                char name[8];
                snprintf (name, sizeof (name), "j%d", j);
                struct job *job =
                    add_job (&scene, name, pow (10, 2 + 4 * rng_uniform (&rng)), places[j]);
                struct pollux_model *model = &job->hints.model;
                model->alpha_grad *= times, model->beta_grad *= times;
                model->alpha_node *= times, model->beta_node *= times;
                model->alpha_local *= times, model->beta_local *= times;
                job->hints.has_model = j != 1;
                job->age_s = 3600 * times * rng_uniform (&rng);
                job->attained_s = job->age_s / 2;
            }
            solve (&memory, &scene.view, with ? &scaled : &plan);
            scene_clear (&scene);
        }
        if (!(fabs (scaled.fitness / plan.fitness - 1) < 1e-9))
            fail_msg ("case %d: fitness %.17g, with times x %g %.17g", i, plan.fitness, factor,
                      scaled.fitness);
    }
    plan_clear (&plan);
    plan_clear (&scaled);
    memory_clear (&memory);
}

/* A new job with much work left grows to its limit, although a rival of the same size with a known
 * curve competes; a job that would not use more replicas does not. */
static void explores (void **state)
{
    (void)state;
    static struct scene scene;
    int plain[2] = {0}, eager[2] = {0};
    for (int i = 0; i < 2; i++) {
        scene_init (&scene, 4);
        add_job (&scene, "rival", 1e5, "")->spec.max_replicas = 16;
        struct job *job = add_job (&scene, "new", 1e5, "");
        job->hints.max_profiled_replicas = 1;
        job->spec.max_replicas = i == 0 ? 2 : 16;
        counts_of (&scene, i == 0 ? plain : eager);
        assert_true ((i == 0 ? plain : eager)[1] <= 2);
    }
    assert_int_equal (2, eager[1]);

    /* Two jobs compete for the third slot: the one that can be explored gets it. */
    scene_init (&scene, 1);
    scene.nodes[0].slots = 3;
    struct job *job = add_job (&scene, "new", 1e5, "");
    job->hints.max_profiled_replicas = 1;
    job->spec.max_replicas = 3;
    add_job (&scene, "rival", 1e5, "")->spec.max_replicas = 2;
    counts_of (&scene, plain);
    assert_int_equal (2, plain[0]);
}

/* A running job that ends within the restart delay does not restart; a long one grows into an empty
 * cluster. */
static void restarts_pay (void **state)
{
    (void)state;
    static struct scene scene;
    int counts[1];
    scene_init (&scene, 4);
    add_job (&scene, "ending", 10, "0:1");
    counts_of (&scene, counts);
    assert_int_equal (1, counts[0]);
    scene_init (&scene, 4);
    add_job (&scene, "beginning", 1e6, "0:1");
    counts_of (&scene, counts);
    assert_true (counts[0] > 4);
}

/* ---- What lies beyond the profile ---- */

static double goodput_at (const struct job *job, int nodes, int replicas)
{
    struct pollux_best best;
    struct pollux_shape shape = {.nodes = nodes, .replicas = replicas};
    int rc = pollux_best_batch (&job->hints.model, job->hints.grad, &job->hints.limits,
                                POLLUX_EXACT, shape, &best, NULL);
    return rc == 0 ? best.goodput : 0;
}

/* The value of moving to the best of the sizes from..most on nodes with 4 slots. */
static double best_value (const void *prepared, const struct job *job, int from, int most)
{
    const struct policy_values *values = policy_named ("pollux-jct")->values;
    double best = 0;
    for (int nodes = 1; nodes <= 2; nodes++)
        for (int k = from > nodes ? from : nodes; k <= most && (nodes > 1 || k <= 4); k++)
            best =
                fmax (best, values->value (prepared, 0, 0, k, goodput_at (job, nodes, k), true).x);
    return best;
}

/* A job alone, for which slots are free: the limit of its profile has the value of the best of all sizes. */
static void all_sizes_count (void **state)
{
    (void)state;
    static struct scene scene;
    const struct policy_values *values = policy_named ("pollux-jct")->values;
    int raised = 0, count = soak_count (2000);
    for (int i = 0; i < count; i++) {
        struct rng rng = rng_stream (11, (uint64_t)i);
        scene_init (&scene, SCENE_NODES);
        scene.view.search = POLLUX_EXACT;
        struct job *job =
            add_job (&scene, "new", pow (10, 1 + 5 * rng_uniform (&rng)), i % 2 == 0 ? "" : "0:1");
        job->spec.max_replicas = 3 + (int)rng_below (&rng, 250);
        job->hints.max_profiled_replicas = 1;
        job->hints.grad.var *= exp (2 * rng_gaussian (&rng));
        job->hints.model.alpha_node *= exp (rng_gaussian (&rng));
        job->hints.model.beta_node *= exp (rng_gaussian (&rng));
        void *prepared;
        assert_int_equal (0, values->prepare (&scene.view, &prepared, NULL));
        double at_limit = best_value (prepared, job, 2, 2);
        double beyond = best_value (prepared, job, 3, job->spec.max_replicas);
        double one = best_value (prepared, job, 1, 1);
        /* It is raised only if a size beyond is better than all that are offered. */
        if (!(at_limit > beyond * (1 - 1e-9)) && !(one > beyond * (1 - 1e-9)))
            fail_msg ("case %d: value %.17g at the limit, %.17g beyond", i, at_limit, beyond);
        raised += fabs (at_limit / beyond - 1) < 1e-9;
        values->release (prepared);
        scene_clear (&scene);
    }
    assert_true (raised > count / 2);
}

/* ---- Several types ---- */

enum { TYPES = 3, TYPED_NODES = 2 * TYPES, TYPED_JOBS = 8 };

/* The type of a node of a list that begins with the slow type or, reversed, with the fast one. */
static const char *type_at (int node, bool reversed)
{
    static const char *const types[TYPES] = {"slow", "middle", "fast"};
    return types[(reversed ? TYPED_NODES - 1 - node : node) / 2];
}

/* The model of a job on a type whose speed differs. */
static void add_model (struct job *job, const char *type, double speed)
{
    struct type_model *other = &job->hints.others[job->hints.other_count++];
    *other = (struct type_model){.model = job->hints.model,
                                 .max_local = job->hints.limits.max_local,
                                 .max_profiled_replicas = 64};
    other->model.alpha_grad /= speed;
    other->model.beta_grad /= speed;
    snprintf (other->type, NAME_SIZE, "%s", type);
}

/* Jobs that have models of all types, on nodes in one of two orders. */
static void add_typed (struct scene *scene, uint64_t seed, bool reversed)
{
    struct rng rng = rng_stream (9, seed);
    scene_init (scene, TYPED_NODES);
    for (int i = 0; i < TYPED_NODES; i++)
        snprintf (scene->nodes[i].type, NAME_SIZE, "%s", type_at (i, reversed));
    for (int i = 0; i < TYPED_JOBS; i++) {
        char name[8], place[16] = "";
        snprintf (name, sizeof (name), "j%d", i);
        if (i < TYPES)
            snprintf (place, sizeof (place), "%d:2", reversed ? TYPED_NODES - 1 - 2 * i : 2 * i);
        struct job *job = add_job (scene, name, pow (10, 2 + 4 * rng_uniform (&rng)), place);
        job->age_s = 3600 * rng_uniform (&rng);
        int first = (int)rng_below (&rng, TYPES);
        snprintf (job->hints.type, NAME_SIZE, "%s", type_at (2 * first, false));
        for (int j = 1; j < TYPES; j++)
            add_model (job, type_at (2 * ((first + j) % TYPES), false), exp (rng_gaussian (&rng)));
    }
}

/* The values of a goodput for all jobs on all types, slow to fast. */
static void typed_values (uint64_t seed, bool reversed, double ret[TYPED_JOBS][TYPES])
{
    static struct scene scene;
    void *prepared;
    const struct policy_values *values = policy_named ("pollux-jct")->values;
    add_typed (&scene, seed, reversed);
    assert_int_equal (0, values->prepare (&scene.view, &prepared, NULL));
    for (int i = 0; i < TYPED_JOBS; i++)
        for (int j = 0; j < TYPES; j++)
            ret[i][j] = values->value (prepared, i, reversed ? TYPES - 1 - j : j, 2, 1000, true).x;
    values->release (prepared);
    scene_clear (&scene);
}

/* Values do not depend on which type is first among the nodes. */
static void no_first_type (void **state)
{
    (void)state;
    for (int i = 0; i < soak_count (2000); i++) {
        double values[TYPED_JOBS][TYPES], reversed[TYPED_JOBS][TYPES];
        typed_values ((uint64_t)i, false, values);
        typed_values ((uint64_t)i, true, reversed);
        for (int j = 0; j < TYPED_JOBS; j++)
            for (int k = 0; k < TYPES; k++)
                if (!(fabs (reversed[j][k] / values[j][k] - 1) < 1e-9))
                    fail_msg ("case %d, job %d, type %d: value %.17g, types reversed %.17g", i, j,
                              k, values[j][k], reversed[j][k]);
    }
}

/* ---- The published workloads ---- */

struct figures {
    double mean_s, p99_s, makespan_s;
};

static double quantile_99 (const double *sorted, int count)
{
    double at = 0.99 * (count - 1);
    int below = (int)at;
    return sorted[below] + (sorted[below + 1] - sorted[below]) * (at - below);
}

static int ascending (const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The figures of the published search, from its completion times. */
static struct figures published_figures (const struct workload *workload, const json_t *jct)
{
    double *sorted = calloc ((size_t)workload->count, sizeof (sorted[0]));
    assert_non_null (sorted);
    struct figures figures = {0};
    double first_s = INFINITY, last_s = 0;
    for (int i = 0; i < workload->count; i++) {
        const struct workload_job *job = &workload->jobs[i];
        sorted[i] = json_number_value (json_object_get (jct, job->name));
        assert_true (sorted[i] > 0);
        figures.mean_s += sorted[i] / workload->count;
        first_s = fmin (first_s, job->submit_s);
        last_s = fmax (last_s, job->submit_s + sorted[i]);
    }
    qsort (sorted, (size_t)workload->count, sizeof (sorted[0]), ascending);
    figures.p99_s = quantile_99 (sorted, workload->count);
    figures.makespan_s = last_s - first_s;
    free (sorted);
    return figures;
}

static struct figures simulate (const char *policy, const struct workload *workload, double error)
{
    struct sim_config config = sim_defaults ();
    struct sim_result result;
    struct pollux_error err;
    config.remaining_error = error;
    if (sim_run (&config, workload, policy_named (policy), NULL, &result, &err) < 0)
        fail_msg ("%s", err.text);
    struct figures figures = {result.mean_jct_s, result.p99_jct_s, result.makespan_s};
    sim_result_clear (&result);
    return figures;
}

static void add (struct figures *sum, struct figures some, int count)
{
    sum->mean_s += some.mean_s / count;
    sum->p99_s += some.p99_s / count;
    sum->makespan_s += some.makespan_s / count;
}

enum { PUBLISHED, POLLUX, JCT, JCT_WRONG_TOTALS, KINDS };

/* Means over workloads first..last. */
static void compare (int first, int last, struct figures *means)
{
    fclose (golden_open (OSDI21 "published/pollux.json"));
    json_t *published = json_load_file (OSDI21 "published/pollux.json", 0, NULL);
    struct ground_truth *world = NULL;
    struct pollux_error err;
    if (ground_truth_from_traces (OSDI21 "traces", &world, &err) < 0)
        fail_msg ("%s", err.text);
    for (int i = 0; i < KINDS; i++)
        means[i] = (struct figures){0};
    for (int number = first, count = last - first + 1; number <= last; number++) {
        char path[64], key[32];
        struct workload workload;
        snprintf (path, sizeof (path), OSDI21 "workloads/workload-%d.csv", number);
        snprintf (key, sizeof (key), "workload-%d", number);
        if (workload_read (path, world, &workload, &err) < 0)
            fail_msg ("%s", err.text);
        json_t *jct = json_object_get (json_object_get (published, "jct"), key);
        add (&means[PUBLISHED], published_figures (&workload, jct), count);
        add (&means[POLLUX], simulate ("pollux", &workload, 0), count);
        add (&means[JCT], simulate ("pollux-jct", &workload, 0), count);
        add (&means[JCT_WRONG_TOTALS], simulate ("pollux-jct", &workload, 0.7), count);
        workload_clear (&workload);
    }
    static const char *const names[KINDS] = {"published", "pollux", "pollux-jct", "wrong totals"};
    for (int i = 0; i < KINDS; i++)
        print_message ("%-12s mean %.1f s, p99 %.0f s, makespan %.0f s\n", names[i],
                       means[i].mean_s, means[i].p99_s, means[i].makespan_s);
    json_decref (published);
    ground_truth_free (world);
}

/* A long run simulates all six, a short one simulates one.  Under slow tools (sanitizers) none: the
 * tests above cover the decisions. */
static void published_workloads (void **state)
{
    (void)state;
    struct figures means[KINDS];
    int effort = soak_count (1000);
    if (effort < 10)
        return;
    if (effort == 1000) {
        compare (1, 6, means);
        assert_true (means[POLLUX].mean_s <= 2575);
        assert_true (means[JCT].mean_s <= 2260);
        assert_true (means[JCT].p99_s <= 1.02 * means[PUBLISHED].p99_s);
        assert_true (means[JCT].makespan_s <= 1.07 * means[PUBLISHED].makespan_s);
        assert_true (means[JCT_WRONG_TOTALS].mean_s <= 1.02 * means[JCT].mean_s);
    } else {
        compare (5, 5, means);
        assert_true (means[POLLUX].mean_s <= 1.02 * means[PUBLISHED].mean_s);
        assert_true (means[JCT].mean_s <= 0.92 * means[PUBLISHED].mean_s);
        assert_true (means[JCT].p99_s <= 1.05 * means[PUBLISHED].p99_s);
        assert_true (means[JCT].makespan_s <= 1.12 * means[PUBLISHED].makespan_s);
        assert_true (means[JCT_WRONG_TOTALS].mean_s <= 0.95 * means[PUBLISHED].mean_s);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (any_problem),     cmocka_unit_test (shorter_first),
        cmocka_unit_test (no_starvation),   cmocka_unit_test (weights_count),
        cmocka_unit_test (unknown_ends),    cmocka_unit_test (begun_jobs_stay),
        cmocka_unit_test (no_unit_of_time), cmocka_unit_test (explores),
        cmocka_unit_test (restarts_pay),    cmocka_unit_test (all_sizes_count),
        cmocka_unit_test (no_first_type),   cmocka_unit_test (published_workloads),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
