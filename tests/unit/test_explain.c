/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts and values for users: what a job waits for, how fast it trains, and the reasons for its
 * placement.
 */
#include "unit.h"
#include "cluster_fixture.h"
#include "api/describe.h"
#include "api/explain_json.h"
#include "loop/job_rates.h"
#include "policy/explain_text.h"
#include "policy/speedup.h"
#include "views.h"

static const int64_t S = 1000000;

/* ---- Waiting ------------------------------------------------------------------------------ */

static void expect_waiting (const struct cluster_fixture *cluster_fixture, int job,
                            int64_t next_round_us, const char *expected)
{
    char sentence[WAIT_REASON_SIZE];
    struct wait_times times = {.now_us = cluster_fixture->now_us, .next_round_us = next_round_us};
    struct slot_totals totals = slot_totals_of (&cluster_fixture->cluster);
    bool waits = wait_reason (&cluster_fixture->cluster, &totals,
                              cluster_fixture->cluster.jobs[job], times, sentence);
    if (!expected)
        assert_false (waits);
    else
        assert_string_equal (sentence, expected);
}

static void waiting_has_a_reason (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    cluster_fixture_init (&cluster_fixture, 2, 4);
    int64_t soon_us = cluster_fixture.now_us + 40 * S;
    int a = cluster_fixture_submit (&cluster_fixture, "a", 4, 8),
        b = cluster_fixture_submit (&cluster_fixture, "b", 1, 8);
    int c = cluster_fixture_submit (&cluster_fixture, "c", 9, 16),
        d = cluster_fixture_submit (&cluster_fixture, "d", 0, 2);
    expect_waiting (&cluster_fixture, a, soon_us, "waits for the next round, in 40 s");
    expect_waiting (&cluster_fixture, a, INT64_MAX, "waits for the next round");
    expect_waiting (&cluster_fixture, c, soon_us,
                    "too large: needs 9 slots, and the nodes that take replicas have 8");
    cluster_fixture_plan (&cluster_fixture, (const char *[]){"", "0:3 1:3", "", ""});
    expect_waiting (&cluster_fixture, b, soon_us, "is about to start with 3 on n0 and 3 on n1");
    cluster_fixture_start (&cluster_fixture, b, "0:3 1:3");
    expect_waiting (&cluster_fixture, b, soon_us, NULL);
    expect_waiting (&cluster_fixture, a, soon_us,
                    "no free slots: needs 4, 2 free; waits for the next round, in 40 s");
    cluster_fixture_plan (&cluster_fixture, (const char *[]){"0:4", "1:4", "", ""});
    expect_waiting (&cluster_fixture, a, soon_us,
                    "waits for job b to leave n0; then it starts with 4 on n0");
    expect_waiting (&cluster_fixture, b, soon_us, "saves and stops, to go on with 4 on n1");
    cluster_fixture_plan (&cluster_fixture, (const char *[]){"0:4", "", "", ""});
    expect_waiting (&cluster_fixture, b, soon_us,
                    "makes room for others: saves and stops, and goes on later");
    cluster_fixture_exit (&cluster_fixture, b, EXITED_FAILED, "rank 0: exit code 1");
    expect_waiting (&cluster_fixture, b, soon_us,
                    "waits until 00:00:10 UTC (10 s); failures: 1, it is given up after 4");
    cluster_fixture_drain (&cluster_fixture, 0);
    cluster_fixture_drain (&cluster_fixture, 1);
    expect_waiting (&cluster_fixture, d, soon_us,
                    "no node takes replicas: all are drained, or there are none");
    struct event cancel = {.type = EVENT_CANCEL, .job = d};
    cluster_fixture_apply (&cluster_fixture, &cancel);
    expect_waiting (&cluster_fixture, d, soon_us, NULL);
    cluster_fixture_start (&cluster_fixture, a, "0:4");
    cancel.job = a;
    cluster_fixture_apply (&cluster_fixture, &cancel);
    expect_waiting (&cluster_fixture, a, soon_us, "is being cancelled: its replicas have to end");
    cluster_fixture_clear (&cluster_fixture);
}

