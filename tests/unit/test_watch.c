/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /v1/watch: a client that folds all messages has what GET /v1/jobs, /v1/nodes and /v1/rounds answer, whenever it
 * connects, however slowly it reads, and after a restart.
 */
#include "unit.h"
#include "api_fixture.h"

#include <errno.h>
#include <math.h>
#include <unistd.h>

#include "api/describe.h"
#include "api/json_text.h"

static const char as_json[] = "application/json", as_yaml[] = "application/yaml";
static const char *const phases[] = {"pending",  "running", "cancelling",
                                     "finished", "failed",  "cancelled"};

enum { NAME = 1, PHASE = 3, PLACEMENT = 4, PROGRESS = 14, WAITS = 26, RETRY = 32, COLUMNS = 33 };

static int open_fixture (void **state)
{
    *state = calloc (1, sizeof (struct api_fixture));
    api_fixture_open (*state, 3, 4);
    return 0;
}

static int close_fixture (void **state)
{
    api_fixture_close (*state);
    free (*state);
    return 0;
}

/* ---- A client ------------------------------------------------------------------------------ */

struct client {
    int socket;
    char *text; /* all that has come */
    json_t *jobs, *nodes, *rounds, *status, *changes, *you, *groups;
    int64_t number;
    char mark[32];
    int snapshots, messages, rows; /* counts; rows: of the last message */
};

static struct client watch (struct api_fixture *fixture, const char *token, const char *target)
{
    return (struct client){.socket = api_fixture_stream (fixture, token, target),
                           .text = strdup (""),
                           .jobs = json_object (),
                           .nodes = json_object ()};
}

static void leave (struct client *client)
{
    close (client->socket);
    free (client->text);
    json_t *parts[] = {client->jobs,    client->nodes, client->rounds, client->status,
                       client->changes, client->you,   client->groups};
    for (size_t i = 0; i < COUNT (parts); i++)
        json_decref (parts[i]);
}

static void take_rows (json_t *table, const json_t *rows)
{
    size_t i;
    json_t *row;
    char key[32];
    json_array_foreach (rows, i, row)
    {
        snprintf (key, sizeof (key), "%lld",
                  (long long)json_integer_value (json_array_get (row, 0)));
        json_object_set (table, key, row);
    }
}

static void take_field (json_t **place, const json_t *message, const char *name)
{
    json_t *value = json_object_get (message, name);
    if (!value)
        return;
    json_decref (*place);
    *place = json_incref (value);
}

static void take_message (struct client *client, const char *kind, const json_t *message)
{
    client->number = json_integer_value (json_object_get (message, "number"));
    snprintf (client->mark, sizeof (client->mark), "%s",
              json_string_value (json_object_get (message, "mark")));
    client->messages++;
    client->rows = (int)json_array_size (json_object_get (message, "jobs"));
    if (strcmp (kind, "snapshot") == 0) {
        static const char *const fields[] = {"number",  "mark",     "at",      "status",
                                             "nodes",   "jobs",     "omitted", "rounds",
                                             "changes", "playback", "you",     "groups"};
        assert_int_equal (json_object_size (message), COUNT (fields));
        for (size_t i = 0; i < COUNT (fields); i++)
            assert_non_null (json_object_get (message, fields[i]));
        client->snapshots++;
        json_object_clear (client->jobs);
        json_object_clear (client->nodes);
    } else {
        assert_string_equal (kind, "change");
    }
    take_rows (client->jobs, json_object_get (message, "jobs"));
    take_rows (client->nodes, json_object_get (message, "nodes"));
    take_field (&client->rounds, message, "rounds");
    take_field (&client->status, message, "status");
    take_field (&client->changes, message, "changes");
    take_field (&client->you, message, "you");
    take_field (&client->groups, message, "groups");
}

/* Fold all messages that have come. */
static void receive (struct api_fixture *fixture, struct client *client)
{
    char *came = api_fixture_received (fixture, client->socket);
    char *all = malloc (strlen (client->text) + strlen (came) + 1);
    strcat (strcpy (all, client->text), came);
    free (came);
    free (client->text);
    client->text = all;
    if (!strstr (all, "\r\n\r\n"))
        return;
    if (!strstr (all, " 200 OK"))
        fail_msg ("%s", all);
    char *plain = strdup (all), *at, *end;
    stream_plain (plain);
    int skip = client->messages;
    for (at = plain; (end = strstr (at, "\n\n")) != NULL; at = end + 2) {
        *end = '\0';
        long long id;
        char kind[16];
        if (skip-- > 0)
            continue;
        assert_int_equal (sscanf (at, "id: %lld\nevent: %15s\n", &id, kind), 2);
        const char *data = strstr (at, "\ndata: ");
        assert_non_null (data);
        json_error_t error;
        json_t *message = json_loads (data + 7, JSON_REJECT_DUPLICATES, &error);
        if (!message)
            fail_msg ("%s in %.200s", error.text, data);
        take_message (client, kind, message);
        assert_int_equal (client->number, id);
        json_decref (message);
    }
    free (plain);
}

