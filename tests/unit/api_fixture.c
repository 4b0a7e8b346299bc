/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the daemon that the API needs: events, status, logs and reports.
 */
#define _GNU_SOURCE /* strcasestr */
#include "unit.h"
#include "api_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/local.h"
#include "backend/run.h"

static int64_t now_us (void *self)
{
    return ((struct api_fixture *)self)->cluster_fixture.now_us;
}

int api_fixture_take (struct api_fixture *fixture, struct event *event, struct pollux_error *err)
{
    struct journal journal = store_journal (fixture->store);
    event->at_us = fixture->cluster_fixture.now_us;
    int rc = cluster_check (&fixture->cluster_fixture.cluster, event, err);
    if (rc == 0)
        rc = journal.append (journal.self, &fixture->cluster_fixture.cluster, event, err);
    if (rc < 0)
        return rc;
    cluster_status_take (&fixture->status, &fixture->cluster_fixture.cluster, event,
                         store_count (fixture->store));
    return cluster_apply_checked (&fixture->cluster_fixture.cluster, event, err);
}

static int post (void *self, struct event *event, struct pollux_error *err)
{
    struct api_fixture *fixture = self;
    int failure = fixture->post_failure;
    fixture->post_failure = 0;
    if (failure) {
        snprintf (err->text, sizeof (err->text), "the journal is full");
        return failure;
    }
    fixture->posts++;
    return api_fixture_take (fixture, event, err);
}

static int open_log (void *self, const char *job, int generation, int rank, int number, int *ret,
                     struct pollux_error *err)
{
    struct api_fixture *fixture = self;
    char path[160];
    snprintf (path, sizeof (path), "%s/run/%s/%d/%d/out.log", fixture->folder, job, generation,
              rank);
    if (number == 1 && fixture->log_grows > 0)
        assert_int_equal (truncate (path, fixture->log_grows), 0);
    return local_backend.open_log (fixture->backend, job, generation, rank, number, ret, err);
}

static int oldest_log (void *self, const char *job, int last, int *ret)
{
    return local_backend.oldest_log (((struct api_fixture *)self)->backend, job, last, ret);
}

static int first_failure (void *self, const char *job, int generation, int *ret_rank)
{
    return local_backend.first_failure (((struct api_fixture *)self)->backend, job, generation,
                                        ret_rank);
}

static char *checkpoint_dir (void *self, const struct job *job)
{
    return local_backend.checkpoint_dir (((struct api_fixture *)self)->backend, job);
}

static int report (void *self, const struct report *report, int generation,
                   struct pollux_error *err)
{
    struct api_fixture *fixture = self;
    return report_set_take (&fixture->status.reports, &fixture->cluster_fixture.cluster, report,
                            generation, err);
}

static void report_refused (void *self, int job, const char *why)
{
    report_set_refuse (&((struct api_fixture *)self)->status.reports, job, why);
}

int api_fixture_post_reports (struct api_fixture *fixture)
{
    struct report_set *reports = &fixture->status.reports;
    struct event event = {.type = EVENT_HINTS, .job = -1};
    event.hints.count =
        report_set_collect (reports, &fixture->cluster_fixture.cluster, &event.hints.reports);
    struct pollux_error err;
    int rc = event.hints.count > 0 ? post (fixture, &event, &err) : 0;
    if (rc == 0)
        report_set_drop (reports);
    return rc;
}

static void add_token (struct api_fixture *fixture, unsigned role, const char *name, char *ret)
{
    assert_int_equal (0, tokens_add (fixture->tokens, role, name, 0, 0, ret, NULL));
}

static void read_admin (struct api_fixture *fixture)
{
    char path[96];
    snprintf (path, sizeof (path), "%s/admin.token", fixture->folder);
    FILE *file = fopen (path, "r");
    assert_non_null (file);
    assert_int_equal (1, fscanf (file, "%64s", fixture->admin));
    fclose (file);
}

