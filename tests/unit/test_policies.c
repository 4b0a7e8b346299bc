/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies on small views with plans computed by hand, and all of them on random views, whose
 * plans must be feasible and repeatable.
 */
#include "unit.h"
#include "views.h"
#include "policy/policy_options.h"

#include <errno.h>

static struct memory fresh (const char *name)
{
    const struct policy *policy;
    struct memory memory;
    assert_int_equal (0, policy_find (name, &policy, NULL));
    assert_int_equal (0, memory_new (policy, &memory, NULL));
    return memory;
}

static void decide_as (struct memory *memory, const struct scene *scene, struct plan *plan)
{
    struct pollux_error err;
    if (decide (memory->policy, &scene->view, memory, plan, &err) != 0)
        fail_msg ("%s: %s", memory->policy->name, err.text);
    assert_feasible (memory->policy, &scene->view, plan);
}

/* ---- Which counts a job can run with ---- */

static bool in_list (const struct allowed *allowed, int replicas)
{
    bool found = false;
    for (int i = 0; i < allowed->count; i++)
        found |= allowed->list[i] == replicas;
    return found;
}

/* The definition, one count at a time. */
static bool plainly_allowed (const struct job_spec *spec, int replicas)
{
    bool power = false;
    for (int k = 1; k <= replicas; k *= 2)
        power |= k == replicas;
    const bool by_kind[] = {
        [ALLOWED_ANY] = true,
        [ALLOWED_POW2] = power,
        [ALLOWED_MULTIPLE] = spec->allowed.multiple > 0 && replicas % spec->allowed.multiple == 0,
        [ALLOWED_LIST] = in_list (&spec->allowed, replicas),
    };
    return replicas == 0 || (replicas >= spec->min_replicas && replicas <= spec->max_replicas &&
                             by_kind[spec->allowed.kind]);
}

static void counts_by_definition (void **state)
{
    (void)state;
    struct rng rng = rng_seed (12);
    static struct scene scene;
    for (int trial = soak_count (1000); trial > 0; trial--) {
        scene_random (&scene, &rng);
        for (int i = 0; i < scene.view.job_count; i++) {
            const struct job *job = &scene.jobs[i];
            int last = 0;
            for (int k = 0; k <= job->spec.max_replicas + 2; k++) {
                bool allowed = plainly_allowed (&job->spec, k);
                assert_int_equal (job_allows (job, k), allowed);
                if (allowed && k > 0)
                    assert_int_equal (job_next_replicas (job, k - 1), k);
                if (allowed && k > 0)
                    assert_int_equal (job_next_replicas (job, last), k);
                last = allowed ? k : last;
                assert_int_equal (job_fit_replicas (job, k), last);
            }
            assert_int_equal (job_next_replicas (job, last), 0);
            assert_int_equal (job_fit_replicas (job, -1), 0);
            assert_int_equal (job_next_replicas (job, -1), job_next_replicas (job, 0));
        }
        scene_clear (&scene);
    }
}

/* ---- Plans of one round, from fresh memory ---- */

/* An oracle's iteration times for 1..count slots, or none. */
struct known {
    double remaining;
    int count;
    double iter_s[8];
};

struct row {
    const char *place; /* now */
    int request;
    double attained_s;
    struct known known;
    int min, max; /* replicas; max 0: 64 */
    bool pow2;    /* counts of replicas are powers of two */
    bool fixed;   /* may not be preempted */
    const char *expected;
};

struct one_round {
    const char *policy, *what;
    int nodes, gone; /* gone: this node is not available, -1 for none */
    int rows;
    struct row row[6];
};