/* Let time pass, and receive. */
static void pass (struct api_fixture *fixture, struct client *client, double seconds)
{
    fixture->cluster_fixture.now_us += (int64_t)(seconds * 1e6);
    api_fixture_step (fixture);
    if (client)
        receive (fixture, client);
}

/* ---- Comparing with GET -------------------------------------------------------------------- */

static bool near_number (const json_t *a, const json_t *b)
{
    double x = json_number_value (a), y = json_number_value (b);
    return json_is_number (a) && json_is_number (b) && fabs (x - y) <= 1e-5 * fabs (y) + 1e-9;
}

/* [node,replicas,...] and {name: replicas}. */
static bool is_placement (const struct client *client, const json_t *row, const json_t *object)
{
    if (json_array_size (row) != 2 * json_object_size (object))
        return false;
    for (size_t i = 0; i < json_array_size (row); i += 2) {
        char key[32];
        snprintf (key, sizeof (key), "%lld",
                  (long long)json_integer_value (json_array_get (row, i)));
        const char *name =
            json_string_value (json_array_get (json_object_get (client->nodes, key), 1));
        if (!name || !json_equal (json_object_get (object, name), json_array_get (row, i + 1)))
            return false;
    }
    return true;
}

static void compare_job (const struct client *client, const json_t *row, const json_t *job)
{
    static const struct {
        int column;
        const char *field;
    } same[] = {
        {1, "name"},         {2, "owner"},           {9, "throughput"},    {10, "efficiency"},
        {11, "goodput"},     {12, "speedup"},        {13, "noise_scale"},  {14, "progress"},
        {15, "total"},       {16, "eta_s"},          {17, "min_replicas"}, {18, "max_replicas"},
        {19, "restarts"},    {20, "failures"},       {21, "generation"},   {22, "submitted_at"},
        {23, "started_at"},  {24, "ended_at"},       {WAITS, "waits_for"}, {27, "detail"},
        {28, "application"}, {31, "price_per_hour"}, {RETRY, "retry_at"}};
    assert_int_equal (json_array_size (row), COLUMNS);
    const char *name = json_string_value (json_object_get (job, "name"));
    for (size_t i = 0; i < COUNT (same); i++) {
        const json_t *value = json_array_get (row, (size_t)same[i].column);
        const json_t *wanted = json_object_get (job, same[i].field);
        if (same[i].column == WAITS && json_is_number (json_array_get (row, RETRY)))
            continue; /* the row has the time beside the sentence */
        if (!json_equal (value, wanted) && !near_number (value, wanted))
            fail_msg ("job %s, %s: row has %s", name, same[i].field,
                      json_dumps (value, JSON_ENCODE_ANY));
    }
    assert_string_equal (phases[json_integer_value (json_array_get (row, PHASE))],
                         json_string_value (json_object_get (job, "phase")));
    assert_true (
        is_placement (client, json_array_get (row, PLACEMENT), json_object_get (job, "placement")));
    const json_t *desired = json_array_get (row, PLACEMENT + 1);
    if (json_is_array (desired))
        assert_true (is_placement (client, desired, json_object_get (job, "desired")));
    else
        assert_true (
            json_equal (json_object_get (job, "desired"), json_object_get (job, "placement")));
    const json_t *batch = json_object_get (job, "batch");
    static const char *const parts[] = {"m", "s", "total"};
    for (size_t i = 0; i < 3; i++) {
        const json_t *value = json_array_get (row, 6 + i);
        assert_true (json_is_null (batch) ? json_is_null (value)
                                          : near_number (value, json_object_get (batch, parts[i])));
    }
    /* The run time grows from when the row was made. */
    double since_s = (double)json_number_value (json_object_get (job, "age_s")) +
                     json_number_value (json_object_get (job, "submitted_at")) -
                     json_number_value (json_array_get (row, 29));
    double run_s = json_number_value (json_array_get (row, 25));
    int64_t phase = json_integer_value (json_array_get (row, PHASE));
    if (phase == 1 || phase == 2)
        run_s += since_s;
    assert_float_equal (run_s, json_number_value (json_object_get (job, "run_s")), 1e-3);
    /* So does the cost. */
    double cost = json_number_value (json_array_get (row, 30)) +
                  json_number_value (json_array_get (row, 31)) * since_s / 3600;
    assert_float_equal (cost, json_number_value (json_object_get (job, "cost")), 1e-6);
}

