/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of nodes: which state of a node may follow which, names of nodes, and what GROUPS, SIZE and failures do to the
 * wanted numbers.  An event that is refused changes nothing.
 */
#include "unit.h"

#include <errno.h>

#include "power_fixture.h"
#include "random_journal.h"

static const int64_t S = 1000000;

/* A cluster with one group, spot, whose node spot-0 is in a state; NONE: the node belongs to no group. */
static struct cluster with_state (enum power_state state)
{
    static const enum power_state before[POWER_STATES] = {
        [POWER_OFF] = POWER_STOPPING,      [POWER_STARTING] = POWER_NONE,
        [POWER_UP] = POWER_NONE,           [POWER_DRAINING] = POWER_UP,
        [POWER_STOPPING] = POWER_DRAINING, [POWER_FAILED] = POWER_STARTING,
    };
    enum power_state way[POWER_STATES];
    int count = 0;
    struct cluster cluster = {0};
    struct node_group group = power_group (state == POWER_NONE ? "other" : "spot", 4, 1);
    for (enum power_state at = state; at != POWER_NONE; at = before[at])
        way[count++] = at;
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    if (state == POWER_NONE)
        assert_int_equal (0, power_node (&cluster, S, "spot-0", 4));
    while (count-- > 0)
        assert_int_equal (0, way[count] == POWER_UP
                                 ? power_node (&cluster, S, "spot-0", 4)
                                 : power_post (&cluster, S, "spot-0", way[count], 0));
    assert_int_equal (power_state_of (&cluster, "spot-0"), state);
    return cluster;
}

static void assert_consistent (const struct cluster *cluster, const char *name)
{
    int index = cluster_find_node (cluster, name);
    const struct node_power *power = &cluster->node_power[index];
    const struct node *node = &cluster->nodes[index];
    bool up = power->state == POWER_UP;
    assert_int_equal (power->group < 0, power->state == POWER_NONE);
    if (power->state == POWER_OFF || power->state == POWER_STARTING || power->state == POWER_FAILED)
        assert_true (node->slots == 0 && !power->came);
    if (up || power->state == POWER_DRAINING)
        assert_true (node->slots > 0 && power->came);
    assert_true (!node->available || up || power->state == POWER_NONE);
}

static void every_change_of_state (void **state)
{
    (void)state;
    /* Rows: from; columns: to.  Letters: the event is accepted. */
    static const char *const accepted[POWER_STATES] = {
        /*                      nosudtf */
        [POWER_NONE] = /*     */ ".......", [POWER_OFF] = /*      */ "..s....",
        [POWER_STARTING] = /* */ ".....tf", [POWER_UP] = /*       */ "....dt.",
        [POWER_DRAINING] = /* */ "....dt.", [POWER_STOPPING] = /* */ ".o.....",
        [POWER_FAILED] = /*   */ ".o.....",
    };
    for (int from = 0; from < POWER_STATES; from++)
        for (int to = 0; to < POWER_STATES; to++) {
            struct cluster cluster = with_state ((enum power_state)from),
                           before = with_state ((enum power_state)from);
            bool fits = accepted[from][to] != '.';
            int rc = power_post (&cluster, 2 * S, "spot-0", (enum power_state)to, 9 * S);
            if (rc != (fits ? 0 : -EINVAL))
                fail_msg ("%s after %s: %d", power_names[to], power_names[from], rc);
            const struct node_power *power = &cluster.node_power[0];
            if (fits) {
                assert_int_equal (power->state, to);
                assert_int_equal (power->since_us, 2 * S);
                assert_int_equal (power->deadline_us, 9 * S);
            } else {
                clusters_equal (&before, &cluster);
            }
            assert_consistent (&cluster, "spot-0");
            cluster_clear (&before);
            cluster_clear (&cluster);
        }
}

