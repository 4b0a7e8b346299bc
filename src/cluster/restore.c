/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restore jobs from a snapshot: apply SUBMIT, then copy the rest of the job's state.  The state is
 * checked first: readers of a cluster rely on properties that events guarantee, for example that
 * only running jobs have a placement and that no time is in the future.
 */
#include "cluster/restore.h"

#include <errno.h>

#include "base/error.h"

/* The reason why events cannot have led to this state; NULL: they can. */
static const char *contradiction (const struct job *job, int64_t submit_us, int64_t now_us)
{
    if (job->charged_us < submit_us || job->charged_us > now_us || job->aged_us < submit_us ||
        job->aged_us > now_us || job->start_us > now_us)
        return "its times are not between its submission and the snapshot";
    if (!job_live (job) && (job->end_us < submit_us || job->end_us > now_us))
        return "its end is not between its submission and the snapshot";
    if (job_runs (job) && job->generation < 1)
        return "it runs, but has no generation";
    if (!job_runs (job) && job->placement.count > 0)
        return "it has slots, but does not run";
    if (!job_live (job) && job->desired.count > 0)
        return "it has ended, but a plan gives it slots";
    return NULL;
}

int cluster_restore_job (struct cluster *cluster, const struct event *submit, const struct job *job,
                         int64_t now_us, struct pollux_error *err)
{
    const char *name = submit->submit.spec->name, *why = contradiction (job, submit->at_us, now_us);
    if (why)
        return fail (err, -EINVAL, "job %s: %s", name, why);
    int rc = cluster_apply (cluster, submit, err);
    if (rc < 0)
        return rc;
    struct job *to = cluster->jobs[cluster->job_count - 1], submitted = *to;
    *to = *job;
    to->spec = submitted.spec;
    to->spec.min_replicas = job->spec.min_replicas;
    to->spec.max_replicas = job->spec.max_replicas;
    to->spec.weight = job->spec.weight;
    to->oracle = submitted.oracle;
    to->oracle.remaining = job->oracle.remaining;
    to->submit_us = submitted.submit_us;
    to->launch = submitted.launch;
    to->application = submitted.application;
    to->placement = to->desired = (struct placement){0};
    to->shares = to->desired_shares = NULL;
    to->share_capacity = to->desired_capacity = 0;
    if (job_place (to, job->placement) < 0 || job_desire (to, job->desired) < 0)
        return fail (err, -ENOMEM, "no memory for the placement of job %s", name);
    if (!job_live (to))
        cluster->live.count--; /* SUBMIT has added it at the end of the list */
    return 0;
}

int cluster_restore_experience (struct cluster *cluster, const struct ended_job *job,
                                struct pollux_error *err)
{
    if (!job->application || !hints_teach (&job->hints))
        return fail (err, -EINVAL, "a job of the experience has no application or no model");
    if (experience_add (&cluster->experience, job) < 0)
        return fail (err, -ENOMEM, "no memory for the experience of %d jobs", EXPERIENCE_LIMIT);
    return 0;
}

int cluster_restore_time (struct cluster *cluster, int64_t now_us, struct pollux_error *err)
{
    if (now_us < cluster->now_us)
        return fail (err, -EINVAL, "the snapshot is of %lld us, but a job was submitted at %lld us",
                     (long long)now_us, (long long)cluster->now_us);
    cluster->now_us = now_us;
    return 0;
}
