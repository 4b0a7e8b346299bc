/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes, over a pair of sockets: their answers for each kind of token, and the events that
 * they post.
 */
#include "unit.h"
#include "api_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/page.h"
#include "backend/run.h"
#include "store/store.h"

static const int64_t S = 1000000;
static const char as_json[] = "application/json", as_yaml[] = "application/yaml";

static int open_fixture (void **state)
{
    *state = calloc (1, sizeof (struct api_fixture));
    api_fixture_open (*state, 2, 4);
    return 0;
}

static int close_fixture (void **state)
{
    api_fixture_close (*state);
    free (*state);
    return 0;
}

static const char *text_at (const json_t *object, const char *key)
{
    return json_string_value (json_object_get (object, key));
}

static json_int_t int_at (const json_t *object, const char *key)
{
    json_t *value = json_object_get (object, key);
    assert_true (json_is_integer (value));
    return json_integer_value (value);
}

static void submit (struct api_fixture *fixture, const char *token, const char *yaml)
{
    assert_int_equal (201, api_fixture_status (fixture, token, "POST", "/v1/jobs", as_yaml, yaml));
}

static void start (struct api_fixture *fixture, int job, struct share *shares, int count)
{
    struct event event = {
        .type = EVENT_START,
        .job = job,
        .start = {.generation = fixture->cluster_fixture.cluster.jobs[job]->generation + 1,
                  .placement = {shares, count}}};
    assert_int_equal (0, api_fixture_take (fixture, &event, NULL));
    api_fixture_step (fixture);
}

static void end (struct api_fixture *fixture, int job, enum exit_kind kind)
{
    struct event event = {
        .type = EVENT_EXIT,
        .job = job,
        .exit = {.generation = fixture->cluster_fixture.cluster.jobs[job]->generation,
                 .kind = kind}};
    assert_int_equal (0, api_fixture_take (fixture, &event, NULL));
    api_fixture_step (fixture);
}

/* ---- Permissions -------------------------------------------------------------------------- */

