/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The change log: which event has changed what, the same after a restart, and what a round has changed in one line.
 */
#include "unit.h"

#include <math.h>

#include "loop/change_log.h"

struct state {
    struct cluster cluster;
    struct change_log log;
    int64_t number;
};

static void take (struct state *state, struct event event)
{
    struct pollux_error err;
    event.at_us = ++state->number * 1000000;
    change_log_take (&state->log, &state->cluster, &event, state->number);
    if (cluster_apply (&state->cluster, &event, &err) < 0)
        fail_msg ("%s", err.text);
}

static void add_node (struct state *state, const char *name, bool available)
{
    struct event event = {
        .type = EVENT_NODE, .job = -1, .node = {.slots = 8, .available = available}};
    snprintf (event.node.name, sizeof (event.node.name), "%s", name);
    take (state, event);
}

static void add_job (struct state *state, const char *name)
{
    struct job_spec spec = {
        .max_replicas = 8, .weight = 1, .preemptible = true, .restart_delay_s = NAN};
    snprintf (spec.name, sizeof (spec.name), "%s", name);
    take (state, (struct event){.type = EVENT_SUBMIT,
                                .job = state->cluster.job_count,
                                .submit = {.spec = &spec, .hints = hints_unknown}});
}

/* A round that places each active job on up to two nodes. */
static void place (struct state *state, bool fill, const struct share (*shares)[2])
{
    struct plan plan = {0};
    take (state, (struct event){.type = EVENT_ROUND,
                                .job = -1,
                                .round = {.policy = "pollux", .interval_s = 60, .fill = fill}});
    assert_int_equal (0, plan_reset (&plan, state->cluster.active.count));
    for (int i = 0; i < state->cluster.active.count; i++) {
        struct share own[2] = {shares[i][0], shares[i][1]};
        int count = (own[0].replicas > 0) + (own[1].replicas > 0);
        assert_int_equal (0, plan_place (&plan, i, (struct placement){own, count}));
    }
    take (state, (struct event){.type = EVENT_PLAN, .job = -1, .plan = &plan});
    plan_clear (&plan);
}

static void clear (struct state *state)
{
    change_log_clear (&state->log);
    cluster_clear (&state->cluster);
}

static void events_mark_what_they_change (void **unused)
{
    struct state state = {0};
    (void)unused;
    add_node (&state, "n0", true);
    add_node (&state, "n1", true);
    add_job (&state, "a");
    add_job (&state, "b");
    add_job (&state, "c");
    assert_int_equal (change_log_node (&state.log, 1), 2);
    assert_int_equal (change_log_job (&state.log, 2), 5);
    assert_int_equal (change_log_job (&state.log, 1000), 0);
    place (&state, true, (const struct share[][2]){{{0, 2}}, {{1, 4}}, {{0, 0}}}); /* 6, 7 */
    assert_int_equal (change_log_job (&state.log, 0), 7);
    assert_int_equal (change_log_job (&state.log, 2), 5);
    assert_int_equal (state.log.slots_number, 7);
    assert_int_equal (state.log.last.round, 6);
    place (&state, false, (const struct share[][2]){{{0, 2}}, {{1, 4}}, {{0, 0}}}); /* 8, 9 */
    assert_int_equal (change_log_job (&state.log, 0), 7);
    assert_int_equal (state.log.slots_number, 9);
    assert_int_equal (state.log.last.round, 6); /* it has changed nothing */
    struct report report = {.job = 1,
                            .hints = {.max_profiled_replicas = -1, .progress = 1, .total = NAN},
                            .oracle_remaining = NAN};
    take (&state, (struct event){.type = EVENT_HINTS, .job = -1, .hints = {&report, 1}}); /* 10 */
    assert_int_equal (change_log_job (&state.log, 1), 10);
    assert_int_equal (state.log.slots_number, 9);
    add_node (&state, "n0", false); /* 11 */
    assert_int_equal (change_log_node (&state.log, 0), 11);
    assert_int_equal (change_log_node (&state.log, 1), 2);
    assert_int_equal (state.log.slots_number, 11);
    assert_int_equal (state.log.number, 11);
    /* From a snapshot, what is older than it counts as changed by its last event. */
    change_log_restored (&state.log, 11);
    assert_int_equal (change_log_job (&state.log, 0), 11);
    add_job (&state, "d"); /* 12 */
    assert_int_equal (change_log_job (&state.log, 3), 12);
    assert_int_equal (change_log_job (&state.log, 0), 11);
    assert_int_equal (state.log.since, 11);
    /* A start, its end, and the end of a job that waits. */
    struct share share = {1, 4};
    take (&state, (struct event){.type = EVENT_START,
                                 .job = 3,
                                 .start = {.generation = 1, .placement = {&share, 1}}}); /* 13 */
    assert_int_equal (state.log.slots_number, 13);
    take (&state,
          (struct event){.type = EVENT_STARTED, .job = 3, .start = {.generation = 1}}); /* 14 */
    assert_int_equal (state.log.slots_number, 13);
    take (&state, (struct event){.type = EVENT_EXIT,
                                 .job = 3,
                                 .exit = {.generation = 1, .kind = EXITED_FINISHED}});
    assert_int_equal (state.log.slots_number, 15);
    take (&state, (struct event){.type = EVENT_CANCEL, .job = 0}); /* 16 */
    assert_int_equal (state.log.slots_number, 16);
    clear (&state);
}

