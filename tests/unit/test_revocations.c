/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that may be taken back: pools by type and rate, the part of its goodput that a job keeps, who runs where, and what
 * explanations say.
 */
#include "unit.h"
#include "checker.h"
#include "views.h"

#include "policy/explain_text.h"
#include "policy/objective.h"
#include "policy/revocations.h"

#define DAY 86400.0

static const struct policy *policy_named (const char *name)
{
    const struct policy *policy;
    assert_int_equal (0, policy_find (name, &policy, NULL));
    return policy;
}

static void decide_once (const struct policy *policy, const struct view *view, struct plan *plan)
{
    struct memory memory;
    struct pollux_error err;
    assert_int_equal (0, memory_new (policy, &memory, NULL));
    if (decide (policy, view, &memory, plan, &err) != 0)
        fail_msg ("%s", err.text);
    memory_clear (&memory);
}

/* ---- Pools ---- */

static void nodes_that_are_alike_form_a_pool (void **state)
{
    (void)state;
    struct node nodes[] = {
        {.type = "x", .slots = 4, .available = true},
        {.type = "x", .slots = 8, .available = true, .revocations_per_s = 1e-5},
        {.type = "y", .slots = 2, .available = true, .revocations_per_s = 1e-5},
        {.type = "x", .slots = 1, .available = true, .revocations_per_s = 1e-5},
        {.type = "x", .slots = 4, .available = false, .revocations_per_s = 2e-5},
        {.type = "x", .slots = 3, .available = true},
    };
    static const struct pool expected[] = {
        {"x", 0, 0, 16, 7, 2, 4},
        {"x", 1e-5, 0, 0, 9, 2, 8},
        {"y", 1e-5, 2, 2, 2, 1, 2},
        {"x", 2e-5, 0, 0, 0, 0, 0},
    };
    static const int of_node[] = {0, 1, 2, 1, 3, 0}, of_type[] = {0, 0, 1, 0, 0, 0};
    struct arena arena = {0};
    struct pools pools;
    assert_int_equal (0, pools_make (nodes, COUNT (nodes), &arena, &pools));
    assert_int_equal (pools.count, COUNT (expected));
    assert_int_equal (pools.type_count, 2);
    for (size_t i = 0; i < COUNT (expected); i++) {
        const struct pool *pool = &pools.list[i];
        assert_string_equal (pool->type, expected[i].type);
        assert_true (pool->revocations_per_s == expected[i].revocations_per_s);
        assert_int_equal (pool->like, expected[i].like);
        assert_int_equal (pool->type_slots, expected[i].type_slots);
        assert_int_equal (pool->slots, expected[i].slots);
        assert_int_equal (pool->nodes, expected[i].nodes);
        assert_int_equal (pool->node_slots, expected[i].node_slots);
    }
    assert_memory_equal (pools.of_node, of_node, sizeof (of_node));
    assert_int_equal (0, pools_make_by_type (nodes, COUNT (nodes), &arena, &pools));
    assert_int_equal (pools.count, 2);
    assert_int_equal (pools.type_count, 2);
    assert_int_equal (pools.list[0].slots, 16);
    assert_true (pools.list[0].revocations_per_s == 0);
    assert_memory_equal (pools.of_node, of_type, sizeof (of_type));
    arena_clear (&arena);
}

/* ---- The formula ---- */

static void delay_is_lost_at_each_revocation (void **state)
{
    (void)state;
    static const struct {
        double per_s;
        int node_slots;
        struct pollux_shape shape;
        double delay_s, kept;
    } rows[] = {
        {0, 4, {1, 4}, 1e9, 1},
        {1.0 / 3600, 4, {1, 4}, 0, 1},
        {1.0 / 3600, 4, {1, 4}, 3600, 0.5},        /* trains for an hour, then stands for one */
        {1.0 / 3600, 4, {1, 1}, 3600, 0.5},        /* of the node, not of the replica */
        {1.0 / 3600, 4, {2, 2}, 1800, 0.5},        /* two nodes: twice as often */
        {1.0 / 3600, 4, {2, 8}, 1800, 0.5},        /* as full as they can be */
        {1.0 / 3600, 4, {5, 8}, 1800, 0.5},        /* several: how many is not known before */
        {1.0 / 3600, 4, {2, 9}, 1200, 0.5},        /* at least three */
        {1.0 / 3600, 0, {2, 9}, 400, 0.5},         /* all are drained */
        {1.0 / 3600, 4, {0, 0}, 3600, 1},          /* waits */
        {3 / DAY, 8, {1, 8}, 60, 1 / 1.002083333}, /* three times a day, a minute each */
    };
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct pool pool = {.revocations_per_s = rows[i].per_s, .node_slots = rows[i].node_slots};
        double kept = revocations_leave (revocations_in (&pool, rows[i].shape), rows[i].delay_s);
        if (relative (kept, rows[i].kept) > 1e-9)
            fail_msg ("row %zu: keeps %.12g, expected %.12g", i, kept, rows[i].kept);
    }
}

