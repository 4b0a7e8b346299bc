/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From wanted numbers to orders and returns.  Random sequences of sizes, jobs, notices, nodes that come late or never: a
 * provider that counts what was ordered finds that nothing is ordered twice and nothing is forgotten.
 */
#include "unit.h"

#include "power_fixture.h"
#include "scaling/power_next.h"

static const int64_t S = 1000000;

static struct event next (const struct cluster *cluster, int64_t now_us)
{
    struct event event = {.type = EVENT_CANCEL}, same;
    int found = power_next (cluster, now_us, &event);
    assert_int_equal (found, power_next (cluster, now_us, &same));
    if (found == 0)
        return (struct event){.type = EVENT_CANCEL};
    assert_int_equal (found, 1);
    assert_string_equal (event.power.node, same.power.node);
    assert_int_equal (event.power.state, same.power.state);
    assert_int_equal (event.power.deadline_us, same.power.deadline_us);
    assert_string_equal (event.power.detail, same.power.detail);
    assert_int_equal (event.type, EVENT_POWER);
    assert_int_equal (event.at_us, now_us);
    return event;
}

static void expect (struct cluster *cluster, int64_t now_us, const char *node,
                    enum power_state state, int64_t deadline_us)
{
    struct event event = next (cluster, now_us);
    assert_int_equal (event.type, EVENT_POWER);
    assert_string_equal (event.power.node, node);
    assert_int_equal (event.power.state, state);
    assert_int_equal (event.power.deadline_us, deadline_us);
    assert_int_equal (0, cluster_apply (cluster, &event, NULL));
}

static void expect_nothing (const struct cluster *cluster, int64_t now_us)
{
    assert_int_equal (next (cluster, now_us).type, EVENT_CANCEL);
}

/* ---- Examples ------------------------------------------------------------------------------- */

static void orders_and_returns (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group groups[] = {power_group ("a", 3, 1), power_group ("b", 3, 1)};
    expect_nothing (&cluster, S);
    assert_int_equal (0, power_groups (&cluster, S, groups, 2));
    expect_nothing (&cluster, S);
    assert_int_equal (INT64_MAX, power_due_us (&cluster));
    assert_int_equal (0, power_size (&cluster, S, 2));
    int64_t deadline_us = S + 840 * S; /* three times 180 s, and five minutes */
    expect (&cluster, S, "a-0", POWER_STARTING, deadline_us);
    expect (&cluster, S, "a-1", POWER_STARTING, deadline_us);
    expect (&cluster, S, "b-0", POWER_STARTING, deadline_us);
    expect (&cluster, S, "b-1", POWER_STARTING, deadline_us);
    expect_nothing (&cluster, S);
    assert_int_equal (deadline_us, power_due_us (&cluster));
    /* One node fewer: the last order is cancelled; a node that is up is drained. */
    assert_int_equal (0, power_node (&cluster, 2 * S, "b-0", 4));
    assert_int_equal (0, power_node (&cluster, 2 * S, "b-1", 4));
    assert_int_equal (0, power_size (&cluster, 2 * S, 1));
    expect (&cluster, 2 * S, "a-1", POWER_STOPPING, 0);
    expect (&cluster, 2 * S, "b-1", POWER_DRAINING, 0);
    expect (&cluster, 2 * S, "b-1", POWER_STOPPING, 0);
    expect_nothing (&cluster, 2 * S);
    /* While a node stops, another one is ordered instead. */
    assert_int_equal (0, power_size (&cluster, 3 * S, 2));
    expect (&cluster, 3 * S, "a-2", POWER_STARTING, 843 * S);
    expect (&cluster, 3 * S, "b-2", POWER_STARTING, 843 * S);
    expect_nothing (&cluster, 3 * S);
    cluster_clear (&cluster);
}