/* The part of a node's row about its group. */
static void compare_power (const struct client *client, const json_t *row, const json_t *node)
{
    static const char *const states[] = {"none",     "off",      "starting", "up",
                                         "draining", "stopping", "failed"};
    if (json_is_null (json_object_get (node, "group"))) {
        assert_int_equal (json_array_size (row), 5);
        return;
    }
    assert_int_equal (json_array_size (row), 9);
    const json_t *group = json_array_get (json_object_get (client->groups, "groups"),
                                          (size_t)json_integer_value (json_array_get (row, 5)));
    assert_true (json_equal (json_object_get (group, "name"), json_object_get (node, "group")));
    assert_string_equal (states[json_integer_value (json_array_get (row, 6))],
                         json_string_value (json_object_get (node, "power")));
    assert_true (json_equal (json_array_get (row, 7), json_object_get (node, "since_at")) ||
                 near_number (json_array_get (row, 7), json_object_get (node, "since_at")));
    assert_true (json_equal (json_array_get (row, 8), json_object_get (node, "deadline_at")) ||
                 near_number (json_array_get (row, 8), json_object_get (node, "deadline_at")));
}

/* The client has all jobs and nodes as GET describes them. */
static void compare (struct api_fixture *fixture, const struct client *client)
{
    struct reply jobs =
        api_fixture_ask (fixture, fixture->admin, "GET", "/v1/jobs?limit=1000", NULL, NULL);
    struct reply nodes = api_fixture_ask (fixture, fixture->admin, "GET", "/v1/nodes", NULL, NULL);
    const json_t *list = json_object_get (jobs.json, "jobs"), *job, *node;
    const char *key;
    json_t *row;
    size_t i;
    assert_int_equal (json_array_size (list), json_object_size (client->jobs));
    json_array_foreach (list, i, job)
    {
        const json_t *found = NULL;
        json_object_foreach (client->jobs, key, row) if (json_equal (json_array_get (row, NAME),
                                                                     json_object_get (job, "name")))
            found = row;
        assert_non_null (found);
        compare_job (client, found, job);
    }
    list = json_object_get (nodes.json, "nodes");
    assert_int_equal (json_array_size (list), json_object_size (client->nodes));
    json_array_foreach (list, i, node)
    {
        char index[32];
        snprintf (index, sizeof (index), "%zu", i);
        row = json_object_get (client->nodes, index);
        bool available = json_is_true (json_object_get (node, "available"));
        compare_power (client, row, node);
        assert_true (json_equal (json_array_get (row, 1), json_object_get (node, "name")));
        assert_true (json_equal (json_array_get (row, 2), json_object_get (node, "type")));
        assert_true (json_equal (json_array_get (row, 3), json_object_get (node, "slots")));
        int64_t slots = json_integer_value (json_array_get (row, 3));
        assert_int_equal (json_integer_value (json_array_get (row, 4)), slots == 0  ? 2
                                                                        : available ? 0
                                                                                    : 1);
    }
    reply_clear (&jobs);
    reply_clear (&nodes);
}

/* ---- Events -------------------------------------------------------------------------------- */

static void submit (struct api_fixture *fixture, const char *token, const char *yaml)
{
    assert_int_equal (201, api_fixture_status (fixture, token, "POST", "/v1/jobs", as_yaml, yaml));
}

static void take (struct api_fixture *fixture, struct event event)
{
    struct pollux_error err;
    if (api_fixture_take (fixture, &event, &err) < 0)
        fail_msg ("%s", err.text);
}

static int generation_of (const struct api_fixture *fixture, int job)
{
    return fixture->cluster_fixture.cluster.jobs[job]->generation;
}

static void start (struct api_fixture *fixture, int job, int node, int replicas)
{
    struct share share = {node, replicas};
    take (fixture, (struct event){.type = EVENT_START,
                                  .job = job,
                                  .start = {.generation = generation_of (fixture, job) + 1,
                                            .placement = {&share, 1}}});
}

static void finish (struct api_fixture *fixture, int job)
{
    take (fixture, (struct event){.type = EVENT_EXIT,
                                  .job = job,
                                  .exit = {.generation = generation_of (fixture, job),
                                           .kind = EXITED_GAVE_UP,
                                           .detail = "rank 0: <b>exit \"3\"</b> \\ end"}});
}

static void set_power (struct api_fixture *fixture, const char *name, enum power_state state,
                       int64_t deadline_us)
{
    struct event event = {
        .type = EVENT_POWER, .job = -1, .power = {.state = state, .deadline_us = deadline_us}};
    snprintf (event.power.node, sizeof (event.power.node), "%s", name);
    take (fixture, event);
}

static void set_node (struct api_fixture *fixture, const char *name, bool available)
{
    struct event event = {
        .type = EVENT_NODE, .job = -1, .node = {.slots = 4, .available = available}};
    snprintf (event.node.name, sizeof (event.node.name), "%s", name);
    take (fixture, event);
}