static void nodes_come_and_go (void **state)
{
    (void)state;
    static const enum power_state after[POWER_STATES][2] = {
        /* without slots, with slots */
        [POWER_NONE] = {POWER_NONE, POWER_NONE},
        [POWER_OFF] = {POWER_OFF, POWER_UP},
        [POWER_STARTING] = {POWER_STARTING, POWER_UP},
        [POWER_UP] = {POWER_STOPPING, POWER_UP},
        [POWER_DRAINING] = {POWER_STOPPING, POWER_DRAINING},
        [POWER_STOPPING] = {POWER_STOPPING, POWER_STOPPING},
        [POWER_FAILED] = {POWER_FAILED, POWER_UP},
    };
    for (int from = 0; from < POWER_STATES; from++)
        for (int here = 0; here < 2; here++) {
            struct cluster cluster = with_state ((enum power_state)from);
            int64_t boots = cluster.power.boots;
            bool boot = after[from][here] == POWER_UP && from != POWER_UP;
            assert_int_equal (0, power_node (&cluster, 2 * S, "spot-0", here ? 4 : 0));
            assert_int_equal (power_state_of (&cluster, "spot-0"), after[from][here]);
            assert_int_equal (cluster.power.boots, boots + boot);
            assert_consistent (&cluster, "spot-0");
            cluster_clear (&cluster);
        }
}

static void a_notice_is_not_forgotten (void **state)
{
    (void)state;
    struct cluster cluster = with_state (POWER_DRAINING);
    assert_int_equal (0, power_post (&cluster, S, "spot-0", POWER_DRAINING, 0));
    assert_int_equal (0, power_post (&cluster, S, "spot-0", POWER_DRAINING, 9 * S));
    assert_int_equal (-EINVAL, power_post (&cluster, S, "spot-0", POWER_DRAINING, 0));
    assert_int_equal (0, power_post (&cluster, S, "spot-0", POWER_DRAINING, 8 * S));
    /* Its jobs are being stopped: only an earlier deadline is another notice. */
    assert_int_equal (0, power_post (&cluster, 2 * S, "spot-0", POWER_STOPPING, 8 * S));
    assert_int_equal (-EINVAL, power_post (&cluster, 3 * S, "spot-0", POWER_STOPPING, 8 * S));
    assert_int_equal (-EINVAL, power_post (&cluster, 3 * S, "spot-0", POWER_STOPPING, 0));
    assert_int_equal (0, power_post (&cluster, 3 * S, "spot-0", POWER_STOPPING, 5 * S));
    assert_int_equal (cluster.node_power[0].deadline_us, 5 * S);
    cluster_clear (&cluster);
}

/* ---- Wanted numbers ------------------------------------------------------------------------- */

static void unexpected_nodes_are_adopted (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("spot", 4, 1);
    const int *wanted = &cluster.power.wanted[0];
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    assert_int_equal (0, power_node (&cluster, S, "spot-3", 4));
    assert_int_equal (*wanted, 1);
    assert_int_equal (0, power_size (&cluster, S, 3));
    assert_int_equal (0, power_node (&cluster, S, "spot-2", 4)); /* one of the three */
    assert_int_equal (*wanted, 3);
    assert_int_equal (0, power_post (&cluster, S, "spot-0", POWER_STARTING, 9 * S));
    assert_int_equal (0, power_size (&cluster, S, 1)); /* before the ordered node comes */
    assert_int_equal (0, power_node (&cluster, S, "spot-0", 4));
    assert_int_equal (*wanted, 1);
    assert_int_equal (0, power_node (&cluster, S, "spot-1", 4)); /* nobody ordered it */
    assert_int_equal (*wanted, 2);
    assert_int_equal (cluster.power.boots, 4);
    cluster_clear (&cluster);
}

