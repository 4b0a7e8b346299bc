/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pollux extract: make profiles and a workload from the jobs of a journal, to simulate what a daemon
 * did.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "cli/command.h"
#include "cli/text_output.h"
#include "sim/profile.h"
#include "sim/journal_profile.h"
#include "sim/workload.h"
#include "store/store.h"

enum { OPTION_WORKLOAD = 1 };

static const struct command_option option_rows[] = {
    {"workload", "FILE.csv", OPTION_WORKLOAD,
     "write their submissions as a workload for pollux sim"},
};

struct request {
    const char *path, *workload;
};

/* What was read from the journal. */
struct journal_contents {
    struct cluster cluster;
    struct journal_profile recorded;
    int64_t from_us;
};

/* The profiles made of it. */
struct profiles {
    struct profile *items;
    int *jobs; /* job index of each profile */
    int count;
};

static int parse (struct options *options, struct request *ret, struct pollux_error *err)
{
    struct request request = {0};
    int id;
    while ((id = options_next (options, err)) > 0)
        request.workload = options->argument;
    if (id == 0)
        id = options_operand (options, &request.path, err);
    if (id == 0)
        *ret = request;
    return id;
}

static int read_journal (const char *path, struct journal_contents *contents,
                         struct pollux_error *err)
{
    struct store *store;
    int code = store_open (path, STORE_READ, &store, err);
    if (code < 0)
        return code;
    struct source source = store_source (store);
    struct event event;
    code = store_restore (store, &contents->cluster, NULL, NULL, err);
    if (code == 0)
        code = journal_profile_begin (&contents->recorded, &contents->cluster, err);
    contents->from_us = contents->cluster.now_us;
    while (code == 0 && (code = source.next (source.self, &contents->cluster, &event, err)) == 1) {
        struct pollux_error why;
        if (store_seq (store) == 1)
            contents->from_us = event.at_us;
        code =
            cluster_apply_checked (&contents->cluster, &event, &why); /* the store has checked it */
        if (code < 0)
            fail (err, code, "%s, event %lld: %.120s", file_name (path).text,
                  (long long)store_seq (store), why.text);
        else
            code = journal_profile_event (&contents->recorded, &contents->cluster, &event, err);
    }
    store_close (store, NULL);
    return code;
}

/* A profile of each job with enough reports.  For others the reason is printed. */
static int make_profiles (const char *path, const struct journal_contents *contents,
                          struct profiles *ret, struct pollux_error *err)
{
    const struct cluster *cluster = &contents->cluster;
    size_t room = (size_t)cluster->job_count + 1;
    struct pollux_error why;
    ret->items = calloc (room, sizeof (ret->items[0]));
    ret->jobs = calloc (room, sizeof (ret->jobs[0]));
    if (!ret->items || !ret->jobs)
        return fail (err, -ENOMEM, "no memory for %zu profiles", room);
    for (int i = 0; i < cluster->job_count; i++) {
        struct profile *next = &ret->items[ret->count];
        if (journal_profile_of (&contents->recorded, cluster, i, next, &why) == 0)
            ret->jobs[ret->count++] = i;
        else
            fprintf (stderr, "pollux extract: job %s is left out: %s\n",
                     cluster->jobs[i]->spec.name, why.text);
    }
    if (ret->count == 0)
        return fail (err, -EINVAL,
                     "%s: no job reported how it trains (model, noise, total work); run jobs with "
                     "an agent",
                     file_name (path).text);
    return 0;
}

/* ---- The workload ------------------------------------------------------------------------- */

static void fill_workload (const struct journal_contents *contents, const struct profiles *profiles,
                           const struct ground_truth *truth, struct workload_job *ret)
{
    int64_t from_us = contents->from_us;
    for (int i = 0; i < profiles->count; i++) {
        int64_t at_us = contents->cluster.jobs[profiles->jobs[i]]->submit_us;
        from_us = at_us < from_us ? at_us : from_us;
    }
    for (int i = 0; i < profiles->count; i++) {
        const struct job *job = contents->cluster.jobs[profiles->jobs[i]];
        const struct pollux_limits *limits = &profiles->items[i].limits;
        int64_t batch = job->spec.fixed_batch;
        if (batch < limits->init_batch || batch > limits->max_batch)
            batch = limits->init_batch;
        int most = (int)(batch / limits->min_local), asked = job->spec.fixed_replicas;
        struct workload_job *row = &ret[i];
        *row = (struct workload_job){.submit_s = (double)(job->submit_us - from_us) * 1e-6,
                                     .app = ground_truth_app (truth, profiles->items[i].name),
                                     .replicas = asked > 0 && asked <= most ? asked : 1,
                                     .batch = batch};
        memcpy (row->name, job->spec.name, sizeof (row->name));
    }
}