/* ---- Who runs where ---- */

struct row {
    double delay_s;
    const char *place, *expected;
    bool fixed;   /* not preemptible */
    double age_s; /* 0: two weeks, so that one more restart costs little */
};

/* Four slots per node; each job has four replicas.  's': a node that stays, 'r': one that is taken back every hour. */
static const struct case_of_nodes {
    const char *what, *nodes;
    int rows;
    struct row row[3];
} cases[] = {
    {"the longer delay stays",
     "sr",
     2,
     {{600, "", .expected = "0:4"}, {10, "", .expected = "1:4"}}},
    {"in any order of jobs", "sr", 2, {{10, "", .expected = "1:4"}, {600, "", .expected = "0:4"}}},
    {"in any order of nodes", "rs", 2, {{600, "", .expected = "1:4"}, {10, "", .expected = "0:4"}}},
    {"alone it takes the node that stays", "rs", 1, {{10, "", .expected = "1:4"}}},
    {"also if it may not be moved later", "rs", 1, {{10, "", .expected = "1:4", .fixed = true}}},
    {"a short delay is no reason to move", "rs", 1, {{1, "0:4", .expected = "0:4", .age_s = 1000}}},
    {"a job that may not be moved does not move",
     "rs",
     1,
     {{900, "0:4", .expected = "0:4", .fixed = true}}},
    {"the long delay moves to the node that stays", "rs", 1, {{900, "0:4", .expected = "1:4"}}},
    {"slots that are taken back are better than none",
     "rs",
     2,
     {{1800, "", .expected = "0:4"}, {3600, "", .expected = "1:4"}}},
};

static void who_runs_where (void **state)
{
    (void)state;
    static const char *const names[] = {"pollux", "pollux-jct"};
    for (size_t i = 0; i < COUNT (cases) * COUNT (names); i++) {
        const struct case_of_nodes *at = &cases[i / COUNT (names)];
        const struct policy *policy = policy_named (names[i % COUNT (names)]);
        struct scene scene;
        struct plan plan = {0};
        const char *expected[COUNT (at->row)];
        char what[160];
        scene_init (&scene, (int)strlen (at->nodes));
        for (int node = 0; node < scene.view.node_count; node++)
            scene.nodes[node].revocations_per_s = at->nodes[node] == 'r' ? 1.0 / 3600 : 0;
        for (int r = 0; r < at->rows; r++) {
            char name[NAME_SIZE];
            snprintf (name, sizeof (name), "job-%d", r);
            struct job *job = scene_add (&scene, name, 4, at->row[r].place);
            job->spec.min_replicas = job->spec.max_replicas = 4;
            job->spec.restart_delay_s = at->row[r].delay_s;
            job->spec.preemptible = !at->row[r].fixed;
            job->age_s = at->row[r].age_s > 0 ? at->row[r].age_s : 14 * DAY;
            job->attained_s = 4 * job->age_s;
            expected[r] = at->row[r].expected;
        }
        decide_once (policy, &scene.view, &plan);
        snprintf (what, sizeof (what), "%s: %s", policy->name, at->what);
        assert_plan (what, &plan, expected, at->rows);
        plan_clear (&plan);
        scene_clear (&scene);
    }
}

/* ---- What does not change ---- */

/* The plan of the scene, and the plan with other rates. */
static void expect_same_plans (const struct policy *policy, struct scene *scene, double rate)
{
    struct plan plan = {0}, other = {0};
    decide_once (policy, &scene->view, &plan);
    for (int i = 0; i < scene->view.node_count; i++)
        scene->nodes[i].revocations_per_s = rate;
    decide_once (policy, &scene->view, &other);
    for (int i = 0; i < scene->view.job_count; i++) {
        assert_true (placement_equal (plan_placement (&plan, i), plan_placement (&other, i)));
        assert_memory_equal (&plan.speedups[i], &other.speedups[i], sizeof (double));
    }
    assert_memory_equal (&plan.fitness, &other.fitness, sizeof (double));
    assert_memory_equal (&plan.bound, &other.bound, sizeof (double));
    plan_clear (&plan);
    plan_clear (&other);
}

/* Policies that do not count revocations ignore them, whatever the rates of the nodes are. */
static void other_policies_ignore_rates (void **state)
{
    (void)state;
    struct rng rng = rng_seed (16);
    static struct scene scene;
    for (int i = soak_count (1000); i > 0; i--)
        for (const struct policy *const *policy = policies; *policy; policy++) {
            scene_random (&scene, &rng);
            if (i % 2 == 0 && !(*policy)->one_type)
                scene_mix (&scene, &rng);
            scene_revoke (&scene, &rng);
            scene.view.budget = 4;
            if (!(*policy)->revocations)
                expect_same_plans (*policy, &scene, 0);
            scene_clear (&scene);
        }
}

