/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares as steps of this allocation.  A share is one srun, which outlives this process: its child on
 * the node is `pollux exec --share`.  Before it starts, the generation's directory has the slots and
 * the descriptions of its ranks.  An MPI job is one step with a task per rank.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "backend/generation_files.h"
#include "backend/old_jobs.h"
#include "backend/run_open.h"
#include "backend/slurm/slurm_steps_private.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/safe_dir.h"

/* scancel takes 0.1 s; longer only while slurmctld restarts. */
#define SCANCEL_US INT64_C (10000000)
/* Between cancels of steps that no generation has.  Slurm may list a step for ever that has ended. */
#define UNWANTED_US INT64_C (30000000)

static const char hostfile[] = "hosts";

/* ---- Submitting --------------------------------------------------------------------------- */

static void steps_spec (void *self, const struct cluster *cluster,
                        const struct generation *generation, struct run_spec *ret)
{
    struct steps *steps = self;
    const struct node *node;
    const char *first = cluster->nodes[generation->ranks[0].node].name;
    const struct steps_node *details = steps_find_node (steps, first, &node);
    ret->slot_map = &generation->slot_map;
    ret->environment = steps->runs.environment;
    ret->checkpoint_dir = steps->runs.checkpoints;
    ret->url = steps->runs.url;
    ret->ca = steps->runs.ca;
    ret->program = steps->runs.program;
    ret->directory = steps->runs.directory;
    ret->master = details ? details->address : first;
    ret->devices = details && details->gpu;
    ret->cpus = 1;
    ret->token = run_settings_token (&steps->runs, generation->name, generation->number,
                                     steps->token_text, sizeof (steps->token_text));
}

static int prepare (struct steps *steps, const struct cluster *cluster,
                    struct generation *generation, struct pollux_error *err)
{
    struct run_spec spec = {.job = cluster->jobs[generation->job],
                            .checkpoint_dir = steps->runs.checkpoints};
    if (generation->prepared)
        return 0;
    int code = run_prepare (steps->runs.root, generation->name, generation->number, err);
    if (code == 0)
        code = run_spec_make_checkpoint (&spec, err);
    if (code == 0)
        code = run_write_slot_map (steps->runs.root, generation->name, generation->number,
                                   &generation->slot_map, err);
    generation->prepared = code == 0;
    return code;
}

static int write_files (struct steps *steps, const struct generation *generation,
                        const struct slurm_file *files, int count, struct pollux_error *err)
{
    int directory;
    int code = run_open_generation (steps->runs.root, generation->name, generation->number,
                                    &directory, err);
    if (code < 0)
        return code;
    for (int i = 0; code == 0 && i < count; i++)
        code = safe_dir_replace (directory, files[i].name, files[i].text, files[i].length, err);
    close (directory);
    return code;
}

/* A line with the node of each rank. */
static int write_hosts (struct steps *steps, const struct cluster *cluster,
                        const struct generation *generation, struct pollux_error *err)
{
    struct placement placement = cluster->jobs[generation->job]->placement;
    size_t size = (size_t)placement.count + 1;
    const char **names = calloc (size, sizeof (names[0]));
    int *replicas = calloc (size, sizeof (replicas[0]));
    struct slurm_file file = {.text = NULL};
    int code = names && replicas ? 0 : fail (err, -ENOMEM, "not enough memory");
    for (int i = 0; code == 0 && i < placement.count; i++) {
        names[i] = cluster->nodes[placement.shares[i].node].name;
        replicas[i] = placement.shares[i].replicas;
    }
    strcpy (file.name, hostfile);
    if (code == 0)
        code = slurm_hostfile (names, replicas, placement.count, &file.text, err);
    if (code == 0) {
        file.length = strlen (file.text);
        code = write_files (steps, generation, &file, 1, err);
    }
    free (file.text);
    free (names);
    free (replicas);
    return code;
}

static void srun_done (void *user, const struct command_result *result)
{
    struct carried_share *share = user;
    slurm_share_ended (share->slurm, share, result);
}

