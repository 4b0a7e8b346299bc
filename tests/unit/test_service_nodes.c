/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of the service's nodes: what sinfo says is used, less what our own shares hold, belongs to others.  Where a share
 * of ours has changed a moment ago the numbers do not agree yet, on that node only.
 */
#include "unit.h"

#include "backend/slurm/service_private.h"
#include "base/clock.h"
#include "power_fixture.h"

#define SECOND_US INT64_C (1000000)

struct fixture {
    struct service service;
    struct cluster cluster; /* n0, n1, n2 */
};

static int set_up (void **state)
{
    struct fixture *test = calloc (1, sizeof (*test));
    if (!test)
        return -1;
    for (int i = 0; i < 3; i++) {
        struct event event = {.type = EVENT_NODE, .job = -1};
        snprintf (event.node.name, NAME_SIZE, "n%d", i);
        assert_int_equal (cluster_apply (&test->cluster, &event, NULL), 0);
    }
    test->service.slurm.cluster = &test->cluster;
    test->service.slurm.node_count = -1;
    test->service.config = wire_slurm_config_default ();
    *state = test;
    return 0;
}

static int tear_down (void **state)
{
    struct fixture *test = *state;
    service_nodes_clear (&test->service);
    free (test->service.slurm.nodes);
    cluster_clear (&test->cluster);
    free (test);
    return 0;
}

/* sinfo was asked at_us and wrote this text, and jobs were listed then. */
static void take (struct fixture *test, int64_t at_us, const struct slurm_nodes_query *query,
                  const char *text)
{
    struct service *service = &test->service;
    assert_int_equal (slurm_nodes_parse (query, text, strlen (text), &service->found, NULL), 0);
    service->has_found = true;
    service->found_began_us = service->slurm.listed_us = at_us;
    service_nodes_listed (service);
}

/* sinfo was asked at_us, and jobs were listed then: n0, n1 and n2 have four GPUs each, and this many are used. */
static void list_states (struct fixture *test, int64_t at_us, const int used[3],
                         const char *reservations, const char *const states[3])
{
    static const struct slurm_nodes_query query = {.gres = "gpu"};
    struct service *service = &test->service;
    char text[1024];
    int length = 0;
    for (int i = 0; i < 3; i++)
        length +=
            snprintf (text + length, sizeof (text) - (size_t)length,
                      "n%d|%s|gpu:a100:4|gpu:a100:%d(IDX:0)|10.0.0.%d|%d/12/0/16|4000|0|up|\n", i,
                      states[i], used[i], i + 1, used[i]);
    slurm_reservations_clear (&service->reservations);
    assert_int_equal (slurm_reservations_parse (reservations, strlen (reservations),
                                                &service->reservations, NULL),
                      0);
    take (test, at_us, &query, text);
    assert_int_equal (service->slurm.node_count, 3);
}

static void list (struct fixture *test, int64_t at_us, const int used[3], const char *reservations)
{
    list_states (test, at_us, used, reservations, (const char *const[]){"mixed", "mixed", "mixed"});
}

/* The slots that the cluster is told. */
static void check (struct fixture *test, int first, int second, int third)
{
    const int slots[] = {first, second, third};
    struct event event;
    while (service_next_node (&test->service, &test->cluster, &event))
        assert_int_equal (cluster_apply (&test->cluster, &event, NULL), 0);
    for (int i = 0; i < 3; i++) {
        const struct node *node = &test->cluster.nodes[i];
        assert_int_equal (node->available ? node->slots : 0, slots[i]);
    }
}

static void test_others (void **state)
{
    struct fixture *test = *state;
    list (test, clock_monotonic_us (), (const int[]){1, 0, 4}, "");
    check (test, 3, 4, 0);
    list (test, clock_monotonic_us (), (const int[]){0, 3, 0}, "");
    check (test, 4, 1, 4);
}

