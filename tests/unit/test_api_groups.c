/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes about groups of nodes and costs: nodes that come, leave and are gone, what the answers say about groups, and
 * costs by owner and month.
 */
#include "unit.h"
#include "api_fixture.h"
#include "power_fixture.h"

#include <math.h>

static const int64_t S = 1000000;
static const char as_json[] = "application/json";

/* Two groups beside the nodes n0 and n1: spot-0 to spot-3 of 4 a100 at 8 per hour, and gpu01 to gpu02 without a type and a
 * price. */
static const struct node_group groups[] = {
    {.name = "spot",
     .type = "a100",
     .slots_per_node = 4,
     .max_nodes = 4,
     .boot_s = 60,
     .price_per_node_hour = 8,
     .revocable = true,
     .notice_s = 120},
    {.name = "rack", .names = "gpu[01-02]", .slots_per_node = 2, .max_nodes = 2},
};

static void take (struct api_fixture *fixture, struct event *event)
{
    struct pollux_error err = {""};
    if (api_fixture_take (fixture, event, &err) < 0)
        fail_msg ("%s", err.text);
    api_fixture_step (fixture);
}

static int open_fixture (void **state)
{
    struct api_fixture *fixture = calloc (1, sizeof (*fixture));
    struct event event = {.type = EVENT_GROUPS,
                          .job = -1,
                          .groups = {.list = groups,
                                     .count = 2,
                                     .goal = {.kind = GOAL_BAND, .low = 0.25, .high = 0.75}}};
    api_fixture_open (fixture, 2, 4);
    take (fixture, &event);
    *state = fixture;
    return 0;
}

static int close_fixture (void **state)
{
    api_fixture_close (*state);
    free (*state);
    return 0;
}

static void wait_s (struct api_fixture *fixture, int64_t seconds)
{
    fixture->cluster_fixture.now_us += seconds * S;
}

static void set_power (struct api_fixture *fixture, const char *node, enum power_state state,
                       int64_t deadline_us)
{
    struct event event = {
        .type = EVENT_POWER, .job = -1, .power = {.state = state, .deadline_us = deadline_us}};
    snprintf (event.power.node, sizeof (event.power.node), "%s", node);
    take (fixture, &event);
}

static void set_size (struct api_fixture *fixture, int spot, const char *reason)
{
    struct event event = {.type = EVENT_SIZE,
                          .job = -1,
                          .size = {.utility = 0.5, .resize = true, .nodes = {spot, 0}}};
    snprintf (event.size.reason, sizeof (event.size.reason), "%s", reason);
    take (fixture, &event);
}

static const struct node_power *power_of (struct api_fixture *fixture, const char *name)
{
    const struct cluster *cluster = &fixture->cluster_fixture.cluster;
    int node = cluster_find_node (cluster, name);
    assert_true (node >= 0);
    return &cluster->node_power[node];
}

static const struct node *node_of (struct api_fixture *fixture, const char *name)
{
    const struct cluster *cluster = &fixture->cluster_fixture.cluster;
    const struct node *node = node_find (cluster->nodes, cluster->node_count, name);
    assert_non_null (node);
    return node;
}

static struct reply ask (struct api_fixture *fixture, const char *method, const char *target,
                         const char *body)
{
    return api_fixture_ask (fixture, fixture->admin, method, target, body ? as_json : NULL, body);
}

/* Post, and compare the status, the events that were posted and a part of the answer; NULL: any. */
static void expect (struct api_fixture *fixture, const char *target, const char *body, int status,
                    int posts, const char *part)
{
    int before = fixture->posts;
    struct reply reply = ask (fixture, "POST", target, body);
    if (reply.status != status || fixture->posts - before != posts ||
        (part && !strstr (reply.body, part)))
        fail_msg ("%s %s: got %d, %d events, %s\nwanted %d, %d events, %s", target,
                  body ? body : "", reply.status, fixture->posts - before, reply.body, status,
                  posts, part ? part : "");
    reply_clear (&reply);
}

static json_t *at (const json_t *object, const char *key)
{
    json_t *value = json_object_get (object, key);
    if (!value)
        fail_msg ("no field %s", key);
    return value;
}

static double number_at (const json_t *object, const char *key)
{
    assert_true (json_is_number (at (object, key)));
    return json_number_value (at (object, key));
}