/* A round that gives each active job so many replicas on a node of its own. */
static void decide_round (struct api_fixture *fixture, bool fill, const int *replicas)
{
    const struct cluster *cluster = &fixture->cluster_fixture.cluster;
    struct plan plan = {0};
    struct round round = {.policy = "pollux", .interval_s = 60, .p = -1, .fill = fill};
    take (fixture, (struct event){.type = EVENT_ROUND, .job = -1, .round = round});
    assert_int_equal (0, plan_reset (&plan, cluster->active.count));
    for (int i = 0; i < cluster->active.count; i++) {
        struct share share = {i % cluster->node_count, replicas[i]};
        if (replicas[i] > 0)
            assert_int_equal (0, plan_place (&plan, i, (struct placement){&share, 1}));
    }
    plan.fitness = 1.5;
    plan.bound = plan.price = NAN;
    take (fixture, (struct event){.type = EVENT_PLAN, .job = -1, .plan = &plan});
    plan_clear (&plan);
}

static void report (struct api_fixture *fixture, const char *job, int generation, double progress)
{
    char target[96], body[1024];
    snprintf (target, sizeof (target), "/v1/jobs/%s/hints", job);
    snprintf (
        body, sizeof (body),
        "{\"version\": 1, \"generation\": %d, \"model\": {\"alpha_grad\": 0.05, \"beta_grad\": "
        "0.001, \"alpha_node\": 0.05, \"beta_node\": 0.001, \"alpha_local\": 0.02, "
        "\"beta_local\": 0.001, \"gamma\": 2}, \"grad\": {\"sqr\": 0.01, \"var\": 0.2}, "
        "\"init_batch\": 128, \"max_batch\": 8192, \"min_local\": 16, \"max_local\": 512, "
        "\"accumulation\": true, \"max_profiled_replicas\": 8, \"progress\": %g, \"total\": "
        "100000, \"m\": 64, \"s\": 1}",
        generation, progress);
    assert_int_equal (202,
                      api_fixture_status (fixture, fixture->admin, "POST", target, as_json, body));
}

/* The next message says why a job waits, as GET does. */
static void expect_waiting (struct api_fixture *fixture, struct client *client, const char *name,
                            const char *sentence)
{
    const json_t *found = NULL;
    const char *key;
    json_t *row;
    pass (fixture, client, 1);
    compare (fixture, client);
    json_object_foreach (client->jobs, key,
                         row) if (strcmp (json_string_value (json_array_get (row, NAME)), name) ==
                                  0) found = row;
    assert_string_equal (json_string_value (json_array_get (found, WAITS)), sentence);
}

/* ---- Tests --------------------------------------------------------------------------------- */

/* A run with all kinds of events; after each the client has what GET answers. */
static void rows_are_those_of_get (void **state)
{
    struct api_fixture *fixture = *state;
    struct client client = watch (fixture, fixture->eve, "/v1/watch");
    pass (fixture, &client, 1);
    assert_int_equal (client.snapshots, 1);
    assert_string_equal (json_string_value (json_object_get (client.you, "name")), "eve");
    assert_string_equal (json_string_value (json_object_get (client.you, "role")), "read-only");
    compare (fixture, &client);
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\nmax_replicas: 8\n");
    submit (fixture, fixture->bob,
            "name: b\ncommand: sleep 1\nmin_replicas: 2\nmax_replicas: 4\napplication: x\n");
    submit (fixture, fixture->bob, "name: c\ncommand: sleep 1\nmax_replicas: 9\n");
    pass (fixture, &client, 1);
    compare (fixture, &client);
    decide_round (fixture, false, (const int[]){4, 2, 0});
    pass (fixture, &client, 1);
    compare (fixture, &client);
    assert_string_equal (json_string_value (json_object_get (client.changes, "text")),
                         "2 jobs changed: a starts with 4, b starts with 2");
    assert_int_equal (json_array_size (client.rounds), 1);
    start (fixture, 0, 0, 4);
    start (fixture, 1, 1, 2);
    pass (fixture, &client, 1);
    compare (fixture, &client);
    report (fixture, "a", 1, 100.25);
    report (fixture, "b", 1, 1234.5);
    pass (fixture, &client, 5);
    compare (fixture, &client);
    assert_int_equal (client.rows, 2);
    take (fixture, (struct event){.type = EVENT_NODE,
                                  .job = -1,
                                  .node = {.name = "n2", .slots = 4, .available = false}});
    pass (fixture, &client, 1);
    compare (fixture, &client);
    take (fixture,
          (struct event){.type = EVENT_NODE,
                         .job = -1,
                         .node = {.name = "n3", .type = "a100", .slots = 8, .available = true}});
    pass (fixture, &client, 1);
    compare (fixture, &client);
    assert_int_equal (0, api_fixture_post_reports (fixture));
    decide_round (fixture, false, (const int[]){2, 2, 0});
    pass (fixture, &client, 1);
    compare (fixture, &client);
    assert_string_equal (json_string_value (json_object_get (client.changes, "text")),
                         "1 job changed: a 4 -> 2");
    finish (fixture, 1);
    pass (fixture, &client, 1);
    compare (fixture, &client);
    assert_int_equal (
        202, api_fixture_status (fixture, fixture->bob, "POST", "/v1/jobs/c/cancel", NULL, NULL));
    pass (fixture, &client, 1);
    compare (fixture, &client);
    assert_int_equal (client.snapshots, 1);
    struct reply rounds =
        api_fixture_ask (fixture, fixture->eve, "GET", "/v1/rounds?limit=1", NULL, NULL);
    assert_true (json_equal (json_array_get (client.rounds, 0),
                             json_array_get (json_object_get (rounds.json, "rounds"), 0)));
    reply_clear (&rounds);
    struct reply status = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/status", NULL, NULL);
    json_object_del (status.json, "now_at");
    json_object_del (client.status, "now_at");
    assert_true (json_equal (status.json, client.status));
    reply_clear (&status);
    leave (&client);
}

