/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replay of random journals: equal plans under every policy without an oracle, and every change
 * of a plan is found and reported.
 */
#include "unit.h"

#include <errno.h>

#include "loop/replay.h"
#include "random_journal.h"

/* A journal that passes every event to a replay, some of them changed. */
struct mirror {
    struct replay replay;
    int64_t plans;
    int64_t changed;                    /* number of the changed plan, or 0 */
    bool (*change) (struct plan *plan); /* called from the tenth plan, until it succeeds */
    const char *software;
    bool warm; /* the replay gets cold rounds as warm ones */
    int64_t fills, colds;
};

static void copy_plan (const struct plan *from, struct plan *to)
{
    *to = (struct plan){0};
    assert_int_equal (0, plan_reset (to, from->job_count));
    for (int i = 0; i < from->job_count; i++) {
        assert_int_equal (0, plan_place (to, i, plan_placement (from, i)));
        to->speedups[i] = from->speedups[i];
    }
    to->fitness = from->fitness;
    to->bound = from->bound;
    to->price = from->price;
}

static int mirror_append (void *self, const struct cluster *cluster, const struct event *event,
                          struct pollux_error *err)
{
    (void)cluster;
    struct mirror *mirror = self;
    if (mirror->replay.differs)
        return -ECANCELED;
    struct event copy = *event;
    struct plan changed = {0};
    mirror->fills += event->type == EVENT_ROUND && event->round.fill;
    mirror->colds += event->type == EVENT_ROUND && event->round.cold;
    if (event->type == EVENT_ROUND && mirror->warm)
        copy.round.cold = false;
    if (event->type == EVENT_ROUND && mirror->software)
        snprintf (copy.round.software, sizeof (copy.round.software), "%s", mirror->software);
    if (event->type == EVENT_PLAN && ++mirror->plans >= 10 && mirror->change && !mirror->changed) {
        copy_plan (event->plan, &changed);
        mirror->changed = mirror->change (&changed) ? mirror->plans : 0;
        copy.plan = &changed;
    }
    int rc = replay_event (&mirror->replay, &copy, err);
    /* The difference points into the plan: only its job and its numbers are used below. */
    plan_clear (&changed);
    return rc;
}

static int mirror_run (struct mirror *mirror, const char *policy, int rounds, bool real,
                       struct pollux_error *err)
{
    struct cluster cluster = {0};
    struct random_journal options = {
        .policy = policy, .rounds = rounds, .seed = 8, .real = real, .groups = real};
    struct journal journal = {.append = mirror_append, .self = mirror};
    int rc = random_journal_write (&options, journal, &cluster, err);
    cluster_clear (&cluster);
    return rc;
}

static void same_under_every_policy (void **state)
{
    (void)state;
    for (const struct policy *const *policy = policies; *policy; policy++) {
        if ((*policy)->oracle)
            continue;
        struct mirror mirror = {0};
        struct pollux_error err = {""};
        int rounds = strcmp ((*policy)->name, "pollux-ga") == 0 ? 3 : 30;
        if (mirror_run (&mirror, (*policy)->name, rounds, false, &err) < 0)
            fail_msg ("%s: %s", (*policy)->name, err.text);
        if (mirror.replay.differs)
            fail_msg ("%s: round %lld differs in its %s", (*policy)->name,
                      (long long)mirror.replay.rounds, replay_names[mirror.replay.difference.part]);
        assert_int_equal (mirror.plans, rounds);
        assert_int_equal (mirror.replay.rounds, rounds);
        assert_int_equal (mirror.replay.unanswered, 0);
        assert_int_equal (mirror.replay.foreign, 0);
        assert_false (mirror.replay.waiting || mirror.replay.mixed);
        replay_clear (&mirror.replay);
    }
}

/* As in a daemon: rounds that only fill, and cold rounds. */
static void same_as_under_a_daemon (void **state)
{
    (void)state;
    for (const struct policy *const *policy = policies; *policy; policy++) {
        if ((*policy)->oracle)
            continue;
        struct mirror mirror = {0};
        struct pollux_error err = {""};
        int rounds = strcmp ((*policy)->name, "pollux-ga") == 0 ? 2 : 30;
        if (mirror_run (&mirror, (*policy)->name, rounds, true, &err) < 0)
            fail_msg ("%s: %s", (*policy)->name, err.text);
        if (mirror.replay.differs)
            fail_msg ("%s: round %lld differs in its %s", (*policy)->name,
                      (long long)mirror.replay.rounds, replay_names[mirror.replay.difference.part]);
        assert_true (mirror.fills > 0 && (rounds < 30 || mirror.colds > 0));
        assert_int_equal (mirror.plans, rounds + mirror.fills);
        assert_int_equal (mirror.replay.rounds, mirror.plans);
        assert_false (mirror.replay.waiting || mirror.replay.mixed);
        replay_clear (&mirror.replay);
    }
}