static void text_at (const json_t *object, const char *key, const char *wanted)
{
    if (wanted)
        assert_string_equal (json_string_value (at (object, key)), wanted);
    else
        assert_true (json_is_null (at (object, key)));
}

static void assert_near (double got, double wanted, double within)
{
    if (!(fabs (got - wanted) <= within))
        fail_msg ("got %.17g, wanted %.17g", got, wanted);
}

/* ---- Up and gone -------------------------------------------------------------------------- */

static void a_node_comes_up (void **state)
{
    struct api_fixture *fixture = *state;
    set_size (fixture, 1, "0 -> 1 nodes");
    set_power (fixture, "spot-0", POWER_STARTING, fixture->cluster_fixture.now_us + 480 * S);
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4, \"type\": \"a100\"}", 200, 1,
            "\"power\":\"up\"");
    assert_int_equal (power_of (fixture, "spot-0")->state, POWER_UP);
    assert_true (node_of (fixture, "spot-0")->available);
    assert_string_equal (node_of (fixture, "spot-0")->type, "a100");
    /* Again: nothing changes, and a person's drain stays. */
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 0, "\"available\":true");
    expect (fixture, "/v1/nodes/spot-0/drain", NULL, 200, 1, "\"power\":\"up\"");
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 0, "\"available\":false");
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 3}", 200, 1, "\"available\":false");
    expect (fixture, "/v1/nodes/spot-0/resume", NULL, 200, 1, "\"available\":true");
    /* One that was never ordered. */
    expect (fixture, "/v1/nodes/spot-3/up", "{\"slots\": 4}", 200, 1, "\"type\":\"a100\"");
    assert_int_equal (fixture->cluster_fixture.cluster.power.wanted[0], 2);
    expect (fixture, "/v1/nodes/gpu02/up", "{\"slots\": 2}", 200, 1, "\"group\":\"rack\"");
}

static void a_node_is_gone (void **state)
{
    struct api_fixture *fixture = *state;
    expect (fixture, "/v1/nodes/spot-0/gone", NULL, 404, 0, "there is no node spot-0");
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 1, NULL);
    expect (fixture, "/v1/nodes/spot-0/gone", NULL, 200, 1, "\"power\":\"stopping\"");
    expect (fixture, "/v1/nodes/spot-0/gone", NULL, 200, 0, "\"slots\":0");
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 409, 0, "is being returned");
    set_power (fixture, "spot-0", POWER_OFF, 0);
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 1, "\"power\":\"up\"");
    /* A node that belongs to no group. */
    expect (fixture, "/v1/nodes/n0/gone", NULL, 200, 1, "\"power\":null");
    expect (fixture, "/v1/nodes/n0/up", "{\"slots\": 4}", 200, 1, "\"available\":true");
}

static void wrong_nodes_are_refused (void **state)
{
    struct api_fixture *fixture = *state;
    static const struct {
        const char *name, *body;
        int status;
        const char *part;
    } rows[] = {
        {"other", "{\"slots\": 4}", 404, "a group with nodes of such names to its cluster file"},
        {"spot-4", "{\"slots\": 4}", 404, "belongs to no group"},
        {"gpu1", "{\"slots\": 2}", 404, "belongs to no group"},
        {"spot-0", "{\"slots\": 0}", 400, "slots"},
        {"spot-0", "{\"slots\": 5}", 409, "whose nodes have 4 slots: 5 are too many"},
        {"spot-0", "{\"slots\": 2000}", 400, "slots"},
        {"spot-0", "{\"slots\": 4.5}", 400, "slots"},
        {"spot-0", "{}", 400, "slots"},
        {"spot-0", "{\"slots\": 4, \"typ\": \"a100\"}", 400, "type"},
        {"spot-0", "{\"slots\": 4, \"type\": \"a 100\"}", 400, "expected a name of letters"},
        {"spot-0", "{\"slots\": 4, \"type\": \"\"}", 400, "expected a name of letters"},
        {"spot-0", "{\"slots\": 4, \"type\": \"t4\"}", 409, "whose type is a100"},
        {"gpu01", "{\"slots\": 2, \"type\": \"t4\"}", 409, "whose type is not given"},
        {"spot-0", "[]", 400, "object"},
        {"n0", "{\"slots\": 3}", 409, "has 4 slots and belongs to no group"},
        {"n0", "{\"slots\": 4, \"type\": \"t4\"}", 409, "belongs to no group"},
    };
    for (size_t i = 0; i < COUNT (rows); i++) {
        char target[96];
        snprintf (target, sizeof (target), "/v1/nodes/%s/up", rows[i].name);
        expect (fixture, target, rows[i].body, rows[i].status, 0, rows[i].part);
    }
    fixture->post_failure = -28;
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 507, 0, "the journal is full");
}