/* A group in which nothing may be ordered delays no other; what it has too many is returned all the same. */
static void held_groups (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group groups[] = {power_group ("a", 3, 1), power_group ("b", 3, 1)};
    struct event event;
    assert_int_equal (0, power_groups (&cluster, S, groups, 2));
    assert_int_equal (0, power_size (&cluster, S, 1));
    assert_int_equal (1, power_next_except (&cluster, 1, S, &event));
    assert_string_equal (event.power.node, "b-0");
    assert_int_equal (0, power_next_except (&cluster, 3, S, &event));
    expect (&cluster, S, "a-0", POWER_STARTING, 841 * S);
    assert_int_equal (0, power_size (&cluster, S, 0));
    assert_int_equal (1, power_next_except (&cluster, 3, S, &event));
    assert_string_equal (event.power.node, "a-0");
    assert_int_equal (event.power.state, POWER_STOPPING);
    cluster_clear (&cluster);
}

/* After a maximum was lowered the nodes beyond it are not ordered again. */
static void surplus_names_are_not_ordered (void **state)
{
    (void)state;
    static const char *const names[] = {"a-0", "a-1", "a-2"};
    struct cluster cluster = {0};
    struct node_group group = power_group ("a", 3, 1);
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    for (int i = 0; i < 3; i++)
        assert_int_equal (0, power_node (&cluster, S, names[i], 4));
    power_job (&cluster, S, "ann", false, 0, 1);
    assert_int_equal (0, power_post (&cluster, S, "a-0", POWER_DRAINING, 0));
    assert_int_equal (0, power_post (&cluster, S, "a-1", POWER_STOPPING, 0));
    assert_int_equal (0, power_post (&cluster, S, "a-1", POWER_OFF, 0));
    assert_int_equal (0, power_post (&cluster, S, "a-2", POWER_STOPPING, 0));
    assert_string_equal (next (&cluster, S).power.node, "a-1"); /* three are wanted */
    group.max_nodes = group.nodes = 1;
    group.surplus_names = 2;
    assert_int_equal (0, power_groups (&cluster, 2 * S, &group, 1));
    assert_int_equal (cluster.power.wanted[0], 1);
    expect_nothing (&cluster, 2 * S); /* a-0 has still a job */
    power_exit (&cluster, 3 * S, 0);
    expect (&cluster, 3 * S, "a-0", POWER_STOPPING, 0);
    assert_int_equal (0, power_post (&cluster, 3 * S, "a-0", POWER_OFF, 0));
    expect (&cluster, 3 * S, "a-0", POWER_STARTING, 843 * S);
    cluster_clear (&cluster);
}

static void failures_wait_longer_each_time (void **state)
{
    (void)state;
    static const int waits_s[] = {60, 120, 240, 480, 960, 1920, 3600, 3600, 3600};
    struct cluster cluster = {0};
    struct node_group group = power_group ("a", 3, 1);
    int64_t now_us = S;
    group.min_nodes = group.nodes = 1;
    assert_int_equal (0, power_groups (&cluster, now_us, &group, 1));
    for (size_t i = 0; i < COUNT (waits_s); i++) {
        expect (&cluster, now_us, "a-0", POWER_STARTING, now_us + 840 * S);
        now_us += 840 * S;
        expect_nothing (&cluster, now_us - 1);
        expect (&cluster, now_us, "a-0", POWER_FAILED, now_us + waits_s[i] * S);
        assert_int_equal (power_due_us (&cluster), now_us + waits_s[i] * S);
        now_us += waits_s[i] * S;
        expect_nothing (&cluster, now_us - 1); /* blocked */
        /* If it could not be returned until then, another one is ordered. */
        assert_string_equal (next (&cluster, now_us).power.node, "a-1");
        assert_int_equal (0, power_post (&cluster, now_us, "a-0", POWER_OFF, 0));
    }
    cluster_clear (&cluster);
}

/* The provider delivers nothing, and failed nodes cannot be returned: each failure counts, whatever the name.  After a node has
 * come the next one is the first again. */