/* Every route with every kind of token.  Job a is ann's. */
static void every_route_checks_its_token (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    submit (fixture, fixture->bob, "name: b\ncommand: sleep 1\n");
    char job_a[TOKEN_JOB_SIZE], job_b[TOKEN_JOB_SIZE];
    tokens_job (fixture->tokens, "a", 1, job_a);
    tokens_job (fixture->tokens, "b", 1, job_b);
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    static const char hints[] = "{\"version\": 1, \"generation\": 1}";
    static const char news[] = "{\"generation\": 1, \"rank\": 0, \"state\": \"running\"}";
    static const struct {
        const char *method, *target, *type, *body;
        int none, admin, ann, bob, eve, job_a, job_b; /* status for each token */
    } rows[] = {
        {"GET", "/assets/nothing", NULL, NULL, 404, 404, 404, 404, 404, 404, 404},
        {"GET", "/healthz", NULL, NULL, 200, 200, 200, 200, 200, 200, 200},
        {"GET", "/readyz", NULL, NULL, 401, 200, 200, 200, 200, 200, 200},
        {"GET", "/metrics", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/status", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/jobs", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/jobs/a", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/jobs/a/explain", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/jobs/a/logs", NULL, NULL, 401, 404, 404, 403, 403, 403, 403},
        {"POST", "/v1/jobs/a/hints", as_json, hints, 401, 202, 202, 403, 403, 202, 403},
        {"POST", "/v1/jobs/zz/hints", as_json, hints, 401, 404, 404, 404, 403, 403, 403},
        {"POST", "/v1/jobs/a/runs", as_json, news, 401, 202, 202, 403, 403, 202, 403},
        {"POST", "/v1/jobs/zz/runs", as_json, news, 401, 404, 404, 404, 403, 403, 403},
        {"POST", "/v1/jobs/a/limits", as_json, "{}", 401, 200, 200, 403, 403, 403, 403},
        {"GET", "/v1/nodes", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"POST", "/v1/nodes/n0/drain", NULL, NULL, 401, 200, 403, 403, 403, 403, 403},
        {"POST", "/v1/nodes/n0/resume", NULL, NULL, 401, 200, 403, 403, 403, 403, 403},
        {"GET", "/v1/plan", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/rounds", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/rounds/99", NULL, NULL, 401, 404, 404, 404, 404, 403, 403},
        {"GET", "/v1/history", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/jobs/a/history", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/events?follow=0", NULL, NULL, 401, 200, 200, 200, 200, 403, 403},
        {"GET", "/v1/tokens", NULL, NULL, 401, 200, 403, 403, 403, 403, 403},
        {"DELETE", "/v1/tokens/nobody", NULL, NULL, 401, 404, 403, 403, 403, 403, 403},
        {"POST", "/v1/jobs", as_json, "{", 401, 400, 400, 400, 403, 403, 403},
        {"POST", "/v1/jobs/b/cancel", NULL, NULL, 401, 202, 403, 409, 403, 403, 403},
    };
    for (size_t i = 0; i < COUNT (rows); i++) {
        const char *tokens[] = {NULL,         fixture->admin, fixture->ann, fixture->bob,
                                fixture->eve, job_a,          job_b};
        int wanted[] = {rows[i].none, rows[i].admin, rows[i].ann,  rows[i].bob,
                        rows[i].eve,  rows[i].job_a, rows[i].job_b};
        for (size_t j = 0; j < COUNT (tokens); j++) {
            int got = api_fixture_status (fixture, tokens[j], rows[i].method, rows[i].target,
                                          rows[i].type, rows[i].body);
            if (got != wanted[j])
                fail_msg ("%s %s with token %zu: got %d, want %d", rows[i].method, rows[i].target,
                          j, got, wanted[j]);
        }
    }
}

/* The page needs no token, and its headers keep other origins out. */
static void the_page_is_served (void **state)
{
    struct api_fixture *fixture = *state;
    static const struct {
        const char *path, *type, *text;
    } files[] = {{"/", "text/html", "<!doctype html>"},
                 {"/assets/page.js", "text/javascript", "Pollux"},
                 {"/assets/page.css", "text/css", "{"},
                 {"/assets/favicon.svg", "image/svg+xml", "<svg"}};
    for (size_t i = 0; i < COUNT (files); i++) {
        fixture->headers = NULL;
        struct reply reply = api_fixture_ask (fixture, NULL, "GET", files[i].path, NULL, NULL);
        if (!page_is_built ()) {
            assert_int_equal (reply.status, 404);
            assert_non_null (strstr (reply.body, "without its page"));
            reply_clear (&reply);
            continue;
        }
        assert_int_equal (reply.status, 200);
        assert_non_null (strstr (reply.head, files[i].type));
        assert_non_null (strstr (reply.head, "Content-Security-Policy: default-src 'none';"));
        assert_non_null (strstr (reply.head, "frame-ancestors 'none'\r\n"));
        assert_non_null (strstr (reply.head, "X-Content-Type-Options: nosniff\r\n"));
        assert_non_null (strstr (reply.head, "Referrer-Policy: no-referrer\r\n"));
        assert_non_null (strstr (reply.head, "Cache-Control: no-cache\r\n"));
        assert_non_null (strstr (reply.body, files[i].text));
        char header[96];
        const char *tag = strstr (reply.head, "ETag: W/");
        assert_non_null (tag);
        snprintf (header, sizeof (header), "If-None-Match: %.*s\r\n", (int)strcspn (tag + 6, "\r"),
                  tag + 6);
        fixture->headers = header;
        assert_int_equal (304,
                          api_fixture_status (fixture, NULL, "GET", files[i].path, NULL, NULL));
        fixture->headers = "Accept-Encoding: gzip\r\nIf-None-Match: \"x\"\r\n";
        struct reply packed = api_fixture_ask (fixture, NULL, "GET", files[i].path, NULL, NULL);
        assert_int_equal (packed.status, 200);
        assert_non_null (strstr (packed.head, "Content-Encoding: gzip\r\n"));
        assert_memory_equal (packed.body, "\x1f\x8b", 2);
        reply_clear (&packed);
        reply_clear (&reply);
    }
    size_t length;
    const char *report = page_report (&length);
    assert_int_equal (report != NULL, page_is_built ());
    if (report) {
        assert_int_equal (strlen (report), length);
        assert_non_null (strstr (report, "/* DATA */"));
    }
}

static void environments_are_hidden (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\nenvironment: {KEY: s3cr3t}\n");
    const char *tokens[] = {fixture->admin, fixture->ann, fixture->bob, fixture->eve};
    for (size_t i = 0; i < COUNT (tokens); i++) {
        struct reply job = api_fixture_ask (fixture, tokens[i], "GET", "/v1/jobs/a", NULL, NULL);
        struct reply events =
            api_fixture_ask (fixture, tokens[i], "GET", "/v1/events?follow=0", NULL, NULL);
        bool seen = i < 2;
        assert_int_equal (strstr (job.body, "s3cr3t") != NULL, seen);
        assert_int_equal (json_is_null (json_object_get (job.json, "environment")), !seen);
        assert_int_equal (strstr (events.body, "s3cr3t") != NULL, seen);
        assert_non_null (strstr (events.body, "event: SUBMIT"));
        /* The text copied from the journal equals the encoded one. */
        json_t *data = json_loads (strstr (strstr (events.body, "event: SUBMIT"), "data: ") + 6,
                                   JSON_DISABLE_EOF_CHECK, NULL);
        assert_int_equal (json_object_size (data), 5);
        assert_true (json_is_object (json_object_get (json_object_get (data, "body"), "launch")));
        json_decref (data);
        reply_clear (&job);
        reply_clear (&events);
    }
}

/* ---- Jobs --------------------------------------------------------------------------------- */

static void life_of_a_job (void **state)
{
    struct api_fixture *fixture = *state;
    struct reply reply =
        api_fixture_ask (fixture, fixture->ann, "POST", "/v1/jobs", as_yaml,
                         "command: python3 src/train.py --epochs 3\nadaptive: true\n"
                         "max_replicas: 4\nmin_replicas: 2\n");
    assert_int_equal (reply.status, 201);
    assert_string_equal (text_at (reply.json, "name"), "train-1");
    assert_string_equal (text_at (reply.json, "owner"), "ann");
    assert_string_equal (text_at (reply.json, "phase"), "pending");
    assert_non_null (strstr (reply.head, "/v1/jobs/train-1"));
    assert_true (json_is_string (json_object_get (reply.json, "waits_for")));
    reply_clear (&reply);
    /* Until its first report it gets its smallest number of replicas. */
    assert_int_equal (job_trusted_replicas (fixture->cluster_fixture.cluster.jobs[0]), 2);
    assert_int_equal (409, api_fixture_status (fixture, fixture->bob, "POST", "/v1/jobs", as_json,
                                               "{\"name\": \"train-1\", \"command\": [\"true\"]}"));
    reply = api_fixture_ask (fixture, fixture->ann, "POST", "/v1/jobs", as_yaml,
                             "name: ../x\ncommand: true\nmax_replica: 3\nweight: -1\n");
    assert_int_equal (reply.status, 400);
    assert_true (json_array_size (json_object_get (reply.json, "problems")) >= 3);
    reply_clear (&reply);

    /* check=1 has the same answers, and changes nothing. */
    int posted = fixture->posts;
    reply = api_fixture_ask (fixture, fixture->ann, "POST", "/v1/jobs?check=1", as_yaml,
                             "command: python3 src/train.py\ntypes: [h100]\n");
    assert_int_equal (reply.status, 200);
    assert_string_equal (text_at (reply.json, "name"), "train-2");
    assert_int_equal (json_array_size (json_object_get (reply.json, "problems")), 0);
    assert_non_null (strstr (text_at (reply.json, "warning"), "h100"));
    reply_clear (&reply);
    reply = api_fixture_ask (fixture, fixture->ann, "POST", "/v1/jobs?check=1", as_yaml,
                             "name: ../x\ncommand: true\nmax_replica: 3\nweight: -1\n");
    assert_int_equal (reply.status, 400);
    assert_true (json_array_size (json_object_get (reply.json, "problems")) >= 3);
    reply_clear (&reply);
    assert_int_equal (409, api_fixture_status (fixture, fixture->bob, "POST", "/v1/jobs?check=1",
                                               as_json,
                                               "{\"name\": \"train-1\", \"command\": [\"x\"]}"));
    assert_int_equal (fixture->posts, posted);
    assert_int_equal (fixture->cluster_fixture.cluster.job_count, 1);

    start (fixture, 0, (struct share[]){{0, 2}, {1, 1}}, 2);
    fixture->cluster_fixture.now_us += 10 * S;
    reply = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/jobs/train-1", NULL, NULL);
    assert_string_equal (text_at (reply.json, "phase"), "running");
    assert_int_equal (int_at (reply.json, "replicas"), 3);
    assert_int_equal (int_at (json_object_get (reply.json, "placement"), "n0"), 2);
    assert_true (json_number_value (json_object_get (reply.json, "run_s")) == 10);
    assert_true (json_is_null (json_object_get (reply.json, "goodput")));
    reply_clear (&reply);

    assert_int_equal (202, api_fixture_status (fixture, fixture->ann, "POST",
                                               "/v1/jobs/train-1/cancel", NULL, NULL));
    int posts = fixture->posts;
    assert_int_equal (202, api_fixture_status (fixture, fixture->ann, "POST",
                                               "/v1/jobs/train-1/cancel", NULL, NULL));
    assert_int_equal (fixture->posts, posts); /* no change */
    end (fixture, 0, EXITED_STOPPED);
    assert_int_equal (409, api_fixture_status (fixture, fixture->ann, "POST",
                                               "/v1/jobs/train-1/cancel", NULL, NULL));
    assert_int_equal (409, api_fixture_status (fixture, fixture->ann, "GET",
                                               "/v1/jobs/train-1/explain", NULL, NULL));
    assert_int_equal (
        404, api_fixture_status (fixture, fixture->ann, "GET", "/v1/jobs/train-2", NULL, NULL));
}

static void jobs_without_a_name_get_one (void **state)
{
    struct api_fixture *fixture = *state;
    static const struct {
        const char *body, *name;
    } cases[] = {
        {"{\"command\": \"./run.sh fast\"}", "run-1"},
        {"{\"command\": [\"/usr/bin/python3.11\", \"train.py\"]}", "train-2"},
        {"{\"command\": [\"python\", \"-m\", \"x\"]}", "python-3"},
        {"{\"command\": \"$HOME/x\"}", "job-4"},
        {"{\"command\": [\"...\"]}", "job-5"},
        {"{\"command\": [\"true\"], \"name\": \"true-7\"}", "true-7"},
        {"{\"command\": [\"true\"]}", "true-8"},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        struct reply reply =
            api_fixture_ask (fixture, fixture->ann, "POST", "/v1/jobs", as_json, cases[i].body);
        assert_int_equal (reply.status, 201);
        assert_string_equal (text_at (reply.json, "name"), cases[i].name);
        reply_clear (&reply);
    }
}

static void lists_have_pages (void **state)
{
    struct api_fixture *fixture = *state;
    for (int i = 0; i < 25; i++) {
        char yaml[64];
        snprintf (yaml, sizeof (yaml), "name: j%02d\ncommand: sleep 1\n", i);
        submit (fixture, i % 5 == 0 ? fixture->bob : fixture->ann, yaml);
    }
    start (fixture, 3, (struct share[]){{0, 1}}, 1);
    char target[128] = "/v1/jobs?limit=10&owner=ann";
    int seen = 0, pages = 0;
    for (const char *next = ""; next; pages++) {
        struct reply reply = api_fixture_ask (fixture, fixture->eve, "GET", target, NULL, NULL);
        assert_int_equal (reply.status, 200);
        seen += (int)json_array_size (json_object_get (reply.json, "jobs"));
        next = text_at (reply.json, "next");
        if (next)
            snprintf (target, sizeof (target), "/v1/jobs?limit=10&owner=ann&after=%s", next);
        reply_clear (&reply);
    }
    assert_int_equal (seen, 20);
    assert_int_equal (pages, 2); /* the last page is exactly full, and has no next page */
    static const struct {
        const char *query;
        int status, count;
    } cases[] = {
        {"?phase=running", 200, 1},
        {"?phase=live", 200, 25},
        {"?phase=finished,failed", 200, 0},
        {"?phase=pending,running&limit=7", 200, 7},
        {"?ended_after=0&limit=1000", 200, 25},
        {"?ended_after=-1", 400, 0},
        {"?phase=runing", 400, 0},
        {"?phase=", 400, 0},
        {"?phase=live,", 400, 0},
        {"?limit=0", 400, 0},
        {"?limit=1001", 400, 0},
        {"?after=nobody", 400, 0},
        {"?owner=nobody", 200, 0},
        {"?after=j24", 200, 0},
        {"?nonsense=1", 400, 0},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        snprintf (target, sizeof (target), "/v1/jobs%s", cases[i].query);
        struct reply reply = api_fixture_ask (fixture, fixture->eve, "GET", target, NULL, NULL);
        if (reply.status != cases[i].status)
            fail_msg ("%s: got %d", target, reply.status);
        if (reply.status == 200)
            assert_int_equal (json_array_size (json_object_get (reply.json, "jobs")),
                              cases[i].count);
        else
            assert_true (json_is_string (json_object_get (reply.json, "error")));
        reply_clear (&reply);
    }
}

static void limits_are_checked (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\nmax_replicas: 8\nallowed: pow2\n");
    static const struct {
        const char *body;
        int status;
    } cases[] = {
        {"{\"max_replicas\": 4}", 200},
        {"{\"min_replicas\": 3, \"max_replicas\": 5, \"weight\": 2.5}", 200},
        {"{\"min_replicas\": 5}", 400}, /* no power of two within these limits */
        {"{\"min_replicas\": 9}", 400},
        {"{\"min_replicas\": -1}", 400},
        {"{\"max_replicas\": 0}", 400},
        {"{\"max_replicas\": 1.5}", 400},
        {"{\"weight\": 0}", 400},
        {"{\"wieght\": 1}", 400},
        {"[]", 400},
        {"", 400},
        {"{\"max_replicas\": 4} x", 400},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        int got = api_fixture_status (fixture, fixture->ann, "POST", "/v1/jobs/a/limits", as_json,
                                      cases[i].body);
        if (got != cases[i].status)
            fail_msg ("%s: got %d, want %d", cases[i].body, got, cases[i].status);
    }
    const struct job_spec *spec = &fixture->cluster_fixture.cluster.jobs[0]->spec;
    assert_int_equal (spec->min_replicas, 3);
    assert_int_equal (spec->max_replicas, 5);
    assert_true (spec->weight == 2.5);
    /* If the journal cannot be written, the request fails and changes nothing. */
    fixture->post_failure = -ENOSPC;
    struct reply reply = api_fixture_ask (fixture, fixture->ann, "POST", "/v1/jobs/a/limits",
                                          as_json, "{\"weight\": 1}");
    assert_int_equal (reply.status, 507);
    assert_non_null (strstr (reply.body, "the journal is full"));
    reply_clear (&reply);
}

/* ---- Reports ------------------------------------------------------------------------------ */

static const char good_hints[] =
    "{\"version\": 1, \"generation\": 1, \"model\": {\"alpha_grad\": 0.05, \"beta_grad\": 0.001, "
    "\"alpha_node\": 0.05, \"beta_node\": 0.001, \"alpha_local\": 0.02, \"beta_local\": 0.001, "
    "\"gamma\": 2}, \"grad\": {\"sqr\": 0.01, \"var\": 0.2}, \"init_batch\": 128, \"max_batch\": "
    "8192, \"min_local\": 16, \"max_local\": 512, \"accumulation\": true, "
    "\"max_profiled_replicas\": 2, \"progress\": 100, \"total\": 1000, \"m\": 64, \"s\": 0, "
    "\"unknown\": [1, 2]}";

static void reports_become_one_event (void **state)
{
    struct api_fixture *fixture = *state;
    char token[TOKEN_JOB_SIZE];
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\nadaptive: true\nmax_replicas: 8\n");
    tokens_job (fixture->tokens, "a", 1, token);
    assert_int_equal (409, api_fixture_status (fixture, token, "POST", "/v1/jobs/a/hints", as_json,
                                               good_hints)); /* the job does not run */
    start (fixture, 0, (struct share[]){{0, 2}}, 1);
    int64_t count = store_count (fixture->store);
    int posts = fixture->posts;
    for (int i = 0; i < 3; i++)
        assert_int_equal (202, api_fixture_status (fixture, token, "POST", "/v1/jobs/a/hints",
                                                   as_json, good_hints));
    assert_int_equal (store_count (fixture->store), count);
    assert_int_equal (fixture->posts, posts);
    struct reply reply = api_fixture_ask (fixture, fixture->ann, "GET", "/v1/jobs/a", NULL, NULL);
    assert_true (json_number_value (json_object_get (reply.json, "goodput")) > 0);
    assert_true (json_number_value (json_object_get (reply.json, "progress")) == 100);
    assert_int_equal (int_at (json_object_get (reply.json, "batch"), "m"), 64);
    assert_true (json_is_null (json_object_get (reply.json, "refused_report")));
    reply_clear (&reply);
    assert_int_equal (400,
                      api_fixture_status (fixture, token, "POST", "/v1/jobs/a/hints", as_json,
                                          "{\"version\": 1, \"generation\": 1, \"progress\": -1}"));
    assert_int_equal (400, api_fixture_status (fixture, token, "POST", "/v1/jobs/a/hints", as_json,
                                               "{\"version\": 7, \"generation\": 1}"));
    reply = api_fixture_ask (fixture, fixture->ann, "GET", "/v1/jobs/a", NULL, NULL);
    assert_true (json_is_string (json_object_get (reply.json, "refused_report")));
    assert_true (json_number_value (json_object_get (reply.json, "goodput")) > 0);
    reply_clear (&reply);
    /* One event for all of them, before a round. */
    assert_int_equal (0, api_fixture_post_reports (fixture));
    assert_int_equal (fixture->posts, posts + 1);
    assert_true (fixture->cluster_fixture.cluster.jobs[0]->hints.has_model);
    assert_int_equal (0, api_fixture_post_reports (fixture));
    assert_int_equal (fixture->posts, posts + 1);
    reply = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/jobs/a/explain", NULL, NULL);
    assert_int_equal (reply.status, 200);
    assert_int_equal (json_array_size (json_object_get (reply.json, "curve")), 8);
    assert_true (json_array_size (json_object_get (reply.json, "sentences")) > 0);
    reply_clear (&reply);
    /* An old generation. */
    end (fixture, 0, EXITED_STOPPED);
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    assert_int_equal (
        409, api_fixture_status (fixture, token, "POST", "/v1/jobs/a/hints", as_json, good_hints));
    /* Its token with the new number. */
    static const char hints[] = "{\"version\": 1, \"generation\": 2}";
    static const char news[] = "{\"generation\": 2, \"rank\": 0, \"state\": \"running\"}";
    for (int i = 1; i <= 2; i++) {
        int expected = i == 1 ? 403 : 202;
        tokens_job (fixture->tokens, "a", i, token);
        assert_int_equal (expected, api_fixture_status (fixture, token, "POST", "/v1/jobs/a/hints",
                                                        as_json, hints));
        assert_int_equal (expected, api_fixture_status (fixture, token, "POST", "/v1/jobs/a/runs",
                                                        as_json, news));
    }
}

/* ---- Nodes, plans, rounds ----------------------------------------------------------------- */

static void nodes_plan_and_rounds (void **state)
{
    struct api_fixture *fixture = *state;
    struct reply reply = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/plan", NULL, NULL);
    assert_true (json_is_null (json_object_get (reply.json, "round")));
    reply_clear (&reply);
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    struct event round = {.type = EVENT_ROUND, .job = -1, .round = fixture->cluster_fixture.round};
    struct plan plan = {0};
    struct share share = {1, 3};
    assert_int_equal (0, api_fixture_take (fixture, &round, NULL));
    cluster_status_decided (&fixture->status, 0.5);
    assert_int_equal (0, plan_reset (&plan, 1));
    assert_int_equal (0, plan_place (&plan, 0, (struct placement){&share, 1}));
    plan.price = 0.25;
    struct event decided = {.type = EVENT_PLAN, .job = -1, .plan = &plan};
    assert_int_equal (0, api_fixture_take (fixture, &decided, NULL));
    plan_clear (&plan);
    reply = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/plan", NULL, NULL);
    json_t *placements = json_object_get (reply.json, "placements");
    assert_int_equal (int_at (json_object_get (placements, "a"), "n1"), 3);
    assert_true (json_number_value (json_object_get (reply.json, "price")) == 0.25);
    assert_int_equal (int_at (reply.json, "round"), 4);
    reply_clear (&reply);
    reply = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/rounds?limit=5", NULL, NULL);
    json_t *first = json_array_get (json_object_get (reply.json, "rounds"), 0);
    assert_int_equal (int_at (first, "used_slots"), 3);
    reply_clear (&reply);
    start (fixture, 0, &share, 1);
    reply = api_fixture_ask (fixture, fixture->admin, "POST", "/v1/nodes/n1/drain", NULL, NULL);
    assert_false (json_is_true (json_object_get (reply.json, "available")));
    assert_int_equal (int_at (reply.json, "used"), 3);
    assert_int_equal (int_at (json_object_get (reply.json, "jobs"), "a"), 3);
    reply_clear (&reply);
    assert_false (fixture->cluster_fixture.cluster.nodes[1].available);
    int posts = fixture->posts;
    assert_int_equal (200, api_fixture_status (fixture, fixture->admin, "POST",
                                               "/v1/nodes/n1/drain", NULL, NULL));
    assert_int_equal (fixture->posts, posts);
    assert_int_equal (200, api_fixture_status (fixture, fixture->admin, "POST",
                                               "/v1/nodes/n1/resume", NULL, NULL));
    assert_true (fixture->cluster_fixture.cluster.nodes[1].available);
    assert_int_equal (404, api_fixture_status (fixture, fixture->admin, "POST",
                                               "/v1/nodes/n7/drain", NULL, NULL));
    fixture->status.next_round_us = fixture->cluster_fixture.now_us + 60 * S;
    reply = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/status", NULL, NULL);
    assert_int_equal (int_at (reply.json, "slots"), 8);
    assert_int_equal (int_at (reply.json, "used_slots"), 3);
    assert_int_equal (int_at (json_object_get (reply.json, "jobs"), "running"), 1);
    assert_true (json_is_real (json_object_get (reply.json, "next_round_at")));
    reply_clear (&reply);
    api_set_unready (fixture->api, "the journal cannot be written");
    assert_int_equal (503,
                      api_fixture_status (fixture, fixture->eve, "GET", "/readyz", NULL, NULL));
}

/* A round whose plan gives each active job `replicas` on node n0, or none. */
static void hold_round (struct api_fixture *fixture, const int *replicas, int count)
{
    struct event round = {.type = EVENT_ROUND, .job = -1, .round = fixture->cluster_fixture.round};
    struct plan plan = {0};
    assert_int_equal (0, api_fixture_take (fixture, &round, NULL));
    assert_int_equal (0, plan_reset (&plan, count));
    for (int i = 0; i < count; i++) {
        struct share share = {0, replicas[i]};
        if (replicas[i] > 0)
            assert_int_equal (0, plan_place (&plan, i, (struct placement){&share, 1}));
    }
    plan.price = 0.5;
    struct event decided = {.type = EVENT_PLAN, .job = -1, .plan = &plan};
    assert_int_equal (0, api_fixture_take (fixture, &decided, NULL));
    plan_clear (&plan);
    api_fixture_step (fixture);
}

static struct reply show_round (struct api_fixture *fixture, int64_t age)
{
    char target[64];
    snprintf (target, sizeof (target), "/v1/rounds/%lld",
              (long long)round_history_get (&fixture->status.rounds, age)->seq);
    return api_fixture_ask (fixture, fixture->eve, "GET", target, NULL, NULL);
}

static void expect_json (const json_t *object, const char *key, const char *text)
{
    char *found = json_dumps (json_object_get (object, key), JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal (found, text);
    free (found);
}

static void expect_round (const json_t *object, const char *key,
                          const struct round_summary *summary)
{
    assert_int_equal (int_at (object, key), summary->seq);
}

static void a_round_shows_its_changes (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    submit (fixture, fixture->ann, "name: b\ncommand: sleep 1\n");
    submit (fixture, fixture->ann, "name: c\ncommand: sleep 1\n");
    hold_round (fixture, (int[]){1, 2, 1}, 3);
    struct reply reply = show_round (fixture, 0);
    assert_int_equal (reply.status, 200);
    expect_json (reply.json, "previous", "null");
    expect_json (reply.json, "next", "null");
    expect_json (reply.json, "before", "{}");
    expect_json (reply.json, "after", "{\"a\":{\"n0\":1},\"b\":{\"n0\":2},\"c\":{\"n0\":1}}");
    assert_int_equal (json_array_size (json_object_get (reply.json, "changes")), 3);
    reply_clear (&reply);
    /* a ends by itself, b shrinks, c stops. */
    fixture->cluster_fixture.now_us += S;
    struct event cancel = {.type = EVENT_CANCEL, .job = 0};
    assert_int_equal (0, api_fixture_take (fixture, &cancel, NULL));
    fixture->cluster_fixture.now_us += S;
    hold_round (fixture, (int[]){1, 0}, 2);
    reply = show_round (fixture, 0);
    expect_json (reply.json, "changes",
                 "[{\"job\":\"b\",\"from\":{\"n0\":2},\"to\":{\"n0\":1}},"
                 "{\"job\":\"c\",\"from\":{\"n0\":1},\"to\":{}}]");
    expect_json (reply.json, "after", "{\"b\":{\"n0\":1}}");
    expect_json (reply.json, "changed", "2");
    expect_json (reply.json, "text", "\"2 jobs changed: b 2 -> 1, c stops\"");
    reply_clear (&reply);
    /* A snapshot replaces the plans. */
    assert_int_equal (0, store_compact (fixture->store, &fixture->cluster_fixture.cluster, NULL, 0,
                                        &fixture->status.history, NULL));
    hold_round (fixture, (int[]){1, 0}, 2);
    reply = show_round (fixture, 1);
    assert_int_equal (reply.status, 200);
    expect_round (reply.json, "previous", round_history_get (&fixture->status.rounds, 2));
    expect_round (reply.json, "next", round_history_get (&fixture->status.rounds, 0));
    expect_json (reply.json, "after", "null");
    expect_json (reply.json, "changes", "null");
    reply_clear (&reply);
    reply = show_round (fixture, 0);
    expect_json (reply.json, "before", "null");
    expect_json (reply.json, "after", "{\"b\":{\"n0\":1}}");
    expect_json (reply.json, "changes", "null");
    reply_clear (&reply);
    static const char *const none[] = {"/v1/rounds/0", "/v1/rounds/-1", "/v1/rounds/x",
                                       "/v1/rounds/99999999999999999999"};
    for (size_t i = 0; i < COUNT (none); i++)
        assert_int_equal (404,
                          api_fixture_status (fixture, fixture->eve, "GET", none[i], NULL, NULL));
}

static double last_of (const json_t *columns, const char *key)
{
    json_t *column = json_object_get (columns, key);
    assert_int_equal (json_array_size (column), json_array_size (json_object_get (columns, "at")));
    json_t *last = json_array_get (column, json_array_size (column) - 1);
    return json_is_null (last) ? NAN : json_number_value (last);
}

static void the_past_is_told (void **state)
{
    struct api_fixture *fixture = *state;
    struct cluster_fixture *cluster = &fixture->cluster_fixture;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    cluster->now_us += 30 * S;
    start (fixture, 0, (struct share[]){{0, 2}, {1, 1}}, 2);
    cluster->now_us += 60 * S;
    struct report report = {
        .batch = {64, 0}, .hints = cluster_fixture_hints (100, 1000), .oracle_remaining = NAN};
    report.hints.step_s = 0.2;
    report.hints.rate_factor = 1.25;
    for (int i = 0; i < 2; i++) {
        struct event hints = {.type = EVENT_HINTS, .job = -1, .hints = {&report, 1}};
        assert_int_equal (0, api_fixture_take (fixture, &hints, NULL));
        cluster->now_us += 60 * S;
    }
    struct reply reply =
        api_fixture_ask (fixture, fixture->eve, "GET", "/v1/jobs/a/history", NULL, NULL);
    assert_int_equal (reply.status, 200);
    json_t *points = json_object_get (reply.json, "points");
    assert_true (last_of (points, "at") == (double)cluster->now_us * 1e-6);
    assert_true (last_of (points, "replicas") == 3 && last_of (points, "nodes") == 2);
    assert_true (last_of (points, "batch") == 192 && last_of (points, "progress") == 100);
    assert_true (last_of (points, "step_s") == 0.2 && last_of (points, "rate_factor") == 1.25);
    assert_true (last_of (points, "goodput") > 0 && last_of (points, "noise_scale") > 0);
    json_t *generation = json_array_get (json_object_get (reply.json, "generations"), 0);
    expect_json (generation, "placement", "{\"n0\":2,\"n1\":1}");
    expect_json (generation, "kind", "null");
    expect_json (generation, "ended_at", "null");
    json_t *measured = json_array_get (json_object_get (reply.json, "measured"), 0);
    assert_int_equal (int_at (measured, "m"), 64);
    double predicted_s = json_number_value (json_object_get (measured, "predicted_s"));
    assert_true (predicted_s > 0);
    reply_clear (&reply);
    end (fixture, 0, EXITED_FINISHED);
    cluster->now_us += 600 * S;
    reply = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/jobs/a/history", NULL, NULL);
    points = json_object_get (reply.json, "points");
    assert_true (last_of (points, "replicas") == 0 && last_of (points, "goodput") == 0);
    assert_true (last_of (points, "at") == (double)(cluster->now_us - 600 * S) * 1e-6);
    generation = json_array_get (json_object_get (reply.json, "generations"), 0);
    expect_json (generation, "kind", "\"finished\"");
    measured = json_array_get (json_object_get (reply.json, "measured"), 0);
    assert_true (json_number_value (json_object_get (measured, "predicted_s")) == predicted_s);
    reply_clear (&reply);
    cluster->now_us += 3 * 3600 * S; /* there was no event in this time */
    reply = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/history", NULL, NULL);
    json_t *minutes = json_object_get (reply.json, "minutes");
    assert_true (json_array_size (json_object_get (minutes, "at")) >= 193);
    assert_true (last_of (minutes, "at") == (double)((cluster->now_us - 1) / (60 * S) * 60));
    assert_true (last_of (minutes, "slots") == 8 && last_of (minutes, "used") == 0);
    assert_true (json_number_value (json_array_get (json_object_get (minutes, "used"), 2)) == 3);
    assert_true (last_of (json_object_get (reply.json, "hours"), "slots") == 8);
    assert_true (isnan (last_of (minutes, "price")));
    reply_clear (&reply);
}

static void tokens_are_added_and_deleted (void **state)
{
    struct api_fixture *fixture = *state;
    struct reply reply = api_fixture_ask (fixture, fixture->admin, "POST", "/v1/tokens", as_json,
                                          "{\"name\": \"kim\", \"role\": \"user\"}");
    assert_int_equal (reply.status, 201);
    char *secret = strdup (text_at (reply.json, "token"));
    reply_clear (&reply);
    assert_int_equal (200, api_fixture_status (fixture, secret, "GET", "/v1/jobs", NULL, NULL));
    reply = api_fixture_ask (fixture, fixture->admin, "GET", "/v1/tokens", NULL, NULL);
    assert_int_equal (json_array_size (json_object_get (reply.json, "tokens")), 4);
    assert_null (strstr (reply.body, secret));
    reply_clear (&reply);
    assert_int_equal (409, api_fixture_status (fixture, fixture->admin, "POST", "/v1/tokens",
                                               as_json, "{\"name\": \"kim\", \"role\": \"user\"}"));
    static const char *const bad[] = {
        "{\"name\": \"x\", \"role\": \"job\"}",
        "{\"name\": \"x\", \"role\": \"root\"}",
        "{\"name\": \"\", \"role\": \"user\"}",
        "{\"name\": \"a b\", \"role\": \"user\"}",
        "{\"role\": \"user\"}",
        "{\"name\": \"x\", \"role\": \"user\", \"z\": 1}",
        "{\"name\": \"x\", \"role\": \"user\", \"expires_s\": 0}",
        "{\"name\": \"x\", \"role\": \"user\", \"expires_s\": 1e9}",
        "{\"name\": \"x\", \"role\": \"user\", \"expires_s\": \"1d\"}"};
    for (size_t i = 0; i < COUNT (bad); i++)
        if (api_fixture_status (fixture, fixture->admin, "POST", "/v1/tokens", as_json, bad[i]) !=
            400)
            fail_msg ("%s: not refused", bad[i]);
    assert_int_equal (
        200, api_fixture_status (fixture, fixture->admin, "DELETE", "/v1/tokens/kim", NULL, NULL));
    assert_int_equal (401, api_fixture_status (fixture, secret, "GET", "/v1/jobs", NULL, NULL));
    free (secret);
}

/* ---- Events ------------------------------------------------------------------------------- */

static int count_of (const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr (at, word)); at += strlen (word))
        count++;
    return count;
}