/* Jobs that are too large for the nodes that are up wait for those that are ordered. */
static void nodes_that_start_are_waited_for (void **state)
{
    (void)state;
    static const struct node_group spot = {.name = "spot", .slots_per_node = 4, .max_nodes = 4};
    struct cluster_fixture fixture;
    cluster_fixture_init (&fixture, 0, 0);
    int a = cluster_fixture_submit (&fixture, "a", 1, 8),
        b = cluster_fixture_submit (&fixture, "b", 5, 8);
    struct event groups = {.type = EVENT_GROUPS, .job = -1, .groups = {.list = &spot, .count = 1}};
    struct event order = {
        .type = EVENT_POWER, .job = -1, .power = {.node = "spot-0", .state = POWER_STARTING}};
    struct event up = {
        .type = EVENT_NODE, .job = -1, .node = {.name = "spot-0", .slots = 4, .available = true}};
    cluster_fixture_apply (&fixture, &groups);
    expect_waiting (&fixture, a, INT64_MAX,
                    "no node takes replicas: all are off or drained, or there are none");
    cluster_fixture_apply (&fixture, &order);
    expect_waiting (&fixture, a, INT64_MAX, "waits for 1 node to start");
    snprintf (order.power.node, sizeof (order.power.node), "spot-1");
    cluster_fixture_apply (&fixture, &order);
    expect_waiting (&fixture, b, INT64_MAX, "waits for 2 nodes to start");
    cluster_fixture_apply (&fixture, &up);
    expect_waiting (&fixture, a, INT64_MAX, "waits for the next round");
    expect_waiting (&fixture, b, INT64_MAX, "waits for 1 node to start");
    cluster_fixture_clear (&fixture);
}

static void free_slots_are_neither_used_nor_planned (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    cluster_fixture_init (&cluster_fixture, 3, 4);
    int a = cluster_fixture_submit (&cluster_fixture, "a", 0, 8);
    cluster_fixture_submit (&cluster_fixture, "b", 0, 8);
    assert_int_equal (slot_totals_of (&cluster_fixture.cluster).free, 12);
    cluster_fixture_start (&cluster_fixture, a, "0:3");
    cluster_fixture_plan (&cluster_fixture, (const char *[]){"0:4", "1:2"});
    /* a uses 3 slots and is planned on 4, b is planned on 2. */
    struct slot_totals room = slot_totals_of (&cluster_fixture.cluster);
    assert_int_equal (room.free, 6);
    cluster_fixture_drain (&cluster_fixture, 2);
    room = slot_totals_of (&cluster_fixture.cluster);
    assert_int_equal (room.free, 2);
    assert_int_equal (room.slots, 8);
    assert_int_equal (room.nodes, 2);
    cluster_fixture_clear (&cluster_fixture);
}

/* ---- Rates -------------------------------------------------------------------------------- */

static void rates_follow_from_the_model (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    cluster_fixture_init (&cluster_fixture, 2, 4);
    int a = cluster_fixture_submit (&cluster_fixture, "a", 0, 8);
    const struct job *job = cluster_fixture.cluster.jobs[a];
    struct pollux_batch batch = {.m = 100, .s = 0};
    struct hints hints = cluster_fixture_hints (250, 1000);
    struct job_rates rates = job_rates_of (job, &hints, batch, POLLUX_EXACT, 2);
    assert_true (isnan (rates.goodput) && rates.batch.m == 0);
    assert_true (relative (rates.noise_scale, 128 * 0.2 / 0.01) < 1e-12);
    cluster_fixture_start (&cluster_fixture, a, "0:2 1:1");
    rates = job_rates_of (job, &hints, batch, POLLUX_EXACT, 2);
    struct pollux_shape shape = {.nodes = 2, .replicas = 3};
    double goodput = pollux_goodput (&hints.model, hints.grad, 128, shape, batch);
    assert_true (rates.total_batch == 300);
    assert_true (relative (rates.goodput, goodput) < 1e-12);
    assert_true (relative (rates.goodput, rates.throughput * rates.efficiency) < 1e-12);
    assert_true (relative (rates.eta_s, 750 * 128 / goodput) < 1e-12);
    struct pollux_best fair;
    shape = (struct pollux_shape){.nodes = 1, .replicas = 2};
    pollux_best_batch (&hints.model, hints.grad, &hints.limits, POLLUX_EXACT, shape, &fair, NULL);
    assert_true (relative (rates.speedup, goodput / fair.goodput) < 1e-12);
    /* A batch below M0 has a throughput and no efficiency. */
    rates = job_rates_of (job, &hints, (struct pollux_batch){.m = 16}, POLLUX_EXACT, 2);
    assert_true (rates.throughput > 0 && isnan (rates.efficiency) && isnan (rates.eta_s));
    hints.has_model = false;
    rates = job_rates_of (job, &hints, batch, POLLUX_EXACT, 2);
    assert_true (rates.total_batch == 300 && isnan (rates.throughput) && isnan (rates.noise_scale));
    cluster_fixture_clear (&cluster_fixture);
}

