/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The genetic search: its ranking against the definition, its repair against the rules, its scores
 * against an independent checker, and its results against those of the published search.
 */
#include "unit.h"
#include "checker.h"
#include "views.h"

#include <dirent.h>

#include "policy/ga/variation.h"
#include "policy/ga/nsga2.h"
#include "wire/problem.h"

static struct memory fresh (void)
{
    const struct policy *policy;
    struct memory memory;
    assert_int_equal (0, policy_find ("pollux-ga", &policy, NULL));
    assert_int_equal (0, memory_new (policy, &memory, NULL));
    return memory;
}

/* ---- Ranking ---- */

static bool dominates (const struct nsga2_point *a, const struct nsga2_point *b)
{
    return a->first >= b->first && a->second >= b->second &&
           (a->first > b->first || a->second > b->second);
}

/* The definition: a front is the set of points that only points of earlier fronts dominate. */
static void rank_by_definition (const struct nsga2_point *points, int count, int *ranks)
{
    int left = count;
    for (int i = 0; i < count; i++)
        ranks[i] = count;
    for (int rank = 0; left > 0; rank++) {
        for (int i = 0; i < count; i++) {
            bool free = ranks[i] >= rank;
            for (int j = 0; j < count && free; j++)
                free = ranks[j] < rank || !dominates (&points[j], &points[i]);
            if (free && ranks[i] == count) {
                ranks[i] = rank;
                left--;
            }
        }
    }
}

/* Points on a grid, so that ties are common, or anywhere. */
static int random_points (struct rng *rng, struct nsga2_point *points)
{
    int count = 1 + (int)rng_below (rng, 200), grid = (int)rng_below (rng, 30);
    for (int i = 0; i < count; i++) {
        double first = rng_uniform (rng), second = rng_uniform (rng);
        if (grid > 0) {
            first = floor (first * grid);
            second = floor (second * grid);
        }
        points[i] = (struct nsga2_point){first, second, -1, NAN};
    }
    return count;
}

static void fronts_by_definition (void **state)
{
    (void)state;
    struct rng rng = rng_seed (4);
    for (int trial = soak_count (5000); trial > 0; trial--) {
        struct nsga2_point points[200];
        int ranks[200], kept[200];
        int count = random_points (&rng, points);
        nsga2_select (points, count, count, kept);
        rank_by_definition (points, count, ranks);
        for (int i = 0; i < count; i++)
            assert_int_equal (points[i].rank, ranks[i]);
        for (int i = 1; i < count; i++)
            assert_true (ranks[kept[i]] >= ranks[kept[i - 1]]);
    }
}

static void the_best_are_selected (void **state)
{
    (void)state;
    struct rng rng = rng_seed (5);
    for (int trial = soak_count (5000); trial > 0; trial--) {
        struct nsga2_point points[200];
        int kept[200];
        bool selected[200] = {false};
        int count = random_points (&rng, points);
        int keep = 1 + (int)rng_below (&rng, (uint64_t)count);
        nsga2_select (points, count, keep, kept);
        for (int i = 0; i < keep; i++) {
            assert_in_range (kept[i], 0, count - 1);
            assert_false (selected[kept[i]]);
            selected[kept[i]] = true;
        }
        double best = -INFINITY, best_selected = -INFINITY;
        for (int i = 0; i < count; i++) {
            best = fmax (best, points[i].first);
            if (selected[i])
                best_selected = fmax (best_selected, points[i].first);
            /* A point that was not selected has a higher rank, or the same and no less crowding. */
            for (int j = 0; j < count; j++)
                if (!selected[i] && selected[j])
                    assert_true (points[i].rank > points[j].rank ||
                                 (points[i].rank == points[j].rank &&
                                  points[i].crowding <= points[j].crowding));
        }
        if (keep > 1)
            assert_true (best == best_selected);
    }
}

/* Computed by hand: a front of four points, one of them twice; both ranges are 6. */
static void crowding_by_hand (void **state)
{
    (void)state;
    struct nsga2_point points[] = {{6, 0, 0, 0}, {5, 3, 0, 0}, {5, 3, 0, 0},
                                   {3, 4, 0, 0}, {0, 6, 0, 0}, {1, 1, 0, 0}};
    const double expected[] = {INFINITY, 3 / 6. + 4 / 6., 0, 5 / 6. + 3 / 6., INFINITY, INFINITY};
    int kept[4];
    nsga2_select (points, COUNT (points), COUNT (kept), kept);
    for (size_t i = 0; i < COUNT (points); i++) {
        assert_int_equal (points[i].rank, i == 5);
        assert_true (relative (points[i].crowding, expected[i]) < 1e-12);
    }
    for (size_t i = 0; i < COUNT (kept); i++)
        assert_true (kept[i] != 2 && kept[i] != 5);
    assert_true (nsga2_compare (&points[1], &points[5]) > 0);
    assert_true (nsga2_compare (&points[5], &points[1]) < 0);
    assert_true (nsga2_compare (&points[3], &points[1]) > 0);
    assert_true (nsga2_compare (&points[0], &points[4]) == 0);
}

