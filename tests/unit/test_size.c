/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The size of a cluster: examples of each goal, and properties that hold for random views.
 */
#include "unit.h"

#include "scaling/size_goal.h"
#include "size_fixture.h"

/* ---- Examples ------------------------------------------------------------------------------- */

static void band_examples (void **state)
{
    (void)state;
    static const struct {
        int up, jobs;
        const char *goal;
        int grows; /* 1: more nodes, -1: fewer, 0: no change */
        const char *reason;
    } rows[] = {
        {1, 6, "band:0.35,0.65", 1, "above the band"},
        {16, 1, "band:0.5,0.8", -1, "below the band"},
        {16, 1, "band:0.001,1", 0, ""},
    };
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct size_scene scene;
        size_scene_init (&scene, rows[i].goal);
        size_scene_add_group (&scene, "gpu", 1, 16, rows[i].up, 1);
        for (int j = 0; j < rows[i].jobs; j++)
            size_scene_add_job (&scene);
        struct size_decision size = size_scene_decide (&scene);
        assert_true (size.utility > 0 && size.utility <= 1.001);
        assert_int_equal (size.resize, rows[i].grows != 0);
        if (size.resize)
            assert_int_equal (rows[i].grows, size.nodes[0] > rows[i].up ? 1 : -1);
        assert_non_null (strstr (size.reason, rows[i].reason));
        size_scene_clear (&scene);
    }
}

/* The mean counts, not the present round; rounds before the last change do not. */
static void band_looks_at_the_mean (void **state)
{
    (void)state;
    struct size_scene scene;
    size_scene_init (&scene, "band:0.35,0.65");
    size_scene_add_group (&scene, "gpu", 1, 16, 1, 1);
    for (int j = 0; j < 6; j++)
        size_scene_add_job (&scene);
    for (int i = 0; i < UTILITY_ROUNDS; i++)
        scene.power.utilities[i] = 0.5;
    scene.power.utility_count = UTILITY_ROUNDS;
    assert_false (size_scene_decide (&scene).resize);
    scene.power.utility_count = 0;
    assert_true (size_scene_decide (&scene).resize);
    size_scene_clear (&scene);
}

static void idle_goes_to_the_minimum (void **state)
{
    (void)state;
    for (int min = 0; min <= 2; min++) {
        struct size_scene scene;
        size_scene_init (&scene, "cost:1.5");
        size_scene_add_group (&scene, "a", min, 8, 5, 1);
        size_scene_add_group (&scene, "b", 0, 8, 3, 2);
        struct size_decision size = size_scene_decide (&scene);
        assert_true (size.resize && isnan (size.utility));
        assert_int_equal (min, size.nodes[0]);
        assert_int_equal (0, size.nodes[1]);
        assert_non_null (strstr (size.reason, "there is no job"));
        scene.power.groups[1].retired = true;
        assert_int_equal (0, size_scene_decide (&scene).nodes[1]);
        size_scene_clear (&scene);
    }
}

/* Without a job nothing waits for nodes that start; but a job that waits out a pause after a failure comes again. */
static void idle_clusters_wait_for_no_node (void **state)
{
    (void)state;
    for (int paused = 0; paused < 2; paused++) {
        struct size_scene scene;
        size_scene_init (&scene, "band:0.35,0.65");
        size_scene_add_group (&scene, "a", 1, 8, 5, 1);
        size_scene_start_node (&scene, 3, -10);
        scene.view.paused = paused;
        assert_true (size_scene_decide (&scene).resize == !paused);
        size_scene_clear (&scene);
    }
}