void api_fixture_open (struct api_fixture *fixture, int nodes, int slots)
{
    struct pollux_error err = {""};
    char path[96];
    *fixture = (struct api_fixture){.folder = ""};
    snprintf (fixture->folder, sizeof (fixture->folder), "%s/pollux-api-XXXXXX",
              temporary_folder ());
    assert_non_null (mkdtemp (fixture->folder));
    snprintf (path, sizeof (path), "%s/journal", fixture->folder);
    struct backend_options local = {
        .state = fixture->folder, .program = "/proc/self/exe", .nvidia_smi = ""};
    cluster_fixture_init (&fixture->cluster_fixture, 0, 0);
    cluster_status_init (&fixture->status);
    if (store_open (path, STORE_DURABLE, &fixture->store, &err) < 0 ||
        reader_open (path, &fixture->reader, &err) < 0 ||
        tokens_open (fixture->folder, &fixture->tokens, &err) < 0 ||
        local_backend.open (&local, &fixture->backend, &err) < 0 ||
        run_root_open (fixture->folder, &fixture->runs, &err) < 0)
        fail_msg ("%s", err.text);
    read_admin (fixture);
    add_token (fixture, ROLE_USER, "ann", fixture->ann);
    add_token (fixture, ROLE_USER, "bob", fixture->bob);
    add_token (fixture, ROLE_READ_ONLY, "eve", fixture->eve);
    struct api_options options = {.cluster = &fixture->cluster_fixture.cluster,
                                  .status = &fixture->status,
                                  .round = &fixture->cluster_fixture.round,
                                  .backend = "local",
                                  .tokens = fixture->tokens,
                                  .reader = fixture->reader,
                                  .started_us = fixture->cluster_fixture.now_us,
                                  .now_us = now_us,
                                  .post = post,
                                  .open_log = open_log,
                                  .oldest_log = oldest_log,
                                  .log_limit = 256 << 20,
                                  .checkpoint_dir = checkpoint_dir,
                                  .first_failure = first_failure,
                                  .report = report,
                                  .report_refused = report_refused,
                                  .self = fixture};
    struct http_options http = {.authorize = api_authorize,
                                .limits = {.rate = 1e9, .burst = 1e9, .refusals = 1e9}};
    assert_int_equal (0, api_new (&options, &fixture->api, &err));
    http.routes = api_routes (&http.route_count);
    http.self = fixture->api;
    if (http_server_new (&http, 0, &fixture->server, &err) < 0)
        fail_msg ("%s", err.text);
    api_serve (fixture->api, fixture->server);
    for (int i = 0; i < nodes; i++) {
        struct event event = {
            .type = EVENT_NODE, .job = -1, .node = {.slots = slots, .available = true}};
        snprintf (event.node.name, sizeof (event.node.name), "n%d", i);
        assert_int_equal (0, api_fixture_take (fixture, &event, &err));
    }
    api_fixture_step (fixture);
}

void api_fixture_close (struct api_fixture *fixture)
{
    char command[96];
    http_server_free (fixture->server);
    api_free (fixture->api);
    reader_close (fixture->reader);
    assert_int_equal (0, store_close (fixture->store, NULL));
    tokens_free (fixture->tokens);
    close (fixture->runs);
    local_backend.free (fixture->backend);
    cluster_status_clear (&fixture->status);
    cluster_fixture_clear (&fixture->cluster_fixture);
    snprintf (command, sizeof (command), "rm -rf '%s'", fixture->folder);
    assert_int_equal (0, system (command));
}

void api_fixture_step (struct api_fixture *fixture)
{
    struct pollux_error err = {""};
    http_server_step (fixture->server, fixture->cluster_fixture.now_us);
    if (store_commit (fixture->store, &err) < 0)
        fail_msg ("%s", err.text);
    histogram_add (&fixture->status.commit_s, 0.001);
    api_committed (fixture->api);
    api_step (fixture->api);
    http_server_release (fixture->server, 0, NULL);
    http_server_step (fixture->server, fixture->cluster_fixture.now_us);
}

/* ---- Requests ----------------------------------------------------------------------------- */

