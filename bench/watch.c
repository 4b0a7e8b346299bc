/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pages cost that follow a cluster (GET /v1/watch): 5,000 jobs, 2,000 of them running on 1,000 nodes of 8 slots,
 * and 50 clients on socket pairs, which accept gzip.  A minute passes on a virtual clock, in steps of 50 ms: each
 * running job reports every 30 s; jobs end and others start once a second; a full round moves some jobs.  Each client asks
 * for the history of a day at first, and then once a minute for what is new, as the page does; a year of it is kept.
 *
 * Only the time of the API and the HTTP server counts, not that of clients, nor that of the events themselves.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/api.h"
#include "api/watch.h"
#include "loop/cluster_status.h"

enum {
    JOBS = 5000,
    RUNNING = 2000,
    NODES = 1000,
    SLOTS = 8,
    CLIENTS = 50,
    MINUTE_STEPS = 1200,
    STEP_US = 50000,
    REPORT_STEPS = 600, /* 30 s */
};

struct work {
    struct cluster cluster;
    struct cluster_status *status;
    struct round round;
    struct api *api;
    struct http_server *server;
    int64_t now_us, number;
    int clients[CLIENTS], client_count;
    double received; /* bytes, of all clients */
    double spent_s;  /* by API and server */
    int next_start, next_end;
};

static void must (bool ok)
{
    if (!ok)
        abort ();
}

static void take (struct work *work, struct event event)
{
    event.at_us = work->now_us;
    cluster_status_take (work->status, &work->cluster, &event, ++work->number);
    must (cluster_apply (&work->cluster, &event, NULL) == 0);
}

static struct hints hints_of (int job, double progress)
{
    double kind = 1 + job % 7;
    return (struct hints){.has_model = true,
                          .model = {0.05 * kind, 0.001 * kind, 0.2, 0.002, 0.05, 0.001, 2},
                          .grad = {.sqr = 0.01, .var = 0.1 * kind},
                          .limits = {128, 8192, 16, 512, true},
                          .max_profiled_replicas = 8,
                          .progress = progress,
                          .total = 1e6};
}

static void start (struct work *work, int job)
{
    struct share share = {.node = job % NODES, .replicas = 3};
    int generation = work->cluster.jobs[job]->generation + 1;
    take (work, (struct event){.type = EVENT_START,
                               .job = job,
                               .start = {.generation = generation, .placement = {&share, 1}}});
}

static void populate (struct work *work)
{
    for (int i = 0; i < NODES; i++) {
        struct event event = {.type = EVENT_NODE,
                              .job = -1,
                              .node = {.type = "a100", .slots = SLOTS, .available = true}};
        snprintf (event.node.name, sizeof (event.node.name), "node-%04d", i);
        take (work, event);
    }
    for (int i = 0; i < JOBS; i++) {
        struct job_spec spec = {
            .max_replicas = 64, .weight = 1, .preemptible = true, .restart_delay_s = NAN};
        char *command[] = {"train", NULL};
        struct launch launch = {.owner = "ann", .command = command, .max_failures = 3};
        snprintf (spec.name, sizeof (spec.name), "train-%d-resnet50", 7919 * i % 100000);
        work->now_us += 1234567;
        take (work, (struct event){
                        .type = EVENT_SUBMIT,
                        .job = i,
                        .submit = {.spec = &spec, .hints = hints_of (i, 0), .launch = &launch}});
        if (i < RUNNING)
            start (work, i);
    }
    work->next_start = RUNNING;
}

/* ---- Clients ------------------------------------------------------------------------------- */

static int64_t now_us (void *self)
{
    return ((struct work *)self)->now_us;
}

static void serve (struct work *work)
{
    double from_s = bench_cpu_s ();
    api_committed (work->api);
    api_step (work->api);
    do
        http_server_step (work->server, work->now_us);
    while (http_server_due_us (work->server) <= work->now_us);
    work->spent_s += bench_cpu_s () - from_s;
}

static void read_all (struct work *work)
{
    static char block[1 << 16];
    for (int i = 0; i < work->client_count; i++)
        for (ssize_t got; (got = read (work->clients[i], block, sizeof (block))) > 0;)
            work->received += (double)got;
}

