/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: requests to the API of a synthetic cluster, through a socket and the server.  The first
 * byte selects the client's identity, the second the content type; then come the rest of the request
 * line, an empty line, and the body.
 *
 * Every request gets an answer or the connection is closed; never a 500.  Answers that claim to be
 * JSON are JSON.  Every accepted event can be written to a journal.
 */
#define _GNU_SOURCE /* memmem */
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/kept_logs.h"
#include "backend/run.h"
#include "api/api.h"
#include "api/tokens.h"
#include "loop/cluster_status.h"
#include "wire/event.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);
int LLVMFuzzerInitialize (int *argc, char ***argv);

static const struct round by = {.policy = "pollux", .interval_s = 60, .p = -1, .least_age_s = 60};

/* The part of the daemon that the API needs. */
struct fixture {
    struct cluster cluster;
    struct cluster_status status;
    int64_t now_us;
    unsigned role;
    struct api *api;
};

static char folder[PATH_MAX];
static int runs = -1;

static void must (bool holds)
{
    if (!holds)
        abort ();
}

static void remove_folder (void)
{
    char path[PATH_MAX + 8];
    run_remove (runs, "a", 1, NULL);
    snprintf (path, sizeof (path), "%s/run", folder);
    rmdir (path);
    rmdir (folder);
}

int LLVMFuzzerInitialize (int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    const char *parent = getenv ("TMPDIR");
    snprintf (folder, sizeof (folder), "%s/pollux-fuzz-XXXXXX", parent ? parent : "/tmp");
    must (mkdtemp (folder) && run_root_open (folder, &runs, NULL) == 0);
    must (run_prepare (runs, "a", 1, NULL) == 0);
    return atexit (remove_folder);
}

static int open_log (void *self, const char *job, int generation, int rank, int number, int *ret,
                     struct pollux_error *err)
{
    struct run_name name = {.generation = generation, .rank = rank};
    (void)self;
    snprintf (name.job, sizeof (name.job), "%s", job);
    return run_open_log (runs, &name, number, ret, err);
}

static int oldest_log (void *self, const char *job, int last, int *ret)
{
    (void)self;
    (void)last;
    return kept_logs_oldest (runs, job, ret, NULL);
}

static int64_t now_us (void *self)
{
    return ((struct fixture *)self)->now_us;
}

/* An accepted event can be encoded and decoded again. */
static int post (void *self, struct event *event, struct pollux_error *err)
{
    struct fixture *fixture = self;
    struct wire_text_buffer buffer = {0};
    struct wire_event decoded = {0};
    struct wire_row row;
    event->at_us = ++fixture->now_us;
    int rc = cluster_check (&fixture->cluster, event, err);
    if (rc < 0)
        return rc;
    must (wire_event_encode (&fixture->cluster, event, &buffer, &row, err) == 0);
    must (wire_event_decode (&fixture->cluster, &row, "fuzz", &decoded, err) == 0);
    wire_event_clear (&decoded);
    wire_text_buffer_clear (&buffer);
    cluster_status_take (&fixture->status, &fixture->cluster, event, 1);
    return cluster_apply_checked (&fixture->cluster, event, err);
}

static int report (void *self, const struct report *report, int generation,
                   struct pollux_error *err)
{
    struct fixture *fixture = self;
    return report_set_take (&fixture->status.reports, &fixture->cluster, report, generation, err);
}

static void report_refused (void *self, int job, const char *why)
{
    report_set_refuse (&((struct fixture *)self)->status.reports, job, why);
}

/* Reports that were kept can be journalled. */
static void post_reports (struct fixture *fixture)
{
    struct event event = {.type = EVENT_HINTS, .job = -1};
    event.hints.count =
        report_set_collect (&fixture->status.reports, &fixture->cluster, &event.hints.reports);
    must (event.hints.count == 0 || post (fixture, &event, NULL) == 0);
}

static void happen (struct fixture *fixture, struct event event)
{
    must (post (fixture, &event, NULL) == 0);
}

static void add_job (struct fixture *fixture, const char *name, const char *owner)
{
    char *command[] = {"true", NULL}, *environment[] = {"KEY=secret", NULL};
    struct job_spec spec = {
        .max_replicas = 8, .weight = 1, .preemptible = true, .restart_delay_s = NAN};
    struct launch launch = {.command = command,
                            .environment = environment,
                            .stop_signal = 15,
                            .grace_s = 30,
                            .max_failures = 3};
    snprintf (spec.name, sizeof (spec.name), "%s", name);
    snprintf (launch.owner, sizeof (launch.owner), "%s", owner);
    happen (fixture,
            (struct event){.type = EVENT_SUBMIT,
                           .job = fixture->cluster.job_count,
                           .submit = {.spec = &spec, .hints = hints_unknown, .launch = &launch}});
}