static void a_failure_lowers_the_wanted_number (void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        int least = i % 3;
        bool fixed = i >= 3; /* then nothing but the file decides */
        struct cluster cluster = {0};
        struct node_group group = power_group ("spot", 4, 1);
        group.min_nodes = group.nodes = least;
        assert_int_equal (0, power_groups (&cluster, S, &group, 1));
        cluster.power.goal.kind = fixed ? GOAL_FIXED : GOAL_BUDGET;
        assert_int_equal (0, power_size (&cluster, S, 2));
        assert_int_equal (0, power_post (&cluster, S, "spot-0", POWER_STARTING, 9 * S));
        assert_false (power_blocked (&cluster, 0, cluster.now_us));
        assert_int_equal (0, power_post (&cluster, 2 * S, "spot-0", POWER_FAILED, 9 * S));
        assert_int_equal (cluster.power.wanted[0], fixed || least == 2 ? 2 : 1);
        assert_int_equal (cluster.node_power[0].failures, 1);
        assert_true (power_blocked (&cluster, 0, cluster.now_us));
        assert_false (power_in_flight (&cluster)); /* blocked: the next SIZE decides */
        assert_int_equal (0, power_post (&cluster, 9 * S, "spot-0", POWER_OFF, 0));
        assert_false (power_blocked (&cluster, 0, cluster.now_us));
        assert_int_equal (cluster.node_power[0].failures, 1); /* until it comes */
        assert_int_equal (0, power_node (&cluster, 9 * S, "spot-0", 4));
        assert_int_equal (cluster.node_power[0].failures, 0);
        cluster_clear (&cluster);
    }
}

/* A node that cannot be returned must not stop all changes of size for ever. */
static void stuck_returns_do_not_count (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("spot", 2, 1);
    group.min_nodes = group.nodes = 0;
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    assert_int_equal (0, power_size (&cluster, S, 1));
    assert_int_equal (0, power_post (&cluster, S, "spot-0", POWER_STARTING, 9 * S));
    assert_int_equal (0, power_node (&cluster, 2 * S, "spot-0", 4));
    assert_int_equal (0, power_size (&cluster, 2 * S, 0));
    assert_int_equal (0, power_post (&cluster, 2 * S, "spot-0", POWER_STOPPING, 0));
    assert_true (power_in_flight (&cluster));
    assert_int_equal (0, power_size (&cluster, 601 * S, 0));
    assert_true (power_in_flight (&cluster));
    assert_int_equal (0, power_size (&cluster, 602 * S, 0));
    assert_false (power_in_flight (&cluster));
    /* The other node can be ordered, but not both. */
    assert_int_equal (0, power_size (&cluster, 602 * S, 2));
    assert_true (power_in_flight (&cluster));
    assert_int_equal (0, power_node (&cluster, 603 * S, "spot-1", 4));
    assert_false (power_in_flight (&cluster));
    /* A failed order that cannot be returned blocks until its deadline. */
    assert_int_equal (0, power_post (&cluster, 604 * S, "spot-0", POWER_OFF, 0));
    assert_int_equal (0, power_post (&cluster, 604 * S, "spot-0", POWER_STARTING, 609 * S));
    assert_int_equal (0, power_post (&cluster, 609 * S, "spot-0", POWER_FAILED, 700 * S));
    assert_true (power_blocked (&cluster, 0, 700 * S - 1));
    assert_false (power_blocked (&cluster, 0, 700 * S));
    cluster_clear (&cluster);
}