static const struct one_round rounds[] = {
    {"fifo",
     "in order; the node with most free slots first",
     2,
     -1,
     3,
     {{"", 3, .expected = "0:3"}, {"", 2, .expected = "1:2"}, {"", 3, .expected = "1:2 0:1"}}},
    {"fifo",
     "a job that does not fit blocks later ones",
     2,
     -1,
     3,
     {{"", 6, .expected = "0:4 1:2"}, {"", 3, .expected = ""}, {"", 1, .expected = ""}}},
    {"fifo",
     "running jobs stay, also before earlier ones",
     1,
     -1,
     3,
     {{"", 2, .expected = ""}, {"0:3", 3, .expected = "0:3"}, {"", 1, .expected = ""}}},
    {"fifo",
     "a job that can never fit does not block others",
     1,
     -1,
     2,
     {{"", 5, .expected = ""}, {"", 4, .expected = "0:4"}}},
    {"optimus",
     "a job that may not be moved stays; one from a lost node does not take its slots",
     2,
     0,
     2,
     {{"0:2", 2, .fixed = true, .expected = ""}, {"1:3", 3, .fixed = true, .expected = "1:3"}}},
    {"fifo",
     "jobs on a lost node lose their placement",
     2,
     0,
     2,
     {{"0:2", 2, .expected = "1:2"}, {"1:2", 2, .expected = "1:2"}}},
    {"fifo",
     "without a request, the smallest allowed count",
     1,
     -1,
     2,
     {{"", 0, .min = 2, .expected = "0:2"}, {"", 0, .expected = "0:1"}}},

    {"srtf",
     "the shortest first, preempting the longer",
     1,
     -1,
     3,
     {{"0:4", 4, .known = {10, 4, {9, 9, 9, 3}}, .expected = ""},
      {"", 2, .known = {10, 4, {9, 2, 9, 9}}, .expected = "0:2"},
      {"", 2, .known = {4, 4, {9, 4, 9, 9}}, .expected = "0:2"}}},
    {"srtf",
     "a later job passes one that does not fit; unknown lengths come last",
     1,
     -1,
     4,
     {{"", 1, .expected = ""},
      {"0:3", 3, .known = {1, 3, {1, 1, 1}}, .expected = "0:3"},
      {"", 2, .known = {2, 3, {1, 1, 1}}, .expected = ""},
      {"", 1, .known = {3, 3, {1, 1, 1}}, .expected = "0:1"}}},
    {"srtf",
     "jobs that are not preemptible stay",
     1,
     -1,
     2,
     {{"0:3", 3, .known = {99, 3, {1, 1, 1}}, .fixed = true, .expected = "0:3"},
      {"", 4, .known = {1, 4, {1, 1, 1, 1}}, .expected = ""}}},

    {"las",
     "the least served first",
     1,
     -1,
     3,
     {{"", 2, .attained_s = 300, .expected = ""},
      {"", 2, .attained_s = 100, .expected = "0:2"},
      {"", 2, .attained_s = 200, .expected = "0:2"}}},
    {"las",
     "600 slot-seconds ahead on 2 slots is not enough to be preempted",
     1,
     -1,
     2,
     {{"0:2", 2, .attained_s = 700, .expected = "0:2"},
      {"", 4, .attained_s = 100, .expected = ""}}},
    {"las",
     "601 slot-seconds ahead is enough to be preempted",
     1,
     -1,
     2,
     {{"0:2", 2, .attained_s = 701, .expected = ""},
      {"", 4, .attained_s = 100, .expected = "0:4"}}},

    /* Gains: a 10 x (4-3, 3-2.5, ...) = 10, 5, 1; b 20 x (2-1.6, ...) = 8, 6, 0 by its limit. */
    {"optimus",
     "slots go to the largest reduction of time",
     2,
     -1,
     2,
     {{"", 1, .known = {10, 5, {4, 3, 2.5, 2.4, 2.4}}, .expected = "1:4"},
      {"", 1, .known = {20, 4, {2, 1.6, 1.3, 0.1}}, .max = 3, .expected = "0:3"}}},
    /* Five slots for a; the fewest first, so b takes node 0 and a the rest of both. */
    {"optimus",
     "small jobs are placed first; no slot without a gain",
     2,
     -1,
     2,
     {{"", 1, .known = {1, 5, {9, 7, 5, 3, 1}}, .expected = "1:4 0:1"},
      {"", 1, .known = {1, 3, {1, 1, 0.5}}, .expected = "0:1"}}},
    {"optimus",
     "more jobs than slots: the first ones",
     1,
     -1,
     5,
     {{"", 1, .expected = "0:1"},
      {"", 1, .expected = "0:1"},
      {"", 1, .expected = "0:1"},
      {"", 1, .expected = "0:1"},
      {"0:4", 1, .expected = ""}}},
    {"optimus",
     "an equal count keeps its nodes; a tie goes to the first",
     2,
     -1,
     2,
     {{"1:2 0:2", 1, .known = {1, 4, {8, 6, 4, 2}}, .expected = "1:2 0:2"},
      {"0:1", 1, .known = {1, 4, {8, 6, 4, 2}}, .expected = "0:2 1:2"}}},
    /* Two slots are left.  a would save (9-7) 3 = 6 with both of them, 3 each; b saves 4 with one. */
    {"optimus",
     "gains are per slot where counts have gaps",
     2,
     -1,
     3,
     {{"", 1, .known = {3, 4, {9, 9, 9, 7}}, .min = 2, .max = 4, .pow2 = true, .expected = "0:2"},
      {"", 1, .known = {1, 2, {8, 4}}, .expected = "0:2"},
      {"1:3", 1, .fixed = true, .expected = "1:3"}}},

    {"equal-share",
     "an equal split, the odd slots to the first",
     2,
     -1,
     3,
     {{"", 1, .expected = "0:3"}, {"", 1, .expected = "1:3"}, {"", 1, .expected = "0:1 1:1"}}},
    {"equal-share",
     "slots that one job cannot use go to others",
     2,
     -1,
     2,
     {{"", 1, .max = 1, .expected = "1:1"}, {"", 1, .expected = "0:4 1:3"}}},
    {"equal-share",
     "a job with the same count keeps its nodes",
     2,
     -1,
     3,
     {{"1:3", 1, .expected = "1:3"},
      {"", 1, .expected = "0:3"},
      {"0:1 1:1", 1, .expected = "0:1 1:1"}}},
    {"equal-share",
     "a minimum above the share is granted if it fits",
     2,
     -1,
     3,
     {{"", 1, .expected = "1:2"},
      {"", 1, .min = 5, .expected = "0:4 1:1"},
      {"", 1, .expected = "1:1"}}},
    {"equal-share",
     "more jobs than slots: the first ones",
     1,
     -1,
     6,
     {{"", 1, .expected = "0:1"},
      {"", 1, .expected = "0:1"},
      {"", 1, .expected = "0:1"},
      {"", 1, .expected = "0:1"},
      {"", 1, .expected = ""},
      {"", 1, .expected = ""}}},
    {"equal-share",
     "a job that is not preemptible keeps its placement",
     1,
     -1,
     2,
     {{"0:1", 1, .fixed = true, .expected = "0:1"}, {"", 1, .expected = "0:3"}}},

    {"tiresias",
     "in order; small jobs pass those that do not fit",
     2,
     -1,
     4,
     {{"", 6, .expected = "0:4 1:2"},
      {"", 3, .expected = ""},
      {"", 1, .expected = "1:1"},
      {"", 1, .expected = "1:1"}}},
    {"tiresias",
     "earlier jobs preempt later ones",
     1,
     -1,
     2,
     {{"", 3, .expected = "0:3"}, {"0:2", 2, .expected = ""}}},
    {"tiresias",
     "service of 57600 slot-seconds means the second queue",
     1,
     -1,
     3,
     {{"0:4", 4, .attained_s = 57600, .expected = ""},
      {"", 4, .attained_s = 57599, .expected = "0:4"},
      {"", 1, .expected = ""}}},
};

