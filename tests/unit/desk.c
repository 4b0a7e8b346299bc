/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon as small as can be around the API.
 */
#define _GNU_SOURCE /* strcasestr */
#include "unit.h"
#include "desk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/local.h"
#include "backend/run.h"

static int64_t now_us (void *self)
{
    return ((struct desk *)self)->town.now_us;
}

int desk_take (struct desk *desk, struct event *event, struct pollux_error *err)
{
    struct journal journal = store_journal (desk->store);
    event->at_us = desk->town.now_us;
    int rc = cluster_check (&desk->town.cluster, event, err);
    if (rc == 0)
        rc = journal.append (journal.self, &desk->town.cluster, event, err);
    if (rc < 0)
        return rc;
    cluster_status_take (&desk->status, &desk->town.cluster, event, store_count (desk->store));
    return cluster_apply_checked (&desk->town.cluster, event, err);
}

static int post (void *self, struct event *event, struct pollux_error *err)
{
    struct desk *desk = self;
    int failure = desk->post_failure;
    desk->post_failure = 0;
    if (failure) {
        snprintf (err->text, sizeof (err->text), "the journal is full");
        return failure;
    }
    desk->posts++;
    return desk_take (desk, event, err);
}

static int open_log (void *self, const char *job, int generation, int rank, int number, int *ret,
                     struct pollux_error *err)
{
    void *backend = ((struct desk *)self)->backend;
    return local_backend.open_log (backend, job, generation, rank, number, ret, err);
}

static int first_failure (void *self, const char *job, int generation, int *ret_rank)
{
    return local_backend.first_failure (((struct desk *)self)->backend, job, generation, ret_rank);
}

static int report (void *self, const struct report *report, int generation,
                   struct pollux_error *err)
{
    struct desk *desk = self;
    return reports_take (&desk->status.reports, &desk->town.cluster, report, generation, err);
}

static void report_refused (void *self, int job, const char *why)
{
    reports_refuse (&((struct desk *)self)->status.reports, job, why);
}

int desk_post_reports (struct desk *desk)
{
    struct reports *reports = &desk->status.reports;
    struct event event = {.type = EVENT_HINTS, .job = -1};
    event.hints.count = reports_collect (reports, &desk->town.cluster, &event.hints.reports);
    struct pollux_error err;
    int rc = event.hints.count > 0 ? post (desk, &event, &err) : 0;
    if (rc == 0)
        reports_drop (reports);
    return rc;
}

static void add_token (struct desk *desk, unsigned role, const char *name, char *ret)
{
    assert_int_equal (0, tokens_add (desk->tokens, role, name, ret, NULL));
}

static void read_admin (struct desk *desk)
{
    char path[96];
    snprintf (path, sizeof (path), "%s/admin.token", desk->folder);
    FILE *file = fopen (path, "r");
    assert_non_null (file);
    assert_int_equal (1, fscanf (file, "%64s", desk->admin));
    fclose (file);
}

void desk_open (struct desk *desk, int nodes, int slots)
{
    struct pollux_error err = {""};
    char path[96];
    *desk = (struct desk){.folder = ""};
    snprintf (desk->folder, sizeof (desk->folder), "%s/pollux-desk-XXXXXX", temporary_folder ());
    assert_non_null (mkdtemp (desk->folder));
    snprintf (path, sizeof (path), "%s/journal", desk->folder);
    struct backend_options local = {
        .state = desk->folder, .program = "/proc/self/exe", .nvidia_smi = ""};
    town_init (&desk->town, 0, 0);
    cluster_status_init (&desk->status);
    if (store_open (path, STORE_DURABLE, &desk->store, &err) < 0 ||
        reader_open (path, &desk->reader, &err) < 0 ||
        tokens_open (desk->folder, &desk->tokens, &err) < 0 ||
        local_backend.open (&local, &desk->backend, &err) < 0 ||
        run_root_open (desk->folder, &desk->runs, &err) < 0)
        fail_msg ("%s", err.text);
    read_admin (desk);
    add_token (desk, ROLE_USER, "ann", desk->ann);
    add_token (desk, ROLE_USER, "bob", desk->bob);
    add_token (desk, ROLE_READ_ONLY, "eve", desk->eve);
    struct api_options options = {.cluster = &desk->town.cluster,
                                  .status = &desk->status,
                                  .round = &desk->town.round,
                                  .backend = "local",
                                  .tokens = desk->tokens,
                                  .reader = desk->reader,
                                  .started_us = desk->town.now_us,
                                  .now_us = now_us,
                                  .post = post,
                                  .open_log = open_log,
                                  .first_failure = first_failure,
                                  .report = report,
                                  .report_refused = report_refused,
                                  .self = desk};
    struct http_options http = {.authorize = api_authorize,
                                .limits = {.rate = 1e9, .burst = 1e9, .refusals = 1e9}};
    assert_int_equal (0, api_new (&options, &desk->api, &err));
    http.routes = api_routes (&http.route_count);
    http.self = desk->api;
    if (http_server_new (&http, 0, &desk->server, &err) < 0)
        fail_msg ("%s", err.text);
    api_serve (desk->api, desk->server);
    for (int i = 0; i < nodes; i++) {
        struct event event = {
            .type = EVENT_NODE, .job = -1, .node = {.slots = slots, .available = true}};
        snprintf (event.node.name, sizeof (event.node.name), "n%d", i);
        assert_int_equal (0, desk_take (desk, &event, &err));
    }
    desk_turn (desk);
}