/* Why a job waits depends on the slots of all nodes and jobs: each event that changes them changes its row. */
static void waiting_rows_follow_the_slots (void **state)
{
    struct api_fixture *fixture = *state;
    static const struct node_group spot = {.name = "spot", .slots_per_node = 4, .max_nodes = 2};
    struct client client = watch (fixture, fixture->eve, "/v1/watch");
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    submit (fixture, fixture->ann, "name: b\ncommand: sleep 1\n");
    submit (fixture, fixture->ann, "name: c\ncommand: sleep 1\nmin_replicas: 9\nmax_replicas: 9\n");
    submit (fixture, fixture->ann, "name: d\ncommand: sleep 1\n");
    take (fixture,
          (struct event){.type = EVENT_GROUPS, .job = -1, .groups = {.list = &spot, .count = 1}});
    decide_round (fixture, false, (const int[]){4, 4, 0, 0});
    start (fixture, 0, 0, 4);
    expect_waiting (fixture, &client, "c",
                    "no free slots: needs 9, 4 free; waits for the next round");
    start (fixture, 1, 1, 4);
    decide_round (fixture, false, (const int[]){0, 4, 0, 4});
    expect_waiting (fixture, &client, "d",
                    "waits for job a to leave n0; then it starts with 4 on n0");
    finish (fixture, 0);
    expect_waiting (fixture, &client, "d", "is about to start with 4 on n0");
    expect_waiting (fixture, &client, "c",
                    "no free slots: needs 9, 4 free; waits for the next round");
    finish (fixture, 1);
    expect_waiting (fixture, &client, "c",
                    "no free slots: needs 9, 8 free; waits for the next round");
    assert_int_equal (
        202, api_fixture_status (fixture, fixture->ann, "POST", "/v1/jobs/d/cancel", NULL, NULL));
    expect_waiting (fixture, &client, "c", "waits for the next round");
    set_node (fixture, "n2", false);
    expect_waiting (fixture, &client, "c",
                    "too large: needs 9 slots, and the nodes that take replicas have 8");
    set_power (fixture, "spot-0", POWER_STARTING, fixture->cluster_fixture.now_us + 60000000);
    expect_waiting (fixture, &client, "c", "waits for 1 node to start");
    set_node (fixture, "spot-0", true);
    expect_waiting (fixture, &client, "c", "waits for the next round");
    set_power (fixture, "spot-0", POWER_DRAINING, fixture->cluster_fixture.now_us + 60000000);
    expect_waiting (fixture, &client, "c",
                    "too large: needs 9 slots, and the nodes that take replicas have 8");
    leave (&client);
}

/* The time of the next try is beside the sentence, which is the same until then. */
static void a_pause_is_sent_once (void **state)
{
    struct api_fixture *fixture = *state;
    struct client client = watch (fixture, fixture->eve, "/v1/watch");
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\nbackoff: 100\n");
    start (fixture, 0, 0, 4);
    take (fixture, (struct event){.type = EVENT_EXIT,
                                  .job = 0,
                                  .exit = {.generation = 1, .kind = EXITED_FAILED}});
    double from_s = (double)fixture->cluster_fixture.now_us * 1e-6;
    expect_waiting (fixture, &client, "a",
                    "waits to start again; failures: 1, it is given up after 4");
    assert_true (
        fabs (json_number_value (json_array_get (json_object_get (client.jobs, "0"), RETRY)) -
              from_s - 100) < 1e-3);
    fixture->cluster_fixture.now_us += 20000000;
    decide_round (fixture, false, (const int[]){0});
    pass (fixture, &client, 1);
    assert_int_equal (client.rows, 0);
    compare (fixture, &client);
    pass (fixture, &client, 90);
    assert_int_equal (client.rows, 1);
    expect_waiting (fixture, &client, "a", "waits for the next round");
    leave (&client);
}

