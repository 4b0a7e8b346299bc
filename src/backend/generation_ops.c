/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the ops of a backend to its generation set, which is at the same address.
 */
#include "backend/generation_ops.h"

#include <errno.h>

#include "backend/kept_logs.h"
#include "backend/run.h"
#include "backend/run_settings.h"
#include "backend/run_spec.h"
#include "wire/submission.h"

static const struct run_settings *runs_of (const void *self)
{
    return ((const struct generation_set *)self)->runs;
}

int64_t generation_ops_due_us (const void *self)
{
    return generation_set_due_us (self);
}

int generation_ops_next_event (void *self, const struct cluster *cluster, struct event *ret)
{
    return generation_set_next_event (self, cluster, ret);
}

bool generation_ops_wants_settle (const void *self)
{
    return generation_set_wants_settle (self);
}

int generation_ops_reconcile (void *self, struct loop *loop, struct pollux_error *err)
{
    return generation_set_reconcile (self, loop, err);
}

int generation_ops_act (void *self, const struct cluster *cluster, struct pollux_error *err)
{
    (void)err;
    generation_set_act (self, cluster);
    return 0;
}

void generation_ops_reported (void *self, const struct cluster *cluster, int job)
{
    generation_set_reported (self, cluster, job);
}

int generation_ops_news (void *self, const struct cluster *cluster, int job,
                         const struct run_news *news, struct pollux_error *err)
{
    (void)cluster;
    return generation_set_news (self, job, news, err);
}

void generation_ops_stop_all (void *self)
{
    ((struct generation_set *)self)->stopping = true;
}

int generation_ops_count (const void *self)
{
    return ((const struct generation_set *)self)->count;
}

int generation_ops_open_log (void *self, const char *job, int generation, int rank, int number,
                             int *ret, struct pollux_error *err)
{
    return run_open_job_log (runs_of (self)->root, job, generation, rank, number, ret, err);
}

int generation_ops_oldest_log (void *self, const char *job, int last, int *ret)
{
    (void)last;
    return wire_is_job (job) ? kept_logs_oldest (runs_of (self)->root, job, ret, NULL) : -ENOENT;
}

char *generation_ops_checkpoint_dir (void *self, const struct job *job)
{
    return run_spec_checkpoint_dir (runs_of (self)->checkpoints, job);
}