/* A node of a group whose slots others use is closed, not gone. */
static void test_full_node_of_a_group (void **state)
{
    struct fixture *test = *state;
    struct node_group group = power_group ("gpu", 3, 1);
    snprintf (group.names, sizeof (group.names), "n[0-2]");
    assert_int_equal (power_groups (&test->cluster, 0, &group, 1), 0);
    list (test, clock_monotonic_us (), (const int[]){0, 0, 0}, "");
    check (test, 4, 4, 4);
    list (test, clock_monotonic_us (), (const int[]){4, 1, 0}, "");
    check (test, 0, 3, 4);
    assert_int_equal (test->cluster.node_power[0].state, POWER_UP);
    list (test, clock_monotonic_us (), (const int[]){0, 0, 0}, "");
    check (test, 4, 4, 4);
    /* sinfo does not list it any more: it is gone, and returned. */
    test->service.details[0].there = false;
    test->service.slurm.nodes[0].slots = 0;
    test->service.slurm.nodes[0].available = false;
    check (test, 0, 4, 4);
    assert_int_equal (test->cluster.node_power[0].state, POWER_STOPPING);
}

static void test_change_of_one_node (void **state)
{
    struct fixture *test = *state;
    int64_t now_us = clock_monotonic_us ();
    list (test, now_us, (const int[]){0, 0, 0}, "");
    service_share_left (&test->service, 0);
    /* Slurm may still count what ended on n0; n1 and n2 are others' for certain. */
    list (test, clock_monotonic_us (), (const int[]){3, 2, 1}, "");
    check (test, 4, 2, 3);
    list (test, clock_monotonic_us () + 3 * SECOND_US, (const int[]){3, 0, 4}, "");
    check (test, 1, 4, 0);
}

static void test_own_shares (void **state)
{
    struct fixture *test = *state;
    int64_t now_us = clock_monotonic_us ();
    struct carried_share share = {.state = CARRIED_LISTED,
                                  .phase = SLURM_HELD,
                                  .since_us = now_us - 9 * SECOND_US,
                                  .phase_us = now_us - 9 * SECOND_US,
                                  .node = 1,
                                  .count = 2};
    struct carried_share *shares[] = {&share};
    list (test, now_us, (const int[]){0, 0, 0}, "");
    test->service.slurm.shares = shares;
    test->service.slurm.count = 1;
    list (test, now_us, (const int[]){1, 3, 0}, "");
    check (test, 3, 3, 4);
    share.phase_us = now_us; /* it has just begun to run */
    list (test, now_us, (const int[]){2, 4, 1}, "");
    check (test, 2, 3, 3);
    test->service.slurm.count = 0;
}

static void test_reserved (void **state)
{
    struct fixture *test = *state;
    static const char reservations[] = "ReservationName=theirs Nodes=n[1-2] State=ACTIVE\n"
                                       "ReservationName=later Nodes=n0 State=INACTIVE\n";
    int64_t now_us = clock_monotonic_us ();
    list (test, now_us, (const int[]){0, 1, 0}, reservations);
    check (test, 4, 0, 0);
    snprintf (test->service.config.reservation, NAME_SIZE, "theirs");
    list (test, now_us, (const int[]){0, 1, 0}, reservations);
    check (test, 4, 3, 4);
}