static void one_round (void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT (rounds); i++) {
        const struct one_round *round = &rounds[i];
        struct scene scene;
        scene_init (&scene, round->nodes);
        if (round->gone >= 0)
            scene.nodes[round->gone].available = false;
        const char *expected[COUNT (round->row)];
        for (int r = 0; r < round->rows; r++) {
            const struct row *row = &round->row[r];
            char name[NAME_SIZE];
            snprintf (name, sizeof (name), "job-%d", r);
            struct job *job = scene_add (&scene, name, row->request, row->place);
            job->attained_s = row->attained_s;
            job->spec.min_replicas = row->min;
            job->spec.max_replicas = row->max > 0 ? row->max : 64;
            if (row->pow2)
                job->spec.allowed = (struct allowed){.kind = ALLOWED_POW2};
            job->spec.preemptible = !row->fixed;
            if (row->known.count > 0) {
                job->oracle.remaining = row->known.remaining;
                job->oracle.count = row->known.count;
                job->oracle.iter_s = malloc (sizeof (row->known.iter_s));
                assert_non_null (job->oracle.iter_s);
                memcpy (job->oracle.iter_s, row->known.iter_s, sizeof (row->known.iter_s));
            }
            expected[r] = row->expected;
        }
        struct memory memory = fresh (round->policy);
        struct plan plan = {0};
        decide_as (&memory, &scene, &plan);
        assert_plan (round->what, &plan, expected, round->rows);
        memory_clear (&memory);
        plan_clear (&plan);
        scene_clear (&scene);
    }
}