/* ---- Explanations ------------------------------------------------------------------------- */

static struct view live_view (const struct cluster_fixture *cluster_fixture)
{
    struct view view = cluster_view (&cluster_fixture->cluster, &cluster_fixture->round);
    view.jobs = (const struct job *const *)cluster_fixture->cluster.live.jobs;
    view.job_count = cluster_fixture->cluster.live.count;
    return view;
}

static struct explanation *explained (const struct cluster_fixture *cluster_fixture, int job)
{
    struct view view = live_view (cluster_fixture);
    struct explanation *explanation = calloc (1, sizeof (*explanation));
    struct pollux_error err = {""};
    if (explain_present (policies[0], &view, job, explanation, &err) < 0)
        fail_msg ("%s", err.text);
    return explanation;
}

/* The fitness as in the paper, of jobs with these goodputs; moved jobs have a restart penalty. */
static double fitness_of (const struct view *view, const double *goodputs, const bool *moved)
{
    double sum = 0, weights = 0;
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        struct job_model model = job_model_last (job);
        double x = goodputs[i] / fair_goodput_on (&model, view->search, fair_replicas (view)) *
                   view_nodes (view) / view_slots (view);
        x *= moved[i] ? restart_factor (view, job) : 1;
        sum += job->spec.weight * pow (x + 0.001, view->p);
        weights += job->spec.weight;
    }
    return pow (sum / weights, 1 / view->p);
}

static double best_goodput (const struct job *job, int nodes, int replicas)
{
    struct pollux_best best;
    struct pollux_shape shape = {.nodes = nodes, .replicas = replicas};
    assert_int_equal (0, pollux_best_batch (&job->hints.model, job->hints.grad, &job->hints.limits,
                                            POLLUX_EXACT, shape, &best, NULL));
    return best.goodput;
}

