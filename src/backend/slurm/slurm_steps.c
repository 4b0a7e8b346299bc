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
#include "backend/slurm/slurm_steps_private.h"
#include "base/error.h"
#include "base/number.h"

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
    run_settings_clear (&steps->runs);
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
    steps->runs.root = -1;
    steps->end_s = -1;
    int code = find_allocation (steps, err);
    if (code == 0)
        code = slurm_init (&steps->slurm, &steps_way, steps, options, err);
    steps->slurm.set.runs = &steps->runs;
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
    steps->slurm.cluster = cluster;
    return slurm_recover (&steps->slurm, cluster, steps->runs.root, err);
}

/* ---- Steps and events --------------------------------------------------------------------- */

static int steps_fd (const void *self)
{
    return command_set_descriptor (((const struct steps *)self)->slurm.commands);
}

static void steps_step (void *self, const struct cluster *cluster)
{
    struct steps *steps = self;
    steps->slurm.cluster = cluster;
    steps_query_nodes (steps);
    slurm_step (&steps->slurm, cluster);
}

static int steps_next_event (void *self, const struct cluster *cluster, struct event *ret)
{
    struct steps *steps = self;
    int code = generation_set_next_event (&steps->slurm.set, cluster, ret);
    if (code == 0 && steps->slurm.node_count >= 0)
        code = node_changes_next (&steps->changes, cluster, ret);
    return code;
}

static int64_t steps_end_s (const void *self)
{
    return ((const struct steps *)self)->end_s;
}

/* ---- Exit codes ------------------------------------------------------------------------- */

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
    SLURM_OPS,
    GENERATION_OPS,
    GENERATION_FILE_OPS,
    .shared_state = true,
    .open = steps_open,
    .free = steps_free,
    .recover = steps_recover,
    .fd = steps_fd,
    .step = steps_step,
    .next_event = steps_next_event,
    .act = generation_ops_act,
    .end_s = steps_end_s,
    .first_failure = steps_first_failure,
};
