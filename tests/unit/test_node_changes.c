/* SPDX-License-Identifier: Apache-2.0 */
/* NODE events for nodes that appear, change, go and come back. */
#include "unit.h"

#include "backend/node_changes.h"

/* Apply all changes; returns their number. */
static int apply (struct cluster *cluster, const struct node *nodes, int count)
{
    struct node_changes changes = {.nodes = nodes, .count = count};
    struct event event;
    int events = 0;
    while (node_changes_next (&changes, cluster, &event) > 0) {
        event.at_us = cluster->now_us;
        assert_int_equal (cluster_apply (cluster, &event, NULL), 0);
        events++;
    }
    return events;
}

static void expect (const struct cluster *cluster, int node, int slots, bool available)
{
    assert_int_equal (cluster->nodes[node].slots, slots);
    assert_int_equal (cluster->nodes[node].available, available);
}

static void nodes_come_and_go (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node nodes[] = {{.name = "a", .type = "x", .slots = 4, .available = true},
                           {.name = "b", .type = "x", .slots = 4, .available = true},
                           {.name = "c", .type = "", .slots = 0}};
    assert_int_equal (apply (&cluster, nodes, 3), 2); /* c has no slots: it does not appear */
    assert_int_equal (cluster.node_count, 2);
    assert_int_equal (apply (&cluster, nodes, 3), 0);
    nodes[1].slots = 0; /* b is gone for now, a has fewer */
    nodes[0].slots = 3;
    assert_int_equal (apply (&cluster, nodes, 3), 2);
    expect (&cluster, 0, 3, true);
    expect (&cluster, 1, 0, false);
    assert_string_equal (cluster.nodes[1].type, "x");
    assert_int_equal (apply (&cluster, nodes, 1), 0); /* b is not listed: the same */
    nodes[1].slots = 4;
    nodes[2].slots = 2;
    assert_int_equal (apply (&cluster, nodes, 3), 2);
    expect (&cluster, 1, 4, true);
    expect (&cluster, 2, 2, true);
    assert_int_equal (apply (&cluster, nodes, 0), 3);
    cluster_clear (&cluster);
}

static void a_drained_node_stays_drained (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node node = {.name = "a", .type = "x", .slots = 4, .available = true};
    assert_int_equal (apply (&cluster, &node, 1), 1);
    cluster.nodes[0].available = false;
    assert_int_equal (apply (&cluster, &node, 1), 0);
    node.slots = 2;
    assert_int_equal (apply (&cluster, &node, 1), 1);
    expect (&cluster, 0, 2, false);
    cluster_clear (&cluster);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (nodes_come_and_go),
        cmocka_unit_test (a_drained_node_stays_drained),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