/* Until the clients have got everything. */
static void flush (struct work *work)
{
    double before;
    do {
        before = work->received;
        serve (work);
        read_all (work);
    } while (work->received > before);
}

static void connect_clients (struct work *work, int count, const char *headers)
{
    char request[256];
    snprintf (request, sizeof (request),
              "GET /v1/watch HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n%s\r\n",
              headers);
    for (int i = 0; i < count; i++) {
        int pair[2];
        must (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
        must (http_server_add (work->server, pair[1], NULL) == 0);
        must (write (pair[0], request, strlen (request)) == (ssize_t)strlen (request));
        work->clients[work->client_count++] = pair[0];
    }
    work->now_us += 1000000;
    flush (work);
}

/* Ask for the history since a time, once, and read the answer. */
static void ask_history (struct work *work, int64_t since_s)
{
    char request[256];
    int pair[2];
    snprintf (request, sizeof (request),
              "GET /v1/history?since=%lld HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
              "Authorization: Bearer x\r\nAccept-Encoding: gzip\r\n\r\n",
              (long long)since_s);
    must (socketpair (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
    must (http_server_add (work->server, pair[1], NULL) == 0);
    must (write (pair[0], request, strlen (request)) == (ssize_t)strlen (request));
    static char block[1 << 16];
    for (ssize_t got = -1; got != 0;) {
        serve (work);
        while ((got = read (pair[0], block, sizeof (block))) > 0)
            work->received += (double)got;
    }
    close (pair[0]);
}

static void fill_series (struct series *series, int64_t until_us)
{
    int64_t period_us = series->period_us, from_us = until_us - series->limit * period_us;
    for (int64_t at_us = from_us / period_us * period_us + period_us; at_us < until_us;
         at_us += period_us) {
        double wave = 1 + sin ((double)at_us * 1e-10);
        struct series_point point = {
            .at_us = at_us,
            .values = {NODES * SLOTS, (float)(6000 + 900 * wave), (float)(1900 + 50 * wave),
                       (float)(3000 - 70 * wave), (float)(5000 * wave), (float)(0.1 * wave)}};
        must (series_restore (series, &point) == 0);
    }
}

static void disconnect_clients (struct work *work)
{
    for (int i = 0; i < work->client_count; i++)
        close (work->clients[i]);
    work->client_count = 0;
    work->now_us += 20000000;
    flush (work);
}

/* ---- A minute ------------------------------------------------------------------------------ */

static void report (struct work *work, int job)
{
    const struct job *state = work->cluster.jobs[job];
    struct report report = {.job = job,
                            .hints = hints_of (job, (double)work->now_us * 1e-6 + job),
                            .batch = {64, 1},
                            .oracle_remaining = NAN};
    if (!job_runs (state))
        return;
    must (report_set_take (&work->status->reports, &work->cluster, &report, state->generation,
                           NULL) == 0);
    watch_reported (work->api, job);
}

static void end_and_start (struct work *work)
{
    int ended = work->next_end++;
    take (work, (struct event){.type = EVENT_EXIT,
                               .job = ended,
                               .exit = {.generation = work->cluster.jobs[ended]->generation,
                                        .kind = EXITED_FINISHED}});
    start (work, work->next_start++);
}

/* Every 40th job gets one replica more. */
static void decide_all (struct work *work)
{
    const struct report *collected;
    int count = report_set_collect (&work->status->reports, &work->cluster, &collected);
    struct plan plan = {0};
    take (work, (struct event){.type = EVENT_HINTS, .job = -1, .hints = {collected, count}});
    report_set_drop (&work->status->reports);
    take (work, (struct event){.type = EVENT_ROUND, .job = -1, .round = work->round});
    must (plan_reset (&plan, work->cluster.active.count) == 0);
    for (int i = 0; i < work->cluster.active.count; i++) {
        const struct job *job = work->cluster.active.jobs[i];
        if (job->placement.count == 0)
            continue;
        struct share share = job->placement.shares[0];
        share.replicas += i % 40 == 0;
        must (plan_place (&plan, i, (struct placement){&share, 1}) == 0);
    }
    plan.fitness = plan.bound = plan.price = NAN;
    take (work, (struct event){.type = EVENT_PLAN, .job = -1, .plan = &plan});
    plan_clear (&plan);
}

static void pass_minute (struct work *work, bool busy)
{
    for (int step = 0; step < MINUTE_STEPS; step++) {
        work->now_us += STEP_US;
        for (int job = step % REPORT_STEPS; busy && job < JOBS; job += REPORT_STEPS)
            report (work, job);
        if (busy && step % 20 == 0)
            end_and_start (work);
        if (busy && step == MINUTE_STEPS / 2)
            decide_all (work);
        if (step % 24 == 0) /* fifty times */
            ask_history (work, work->now_us / 1000000 - 3600);
        serve (work);
        read_all (work);
    }
}

static int authorize (void *self, const char *token, struct http_identity *ret,
                      struct pollux_error *err)
{
    (void)err;
    (void)self;
    (void)token;
    *ret = (struct http_identity){.role = 1, .name = "admin"};
    return 0;
}

static void measure_first_load (struct work *work, const char *name, const char *headers)
{
    char line[64];
    work->received = work->spent_s = 0;
    connect_clients (work, 1, headers);
    snprintf (line, sizeof (line), "snapshot%s_kb", name);
    bench_print (line, work->received / 1000, "kB");
    snprintf (line, sizeof (line), "snapshot%s_ms", name);
    bench_print (line, work->spent_s * 1e3, "ms");
    disconnect_clients (work);
}

int main (void)
{
    static const char gzip[] = "Accept-Encoding: gzip\r\n";
    struct work work = {.status = calloc (1, sizeof (*work.status)),
                        .round = {.policy = "pollux", .interval_s = 60, .p = -1}};
    struct http_options http = {.authorize = authorize};
    cluster_status_init (work.status);
    work.now_us = INT64_C (1700000000000000);
    fill_series (&work.status->history.past.minutes, work.now_us);
    fill_series (&work.status->history.past.hours, work.now_us);
    populate (&work);
    struct api_options options = {.cluster = &work.cluster,
                                  .status = work.status,
                                  .round = &work.round,
                                  .backend = "fake",
                                  .started_us = work.now_us,
                                  .now_us = now_us,
                                  .self = &work};
    must (api_new (&options, &work.api, NULL) == 0);
    http.routes = api_routes (&http.route_count);
    http.self = work.api;
    must (http_server_new (&http, work.now_us, &work.server, NULL) == 0);
    api_serve (work.api, work.server);

    measure_first_load (&work, "_plain", "");
    measure_first_load (&work, "", gzip);
    work.received = work.spent_s = 0;
    ask_history (&work, work.now_us / 1000000 - 86400);
    bench_print ("history_day_kb", work.received / 1000, "kB");
    bench_print ("history_day_ms", work.spent_s * 1e3, "ms");
    work.received = work.spent_s = 0;
    ask_history (&work, 0);
    bench_print ("history_year_kb", work.received / 1000, "kB");
    bench_print ("history_year_ms", work.spent_s * 1e3, "ms");
    work.received = work.spent_s = 0;
    connect_clients (&work, CLIENTS, gzip);
    bench_print ("connect_50_ms", work.spent_s * 1e3, "ms");
    work.received = work.spent_s = 0;
    pass_minute (&work, false);
    bench_print ("quiet_minute_kb", work.received / CLIENTS / 1000, "kB");
    bench_print ("quiet_share", work.spent_s / 60, "cores");
    work.received = work.spent_s = 0;
    pass_minute (&work, true);
    double share = work.spent_s / 60;
    bench_print ("busy_minute_kb", work.received / CLIENTS / 1000, "kB");
    bench_print ("share_of_50_clients", share, "cores");
    bench_target ("share_of_50_clients", share, 0.05);

    disconnect_clients (&work);
    http_server_free (work.server);
    api_free (work.api);
    cluster_status_clear (work.status);
    cluster_clear (&work.cluster);
    free (work.status);
    return 0;
}
