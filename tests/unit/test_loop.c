/* SPDX-License-Identifier: Apache-2.0 */
/* A round of the loop whose size cannot be decided: its plan holds all the same. */
#include "unit.h"

#include <string.h>

#include "cluster_fixture.h"
#include "loop/loop.h"
#include "power_fixture.h"

struct failures {
    int undecided, unsized;
    struct pollux_error why;
};

static void count_undecided (void *self, const struct pollux_error *why, double seconds)
{
    struct failures *failures = self;
    (void)seconds;
    failures->undecided++;
    failures->why = *why;
}

static void count_unsized (void *self, const struct pollux_error *why)
{
    struct failures *failures = self;
    failures->unsized++;
    failures->why = *why;
}

/* One job on a node of four slots, and a group of more slots than a policy can decide on.  What loop_take returns. */
static int take_round (struct failure_hook hook, int64_t *ret_plans, struct pollux_error *err)
{
    struct cluster_fixture fixture;
    struct node_group group = power_group ("g", 1100, 1);
    struct loop loop = {.failure_hook = hook};
    group.slots_per_node = 1000;
    cluster_fixture_init (&fixture, 1, 4);
    assert_int_equal (0, power_groups (&fixture.cluster, ++fixture.now_us, &group, 1));
    cluster_fixture_submit (&fixture, "job", 1, 4);
    loop.cluster = fixture.cluster;
    loop.cluster.power.goal = (struct goal){.kind = GOAL_COST, .limit = 1.5};
    assert_int_equal (0, policy_find ("pollux", &loop.policy, err));
    assert_int_equal (0, loop_begin (&loop, err));
    struct event round = {
        .at_us = ++fixture.now_us, .type = EVENT_ROUND, .job = -1, .round = fixture.round};
    int rc = loop_take (&loop, &round, err);
    *ret_plans = placement_replicas (loop.cluster.jobs[0]->desired);
    loop_clear (&loop);
    return rc;
}

static void a_plan_holds_without_a_size (void **state)
{
    (void)state;
    struct failures failures = {0};
    struct pollux_error err = {.text = ""};
    int64_t replicas = 0;
    assert_int_equal (0,
                      take_round ((struct failure_hook){count_undecided, count_unsized, &failures},
                                  &replicas, &err));
    assert_true (replicas > 0);
    assert_int_equal (failures.undecided, 0);
    assert_int_equal (failures.unsized, 1);
    assert_non_null (strstr (failures.why.text, "slots"));
}

static void without_a_hook_it_is_an_error (void **state)
{
    (void)state;
    struct pollux_error err = {.text = ""};
    int64_t replicas = 0;
    assert_true (take_round ((struct failure_hook){0}, &replicas, &err) < 0);
    assert_non_null (strstr (err.text, "the size of the cluster is not decided: "));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_plan_holds_without_a_size),
        cmocka_unit_test (without_a_hook_it_is_an_error),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