void desk_close (struct desk *desk)
{
    char command[96];
    http_server_free (desk->server);
    api_free (desk->api);
    reader_close (desk->reader);
    assert_int_equal (0, store_close (desk->store, NULL));
    tokens_free (desk->tokens);
    close (desk->runs);
    local_backend.free (desk->backend);
    cluster_status_clear (&desk->status);
    town_clear (&desk->town);
    snprintf (command, sizeof (command), "rm -rf '%s'", desk->folder);
    assert_int_equal (0, system (command));
}

void desk_turn (struct desk *desk)
{
    struct pollux_error err = {""};
    http_server_step (desk->server, desk->town.now_us);
    if (store_commit (desk->store, &err) < 0)
        fail_msg ("%s", err.text);
    histogram_add (&desk->status.commit_s, 0.001);
    api_committed (desk->api);
    api_step (desk->api);
    http_server_release (desk->server, 0, NULL);
    http_server_step (desk->server, desk->town.now_us);
}

/* ---- Requests ----------------------------------------------------------------------------- */

static int send_request (struct desk *desk, const char *token, const char *method,
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
    if (type)
        fprintf (file, "Content-Type: %s\r\nContent-Length: %zu\r\n", type, strlen (body));
    fprintf (file, "\r\n%s", type ? body : "");
    fclose (file);
    http_server_step (desk->server, desk->town.now_us); /* it tells the time */
    assert_int_equal (0, http_server_add (desk->server, sockets[1], NULL));
    for (size_t sent = 0; sent < length;) {
        ssize_t now = write (sockets[0], text + sent, length - sent);
        assert_true (now > 0 || errno == EAGAIN);
        sent += now > 0 ? (size_t)now : 0;
        desk_turn (desk);
    }
    free (text);
    return sockets[0];
}

/* What is there to be read, and whether that was the end. */
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

/* Chunks to plain bytes, in place. */
static void unchunk (char *body)
{
    char *to = body, *at = body;
    for (size_t size; (size = strtoul (at, &at, 16)) > 0; at += size + 2) {
        at += 2;
        if (strlen (at) < size + 2)
            break; /* the rest is still to come */
        memmove (to, at, size);
        to += size;
    }
    *to = '\0';
}

struct reply desk_ask (struct desk *desk, const char *token, const char *method, const char *target,
                       const char *type, const char *body)
{
    struct reply reply = {0};
    size_t length = 0;
    int socket = send_request (desk, token, method, target, type, body);
    FILE *file = open_memstream (&reply.head, &length);
    for (int turn = 0; !read_some (socket, file); turn++) {
        assert_true (turn < 10000);
        desk_turn (desk);
    }
    fclose (file);
    close (socket);
    desk_turn (desk);
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

int desk_status (struct desk *desk, const char *token, const char *method, const char *target,
                 const char *type, const char *body)
{
    struct reply reply = desk_ask (desk, token, method, target, type, body);
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

int desk_stream (struct desk *desk, const char *token, const char *target)
{
    int socket = send_request (desk, token, "GET", target, NULL, NULL);
    desk_turn (desk);
    return socket;
}

char *desk_heard (struct desk *desk, int socket)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream (&text, &length);
    for (int turn = 0; turn < 8 && !read_some (socket, file); turn++)
        desk_turn (desk);
    fclose (file);
    return text;
}