/* A share has waited for a minute for this reason: what becomes of it, of the node and of the share beside it. */
static void test_waiting_share (void **state)
{
    static const struct {
        const char *state, *reason;
        bool excused, limited, refused;
        int slots; /* of the node, when it has ended */
    } cases[] = {
        {"PENDING", "Resources", true, false, false, 1},
        {"PENDING", "PartitionDown", true, true, false, 4},
        {"PENDING", "JobHeldAdmin", true, true, false, 4},
        {"PENDING", "InvalidAccount", false, false, true, 4},
        {"CONFIGURING", "None", false, false, false, 4},
    };
    struct fixture *test = *state;
    struct service *service = &test->service;
    for (size_t i = 0; i < COUNT (cases); i++) {
        int64_t now_us = clock_monotonic_us ();
        struct generation generation = {.number = 1};
        struct carried_share share = {.name = "job.1.0",
                                      .generation = &generation,
                                      .state = CARRIED_LISTED,
                                      .phase = SLURM_COMING,
                                      .phase_us = now_us - 59 * SECOND_US,
                                      .node = 1,
                                      .count = 3},
                             beside = {.name = "other.1.0",
                                       .generation = &generation,
                                       .state = CARRIED_LISTED,
                                       .phase = SLURM_HELD,
                                       .phase_us = now_us - 99 * SECOND_US,
                                       .node = 1,
                                       .count = 1};
        struct carried_share *shares[] = {&share, &beside};
        struct slurm_job job = {.state = cases[i].state,
                                .phase = SLURM_COMING,
                                .user = "",
                                .reason = cases[i].reason,
                                .name = share.name,
                                .comment = "pollux-:"};
        struct slurm_jobs jobs = {.list = &job, .count = 1};
        for (int j = 0; service->details && j < 3; j++)
            service->details[j].limited_us = 0;
        list (test, now_us, (const int[]){0, 0, 0}, "");
        check (test, 4, 4, 4);
        service->slurm.shares = shares;
        service->slurm.count = 2;
        service_way.listed (service, &jobs);
        assert_int_equal (share.stop_us, 0); /* not yet a minute */
        share.phase_us -= 2 * SECOND_US;
        service_way.listed (service, &jobs);
        assert_int_equal (share.excused, cases[i].excused);
        assert_int_equal (share.limited, cases[i].limited);
        assert_int_equal (share.refused, cases[i].refused);
        assert_int_equal (share.stop_us > 0, cases[i].excused || cases[i].refused);
        /* The node has slots for both until it has ended, so that none of them is moved.  The next answer changes
         * nothing. */
        check (test, 4, 4, 4);
        share.generation = NULL;
        beside.excused = true; /* it is being ended, and is counted once */
        for (int j = 0; j < 2; j++) {
            check (test, 4, cases[i].slots, 4);
            list (test, clock_monotonic_us (), (const int[]){0, 1, 0}, "");
        }
        service->slurm.count = 0;
    }
    /* After two minutes all slots are back. */
    service->details[1].limited_us = clock_monotonic_us ();
    list (test, clock_monotonic_us (), (const int[]){0, 0, 0}, "");
    check (test, 4, 4, 4);
}

/* Slots for which no CPUs or no memory are left, by the defaults of the configuration, are not ours. */
static void test_room (void **state)
{
    static const struct {
        int cpus_used, memory_used_mb; /* of 16 and 4000 */
        int cpus, memory_mb;           /* per replica */
        int slots;
    } cases[] = {
        {0, 0, 0, 0, 4},     {16, 0, 0, 0, 0},   {14, 0, 0, 0, 2},       {8, 0, 4, 0, 2},
        {0, 3000, 0, 0, 4},  {0, 0, 0, 1000, 4}, {0, 3000, 0, 1000, 1},  {0, 3001, 0, 1000, 0},
        {15, 0, 1, 1000, 1}, {0, 0, 0, 2000, 2}, {20, 5000, 1, 1000, 0},
    };
    struct fixture *test = *state;
    for (size_t i = 0; i < COUNT (cases); i++) {
        static const struct slurm_nodes_query query = {.gres = "gpu"};
        char text[256];
        snprintf (text, sizeof (text), "n0|mixed|gpu:4|gpu:0|10.0.0.1|%d/0/0/16|4000|%d|up|\n",
                  cases[i].cpus_used, cases[i].memory_used_mb);
        test->service.config.defaults.cpus = cases[i].cpus;
        test->service.config.defaults.memory_mb = cases[i].memory_mb;
        take (test, clock_monotonic_us (), &query, text);
        assert_int_equal (test->service.slurm.nodes[0].slots, cases[i].slots);
    }
}