/* Growth is waited for; nodes in the place of others, which a provider has taken, are not. */
static void replacements_are_not_waited_for (void **state)
{
    (void)state;
    static const struct {
        double ordered_s, complete_s; /* after the last change; complete < 0: not yet */
        bool resize;
    } rows[] = {{0, -1, false}, {5, -1, false}, {5, 5, false}, {5, 4, true}, {-1, -1, true}};
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct size_scene scene;
        size_scene_init (&scene, "band:0.35,0.65");
        size_scene_add_group (&scene, "gpu", 1, 16, 2, 1);
        for (int j = 0; j < 6; j++)
            size_scene_add_job (&scene);
        scene.power.resized_us = (int64_t)((scene.view.now_s - 1000) * 1e6);
        scene.power.complete_us[0] =
            rows[i].complete_s < 0 ? 0
                                   : scene.power.resized_us + (int64_t)(rows[i].complete_s * 1e6);
        size_scene_start_node (&scene, 1, -1000 + rows[i].ordered_s);
        assert_true (size_scene_decide (&scene).resize == rows[i].resize);
        size_scene_clear (&scene);
    }
}

/* A replacement that is not needed any more is cancelled, however short the jobs are: that restarts none. */
static void replacements_are_cancelled (void **state)
{
    (void)state;
    struct size_scene scene;
    size_scene_init (&scene, "band:0.9,1");
    size_scene_add_group (&scene, "gpu", 1, 16, 2, 1);
    struct job *job = size_scene_add_job (&scene);
    job->spec.max_replicas = 4;
    job->hints.progress = job->hints.total - 1e-3;
    size_scene_run_job (&scene, 0, 0, 4);
    scene.power.resized_us = (int64_t)((scene.view.now_s - 1000) * 1e6);
    size_scene_start_node (&scene, 1, -10);
    scene.power.complete_us[0] = scene.power.resized_us;
    struct size_decision size = size_scene_decide (&scene);
    assert_true (size.resize && size.nodes[0] == 1);
    size_scene_clear (&scene);
}

/* Also during the cooldown, and from no node at all; not beyond what can be paid. */
static void misfits_force_growth (void **state)
{
    (void)state;
    static const struct {
        const char *goal;
        int up, min_replicas, nodes; /* at least */
        int pinned;                  /* replicas of a job that may not be moved */
    } rows[] = {
        {"band:0.01,0.99", 1, 8, 2, 0},  {"cost:100", 1, 12, 3, 0},
        {"band:0.35,0.65", 0, 1, 1, 0},  {"budget:3", 1, 12, 3, 0},
        {"budget:2", 1, 12, 0, 0},       {"cost:1", 0, 16, 4, 0},
        {"band:0.01,0.99", 1, 64, 0, 0}, {"band:0.01,0.99", 2, 8, 3, 1},
        {"band:0.01,0.99", 2, 7, 0, 1},  {"cost:100", 3, 12, 4, 4},
        {"band:0.01,0.99", 2, 29, 8, 3}, {"band:0.01,0.99", 2, 30, 0, 3},
        {"budget:2", 2, 8, 0, 2},
    };
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct size_scene scene;
        size_scene_init (&scene, rows[i].goal);
        size_scene_add_group (&scene, "gpu", 0, 8, rows[i].up, 1);
        size_scene_add_job (&scene)->spec.min_replicas = rows[i].min_replicas;
        if (rows[i].pinned > 0) {
            struct job *job = size_scene_add_job (&scene);
            job->spec.preemptible = false;
            job->spec.max_replicas = job->spec.fixed_replicas = rows[i].pinned;
            size_scene_run_job (&scene, 1, 1, rows[i].pinned);
        }
        scene.power.resized_us = (int64_t)((scene.view.now_s - 1) * 1e6);
        struct size_decision size = size_scene_decide (&scene);
        assert_int_equal (rows[i].nodes > 0, size.resize);
        assert_true (size.nodes[0] >= rows[i].nodes);
        assert_int_equal (rows[i].nodes > 0, strstr (size.reason, "fit nowhere") != NULL);
        size_scene_clear (&scene);
    }
}