/* A node may be declared again with fewer slots; not with fewer than jobs hold there that may not be moved. */
static void pinned_jobs_keep_their_slots (void **state)
{
    struct api_fixture *fixture = *state;
    struct cluster *cluster = &fixture->cluster_fixture.cluster;
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 1, NULL);
    int node = cluster_find_node (cluster, "spot-0");
    power_job (cluster, fixture->cluster_fixture.now_us, "ann", false, node, 1);
    power_job (cluster, fixture->cluster_fixture.now_us, "ann", false, node, 1);
    power_job (cluster, fixture->cluster_fixture.now_us, "ann", true, node, 2);
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 1}", 409, 0,
            "spot-0 has 2 replicas of jobs that may not be moved");
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 2}", 200, 1, "\"slots\":2");
}

/* ---- Notices ------------------------------------------------------------------------------ */

static void a_notice_sets_a_deadline (void **state)
{
    struct api_fixture *fixture = *state;
    int64_t now_us = fixture->cluster_fixture.now_us;
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 1, NULL);
    expect (fixture, "/v1/nodes/spot-0/drain", "{\"leaving_s\": 120}", 200, 1,
            "\"power\":\"draining\"");
    assert_int_equal (power_of (fixture, "spot-0")->deadline_us, now_us + 120 * S);
    assert_false (node_of (fixture, "spot-0")->available);
    /* The earliest deadline holds. */
    expect (fixture, "/v1/nodes/spot-0/drain", "{\"leaving_s\": 300}", 200, 0, NULL);
    expect (fixture, "/v1/nodes/spot-0/drain", "{\"leaving_s\": 60}", 200, 1, NULL);
    assert_int_equal (power_of (fixture, "spot-0")->deadline_us, now_us + 60 * S);
    expect (fixture, "/v1/nodes/spot-0/resume", NULL, 409, 0, "spot-0 is draining");
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 0, "draining");
    set_power (fixture, "spot-0", POWER_STOPPING, 0);
    expect (fixture, "/v1/nodes/spot-0/drain", "{\"leaving_s\": 60}", 200, 0, "stopping");
    /* One that has not come is returned. */
    set_power (fixture, "spot-1", POWER_STARTING, now_us + 480 * S);
    expect (fixture, "/v1/nodes/spot-1/drain", NULL, 409, 0, "spot-1 is starting");
    expect (fixture, "/v1/nodes/spot-1/drain", "{\"leaving_s\": 60}", 200, 1, "stopping");
    /* A node without a group has no deadline. */
    expect (fixture, "/v1/nodes/n0/drain", "{\"leaving_s\": 60}", 200, 1, "\"deadline_at\":null");
    expect (fixture, "/v1/nodes/n0/resume", NULL, 200, 1, "\"available\":true");
    expect (fixture, "/v1/nodes/n0/drain", "{}", 200, 1, "\"available\":false");
    expect (fixture, "/v1/nodes/n0/drain", "{\"leaving_s\": -1}", 400, 0, "leaving_s");
    expect (fixture, "/v1/nodes/n0/drain", "{\"leaving\": 1}", 400, 0, "leaving_s");
    expect (fixture, "/v1/nodes/n0/drain", "{\"leaving_s\": 604801}", 400, 0, "leaving_s");
    expect (fixture, "/v1/nodes/spot-1/drain", "{", 400, 0, NULL);
}

static void a_notice_without_time_is_due_at_once (void **state)
{
    struct api_fixture *fixture = *state;
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 1, NULL);
    expect (fixture, "/v1/nodes/spot-0/drain", "{\"leaving_s\": 0}", 200, 1, "draining");
    assert_true (power_of (fixture, "spot-0")->deadline_us > 0);
}

/* ---- Groups ------------------------------------------------------------------------------- */

