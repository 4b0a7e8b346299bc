/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time of the journal of 20,000 jobs, each with a program of 32 environment variables and a
 * reported model: appending, committing, compacting, and restoring.  The journal is in a new
 * folder in TMPDIR or /tmp: the time of a commit depends on that disk.
 */
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "store/store.h"

enum { NODES = 512, JOBS = 20000, RUNNING = 2000, VARIABLES = 32, COMMITS = 200 };

static struct pollux_error err;

static void need (bool fine)
{
    if (fine)
        return;
    fprintf (stderr, "bench/store: %s\n", err.text);
    exit (1);
}

static char folder[256], path[300];
static struct store *store;
static struct cluster cluster;
static int64_t now_us = 1700000000000000;

static void take (struct event event)
{
    struct journal journal = store_journal (store);
    event.at_us = now_us;
    need (journal.append (journal.self, &cluster, &event, &err) == 0);
    need (cluster_apply (&cluster, &event, &err) == 0);
}

static void commit (void)
{
    need (store_commit (store, &err) == 0);
}

static void submit_all (void)
{
    static char variables[VARIABLES][80], *environment[VARIABLES + 1];
    char *command[] = {"python3", "train.py", "--data=/data/imagenet", "--epochs=90", NULL};
    for (int i = 0; i < VARIABLES; i++) {
        snprintf (variables[i], sizeof (variables[i]), "VARIABLE_%d=%048d", i, i);
        environment[i] = variables[i];
    }
    struct launch launch = {.owner = "ann",
                            .command = command,
                            .environment = environment,
                            .directory = "/home/ann/training",
                            .stop_signal = 15,
                            .grace_s = 30,
                            .max_failures = 3,
                            .backoff_s = 10};
    for (int i = 0; i < JOBS; i++) {
        struct job_spec spec = {.max_replicas = 64,
                                .weight = 1,
                                .preemptible = true,
                                .adaptive = true,
                                .restart_delay_s = NAN};
        snprintf (spec.name, sizeof (spec.name), "training-run-%d", i);
        now_us += 1000;
        take ((struct event){.type = EVENT_SUBMIT,
                             .job = i,
                             .submit = {.spec = &spec, .hints = hints_unknown, .launch = &launch}});
    }
}

static void start_some (void)
{
    for (int i = 0; i < RUNNING; i++) {
        struct placement placement = {(struct share[]){{i % NODES, 2}, {(i + 1) % NODES, 1}}, 2};
        take ((struct event){
            .type = EVENT_START, .job = i, .start = {.generation = 1, .placement = placement}});
    }
}

/* All jobs report. */
static void report_all (void)
{
    static struct report reports[JOBS];
    for (int i = 0; i < JOBS; i++)
        reports[i] = (struct report){
            .job = i,
            .hints = {.has_model = true,
                      .model = {0.0812345678901234, 0.00412345678901, 0.4812345678, 0.0031234567,
                                0.1412345678, 0.000123456789, 3.512345678},
                      .grad = {.sqr = 0.141234567890 + i, .var = 5.81234567890},
                      .limits = {200, 12800, 20, 200, true},
                      .max_profiled_replicas = 2,
                      .progress = 1234.5678 + i,
                      .total = 20000},
            .batch = {128, 1},
            .oracle_remaining = NAN};
    take ((struct event){.type = EVENT_HINTS, .job = -1, .hints = {reports, JOBS}});
}

static double compact_s (void)
{
    double from_s = bench_now_s ();
    need (store_compact (store, &cluster, NULL, 0, NULL, &err) == 0);
    return bench_now_s () - from_s;
}

/* Seconds of a restart: open, restore, apply the events. */
static double restart_s (void)
{
    need (store_close (store, &err) == 0);
    cluster_clear (&cluster);
    double from_s = bench_now_s ();
    need (store_open (path, STORE_DURABLE, &store, &err) == 0);
    need (store_restore (store, &cluster, NULL, NULL, &err) == 0);
    struct source source = store_source (store);
    struct event event;
    int rc;
    while ((rc = source.next (source.self, &cluster, &event, &err)) == 1)
        need (cluster_apply (&cluster, &event, &err) == 0);
    need (rc == 0 && cluster.job_count == JOBS);
    return bench_now_s () - from_s;
}

static void measure_commits (void)
{
    double commit_s[COMMITS];
    struct event node = {.type = EVENT_NODE, .job = -1, .node = {.slots = 4, .available = true}};
    for (int i = 0; i < COMMITS; i++) {
        snprintf (node.node.name, sizeof (node.node.name), "n%d", i);
        take (node);
        double from_s = bench_now_s ();
        commit ();
        commit_s[i] = bench_now_s () - from_s;
    }
    qsort (commit_s, COMMITS, sizeof (commit_s[0]), bench_compare);
    bench_print ("commit-median", commit_s[COMMITS / 2] * 1e3, "ms");
    bench_print ("commit-p99", commit_s[COMMITS * 99 / 100] * 1e3, "ms");
}

int main (void)
{
    const char *place = getenv ("TMPDIR");
    snprintf (folder, sizeof (folder), "%s/pollux-bench-XXXXXX", place ? place : "/tmp");
    need (mkdtemp (folder) != NULL);
    snprintf (path, sizeof (path), "%s/journal.db", folder);
    need (store_open (path, STORE_DURABLE, &store, &err) == 0);
    for (int i = 0; i < NODES; i++) {
        struct event node = {
            .type = EVENT_NODE, .job = -1, .node = {.slots = 4, .available = true}};
        snprintf (node.node.name, sizeof (node.node.name), "n%d", i);
        take (node);
    }
    double from_s = bench_now_s ();
    submit_all ();
    bench_print ("append-submit", (bench_now_s () - from_s) / JOBS * 1e6, "us");
    commit ();
    start_some ();
    measure_commits ();
    from_s = bench_now_s ();
    report_all ();
    bench_print ("append-20k-reports", (bench_now_s () - from_s) * 1e3, "ms");
    from_s = bench_now_s ();
    commit ();
    bench_print ("commit-20k-reports", (bench_now_s () - from_s) * 1e3, "ms");
    bench_print ("fold-20k-submits", restart_s (), "s");
    bench_print ("compact-20k-new", compact_s () * 1e3, "ms");
    report_all ();
    commit ();
    double again_s = compact_s ();
    bench_print ("compact-20k-known", again_s * 1e3, "ms");
    bench_target ("compact-20k-known", again_s * 1e3, 1000);
    double begin_s = restart_s ();
    bench_print ("restore-20k", begin_s, "s");
    bench_target ("restore-20k", begin_s, 5);
    for (int i = RUNNING; i < JOBS; i++)
        take ((struct event){.type = EVENT_CANCEL, .job = i});
    commit ();
    bench_print ("compact-18k-ended", compact_s () * 1e3, "ms");
    report_all ();
    commit ();
    again_s = compact_s ();
    bench_print ("compact-2k-live", again_s * 1e3, "ms");
    bench_target ("compact-2k-live", again_s * 1e3, 100);
    need (store_close (store, &err) == 0);
    struct stat status = {0};
    stat (path, &status);
    bench_print ("file", (double)status.st_size / 1e6, "MB");
    cluster_clear (&cluster);
    unlink (path);
    rmdir (folder);
    return 0;
}