static int run_srun (struct steps *steps, struct carried_share *share, const struct words *words,
                     const char *variable, struct pollux_error *err)
{
    const char *environment[] = {variable, NULL};
    struct command_request request = {.words = words_list (words),
                                      .environment = environment,
                                      .directory = steps->runs.directory,
                                      .detached = true,
                                      .done = srun_done,
                                      .user = share};
    fault_point ("spawn");
    int code = command_set_start (steps->slurm.commands, &request, clock_monotonic_us (),
                                  &share->command, err);
    fault_point ("spawned");
    return code;
}

static int start_srun (struct steps *steps, const struct cluster *cluster,
                       struct carried_share *share, struct pollux_error *err)
{
    const struct generation *generation = share->generation;
    const struct generation_share *ranks = &generation->shares[share->share];
    const struct job *job = cluster->jobs[generation->job];
    const char *name = cluster->nodes[ranks->node].name;
    const struct node *node = NULL;
    const struct steps_node *details = steps_find_node (steps, name, &node);
    bool mpi = job->launch->launcher == LAUNCHER_MPI;
    char *directory = NULL, *variable = NULL;
    struct words words = {0};
    if (!details || node->slots == 0)
        return fail (err, -EHOSTDOWN, "node %s is not in the allocation any more", name);
    if (asprintf (&directory, "%s/%s/%d", steps->runs.directory, generation->name,
                  generation->number) < 0 ||
        asprintf (&variable, "SLURM_HOSTFILE=%s/%s", directory, hostfile) < 0)
        return fail (err, -ENOMEM, "not enough memory");
    struct slurm_share what = {.name = share->name,
                               .node = name,
                               .pollux = steps->runs.program,
                               .directory = directory,
                               .first = ranks->first,
                               .count = ranks->count,
                               .gres = details->gpu ? "gpu" : NULL,
                               .gres_count = details->gpu ? node->slots : 0,
                               .allocation = steps->allocation_id};
    int code = mpi ? write_hosts (steps, cluster, generation, err) : 0;
    if (code == 0)
        code = mpi ? slurm_srun_mpi (&what, job->placement.count, &words, err)
                   : slurm_srun_share (&what, &words, err);
    if (code == 0)
        code = run_srun (steps, share, &words, mpi ? variable : NULL, err);
    words_clear (&words);
    free (directory);
    free (variable);
    return code;
}

static int steps_submit (void *self, const struct cluster *cluster, struct carried_share *share,
                         const struct slurm_file *files, int count, struct pollux_error *err)
{
    struct steps *steps = self;
    struct generation *generation = share->generation;
    int code = prepare (steps, cluster, generation, err);
    if (code == 0)
        code = write_files (steps, generation, files, count, err);
    if (code == 0)
        code = start_srun (steps, cluster, share, err);
    return code;
}

/* ---- Stopping ----------------------------------------------------------------------------- */

static int scancel (struct steps *steps, int64_t id, const char *step, const char *signal)
{
    struct words words = {0};
    struct pollux_error err = {.text = ""};
    int64_t now_us = clock_monotonic_us ();
    int code = slurm_scancel_step (id, step, signal, &words);
    struct command_request request = {.words = words_list (&words),
                                      .deadline_us = now_us + SCANCEL_US};
    if (code == 0)
        code = command_set_start (steps->slurm.commands, &request, now_us, NULL, &err);
    words_clear (&words);
    if (code < 0 && code != -EAGAIN)
        slurm_log (&steps->slurm, LOG_ERR, "cannot run scancel: %s", err.text);
    return code;
}

static int signal_all (void *self, const struct carried_share *share, const char *signal)
{
    int code = 0;
    for (int i = 0; i < share->listed_count; i++) {
        int rc = scancel (self, share->listed[i].id, share->listed[i].step, signal);
        code = rc < 0 ? rc : code;
    }
    return code;
}

static int steps_signal (void *self, struct carried_share *share)
{
    return signal_all (self, share, "URG");
}

static int steps_cancel (void *self, struct carried_share *share)
{
    return signal_all (self, share, "KILL");
}

/* ---- Listing ------------------------------------------------------------------------------ */

static void steps_list_query (void *self, struct slurm_jobs_query *ret)
{
    const struct steps *steps = self;
    ret->ids = steps->allocation;
}

static bool is_known (const struct steps *steps, const char *name)
{
    for (int i = 0; i < steps->slurm.count; i++)
        if (strcmp (steps->slurm.shares[i]->name, name) == 0)
            return true;
    return false;
}