/* ---- States ---- */

/* A random space with random states, whose entries are within their nodes and may break every other
 * rule. */
struct lab {
    struct scene scene;
    struct ga_space space;
    struct ga_variation variation;
    uint16_t *state, *other, *child;
    size_t size;
};

static void lab_fill (struct lab *lab, struct rng *rng, uint16_t *state)
{
    double density = rng_uniform (rng);
    memset (state, 0, lab->size * sizeof (state[0]));
    for (int r = 0; r < lab->space.row_count; r++)
        for (int i = 0; i < lab->space.column_count; i++)
            if (rng_uniform (rng) < density)
                state[r * lab->space.stride + i] =
                    (uint16_t)rng_below (rng, lab->space.capacity[i] + 1u);
}

static void lab_init (struct lab *lab, struct rng *rng)
{
    scene_random (&lab->scene, rng);
    if (rng_below (rng, 4) == 0)
        for (int i = lab->scene.view.node_count; i < SCENE_NODES; i++) { /* more than 16 nodes */
            lab->scene.nodes[i] = (struct node){.slots = 1 + i % 4, .available = true};
            snprintf (lab->scene.nodes[i].name, NAME_SIZE, "m%d", i);
            lab->scene.view.node_count++;
        }
    assert_int_equal (0, ga_space_new (&lab->scene.view, &lab->space, NULL));
    assert_int_equal (0, ga_variation_new (&lab->space, rng_next (rng), &lab->variation, NULL));
    lab->size = ga_state_size (&lab->space);
    lab->state = malloc (3 * lab->size * sizeof (lab->state[0]) + 1);
    assert_non_null (lab->state);
    lab->other = lab->state + lab->size;
    lab->child = lab->other + lab->size;
    lab_fill (lab, rng, lab->state);
    lab_fill (lab, rng, lab->other);
}

static void lab_clear (struct lab *lab)
{
    free (lab->state);
    ga_variation_clear (&lab->variation);
    ga_space_clear (&lab->space);
    scene_clear (&lab->scene);
}

/* The state as a plan. */
static void lab_plan (const struct lab *lab, const uint16_t *state, struct plan *plan)
{
    const struct view *view = &lab->scene.view;
    assert_int_equal (0, plan_reset (plan, view->job_count));
    for (int i = 0; i < view->job_count; i++) {
        int row = lab->space.row_of[i], count = 0;
        struct share shares[SCENE_NODES];
        for (int c = 0; c < lab->space.column_count && row >= 0; c++) {
            int replicas = state[row * lab->space.stride + c];
            if (replicas > 0)
                shares[count++] = (struct share){lab->space.nodes[c], replicas};
        }
        struct placement placement = {shares, count};
        assert_int_equal (0, plan_place (plan, i, row >= 0 ? placement : view->jobs[i]->placement));
    }
}

/* Sum of speedups over the slots of the nodes in use, from the plan alone. */
static double utility_by_definition (const struct lab *lab, const struct plan *plan)
{
    const struct view *view = &lab->scene.view;
    bool in_use[SCENE_NODES] = {false};
    double speedups = 0;
    int slots = 0;
    for (int i = 0; i < view->job_count; i++) {
        struct placement placement = plan_placement (plan, i);
        struct pollux_shape shape = placement_shape (placement);
        int at = ga_value_index (shape.replicas, shape.nodes);
        speedups += lab->space.values_of[i][at].speedup;
        for (int k = 0; k < placement.count; k++)
            in_use[placement.shares[k].node] = true;
    }
    for (int i = 0; i < view->node_count; i++)
        slots += in_use[i] ? view->nodes[i].slots : 0;
    return slots > 0 ? speedups / slots : 0;
}