static void groups_are_described (void **state)
{
    struct api_fixture *fixture = *state;
    int64_t start_us = fixture->cluster_fixture.now_us;
    set_size (fixture, 3, "0 -> 3 nodes: jobs wait");
    set_power (fixture, "spot-0", POWER_STARTING, start_us + 480 * S);
    set_power (fixture, "spot-1", POWER_STARTING, start_us + 480 * S);
    set_power (fixture, "spot-2", POWER_STARTING, start_us + 480 * S);
    wait_s (fixture, 900);
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 1, NULL);
    set_power (fixture, "spot-1", POWER_FAILED, start_us + 960 * S);
    wait_s (fixture, 900);
    struct reply reply = ask (fixture, "GET", "/v1/groups", NULL);
    assert_int_equal (reply.status, 200);
    text_at (reply.json, "goal", "band:0.25,0.75");
    text_at (reply.json, "reason", "0 -> 3 nodes: jobs wait");
    assert_near (number_at (reply.json, "resized_at"), (double)start_us * 1e-6, 1e-3);
    assert_near (number_at (reply.json, "price_per_hour"), 8, 1e-9);
    assert_near (number_at (reply.json, "cost"), 4, 1e-9); /* half an hour */
    assert_true (json_is_true (at (reply.json, "changing")));
    assert_true (json_is_true (at (reply.json, "priced")));
    assert_int_equal (number_at (reply.json, "boots"), 1);
    json_t *spot = json_array_get (at (reply.json, "groups"), 0);
    json_t *rack = json_array_get (at (reply.json, "groups"), 1);
    text_at (spot, "name", "spot");
    text_at (spot, "type", "a100");
    assert_int_equal (number_at (spot, "size"), 2);
    assert_int_equal (number_at (spot, "wanted"),
                      2); /* the failed order is not repeated by itself */
    assert_int_equal (number_at (at (spot, "states"), "up"), 1);
    assert_int_equal (number_at (at (spot, "states"), "starting"), 1);
    assert_int_equal (number_at (at (spot, "states"), "failed"), 1);
    assert_int_equal (number_at (at (spot, "states"), "off"), 1);
    assert_near (number_at (spot, "retry_at"), (double)start_us * 1e-6 + 960, 1e-3);
    assert_int_equal (json_array_size (at (spot, "nodes")), 3);
    json_t *failed = json_array_get (at (spot, "nodes"), 1);
    text_at (failed, "name", "spot-1");
    text_at (failed, "state", "failed");
    assert_int_equal (number_at (failed, "failures"), 1);
    text_at (rack, "names", "gpu[01-02]");
    text_at (rack, "type", NULL);
    assert_int_equal (number_at (at (rack, "states"), "off"), 2);
    assert_true (json_is_null (at (rack, "retry_at")));
    reply_clear (&reply);
}

/* Nodes that are off count as little as those that were never ordered; those that may be ordered count for submissions. */
static void the_status_counts_groups (void **state)
{
    struct api_fixture *fixture = *state;
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 1, NULL);
    expect (fixture, "/v1/nodes/spot-0/gone", NULL, 200, 1, NULL);
    set_power (fixture, "spot-0", POWER_OFF, 0);
    struct reply reply = ask (fixture, "GET", "/v1/status", NULL);
    assert_int_equal (number_at (reply.json, "nodes"), 2);
    assert_int_equal (number_at (reply.json, "slots"), 8);
    assert_int_equal (number_at (reply.json, "most_slots"), 8 + 4 * 4 + 2 * 2);
    reply_clear (&reply);
    reply = api_fixture_ask (fixture, fixture->ann, "POST", "/v1/jobs", "application/yaml",
                             "name: a\ncommand: x\ntypes: [a100]\n");
    assert_null (json_object_get (reply.json, "warning"));
    reply_clear (&reply);
    reply = api_fixture_ask (fixture, fixture->ann, "POST", "/v1/jobs", "application/yaml",
                             "name: b\ncommand: x\ntypes: [t4]\n");
    text_at (reply.json, "warning", "job b: no node has the type t4; there are a100");
    reply_clear (&reply);
}

static void without_groups_the_list_is_empty (void **state)
{
    struct api_fixture fixture;
    (void)state;
    api_fixture_open (&fixture, 1, 2);
    struct reply reply = ask (&fixture, "GET", "/v1/groups", NULL);
    assert_int_equal (json_array_size (at (reply.json, "groups")), 0);
    text_at (reply.json, "goal", "fixed");
    text_at (reply.json, "reason", NULL);
    assert_true (json_is_false (at (reply.json, "priced")));
    assert_true (json_is_false (at (reply.json, "changing")));
    reply_clear (&reply);
    expect (&fixture, "/v1/nodes/x/up", "{\"slots\": 4}", 404, 0, "is not configured");
    api_fixture_close (&fixture);
}