/* A policy with a memory decides differently in a cold round: a replay that treats it as warm
 * differs. */
static void cold_rounds_matter (void **state)
{
    (void)state;
    struct mirror mirror = {.warm = true};
    assert_int_equal (-ECANCELED, mirror_run (&mirror, "tiresias", 300, true, NULL));
    assert_true (mirror.replay.differs && mirror.colds > 0);
    replay_clear (&mirror.replay);
}

/* ---- Changes -------------------------------------------------------------------------------- */

/* The first job on at least `least` nodes, or NULL. */
static struct span *placed_on (const struct plan *plan, int least)
{
    for (int i = 0; i < plan->job_count; i++)
        if (plan->spans[i].count >= least)
            return &plan->spans[i];
    return NULL;
}

static bool one_more (struct plan *plan)
{
    const struct span *span = placed_on (plan, 1);
    if (span)
        plan->shares[span->first].replicas++;
    return span;
}

static bool other_ranks (struct plan *plan)
{
    const struct span *span = placed_on (plan, 2);
    if (!span)
        return false;
    struct share first = plan->shares[span->first];
    plan->shares[span->first] = plan->shares[span->first + 1];
    plan->shares[span->first + 1] = first;
    return true;
}

static bool none (struct plan *plan)
{
    struct span *span = placed_on (plan, 1);
    if (span)
        span->count = 0;
    return span;
}

static bool other_speedup (struct plan *plan)
{
    const struct span *span = placed_on (plan, 1);
    if (span)
        plan->speedups[span - plan->spans] *= 1 + 1e-12;
    return span;
}

static bool other_fitness (struct plan *plan)
{
    plan->fitness *= 1 + 1e-12;
    return !isnan (plan->fitness);
}

static bool no_bound (struct plan *plan)
{
    bool known = !isnan (plan->bound);
    plan->bound = NAN;
    return known;
}

static bool other_price (struct plan *plan)
{
    plan->price *= 1 + 1e-12;
    return plan->price > 0;
}

static void changes_are_reported (void **state)
{
    (void)state;
    static const struct {
        bool (*change) (struct plan *plan);
        enum replay_part part;
        bool job, tolerable;
    } cases[] = {
        {one_more, REPLAY_PLACEMENT, true, false},    {other_ranks, REPLAY_PLACEMENT, true, false},
        {none, REPLAY_PLACEMENT, true, false},        {other_speedup, REPLAY_SPEEDUP, true, true},
        {other_fitness, REPLAY_FITNESS, false, true}, {no_bound, REPLAY_BOUND, false, false},
        {other_price, REPLAY_PRICE, false, true},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct mirror mirror = {.change = cases[i].change};
        assert_int_equal (-ECANCELED, mirror_run (&mirror, "pollux", 30, false, NULL));
        const struct replay_difference *difference = &mirror.replay.difference;
        assert_true (mirror.replay.differs);
        assert_true (mirror.changed > 0);
        assert_int_equal (mirror.replay.rounds, mirror.changed);
        assert_int_equal (mirror.replay.round_us, mirror.changed * 60 * 1000000);
        assert_string_equal (mirror.replay.round.policy, "pollux");
        assert_int_equal (difference->part, cases[i].part);
        assert_int_equal (difference->job != NULL, cases[i].job);
        if (cases[i].part != REPLAY_PLACEMENT)
            assert_true (difference->recorded_value != difference->decided_value);
        replay_clear (&mirror.replay);

        mirror = (struct mirror){.change = cases[i].change, .replay.tolerance = 1e-6};
        assert_int_equal (cases[i].tolerable ? 0 : -ECANCELED,
                          mirror_run (&mirror, "pollux", 30, false, NULL));
        assert_int_equal (mirror.replay.differs, !cases[i].tolerable);
        replay_clear (&mirror.replay);
    }
}

static void other_software_is_counted (void **state)
{
    (void)state;
    struct mirror mirror = {.software = "0.0.9"};
    assert_int_equal (0, mirror_run (&mirror, "fifo", 20, false, NULL));
    assert_int_equal (mirror.replay.foreign, 20);
    assert_string_equal (mirror.replay.software, "0.0.9");
    replay_clear (&mirror.replay);
}