static void failures_of_several_names (void **state)
{
    (void)state;
    static const char *const names[] = {"a-0", "a-1", "a-2"};
    struct cluster cluster = {0};
    struct node_group group = power_group ("a", 4, 1);
    int64_t now_us = S;
    group.min_nodes = group.nodes = 1;
    assert_int_equal (0, power_groups (&cluster, now_us, &group, 1));
    for (int i = 0; i < 3; i++) {
        expect (&cluster, now_us, names[i], POWER_STARTING, now_us + 840 * S);
        now_us += 840 * S;
        expect (&cluster, now_us, names[i], POWER_FAILED, now_us + (60 << i) * S);
        now_us += (60 << i) * S;
    }
    expect (&cluster, now_us, "a-3", POWER_STARTING, now_us + 840 * S);
    assert_int_equal (0, power_node (&cluster, now_us, "a-3", 4));
    assert_int_equal (0, power_post (&cluster, now_us, "a-0", POWER_OFF, 0));
    assert_int_equal (0, power_size (&cluster, now_us, 2));
    expect (&cluster, now_us, "a-0", POWER_STARTING, now_us + 840 * S);
    now_us += 840 * S;
    expect (&cluster, now_us, "a-0", POWER_FAILED, now_us + 120 * S);
    cluster_clear (&cluster);
}

/* Orders that were made together and fail together are one failure. */
static void failures_of_one_size_count_once (void **state)
{
    (void)state;
    static const char *const names[] = {"a-0", "a-1", "a-2", "a-3"};
    struct cluster cluster = {0};
    struct node_group group = power_group ("a", 4, 1);
    int64_t now_us = S;
    group.min_nodes = group.nodes = 4;
    assert_int_equal (0, power_groups (&cluster, now_us, &group, 1));
    for (int wait_s = 60; wait_s <= 240; wait_s *= 2) {
        for (size_t i = 0; i < COUNT (names); i++)
            expect (&cluster, now_us, names[i], POWER_STARTING, now_us + 840 * S);
        now_us += 840 * S;
        for (size_t i = 0; i < COUNT (names); i++) {
            expect (&cluster, now_us, names[i], POWER_FAILED, now_us + wait_s * S);
            if (i % 2 == 0) /* returned before the next one fails */
                assert_int_equal (0, power_post (&cluster, now_us, names[i], POWER_OFF, 0));
        }
        now_us += wait_s * S;
        assert_int_equal (0, power_post (&cluster, now_us, "a-1", POWER_OFF, 0));
        assert_int_equal (0, power_post (&cluster, now_us, "a-3", POWER_OFF, 0));
    }
    cluster_clear (&cluster);
}

static void notices_end_at_their_deadline (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("a", 3, 1);
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    assert_int_equal (0, power_node (&cluster, S, "a-0", 4));
    power_job (&cluster, S, "ann", true, 0, 2);
    assert_int_equal (0, power_post (&cluster, S, "a-0", POWER_DRAINING, 121 * S));
    expect (&cluster, S, "a-1", POWER_STARTING, 841 * S); /* in its place */
    expect_nothing (&cluster, 120 * S);
    assert_int_equal (power_due_us (&cluster), 121 * S);
    expect (&cluster, 121 * S, "a-0", POWER_STOPPING, 0);
    expect_nothing (&cluster, 122 * S);
    cluster_clear (&cluster);
}

/* A job that may not be moved is stopped so long before the deadline as it may take to save; at once if there is less time. */
static void graces_end_at_the_deadline (void **state)
{
    (void)state;
    static const struct {
        bool preemptible;
        double grace_s;
        int stop_s, deadline_s;
    } rows[] = {{true, 30, 121, 0}, {false, 0, 121, 0}, {false, 30, 91, 121}, {false, 500, 1, 121}};
    for (size_t i = 0; i < COUNT (rows); i++) {
        struct cluster cluster = {0};
        struct node_group group = power_group ("a", 1, 1);
        assert_int_equal (0, power_groups (&cluster, S, &group, 1));
        assert_int_equal (0, power_node (&cluster, S, "a-0", 4));
        power_job (&cluster, S, "ann", rows[i].preemptible, 0, 2);
        cluster.jobs[0]->launch->grace_s = rows[i].grace_s;
        assert_int_equal (0, power_post (&cluster, S, "a-0", POWER_DRAINING, 121 * S));
        if (rows[i].stop_s > 1) {
            assert_int_equal (power_due_us (&cluster), rows[i].stop_s * S);
            expect_nothing (&cluster, rows[i].stop_s * S - 1);
        }
        expect (&cluster, rows[i].stop_s * S, "a-0", POWER_STOPPING, rows[i].deadline_s * S);
        expect_nothing (&cluster, rows[i].stop_s * S);
        cluster_clear (&cluster);
    }
}

