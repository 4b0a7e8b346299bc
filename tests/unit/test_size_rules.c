/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a size at their boundaries, and sizes compared with the forecasts of all sizes.
 */
#include "unit.h"

#include "scaling/size_goal.h"
#include "size_fixture.h"

enum { MOST = 16 };

/* One group of 0 to MOST nodes at a price of 1, of which some are up. */
static struct node_group *one_group (struct size_scene *scene, const char *goal, int up)
{
    size_scene_init (scene, goal);
    return size_scene_add_group (scene, "gpu", 0, MOST, up, 1);
}

/* What the plan of the round brings, and what another number of nodes of the first group would bring. */
static struct what_if open_what_if (struct size_scene *scene, struct forecast *now)
{
    struct what_if what_if;
    assert_int_equal (0, what_if_new (scene->policy, &scene->view, &scene->plan, &what_if, NULL));
    assert_int_equal (0, what_if_present (&what_if, now, NULL));
    return what_if;
}

static struct forecast ask (struct what_if *what_if, int nodes)
{
    int numbers[NODE_GROUPS_LIMIT] = {nodes};
    struct forecast forecast;
    assert_int_equal (0, what_if_ask (what_if, numbers, &forecast, NULL));
    return forecast;
}

/* ---- When ----------------------------------------------------------------------------------- */

/* After a change nothing changes for a boot, a round and a restart: 180 + 60 + 30 s. */
static void cooldown (void **state)
{
    (void)state;
    static const struct {
        double since_s;
        bool resize;
    } rows[] = {{269, false}, {271, true}};
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct size_scene scene;
        one_group (&scene, "band:0.35,0.65", 1);
        for (int j = 0; j < 6; j++)
            size_scene_add_job (&scene);
        scene.power.resized_us = (int64_t)((scene.view.now_s - rows[i].since_s) * 1e6);
        assert_true (size_scene_decide (&scene).resize == rows[i].resize);
        size_scene_clear (&scene);
    }
}

/* ---- Is it worth it? ------------------------------------------------------------------------ */

/* Sets the work that is left of the only job so that it ends after a time with this forecast. */
static void set_stay (struct size_scene *scene, const struct what_if *what_if,
                      const struct forecast *forecast, double stay_s)
{
    struct hints *hints = &scene->jobs[0].hints;
    double left = stay_s * forecast->speeds[0] * what_if->best_one[0];
    hints->total = hints->progress + left / (double)hints->limits.init_batch;
}

/* A running job, and a size that the goal prefers: whether it is taken depends on how long the job stays. */
static void check_threshold (const char *goal, int up, int replicas, bool grows)
{
    struct size_scene scene;
    struct node_group *group = one_group (&scene, goal, up);
    size_scene_add_job (&scene);
    size_scene_run_job (&scene, 0, 0, replicas);
    struct size_decision size = size_scene_decide (&scene);
    assert_true (size.resize);
    assert_true (grows ? size.nodes[0] > up : size.nodes[0] < up);
    struct forecast now;
    struct what_if what_if = open_what_if (&scene, &now);
    struct forecast then = ask (&what_if, size.nodes[0]);
    double gain = then.goodput - now.goodput, saved = 1 - then.price / now.price;
    double least_s =
        grows ? group->boot_s + then.restarts / gain : then.restarts / (saved * now.goodput);
    assert_true (then.restarts > 0 && least_s > 0);
    for (int above = 0; above < 2; above++) {
        set_stay (&scene, &what_if, &then, least_s * (above ? 1.001 : 0.999));
        assert_true (size_scene_decide (&scene).resize == above);
    }
    what_if_clear (&what_if);
    size_scene_clear (&scene);
}

static void growth_outlasts_boot_and_restart (void **state)
{
    (void)state;
    check_threshold ("band:0.1,0.3", 1, 4, true);
}

/* The boot of a group that does not grow, because an order has failed there or it is retired, delays nothing. */
static void other_boots_do_not_count (void **state)
{
    (void)state;
    for (int retired = 0; retired < 2; retired++) {
        struct size_scene scene;
        one_group (&scene, "band:0.1,0.3", 1);
        struct node_group *slow = size_scene_add_group (&scene, "slow", 0, 4, 1, 1);
        slow->boot_s = 1e9;
        slow->retired = retired;
        scene.power.wanted[1] = 0;
        scene.nodes[1].slots = 0;
        scene.nodes[1].available = false;
        scene.states[1] =
            (struct node_power){.group = 1, .state = retired ? POWER_OFF : POWER_FAILED};
        size_scene_add_job (&scene);
        struct size_decision size = size_scene_decide (&scene);
        assert_true (size.resize && size.nodes[0] > 1 && size.nodes[1] == 0);
        size_scene_clear (&scene);
    }
}

static void fewer_nodes_outlast_the_restart (void **state)
{
    (void)state;
    check_threshold ("band:0.9,1", 4, 4, false);
}

/* The nodes that stay are those with the most replicas: then the job need not restart, whatever that would cost. */
static void busy_nodes_stay (void **state)
{
    (void)state;
    for (int busy = 0; busy < 3; busy++) {
        struct size_scene scene;
        one_group (&scene, "cost:1", 3);
        struct job *job = size_scene_add_job (&scene);
        job->spec.max_replicas = 4;
        job->spec.restart_delay_s = 1e9;
        size_scene_run_job (&scene, 0, busy, 4);
        struct size_decision size = size_scene_decide (&scene);
        assert_true (size.resize);
        assert_int_equal (1, size.nodes[0]);
        size_scene_clear (&scene);
    }
}