/* Nothing is ours while the partition is down, drained or inactive. */
static void test_closed_partition (void **state)
{
    static const struct slurm_nodes_query query = {.gres = "gpu"};
    static const char *const states[] = {"up", "down", "drain", "inact", "inactive", "up"};
    struct fixture *test = *state;
    for (size_t i = 0; i < COUNT (states); i++) {
        char text[256];
        snprintf (text, sizeof (text), "n0|idle|gpu:4|gpu:0|10.0.0.1|0/16/0/16|4000|0|%s|\n",
                  states[i]);
        take (test, clock_monotonic_us (), &query, text);
        assert_int_equal (test->service.slurm.nodes[0].slots, 4);
        assert_int_equal (test->service.slurm.nodes[0].available, strcmp (states[i], "up") == 0);
    }
}

/* A node with GPUs of two types has slots of the first one, or of the configured one.  Slurm is asked for this type. */
static void test_gres_type (void **state)
{
    static const struct {
        const char *gres, *used, *configured, *type;
        int slots;
    } cases[] = {
        {"gpu:a100:4,gpu:v100:2", "gpu:a100:1(IDX:0),gpu:v100:2(IDX:4-5)", NULL, "a100", 3},
        {"gpu:a100:4,gpu:v100:2", "gpu:a100:1(IDX:0),gpu:v100:0(IDX:N/A)", "v100", "v100", 2},
        {"gpu:4", "gpu:1(IDX:0)", NULL, "", 3},
    };
    struct fixture *test = *state;
    for (size_t i = 0; i < COUNT (cases); i++) {
        const struct slurm_nodes_query query = {.gres = "gpu", .type = cases[i].configured};
        char text[256];
        snprintf (text, sizeof (text), "n0|mixed|%s|%s|10.0.0.1|4/12/0/16|4000|0|up|\n",
                  cases[i].gres, cases[i].used);
        take (test, clock_monotonic_us (), &query, text);
        const struct node *node;
        const struct service_node *details = service_find_node (&test->service, "n0", &node);
        assert_non_null (details);
        assert_string_equal (details->gres_type, cases[i].type);
        assert_int_equal (node->slots, cases[i].slots);
    }
}

/* Nodes of more types than Pollux takes are left out. */
static void test_many_types (void **state)
{
    struct fixture *test = *state;
    static const struct slurm_nodes_query query = {.gres = "gpu"};
    char text[16 << 10];
    int length = 0;
    for (int i = 0; i < NODE_TYPES_LIMIT + 2; i++)
        length += snprintf (text + length, sizeof (text) - (size_t)length,
                            "n%d|mixed|gpu:t%d:4|gpu:t%d:0|10.0.0.%d|0/16/0/16|4000|0|up|\n", i, i,
                            i, i + 1);
    take (test, clock_monotonic_us (), &query, text);
    struct event event;
    while (service_next_node (&test->service, &test->cluster, &event))
        assert_int_equal (cluster_apply (&test->cluster, &event, NULL), 0);
    assert_int_equal (test->cluster.node_count, NODE_TYPES_LIMIT);
}

/* A node with which a share failed is not used until Slurm, asked later, has it again. */
static void test_failed_node (void **state)
{
    struct fixture *test = *state;
    static const int none[3] = {0};
    int64_t before_us = clock_monotonic_us ();
    list (test, before_us, none, "");
    service_way.node_failed (&test->service, 1);
    check (test, 4, 0, 4);
    list (test, before_us, none, ""); /* an answer of before */
    check (test, 4, 0, 4);
    /* Lost at once; others may be lost only because slurmctld starts. */
    list_states (test, clock_monotonic_us () + 1, none, "",
                 (const char *const[]){"idle*", "down", "idle"});
    check (test, 4, 0, 4);
    assert_int_equal (test->service.slurm.nodes[1].slots, 0);
    list (test, clock_monotonic_us () + 2, none, "");
    check (test, 4, 4, 4);
}

int main (void)
{
#define with_nodes(test) cmocka_unit_test_setup_teardown (test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        with_nodes (test_others),
        with_nodes (test_full_node_of_a_group),
        with_nodes (test_change_of_one_node),
        with_nodes (test_own_shares),
        with_nodes (test_reserved),
        with_nodes (test_failed_node),
        with_nodes (test_gres_type),
        with_nodes (test_many_types),
        with_nodes (test_waiting_share),
        with_nodes (test_room),
        with_nodes (test_closed_partition),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