/* ---- Invalid journals ----------------------------------------------------------------------- */

static void rounds_without_plans_and_plans_without_rounds (void **state)
{
    (void)state;
    struct plan plan = {0};
    assert_int_equal (0, plan_reset (&plan, 0));
    struct event round = {.type = EVENT_ROUND, .job = -1, .round = {.policy = "fifo"}};
    struct event answer = {.type = EVENT_PLAN, .job = -1, .plan = &plan};
    struct replay replay = {0};
    struct pollux_error err = {""};
    assert_int_equal (-EINVAL, replay_event (&replay, &answer, &err));
    assert_string_equal (err.text, "PLAN without a ROUND before it");
    assert_int_equal (0, replay_event (&replay, &round, &err));
    assert_true (replay.waiting);
    assert_int_equal (0, replay_event (&replay, &round, &err));
    assert_int_equal (0, replay_event (&replay, &answer, &err));
    assert_int_equal (replay.rounds, 2);
    assert_int_equal (replay.unanswered, 1);
    assert_false (replay.waiting || replay.differs || replay.mixed);

    snprintf (round.round.policy, sizeof (round.round.policy), "las");
    assert_int_equal (0, replay_event (&replay, &round, &err));
    assert_true (replay.mixed);

    /* A job submitted between a round and its plan is not in the plan. */
    struct job_spec spec = {.name = "a", .max_replicas = 1, .weight = 1};
    struct event submit = {.type = EVENT_SUBMIT, .submit = {.spec = &spec}};
    assert_int_equal (0, replay_event (&replay, &submit, &err));
    assert_int_equal (0, plan_reset (&plan, 1));
    assert_int_equal (-EINVAL, replay_event (&replay, &answer, &err));
    assert_string_equal (err.text, "PLAN for 1 jobs, but 0 are active");
    assert_int_equal (0, plan_reset (&plan, 0));
    assert_int_equal (0, replay_event (&replay, &answer, &err));
    assert_false (replay.waiting || replay.differs);

    snprintf (round.round.policy, sizeof (round.round.policy), "nosuch");
    assert_int_equal (-ENOENT, replay_event (&replay, &round, &err));
    assert_non_null (strstr (err.text, "no policy is called 'nosuch'"));
    replay_clear (&replay);
    plan_clear (&plan);
}

/* A policy that fails, as it did when the journal was written: the round has no plan.  A plan that the recording found
 * is an error. */
static void rounds_that_the_policy_refuses (void **state)
{
    (void)state;
    struct event nodes[] = {
        {.type = EVENT_NODE, .job = -1, .node = {"a", .type = "x", .slots = 1, .available = true}},
        {.type = EVENT_NODE, .job = -1, .node = {"b", .type = "y", .slots = 1, .available = true}}};
    struct event round = {.type = EVENT_ROUND, .job = -1, .round = {.policy = "pollux-ga"}};
    struct plan plan = {0};
    struct event answer = {.type = EVENT_PLAN, .job = -1, .plan = &plan};
    struct replay replay = {0};
    struct pollux_error err = {""};
    struct job_spec spec = {.name = "a", .max_replicas = 1, .weight = 1};
    struct event submit = {.type = EVENT_SUBMIT, .submit = {.spec = &spec}};
    assert_int_equal (0, plan_reset (&plan, 1));
    for (int i = 0; i < 2; i++)
        assert_int_equal (0, replay_event (&replay, &nodes[i], &err));
    assert_int_equal (0, replay_event (&replay, &submit, &err));
    assert_int_equal (0, replay_event (&replay, &round, &err));
    assert_int_equal (0, replay_event (&replay, &round, &err));
    assert_int_equal (replay.unanswered, 1);
    assert_int_equal (-EINVAL, replay_event (&replay, &answer, &err));
    assert_non_null (strstr (err.text, "it knows one type of nodes"));
    replay_clear (&replay);
    plan_clear (&plan);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (same_under_every_policy),
        cmocka_unit_test (same_as_under_a_daemon),
        cmocka_unit_test (cold_rounds_matter),
        cmocka_unit_test (changes_are_reported),
        cmocka_unit_test (other_software_is_counted),
        cmocka_unit_test (rounds_without_plans_and_plans_without_rounds),
        cmocka_unit_test (rounds_that_the_policy_refuses),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