/* Two jobs share two nodes: if no slot is free, one job grows only if the other shrinks. */
static void one_more_replica (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    cluster_fixture_init (&cluster_fixture, 2, 4);
    int a = cluster_fixture_submit (&cluster_fixture, "a", 0, 8),
        b = cluster_fixture_submit (&cluster_fixture, "b", 0, 8);
    cluster_fixture.now_us += 600 * S;
    cluster_fixture_report (&cluster_fixture, a, cluster_fixture_hints (250, 1000),
                            (struct pollux_batch){.m = 128});
    cluster_fixture_report (&cluster_fixture, b, cluster_fixture_hints (0, 1000),
                            (struct pollux_batch){.m = 128});
    cluster_fixture_plan (&cluster_fixture, (const char *[]){"0:3", "1:4"});
    cluster_fixture_start (&cluster_fixture, a, "0:3");
    cluster_fixture_start (&cluster_fixture, b, "1:4");
    struct view view = live_view (&cluster_fixture);
    const struct job *job = cluster_fixture.cluster.jobs[a];

    struct explanation *all = explained (&cluster_fixture, a);
    assert_int_equal (all->fair, 4);
    assert_int_equal (all->current.replicas, 3);
    assert_true (relative (all->current.goodput, best_goodput (job, 1, 3)) < 1e-12);
    assert_int_equal (all->curve_count, 8);
    for (int k = 1; k <= 8; k++) {
        assert_int_equal (all->curve[k - 1].replicas, k);
        assert_true (relative (all->curve[k - 1].goodput, best_goodput (job, k > 4 ? 2 : 1, k)) <
                     1e-12);
    }
    assert_true (relative (all->curve[3].speedup, 1) < 1e-12);
    /* One slot is free. */
    assert_true (all->more.possible);
    assert_int_equal (all->more.point.replicas, 4);
    assert_int_equal (all->more.free, 1);
    assert_int_equal (all->more.other_count, 0);
    double factor = best_goodput (job, 1, 4) / best_goodput (job, 1, 3);
    assert_true (relative (all->more.goodput, factor) < 1e-12);
    double goodputs[] = {best_goodput (job, 1, 3),
                         best_goodput (cluster_fixture.cluster.jobs[b], 1, 4)};
    bool moved[] = {false, false};
    assert_true (relative (all->fitness, fitness_of (&view, goodputs, moved)) < 1e-12);
    goodputs[0] = best_goodput (job, 1, 4);
    moved[0] = true;
    assert_true (relative (all->more.fitness, fitness_of (&view, goodputs, moved)) < 1e-12);
    free (all);

    /* No slot is free: b would shrink. */
    cluster_fixture_exit (&cluster_fixture, a, EXITED_STOPPED, "");
    cluster_fixture_start (&cluster_fixture, a, "0:4");
    view = live_view (&cluster_fixture);
    all = explained (&cluster_fixture, a);
    assert_true (all->more.possible);
    assert_int_equal (all->more.point.replicas, 5);
    assert_int_equal (all->more.other_count, 1);
    assert_string_equal (all->more.others[0].name, "b");
    assert_int_equal (all->more.others[0].from, 4);
    assert_int_equal (all->more.others[0].to, 3);
    factor = best_goodput (cluster_fixture.cluster.jobs[b], 1, 3) /
             best_goodput (cluster_fixture.cluster.jobs[b], 1, 4);
    assert_true (relative (all->more.others[0].goodput, factor) < 1e-12);
    goodputs[0] = best_goodput (job, 2, 5);
    goodputs[1] = best_goodput (cluster_fixture.cluster.jobs[b], 1, 3);
    moved[1] = true;
    assert_true (relative (all->more.fitness, fitness_of (&view, goodputs, moved)) < 1e-12);
    assert_true (all->more.fitness < all->fitness);
    assert_int_equal (all->less.point.replicas, 3);
    free (all);
    cluster_fixture_clear (&cluster_fixture);
}

static void limits_are_named (void **state)
{
    (void)state;
    static const struct {
        int max, profiled, replicas;
        enum allowed_kind allowed;
        bool pinned, model, adaptive;
        const char *limit, *why; /* parts of the texts; why NULL: one more replica is possible */
    } cases[] = {
        {3, -1, 3, ALLOWED_ANY, false, true, true, "maximum of 3", "no more than 3"},
        {8, 1, 2, ALLOWED_ANY, false, true, true, "measured with up to 1", "trusted"},
        {8, 8, 2, ALLOWED_POW2, false, true, true, "powers of two", NULL},
        {8, 8, 2, ALLOWED_ANY, true, true, true, "not preemptible", "not preemptible"},
        {8, 0, 1, ALLOWED_ANY, false, false, true, "not reported a model",
         "it is not measured yet"},
        {8, 0, 1, ALLOWED_ANY, false, true, true, "It is not measured yet",
         "it is not measured yet"},
        {8, -1, 2, ALLOWED_ANY, false, false, false, "no model", NULL},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct cluster_fixture cluster_fixture;
        char place[8];
        cluster_fixture_init (&cluster_fixture, 1, 8);
        int a = cluster_fixture_submit (&cluster_fixture, "a", 0, cases[i].max);
        struct job *job = cluster_fixture.cluster.jobs[a];
        job->spec.allowed.kind = cases[i].allowed;
        job->spec.preemptible = !cases[i].pinned;
        job->spec.adaptive = cases[i].adaptive;
        job->hints = cluster_fixture_hints (0, 100);
        job->hints.has_model = cases[i].model;
        job->hints.max_profiled_replicas = cases[i].profiled;
        snprintf (place, sizeof (place), "0:%d", cases[i].replicas);
        cluster_fixture_start (&cluster_fixture, a, place);
        struct explanation *all = explained (&cluster_fixture, a);
        bool found = false;
        for (int j = 0; j < all->limit_count; j++)
            found = found || strstr (all->limits[j], cases[i].limit);
        if (!found)
            fail_msg ("case %zu: no limit says \"%s\"", i, cases[i].limit);
        assert_int_equal (all->more.possible, !cases[i].why);
        if (cases[i].why && !strstr (all->more.why, cases[i].why))
            fail_msg ("case %zu: \"%s\" does not say \"%s\"", i, all->more.why, cases[i].why);
        free (all);
        cluster_fixture_clear (&cluster_fixture);
    }
}

