/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops of the backend `slurm-steps`: the generation set above steps of this allocation.
 */
#include "backend/slurm/slurm_steps.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend/generation_ops.h"
#include "backend/run_spec.h"
#include "backend/slurm/slurm_steps_private.h"
#include "base/error.h"
#include "base/number.h"
#include "wire/submission.h"

/* ---- Opening and freeing ------------------------------------------------------------------ */

static int find_allocation (struct steps *steps, struct pollux_error *err)
{
    const char *id = getenv ("SLURM_JOB_ID");
    if (!id || strlen (id) >= sizeof (steps->allocation) ||
        number_int64 (id, &steps->allocation_id) < 0 || steps->allocation_id <= 0)
        return fail (
            err, -EINVAL,
            "the backend slurm-steps works inside an allocation of Slurm, and SLURM_JOB_ID "
            "is %s: start it with pollux slurm-pilot",
            id ? "not a job's number" : "not set");
    strcpy (steps->allocation, id);
    return 0;
}

static int copy_declared (struct steps *steps, const struct backend_options *options,
                          struct pollux_error *err)
{
    size_t count = (size_t)options->node_count;
    steps->declared = calloc (count + 1, sizeof (struct node));
    if (!steps->declared)
        return fail (err, -ENOMEM, "no memory for %zu nodes", count);
    if (count > 0)
        memcpy (steps->declared, options->nodes, count * sizeof (struct node));
    steps->declared_count = options->node_count;
    return 0;
}

static void steps_free (void *self)
{
    struct steps *steps = self;
    if (!steps)
        return;
    slurm_clear (&steps->slurm);
    kept_logs_clear (&steps->kept);
    run_settings_clear (&steps->runs);
    free (steps->nodes);
    free (steps->details);
    free (steps->declared);
    free (steps->job_nodes);
    free (steps->job_gres);
    explicit_bzero (steps->token_text, sizeof (steps->token_text));
    free (steps);
}

static int steps_open (const struct backend_options *options, void **ret, struct pollux_error *err)
{
    struct steps *steps = calloc (1, sizeof (*steps));
    if (!steps)
        return fail (err, -ENOMEM, "no memory for the backend slurm-steps");
    steps->runs.root = steps->node_count = -1;
    steps->end_s = -1;
    steps->kept.limit = options->log_limit ? options->log_limit : RUN_JOB_LOG_DEFAULT;
    int code = find_allocation (steps, err);
    if (code == 0)
        code = slurm_init (&steps->slurm, &steps_way, steps, options, err);
    if (code == 0)
        code = run_settings_init (&steps->runs, options, err);
    if (code == 0)
        code = copy_declared (steps, options, err);
    if (code < 0)
        steps_free (steps);
    else
        *ret = steps;
    return code;
}

static int steps_recover (void *self, const struct cluster *cluster, struct pollux_error *err)
{
    struct steps *steps = self;
    steps->cluster = cluster;
    return slurm_recover (&steps->slurm, cluster, steps->runs.root, err);
}

/* ---- Steps and events --------------------------------------------------------------------- */

static int steps_fd (const void *self)
{
    return command_set_descriptor (((const struct steps *)self)->slurm.commands);
}

static int64_t steps_due_us (const void *self)
{
    const struct steps *steps = self;
    return slurm_due_us (&steps->slurm, steps->query == 0 ? steps->query_us : INT64_MAX);
}

static void steps_step (void *self, const struct cluster *cluster)
{
    struct steps *steps = self;
    steps->cluster = cluster;
    steps_query_nodes (steps);
    slurm_step (&steps->slurm, cluster);
}

static int steps_next_event (void *self, const struct cluster *cluster, struct event *ret)
{
    struct steps *steps = self;
    int code = generation_set_next_event (&steps->slurm.set, cluster, ret);
    if (code == 0 && steps->node_count >= 0)
        code = node_changes_next (&steps->changes, cluster, ret);
    return code;
}

static int steps_reconcile (void *self, struct loop *loop, struct pollux_error *err)
{
    struct steps *steps = self;
    if (steps->node_count < 0)
        return 0; /* nothing starts before the nodes are known */
    return generation_set_reconcile (&steps->slurm.set, loop, err);
}

static int64_t steps_end_s (const void *self)
{
    return ((const struct steps *)self)->end_s;
}

/* ---- Logs and exit codes ------------------------------------------------------------------ */

static int steps_open_log (void *self, const char *job, int generation, int rank, int number,
                           int *ret, struct pollux_error *err)
{
    return run_open_job_log (((const struct steps *)self)->runs.root, job, generation, rank, number,
                             ret, err);
}

static int steps_oldest_log (void *self, const char *job, int last, int *ret)
{
    (void)last;
    return wire_is_job (job)
               ? kept_logs_oldest (((const struct steps *)self)->runs.root, job, ret, NULL)
               : -ENOENT;
}

static char *steps_checkpoint_dir (void *self, const struct job *job)
{
    return run_spec_checkpoint_dir (((const struct steps *)self)->runs.checkpoints, job);
}

static int steps_first_failure (void *self, const char *job, int generation, int *ret_rank)
{
    return run_first_failure (((const struct steps *)self)->runs.root, job, generation, true,
                              ret_rank);
}

/* For generation_ops.h. */
_Static_assert(offsetof (struct steps, slurm.set) == 0, "the set is the first member");

const struct backend_ops slurm_steps_backend = {
    .name = "slurm-steps",
    .summary = "steps of the Slurm allocation that polluxd runs in",
    .remote = true,
    .shared_state = true,
    .open = steps_open,
    .free = steps_free,
    .nodes = slurm_nodes_later,
    .recover = steps_recover,
    .fd = steps_fd,
    .due_us = steps_due_us,
    .step = steps_step,
    .next_event = steps_next_event,
    .wants_settle = generation_ops_wants_settle,
    .reconcile = steps_reconcile,
    .act = generation_ops_act,
    .reported = generation_ops_reported,
    .news = generation_ops_news,
    .stop_all = generation_ops_stop_all,
    .count = generation_ops_count,
    .end_s = steps_end_s,
    .open_log = steps_open_log,
    .oldest_log = steps_oldest_log,
    .checkpoint_dir = steps_checkpoint_dir,
    .first_failure = steps_first_failure,
};