/* Nodes that somebody has drained run no job at any size. */
static void drained_nodes_do_not_count (void **state)
{
    (void)state;
    for (int drained = 0; drained < 2; drained++) {
        struct size_scene scene;
        size_scene_init (&scene, "band:0.01,0.99");
        size_scene_add_group (&scene, "gpu", 0, 8, 2, 1);
        size_scene_add_job (&scene)->spec.min_replicas = 2;
        scene.nodes[0].available = scene.nodes[1].available = !drained;
        scene.power.resized_us = (int64_t)((scene.view.now_s - 1) * 1e6);
        struct size_decision size = size_scene_decide (&scene);
        assert_int_equal (drained, size.resize);
        if (drained)
            assert_true (size.nodes[0] >= 3 && strstr (size.reason, "fit nowhere"));
        size_scene_clear (&scene);
    }
}

/* Policies that do not count revocations put a job on nodes that are taken back at different rates: then it fits. */
static void rates_that_a_policy_mixes (void **state)
{
    (void)state;
    static const char *const names[] = {"pollux", "gavel"};
    for (int i = 0; i < 2; i++) {
        struct size_scene scene;
        size_scene_init (&scene, "band:0.01,0.99");
        assert_int_equal (0, policy_find (names[i], &scene.policy, NULL));
        size_scene_add_group (&scene, "base", 0, 4, 1, 1);
        struct node_group *spot = size_scene_add_group (&scene, "spot", 0, 4, 1, 1);
        spot->revocable = true;
        spot->revocations_per_day = 2;
        scene.nodes[1].revocations_per_s = node_group_revocations (spot);
        struct job *job = size_scene_add_job (&scene);
        job->spec.min_replicas = job->spec.fixed_replicas = 8;
        scene.power.resized_us = (int64_t)((scene.view.now_s - 1) * 1e6);
        assert_int_equal (size_scene_decide (&scene).resize, i == 0);
        size_scene_clear (&scene);
    }
}

/* One job of at most four replicas: one node brings as much as eight. */
static void budget_takes_the_cheapest (void **state)
{
    (void)state;
    struct size_scene scene;
    size_scene_init (&scene, "budget:8");
    size_scene_add_group (&scene, "gpu", 0, 8, 8, 1);
    size_scene_add_job (&scene)->spec.max_replicas = 4;
    struct size_decision size = size_scene_decide (&scene);
    assert_true (size.resize);
    assert_int_equal (1, size.nodes[0]);
    assert_non_null (strstr (
        size.reason, "8 -> 1 nodes: the last 7 bring 0 % of the goodput for 88 % of the cost"));
    size_scene_clear (&scene);
}

/* A job that runs and may be moved, and one on nodes of no group, take nothing away that forces growth. */
static void misfits_beside_other_jobs (void **state)
{
    (void)state;
    for (int pinned = 0; pinned < 2; pinned++)
        for (int loose = 0; loose < 2; loose++) {
            struct size_scene scene;
            size_scene_init (&scene, "band:0.001,1");
            size_scene_add_group (&scene, "gpu", 0, 8, loose ? 0 : 2, 1);
            if (loose) {
                scene.nodes[0] = (struct node){.name = "x", .slots = 8, .available = true};
                scene.states[0] = (struct node_power){.group = -1, .came = true};
                scene.view.node_count = 1;
            }
            size_scene_add_job (&scene)->spec.preemptible = !pinned;
            size_scene_run_job (&scene, 0, 0, 2);
            size_scene_add_job (&scene)->spec.min_replicas = 8;
            scene.power.resized_us = (int64_t)((scene.view.now_s - 1) * 1e6);
            assert_true (size_scene_decide (&scene).resize == pinned);
            size_scene_clear (&scene);
        }
}

/* What was paid yesterday may be more than the budget of today. */
static void a_smaller_budget_holds_at_once (void **state)
{
    (void)state;
    struct size_scene scene;
    size_scene_init (&scene, "budget:3");
    size_scene_add_group (&scene, "gpu", 1, 8, 8, 1);
    for (int j = 0; j < 8; j++)
        size_scene_add_job (&scene);
    scene.power.resized_us = (int64_t)((scene.view.now_s - 1) * 1e6);
    struct size_decision size = size_scene_decide (&scene);
    assert_true (size.resize && size.nodes[0] <= 3);
    size_scene_clear (&scene);
}