/* A job with powers of two needs several slots at once, from several jobs. */
static void several_jobs_shrink (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    cluster_fixture_init (&cluster_fixture, 2, 4);
    int a = cluster_fixture_submit (&cluster_fixture, "a", 0, 8);
    cluster_fixture_submit (&cluster_fixture, "b", 0, 8);
    int c = cluster_fixture_submit (&cluster_fixture, "c", 0, 8),
        d = cluster_fixture_submit (&cluster_fixture, "d", 2, 8);
    for (int i = 0; i < 4; i++)
        cluster_fixture.cluster.jobs[i]->hints = cluster_fixture_hints (0, 1000);
    cluster_fixture.cluster.jobs[a]->spec.allowed.kind = ALLOWED_POW2;
    cluster_fixture.cluster.jobs[c]->spec.preemptible = false;
    cluster_fixture.now_us += 600 * S;
    cluster_fixture_plan (&cluster_fixture, (const char *[]){"0:2", "0:2", "1:2", "1:2"});
    cluster_fixture_start (&cluster_fixture, a, "0:2");
    cluster_fixture_start (&cluster_fixture, 1, "0:2");
    cluster_fixture_start (&cluster_fixture, c, "1:2");
    cluster_fixture_start (&cluster_fixture, d, "1:2");
    struct explanation *all = explained (&cluster_fixture, a);
    assert_true (all->more.possible);
    assert_int_equal (all->more.point.replicas, 4);
    int given = 0;
    for (int i = 0; i < all->more.other_count; i++) {
        assert_string_not_equal (all->more.others[i].name, "c");
        given += all->more.others[i].from - all->more.others[i].to;
    }
    assert_true (given >= 2);
    free (all);
    /* No other job can shrink: one more replica is impossible. */
    cluster_fixture.cluster.jobs[1]->spec.preemptible = false;
    cluster_fixture.cluster.jobs[d]->spec.preemptible = false;
    all = explained (&cluster_fixture, a);
    assert_false (all->more.possible);
    assert_non_null (strstr (all->more.why, "no other job can give"));
    free (all);
    cluster_fixture_clear (&cluster_fixture);
}

static bool same_number (double a, double b)
{
    return a == b || (isnan (a) && isnan (b));
}

static void assert_same_change (const struct explain_change *a, const struct explain_change *b)
{
    assert_int_equal (a->possible, b->possible);
    assert_string_equal (a->why, b->why);
    assert_int_equal (a->point.replicas, b->point.replicas);
    assert_int_equal (a->other_count, b->other_count);
    assert_true (same_number (a->goodput, b->goodput) && same_number (a->speedup, b->speedup) &&
                 same_number (a->fitness, b->fitness));
}

/* The explanation of a plan has the fitness that the policy reports, for every policy with an
 * objective; the explanation of the jobs as they are is that of the plan which keeps them. */