static void repair_keeps_all_rules (void **state)
{
    (void)state;
    static struct lab lab;
    struct plan plan = {0};
    struct rng rng = rng_seed (6);
    for (int trial = soak_count (20000); trial > 0; trial--) {
        lab_init (&lab, &rng);
        memcpy (lab.other, lab.state, lab.size * sizeof (lab.state[0]));
        struct ga_score score = ga_repair_and_score (&lab.variation, lab.state);
        for (size_t i = 0; i < lab.size; i++)
            assert_true (lab.state[i] <= lab.other[i]);
        for (int r = 0; r < lab.space.row_count; r++) {
            int nodes = 0;
            for (int i = 0; i < lab.space.column_count; i++)
                nodes += lab.state[r * lab.space.stride + i] > 0;
            assert_true (nodes <= GA_NODES_LIMIT);
        }
        lab_plan (&lab, lab.state, &plan);
        const char *wrong = check_feasible (&lab.scene.view, &plan);
        if (wrong)
            fail_msg ("trial %d: %s", trial, wrong);
        if (lab.scene.view.job_count > 0) {
            assert_true (relative (score.fitness, check_fitness (&lab.scene.view, &plan)) < 1e-9);
            assert_true (relative (score.utility, utility_by_definition (&lab, &plan)) < 1e-9);
        }
        /* A legal state stays as it is. */
        memcpy (lab.other, lab.state, lab.size * sizeof (lab.state[0]));
        struct ga_score again = ga_repair_and_score (&lab.variation, lab.state);
        assert_memory_equal (lab.other, lab.state, lab.size * sizeof (lab.state[0]));
        assert_memory_equal (&score, &again, sizeof (score));
        lab_clear (&lab);
    }
    plan_clear (&plan);
}

static void children_have_two_parents (void **state)
{
    (void)state;
    static struct lab lab;
    struct rng rng = rng_seed (7);
    for (int trial = soak_count (5000); trial > 0; trial--) {
        lab_init (&lab, &rng);
        ga_cross (&lab.variation, lab.state, lab.other, lab.child);
        size_t row = (size_t)lab.space.stride * sizeof (lab.child[0]),
               stride = row / sizeof (lab.child[0]);
        int r = 0, count = lab.space.row_count;
        while (r < count &&
               memcmp (lab.child + (size_t)r * stride, lab.state + (size_t)r * stride, row) == 0)
            r++;
        for (; r < count; r++)
            assert_memory_equal (lab.child + (size_t)r * stride, lab.other + (size_t)r * stride,
                                 row);
        lab_clear (&lab);
    }
}

/* After a mutation every entry is within the capacity of its node. */
static void mutation_keeps_columns (void **state)
{
    (void)state;
    static struct lab lab;
    struct rng rng = rng_seed (8);
    for (int trial = soak_count (5000); trial > 0; trial--) {
        lab_init (&lab, &rng);
        /* A reset to the current state is within the capacities, too. */
        for (int i = 0; i < lab.space.row_count * lab.space.stride; i++)
            lab.space.current[i] = lab.other[i];
        memcpy (lab.child, lab.state, lab.size * sizeof (lab.state[0]));
        ga_mutate (&lab.variation, lab.child);
        for (int r = 0; r < lab.space.row_count; r++)
            for (int i = 0; i < lab.space.stride; i++) {
                int at = r * lab.space.stride + i;
                assert_true (lab.child[at] <=
                             (i < lab.space.column_count ? lab.space.capacity[i] : 0));
            }
        lab_clear (&lab);
    }
}

/* The frequencies of mutations of a single job, each within five standard errors. */
static void mutation_rates (void **state)
{
    (void)state;
    enum { NODES = 10 };
    const int trials = soak_count (500000);
    static struct lab lab;
    scene_init (&lab.scene, NODES);
    scene_add (&lab.scene, "a", 1, "0:2");
    assert_int_equal (0, ga_space_new (&lab.scene.view, &lab.space, NULL));
    assert_int_equal (0, ga_variation_new (&lab.space, 9, &lab.variation, NULL));
    int grown = 0, zero = 0, elsewhere = 0;
    for (int i = 0; i < trials; i++) {
        uint16_t row[GA_LANES] = {2};
        ga_mutate (&lab.variation, row);
        zero += row[0] == 0;
        grown += row[0] > 2;
        for (int c = 1; c < NODES; c++)
            elsewhere += row[c] > 0;
    }
    /* The entry in use is zeroed with probability 0.01; then it is drawn again from 0..4 with
     * probability 0.1, as the nine others are.  Otherwise it is drawn again from 2..4, and with
     * probability 0.1 once more from there.  A reset changes nothing here. */
    const double zeroed = 0.01, tenth = 0.1;
    double p = zeroed * (1 - tenth + tenth / 5);
    assert_true (fabs (zero - trials * p) < 5 * sqrt (trials * p));
    p = (1 - zeroed) * ((1 - tenth) * 2 / 3 + tenth * 8 / 9) + zeroed * tenth * 2 / 5;
    assert_true (fabs (grown - trials * p) < 5 * sqrt (trials * p));
    p = 9 * tenth * 4 / 5;
    assert_true (fabs (elsewhere - trials * p) < 5 * sqrt (trials * p));
    ga_variation_clear (&lab.variation);
    ga_space_clear (&lab.space);
    scene_clear (&lab.scene);
}

/* ---- The whole search ---- */