static void blocked_groups_do_not_grow (void **state)
{
    (void)state;
    struct size_scene scene;
    size_scene_init (&scene, "band:0.2,0.4");
    size_scene_add_group (&scene, "a", 0, 8, 1, 1);
    size_scene_add_group (&scene, "b", 0, 8, 1, 2);
    for (int j = 0; j < 8; j++)
        size_scene_add_job (&scene);
    int failed = scene.view.node_count++;
    scene.states[failed] = (struct node_power){.group = 0, .state = POWER_FAILED};
    snprintf (scene.nodes[failed].name, NAME_SIZE, "a-1");
    struct size_decision size = size_scene_decide (&scene);
    assert_true (size.resize);
    assert_int_equal (1, size.nodes[0]);
    assert_true (size.nodes[1] > 1);
    size_scene_clear (&scene);
}

/* A job that may not be moved keeps its node; a short one is worth no boot. */
static void nodes_that_stay (void **state)
{
    (void)state;
    struct size_scene scene;
    size_scene_init (&scene, "band:0.7,0.9");
    size_scene_add_group (&scene, "gpu", 0, 8, 8, 1);
    for (int j = 0; j < 3; j++) {
        size_scene_add_job (&scene)->spec.preemptible = false;
        size_scene_run_job (&scene, j, 2 * j, 1);
    }
    struct size_decision size = size_scene_decide (&scene);
    assert_true (size.resize);
    assert_int_equal (3, size.nodes[0]);
    size_scene_clear (&scene);

    size_scene_init (&scene, "band:0.1,0.3");
    size_scene_add_group (&scene, "gpu", 1, 8, 1, 1);
    struct job *job = size_scene_add_job (&scene);
    assert_true (size_scene_decide (&scene).resize);
    job->hints.progress = job->hints.total - 1e-3;
    assert_false (size_scene_decide (&scene).resize);
    size_scene_clear (&scene);
}

static void fixed_sizes_are_restored (void **state)
{
    (void)state;
    struct size_scene scene;
    size_scene_init (&scene, "fixed");
    size_scene_add_group (&scene, "gpu", 1, 8, 3, 1)->nodes = 4;
    size_scene_add_job (&scene);
    struct size_decision size = size_scene_decide (&scene);
    assert_true (size.resize && size.nodes[0] == 4);
    scene.power.wanted[0] = scene.power.groups[0].nodes = 3;
    assert_false (size_scene_decide (&scene).resize);
    size_scene_clear (&scene);
}

/* ---- Properties ----------------------------------------------------------------------------- */