static void events_can_be_followed (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n"); /* the third event */
    struct reply reply =
        api_fixture_ask (fixture, fixture->eve, "GET", "/v1/events?follow=0", NULL, NULL);
    assert_int_equal (count_of (reply.body, "\nevent: NODE\n"), 2);
    assert_int_equal (count_of (reply.body, "id: 3\nevent: SUBMIT\ndata: {\"seq\":3,"), 1);
    reply_clear (&reply);
    reply =
        api_fixture_ask (fixture, fixture->eve, "GET", "/v1/events?follow=0&after=2", NULL, NULL);
    assert_int_equal (count_of (reply.body, "id: "), 1);
    reply_clear (&reply);
    assert_int_equal (
        400, api_fixture_status (fixture, fixture->eve, "GET", "/v1/events?after=x", NULL, NULL));
    assert_int_equal (
        400, api_fixture_status (fixture, fixture->eve, "GET", "/v1/events?follow=2", NULL, NULL));

    int follower = api_fixture_stream (fixture, fixture->eve, "/v1/events");
    int from_two = api_fixture_stream (fixture, fixture->eve, "/v1/events?after=1");
    char *received = api_fixture_received (fixture, follower);
    assert_int_equal (count_of (received, "id: "), 0);
    free (received);
    assert_int_equal (200, api_fixture_status (fixture, fixture->admin, "POST",
                                               "/v1/nodes/n0/drain", NULL, NULL));
    received = api_fixture_received (fixture, follower);
    assert_int_equal (count_of (received, "id: 4\nevent: NODE\n"), 1);
    free (received);
    received = api_fixture_received (fixture, from_two);
    assert_int_equal (count_of (received, "id: "), 3);
    free (received);
    close (follower);
    close (from_two);
    api_fixture_step (fixture);
    api_fixture_step (fixture);
    assert_int_equal (http_server_counts (fixture->server).streams, 0);
}