/* Growth is in flight until all its nodes are up; nodes in the place of others, which went, are not. */
static void replacements_are_not_in_flight (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("spot", 4, 1);
    group.min_nodes = group.nodes = 0;
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    assert_int_equal (0, power_size (&cluster, 2 * S, 2));
    assert_int_equal (0, power_post (&cluster, 2 * S, "spot-0", POWER_STARTING, 900 * S));
    assert_int_equal (0, power_node (&cluster, 3 * S, "spot-0", 4));
    assert_int_equal (0, power_post (&cluster, 3 * S, "spot-0", POWER_DRAINING, 100 * S));
    /* Orders that are late, because one call of grow takes no more, or the budget did not pay them. */
    assert_int_equal (0, power_post (&cluster, 4 * S, "spot-1", POWER_STARTING, 900 * S));
    assert_int_equal (cluster.power.complete_us[0], 0);
    assert_int_equal (0, power_post (&cluster, 5 * S, "spot-2", POWER_STARTING, 900 * S));
    assert_int_equal (cluster.power.complete_us[0], 5 * S);
    assert_true (power_in_flight (&cluster));
    assert_int_equal (0, power_node (&cluster, 6 * S, "spot-1", 4));
    assert_true (power_in_flight (&cluster));
    assert_int_equal (0, power_node (&cluster, 6 * S, "spot-2", 4));
    assert_false (power_in_flight (&cluster));
    /* One goes, and another one is ordered. */
    assert_int_equal (0, power_post (&cluster, 7 * S, "spot-1", POWER_DRAINING, 9 * S));
    assert_true (power_in_flight (&cluster));
    assert_int_equal (0, power_post (&cluster, 7 * S, "spot-3", POWER_STARTING, 900 * S));
    assert_false (power_in_flight (&cluster));
    /* The next change: a smaller size waits for no node that starts, a larger one for its own. */
    assert_int_equal (0, power_size (&cluster, 8 * S, 1));
    assert_true (power_in_flight (&cluster)); /* one too many */
    assert_int_equal (0, power_post (&cluster, 8 * S, "spot-2", POWER_DRAINING, 9 * S));
    assert_false (power_in_flight (&cluster));
    assert_int_equal (0, power_size (&cluster, 9 * S, 2));
    assert_int_equal (0, power_post (&cluster, 9 * S, "spot-2", POWER_STOPPING, 0));
    assert_int_equal (0, power_post (&cluster, 9 * S, "spot-2", POWER_OFF, 0));
    assert_int_equal (0, power_post (&cluster, 9 * S, "spot-2", POWER_STARTING, 900 * S));
    assert_true (power_in_flight (&cluster));
    cluster_clear (&cluster);
}

/* The groups come in another order than before, while nodes that nobody ordered join one of them. */
static void nodes_join_groups_in_another_order (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group old[] = {power_group ("a", 4, 1), power_group ("b", 4, 1)};
    struct node_group new[] = {power_group ("b", 4, 1), power_group ("c", 4, 1),
                               power_group ("a", 4, 1)};
    for (int i = 0; i < 2; i++)
        old[i].min_nodes = old[i].nodes = 0;
    for (int i = 0; i < 3; i++)
        new[i].min_nodes = new[i].nodes = 0;
    assert_int_equal (0, power_node (&cluster, S, "c-0", 4));
    assert_int_equal (0, power_groups (&cluster, S, old, 2));
    assert_int_equal (0, power_node (&cluster, S, "b-0", 4));
    assert_int_equal (0, power_node (&cluster, S, "b-1", 4));
    cluster.power.goal = (struct goal){.kind = GOAL_COST, .limit = 1};
    struct event event = {.at_us = 2 * S,
                          .type = EVENT_GROUPS,
                          .job = -1,
                          .groups = {.list = new, .count = 3, .goal = cluster.power.goal}};
    assert_int_equal (0, cluster_apply (&cluster, &event, NULL));
    assert_int_equal (cluster.power.wanted[0], 2);
    assert_int_equal (cluster.power.wanted[1], 1);
    assert_int_equal (cluster.power.wanted[2], 0);
    cluster_clear (&cluster);
}

static void sizes_are_within_limits (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("spot", 4, 1);
    group.min_nodes = group.nodes = 1;
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    assert_int_equal (-EINVAL, power_size (&cluster, S, 0));
    assert_int_equal (-EINVAL, power_size (&cluster, S, 5));
    assert_int_equal (cluster.power.wanted[0], 1);
    assert_int_equal (cluster.power.resized_us, 0);
    assert_int_equal (0, power_size (&cluster, 2 * S, 4));
    assert_int_equal (cluster.power.wanted[0], 4);
    assert_int_equal (cluster.power.resized_us, 2 * S);
    assert_string_equal (cluster.power.reason, "a test");
    assert_true (power_in_flight (&cluster));
    cluster_clear (&cluster);
}