/* ---- Costs -------------------------------------------------------------------------------- */

static int submit_as (struct api_fixture *fixture, const char *token, const char *yaml)
{
    assert_int_equal (
        201, api_fixture_status (fixture, token, "POST", "/v1/jobs", "application/yaml", yaml));
    return fixture->cluster_fixture.cluster.job_count - 1;
}

static void start (struct api_fixture *fixture, int job, const char *node, int replicas)
{
    struct share share = {cluster_find_node (&fixture->cluster_fixture.cluster, node), replicas};
    struct event event = {
        .type = EVENT_START, .job = job, .start = {.generation = 1, .placement = {&share, 1}}};
    take (fixture, &event);
}

static void expect_row (const json_t *row, const char *month, const char *owner, double slot_hours,
                        double cost)
{
    text_at (row, "month", month);
    if (json_object_get (row, "owner") || owner)
        text_at (row, "owner", owner);
    assert_near (number_at (row, "slot_hours"), slot_hours, 1e-6);
    assert_near (number_at (row, "cost"), cost, 1e-6);
}

/* ann has 2 slots for three hours, bob 1 for one hour, over the end of a month; spot-0 has 4 at 2 per hour. */
static void costs_are_summed (void **state)
{
    struct api_fixture *fixture = *state;
    wait_s (fixture, 31 * 86400 - 3600); /* the last hour of January */
    expect (fixture, "/v1/nodes/n0/gone", NULL, 200, 1, NULL);
    expect (fixture, "/v1/nodes/n1/gone", NULL, 200, 1, NULL);
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 1, NULL);
    start (fixture, submit_as (fixture, fixture->ann, "name: a\ncommand: x\n"), "spot-0", 2);
    wait_s (fixture, 2 * 3600);
    start (fixture, submit_as (fixture, fixture->bob, "name: b\ncommand: x\n"), "spot-0", 1);
    wait_s (fixture, 3600);
    double idle_nodes = 8 * (31 * 24 - 1); /* n0 and n1, which cost nothing */
    struct reply reply =
        api_fixture_ask (fixture, fixture->eve, "GET", "/v1/cost?by=owner,month", NULL, NULL);
    assert_int_equal (reply.status, 200);
    json_t *rows = at (reply.json, "rows"), *idle = at (reply.json, "idle");
    assert_int_equal (json_array_size (rows), 3);
    expect_row (json_array_get (rows, 0), "2026-01", "ann", 2, 4);
    expect_row (json_array_get (rows, 1), "2026-02", "ann", 4, 8);
    expect_row (json_array_get (rows, 2), "2026-02", "bob", 1, 2);
    assert_int_equal (json_array_size (idle), 2);
    expect_row (json_array_get (idle, 0), "2026-01", NULL, idle_nodes + 2, 4);
    expect_row (json_array_get (idle, 1), "2026-02", NULL, 3, 6);
    assert_near (number_at (at (reply.json, "total"), "cost"), 24, 1e-6);
    assert_near (number_at (at (reply.json, "jobs_total"), "cost"), 14, 1e-6);
    assert_near (number_at (at (reply.json, "idle_total"), "cost"), 10, 1e-6);
    assert_near (number_at (reply.json, "price_per_hour"), 8, 1e-9);
    reply_clear (&reply);
    reply = ask (fixture, "GET", "/v1/cost?by=owner", NULL);
    rows = at (reply.json, "rows");
    assert_int_equal (json_array_size (rows), 2);
    expect_row (json_array_get (rows, 0), NULL, "ann", 6, 12);
    assert_int_equal (json_array_size (at (reply.json, "idle")), 1);
    expect_row (json_array_get (at (reply.json, "idle"), 0), NULL, NULL, idle_nodes + 5, 10);
    reply_clear (&reply);
    reply = ask (fixture, "GET", "/v1/cost?by=month", NULL);
    rows = at (reply.json, "rows");
    assert_int_equal (json_array_size (rows), 2);
    expect_row (json_array_get (rows, 1), "2026-02", NULL, 5, 10);
    reply_clear (&reply);
    reply = ask (fixture, "GET", "/v1/cost?by=day", NULL);
    assert_int_equal (reply.status, 400);
    reply_clear (&reply);
    /* The costs of a job. */
    reply = ask (fixture, "GET", "/v1/jobs/a", NULL);
    assert_near (number_at (reply.json, "cost"), 12, 1e-6);
    assert_near (number_at (reply.json, "price_per_hour"), 4, 1e-9);
    reply_clear (&reply);
    /* What is asked for changes nothing. */
    assert_int_equal (fixture->cluster_fixture.cluster.ledger.rows[0].capacity, true);
    assert_true (fixture->cluster_fixture.cluster.jobs[0]->cost < 12);
}