static int send_request (struct api_fixture *fixture, const char *token, const char *method,
                         const char *target, const char *type, const char *body)
{
    int sockets[2];
    char *text = NULL;
    size_t length = 0;
    assert_int_equal (0, socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets));
    FILE *file = open_memstream (&text, &length);
    fprintf (file, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", method, target);
    if (token)
        fprintf (file, "Authorization: Bearer %s\r\n", token);
    if (fixture->headers)
        fputs (fixture->headers, file);
    if (type)
        fprintf (file, "Content-Type: %s\r\nContent-Length: %zu\r\n", type, strlen (body));
    fprintf (file, "\r\n%s", type ? body : "");
    fclose (file);
    http_server_step (fixture->server, fixture->cluster_fixture.now_us); /* advances the time */
    assert_int_equal (0, http_server_add (fixture->server, sockets[1], NULL));
    for (size_t sent = 0; sent < length;) {
        ssize_t now = write (sockets[0], text + sent, length - sent);
        assert_true (now > 0 || errno == EAGAIN);
        sent += now > 0 ? (size_t)now : 0;
        api_fixture_step (fixture);
    }
    free (text);
    return sockets[0];
}

/* Copy the bytes that can be read now; true at the end of the stream. */
static bool read_some (int socket, FILE *file)
{
    char block[65536];
    for (;;) {
        ssize_t got = read (socket, block, sizeof (block));
        if (got <= 0)
            return got == 0 || errno != EAGAIN;
        fwrite (block, 1, (size_t)got, file);
    }
}

/* Decode chunks, in place. */
static void unchunk (char *body)
{
    char *to = body, *at = body;
    for (size_t size; (size = strtoul (at, &at, 16)) > 0; at += size + 2) {
        at += 2;
        if (strlen (at) < size + 2)
            break; /* the rest was not received yet */
        memmove (to, at, size);
        to += size;
    }
    *to = '\0';
}

struct reply api_fixture_ask (struct api_fixture *fixture, const char *token, const char *method,
                              const char *target, const char *type, const char *body)
{
    struct reply reply = {0};
    size_t length = 0;
    int socket = send_request (fixture, token, method, target, type, body);
    FILE *file = open_memstream (&reply.head, &length);
    for (int turn = 0; !read_some (socket, file); turn++) {
        assert_true (turn < 10000);
        api_fixture_step (fixture);
    }
    fclose (file);
    close (socket);
    api_fixture_step (fixture);
    char *end = strstr (reply.head, "\r\n\r\n");
    if (strncmp (reply.head, "HTTP", 4) != 0)
        fail_msg ("%s %s: got \"%s\"", method, target, reply.head);
    assert_int_equal (1, sscanf (reply.head, "HTTP/1.1 %d", &reply.status));
    assert_non_null (end);
    *end = '\0';
    reply.body = strdup (end + 4);
    if (strcasestr (reply.head, "chunked"))
        unchunk (reply.body);
    reply.json = json_loads (reply.body, JSON_REJECT_DUPLICATES, NULL);
    return reply;
}

void reply_clear (struct reply *reply)
{
    free (reply->head);
    free (reply->body);
    json_decref (reply->json);
    *reply = (struct reply){0};
}

int api_fixture_status (struct api_fixture *fixture, const char *token, const char *method,
                        const char *target, const char *type, const char *body)
{
    struct reply reply = api_fixture_ask (fixture, token, method, target, type, body);
    int status = reply.status;
    reply_clear (&reply);
    return status;
}

void stream_plain (char *text)
{
    char *body = strstr (text, "\r\n\r\n");
    assert_non_null (body);
    memmove (text, body + 4, strlen (body + 4) + 1);
    unchunk (text);
}

int api_fixture_stream (struct api_fixture *fixture, const char *token, const char *target)
{
    int socket = send_request (fixture, token, "GET", target, NULL, NULL);
    api_fixture_step (fixture);
    return socket;
}

char *api_fixture_received (struct api_fixture *fixture, int socket)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream (&text, &length);
    for (int turn = 0; turn < 8 && !read_some (socket, file); turn++)
        api_fixture_step (fixture);
    fclose (file);
    return text;
}