static void explanations_agree_with_the_policy (void **state)
{
    (void)state;
    struct rng rng = rng_seed (11);
    struct scene *scene = malloc (sizeof (*scene));
    struct explanation *planned = calloc (1, sizeof (*planned)),
                       *present = calloc (1, sizeof (*present));
    assert_true (scene && planned && present);
    for (int i = soak_count (300); i > 0; i--) {
        scene_random (scene, &rng);
        if (i % 2 == 0)
            scene_revoke (scene, &rng);
        for (const struct policy *const *policy = policies; *policy; policy++) {
            struct view *view = &scene->view;
            struct memory memory;
            struct plan plan = {0};
            struct explainer *explainer = NULL;
            view->search = (*policy)->search;
            view->budget = (*policy)->values ? 3 : 0;
            view->p = i % 3 == 0 ? -INFINITY : i % 3 == 1 ? -1 : 0.5;
            assert_int_equal (0, memory_new (*policy, &memory, NULL));
            assert_int_equal (0, decide (*policy, view, &memory, &plan, NULL));
            assert_int_equal (0, explainer_new (*policy, view, &plan, &explainer, NULL));
            for (int job = 0; job < view->job_count; job++) {
                assert_int_equal (0, explain (explainer, job, planned, NULL));
                assert_true (planned->has_objective == !isnan (plan.fitness));
                if (planned->has_objective && !(relative (planned->fitness, plan.fitness) < 1e-9))
                    fail_msg ("%s: fitness %.12g, explained as %.12g", (*policy)->name,
                              plan.fitness, planned->fitness);
                if (planned->has_objective && planned->more.possible)
                    assert_true (planned->more.fitness >= 0);
            }
            explainer_free (explainer);
            for (int job = 0; job < view->job_count; job++) {
                struct placement placement = view->jobs[job]->placement;
                assert_int_equal (0, plan_place (&plan, job, placement));
            }
            if (view->job_count > 0) {
                assert_int_equal (0, explainer_new (*policy, view, &plan, &explainer, NULL));
                struct pollux_error err = {""};
                if (explain (explainer, 0, planned, &err) < 0)
                    fail_msg ("%s: %s", (*policy)->name, err.text);
                assert_int_equal (0, explain_present (*policy, view, 0, present, NULL));
                assert_true (same_number (planned->fitness, present->fitness));
                assert_same_change (&planned->more, &present->more);
                assert_same_change (&planned->less, &present->less);
                explainer_free (explainer);
            }
            memory_clear (&memory);
            plan_clear (&plan);
        }
        scene_clear (scene);
    }
    free (scene);
    free (planned);
    free (present);
}

/* Without an objective there is no price, no fitness, and no job that would give up slots. */
static void policies_without_objective_say_so (void **state)
{
    (void)state;
    struct scene *scene = malloc (sizeof (*scene));
    struct explanation *all = calloc (1, sizeof (*all));
    struct explain_text *text = calloc (1, sizeof (*text));
    const struct policy *fifo = NULL;
    scene_init (scene, 1);
    scene_add (scene, "a", 2, "0:2");
    scene_add (scene, "b", 2, "0:2");
    assert_int_equal (0, policy_find ("fifo", &fifo, NULL));
    assert_int_equal (0, explain_present (fifo, &scene->view, 0, all, NULL));
    assert_true (isnan (all->fitness));
    assert_false (all->more.possible);
    assert_non_null (strstr (all->more.why, "policy fifo has no objective"));
    assert_true (all->less.possible);
    explain_text_make (all, NULL, NULL, text);
    bool said = false;
    for (int i = 0; i < text->count; i++)
        said |= strstr (text->sentences[i], "Policy fifo has no objective") != NULL;
    assert_true (said);
    scene_clear (scene);
    free (scene);
    free (all);
    free (text);
}

