/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux replay: decide every round of a journal again, and print the first difference.
 */
#include "loop/replay.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "base/options.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"
#include "store/store.h"
#include "wire/placement.h"

enum { REPLAY_JSON = 1, REPLAY_TOLERANCE };

static const struct command_option replay_options[] = {
    {"tolerance", "X", REPLAY_TOLERANCE, "ignore relative differences of numbers up to X (0)"},
    {"json", NULL, REPLAY_JSON, "print the result as JSON"},
};

/* The extent of a replay. */
struct replay_way {
    int64_t from_us; /* of the snapshot or the first event */
    int64_t events;
};

struct replay_request {
    const char *path;
    double tolerance;
    bool json;
};

static int take (void *self, int id, const struct options *options, struct pollux_error *err)
{
    struct replay_request *request = self;
    request->json |= id == REPLAY_JSON;
    return id == REPLAY_TOLERANCE ? options_double (options, 0, 1, &request->tolerance, err) : 0;
}

static int parse (struct options *options, struct replay_request *ret, struct pollux_error *err)
{
    struct replay_request request = {0};
    int rc = options_each (options, take, &request, err);
    if (rc == 0)
        rc = options_operand (options, &request.path, err);
    if (rc == 0)
        *ret = request;
    return rc;
}

/* ---- Deciding again ----------------------------------------------------------------------- */

static void show_progress (struct progress_line *progress, const struct replay *replay,
                           const struct store *store)
{
    int64_t done = store_seq (store) - store_snapshot (store);
    int64_t all = store_count (store) - store_snapshot (store);
    if (progress_line_due (progress))
        progress_line_draw (progress, (double)done / (double)all,
                            "%lld of %lld events, %lld rounds, %.0f rounds/s", (long long)done,
                            (long long)all, (long long)replay->rounds,
                            (double)replay->rounds / progress_line_passed (progress));
}

/* Until the end, or the first difference. */
static int replay_all (const char *path, struct store *store, struct replay *replay,
                       struct replay_way *way, struct pollux_error *err)
{
    struct progress_line progress = progress_line_start ();
    struct source source = store_source (store);
    struct event event;
    int rc = store_restore (store, &replay->cluster, NULL, NULL, err);
    way->from_us = replay->cluster.now_us;
    while (rc == 0 && (rc = source.next (source.self, &replay->cluster, &event, err)) == 1) {
        struct pollux_error why;
        if (store_seq (store) == 1)
            way->from_us = event.at_us;
        rc = replay_event (replay, &event, &why);
        if (rc < 0)
            fail (err, rc, "%s, event %lld: %.120s", file_name (path).text,
                  (long long)store_seq (store), why.text);
        if (rc < 0 || replay->differs)
            break;
        show_progress (&progress, replay, store);
    }
    progress_line_end (&progress);
    way->events = store_seq (store) - store_snapshot (store);
    return rc;
}

/* ---- For programs ------------------------------------------------------------------------- */

/* null if not finite or unknown. */
static json_t *number_json (double number)
{
    return isfinite (number) ? json_real (number) : json_null ();
}

static json_t *difference_json (const struct replay *replay)
{
    const struct replay_difference *difference = &replay->difference;
    if (!replay->differs)
        return json_null ();
    bool placed = difference->part == REPLAY_PLACEMENT;
    const struct cluster *cluster = &replay->cluster;
    return json_pack ("{s:I, s:f, s:s, s:s, s:s*, s:s, s:o, s:o}", "round",
                      (json_int_t)replay->rounds, "at", (double)replay->round_us * 1e-6, "policy",
                      replay->round.policy, "software", replay->round.software, "job",
                      difference->job ? difference->job->spec.name : NULL, "part",
                      replay_names[difference->part], "recorded",
                      placed ? wire_placement_encode (cluster, difference->recorded)
                             : number_json (difference->recorded_value),
                      "decided",
                      placed ? wire_placement_encode (cluster, difference->decided)
                             : number_json (difference->decided_value));
}

static json_t *result_json (const struct replay *replay, const struct replay_way *way,
                            const struct store *store)
{
    return json_pack ("{s:b, s:I, s:I, s:i, s:i, s:I, s:I, s:I, s:f, s:s, s:o}", "same",
                      !replay->differs, "events", (json_int_t)way->events, "events_in_snapshot",
                      (json_int_t)store_snapshot (store), "nodes", replay->cluster.node_count,
                      "jobs", replay->cluster.job_count, "rounds", (json_int_t)replay->rounds,
                      "rounds_without_plan", (json_int_t)(replay->unanswered + replay->waiting),
                      "rounds_of_other_software", (json_int_t)replay->foreign, "until",
                      (double)replay->cluster.now_us * 1e-6, "software", POLLUX_VERSION,
                      "difference", difference_json (replay));
}

