/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts answers, and writes the text of Prometheus's exposition format 0.0.4:
 *
 *     # HELP pollux_jobs Jobs that are known, by phase.
 *     # TYPE pollux_jobs gauge
 *     pollux_jobs{phase="pending"} 3
 *
 * Labels are constants of this program (phases, routes), types of nodes, of which there are at most 64, or groups of nodes,
 * at most 16: never text of a client, so their number is bounded.
 */
#include "api/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/costs.h"

void metrics_answer (struct metrics *metrics, const char *method, const char *route, int code,
                     double seconds)
{
    histogram_add (&metrics->handle_s, seconds);
    for (int i = 0; i < metrics->answer_count; i++) {
        struct answer_count *answer = &metrics->answers[i];
        if (answer->method == method && answer->route == route && answer->code == code) {
            answer->count++;
            return;
        }
    }
    if (metrics->answer_count < METRICS_ANSWERS)
        metrics->answers[metrics->answer_count++] =
            (struct answer_count){.method = method, .route = route, .code = code, .count = 1};
}

/* ---- Text --------------------------------------------------------------------------------- */

static void head (FILE *file, const char *name, const char *type, const char *help)
{
    fprintf (file, "# HELP pollux_%s %s\n# TYPE pollux_%s %s\n", name, help, name, type);
}

static void number (FILE *file, const char *name, double value)
{
    if (isnan (value))
        fprintf (file, "pollux_%s NaN\n", name);
    else
        fprintf (file, "pollux_%s %.17g\n", name, value);
}

static void single (FILE *file, const char *name, const char *type, const char *help, double value)
{
    head (file, name, type, help);
    number (file, name, value);
}

static void write_histogram (FILE *file, const char *name, const char *help,
                             const struct histogram *histogram)
{
    uint64_t count = 0;
    head (file, name, "histogram", help);
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += histogram->buckets[i];
        fprintf (file, "pollux_%s_bucket{le=\"%.10g\"} %" PRIu64 "\n", name, histogram_limits[i],
                 count);
    }
    count += histogram->buckets[HISTOGRAM_BUCKETS];
    fprintf (file, "pollux_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, count);
    fprintf (file, "pollux_%s_sum %.17g\npollux_%s_count %" PRIu64 "\n", name, histogram->sum, name,
             count);
}

static void write_cluster (FILE *file, const struct cluster *cluster)
{
    int phases[JOB_PHASES] = {0}, used = 0, slots[2] = {0}, nodes[2] = {0};
    for (int i = 0; i < cluster->job_count; i++)
        phases[cluster->jobs[i]->phase]++;
    for (int i = 0; i < cluster->live.count; i++)
        used += placement_replicas (cluster->live.jobs[i]->placement);
    for (int i = 0; i < cluster->node_count; i++) {
        nodes[cluster->nodes[i].available] += cluster->node_power[i].state != POWER_OFF;
        slots[cluster->nodes[i].available] += cluster->nodes[i].slots;
    }
    head (file, "jobs", "gauge", "Jobs that are known, by phase.");
    for (int i = 0; i < JOB_PHASES; i++)
        fprintf (file, "pollux_jobs{phase=\"%s\"} %d\n", job_phase_names[i], phases[i]);
    head (file, "nodes", "gauge", "Nodes, by whether they take replicas.");
    fprintf (file, "pollux_nodes{available=\"true\"} %d\npollux_nodes{available=\"false\"} %d\n",
             nodes[1], nodes[0]);
    head (file, "slots", "gauge", "Slots, by whether their nodes take replicas.");
    fprintf (file, "pollux_slots{available=\"true\"} %d\npollux_slots{available=\"false\"} %d\n",
             slots[1], slots[0]);
    single (file, "slots_used", "gauge", "Slots that replicas hold.", used);
}