/* At most three messages a second; without changes one every ten seconds. */
static void messages_are_paced (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    struct client client = watch (fixture, fixture->admin, "/v1/watch");
    pass (fixture, &client, 0);
    assert_int_equal (client.messages, 1);
    for (int i = 0; i < 100; i++) {
        char body[64];
        snprintf (body, sizeof (body), "{\"max_replicas\": %d}", i + 1);
        assert_int_equal (200, api_fixture_status (fixture, fixture->ann, "POST",
                                                   "/v1/jobs/a/limits", as_json, body));
        pass (fixture, &client, 0.02);
    }
    assert_in_range (client.messages, 5, 8);
    pass (fixture, &client, 0.4);
    compare (fixture, &client);
    int messages = client.messages;
    for (int i = 0; i < 60; i++)
        pass (fixture, &client, 1);
    assert_int_equal (client.messages, messages + 6);
    assert_int_equal (client.rows, 0);
    /* Nothing is due without clients. */
    assert_true (api_due_us (fixture->api) != INT64_MAX);
    leave (&client);
    pass (fixture, NULL, 20);
    pass (fixture, NULL, 20);
    assert_true (api_due_us (fixture->api) == INT64_MAX);
}

static void clients_resume_by_number (void **state)
{
    struct api_fixture *fixture = *state;
    for (int i = 0; i < 5; i++) {
        char yaml[64];
        snprintf (yaml, sizeof (yaml), "name: j%d\ncommand: sleep 1\n", i);
        submit (fixture, fixture->ann, yaml);
    }
    struct client first = watch (fixture, fixture->admin, "/v1/watch");
    pass (fixture, &first, 1);
    submit (fixture, fixture->ann, "name: last\ncommand: sleep 1\n");
    pass (fixture, &first, 1);
    assert_int_equal (json_object_size (first.jobs), 6);
    close (first.socket);
    first.socket = -1;
    start (fixture, 2, 0, 1);
    pass (fixture, NULL, 5);
    char target[64];
    snprintf (target, sizeof (target), "/v1/watch?after=%lld", (long long)first.number);
    struct client second = watch (fixture, fixture->admin, target);
    json_object_update (second.jobs, first.jobs);
    json_object_update (second.nodes, first.nodes);
    pass (fixture, &second, 1);
    assert_int_equal (second.snapshots, 0);
    assert_int_equal (second.rows,
                      2); /* the job that has started, and the one of the event itself */
    compare (fixture, &second);
    leave (&second);
    /* The number in the header counts, as browsers send it. */
    char header[64];
    snprintf (header, sizeof (header), "Last-Event-ID: %lld\r\n", (long long)first.number + 1);
    fixture->headers = header;
    second = watch (fixture, fixture->admin, "/v1/watch?after=1");
    fixture->headers = NULL;
    pass (fixture, &second, 1);
    assert_int_equal (second.snapshots, 0);
    assert_int_equal (second.rows, 1);
    leave (&second);
    /* The mark tells journals apart. */
    for (int i = 0; i < 4; i++) {
        const char *mark = i % 2 ? "5f3759df" : i == 0 ? first.mark : second.mark;
        snprintf (target, sizeof (target), "/v1/watch?after=%lld&mark=%s",
                  (long long)(i < 2 ? first.number : second.number), mark);
        struct client third = watch (fixture, fixture->admin, target);
        pass (fixture, &third, 1);
        assert_int_equal (third.snapshots, i % 2);
        leave (&third);
    }
    second = watch (fixture, fixture->admin, "/v1/watch?after=1000000");
    pass (fixture, &second, 1);
    assert_int_equal (second.snapshots, 1);
    compare (fixture, &second);
    leave (&second);
    const char *wrong[] = {"/v1/watch?after=-1", "/v1/watch?after=x", "/v1/watch?before=1"};
    for (size_t i = 0; i < COUNT (wrong); i++)
        assert_int_equal (
            400, api_fixture_status (fixture, fixture->admin, "GET", wrong[i], NULL, NULL));
    fixture->headers = "Last-Event-ID: x\r\n";
    assert_int_equal (400,
                      api_fixture_status (fixture, fixture->admin, "GET", "/v1/watch", NULL, NULL));
    fixture->headers = NULL;
    leave (&first);
}