static void random_scene (struct rng *rng, struct size_scene *scene)
{
    static const char *const kinds[] = {"band:%.2f,%.2f", "budget:%.2f", "cost:%.2f"};
    char goal[GOAL_SIZE];
    double low = 0.05 + 0.6 * rng_uniform (rng);
    uint64_t kind = rng_below (rng, 3);
    if (kind == 0)
        snprintf (goal, sizeof (goal), kinds[0], low, low + 0.3);
    else
        snprintf (goal, sizeof (goal), kinds[kind],
                  kind == 1 ? 30 * rng_uniform (rng) : 1 + 2 * rng_uniform (rng));
    size_scene_init (scene, goal);
    int groups = 1 + (int)rng_below (rng, 3);
    for (int g = 0; g < groups; g++) {
        char name[16];
        int max = 1 + (int)rng_below (rng, 10), min = (int)rng_below (rng, (uint64_t)max + 1) / 2;
        int up = min + (int)rng_below (rng, (uint64_t)(max - min) + 1);
        snprintf (name, sizeof (name), "g%d", g);
        struct node_group *group =
            size_scene_add_group (scene, name, min, max, up, 0.5 + (double)rng_below (rng, 4));
        if (kind != 1 && rng_below (rng, 6) == 0)
            group->price_per_node_hour = 0;
    }
    int jobs = (int)rng_below (rng, SIZE_SCENE_JOBS);
    for (int j = 0; j < jobs; j++) {
        struct job *job = size_scene_add_job (scene);
        job->spec.max_replicas = 1 + (int)rng_below (rng, 32);
        job->hints.max_profiled_replicas = (int)rng_below (rng, 16);
        job->hints.progress = 1e6 * rng_uniform (rng);
        job->age_s = 60 * (double)rng_below (rng, 1000);
        if (rng_below (rng, 4) == 0)
            job->hints = hints_unknown;
        if (rng_below (rng, 8) == 0)
            job->spec.min_replicas = (int)rng_below (rng, (uint64_t)job->spec.max_replicas + 1);
    }
    if (scene->view.node_count > 0 && rng_below (rng, 4) == 0) {
        static const enum power_state states[] = {POWER_STARTING, POWER_DRAINING, POWER_STOPPING,
                                                  POWER_FAILED, POWER_OFF};
        int node = (int)rng_below (rng, (uint64_t)scene->view.node_count);
        scene->states[node].state = states[rng_below (rng, COUNT (states))];
        scene->states[node].came = scene->states[node].state == POWER_DRAINING ||
                                   scene->states[node].state == POWER_STOPPING;
        scene->states[node].since_us =
            (int64_t)((scene->view.now_s - 1000 * rng_uniform (rng)) * 1e6);
        scene->nodes[node].available = false;
    }
    for (int g = 0; g < groups; g++)
        if (rng_below (rng, 2))
            scene->power.complete_us[g] =
                (int64_t)((scene->view.now_s - 1000 * rng_uniform (rng)) * 1e6);
    scene->view.paused = rng_below (rng, 4) == 0;
    scene->power.utility_count = (int)rng_below (rng, UTILITY_ROUNDS + 1);
    for (int i = 0; i < scene->power.utility_count; i++)
        scene->power.utilities[i] = rng_uniform (rng);
    if (rng_below (rng, 2))
        scene->power.resized_us = (int64_t)((scene->view.now_s - 1000 * rng_uniform (rng)) * 1e6);
}

/* The states of the nodes of a scene, counted by this test itself. */
struct tally {
    int ordered, failed, present; /* of one group */
    double paid;                  /* per hour, of all nodes that are paid or ordered */
};

static struct tally count_group (const struct size_scene *scene, int group)
{
    struct tally tally = {0};
    for (int i = 0; i < scene->view.node_count; i++) {
        const struct node_power *node = &scene->states[i];
        bool off = node->state == POWER_OFF, failed = node->state == POWER_FAILED;
        tally.paid += off || failed ? 0 : scene->power.groups[node->group].price_per_node_hour;
        if (node->group != group)
            continue;
        tally.ordered += node->state == POWER_STARTING || node->state == POWER_UP;
        tally.failed += failed;
        tally.present += !off;
    }
    return tally;
}

/* An earlier change of the size is not complete. */
static bool is_in_flight (const struct size_scene *scene)
{
    const struct power *power = &scene->power;
    for (int i = 0; i < scene->view.node_count; i++) {
        const struct node_power *node = &scene->states[i];
        bool taken = node->deadline_us > 0; /* away, by the provider */
        if ((node->state == POWER_DRAINING || node->state == POWER_STOPPING) && !taken)
            if (view_now_us (&scene->view) < node->since_us + 600000000)
                return true;
        /* One that was ordered before the change, or when its group was complete, replaces another one. */
        bool old = node->since_us < power->resized_us;
        bool late =
            power->complete_us[node->group] > 0 && node->since_us > power->complete_us[node->group];
        if (node->state == POWER_STARTING && !old && !late)
            return true;
    }
    for (int g = 0; g < power->count; g++) {
        const struct node_group *group = &power->groups[g];
        struct tally tally = count_group (scene, g);
        bool paid = power->goal.kind != GOAL_BUDGET || tally.ordered < group->min_nodes ||
                    tally.paid + group->price_per_node_hour <= power->goal.limit * (1 + 1e-9);
        bool orders = tally.ordered < power->wanted[g] && tally.failed == 0 &&
                      tally.present < group->max_nodes && paid;
        if (tally.ordered > power->wanted[g] || orders)
            return true;
    }
    return false;
}