/* ---- Several rounds ---- */

/* Two jobs of 4 slots on one node.  Each reaches 57600 slot-seconds after 240 rounds: a runs, then
 * b, then a until the end, because a is before b in queue 1. */
static void tiresias_demotes_once (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 1);
    scene_add (&scene, "a", 4, "");
    scene_add (&scene, "b", 4, "");
    struct memory memory = fresh ("tiresias");
    struct plan plan = {0};
    for (int round = 0; round < 1000; round++) {
        decide_as (&memory, &scene, &plan);
        bool b_runs = round >= 240 && round < 480;
        assert_plan ("a round", &plan,
                     (const char *const[]){b_runs ? "" : "0:4", b_runs ? "0:4" : ""}, 2);
        scene_advance (&scene, &plan);
    }
    /* A third job runs before both until it has as much service; then a runs, and b after a is
     * removed. */
    scene_add (&scene, "c", 1, "");
    for (int round = 0; round < 970; round++) {
        decide_as (&memory, &scene, &plan);
        const char *expected[] = {"", "", "0:1"};
        if (round >= 960) {
            expected[0] = "0:4";
            expected[2] = "";
        }
        assert_plan ("a round", &plan, expected, 3);
        scene_advance (&scene, &plan);
    }
    scene_remove (&scene, 0);
    decide_as (&memory, &scene, &plan);
    assert_plan ("a round", &plan, (const char *const[]){"0:4", ""}, 2);
    memory_clear (&memory);
    plan_clear (&plan);
    scene_clear (&scene);
}

/* Jobs that are due in the same round enter the second queue in the order of the first. */
static void tiresias_demotes_in_order (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 1);
    scene_add (&scene, "a", 2, "");
    scene_add (&scene, "b", 2, "");
    struct memory memory = fresh ("tiresias");
    struct plan plan = {0};
    for (int round = 0; round < 480; round++) {
        decide_as (&memory, &scene, &plan);
        assert_plan ("a round", &plan, (const char *const[]){"0:2", "0:2"}, 2);
        scene_advance (&scene, &plan);
    }
    scene_add (&scene, "c", 2, ""); /* one of the two must stop */
    for (int round = 0; round < 10; round++) {
        decide_as (&memory, &scene, &plan);
        assert_plan ("a round", &plan, (const char *const[]){"0:2", "", "0:2"}, 3);
        scene_advance (&scene, &plan);
    }
    memory_clear (&memory);
    plan_clear (&plan);
    scene_clear (&scene);
}