/* A number from before the snapshot of a compacted journal is not known. */
static void a_lost_past_gives_a_snapshot (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    int64_t number = fixture->status.changes.number;
    change_log_restored (&fixture->status.changes, number);
    char target[64];
    for (int i = 0; i < 2; i++) {
        snprintf (target, sizeof (target), "/v1/watch?after=%lld", (long long)number - i);
        struct client client = watch (fixture, fixture->admin, target);
        pass (fixture, &client, 1);
        assert_int_equal (client.snapshots, i);
        assert_int_equal (client.rows, 1);
        leave (&client);
    }
}

/* A snapshot serves several clients for some seconds; what has changed since follows it. */
static void clients_share_a_snapshot (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    struct client first = watch (fixture, fixture->admin, "/v1/watch");
    pass (fixture, &first, 0.4);
    start (fixture, 0, 0, 1);
    pass (fixture, &first, 0.4);
    struct client second = watch (fixture, fixture->eve, "/v1/watch");
    pass (fixture, &second, 0.4);
    pass (fixture, &second, 0.4);
    assert_int_equal (second.snapshots, 1);
    assert_int_equal (second.messages, 2);
    assert_string_equal (json_string_value (json_object_get (second.you, "name")), "eve");
    compare (fixture, &second);
    /* A later client gets a new one. */
    pass (fixture, &second, 3);
    struct client third = watch (fixture, fixture->admin, "/v1/watch");
    pass (fixture, &third, 1);
    assert_int_equal (third.messages, 1);
    compare (fixture, &third);
    leave (&first);
    leave (&second);
    leave (&third);
}

/* A client may not know the end of a job whose row was dropped: it gets a snapshot. */
static void dropped_rows_give_a_snapshot (void **state)
{
    enum { LIVE = 5999 };
    struct api_fixture *fixture = *state;
    struct job_spec spec = {.max_replicas = 1, .weight = 1, .restart_delay_s = NAN};
    struct hints hints = {.max_profiled_replicas = -1, .progress = NAN, .total = NAN};
    struct client client = {.socket = -1};
    int64_t number = 0;
    for (int i = 0; i < LIVE + 3; i++) {
        if (i == LIVE) {
            client = watch (fixture, fixture->admin, "/v1/watch");
            pass (fixture, &client, 1);
            submit (fixture, fixture->ann, "name: one\ncommand: sleep 1\n");
            pass (fixture, &client, 1);
            number = client.number;
            take (fixture, (struct event){.type = EVENT_CANCEL, .job = 0});
        }
        snprintf (spec.name, sizeof (spec.name), "j%d", i);
        take (fixture, (struct event){.type = EVENT_SUBMIT,
                                      .job = fixture->cluster_fixture.cluster.job_count,
                                      .submit = {.spec = &spec, .hints = hints}});
        if (i >= LIVE)
            pass (fixture, &client, 1);
    }
    char target[64];
    snprintf (target, sizeof (target), "/v1/watch?after=%lld", (long long)number);
    struct client again = watch (fixture, fixture->admin, target);
    pass (fixture, &again, 1);
    assert_int_equal (again.snapshots, 1);
    assert_null (json_object_get (again.jobs, "0"));
    snprintf (target, sizeof (target), "/v1/watch?after=%lld", (long long)client.number);
    leave (&again);
    again = watch (fixture, fixture->admin, target);
    pass (fixture, &again, 1);
    assert_int_equal (again.snapshots, 0);
    leave (&again);
    leave (&client);
}

/* A simulation begins at time 0. */
static void times_may_be_zero (void **state)
{
    struct json_text text = {0};
    (void)state;
    json_t *zero = describe_time (0), *unknown = describe_time (-1);
    assert_true (json_is_real (zero) && json_real_value (zero) == 0);
    assert_true (json_is_null (unknown));
    json_decref (zero);
    json_text_time (&text, 0);
    json_text_put (&text, " ");
    json_text_time (&text, -1);
    assert_string_equal (text.bytes, "0 null");
    free (text.bytes);
}

/* The cluster was replaced by an earlier state. */
static void a_rewind_gives_a_snapshot (void **state)
{
    struct api_fixture *fixture = *state;
    struct client client = watch (fixture, fixture->admin, "/v1/watch");
    pass (fixture, &client, 1);
    api_rewound (fixture->api);
    pass (fixture, &client, 1);
    assert_int_equal (client.snapshots, 2);
    fixture->status.changes.number -= 1;
    pass (fixture, &client, 11);
    assert_int_equal (client.snapshots, 3);
    compare (fixture, &client);
    leave (&client);
}