static void check_decision (const struct size_scene *scene, const struct size_decision *size)
{
    const struct power *power = &scene->power;
    double price = 0, least = 0;
    /* No two changes at a time, except that a cluster without jobs goes to its minimum. */
    if (is_in_flight (scene) && scene->view.job_count > 0)
        assert_false (size->resize);
    if (scene->view.job_count == 0 && scene->view.paused > 0)
        assert_false (size->resize);
    for (int g = 0; size->resize && scene->view.job_count == 0 && g < power->count; g++)
        assert_int_equal (size->nodes[g], power->groups[g].min_nodes);
    for (int g = 0; size->resize && g < power->count; g++) {
        const struct node_group *group = &power->groups[g];
        assert_in_range (size->nodes[g], group->min_nodes, group->max_nodes);
        if (node_power_blocked (scene->states, scene->view.node_count, g,
                                view_now_us (&scene->view)))
            assert_true (size->nodes[g] <= power->wanted[g] || size->nodes[g] == group->min_nodes);
        price += size->nodes[g] * group->price_per_node_hour;
        least += group->min_nodes * group->price_per_node_hour;
    }
    if (size->resize && power->goal.kind == GOAL_BUDGET)
        assert_true (price <= fmax (power->goal.limit, least) * (1 + 1e-12));
}

/* A size for a goal of cost is as fast as asked for, if the largest one is. */
static void check_slowdown (struct size_scene *scene, const struct size_decision *size)
{
    struct what_if what_if;
    struct forecast largest, chosen;
    int most[NODE_GROUPS_LIMIT] = {0};
    for (int g = 0; g < scene->power.count; g++) {
        if (node_power_blocked (scene->states, scene->view.node_count, g,
                                view_now_us (&scene->view)))
            return;
        most[g] = scene->power.groups[g].max_nodes;
    }
    assert_int_equal (0, what_if_new (scene->policy, &scene->view, &scene->plan, &what_if, NULL));
    assert_int_equal (0, what_if_ask (&what_if, most, &largest, NULL));
    assert_int_equal (0, what_if_ask (&what_if, size->nodes, &chosen, NULL));
    assert_true (size_slowdown (&what_if, &largest, &chosen) <= scene->power.goal.limit ||
                 memcmp (most, size->nodes, sizeof (most)) == 0);
    what_if_clear (&what_if);
}

static void random_views (void **state)
{
    (void)state;
    int resized = 0, still = 0, costs = 0, count = soak_count (5000);
    for (int i = 0; i < count; i++) {
        struct rng rng = rng_stream (16, (uint64_t)i);
        struct size_scene scene;
        random_scene (&rng, &scene);
        struct size_decision size = size_scene_decide (&scene);
        check_decision (&scene, &size);
        if (size.resize && scene.power.goal.kind == GOAL_COST && scene.view.job_count > 0) {
            check_slowdown (&scene, &size);
            costs++;
        }
        resized += size.resize;
        still += !size.resize;
        size_scene_clear (&scene);
    }
    if (count >= 100)
        assert_true (resized > count / 10 && still > count / 10 && costs > count / 50);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (band_examples),
        cmocka_unit_test (band_looks_at_the_mean),
        cmocka_unit_test (idle_goes_to_the_minimum),
        cmocka_unit_test (idle_clusters_wait_for_no_node),
        cmocka_unit_test (replacements_are_not_waited_for),
        cmocka_unit_test (replacements_are_cancelled),
        cmocka_unit_test (misfits_force_growth),
        cmocka_unit_test (misfits_beside_other_jobs),
        cmocka_unit_test (drained_nodes_do_not_count),
        cmocka_unit_test (rates_that_a_policy_mixes),
        cmocka_unit_test (budget_takes_the_cheapest),
        cmocka_unit_test (a_smaller_budget_holds_at_once),
        cmocka_unit_test (blocked_groups_do_not_grow),
        cmocka_unit_test (nodes_that_stay),
        cmocka_unit_test (fixed_sizes_are_restored),
        cmocka_unit_test (random_views),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
