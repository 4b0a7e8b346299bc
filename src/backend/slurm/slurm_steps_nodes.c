/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of the allocation: squeue tells which nodes it has and when it ends, sinfo their states,
 * addresses and types.  Both are asked again and again: a node that failed leaves the allocation and
 * does not come back.
 *
 * Slots: as the configuration declares the node; else the GPUs per node that the allocation asked for;
 * else those that Slurm gave to this process; else its CPUs divided by the CPUs per task.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "backend/gpu_type.h"
#include "backend/slurm/hostlist.h"
#include "backend/slurm/slurm_steps_private.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"

#define SECOND_US INT64_C (1000000)
#define QUERY_US (15 * SECOND_US)
#define QUERY_AGAIN_US SECOND_US
#define QUERY_DEADLINE_US (30 * SECOND_US)

const struct steps_node *steps_find_node (const struct steps *steps, const char *name,
                                          const struct node **ret)
{
    const struct node *node = node_find (steps->slurm.nodes, steps->slurm.node_count, name);
    if (!node)
        return NULL;
    *ret = node;
    return &steps->details[node - steps->slurm.nodes];
}

/* ---- Slots -------------------------------------------------------------------------------- */

/* A number at the beginning of a variable: "16(x4),8" is 16; 0 if it is not set. */
static int number_of (const char *variable)
{
    const char *text = getenv (variable);
    char digits[12] = "";
    int64_t number = 0;
    size_t length = text ? strspn (text, "0123456789") : 0;
    if (length == 0 || length >= sizeof (digits))
        return 0;
    memcpy (digits, text, length);
    return number_int64 (digits, &number) == 0 && number <= INT32_MAX ? (int)number : 0;
}

static void set_slots (const struct steps *steps, const struct slurm_node *found, const char *gres,
                       struct node *node, struct steps_node *details)
{
    const struct node *declared = node_find (steps->declared, steps->declared_count, found->name);
    struct slurm_gres asked = {.count = 0};
    int per_task = number_of ("SLURM_CPUS_PER_TASK"), cpus = number_of ("SLURM_CPUS_ON_NODE");
    if (strncmp (gres, "gres:", 5) == 0 || strncmp (gres, "gres/", 5) == 0)
        gres += 5;
    if (slurm_gres_parse (gres, strlen (gres), "gpu", "", &asked, NULL) < 0)
        asked.count = 0;
    int gpus = asked.count > 0 ? asked.count : number_of ("SLURM_GPUS_ON_NODE");
    if (declared) {
        *node = *declared;
        details->gpu = gpus > 0 && strcmp (declared->type, "cpu") != 0;
    } else if (gpus > 0) {
        node->slots = gpus;
        details->gpu = true;
    } else {
        node->slots = (cpus > 0 ? cpus : found->cpus) / (per_task > 0 ? per_task : 1);
    }
    node->slots = node->slots < 1 ? 1 : node->slots < SLOTS_LIMIT ? node->slots : SLOTS_LIMIT;
    if (!*node->type)
        gpu_type_of_gres (!details->gpu       ? "cpu"
                          : *found->gres.type ? found->gres.type
                                              : "gpu",
                          node->type);
}

int steps_take_nodes (struct steps *steps, const struct slurm_nodes *found, const char *gres,
                      struct pollux_error *err)
{
    size_t count = (size_t)found->count;
    bool failed =
        steps->slurm.unnamed_failure_us >= steps->slurm.query_began_us; /* since it began */
    struct node *nodes = calloc (count + 1, sizeof (nodes[0]));
    struct steps_node *details = calloc (count + 1, sizeof (details[0]));
    if (!nodes || !details) {
        free (nodes);
        free (details);
        return fail (err, -ENOMEM, "no memory for %zu nodes", count);
    }
    for (size_t i = 0; i < count; i++) {
        const struct slurm_node *node = &found->list[i];
        nodes[i].available = true;
        set_slots (steps, node, gres, &nodes[i], &details[i]);
        memcpy (nodes[i].name, node->name, NAME_SIZE);
        memcpy (details[i].address, node->address, SLURM_ADDRESS_SIZE);
        const struct node *last;
        const struct steps_node *before = steps_find_node (steps, node->name, &last);
        details[i].failed_us = before ? before->failed_us : 0;
        bool failed_since = details[i].failed_us >= steps->slurm.query_began_us;
        failed |= failed_since;
        if (slurm_node_use (node->state, true) == SLURM_NODE_LOST || failed_since)
            nodes[i].slots = 0;
    }
    free (steps->slurm.nodes);
    free (steps->details);
    steps->slurm.set.wants_settle |= steps->slurm.node_count < 0; /* starts waited for this */
    steps->slurm.nodes = nodes;
    steps->details = details;
    steps->slurm.node_count = found->count;
    steps->changes = (struct node_changes){.nodes = nodes, .count = found->count};
    steps->slurm.query_us = clock_monotonic_us () + (failed ? QUERY_AGAIN_US : QUERY_US);
    if (steps->slurm.unnamed_failure_us > 0 &&
        steps->slurm.unnamed_failure_us < steps->slurm.query_began_us) {
        steps->slurm.unnamed_failure_us = 0;
        steps->slurm.set.wants_settle = true; /* starts waited for this, too */
    }
    return 0;
}