/* The node in the place of one that leaves is ordered when the budget pays it: after the other is off. */
static void notices_keep_the_budget (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("a", 3, 1);
    struct event groups = {.at_us = S,
                           .type = EVENT_GROUPS,
                           .job = -1,
                           .groups = {&group, 1, {.kind = GOAL_BUDGET, .limit = 2}}};
    assert_int_equal (0, cluster_apply (&cluster, &groups, NULL));
    assert_int_equal (0, power_size (&cluster, S, 2));
    expect (&cluster, S, "a-0", POWER_STARTING, 841 * S);
    expect (&cluster, S, "a-1", POWER_STARTING, 841 * S);
    assert_int_equal (0, power_node (&cluster, 2 * S, "a-0", 4));
    assert_int_equal (0, power_node (&cluster, 2 * S, "a-1", 4));
    power_job (&cluster, 2 * S, "ann", true, 0, 2);
    assert_int_equal (0, power_post (&cluster, 3 * S, "a-0", POWER_DRAINING, 123 * S));
    expect_nothing (&cluster, 122 * S);
    assert_false (power_in_flight (&cluster));
    expect (&cluster, 123 * S, "a-0", POWER_STOPPING, 0);
    expect_nothing (&cluster, 123 * S);
    assert_int_equal (0, power_node (&cluster, 124 * S, "a-0", 0));
    assert_int_equal (0, power_post (&cluster, 125 * S, "a-0", POWER_OFF, 0));
    expect (&cluster, 125 * S, "a-0", POWER_STARTING, 965 * S);
    cluster_clear (&cluster);
}

/* A job that may not be moved keeps its node, but the size does not wait for it for ever. */
static void long_drains (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("a", 3, 1);
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    assert_int_equal (0, power_node (&cluster, S, "a-0", 4));
    power_job (&cluster, S, "ann", false, 0, 2);
    assert_int_equal (0, power_size (&cluster, S, 0));
    expect (&cluster, S, "a-0", POWER_DRAINING, 0);
    assert_true (node_power_in_flight (&cluster.power, cluster.node_power, 1, 600 * S));
    assert_false (node_power_in_flight (&cluster.power, cluster.node_power, 1, 601 * S));
    cluster_clear (&cluster);
}

static void victims (void **state)
{
    (void)state;
    struct cluster cluster = {0};
    struct node_group group = power_group ("a", 5, 1);
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    for (int i = 0; i < 5; i++) {
        char name[NAME_SIZE];
        node_group_node (&group, i, name);
        assert_int_equal (0, power_node (&cluster, S, name, 4));
    }
    power_job (&cluster, S, "ann", false, 4, 1); /* may not be moved */
    power_job (&cluster, S, "ann", true, 0, 3);
    power_job (&cluster, S, "ann", true, 0, 1);
    power_job (&cluster, S, "ann", true, 1, 3);
    power_job (&cluster, S, "ann", true, 2, 3);
    int64_t loads[5];
    power_loads ((const struct job *const *)cluster.live.jobs, 5, 5, loads);
    assert_int_equal (power_least_loaded (cluster.node_power, 5, loads, 0), 3);
    assert_int_equal (power_least_loaded (cluster.node_power, 5, loads, 1), -1);
    assert_int_equal (0, power_size (&cluster, S, 0));
    expect (&cluster, S, "a-3", POWER_DRAINING, 0);
    expect (&cluster, S, "a-3", POWER_STOPPING, 0); /* it is empty */
    expect (&cluster, S, "a-2", POWER_DRAINING, 0);
    expect (&cluster, S, "a-1", POWER_DRAINING, 0);
    expect (&cluster, S, "a-0", POWER_DRAINING, 0);
    expect (&cluster, S, "a-4", POWER_DRAINING, 0);
    expect_nothing (&cluster, S);
    power_exit (&cluster, 2 * S, 1);
    expect_nothing (&cluster, 2 * S);
    power_exit (&cluster, 2 * S, 2);
    expect (&cluster, 2 * S, "a-0", POWER_STOPPING, 0);
    cluster_clear (&cluster);
}