static void sentences_for_users (void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } durations[] = {
        {0, "0 s"},          {99, "99 s"},          {100, "2 min"},     {7140, "119 min"},
        {7200, "2 h 0 min"}, {12000, "3 h 20 min"}, {172800, "2 days"}, {NAN, "an unknown time"}};
    for (size_t i = 0; i < COUNT (durations); i++)
        assert_string_equal (duration_text (durations[i].seconds).text, durations[i].text);

    static const struct {
        double factor;
        int digits;
        const char *text;
    } changes[] = {{1, 1, "0.0 %"},           {1.236, 1, "+23.6 %"},   {0.5, 3, "-50.000 %"},
                   {0.99999, 1, "0.0 %"},     {1.9999, 1, "+100.0 %"}, {2, 1, "2 times"},
                   {3.204, 3, "3.2 times"},   {100.9, 1, "101 times"}, {123456, 1, "123456 times"},
                   {0, 1, "-100.0 %"},        {NAN, 1, "-"},           {INFINITY, 1, "-"},
                   {1e300, 1, "1e+300 times"}};
    for (size_t i = 0; i < COUNT (changes); i++)
        assert_string_equal (change_text (changes[i].factor, changes[i].digits).text,
                             changes[i].text);

    struct cluster_fixture cluster_fixture;
    struct cluster_status *status = calloc (1, sizeof (*status));
    cluster_status_init (status);
    cluster_fixture_init (&cluster_fixture, 2, 4);
    int a = cluster_fixture_submit (&cluster_fixture, "a", 0, 8),
        b = cluster_fixture_submit (&cluster_fixture, "b", 0, 8);
    cluster_fixture.cluster.jobs[a]->hints = cluster_fixture.cluster.jobs[b]->hints =
        cluster_fixture_hints (250, 1e6);
    cluster_fixture_plan (&cluster_fixture, (const char *[]){"0:4", "1:4"});
    cluster_fixture_start (&cluster_fixture, a, "0:4");
    cluster_fixture_start (&cluster_fixture, b, "1:4");
    struct present present = present_make (&cluster_fixture.cluster, status, &cluster_fixture.round,
                                           cluster_fixture.now_us);
    struct explanation *all = explained (&cluster_fixture, a);
    json_t *answer = describe_explanation (&present, a, all);
    json_t *sentences = json_object_get (answer, "sentences");
    assert_true (json_array_size (sentences) >= 3);
    const char *more = json_string_value (json_array_get (sentences, 1));
    assert_non_null (strstr (more, "With 5 replicas it would train"));
    assert_non_null (strstr (more, "job b would go from 4 to 3 replicas"));
    assert_non_null (strstr (more, "worse"));
    json_decref (answer);
    free (all);
    free (status);
    cluster_fixture_clear (&cluster_fixture);
}

static bool says (const struct explain_text *text, const char *words)
{
    for (int i = 0; i < text->count; i++)
        if (strstr (text->sentences[i], words))
            return true;
    return false;
}

static void expect_words (const struct explanation *all, const char *words)
{
    struct explain_text *text = calloc (1, sizeof (*text));
    explain_text_make (all, NULL, NULL, text);
    if (!says (text, words))
        fail_msg ("no sentence says \"%s\"; the second is \"%s\"", words, text->sentences[1]);
    free (text);
}

/* Large changes are said as factors, of the job, of other jobs and of all jobs together. */
static void large_changes_are_factors (void **state)
{
    (void)state;
    static const struct {
        double factor;
        const char *self, *together;
    } cases[] = {
        {1.5, "would train 50 % faster", "that is 50 % better"},
        {2, "would train 2 times as fast", "that is 2 times as good"},
        {3.2, "would train 3.2 times as fast", "that is 3.2 times as good"},
        {100.9, "would train 101 times as fast", "that is 101 times as good"},
        {0.25, "would train 75 % slower", "that is 75 % worse"},
    };
    struct cluster_fixture cluster_fixture;
    cluster_fixture_init (&cluster_fixture, 2, 4);
    int a = cluster_fixture_submit (&cluster_fixture, "a", 0, 8);
    cluster_fixture.cluster.jobs[a]->hints = cluster_fixture_hints (0, 1000);
    cluster_fixture_start (&cluster_fixture, a, "0:2");
    struct explanation *all = explained (&cluster_fixture, a);
    assert_true (all->more.possible);
    for (size_t i = 0; i < COUNT (cases); i++) {
        all->fitness = 1;
        all->more.goodput = all->more.fitness = cases[i].factor;
        all->more.other_count = 1;
        all->more.others[0] =
            (struct explain_other){.name = "b", .from = 2, .to = 3, .goodput = cases[i].factor};
        expect_words (all, cases[i].self);
        expect_words (all, cases[i].together);
        char other[64];
        snprintf (other, sizeof (other), "from 2 to 3 replicas (%s)",
                  cases[i].self + strlen ("would train "));
        expect_words (all, other);
    }
    free (all);
    cluster_fixture_clear (&cluster_fixture);
}