/* Groups with equal rates are one pool, and restarts that take no time cost nothing. */
static void equal_rates_without_delay_change_nothing (void **state)
{
    (void)state;
    struct rng rng = rng_seed (17);
    static struct scene scene;
    for (int i = soak_count (1000); i > 0; i--) {
        scene_random (&scene, &rng);
        scene_mix (&scene, &rng);
        scene.view.budget = 50;
        for (int j = 0; j < scene.view.job_count; j++)
            scene.jobs[j].spec.restart_delay_s = 0;
        expect_same_plans (policy_named (i % 2 == 0 ? "pollux" : "pollux-jct"), &scene, 1e-3);
        scene_clear (&scene);
    }
}

static void give_model (struct job *job)
{
    job->hints = (struct hints){
        .has_model = true,
        .model = {0.022, 0.00064, 0.08, 0.0028, 0.009, 0.0005, 2.2},
        .grad = {.sqr = 1, .var = 6},
        .limits = {128, 16384, 32, 1024, true},
        .max_profiled_replicas = 1000,
        .progress = NAN,
        .total = NAN,
    };
}

/* The fair share is the same whether or not some of the nodes are taken back: speedups are comparable. */
static void fair_share_does_not_depend_on_rates (void **state)
{
    (void)state;
    struct scene scene;
    struct plan plan = {0};
    double speedups[2];
    scene_init (&scene, 3);
    struct job *job = scene_add (&scene, "job", 1, "0:4");
    give_model (job);
    job->spec.min_replicas = job->spec.max_replicas = 4;
    for (int i = 0; i < 2; i++) {
        scene.nodes[1].revocations_per_s = i * 1e-3;
        scene.nodes[2].revocations_per_s = i * 2e-3;
        decide_once (policy_named ("pollux"), &scene.view, &plan);
        speedups[i] = plan.speedups[0];
    }
    assert_true (speedups[0] > 0 && speedups[0] == speedups[1]);
    plan_clear (&plan);
    scene_clear (&scene);
}

/* ---- A large job ---- */

/* Of a large job not every count is evaluated: the bound holds for the others, too, and none of them is better. */
static void large_job_has_the_best_count (void **state)
{
    (void)state;
    static const double rates[] = {0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2};
    for (size_t r = 0; r < COUNT (rates); r++) {
        struct scene scene;
        struct plan plan = {0}, other = {0};
        struct share shares[SCENE_NODES];
        scene_init (&scene, 60);
        for (int i = 0; i < scene.view.node_count; i++)
            scene.nodes[i].revocations_per_s = rates[r];
        struct job *job = scene_add (&scene, "large", 1, "");
        give_model (job);
        job->spec.max_replicas = 240;
        job->age_s = 1e4;
        decide_once (policy_named ("pollux"), &scene.view, &plan);
        assert_true (relative (plan.fitness, check_fitness (&scene.view, &plan)) < 1e-9);
        int best = 0;
        double most = 0;
        for (int k = 1; k <= 240; k++) {
            int count = 0;
            for (int left = k; left > 0; left -= 4)
                shares[count] = (struct share){.node = count, .replicas = left < 4 ? left : 4},
                count++;
            assert_int_equal (0, plan_reset (&other, 1));
            assert_int_equal (0, plan_place (&other, 0, (struct placement){shares, count}));
            double fitness = check_fitness (&scene.view, &other);
            best = fitness > most ? k : best;
            most = fmax (fitness, most);
        }
        print_message ("%g revocations per second: %d replicas, best %d\n", rates[r],
                       placement_replicas (plan_placement (&plan, 0)), best);
        assert_true (plan.bound >= most * (1 - 1e-9));
        assert_true (plan.fitness >= most * (1 - 1e-3));
        plan_clear (&plan);
        plan_clear (&other);
        scene_clear (&scene);
    }
}

/* The largest x of a job's options that stand for an option: itself, or the bound of a gap that contains its replicas. */
static double bound_of (const struct objective *objective, const struct solver_option *option)
{
    const struct allocation_options *options = &objective->options[0];
    double most = 0;
    for (int i = 0; i < options->count; i++) {
        const struct solver_option *other = &options->list[i];
        bool gap = other->where == WHERE_BEYOND && other->replicas <= option->replicas;
        bool self = other->where == option->where && other->replicas == option->replicas;
        if (other->pool == option->pool && (gap || self))
            most = fmax (most, objective_x (objective, 0, i));
    }
    return most;
}