void steps_node_failed (void *self, int node)
{
    struct steps *steps = self;
    const struct cluster *cluster = steps->slurm.cluster;
    const struct node *found;
    if (!cluster || !steps_find_node (steps, cluster->nodes[node].name, &found))
        return;
    int index = (int)(found - steps->slurm.nodes);
    steps->details[index].failed_us = clock_monotonic_us ();
    steps->slurm.nodes[index].slots = 0;
    steps->changes.at = 0;
}

/* ---- Asking ------------------------------------------------------------------------------- */

static void query_failed (struct steps *steps, const char *why)
{
    if (steps->slurm.query_failures++ == 0)
        slurm_log (&steps->slurm, LOG_WARNING,
                   "the nodes of allocation %s are not known: %s; asking again", steps->allocation,
                   why);
    steps->slurm.query_us = clock_monotonic_us () + QUERY_AGAIN_US;
}

/* format: a variable of its environment, or NULL. */
static int ask (struct steps *steps, const struct words *words, const char *format,
                void (*done) (void *, const struct command_result *), struct pollux_error *err)
{
    int64_t now_us = clock_monotonic_us ();
    struct command_request request = {.words = words_list (words),
                                      .environment = (const char *const[]){format, NULL},
                                      .deadline_us = now_us + QUERY_DEADLINE_US,
                                      .done = done,
                                      .user = steps};
    return command_set_start (steps->slurm.commands, &request, now_us, &steps->slurm.query, err);
}

static void nodes_done (void *user, const struct command_result *result)
{
    struct steps *steps = user;
    struct slurm_nodes_query query = {.nodes = steps->job_nodes};
    struct slurm_nodes found;
    struct pollux_error err = result->why;
    int code = result->code;
    steps->slurm.query = 0;
    if (code == 0)
        code = slurm_nodes_parse (&query, result->output, result->output_length, &found, &err);
    if (code == 0) {
        code = steps_take_nodes (steps, &found, steps->job_gres, &err);
        slurm_nodes_clear (&found);
    }
    if (code < 0) {
        query_failed (steps, err.text);
        return;
    }
    steps->slurm.query_failures = 0;
}

static int ask_nodes (struct steps *steps, struct pollux_error *err)
{
    struct slurm_nodes_query query = {.nodes = steps->job_nodes};
    struct words words = {0};
    int code = slurm_nodes_words (&query, &words);
    if (code == 0)
        code = ask (steps, &words, NULL, nodes_done, err);
    words_clear (&words);
    return code;
}

static int take_job (struct steps *steps, const struct slurm_job *job, struct pollux_error *err)
{
    char *nodes = strdup (job->nodes), *gres = strdup (job->gres);
    if (!nodes || !gres || !*nodes) {
        int code = nodes && gres ? fail (err, -ENOENT, "it has no nodes (state %s)", job->state)
                                 : fail (err, -ENOMEM, "not enough memory");
        free (nodes);
        free (gres);
        return code;
    }
    free (steps->job_nodes);
    free (steps->job_gres);
    steps->job_nodes = nodes;
    steps->job_gres = gres;
    steps->end_s = job->end_s;
    return ask_nodes (steps, err);
}

static void job_done (void *user, const struct command_result *result)
{
    struct steps *steps = user;
    struct slurm_jobs jobs = {0};
    struct pollux_error err = result->why;
    int code = result->code;
    steps->slurm.query = 0;
    if (code == 0)
        code =
            slurm_jobs_parse (steps->query_key, result->output, result->output_length, &jobs, &err);
    const struct slurm_job *job =
        code == 0 ? slurm_jobs_find_id (&jobs, steps->allocation_id, "") : NULL;
    if (code == 0)
        code = job ? take_job (steps, job, &err) : fail (&err, -ENOENT, "there is no such job");
    slurm_jobs_clear (&jobs);
    if (code < 0)
        query_failed (steps, err.text);
}

void steps_query_nodes (struct steps *steps)
{
    struct slurm_jobs_query query = {.ids = steps->allocation};
    struct words words = {0};
    char format[SLURM_FORMAT_SIZE];
    struct pollux_error err = {.text = "not enough memory"};
    if (steps->slurm.query != 0 || clock_monotonic_us () < steps->slurm.query_us)
        return;
    steps->slurm.query_began_us = clock_monotonic_us ();
    int code = slurm_key_make (steps->query_key, &err);
    if (code == 0)
        code = slurm_jobs_words (&query, &words);
    slurm_jobs_format (steps->query_key, format);
    if (code == 0)
        code = ask (steps, &words, format, job_done, &err);
    words_clear (&words);
    if (code < 0)
        query_failed (steps, err.text);
}