/* ---- For people --------------------------------------------------------------------------- */

static const char *plural (int64_t count)
{
    return count == 1 ? "" : "s";
}

static void print_placement (const char *who, const struct cluster *cluster,
                             struct placement placement, FILE *out)
{
    int replicas = placement_replicas (placement);
    fprintf (out, "  %s  %d replica%s", who, replicas, plural (replicas));
    for (int i = 0; i < placement.count; i++)
        fprintf (out, "%s%s x %d", i ? ", " : ": ", cluster->nodes[placement.shares[i].node].name,
                 placement.shares[i].replicas);
    fputc ('\n', out);
}

static void print_difference (const struct replay *replay, FILE *out)
{
    const struct replay_difference *difference = &replay->difference;
    fprintf (out, "Round %lld, at %.10g s, differs: policy %s, %s", (long long)replay->rounds,
             (double)replay->round_us * 1e-6, replay->round.policy, replay_names[difference->part]);
    if (difference->job)
        fprintf (out, " of job %s", difference->job->spec.name);
    fputc ('\n', out);
    if (difference->part == REPLAY_PLACEMENT) {
        print_placement ("recorded", &replay->cluster, difference->recorded, out);
        print_placement ("decided ", &replay->cluster, difference->decided, out);
    } else {
        fprintf (out, "  recorded  %.17g\n  decided   %.17g\n", difference->recorded_value,
                 difference->decided_value);
    }
}

static void print_result (const struct replay *replay, const struct replay_way *way,
                          const struct store *store, FILE *out)
{
    int64_t open = replay->unanswered + replay->waiting, decided = replay->rounds - open;
    if (store_snapshot (store) > 0)
        fprintf (out, "Begins with a snapshot of %lld earlier events\n",
                 (long long)store_snapshot (store));
    fprintf (out, "%lld events: %d nodes, %d jobs and %lld rounds in %.2f h",
             (long long)way->events, replay->cluster.node_count, replay->cluster.job_count,
             (long long)replay->rounds, (double)(replay->cluster.now_us - way->from_us) / 3.6e9);
    if (replay->rounds > 0)
        fprintf (out, ", decided by %s", replay->mixed ? "several policies" : replay->round.policy);
    fputc ('\n', out);
    if (replay->foreign > 0)
        fprintf (out,
                 "%lld round%s decided by pollux %s; this is pollux " POLLUX_VERSION
                 ", which may decide otherwise\n",
                 (long long)replay->foreign, replay->foreign == 1 ? " was" : "s were",
                 replay->software);
    if (replay->differs)
        print_difference (replay, out);
    else
        fprintf (out, "All %lld plans are the same when decided again\n", (long long)decided);
    if (!replay->differs && open > 0)
        fprintf (out, "%lld round%s no plan: recording stopped there, or no plan was found\n",
                 (long long)open, open == 1 ? " has" : "s have");
}

static int replay_command_run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct replay_request request = {0};
    struct store *store = NULL;
    int rc = parse (options, &request, err);
    if (rc == 0)
        rc = store_open (request.path, STORE_READ, &store, err);
    if (rc < 0)
        return rc;
    struct replay replay = {.tolerance = request.tolerance};
    struct replay_way way = {0};
    rc = replay_all (request.path, store, &replay, &way, err);
    int code = replay.differs ? EXIT_FAILED : EXIT_OK;
    if (rc == 0 && request.json)
        rc = output_json (result_json (&replay, &way, store), out, err);
    else if (rc == 0)
        print_result (&replay, &way, store, out);
    replay_clear (&replay);
    store_close (store, NULL);
    return rc < 0 ? rc : code;
}

const struct command replay_command = {
    .name = "replay",
    .operands = "FILE.db",
    .summary = "decide every round of a journal again, and expect the same plans",
    .description =
        "Reads the journal of a simulation (pollux sim --record) or of a daemon, decides every\n"
        "recorded round again with its policy, parameters and seed, and compares the plans.  The\n"
        "first difference is printed: the round, the job, what was recorded and what is decided\n"
        "now.  With the same software on the same machine there is none; on another machine\n"
        "numbers such as the fitness may differ in the last digits.\n",
    COMMAND_OPTIONS (replay_options),
    .run = replay_command_run,
};