/* A client that asks for compacted events gets one COMPACTED event instead. */
static void compacted_events_are_sent_as_one (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    int follower = api_fixture_stream (fixture, fixture->eve, "/v1/events"); /* after event 3 */
    assert_int_equal (
        0, store_compact (fixture->store, &fixture->cluster_fixture.cluster, NULL, 0, NULL, NULL));
    struct reply reply =
        api_fixture_ask (fixture, fixture->admin, "POST", "/v1/nodes/n0/drain", NULL, NULL);
    assert_int_equal (reply.status, 200);
    reply_clear (&reply);
    reply =
        api_fixture_ask (fixture, fixture->eve, "GET", "/v1/events?follow=0&after=1", NULL, NULL);
    assert_int_equal (count_of (reply.body, "id: "), 2);
    assert_int_equal (count_of (reply.body, "id: 3\nevent: COMPACTED\n"), 1);
    assert_int_equal (count_of (reply.body, "id: 4\nevent: NODE\n"), 1);
    reply_clear (&reply);
    char *received =
        api_fixture_received (fixture, follower); /* it had received all compacted events */
    assert_int_equal (count_of (received, "COMPACTED"), 0);
    assert_int_equal (count_of (received, "id: 4\nevent: NODE\n"), 1);
    free (received);
    close (follower);
    api_fixture_step (fixture);
}