/* ---- Properties ----------------------------------------------------------------------------- */

enum { GROUPS = 2, MOST = 5 };

/* A provider of nodes, which counts what it was asked for, and the jobs. */
struct world {
    struct rng rng;
    struct cluster cluster;
    struct node_group groups[GROUPS];
    bool ordered[GROUPS * MOST]; /* it exists, or will */
    int64_t now_us;
    bool end;   /* nothing is to be left */
    int budget; /* per hour; 0: none */
    int dear;   /* orders that nearly use it up */
};

/* Declare the groups, with the budget. */
static void declare (struct world *world)
{
    struct event event = {.at_us = world->now_us,
                          .type = EVENT_GROUPS,
                          .job = -1,
                          .groups = {world->groups, GROUPS, {.kind = GOAL_FIXED}}};
    if (world->budget > 0)
        event.groups.goal = (struct goal){.kind = GOAL_BUDGET, .limit = world->budget};
    assert_int_equal (0, cluster_apply (&world->cluster, &event, NULL));
}

static int number_of (const struct world *world, const char *name)
{
    int group = node_groups_find_node (world->groups, GROUPS, name);
    return MOST * group + node_group_index (&world->groups[group], name);
}

static bool chance (struct world *world, int of)
{
    return rng_below (&world->rng, (uint64_t)of) == 0;
}

/* What is paid or ordered, per hour. */
static double price_of (const struct world *world)
{
    double price = 0;
    for (int i = 0; i < world->cluster.node_count; i++) {
        const struct node_power *power = &world->cluster.node_power[i];
        bool stops = power->state == POWER_STOPPING && power->came;
        if (stops || power->state == POWER_STARTING || power->state == POWER_UP ||
            power->state == POWER_DRAINING)
            price += world->groups[power->group].price_per_node_hour;
    }
    return price;
}

static void assert_least_used (const struct world *world, int victim)
{
    const struct cluster *cluster = &world->cluster;
    int group = cluster->node_power[victim].group;
    int replicas[GROUPS * MOST + 1] = {0}, pinned[GROUPS * MOST + 1] = {0};
    for (int i = 0; i < cluster->live.count; i++) {
        const struct job *job = cluster->live.jobs[i];
        for (int j = 0; j < job->placement.count; j++) {
            replicas[job->placement.shares[j].node] += job->placement.shares[j].replicas;
            pinned[job->placement.shares[j].node] += !job->spec.preemptible;
        }
    }
    for (int i = 0; i < cluster->node_count; i++)
        if (cluster->node_power[i].group == group && cluster->node_power[i].state == POWER_UP)
            assert_true (pinned[victim] < pinned[i] ||
                         (pinned[victim] == pinned[i] && replicas[victim] <= replicas[i]));
}