/* A client that does not read for a while gets what it has missed, in one message or in a snapshot. */
static void slow_clients_catch_up (void **state)
{
    enum { JOBS = 900, SOME = 300 };
    struct api_fixture *fixture = *state;
    for (int i = 0; i < JOBS; i++) {
        char yaml[128];
        snprintf (yaml, sizeof (yaml), "name: j%d\ncommand: sleep 1\nmax_replicas: 2\n", i);
        submit (fixture, fixture->ann, yaml);
    }
    for (int few = 0; few < 2; few++) {
        struct client slow = watch (fixture, fixture->admin, "/v1/watch");
        pass (fixture, &slow, 1);
        assert_int_equal (slow.snapshots, 1);
        struct client quick = watch (fixture, fixture->admin, "/v1/watch");
        for (int round = 0; round < 30; round++) {
            for (int i = 0; i < (few ? SOME : JOBS); i++)
                take (fixture, (struct event){.type = EVENT_LIMITS,
                                              .job = i,
                                              .limits = {1, 3 + round + 100 * few, 1}});
            pass (fixture, NULL, 1);
            receive (fixture, &quick);
        }
        receive (fixture, &slow);
        pass (fixture, &slow, 1);
        pass (fixture, &slow, 1);
        assert_true (slow.messages < quick.messages);
        assert_int_equal (slow.snapshots, few ? 1 : 2);
        compare (fixture, &slow);
        compare (fixture, &quick);
        leave (&slow);
        leave (&quick);
    }
}

/* Live jobs and the newest ended ones. */
static void old_jobs_are_left_out (void **state)
{
    enum { ENDED = 5200 };
    struct api_fixture *fixture = *state;
    struct job_spec spec = {.max_replicas = 1, .weight = 1, .restart_delay_s = NAN};
    for (int i = 0; i < ENDED + 1; i++) {
        snprintf (spec.name, sizeof (spec.name), "j%d", i);
        take (fixture, (struct event){.type = EVENT_SUBMIT,
                                      .job = i,
                                      .submit = {.spec = &spec, .hints = hints_unknown}});
        if (i > 0)
            take (fixture, (struct event){.type = EVENT_CANCEL, .job = i});
    }
    struct client client = watch (fixture, fixture->admin, "/v1/watch");
    pass (fixture, &client, 1);
    assert_int_equal (client.rows, 5000);
    assert_non_null (json_object_get (client.jobs, "0"));
    assert_null (json_object_get (client.jobs, "201"));
    assert_non_null (json_object_get (client.jobs, "202"));
    assert_non_null (json_object_get (client.jobs, "5200"));
    leave (&client);
}

/* Nodes of groups have their state; the groups come again when more than their cost has changed. */
static void groups_are_watched (void **state)
{
    struct api_fixture *fixture = *state;
    static const struct node_group spot = {
        .name = "spot", .slots_per_node = 4, .max_nodes = 2, .price_per_node_hour = 7};
    take (fixture,
          (struct event){.type = EVENT_GROUPS, .job = -1, .groups = {.list = &spot, .count = 1}});
    struct client client = watch (fixture, fixture->eve, "/v1/watch");
    pass (fixture, &client, 1);
    compare (fixture, &client);
    set_power (fixture, "spot-0", POWER_STARTING, fixture->cluster_fixture.now_us + 60000000);
    pass (fixture, &client, 1);
    compare (fixture, &client);
    take (fixture, (struct event){.type = EVENT_NODE,
                                  .job = -1,
                                  .node = {.name = "spot-0", .slots = 4, .available = true}});
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    start (fixture, 0, 3, 2);
    pass (fixture, &client, 1);
    compare (fixture, &client);
    const json_t *group = json_array_get (json_object_get (client.groups, "groups"), 0);
    assert_true (json_number_value (json_object_get (group, "price_per_hour")) == 7);
    assert_null (json_object_get (group, "nodes"));
    int messages = client.messages;
    pass (fixture, &client, 5);
    assert_int_equal (client.messages, messages);
    compare (fixture, &client);
    /* Another price. */
    struct node_group dear = spot;
    dear.price_per_node_hour = 14;
    take (fixture,
          (struct event){.type = EVENT_GROUPS, .job = -1, .groups = {.list = &dear, .count = 1}});
    pass (fixture, &client, 1);
    assert_int_equal (client.rows, 1);
    compare (fixture, &client);
    pass (fixture, &client, 3600);
    compare (fixture, &client);
    set_power (fixture, "spot-0", POWER_DRAINING, fixture->cluster_fixture.now_us + 120000000);
    pass (fixture, &client, 1);
    compare (fixture, &client);
    leave (&client);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST (rows_are_those_of_get),
        TEST (waiting_rows_follow_the_slots),
        TEST (a_pause_is_sent_once),
        TEST (messages_are_paced),
        TEST (clients_resume_by_number),
        TEST (a_lost_past_gives_a_snapshot),
        TEST (a_rewind_gives_a_snapshot),
        TEST (slow_clients_catch_up),
        TEST (clients_share_a_snapshot),
        TEST (dropped_rows_give_a_snapshot),
        cmocka_unit_test (times_may_be_zero),
        TEST (old_jobs_are_left_out),
        TEST (groups_are_watched),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