/* When a token is deleted, its streams end; those of other tokens continue. */
static void deleted_tokens_end_their_streams (void **state)
{
    struct api_fixture *fixture = *state;
    int eve = api_fixture_stream (fixture, fixture->eve, "/v1/events"),
        ann = api_fixture_stream (fixture, fixture->ann, "/v1/events");
    free (api_fixture_received (fixture, eve));
    free (api_fixture_received (fixture, ann));
    assert_int_equal (
        200, api_fixture_status (fixture, fixture->admin, "DELETE", "/v1/tokens/eve", NULL, NULL));
    assert_int_equal (
        201, api_fixture_status (fixture, fixture->ann, "POST", "/v1/jobs", as_yaml, "command: x"));
    char *received = api_fixture_received (fixture, eve),
         *others = api_fixture_received (fixture, ann);
    assert_null (strstr (received, "SUBMIT"));
    assert_non_null (strstr (others, "SUBMIT"));
    char byte;
    assert_int_equal (0, recv (eve, &byte, 1, MSG_DONTWAIT));
    assert_int_equal (-1, recv (ann, &byte, 1, MSG_DONTWAIT));
    free (received);
    free (others);
    close (eve);
    close (ann);
}

/* A client that does not read takes a bounded buffer, and gets all events when it reads. */
static void slow_followers_lose_nothing (void **state)
{
    struct api_fixture *fixture = *state;
    int slow = api_fixture_stream (fixture, fixture->eve, "/v1/events?after=2");
    const int many = 3000;
    for (int i = 0; i < many; i++) {
        struct event event = {
            .type = EVENT_NODE, .job = -1, .node = fixture->cluster_fixture.cluster.nodes[0]};
        snprintf (event.node.type, sizeof (event.node.type), "a-long-name-of-a-type-%d", i);
        assert_int_equal (0, api_fixture_take (fixture, &event, NULL));
        if (i % 100 == 0)
            api_fixture_step (fixture);
    }
    api_fixture_step (fixture);
    char *all = NULL, *received = NULL;
    size_t length = 0;
    FILE *file = open_memstream (&all, &length);
    do {
        free (received);
        received = api_fixture_received (fixture, slow);
        fputs (received, file);
    } while (received[0]);
    fclose (file);
    free (received);
    stream_plain (all);
    assert_int_equal (count_of (all, "\nevent: NODE\n"), many);
    free (all);
    close (slow);
    api_fixture_step (fixture);
}