/* The solver's bound rests on the bounds of the counts that are not evaluated. */
static void gaps_are_bounded (void **state)
{
    (void)state;
    static const double rates[] = {0, 1e-5, 1e-3, 1e-2, 1};
    for (size_t r = 0; r < COUNT (rates); r++) {
        struct scene scene;
        struct arena arena = {0};
        struct objective all, sampled;
        int gaps = 0;
        scene_init (&scene, 60);
        for (int i = 0; i < scene.view.node_count; i++)
            scene.nodes[i].revocations_per_s = i % 2 * rates[r];
        struct job *job = scene_add (&scene, "large", 1, "");
        give_model (job);
        job->spec.max_replicas = 240;
        job->age_s = 1e4;
        assert_int_equal (0, objective_make (&scene.view, &arena, &all, NULL));
        assert_int_equal (0, objective_make_sampled (&scene.view, &arena, &sampled, NULL));
        for (int i = 0; i < all.options[0].count; i++) {
            const struct solver_option *option = &all.options[0].list[i];
            double x = objective_x (&all, 0, i), bound = bound_of (&sampled, option);
            if (x > bound * (1 + 1e-9))
                fail_msg ("rate %g, pool %d, %d replicas: x %g, bound %g", rates[r], option->pool,
                          option->replicas, x, bound);
        }
        for (int i = 0; i < sampled.options[0].count; i++)
            gaps += sampled.options[0].list[i].where == WHERE_BEYOND;
        assert_true (gaps > 0);
        arena_clear (&arena);
        scene_clear (&scene);
    }
}

/* ---- Explanations ---- */

static bool says (const struct explain_text *text, const char *words)
{
    for (int i = 0; i < text->count; i++)
        if (strstr (text->sentences[i], words))
            return true;
    return false;
}

/* Node 0 stays; node 1 is taken back so many times a day.  The job is on one of them, and its restarts take 600 s. */
static void explanations_name_restarts (void **state)
{
    (void)state;
    static const struct {
        const char *policy, *type;
        double per_day;
        const char *place, *words[2]; /* NULL: no sentence on revocations */
    } rows[] = {
        {"pollux",
         "",
         3,
         "1:4",
         {"Its nodes may be taken back: it is expected to restart 3 times a day for this reason, "
          "which costs 2 % of its goodput.",
          "On 4 slots it would train 2.08 % faster than on its 4 slots of nodes that may be taken "
          "back."}},
        {"pollux-jct",
         "t4",
         1,
         "1:4",
         {"once a day for this reason, which costs 0.69 %", "On 4 t4 it"}},
        {"pollux", "", 0.2, "1:4", {"once in 5 days", "faster"}},
        {"pollux", "", 24, "1:4", {"24 times a day", "faster"}},
        {"fifo", "", 3, "1:4", {"restart 3 times a day", "costs 2 %"}},
        {"pollux",
         "t4",
         3,
         "0:4",
         {"On 4 t4 of nodes that may be taken back it would train 2.04 % slower than on its 4 t4.",
          "of one type and equally often taken back, have 4 slots"}},
        {"pollux", "", 3, "0:4", {"On 4 slots of nodes that may be taken back", "slower"}},
        {"pollux", "", 0, "1:4", {NULL, NULL}},
    };
    struct explanation *all = calloc (1, sizeof (*all));
    struct explain_text *text = calloc (1, sizeof (*text));
    assert_true (all && text);
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct scene scene;
        scene_init (&scene, 2);
        for (int node = 0; node < 2; node++)
            snprintf (scene.nodes[node].type, NAME_SIZE, "%s", rows[i].type);
        scene.nodes[1].revocations_per_s = rows[i].per_day / DAY;
        struct job *job = scene_add (&scene, "job", 4, rows[i].place);
        give_model (job);
        job->spec.restart_delay_s = 600;
        assert_int_equal (
            0, explain_present (policy_named (rows[i].policy), &scene.view, 0, all, NULL));
        explain_text_make (all, NULL, NULL, text);
        for (int w = 0; w < 2 && rows[i].words[w]; w++)
            if (!says (text, rows[i].words[w])) {
                for (int s = 0; s < text->count; s++)
                    print_error ("%s\n", text->sentences[s]);
                fail_msg ("row %zu: no sentence says \"%s\"", i, rows[i].words[w]);
            }
        assert_true (rows[i].words[0] || !says (text, "taken back"));
        scene_clear (&scene);
    }
    free (all);
    free (text);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (nodes_that_are_alike_form_a_pool),
        cmocka_unit_test (delay_is_lost_at_each_revocation),
        cmocka_unit_test (who_runs_where),
        cmocka_unit_test (other_policies_ignore_rates),
        cmocka_unit_test (equal_rates_without_delay_change_nothing),
        cmocka_unit_test (fair_share_does_not_depend_on_rates),
        cmocka_unit_test (large_job_has_the_best_count),
        cmocka_unit_test (gaps_are_bounded),
        cmocka_unit_test (explanations_name_restarts),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