/* Is it JOB.GENERATION.SHARE of a generation that has a directory here?  Other steps of the
 * allocation are the user's own. */
static bool is_ours (const struct steps *steps, const char *name)
{
    char job[SHARE_NAME_SIZE];
    int number, share, directory, length = 0;
    if (strlen (name) >= sizeof (job))
        return false;
    strcpy (job, name);
    for (int i = 0; i < 2; i++) {
        char *dot = strrchr (job, '.');
        if (!dot)
            return false;
        *dot = '\0';
    }
    if (sscanf (name + strlen (job), ".%9d.%9d%n", &number, &share, &length) != 2 ||
        name[strlen (job) + (size_t)length] ||
        run_open_generation (steps->runs.root, job, number, &directory, NULL) < 0)
        return false;
    close (directory);
    return true;
}

/* Steps that no generation of the journal has are cancelled. */
static void steps_listed (void *self, const struct slurm_jobs *jobs)
{
    struct steps *steps = self;
    int64_t now_us = clock_monotonic_us ();
    if (now_us < steps->unwanted_us)
        return;
    for (int i = 0; i < jobs->count; i++) {
        const struct slurm_job *job = &jobs->list[i];
        if (is_known (steps, job->name) || !is_ours (steps, job->name))
            continue;
        slurm_log (&steps->slurm, LOG_WARNING, "step %s (%lld.%s) is not wanted: it is cancelled",
                   job->name, (long long)job->id, job->step);
        scancel (steps, job->id, job->step, "KILL");
        steps->unwanted_us = now_us + UNWANTED_US;
    }
}

/* ---- Files -------------------------------------------------------------------------------- */

static int steps_read (void *self, const struct run_name *name, struct run_view *ret,
                       struct pollux_error *err)
{
    return run_read (((struct steps *)self)->runs.root, name, ret, err);
}

static int steps_refuse (void *self, const struct run_name *name, const struct run_status *status,
                         struct pollux_error *err)
{
    return run_refuse (((struct steps *)self)->runs.root, name, status, err);
}

static void steps_mark_stop (void *self, const struct generation *generation)
{
    const struct steps *steps = self;
    generation_mark_stop (&steps->slurm.set, steps->runs.root, generation);
}

static void steps_remove (void *self, const char *job, int number)
{
    const struct steps *steps = self;
    generation_remove_old (&steps->slurm.set, steps->runs.root, job, number);
}

/* All logs of a job. */
static void remove_job (struct steps *steps, const struct job *job)
{
    int directory, *numbers = NULL;
    if (safe_dir_open (steps->runs.root, job->spec.name, &directory, NULL) < 0)
        return;
    int count = kept_logs_list (directory, &numbers, NULL);
    close (directory);
    for (int i = 0; i < count; i++)
        steps_remove (steps, job->spec.name, numbers[i]);
    free (numbers);
}

static void prune (struct steps *steps, const struct cluster *cluster)
{
    int64_t before_us = old_jobs_before_us (cluster, steps->runs.keep_jobs);
    for (int i = 0; i < cluster->job_count; i++)
        if (job_is_old (cluster->jobs[i], before_us) &&
            !job_is_old (cluster->jobs[i], steps->pruned_us))
            remove_job (steps, cluster->jobs[i]);
    steps->pruned_us = before_us;
}

/* Remove descriptions, which contain tokens, and the logs of old generations and jobs. */
static void steps_clean_up (void *self, const struct cluster *cluster,
                            const struct generation *generation)
{
    struct steps *steps = self;
    run_remove_descriptions (steps->runs.root, generation->name, generation->number,
                             generation->replicas);
    if (generation_keep_logs (&steps->slurm.set, generation))
        prune (steps, cluster);
}

const struct slurm_way steps_way = {
    .steps = true,
    .lists_dead_shares = true,
    .submit = steps_submit,
    .signal = steps_signal,
    .cancel = steps_cancel,
    .query = steps_list_query,
    .listed = steps_listed,
    .node_failed = steps_node_failed,
    .read = steps_read,
    .refuse = steps_refuse,
    .mark_stop = steps_mark_stop,
    .clean_up = steps_clean_up,
    .remove = steps_remove,
    .spec = steps_spec,
};