/* Nodes of a group: spot-0 is up, spot-1 starts, spot-2 is off. */
static void add_group (struct fixture *fixture)
{
    static const struct node_group spot = {.name = "spot",
                                           .type = "a100",
                                           .slots_per_node = 4,
                                           .max_nodes = 3,
                                           .boot_s = 60,
                                           .price_per_node_hour = 9.8,
                                           .revocable = true,
                                           .notice_s = 120};
    happen (fixture,
            (struct event){
                .type = EVENT_GROUPS,
                .job = -1,
                .groups = {.list = &spot, .count = 1, .goal = {.kind = GOAL_BUDGET, .limit = 20}}});
    for (int i = 0; i < 2; i++) {
        struct event event = {.type = EVENT_POWER,
                              .job = -1,
                              .power = {.state = POWER_STARTING, .deadline_us = 1000000000}};
        node_group_node (&spot, i, event.power.node);
        happen (fixture, event);
    }
    happen (
        fixture,
        (struct event){.type = EVENT_NODE,
                       .job = -1,
                       .node = {.name = "spot-0", .type = "a100", .slots = 4, .available = true}});
}

/* a runs and belongs to the client, b waits and belongs to another user, c is finished. */
static void populate (struct fixture *fixture)
{
    struct share share = {.node = 0, .replicas = 2};
    for (int i = 0; i < 2; i++) {
        struct event event = {
            .type = EVENT_NODE, .job = -1, .node = {.slots = 4, .available = true}};
        snprintf (event.node.name, sizeof (event.node.name), "n%d", i);
        happen (fixture, event);
    }
    add_group (fixture);
    add_job (fixture, "a", "ann");
    add_job (fixture, "b", "bob");
    add_job (fixture, "c", "ann");
    happen (fixture, (struct event){.type = EVENT_START,
                                    .start = {.generation = 1, .placement = {&share, 1}}});
    happen (fixture, (struct event){.type = EVENT_CANCEL, .job = 2});
}

static int authorize (void *self, const char *token, struct http_identity *ret,
                      struct pollux_error *err)
{
    (void)err;
    (void)self;
    ret->role = 1U << (token[0] & 3);
    snprintf (ret->name, sizeof (ret->name), "%s", ret->role == ROLE_JOB ? "a" : "ann");
    return 0;
}

static void send_request (int socket, const uint8_t *data, size_t size)
{
    static const char *const types[] = {"application/json", "application/yaml", "text/plain", ""};
    const char *text = (const char *)data + 2;
    size_t left = size - 2, head = left;
    const char *end = memmem (text, left, "\n\n", 2);
    if (end)
        head = (size_t)(end - text);
    size_t body = end ? left - head - 2 : 0;
    dprintf (socket, "%.*s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", (int)head, text);
    dprintf (socket, "Authorization: Bearer %c\r\n", 'p' + (data[0] & 3));
    if (end)
        dprintf (socket, "Content-Type: %s\r\nContent-Length: %zu\r\n", types[data[1] & 3], body);
    dprintf (socket, "\r\n");
    if (body > 0)
        must (write (socket, end + 2, body) == (ssize_t)body);
}

static void check_answer (const char *answer, size_t length)
{
    if (length == 0)
        return; /* closed: the input was not HTTP */
    must (strncmp (answer, "HTTP/1.", 7) == 0);
    must (strncmp (answer + 8, " 500", 4) != 0);
    const char *body = strstr (answer, "\r\n\r\n");
    must (body != NULL);
    if (memmem (answer, (size_t)(body - answer), "application/json", 16) && body[4]) {
        json_t *json = json_loads (body + 4, JSON_DECODE_ANY, NULL);
        must (json != NULL);
        json_decref (json);
    }
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    enum { TURNS = 50 };
    static char answer[1 << 20];
    struct fixture fixture = {.now_us = 1000000};
    struct http_server *server = NULL;
    int sockets[2];
    if (size < 3 || size > 32768)
        return 0;
    cluster_status_init (&fixture.status);
    populate (&fixture);
    struct api_options options = {.cluster = &fixture.cluster,
                                  .status = &fixture.status,
                                  .round = &by,
                                  .backend = "local",
                                  .started_us = 1,
                                  .now_us = now_us,
                                  .post = post,
                                  .open_log = open_log,
                                  .oldest_log = oldest_log,
                                  .report = report,
                                  .report_refused = report_refused,
                                  .self = &fixture};
    must (api_new (&options, &fixture.api, NULL) == 0);
    struct http_options http = {.authorize = authorize, .self = fixture.api};
    http.routes = api_routes (&http.route_count);
    must (http_server_new (&http, 0, &server, NULL) == 0);
    must (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) == 0);
    must (http_server_add (server, sockets[1], NULL) == 0);
    send_request (sockets[0], data, size);
    size_t length = 0;
    ssize_t got = -1;
    for (int turn = 0; turn < TURNS && got != 0; turn++) {
        http_server_step (server, turn);
        api_committed (fixture.api);
        http_server_release (server, 0, NULL);
        while ((got = read (sockets[0], answer + length, sizeof (answer) - 1 - length)) > 0)
            length += (size_t)got;
    }
    answer[length] = '\0';
    check_answer (answer, length);
    post_reports (&fixture);
    close (sockets[0]);
    http_server_free (server);
    api_free (fixture.api);
    cluster_status_clear (&fixture.status);
    cluster_clear (&fixture.cluster);
    return 0;
}