/* A job that has run with no count yet: "up to 0 replicas" says nothing to its owner. */
static void unmeasured_jobs_say_so (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    cluster_fixture_init (&cluster_fixture, 2, 4);
    int a = cluster_fixture_submit (&cluster_fixture, "a", 0, 8);
    struct job *job = cluster_fixture.cluster.jobs[a];
    job->spec.adaptive = true;
    job->hints.max_profiled_replicas = 0;
    struct explanation *all = explained (&cluster_fixture, a);
    expect_words (all, "With 1 replica it would train at a speed that is not measured yet");
    free (all);
    cluster_fixture_start (&cluster_fixture, a, "0:1");
    all = explained (&cluster_fixture, a);
    expect_words (all, "It cannot have more: it is not measured yet.");
    free (all);
    cluster_fixture_clear (&cluster_fixture);
}

/* A job is trusted with twice what it was measured with on any type, and gets no slots of types that it may not use. */
static void types_limit_jobs (void **state)
{
    (void)state;
    struct cluster_fixture cluster_fixture;
    cluster_fixture_init (&cluster_fixture, 2, 8);
    struct cluster *cluster = &cluster_fixture.cluster;
    snprintf (cluster->nodes[0].type, NAME_SIZE, "x");
    snprintf (cluster->nodes[1].type, NAME_SIZE, "y");
    int a = cluster_fixture_submit (&cluster_fixture, "a", 0, 16);
    struct job *job = cluster->jobs[a];
    job->hints = cluster_fixture_hints (0, 100);
    job->hints.max_profiled_replicas = 1;
    snprintf (job->hints.type, NAME_SIZE, "x");
    job->hints.others[0] = (struct type_model){.type = "y",
                                               .model = job->hints.model,
                                               .max_local = job->hints.limits.max_local,
                                               .max_profiled_replicas = 2};
    job->hints.other_count = 1;
    cluster_fixture_start (&cluster_fixture, a, "0:2");
    struct explanation *all = explained (&cluster_fixture, a);
    assert_true (all->more.possible);
    assert_int_equal (all->limit_count, 0);
    free (all);
    job->hints.others[0].max_profiled_replicas = 1;
    all = explained (&cluster_fixture, a);
    assert_false (all->more.possible);
    assert_non_null (strstr (all->limits[0], "It has been measured with up to 1 replica so far"));
    free (all);
    int b = cluster_fixture_submit (&cluster_fixture, "b", 0, 4);
    cluster->jobs[b]->spec.types = (struct allowed_types){.list = {"z"}, .count = 1};
    all = explained (&cluster_fixture, b);
    assert_false (all->more.possible);
    assert_string_equal (all->more.why, "no node that takes replicas has a type that it may use");
    assert_int_equal (all->curve_count, 0);
    free (all);
    cluster_fixture_clear (&cluster_fixture);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (waiting_has_a_reason),
        cmocka_unit_test (nodes_that_start_are_waited_for),
        cmocka_unit_test (free_slots_are_neither_used_nor_planned),
        cmocka_unit_test (rates_follow_from_the_model),
        cmocka_unit_test (one_more_replica),
        cmocka_unit_test (limits_are_named),
        cmocka_unit_test (several_jobs_shrink),
        cmocka_unit_test (explanations_agree_with_the_policy),
        cmocka_unit_test (policies_without_objective_say_so),
        cmocka_unit_test (sentences_for_users),
        cmocka_unit_test (large_changes_are_factors),
        cmocka_unit_test (unmeasured_jobs_say_so),
        cmocka_unit_test (types_limit_jobs),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