/* A label's value: a backslash before quotes, backslashes and line breaks. */
static void put_label (FILE *file, const char *text)
{
    for (; *text; text++)
        if (*text == '\n')
            fputs ("\\n", file);
        else
            fprintf (file, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* Slots of all nodes that exist, and slots that replicas hold, by the type of the nodes. */
static void write_types (FILE *file, const struct cluster *cluster)
{
    struct {
        const char *name;
        int slots, used;
    } types[NODE_TYPES_LIMIT] = {0};
    int count = 0, *used = calloc ((size_t)cluster->node_count + 1, sizeof (int));
    if (!used)
        return; /* these lines are left out */
    for (int i = 0; i < cluster->live.count; i++) {
        struct placement placement = cluster->live.jobs[i]->placement;
        for (int k = 0; k < placement.count; k++)
            used[placement.shares[k].node] += placement.shares[k].replicas;
    }
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node *node = &cluster->nodes[i];
        int type = 0;
        if (node->slots == 0 && used[i] == 0)
            continue; /* it is gone */
        while (type < count && strcmp (types[type].name, node->type) != 0)
            type++;
        if (type == NODE_TYPES_LIMIT)
            continue;
        if (type == count)
            types[count++].name = node->type;
        types[type].slots += node->slots;
        types[type].used += used[i];
    }
    free (used);
    for (int what = 0; what < 2; what++) {
        const char *name = what ? "type_slots_used" : "type_slots";
        head (file, name, "gauge",
              what ? "Slots that replicas hold, by the type of their nodes."
                   : "Slots of all nodes, drained ones included, by the type of the nodes.");
        for (int i = 0; i < count; i++) {
            fprintf (file, "pollux_%s{type=\"", name);
            put_label (file, types[i].name);
            fprintf (file, "\"} %d\n", what ? types[i].used : types[i].slots);
        }
    }
}

static void put_group (FILE *file, const char *name, const struct node_group *group)
{
    fprintf (file, "pollux_%s{group=\"", name);
    put_label (file, group->name);
}

/* Groups of nodes and costs; nothing without them. */
static void write_groups (FILE *file, const struct cluster *cluster, int64_t now_us)
{
    const struct power *power = &cluster->power;
    int counts[NODE_GROUPS_LIMIT][POWER_STATES] = {0};
    if (power->count == 0 && !costs_known (cluster))
        return;
    for (int i = 0; i < cluster->node_count; i++)
        if (cluster->node_power[i].group >= 0)
            counts[cluster->node_power[i].group][cluster->node_power[i].state]++;
    head (file, "group_nodes", "gauge", "Nodes of groups that are not off, by state.");
    for (int i = 0; i < power->count; i++)
        for (int state = POWER_STARTING; state < POWER_STATES; state++) {
            put_group (file, "group_nodes", &power->groups[i]);
            fprintf (file, "\",state=\"%s\"} %d\n", power_names[state], counts[i][state]);
        }
    head (file, "group_wanted_nodes", "gauge", "Nodes that groups should have.");
    for (int i = 0; i < power->count; i++) {
        put_group (file, "group_wanted_nodes", &power->groups[i]);
        fprintf (file, "\"} %d\n", power->wanted[i]);
    }
    single (file, "price_per_hour", "gauge", "Price of the nodes that are paid for now.",
            costs_of_nodes_hour (cluster, -1));
    head (file, "cost_total", "counter",
          "What all nodes have cost, and the slots that jobs held; the difference is idle.");
    fprintf (file, "pollux_cost_total{of=\"nodes\"} %.17g\npollux_cost_total{of=\"jobs\"} %.17g\n",
             costs_of_nodes (cluster, now_us), costs_of_jobs (cluster, now_us));
}

static void write_rounds (FILE *file, const struct cluster_status *status)
{
    head (file, "rounds_total", "counter", "Rounds since the start, by kind.");
    fprintf (file,
             "pollux_rounds_total{kind=\"full\"} %" PRIu64
             "\npollux_rounds_total{kind=\"fill\"} %" PRIu64 "\n",
             status->counts.rounds[0], status->counts.rounds[1]);
    write_histogram (file, "decide_seconds", "Time that decisions took.", &status->decide_s);
    const struct round_summary *full = round_history_last_full (&status->rounds);
    if (!full)
        return;
    single (file, "fitness", "gauge", "Fitness of the last full round's plan.", full->fitness);
    single (file, "fitness_bound", "gauge", "Upper bound of the fitness in the last full round.",
            full->bound);
    single (file, "fitness_gap", "gauge", "How far the plan may be from the best, relative.",
            full->bound > 0 ? 1 - full->fitness / full->bound : NAN);
    single (file, "slot_price", "gauge", "What one slot more would add to the fitness.",
            full->price);
}

static void write_jobs (FILE *file, const struct event_counts *counts,
                        const struct report_set *reports)
{
    single (file, "submits_total", "counter", "Jobs submitted since the start.",
            (double)counts->submits);
    single (file, "starts_total", "counter", "Generations started.", (double)counts->starts);
    single (file, "restarts_total", "counter",
            "Of these, by the scheduler's choice after a job's first.", (double)counts->restarts);
    single (file, "failures_total", "counter",
            "Generations that ended by themselves with an error.", (double)counts->failures);
    head (file, "ends_total", "counter", "Jobs that ended, by how.");
    for (int i = JOB_FINISHED; i < JOB_PHASES; i++)
        fprintf (file, "pollux_ends_total{phase=\"%s\"} %" PRIu64 "\n", job_phase_names[i],
                 counts->ends[i]);
    head (file, "reports_total", "counter", "Reports of agents, by what became of them.");
    fprintf (file,
             "pollux_reports_total{result=\"taken\"} %" PRIu64
             "\npollux_reports_total{result=\"refused\"} %" PRIu64
             "\npollux_reports_total{result=\"stale\"} %" PRIu64 "\n",
             reports->taken, reports->refused, reports->stale);
}

static void write_http (FILE *file, const struct metrics *metrics, const struct http_counts *http)
{
    head (file, "http_requests_total", "counter", "Requests that reached a handler.");
    for (int i = 0; i < metrics->answer_count; i++) {
        const struct answer_count *answer = &metrics->answers[i];
        fprintf (file,
                 "pollux_http_requests_total{method=\"%s\",route=\"%s\",code=\"%d\"} %" PRIu64 "\n",
                 answer->method, answer->route, answer->code, answer->count);
    }
    write_histogram (file, "http_handle_seconds", "Time in handlers, without waiting for commits.",
                     &metrics->handle_s);
    if (!http)
        return;
    head (file, "http_answers_total", "counter", "All answers, refused requests too, by class.");
    for (int i = 1; i < 6; i++)
        fprintf (file, "pollux_http_answers_total{class=\"%dxx\"} %" PRIu64 "\n", i,
                 http->answers[i]);
    single (file, "http_connections", "gauge", "Connections now.", http->connections);
    single (file, "http_streams", "gauge", "Streams of events and logs now.", http->streams);
    single (file, "http_turned_away_total", "counter", "Connections beyond the limits.",
            (double)http->turned_away);
    single (file, "http_cut_off_total", "counter", "Connections that missed a deadline.",
            (double)http->cut_off);
    single (file, "http_limited_total", "counter", "Requests refused for their rate.",
            (double)http->limited);
}

char *metrics_text (const struct metrics *metrics, const struct metrics_sources *sources,
                    size_t *ret_length)
{
    const struct cluster_status *status = sources->status;
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream (&text, &length);
    if (!file)
        return NULL;
    head (file, "info", "gauge", "The version that runs.");
    fprintf (file, "pollux_info{version=\"%s\"} 1\n", POLLUX_VERSION);
    single (file, "uptime_seconds", "gauge", "Time since the start.", sources->uptime_s);
    if (sources->resident_bytes > 0)
        single (file, "resident_bytes", "gauge", "Memory of this process.",
                (double)sources->resident_bytes);
    write_cluster (file, sources->cluster);
    write_types (file, sources->cluster);
    write_groups (file, sources->cluster, sources->now_us);
    single (file, "goodput", "gauge",
            "Sum over running jobs of goodput, each relative to its own on one replica.",
            history_goodput (&status->history));
    write_rounds (file, status);
    write_jobs (file, &status->counts, &status->reports);
    single (file, "events_total", "counter", "Events since the start.",
            (double)status->counts.events);
    write_histogram (file, "commit_seconds", "Time that commits took.", &status->commit_s);
    if (sources->journal_bytes >= 0) {
        single (file, "journal_bytes", "gauge", "Size of the journal's files.",
                (double)sources->journal_bytes);
        single (file, "journal_events", "gauge", "The number of its last event.",
                (double)sources->journal_events);
    }
    write_http (file, metrics, sources->http);
    bool failed = ferror (file);
    if (fclose (file) != 0 || failed) {
        free (text);
        return NULL;
    }
    *ret_length = length;
    return text;
}
