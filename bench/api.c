/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of the daemon's loop for requests and reports, without the network: 20,000 jobs, 2,000 of
 * them running on 1,000 nodes of 8 slots.  A report is decoded and kept; 2,000 reports a second
 * at 50 us each take a tenth of a core.
 */
#include "bench.h"

#include <math.h>
#include <string.h>

#include "api/describe.h"
#include "api/explain_json.h"
#include "wire/report.h"

enum { JOBS = 20000, RUNNING = 2000, NODES = 1000, SLOTS = 8 };

static const char body[] =
    "{\"version\": 1, \"generation\": 1, \"model\": {\"alpha_grad\": 0.0512345678, \"beta_grad\": "
    "0.00112345678, \"alpha_node\": 0.0512345678, \"beta_node\": 0.00112345678, \"alpha_local\": "
    "0.0212345678, \"beta_local\": 0.00112345678, \"gamma\": 2.12345678}, \"grad\": {\"sqr\": "
    "0.0112345678, \"var\": 0.212345678}, \"init_batch\": 128, \"max_batch\": 8192, "
    "\"min_local\": 16, \"max_local\": 512, \"accumulation\": true, \"max_profiled_replicas\": 8, "
    "\"progress\": 100.25, \"total\": 100000, \"m\": 64, \"s\": 1}";

struct work {
    struct cluster cluster;
    struct cluster_status *status;
    struct round round;
    int next;
};

static void must (int rc)
{
    if (rc < 0)
        exit (1);
}

static void apply (struct work *work, struct event event)
{
    event.at_us = 1;
    must (cluster_apply (&work->cluster, &event, NULL));
}

static void populate (struct work *work)
{
    for (int i = 0; i < NODES; i++) {
        struct event event = {
            .type = EVENT_NODE, .job = -1, .node = {.slots = SLOTS, .available = true}};
        snprintf (event.node.name, sizeof (event.node.name), "node-%04d", i);
        apply (work, event);
    }
    for (int i = 0; i < JOBS; i++) {
        struct job_spec spec = {
            .max_replicas = 64, .weight = 1, .preemptible = true, .restart_delay_s = NAN};
        char *command[] = {"true", NULL};
        struct launch launch = {.owner = "ann", .command = command, .max_failures = 3};
        snprintf (spec.name, sizeof (spec.name), "job-%05d", i);
        apply (work, (struct event){
                         .type = EVENT_SUBMIT,
                         .job = i,
                         .submit = {.spec = &spec, .hints = hints_unknown, .launch = &launch}});
        struct share share = {.node = i % NODES, .replicas = 3};
        if (i < RUNNING)
            apply (work, (struct event){.type = EVENT_START,
                                        .job = i,
                                        .start = {.generation = 1, .placement = {&share, 1}}});
        else
            apply (work, (struct event){.type = EVENT_CANCEL, .job = i});
    }
}

static void report (void *arg)
{
    struct work *work = arg;
    struct wire_report decoded;
    must (wire_report_parse ("hints", body, sizeof (body) - 1, &decoded, NULL));
    decoded.report.job = work->next++ % RUNNING;
    must (report_set_take (&work->status->reports, &work->cluster, &decoded.report,
                           decoded.generation, NULL));
}

static struct present now (struct work *work)
{
    return present_make (&work->cluster, work->status, &work->round, 1000000);
}

static void send (json_t *json)
{
    char *text = json ? json_dumps (json, JSON_COMPACT) : NULL;
    bench_keep (text ? (double)strlen (text) : 0);
    free (text);
    json_decref (json);
}

static void show (void *arg)
{
    struct present present = now (arg);
    send (describe_job_fully (&present, 17, true));
}

static void list_100 (void *arg)
{
    struct present present = now (arg);
    for (int i = 0; i < 100; i++)
        send (describe_job (&present, i));
}

static void status (void *arg)
{
    struct present present = now (arg);
    send (describe_status (&present, "local", 1));
}

static void nodes (void *arg)
{
    struct present present = now (arg);
    send (describe_nodes (&present));
}

static void explain_one (void *arg)
{
    struct work *work = arg;
    struct present present = now (work);
    static struct explanation explanation;
    struct view view = cluster_view (&work->cluster, &work->round);
    view.jobs = (const struct job *const *)work->cluster.live.jobs;
    view.job_count = work->cluster.live.count;
    must (explain_present (policies[0], &view, 17, &explanation, NULL));
    send (describe_explanation (&present, 17, &explanation));
}

int main (void)
{
    struct work work = {.status = calloc (1, sizeof (*work.status)),
                        .round = {.policy = "pollux", .interval_s = 60, .p = -1}};
    const struct report *collected;
    work.status->next_round_us = 61000000;
    populate (&work);
    double report_s = bench_seconds (report, &work);
    bench_print ("report_us", report_s * 1e6, "us");
    int count = report_set_collect (&work.status->reports, &work.cluster, &collected);
    apply (&work, (struct event){.type = EVENT_HINTS, .job = -1, .hints = {collected, count}});
    bench_print ("show_us", bench_seconds (show, &work) * 1e6, "us");
    bench_print ("list_100_jobs_ms", bench_seconds (list_100, &work) * 1e3, "ms");
    bench_print ("status_ms", bench_seconds (status, &work) * 1e3, "ms");
    bench_print ("list_1000_nodes_ms", bench_seconds (nodes, &work) * 1e3, "ms");
    double explain_s = bench_seconds (explain_one, &work);
    bench_print ("explain_2000_jobs_ms", explain_s * 1e3, "ms");
    bench_target ("report_us", report_s * 1e6, 50);
    bench_target ("explain_2000_jobs_ms", explain_s * 1e3, 20);
    report_set_clear (&work.status->reports);
    cluster_clear (&work.cluster);
    free (work.status);
    return 0;
}