/* ---- Which size ----------------------------------------------------------------------------- */

static int nearest_to (const struct forecast *forecasts, double utility)
{
    int best = 1;
    for (int n = 2; n <= MOST; n++)
        if (fabs (forecasts[n].utility - utility) < fabs (forecasts[best].utility - utility))
            best = n;
    return best;
}

/* Jobs of several sizes. */
static void add_jobs (struct size_scene *scene, int count)
{
    for (int j = 0; j < count; j++)
        size_scene_add_job (scene)->spec.max_replicas = 4 + 6 * j;
}

/* Of all sizes, a band takes the one whose utility is nearest its middle. */
static void band_takes_the_nearest (void **state)
{
    (void)state;
    int nearer_below = 0, nearer_above = 0;
    for (int jobs = 1; jobs <= 6; jobs++)
        for (int low = 30; low <= 80; low += 10) {
            char goal[GOAL_SIZE];
            double middle = (low + 5) / 100.0;
            snprintf (goal, sizeof (goal), "band:0.%d,0.%d", low, low + 10);
            struct size_scene scene;
            one_group (&scene, goal, MOST);
            add_jobs (&scene, jobs);
            struct size_decision size = size_scene_decide (&scene);
            struct forecast now, forecasts[MOST + 1];
            struct what_if what_if = open_what_if (&scene, &now);
            for (int n = 1; n <= MOST; n++)
                forecasts[n] = ask (&what_if, n);
            if (size.resize) {
                int nearest = nearest_to (forecasts, middle);
                assert_int_equal (nearest, size.nodes[0]);
                nearer_below += forecasts[nearest].utility < middle;
                nearer_above += forecasts[nearest].utility > middle;
            }
            what_if_clear (&what_if);
            size_scene_clear (&scene);
        }
    assert_true (nearer_below > 3 && nearer_above > 3);
}

/* Of all sizes that can be paid, a budget takes the cheapest one that brings 99 % of the most goodput. */
static void budget_takes_99_per_cent (void **state)
{
    (void)state;
    int smaller = 0;
    for (int jobs = 1; jobs <= 4; jobs++)
        for (int budget = 2; budget <= MOST; budget += 2) {
            char goal[GOAL_SIZE];
            snprintf (goal, sizeof (goal), "budget:%d", budget);
            struct size_scene scene;
            one_group (&scene, goal, 0);
            add_jobs (&scene, jobs);
            struct size_decision size = size_scene_decide (&scene);
            struct forecast now;
            struct what_if what_if = open_what_if (&scene, &now);
            double most = ask (&what_if, budget).goodput;
            int cheapest = budget;
            while (cheapest > 1 && ask (&what_if, cheapest - 1).goodput >= 0.99 * most)
                cheapest--;
            assert_true (size.resize);
            assert_int_equal (cheapest, size.nodes[0]);
            smaller += cheapest < budget;
            what_if_clear (&what_if);
            size_scene_clear (&scene);
        }
    assert_true (smaller > 3);
}

/* The group that brings more for its price is filled first, wherever it is in the list. */
static void cheap_groups_come_first (void **state)
{
    (void)state;
    for (int dear = 0; dear < 2; dear++) {
        struct size_scene scene;
        size_scene_init (&scene, "budget:10");
        size_scene_add_group (&scene, "a", 0, 4, 0, dear == 0 ? 3 : 1);
        size_scene_add_group (&scene, "b", 0, 4, 0, dear == 1 ? 3 : 1);
        for (int j = 0; j < 6; j++)
            size_scene_add_job (&scene);
        struct size_decision size = size_scene_decide (&scene);
        assert_true (size.resize);
        assert_int_equal (4, size.nodes[1 - dear]);
        assert_int_equal (2, size.nodes[dear]);
        size_scene_clear (&scene);
    }
}

/* Jobs that can run on no size pay for no node. */
static void jobs_that_cannot_run_keep_no_node (void **state)
{
    (void)state;
    static const char *const goals[] = {"band:0.35,0.65", "budget:100", "cost:1.5"};
    for (size_t i = 0; i < COUNT (goals); i++)
        for (int min = 0; min < 2; min++) {
            struct size_scene scene;
            one_group (&scene, goals[i], 8)->min_nodes = min;
            struct job *job = size_scene_add_job (&scene);
            job->spec.min_replicas = job->spec.max_replicas = 4 * MOST + 1;
            struct size_decision size = size_scene_decide (&scene);
            assert_true (size.resize);
            assert_int_equal (min, size.nodes[0]);
            assert_non_null (strstr (size.reason, "no job runs on them"));
            /* One that can run is not left without a node. */
            job->spec.min_replicas = job->spec.max_replicas = 2;
            size = size_scene_decide (&scene);
            assert_true (size.resize);
            assert_int_equal (1, size.nodes[0]);
            size_scene_clear (&scene);
        }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (cooldown),
        cmocka_unit_test (growth_outlasts_boot_and_restart),
        cmocka_unit_test (other_boots_do_not_count),
        cmocka_unit_test (fewer_nodes_outlast_the_restart),
        cmocka_unit_test (busy_nodes_stay),
        cmocka_unit_test (band_takes_the_nearest),
        cmocka_unit_test (budget_takes_99_per_cent),
        cmocka_unit_test (cheap_groups_come_first),
        cmocka_unit_test (jobs_that_cannot_run_keep_no_node),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