static int write_workload (const char *path, const struct journal_contents *contents,
                           const struct profiles *profiles, struct pollux_error *err)
{
    struct ground_truth *truth;
    int code = ground_truth_of_profiles (profiles->items, profiles->count, &truth, err);
    if (code < 0)
        return code;
    struct workload workload = {calloc ((size_t)profiles->count, sizeof (workload.jobs[0])),
                                profiles->count};
    FILE *file = NULL;
    if (!workload.jobs)
        code = fail (err, -ENOMEM, "no memory for %d jobs", profiles->count);
    else if (!(file = fopen (path, "we")))
        code = fail (err, -errno, "%s: cannot write: %s", file_name (path).text, strerror (errno));
    if (code == 0) {
        fill_workload (contents, profiles, truth, workload.jobs);
        code = workload_write (&workload, file, err);
    }
    if (file && fclose (file) != 0 && code == 0)
        code = fail (err, -errno, "%s: cannot write: %s", file_name (path).text, strerror (errno));
    free (workload.jobs);
    ground_truth_free (truth);
    return code;
}

/* Nodes of one type and size. */
struct alike {
    const char *type;
    int slots, nodes;
};

/* The nodes of the cluster by type.  Returns the number of types; -1: nodes of one type have different numbers of slots, which no option
 * describes. */
static int group_nodes (const struct cluster *cluster, struct alike ret[NODE_TYPES_LIMIT])
{
    int count = 0;
    for (int i = 0; i < cluster->node_count; i++) {
        const struct node *node = &cluster->nodes[i];
        int at = 0;
        while (at < count && strcmp (ret[at].type, node->type) != 0)
            at++;
        if (at == count && count < NODE_TYPES_LIMIT)
            ret[count++] = (struct alike){.type = node->type, .slots = node->slots};
        if (at == count || ret[at].slots != node->slots)
            return -1;
        ret[at].nodes++;
    }
    return count;
}

/* Print the `pollux sim` command with the recorded cluster and parameters. */
static void advise (const char *workload, const struct journal_contents *contents)
{
    const struct journal_profile *recorded = &contents->recorded;
    const struct round *round = &recorded->round;
    struct alike groups[NODE_TYPES_LIMIT];
    int count = group_nodes (&contents->cluster, groups);
    if (!*round->policy)
        return;
    double delay_s =
        recorded->delays > 0 ? recorded->delay_s / recorded->delays : round->restart_delay_s;
    fprintf (stderr, "pollux sim %s --profiles PROFILES --policy %s", file_name (workload).text,
             round->policy);
    if (count == 1 && !*groups[0].type)
        fprintf (stderr, " --nodes %d --gpus-per-node %d", groups[0].nodes, groups[0].slots);
    else if (count >= 1)
        for (int i = 0; i < count; i++)
            fprintf (stderr, "%s%s:%dx%d", i == 0 ? " --node-group " : ",",
                     *groups[i].type ? groups[i].type : "any", groups[i].nodes, groups[i].slots);
    else
        fputs (" --cluster CLUSTER", stderr);
    fprintf (stderr, " --interval %.6g --restart-delay %.3g --p %.6g", round->interval_s, delay_s,
             round->p);
    for (int i = 0; i < round->settings.count; i++)
        fprintf (stderr, " --policy-option %s=%.12g", round->settings.items[i].name,
                 round->settings.items[i].value);
    fputc ('\n', stderr);
}

static int run (struct options *options, FILE *out, struct pollux_error *err)
{
    struct request request = {0};
    struct journal_contents contents = {0};
    struct profiles profiles = {0};
    int code = parse (options, &request, err);
    if (code == 0 && request.workload)
        code = output_check (request.workload, NULL, 0, err);
    if (code == 0)
        code = read_journal (request.path, &contents, err);
    if (code == 0)
        code = make_profiles (request.path, &contents, &profiles, err);
    if (code == 0 && request.workload)
        code = write_workload (request.workload, &contents, &profiles, err);
    if (code == 0)
        code =
            profiles_write (profiles.items, profiles.count, out, NULL) < 0 ? EXIT_FAILED : EXIT_OK;
    if (code == EXIT_OK && request.workload)
        advise (request.workload, &contents);
    free (profiles.items);
    free (profiles.jobs);
    journal_profile_clear (&contents.recorded);
    cluster_clear (&contents.cluster);
    return code;
}

const struct command extract_command = {
    .name = "extract",
    .operands = "FILE.db",
    .summary = "make profiles of the jobs of a journal, to simulate them",
    .description =
        "Prints the jobs of a daemon's journal, or of a recorded simulation, as profiles (JSON)\n"
        "for --profiles of pollux sim: each with its last fitted model, its gradient noise,\n"
        "its limits and its total work.  With --workload it also writes their submissions, and\n"
        "prints the command that simulates them.  Jobs without these reports are left out.",
    COMMAND_OPTIONS (option_rows),
    .run = run,
};