/* Two jobs, one place: with a restart delay of 30 s a run takes 5 rounds or more. */
static void las_does_not_thrash (void **state)
{
    (void)state;
    struct scene scene;
    scene_init (&scene, 1);
    scene_add (&scene, "a", 4, "");
    scene_add (&scene, "b", 4, "");
    struct memory memory = fresh ("las");
    struct plan plan = {0};
    for (int round = 0; round < 600; round++) {
        decide_as (&memory, &scene, &plan);
        scene_advance (&scene, &plan);
    }
    for (int i = 0; i < 2; i++) {
        assert_in_range (scene.jobs[i].restarts, 20, 60);
        assert_in_range (scene.jobs[i].attained_s / 240, 290, 310);
    }
    memory_clear (&memory);
    plan_clear (&plan);
    scene_clear (&scene);
}

/* ---- Random views ---- */

static void assert_same (const struct plan *a, const struct plan *b)
{
    assert_int_equal (a->job_count, b->job_count);
    for (int i = 0; i < a->job_count; i++) {
        assert_true (placement_equal (plan_placement (a, i), plan_placement (b, i)));
        assert_memory_equal (&a->speedups[i], &b->speedups[i], sizeof (a->speedups[i]));
    }
    assert_memory_equal (&a->fitness, &b->fitness, sizeof (a->fitness));
}

static void random_views (void **state)
{
    (void)state;
    struct rng rng = rng_seed (20210714);
    struct scene *scene = malloc (sizeof (*scene));
    assert_non_null (scene);
    for (int i = soak_count (3000); i > 0; i--) {
        scene_random (scene, &rng);
        bool mixed = i % 2 == 1;
        if (mixed)
            scene_mix (scene, &rng);
        if (i % 4 >= 2)
            scene_revoke (scene, &rng);
        scene->view.budget = 4; /* enough for these checks */
        for (const struct policy *const *policy = policies; *policy; policy++) {
            if (mixed && strcmp ((*policy)->name, "pollux-ga") == 0)
                continue; /* for one type */
            struct memory first = fresh ((*policy)->name), second = fresh ((*policy)->name);
            struct plan plan = {0}, again = {0};
            decide_as (&first, scene, &plan);
            decide_as (&second, scene, &again);
            assert_same (&plan, &again);
            /* Once more, with equal memories of one round. */
            decide_as (&first, scene, &plan);
            decide_as (&second, scene, &again);
            assert_same (&plan, &again);
            memory_clear (&first);
            memory_clear (&second);
            plan_clear (&plan);
            plan_clear (&again);
        }
        scene_clear (scene);
    }
    free (scene);
}

/* Jobs arrive, run for a while and end; memories stay valid. */
static void jobs_arrive_and_end (void **state)
{
    (void)state;
    struct rng rng = rng_seed (3);
    struct scene *scene = malloc (sizeof (*scene));
    assert_non_null (scene);
    for (const struct policy *const *policy = policies; *policy; policy++)
        for (int life = soak_count (50); life > 0; life--) {
            struct memory memory = fresh ((*policy)->name);
            struct plan plan = {0};
            scene_random (scene, &rng);
            if (life % 2 == 1 && strcmp ((*policy)->name, "pollux-ga") != 0)
                scene_mix (scene, &rng);
            scene->view.budget = 3;
            for (int round = 0; round < 30; round++) {
                decide_as (&memory, scene, &plan);
                scene_advance (scene, &plan);
                while (scene->view.job_count > 0 && rng_uniform (&rng) < 0.5)
                    scene_remove (scene, (int)rng_below (&rng, (uint64_t)scene->view.job_count));
                char name[NAME_SIZE];
                snprintf (name, sizeof (name), "new-%d", round);
                if (scene->view.job_count < SCENE_JOBS)
                    scene_add (scene, name, 1 + round % 5, "");
                struct node *node =
                    &scene->nodes[rng_below (&rng, (uint64_t)scene->view.node_count)];
                node->available = rng_uniform (&rng) < 0.8;
                scene->view.seed++;
            }
            memory_clear (&memory);
            plan_clear (&plan);
            scene_clear (scene);
        }
    free (scene);
}