static void the_latest_utilities_are_kept (void **state)
{
    (void)state;
    struct cluster cluster = with_state (POWER_UP);
    struct event event = {.at_us = S, .type = EVENT_SIZE, .job = -1};
    for (int i = 0; i < 20; i++) {
        event.size.utility =
            i % 4 == 3 ? (double)NAN : i; /* of a round without jobs: not counted */
        assert_int_equal (0, cluster_apply (&cluster, &event, NULL));
    }
    assert_int_equal (cluster.power.utility_count, 15);
    assert_true (cluster.power.utilities[0] == 0 && cluster.power.utilities[14] == 18);
    event.size.utility = 20;
    assert_int_equal (0, cluster_apply (&cluster, &event, NULL));
    assert_int_equal (cluster.power.utility_count, 15);
    assert_true (cluster.power.utilities[0] == 1 && cluster.power.utilities[14] == 20);
    assert_int_equal (0, power_size (&cluster, S, 2)); /* they were of another size */
    assert_int_equal (cluster.power.utility_count, 0);
    cluster_clear (&cluster);
}

/* ---- GROUPS --------------------------------------------------------------------------------- */

static void nodes_are_not_forgotten (void **state)
{
    (void)state;
    for (int i = POWER_OFF; i < POWER_STATES; i++) {
        struct cluster cluster = with_state ((enum power_state)i),
                       before = with_state ((enum power_state)i);
        struct node_group group = power_group ("spot", 0, 1), other = power_group ("x", 4, 1);
        int expected = i == POWER_OFF ? 0 : -EINVAL;
        assert_int_equal (expected, power_groups (&cluster, S, NULL, 0));
        if (expected < 0) {
            assert_int_equal (-EINVAL,
                              power_groups (&cluster, S, &group, 1)); /* with fewer names */
            assert_int_equal (-EINVAL, power_groups (&cluster, S, &other, 1));
            clusters_equal (&before, &cluster);
            group.surplus_names = 1; /* the name stays */
            assert_int_equal (0, power_groups (&cluster, S, &group, 1));
            assert_int_equal (power_state_of (&cluster, "spot-0"), i);
            assert_int_equal (cluster.power.wanted[0], 0);
            /* Another group may take the node, or its own may be retired. */
            snprintf (other.names, sizeof (other.names), "spot-[0-3]");
            assert_int_equal (0, power_groups (&cluster, S, &other, 1));
            assert_int_equal (power_state_of (&cluster, "spot-0"), i);
            other.retired = true;
            assert_int_equal (0, power_groups (&cluster, S, &other, 1));
            assert_int_equal (cluster.power.wanted[0], 0);
            assert_int_equal (-EINVAL, power_size (&cluster, S, 1));
            assert_int_equal (-EINVAL, power_post (&cluster, S, "spot-1", POWER_STARTING, 9 * S));
        } else {
            assert_int_equal (cluster.node_power[0].group, -1);
            assert_int_equal (cluster.node_power[0].state, POWER_NONE);
        }
        cluster_clear (&before);
        cluster_clear (&cluster);
    }
}