static double decide_fitness (struct memory *memory, const struct view *view, struct plan *plan)
{
    struct pollux_error err;
    if (decide (memory->policy, view, memory, plan, &err) != 0)
        fail_msg ("%s", err.text);
    const char *wrong = check_feasible (view, plan);
    if (wrong)
        fail_msg ("%s", wrong);
    if (view->job_count > 0 && relative (plan->fitness, check_fitness (view, plan)) > 1e-9)
        fail_msg ("the plan claims fitness %.15g, it has %.15g", plan->fitness,
                  check_fitness (view, plan));
    return plan->fitness;
}

/* The best member is always kept: with the same random numbers more generations are never worse, and
 * neither is a round that starts from the last one's population. */
static void more_generations_are_not_worse (void **state)
{
    (void)state;
    static struct scene scene;
    struct plan plan = {0};
    struct rng rng = rng_seed (10);
    for (int trial = soak_count (100); trial > 0; trial--) {
        scene_random (&scene, &rng);
        double last = 0;
        for (scene.view.budget = 1; scene.view.budget <= 32; scene.view.budget *= 2) {
            struct memory memory = fresh ();
            double fitness = decide_fitness (&memory, &scene.view, &plan);
            if (scene.view.job_count == 0)
                fitness = 1;
            assert_true (fitness >= last * (1 - 1e-12));
            last = fitness;
            if (scene.view.budget == 32)
                for (int round = 0; round < 3 && scene.view.job_count > 0; round++) {
                    scene.view.seed++;
                    fitness = decide_fitness (&memory, &scene.view, &plan);
                    assert_true (fitness >= last * (1 - 1e-12));
                    last = fitness;
                }
            memory_clear (&memory);
        }
        scene_clear (&scene);
    }
    plan_clear (&plan);
}

/* On problems so small that all plans can be tried, the search nearly always finds the best. */
static void small_optimum (void **state)
{
    (void)state;
    static struct scene scene;
    struct plan plan = {0};
    int tried = 0, met = 0;
    for (int trial = soak_count (300); trial > 0; trial--) {
        scene_init (&scene, 2);
        struct rng rng = rng_stream (11, (uint64_t)trial);
        for (int i = 0; i < 3; i++) {
            char name[8] = {(char)('a' + i)};
            struct job *job = scene_add (&scene, name, 1, "");
            job->age_s = 1000;
            job->spec.max_replicas = 4 + (int)rng_below (&rng, 5);
            job->spec.weight = 1 + rng_uniform (&rng);
        }
        struct memory memory = fresh ();
        double fitness = decide_fitness (&memory, &scene.view, &plan);
        double best = check_optimum (&scene.view).fitness;
        assert_true (fitness <= best * (1 + 1e-9));
        tried++;
        met += fitness >= best * (1 - 1e-9);
        memory_clear (&memory);
        scene_clear (&scene);
    }
    plan_clear (&plan);
    assert_true (met >= 0.95 * tried);
}

/* From a cold start, at least 0.97 of the fitness that the published search reached on problems from
 * its simulations: both searches are random. */
static void published_fitness (void **state)
{
    (void)state;
    const char *folder = TEST_DATA "golden/decide";
    struct dirent **entries;
    int entry_count = scandir (folder, &entries, NULL, alphasort);
    if (entry_count < 0)
        fail_msg ("%s: cannot open; start the test in the root of the repository", folder);
    struct plan plan = {0};
    int tried = 0;
    for (int i = 0; i < entry_count; i++) {
        char path[512];
        struct pollux_error err;
        struct problem *problem;
        bool is_problem = strstr (entries[i]->d_name, ".json");
        snprintf (path, sizeof (path), "%s/%s", folder, entries[i]->d_name);
        free (entries[i]);
        if (!is_problem)
            continue;
        if (problem_read (path, &problem, &err) != 0)
            fail_msg ("%s", err.text);
        json_t *root = json_load_file (path, 0, NULL);
        double theirs =
            json_real_value (json_object_get (json_object_get (root, "reference_ga"), "fitness"));
        json_decref (root);
        assert_true (theirs > 0);
        if (view_slots (&problem->view) == 64) {
            struct memory memory = fresh ();
            double fitness = decide_fitness (&memory, &problem->view, &plan);
            if (fitness < 0.97 * theirs)
                fail_msg ("%s: fitness %.9g, the published search's %.9g", path, fitness, theirs);
            memory_clear (&memory);
            tried++;
        }
        problem_free (problem);
    }
    free (entries);
    plan_clear (&plan);
    assert_true (tried > 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (fronts_by_definition),
        cmocka_unit_test (the_best_are_selected),
        cmocka_unit_test (crowding_by_hand),
        cmocka_unit_test (repair_keeps_all_rules),
        cmocka_unit_test (children_have_two_parents),
        cmocka_unit_test (mutation_keeps_columns),
        cmocka_unit_test (mutation_rates),
        cmocka_unit_test (more_generations_are_not_worse),
        cmocka_unit_test (small_optimum),
        cmocka_unit_test (published_fitness),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