static void costs_of_nothing (void **state)
{
    struct api_fixture fixture;
    (void)state;
    api_fixture_open (&fixture, 0, 0);
    struct reply reply = ask (&fixture, "GET", "/v1/cost", NULL);
    assert_int_equal (reply.status, 200);
    assert_int_equal (json_array_size (at (reply.json, "rows")), 0);
    assert_int_equal (json_array_size (at (reply.json, "idle")), 0);
    assert_true (number_at (at (reply.json, "total"), "cost") == 0);
    reply_clear (&reply);
    api_fixture_close (&fixture);
}

static void metrics_have_groups (void **state)
{
    struct api_fixture *fixture = *state;
    set_size (fixture, 2, "0 -> 2 nodes");
    set_power (fixture, "spot-1", POWER_STARTING, fixture->cluster_fixture.now_us + 480 * S);
    expect (fixture, "/v1/nodes/spot-0/up", "{\"slots\": 4}", 200, 1, NULL);
    start (fixture, submit_as (fixture, fixture->ann, "name: a\ncommand: x\n"), "spot-0", 1);
    wait_s (fixture, 3600);
    static const char *const lines[] = {"pollux_group_nodes{group=\"spot\",state=\"up\"} 1\n",
                                        "pollux_group_nodes{group=\"spot\",state=\"starting\"} 1\n",
                                        "pollux_group_nodes{group=\"rack\",state=\"up\"} 0\n",
                                        "pollux_group_wanted_nodes{group=\"spot\"} 2\n",
                                        "pollux_price_per_hour 8\n",
                                        "pollux_cost_total{of=\"nodes\"} 8\n",
                                        "pollux_cost_total{of=\"jobs\"} 2\n"};
    struct reply reply = ask (fixture, "GET", "/metrics", NULL);
    for (size_t i = 0; i < COUNT (lines); i++)
        if (!strstr (reply.body, lines[i]))
            fail_msg ("no line %s", lines[i]);
    reply_clear (&reply);
}

static void roles_are_checked (void **state)
{
    struct api_fixture *fixture = *state;
    static const struct {
        const char *method, *target, *body;
        int none, admin, ann, eve;
    } rows[] = {
        {"GET", "/v1/groups", NULL, 401, 200, 200, 200},
        {"GET", "/v1/cost", NULL, 401, 200, 200, 200},
        {"POST", "/v1/nodes/spot-0/up", "{\"slots\": 4}", 401, 200, 403, 403},
        {"POST", "/v1/nodes/spot-0/drain", "{\"leaving_s\": 9}", 401, 200, 403, 403},
        {"POST", "/v1/nodes/spot-0/gone", NULL, 401, 200, 403, 403},
    };
    for (size_t i = 0; i < COUNT (rows); i++) {
        const char *tokens[] = {NULL, fixture->admin, fixture->ann, fixture->eve};
        int wanted[] = {rows[i].none, rows[i].admin, rows[i].ann, rows[i].eve};
        for (size_t j = 0; j < COUNT (tokens); j++)
            assert_int_equal (api_fixture_status (fixture, tokens[j], rows[i].method,
                                                  rows[i].target, rows[i].body ? as_json : NULL,
                                                  rows[i].body),
                              wanted[j]);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown (function, open_fixture, close_fixture)

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST (a_node_comes_up),
        TEST (a_node_is_gone),
        TEST (wrong_nodes_are_refused),
        TEST (pinned_jobs_keep_their_slots),
        TEST (a_notice_sets_a_deadline),
        TEST (a_notice_without_time_is_due_at_once),
        TEST (groups_are_described),
        TEST (the_status_counts_groups),
        cmocka_unit_test (without_groups_the_list_is_empty),
        TEST (costs_are_summed),
        cmocka_unit_test (costs_of_nothing),
        TEST (metrics_have_groups),
        TEST (roles_are_checked),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