static void nodes_join_a_group (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("spot", 4, 1);
    group.revocable = true;
    group.revocations_per_day = 8.64;
    assert_int_equal (0, power_node (&cluster, S, "spot-0", 4));
    /* It is gone, and somebody has resumed it. */
    struct event gone = {.at_us = S,
                         .type = EVENT_NODE,
                         .job = -1,
                         .node = {.name = "spot-1", .slots = 0, .available = true}};
    assert_int_equal (0, cluster_apply (&cluster, &gone, NULL));
    assert_int_equal (0, power_node (&cluster, S, "spot-4", 4));
    assert_int_equal (0, power_groups (&cluster, 2 * S, &group, 1));
    assert_int_equal (power_state_of (&cluster, "spot-0"), POWER_UP);
    assert_int_equal (power_state_of (&cluster, "spot-1"), POWER_OFF);
    assert_false (cluster.nodes[1].available);
    assert_int_equal (power_state_of (&cluster, "spot-4"), POWER_NONE);
    assert_int_equal (cluster.power.wanted[0], 1);
    assert_true (fabs (cluster.nodes[0].revocations_per_s - 1e-4) < 1e-12);
    assert_true (cluster.nodes[2].revocations_per_s == 0);
    for (int i = 0; i < 3; i++)
        assert_consistent (&cluster, cluster.nodes[i].name);
    /* A smaller size that is not carried out yet outlives the same groups. */
    assert_int_equal (0, power_size (&cluster, 2 * S, 0));
    assert_int_equal (0, power_groups (&cluster, 2 * S, &group, 1));
    assert_int_equal (cluster.power.wanted[0], 0);
    cluster_clear (&cluster);
}

static void names_of_nodes (void **state)
{
    (void)state;
    static const struct {
        const char *name, *names, *node;
        int most, index; /* -1: it is none of the group's */
    } cases[] = {
        {"spot", "", "spot-0", 2, 0},
        {"spot", "", "spot-1", 2, 1},
        {"spot", "", "spot-2", 2, -1},
        {"spot", "", "spot-01", 2, -1},
        {"spot", "", "spot-", 2, -1},
        {"spot", "", "spot-1x", 2, -1},
        {"spot", "", "spot1", 2, -1},
        {"spot", "", "spot--1", 2, -1},
        {"a", "gpu[001-032]", "gpu001", 32, 0},
        {"a", "gpu[001-032]", "gpu032", 32, 31},
        {"a", "gpu[001-032]", "gpu033", 32, -1},
        {"a", "gpu[001-032]", "gpu1", 32, -1},
        {"a", "gpu[001-032]", "gpu003", 2, -1},
        {"a", "gpu[001-032]", "a-0", 32, -1},
        {"a", "gpu[8-12]", "gpu8", 5, 0},
        {"a", "gpu[8-12]", "gpu12", 5, 4},
        {"a", "gpu[8-12]", "gpu08", 5, -1},
        {"a", "x1[0-9]", "x10", 10, 0},
        {"a", "x[0-999999]", "x1000000", 9, -1},
        {"spot", "", "spot-0", 0, -1},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct node_group group = power_group (cases[i].name, cases[i].most, 1);
        char name[NAME_SIZE];
        snprintf (group.names, sizeof (group.names), "%s", cases[i].names);
        assert_int_equal (node_group_check (&group, NULL, NULL), 0);
        if (node_group_index (&group, cases[i].node) != cases[i].index)
            fail_msg ("case %zu: %d", i, node_group_index (&group, cases[i].node));
        if (cases[i].index < 0)
            continue;
        node_group_node (&group, cases[i].index, name);
        assert_string_equal (name, cases[i].node);
        assert_int_equal (node_groups_find_node (&group, 1, name), 0);
    }
}