/* What power_next says, before it is applied. */
static void check_event (struct world *world, const struct event *event)
{
    const struct cluster *cluster = &world->cluster;
    int node = cluster_find_node (cluster, event->power.node);
    const struct node_power *power = node < 0 ? NULL : &cluster->node_power[node];
    int number = number_of (world, event->power.node), group = number / MOST;
    assert_int_equal (0, cluster_check (cluster, event, NULL));
    switch (event->power.state) {
    case POWER_STARTING:
        assert_false (world->ordered[number]);
        assert_false (power_blocked (cluster, group, world->now_us));
        assert_true (power_ordered (cluster, group) < cluster->power.wanted[group]);
        assert_true (cluster->power.wanted[group] <= node_group_most (&world->groups[group]));
        assert_true (event->power.deadline_us > world->now_us);
        if (power_ordered (cluster, group) >= world->groups[group].min_nodes)
            assert_true (world->budget == 0 ||
                         price_of (world) + world->groups[group].price_per_node_hour <=
                             world->budget);
        world->dear += world->budget > 0 && price_of (world) + 2 > world->budget - 2;
        world->ordered[number] = true;
        break;
    case POWER_FAILED:
        assert_int_equal (power->state, POWER_STARTING);
        assert_true (power->deadline_us <= world->now_us);
        assert_true (event->power.deadline_us >= world->now_us + 60 * S);
        break;
    case POWER_DRAINING:
        assert_true (power_ordered (cluster, group) > cluster->power.wanted[group]);
        assert_least_used (world, node);
        break;
    case POWER_STOPPING:
        assert_true (power->state == POWER_STARTING || power->state == POWER_DRAINING);
        break;
    default:
        fail_msg ("%s is not its to say", power_names[event->power.state]);
    }
}

/* Carry out all that comes next. */
static void settle (struct world *world)
{
    struct event event;
    for (int i = 0; (event = next (&world->cluster, world->now_us)).type == EVENT_POWER; i++) {
        assert_true (i < 4 * GROUPS * MOST); /* it ends */
        check_event (world, &event);
        assert_int_equal (0, cluster_apply (&world->cluster, &event, NULL));
    }
    /* Nothing comes by itself before it is due. */
    int64_t due_us = power_due_us (&world->cluster);
    if (due_us < INT64_MAX)
        expect_nothing (&world->cluster, due_us > world->now_us ? due_us - 1 : world->now_us);
}

static void happen_to_node (struct world *world, int node)
{
    struct cluster *cluster = &world->cluster;
    const struct node_power *power = &cluster->node_power[node];
    char name[NAME_SIZE];
    memcpy (name, cluster->nodes[node].name, sizeof (name));
    int64_t now_us = world->now_us, notice_us = now_us + 100 * S;
    switch (power->state) {
    case POWER_STARTING: /* half of them never come */
        if ((node + (int)(power->since_us / S)) % 2)
            assert_int_equal (0, power_node (cluster, now_us, name, 4));
        break;
    case POWER_UP:
        if (world->end)
            break;
        if (chance (world, 8)) /* it vanishes */
            assert_int_equal (0, power_node (cluster, now_us, name, 0));
        else if (chance (world, 8)) /* notice */
            assert_int_equal (0, power_post (cluster, now_us, name, POWER_DRAINING, notice_us));
        else
            power_job (cluster, now_us, "ann", !chance (world, 3), node,
                       1 + (int)rng_below (&world->rng, 3));
        break;
    case POWER_FAILED:
        if (power->deadline_us > now_us)
            break;
        /* fall through */
    case POWER_STOPPING:
        assert_int_equal (0, power_post (cluster, now_us, name, POWER_OFF, 0));
        world->ordered[number_of (world, name)] = false;
        break;
    default:
        break;
    }
}

static void happen (struct world *world)
{
    struct cluster *cluster = &world->cluster;
    int what = (int)rng_below (&world->rng, 8);
    world->now_us += (int64_t)rng_below (&world->rng, chance (world, 5) ? 1000 : 20) * S;
    if (what == 0 && !world->end) {
        assert_int_equal (
            0, power_size (cluster, world->now_us, 1 + (int)rng_below (&world->rng, MOST - 1)));
    } else if (what < 3 && cluster->live.count > 0) {
        int job = (int)rng_below (&world->rng, (uint64_t)cluster->live.count);
        power_exit (cluster, world->now_us, cluster->live.indices[job]);
    } else if (cluster->node_count > 0) {
        happen_to_node (world, (int)rng_below (&world->rng, (uint64_t)cluster->node_count));
    }
}

static void assert_counted (const struct world *world)
{
    const struct cluster *cluster = &world->cluster;
    int there[GROUPS] = {0};
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node_power *power = &cluster->node_power[i];
        bool exists = power->state != POWER_OFF;
        assert_int_equal (exists, world->ordered[number_of (world, cluster->nodes[i].name)]);
        there[power->group] += exists;
    }
    for (int i = 0; i < GROUPS; i++)
        assert_true (there[i] <= world->groups[i].max_nodes);
}