static void options_are_checked (void **state)
{
    (void)state;
    static const struct {
        const char *policy, *text, *wrong; /* NULL: it is valid */
    } cases[] = {
        {"tiresias", "quantum=3600", NULL},
        {"tiresias", "quantum=0", "option quantum of policy tiresias: expected a number from 1 to"},
        {"tiresias", "quantm=3600",
         "policy tiresias has no option 'quantm'; did you mean 'quantum'?"},
        {"pollux-jct", "ageing=10000", NULL}, /* a former option */
        {"pollux-jct", "zzz=1", "policy pollux-jct has no options, but 'zzz' is set"},
        {"gavel", "zzz=1", "known options: gavel_round, gavel_fair"},
        {"fifo", "quantum=3600", "policy fifo has no options"},
        {"pollux", "p=-inf", NULL},
        {"pollux", "p=1.5", "option p of policy pollux: expected a number from -inf to 1, got 1.5"},
        {"pollux-ga", "generations=1.5", "expected an integer"},
        {"las", "slice", "expected NAME=NUMBER"},
        {"las", "slice=ten", "expected NAME=NUMBER"},
        {"las", "=1", "expected NAME=NUMBER"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        const struct policy *policy = NULL;
        struct policy_settings settings = {0};
        struct pollux_error err = {""};
        assert_int_equal (0, policy_find (cases[i].policy, &policy, NULL));
        int rc = policy_settings_parse (cases[i].text, &settings, &err);
        if (rc == 0)
            rc = policy_settings_check (&settings, &policy, 1, &err);
        assert_int_equal (rc, cases[i].wrong ? -EINVAL : 0);
        if (cases[i].wrong && !strstr (err.text, cases[i].wrong))
            fail_msg ("%s: \"%s\" does not say \"%s\"", cases[i].text, err.text, cases[i].wrong);
    }
    /* Of several policies, each gets its own. */
    struct policy_settings settings = {0};
    const struct policy *both[2] = {NULL};
    double p = -1;
    policy_find ("pollux", &both[0], NULL);
    policy_find ("tiresias", &both[1], NULL);
    assert_int_equal (0, policy_settings_parse ("quantum=7", &settings, NULL));
    assert_int_equal (0, policy_settings_parse ("p=0.5", &settings, NULL));
    assert_int_equal (0, policy_settings_check (&settings, both, 2, NULL));
    assert_int_equal (0, policy_settings_of (both[0], &settings, &p).count);
    assert_true (p == 0.5);
    struct policy_settings own = policy_settings_of (both[1], &settings, &p);
    assert_int_equal (1, own.count);
    assert_true (policy_settings_get (&own, "quantum", 0) == 7);
    char text[32];
    for (int i = settings.count; i < POLICY_SETTINGS_LIMIT; i++) {
        snprintf (text, sizeof (text), "o%d=1", i);
        assert_int_equal (0, policy_settings_parse (text, &settings, NULL));
    }
    assert_int_equal (-EINVAL, policy_settings_parse ("more=1", &settings, NULL));
}

/* Every table: names are short enough and unique, defaults are within their ranges, and setting the
 * default does not change the plan. */
static void defaults_change_no_plan (void **state)
{
    (void)state;
    struct rng rng = rng_seed (17);
    struct scene *scene = malloc (sizeof (*scene));
    assert_non_null (scene);
    for (const struct policy *const *policy = policies; *policy; policy++) {
        struct policy_settings usual = {0};
        for (const struct policy_option *at = (*policy)->options; at && at->name; at++) {
            assert_true (at->min <= at->usual && at->usual <= at->max && at->help);
            assert_int_equal (0, policy_settings_set (&usual, at->name, at->usual));
            assert_true (usual.count == at - (*policy)->options + 1);
        }
        for (int i = soak_count (100); i > 0 && usual.count > 0; i--) {
            struct plan plan = {0}, again = {0};
            struct memory memory = fresh ((*policy)->name);
            scene_random (scene, &rng);
            scene->view.search = (*policy)->search;
            scene->view.p = -1;
            assert_int_equal (0, decide (*policy, &scene->view, &memory, &plan, NULL));
            memory_clear (&memory);
            memory = fresh ((*policy)->name);
            scene->view.settings = policy_settings_of (*policy, &usual, &scene->view.p);
            assert_int_equal (0, decide (*policy, &scene->view, &memory, &again, NULL));
            assert_int_equal (plan.share_count, again.share_count);
            for (int job = 0; job < plan.job_count; job++)
                assert_true (
                    placement_same (plan_placement (&plan, job), plan_placement (&again, job)));
            memory_clear (&memory);
            plan_clear (&plan);
            plan_clear (&again);
            scene_clear (scene);
        }
    }
    /* A setting that the policy does not have is refused by decide. */
    struct memory memory = fresh ("fifo");
    struct plan plan = {0};
    struct pollux_error err;
    scene_init (scene, 1);
    policy_settings_set (&scene->view.settings, "quantum", 1);
    assert_int_equal (-EINVAL, decide (memory.policy, &scene->view, &memory, &plan, &err));
    memory_clear (&memory);
    plan_clear (&plan);
    scene_clear (scene);
    free (scene);
}

/* Half the quantum: a job is in the second queue after half the service. */
static void a_quantum_can_be_set (void **state)
{
    (void)state;
    struct scene *scene = malloc (sizeof (*scene));
    assert_non_null (scene);
    for (int set = 0; set <= 1; set++) {
        struct memory memory = fresh ("tiresias");
        struct plan plan = {0};
        scene_init (scene, 1);
        scene_add (scene, "a", 4, "0:4")->attained_s = 28800;
        scene_add (scene, "b", 4, "");
        if (set)
            policy_settings_set (&scene->view.settings, "quantum", 28800);
        decide_as (&memory, scene, &plan);
        assert_int_equal (plan_placement (&plan, 0).count, set ? 0 : 1);
        assert_int_equal (plan_placement (&plan, 1).count, set ? 1 : 0);
        memory_clear (&memory);
        plan_clear (&plan);
        scene_clear (scene);
    }
    free (scene);
}

static void unknown_names_are_refused (void **state)
{
    (void)state;
    const struct policy *policy = NULL;
    struct pollux_error err;
    assert_int_equal (-ENOENT, policy_find ("polux", &policy, &err));
    assert_null (policy);
    for (const struct policy *const *at = policies; *at; at++) {
        assert_non_null (strstr (err.text, (*at)->name));
        assert_int_equal (0, policy_find ((*at)->name, &policy, NULL));
        assert_ptr_equal (policy, *at);
        assert_true ((*at)->summary && (*at)->summary[0]);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (counts_by_definition),  cmocka_unit_test (one_round),
        cmocka_unit_test (tiresias_demotes_once), cmocka_unit_test (tiresias_demotes_in_order),
        cmocka_unit_test (las_does_not_thrash),   cmocka_unit_test (random_views),
        cmocka_unit_test (jobs_arrive_and_end),   cmocka_unit_test (unknown_names_are_refused),
        cmocka_unit_test (options_are_checked),   cmocka_unit_test (defaults_change_no_plan),
        cmocka_unit_test (a_quantum_can_be_set),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