/* ---- Logs --------------------------------------------------------------------------------- */

/* Bytes appended to a log of job a, number 0 for out.log. */
static void write_log (struct api_fixture *fixture, int generation, int number, const char *text)
{
    char path[160], suffix[8] = "";
    snprintf (path, sizeof (path), "%s/run/a/%d/0", fixture->folder, generation);
    assert_int_equal (0, run_prepare (fixture->runs, "a", generation, NULL));
    mkdir (path, 0700);
    if (number > 0)
        snprintf (suffix, sizeof (suffix), ".%d", number);
    snprintf (path, sizeof (path), "%s/run/a/%d/0/out.log%s", fixture->folder, generation, suffix);
    int fd = open (path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true (fd >= 0);
    assert_int_equal ((ssize_t)strlen (text), write (fd, text, strlen (text)));
    close (fd);
}

static void rotate (struct api_fixture *fixture, int generation, int from)
{
    char old[160], new[160], suffix[8] = "";
    if (from > 0)
        snprintf (suffix, sizeof (suffix), ".%d", from);
    snprintf (old, sizeof (old), "%s/run/a/%d/0/out.log%s", fixture->folder, generation, suffix);
    snprintf (new, sizeof (new), "%s/run/a/%d/0/out.log.%d", fixture->folder, generation, from + 1);
    assert_int_equal (0, rename (old, new));
}

static void logs_are_tailed (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    write_log (fixture, 1, 2, "one\ntwo\n");
    write_log (fixture, 1, 1, "three\n");
    write_log (fixture, 1, 0, "four\nfive");
    static const struct {
        const char *query;
        int status;
        const char *text;
    } cases[] = {
        {"", 200, "one\ntwo\nthree\nfour\nfive"},
        {"?tail=0", 200, ""},
        {"?tail=1", 200, "five"},
        {"?tail=2", 200, "four\nfive"},
        {"?tail=3", 200, "three\nfour\nfive"},
        {"?tail=4&generation=1", 200, "two\nthree\nfour\nfive"},
        {"?tail=5&rank=0", 200, "one\ntwo\nthree\nfour\nfive"},
        {"?tail=100", 200, "one\ntwo\nthree\nfour\nfive"},
        {"?rank=1", 404, NULL},
        {"?generation=2", 404, NULL},
        {"?generation=0", 400, NULL},
        {"?generation=../../x", 400, NULL},
        {"?rank=-1", 400, NULL},
        {"?rank=../0", 400, NULL},
        {"?tail=x", 400, NULL},
    };
    for (size_t i = 0; i < COUNT (cases); i++) {
        char target[96];
        snprintf (target, sizeof (target), "/v1/jobs/a/logs%s", cases[i].query);
        struct reply reply = api_fixture_ask (fixture, fixture->ann, "GET", target, NULL, NULL);
        if (reply.status != cases[i].status ||
            (cases[i].text && strcmp (reply.body, cases[i].text) != 0))
            fail_msg ("%s: got %d \"%s\"", target, reply.status, reply.body);
        reply_clear (&reply);
    }
    static const char *const bad[] = {"/v1/jobs/..%2fa/logs", "/v1/jobs/%2e%2e/logs",
                                      "/v1/jobs/a%00/logs", "/v1/jobs/../jobs/a/logs"};
    for (size_t i = 0; i < COUNT (bad); i++)
        assert_true (
            api_fixture_status (fixture, fixture->admin, "GET", bad[i], NULL, NULL) / 100 == 4);
}

/* The body must contain the text; with status 200 it must be the text. */
static void expect_logs (struct api_fixture *fixture, const char *target, int status,
                         const char *text)
{
    struct reply reply = api_fixture_ask (fixture, fixture->ann, "GET", target, NULL, NULL);
    if (reply.status != status ||
        (status == 200 ? strcmp (reply.body, text) != 0 : !strstr (reply.body, text)))
        fail_msg ("%s: got %d \"%s\"", target, reply.status, reply.body);
    reply_clear (&reply);
}

#define LOGS_A "/v1/jobs/a/logs?generation="
#define REMOVED                                                                                    \
    "its logs were removed: those of a job may have 256 MiB (job_log_limit), and the oldest ones " \
    "go first"

static void logs_of_all_generations (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    write_log (fixture, 1, 1, "first\n");
    write_log (fixture, 1, 0, "==> job a, generation 7, rank 0 <==\nlast");
    end (fixture, 0, EXITED_STOPPED);
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    expect_logs (fixture, LOGS_A "2", 404, "there is no log yet: the replica is being started");
    expect_logs (fixture, LOGS_A "2&rank=1", 404, "it has 1 replica, and ranks begin with 0");
    write_log (fixture, 2, 0, "again\nand again\n");
    expect_logs (fixture, LOGS_A "all", 200,
                 "==> job a, generation 1, rank 0 <==\nfirst\n"
                 " ==> job a, generation 7, rank 0 <==\nlast\n"
                 "==> job a, generation 2, rank 0 <==\nagain\nand again\n");
    expect_logs (fixture, LOGS_A "all&tail=1", 200,
                 "==> job a, generation 1, rank 0 <==\nlast\n"
                 "==> job a, generation 2, rank 0 <==\nand again\n");
    expect_logs (
        fixture, LOGS_A "all&rank=1", 200,
        "==> job a, generation 1, rank 1: there is no log: it had no replica of this rank, "
        "or the replica did not start <==\n"
        "==> job a, generation 2, rank 1: there is no log: it has 1 replica, and ranks "
        "begin with 0 <==\n");
    /* Followed: continues with the next generation, and ends with the job. */
    int socket = api_fixture_stream (fixture, fixture->ann, LOGS_A "all&follow=1");
    end (fixture, 0, EXITED_STOPPED);
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    fixture->cluster_fixture.now_us += S;
    api_fixture_step (fixture);
    write_log (fixture, 3, 0, "third");
    end (fixture, 0, EXITED_FINISHED);
    fixture->cluster_fixture.now_us += S;
    api_fixture_step (fixture);
    char *received = api_fixture_received (fixture, socket);
    const char *third = strstr (received, "==> job a, generation 3, rank 0 <==\n");
    assert_non_null (third);
    assert_non_null (strstr (third, "third"));
    assert_non_null (strstr (received, "\r\n0\r\n"));
    free (received);
    close (socket);
    /* The oldest ones are removed. */
    assert_int_equal (0, run_remove (fixture->runs, "a", 1, NULL));
    expect_logs (fixture, LOGS_A "1", 404, "job a, generation 1, rank 0: " REMOVED);
    expect_logs (fixture, LOGS_A "all&tail=0", 200,
                 "==> job a, generation 1: " REMOVED " <==\n"
                 "==> job a, generation 2, rank 0 <==\n==> job a, generation 3, rank 0 <==\n");
    assert_int_equal (0, run_remove (fixture->runs, "a", 2, NULL));
    expect_logs (fixture, LOGS_A "all", 200,
                 "==> job a, generations 1 to 2: " REMOVED " <==\n"
                 "==> job a, generation 3, rank 0 <==\nthird\n");
    assert_int_equal (0, run_remove (fixture->runs, "a", 3, NULL));
    expect_logs (fixture, LOGS_A "3", 404, "only the jobs that ended last keep theirs");
    expect_logs (fixture, LOGS_A "all", 200,
                 "==> job a, generation 3, rank 0: its logs were removed: only the jobs that ended "
                 "last keep theirs <==\n");
}

/* A token that expires: until then it is valid, then it is refused with the reason, and its streams end at that time; those
 * of other tokens continue.  Its name can have a new one. */
static void expired_tokens_are_refused (void **state)
{
    struct api_fixture *fixture = *state;
    int64_t *now_us = &fixture->cluster_fixture.now_us;
    char byte;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    write_log (fixture, 1, 0, "first\n");
    struct reply reply =
        api_fixture_ask (fixture, fixture->admin, "POST", "/v1/tokens", as_json,
                         "{\"name\": \"kim\", \"role\": \"admin\", \"expires_s\": 60}");
    assert_int_equal (reply.status, 201);
    double expires_at = json_number_value (json_object_get (reply.json, "expires_at"));
    int64_t expires_us = (int64_t)(expires_at * 1e6);
    assert_true (expires_us >= *now_us + 60 * S && expires_us < *now_us + 61 * S);
    assert_true (json_is_false (json_object_get (reply.json, "expired")));
    char *kim = strdup (text_at (reply.json, "token"));
    reply_clear (&reply);
    int expiring[] = {api_fixture_stream (fixture, kim, "/v1/events"),
                      api_fixture_stream (fixture, kim, "/v1/watch"),
                      api_fixture_stream (fixture, kim, "/v1/jobs/a/logs?follow=1")};
    int ann = api_fixture_stream (fixture, fixture->ann, "/v1/watch");
    *now_us = expires_us - 1;
    api_fixture_step (fixture);
    assert_int_equal (200, api_fixture_status (fixture, kim, "GET", "/v1/jobs", NULL, NULL));
    free (api_fixture_received (fixture, ann));
    for (size_t i = 0; i < COUNT (expiring); i++) {
        free (api_fixture_received (fixture, expiring[i]));
        assert_int_equal (-1, recv (expiring[i], &byte, 1, MSG_DONTWAIT));
    }
    assert_true (api_due_us (fixture->api) <= expires_us);
    *now_us = expires_us;
    api_fixture_step (fixture);
    for (size_t i = 0; i < COUNT (expiring); i++) {
        free (api_fixture_received (fixture, expiring[i]));
        assert_int_equal (0, recv (expiring[i], &byte, 1, MSG_DONTWAIT));
        close (expiring[i]);
    }
    free (api_fixture_received (fixture, ann));
    assert_int_equal (-1, recv (ann, &byte, 1, MSG_DONTWAIT));
    assert_int_equal (http_server_counts (fixture->server).streams, 1);
    close (ann);

    reply = api_fixture_ask (fixture, kim, "GET", "/v1/jobs", NULL, NULL);
    assert_int_equal (reply.status, 401);
    assert_non_null (strstr (text_at (reply.json, "error"), "has expired (2026-01-01 00:01:"));
    assert_non_null (strstr (reply.head, "WWW-Authenticate: Bearer"));
    reply_clear (&reply);
    reply = api_fixture_ask (fixture, fixture->admin, "GET", "/v1/tokens", NULL, NULL);
    const json_t *tokens = json_object_get (reply.json, "tokens"),
                 *first = json_array_get (tokens, 0), *last = json_array_get (tokens, 3);
    assert_true (json_is_null (json_object_get (first, "expires_at")));
    assert_true (json_is_false (json_object_get (first, "expired")));
    assert_true (json_number_value (json_object_get (last, "expires_at")) == expires_at);
    assert_true (json_is_true (json_object_get (last, "expired")));
    reply_clear (&reply);
    assert_int_equal (201, api_fixture_status (fixture, fixture->admin, "POST", "/v1/tokens",
                                               as_json, "{\"name\": \"kim\", \"role\": \"user\"}"));
    assert_int_equal (401, api_fixture_status (fixture, kim, "GET", "/v1/jobs", NULL, NULL));
    free (kim);
}

static void missing_logs_have_a_reason (void **state)
{
    struct api_fixture *fixture = *state;
    char path[160];
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    submit (fixture, fixture->ann, "name: b\ncommand: sleep 1\n");
    expect_logs (fixture, LOGS_A "last", 404,
                 "job a has not started yet: it is pending, and waits for the next round");
    expect_logs (fixture, LOGS_A "all", 404, "job a has not started yet: it is pending");
    expect_logs (fixture, LOGS_A "1", 404, "job a has not started yet: it is pending");
    assert_int_equal (
        202, api_fixture_status (fixture, fixture->ann, "POST", "/v1/jobs/b/cancel", NULL, NULL));
    expect_logs (fixture, "/v1/jobs/b/logs", 404, "job b never started: it is cancelled");
    expect_logs (fixture, "/v1/jobs/b/logs?follow=1", 404, "job b never started: it is cancelled");
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    expect_logs (fixture, LOGS_A "2", 404, "job a has run 1 time so far: there is no generation 2");
    /* A run that ended before it wrote anything. */
    assert_int_equal (0, run_prepare (fixture->runs, "a", 1, NULL));
    end (fixture, 0, EXITED_FAILED);
    expect_logs (fixture, LOGS_A "1", 404, "there is no log: the replica did not start");
    expect_logs (fixture, LOGS_A "1&rank=3", 404, "it had no replica of this rank");
    /* A directory that is none of this user's. */
    snprintf (path, sizeof (path), "%s/run/a/1/0", fixture->folder);
    assert_int_equal (0, symlink ("/", path));
    expect_logs (fixture, LOGS_A "1", 503, "its log cannot be read: ");
}

static void advance_and_step (struct api_fixture *fixture)
{
    fixture->cluster_fixture.now_us += S;
    api_fixture_step (fixture);
}

static void logs_are_followed_over_rotation (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    assert_int_equal (INT64_MAX, api_due_us (fixture->api));
    int socket = api_fixture_stream (fixture, fixture->ann, "/v1/jobs/a/logs?follow=1");
    assert_true (api_due_us (fixture->api) < INT64_MAX);
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    advance_and_step (fixture);
    write_log (fixture, 1, 0, "alpha\n");
    advance_and_step (fixture);
    write_log (fixture, 1, 0, "beta\n");
    rotate (fixture, 1, 0);
    write_log (fixture, 1, 0, "gamma\n");
    rotate (fixture, 1, 1);
    rotate (fixture, 1, 0);
    write_log (fixture, 1, 0, "delta\n"); /* two rotations since the last read */
    advance_and_step (fixture);
    write_log (fixture, 1, 0, "epsilon\n");
    end (fixture, 0, EXITED_STOPPED); /* the job continues later */
    advance_and_step (fixture);
    char *received = api_fixture_received (fixture, socket);
    static const char *const words[] = {"alpha\n", "beta\n", "gamma\n", "delta\n", "epsilon\n"};
    const char *at = received;
    for (size_t i = 0; i < COUNT (words); i++) {
        at = strstr (at, words[i]);
        if (!at)
            fail_msg ("no %s in %s", words[i], received);
    }
    assert_null (strstr (received, "\r\n0\r\n")); /* not ended */
    free (received);
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    write_log (fixture, 2, 0, "again\n");
    advance_and_step (fixture);
    int only_first =
        api_fixture_stream (fixture, fixture->ann, "/v1/jobs/a/logs?follow=1&generation=1&tail=1");
    end (fixture, 0, EXITED_FINISHED);
    advance_and_step (fixture);
    received = api_fixture_received (fixture, socket);
    assert_non_null (strstr (received, "again\n"));
    assert_non_null (strstr (received, "\r\n0\r\n"));
    free (received);
    received = api_fixture_received (fixture, only_first);
    assert_non_null (strstr (received, "epsilon\n"));
    assert_null (strstr (received, "again\n"));
    assert_non_null (strstr (received, "\r\n0\r\n"));
    free (received);
    close (socket);
    close (only_first);
    advance_and_step (fixture);
    assert_int_equal (INT64_MAX, api_due_us (fixture->api));
}

static void failures_show_their_last_lines (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    char long_log[2048] = "";
    for (int i = 0; i < 100; i++)
        snprintf (long_log + strlen (long_log), 16, "line %d\n", i);
    write_log (fixture, 1, 0, long_log);
    write_log (fixture, 1, 0, "bad \xff byte\x1b[0m\n");
    end (fixture, 0, EXITED_FAILED);
    struct reply reply = api_fixture_ask (fixture, fixture->ann, "GET", "/v1/jobs/a", NULL, NULL);
    json_t *lines = json_object_get (reply.json, "last_lines");
    assert_int_equal (json_array_size (lines), 20);
    assert_string_equal (json_string_value (json_array_get (lines, 0)), "line 81");
    assert_string_equal (json_string_value (json_array_get (lines, 19)), "bad ? byte?[0m");
    reply_clear (&reply);
    reply = api_fixture_ask (fixture, fixture->eve, "GET", "/v1/jobs/a", NULL, NULL);
    assert_true (json_is_null (json_object_get (reply.json, "last_lines")));
    reply_clear (&reply);
}

/* An owner can enlarge a log after it was searched for its last lines, at no cost: the file has holes.
 * The daemon must not read all of it. */
static void last_lines_of_a_growing_log_are_limited (void **state)
{
    struct api_fixture *fixture = *state;
    submit (fixture, fixture->ann, "name: a\ncommand: sleep 1\n");
    start (fixture, 0, (struct share[]){{0, 1}}, 1);
    write_log (fixture, 1, 0, "one line\n");
    end (fixture, 0, EXITED_FAILED);
    fixture->log_grows = (off_t)1 << 42; /* reading that takes hours */
    struct reply reply = api_fixture_ask (fixture, fixture->ann, "GET", "/v1/jobs/a", NULL, NULL);
    assert_int_equal (reply.status, 200);
    assert_true (json_is_array (json_object_get (reply.json, "last_lines")));
    reply_clear (&reply);
}

int main (void)
{
#define TEST(name) cmocka_unit_test_setup_teardown (name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST (every_route_checks_its_token),
        TEST (the_page_is_served),
        TEST (environments_are_hidden),
        TEST (life_of_a_job),
        TEST (jobs_without_a_name_get_one),
        TEST (lists_have_pages),
        TEST (limits_are_checked),
        TEST (reports_become_one_event),
        TEST (nodes_plan_and_rounds),
        TEST (a_round_shows_its_changes),
        TEST (the_past_is_told),
        TEST (tokens_are_added_and_deleted),
        TEST (events_can_be_followed),
        TEST (compacted_events_are_sent_as_one),
        TEST (deleted_tokens_end_their_streams),
        TEST (expired_tokens_are_refused),
        TEST (slow_followers_lose_nothing),
        TEST (logs_are_tailed),
        TEST (logs_of_all_generations),
        TEST (missing_logs_have_a_reason),
        TEST (logs_are_followed_over_rotation),
        TEST (failures_show_their_last_lines),
        TEST (last_lines_of_a_growing_log_are_limited),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