static bool all_off (const struct cluster *cluster)
{
    for (int i = 0; i < cluster->node_count; i++)
        if (cluster->node_power[i].state != POWER_OFF)
            return false;
    return true;
}

/* With a budget, every other time, no order exceeds it. */
static void nothing_is_ordered_twice_or_forgotten (void **state)
{
    (void)state;
    int64_t boots = 0;
    int dear = 0;
    for (int i = 0; i < soak_count (20000); i++) {
        struct world world = {.rng = rng_seed ((uint64_t)i), .now_us = S};
        world.budget = i % 2 ? 1 + (int)rng_below (&world.rng, 10) : 0;
        world.groups[0] = power_group ("a", MOST, 1);
        world.groups[1] = power_group ("b", MOST - 1, 2);
        world.groups[0].min_nodes = world.groups[0].nodes = 1;
        declare (&world);
        for (int step = 0; step < 60; step++) {
            happen (&world);
            if (!chance (&world, 3)) /* not after each event: the daemon may be down */
                settle (&world);
            assert_counted (&world);
        }
        boots += world.cluster.power.boots;
        dear += world.dear;
        /* The groups are not configured any more: everything ends, and is returned. */
        world.end = world.groups[0].retired = world.groups[1].retired = true;
        world.groups[0].min_nodes = world.groups[0].nodes = 0;
        declare (&world);
        for (int step = 0; !all_off (&world.cluster); step++) {
            assert_true (step < 10000);
            settle (&world);
            happen (&world);
            assert_counted (&world);
        }
        for (int j = 0; j < GROUPS * MOST; j++)
            assert_false (world.ordered[j]);
        settle (&world);
        assert_true (all_off (&world.cluster));
        cluster_clear (&world.cluster);
    }
    assert_true (boots > 0 && dear > 0);
}

/* 1000 nodes, 5000 jobs, 100 nodes to drain: the test would not end soon if each victim cost nodes x jobs. */
static void large_clusters (void **state)
{
    (void)state;
    enum { NODES = 1000, JOBS = 5000, DRAINED = 100 };
    struct cluster cluster = {0};
    struct node_group group = power_group ("a", NODES, 1);
    assert_int_equal (0, power_groups (&cluster, S, &group, 1));
    for (int i = 0; i < NODES; i++) {
        char name[NAME_SIZE];
        node_group_node (&group, i, name);
        assert_int_equal (0, power_node (&cluster, S, name, 8));
    }
    for (int i = 0; i < JOBS; i++)
        power_job (&cluster, S, "ann", i % 7 > 0, i % NODES, 1);
    assert_int_equal (0, power_size (&cluster, S, NODES - DRAINED));
    int drained = 0;
    for (struct event event; (event = next (&cluster, S)).type == EVENT_POWER; drained++) {
        assert_int_equal (event.power.state, POWER_DRAINING);
        assert_int_equal (0, cluster_apply (&cluster, &event, NULL));
    }
    assert_int_equal (drained, DRAINED);
    cluster_clear (&cluster);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (orders_and_returns),
        cmocka_unit_test (held_groups),
        cmocka_unit_test (surplus_names_are_not_ordered),
        cmocka_unit_test (failures_wait_longer_each_time),
        cmocka_unit_test (failures_of_several_names),
        cmocka_unit_test (failures_of_one_size_count_once),
        cmocka_unit_test (notices_end_at_their_deadline),
        cmocka_unit_test (graces_end_at_the_deadline),
        cmocka_unit_test (notices_keep_the_budget),
        cmocka_unit_test (long_drains),
        cmocka_unit_test (victims),
        cmocka_unit_test (nothing_is_ordered_twice_or_forgotten),
        cmocka_unit_test (large_clusters),
    };
    return cmocka_run_group_tests_name ("power_next", tests, NULL, NULL);
}