static void illegal_groups_are_refused (void **state)
{
    (void)state;
    static const char *const names[] = {
        "gpu",     "gpu[]",    "gpu[1]",      "gpu[1-]",  "gpu[2-1]", "[1-2]",         "gpu[1-2]x",
        "gpu[1-2", "g,u[1-2]", "gpu[1-2][3]", "g u[1-9]", "-x[1-9]",  "gpu[1-1234567]"};
    struct node_group good = power_group ("spot", 2, 1), group = good;
    assert_int_equal (node_group_check (&good, NULL, NULL), 0);
    for (size_t i = 0; i < COUNT (names); i++) {
        snprintf (group.names, sizeof (group.names), "%s", names[i]);
        if (node_group_check (&group, NULL, NULL) == 0)
            fail_msg ("%s", names[i]);
    }
    struct node_group bad[] = {good, good, good, good, good, good, good};
    bad[0].min_nodes = bad[0].nodes = 3;
    bad[1].nodes = 3;
    bad[2].min_nodes = 1;
    snprintf (bad[3].names, sizeof (bad[3].names), "gpu[1-1]");
    bad[4].notice_s = 1;
    memset (bad[5].name, 'x', 55);
    bad[6].min_nodes = bad[6].nodes = 1;
    bad[6].retired = true;
    for (size_t i = 0; i < COUNT (bad); i++)
        if (node_group_check (&bad[i], NULL, NULL) == 0)
            fail_msg ("group %zu", i);
}

/* By comparison of all names. */
static bool share_a_name (const struct node_group *a, const struct node_group *b)
{
    for (int i = 0; i < a->max_nodes; i++)
        for (int j = 0; j < b->max_nodes; j++) {
            char x[NAME_SIZE], y[NAME_SIZE];
            node_group_node (a, i, x);
            node_group_node (b, j, y);
            if (strcmp (x, y) == 0)
                return true;
        }
    return false;
}

static struct node_group random_names (struct rng *rng, const char *name)
{
    static const char *const prefixes[] = {"a", "a1", "a10", "a0", "a-", "b", "a1x"};
    struct node_group group = power_group (name, (int)rng_below (rng, 150), 1);
    int first = (int)rng_below (rng, 130), width = 1 + (int)rng_below (rng, 3);
    snprintf (group.names, sizeof (group.names), "%s[%0*d-%d]",
              prefixes[rng_below (rng, COUNT (prefixes))], rng_below (rng, 2) ? 1 : width, first,
              first + 150);
    return group;
}

static void groups_with_common_names_are_refused (void **state)
{
    (void)state;
    struct rng rng = rng_seed (9);
    int found = 0, count = soak_count (3000);
    for (int i = 0; i < count; i++) {
        struct cluster cluster = {0};
        struct node_group groups[] = {random_names (&rng, "x"), random_names (&rng, "y")};
        bool common = share_a_name (&groups[0], &groups[1]);
        found += common;
        if (power_groups (&cluster, 0, groups, 2) != (common ? -EINVAL : 0))
            fail_msg ("%s of %d and %s of %d: common names: %d", groups[0].names,
                      groups[0].max_nodes, groups[1].names, groups[1].max_nodes, common);
        cluster_clear (&cluster);
    }
    assert_true (count < 100 || (found > count / 50 && found < count));
    struct cluster cluster = {0};
    struct node_group twice[] = {power_group ("x", 0, 1), power_group ("x", 0, 1)};
    assert_int_equal (-EINVAL, power_groups (&cluster, 0, twice, 2));
    cluster_clear (&cluster);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (every_change_of_state),
        cmocka_unit_test (nodes_come_and_go),
        cmocka_unit_test (a_notice_is_not_forgotten),
        cmocka_unit_test (unexpected_nodes_are_adopted),
        cmocka_unit_test (a_failure_lowers_the_wanted_number),
        cmocka_unit_test (stuck_returns_do_not_count),
        cmocka_unit_test (replacements_are_not_in_flight),
        cmocka_unit_test (nodes_join_groups_in_another_order),
        cmocka_unit_test (sizes_are_within_limits),
        cmocka_unit_test (the_latest_utilities_are_kept),
        cmocka_unit_test (nodes_are_not_forgotten),
        cmocka_unit_test (nodes_join_a_group),
        cmocka_unit_test (names_of_nodes),
        cmocka_unit_test (illegal_groups_are_refused),
        cmocka_unit_test (groups_with_common_names_are_refused),
    };
    return cmocka_run_group_tests_name ("groups of nodes", tests, NULL, NULL);
}