static void groups_mark_nodes (void **unused)
{
    struct state state = {0};
    struct node_group spot = {.name = "spot", .slots_per_node = 8, .max_nodes = 4};
    (void)unused;
    add_node (&state, "n0", true);
    add_node (&state, "spot-1", true);
    take (&state,
          (struct event){.type = EVENT_GROUPS, .job = -1, .groups = {&spot, 1, {0}}}); /* 3 */
    assert_int_equal (change_log_node (&state.log, 1), 3);
    take (&state, (struct event){.type = EVENT_POWER,
                                 .job = -1,
                                 .power = {.node = "spot-0", .state = POWER_STARTING}}); /* 4 */
    assert_int_equal (change_log_node (&state.log, 2), 4); /* the new node */
    take (&state, (struct event){.type = EVENT_POWER,
                                 .job = -1,
                                 .power = {.node = "spot-1", .state = POWER_DRAINING}}); /* 5 */
    take (&state, (struct event){.type = EVENT_SIZE, .job = -1, .size = {.utility = 0.5}});
    assert_int_equal (change_log_node (&state.log, 0), 3);
    assert_int_equal (change_log_node (&state.log, 1), 5);
    assert_int_equal (change_log_node (&state.log, 2), 4);
    assert_int_equal (state.log.number, 6);
    clear (&state);
}

static void a_round_is_one_line (void **unused)
{
    static const struct {
        struct share shares[5][2];
        const char *text;
    } rows[] = {
        {{{{0, 2}}, {{0, 4}}, {{0, 0}}, {{1, 1}}, {{0, 0}}},
         "3 jobs changed: a starts with 2, b starts with 4, d starts with 1"},
        {{{{0, 4}}, {{1, 2}}, {{1, 1}}, {{0, 0}}, {{0, 1}}},
         "5 jobs changed: a 2 -> 4, b 4 -> 2 (n0 -> n1), c starts with 1, 2 more"},
        {{{{0, 2}, {1, 2}}, {{1, 2}}, {{1, 1}}, {{0, 0}}, {{1, 1}}},
         "2 jobs changed: a 4 -> 4 (n0 -> 2 nodes), e 1 -> 1 (n0 -> n1)"},
        {{{{0, 0}}, {{1, 2}}, {{1, 1}}, {{0, 0}}, {{1, 1}}}, "1 job changed: a stops"},
    };
    struct state state = {0};
    (void)unused;
    add_node (&state, "n0", true);
    add_node (&state, "n1", true);
    for (const char *name = "abcde"; *name; name++)
        add_job (&state, (char[]){*name, '\0'});
    for (size_t i = 0; i < COUNT (rows); i++) {
        place (&state, false, rows[i].shares);
        assert_string_equal (state.log.last.text, rows[i].text);
    }
    clear (&state);
}

/* Names of the greatest length fit. */
static void long_names_fit (void **unused)
{
    struct state state = {0};
    char name[NAME_SIZE];
    (void)unused;
    memset (name, 'x', sizeof (name));
    name[sizeof (name) - 1] = '\0';
    for (int i = 0; i < 2; i++) {
        name[0] = (char)('a' + i);
        add_node (&state, name, true);
    }
    for (int i = 0; i < 4; i++) {
        name[0] = (char)('a' + i);
        add_job (&state, name);
    }
    place (&state, false, (const struct share[][2]){{{0, 2}}, {{0, 2}}, {{0, 2}}, {{0, 2}}});
    place (&state, false, (const struct share[][2]){{{1, 2}}, {{1, 2}}, {{1, 2}}, {{1, 2}}});
    const char *text = state.log.last.text;
    assert_string_equal (text + strlen (text) - 8, ", 1 more");
    clear (&state);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (events_mark_what_they_change),
        cmocka_unit_test (groups_mark_nodes),
        cmocka_unit_test (a_round_is_one_line),
        cmocka_unit_test (long_names_fit),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
