/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares as Slurm jobs of their owners.  A share is one sbatch, which the root process runs as the
 * owner; its batch script is `pollux exec --share`.  Its name is JOB.GENERATION.SHARE, and its comment
 * begins with the id of this state directory: by both, and by its user, it is found again.
 *
 * Whether a run lives is said by its news and by Slurm.  Files are read only when a share has ended, or
 * when no news came from it.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "backend/old_jobs.h"
#include "backend/slurm/service_private.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fault.h"

#define SECOND_US INT64_C (1000000)
/* After this time without news of a run that Slurm says is running, its files are read. */
#define NEWS_US (30 * SECOND_US)
/* Slurm starts a job on free slots within a second, and within 30 s if only its backfill does. */
#define WAIT_US (60 * SECOND_US)

/* ---- Descriptions ------------------------------------------------------------------------- */

static void service_spec (void *self, const struct cluster *cluster,
                          const struct generation *generation, struct run_spec *ret)
{
    struct service *service = self;
    const struct job *job = cluster->jobs[generation->job];
    const struct node *node;
    const char *first = cluster->nodes[generation->ranks[0].node].name;
    const struct service_node *details = service_find_node (service, first, &node);
    struct slurm_request request = wire_slurm_complete (&service->config, &job->launch->slurm);
    const struct service_account *account = NULL;
    if (service_account (service, job->launch->owner, &account, NULL) == 0) {
        ret->environment = account->environment;
        ret->checkpoint_dir = account->checkpoints;
    }
    if (!ret->checkpoint_dir)
        ret->checkpoint_dir = "/"; /* submit refuses it anyway */
    ret->slot_map = &generation->slot_map;
    ret->local_slots = true;
    ret->url = service->url;
    ret->ca = service->ca;
    ret->program = service->program;
    ret->directory = "/";
    ret->master = details ? details->address : first;
    ret->devices = service->config.gres[0] != '\0';
    ret->cpus = request.cpus > 0 ? request.cpus : 1;
    ret->munge = service->munge;
    if (!service->munge && service->url && service->token &&
        service->token (service->self, generation->name, generation->number, service->token_text,
                        sizeof (service->token_text)) == 0)
        ret->token = service->token_text;
}

/* ---- Submitting --------------------------------------------------------------------------- */

/* Make the directory for checkpoints, too: only the owner can. */
static int complete_script (const struct service_account *account, const struct job *job,
                            char **script, struct pollux_error *err)
{
    char *path = run_spec_checkpoint_dir (account->checkpoints, job), *text = NULL;
    if (!path)
        return fail (err, -ENOMEM, "not enough memory");
    char *quoted = slurm_shell_quote (path);
    free (path);
    const char *rest = strchr (*script, '\n');
    if (!quoted || !rest ||
        asprintf (&text, "%.*s\nmkdir -p -m 700 %s%s", (int)(rest - *script), *script, quoted,
                  rest) < 0)
        text = NULL;
    free (quoted);
    if (!text)
        return fail (err, -ENOMEM, "not enough memory");
    free (*script);
    *script = text;
    return 0;
}

/* The words of sbatch without its name, and the script. */
static int build (struct service *service, const struct cluster *cluster,
                  const struct carried_share *share, const struct service_account *account,
                  struct words *words, char **script, struct pollux_error *err)
{
    const struct generation *generation = share->generation;
    const struct generation_share *ranks = &generation->shares[share->share];
    const struct job *job = cluster->jobs[generation->job];
    const struct wire_slurm_config *config = &service->config;
    struct slurm_request request = wire_slurm_complete (config, &job->launch->slurm);
    const char *name = cluster->nodes[ranks->node].name;
    const struct node *node;
    const struct service_node *details = service_find_node (service, name, &node);
    char comment[256], directory[2048], output[2100];
    snprintf (comment, sizeof (comment),
              "pollux-%s: job %s, generation %d, replicas %d to %d of %d", service->id,
              generation->name, generation->number, ranks->first, ranks->first + ranks->count - 1,
              generation->replicas);
    snprintf (directory, sizeof (directory), "%s/run/%s/%d", account->account.directory,
              generation->name, generation->number);
    snprintf (output, sizeof (output), "%s/share-%d.out", directory, share->share);
    struct slurm_share what = {
        .name = share->name,
        .comment = comment,
        .node = name,
        .pollux = service->program,
        .directory = directory,
        .first = ranks->first,
        .count = ranks->count,
        .gres = config->gres,
        .gres_type = details ? details->gres_type : config->gres_type,
        .gres_count = config->gres[0] ? ranks->count : 0,
        .cpus = (request.cpus > 0 ? request.cpus : 1) * ranks->count,
        .memory_mb = request.memory_mb * ranks->count,
        .account = request.account,
        .qos = request.qos,
        .partition = request.partition,
        .reservation = config->reservation,
        .time_limit_min = request.time_limit_min,
        .output = output,
        .mpi_ranks = job->launch->launcher == LAUNCHER_MPI ? generation->replicas : 0,
    };
    int code = slurm_sbatch_share (&what, words, script, err);
    if (code == 0)
        code = complete_script (account, job, script, err);
    words_add (words, "--propagate=NONE"); /* not the limits of this service */
    return code;
}

static int send (struct service *service, const struct cluster *cluster,
                 struct carried_share *share, const struct words *words, const char *script,
                 const struct slurm_file *files, int count, struct pollux_error *err)
{
    static struct owner_request request;
    const struct generation *generation = share->generation;
    struct owner_file *list = calloc ((size_t)count + 1, sizeof (list[0]));
    if (!list)
        return fail (err, -ENOMEM, "not enough memory");
    list[0] = (struct owner_file){.text = script, .length = strlen (script)};
    for (int i = 0; i < count; i++) {
        list[i + 1] = (struct owner_file){.text = files[i].text, .length = files[i].length};
        snprintf (list[i + 1].name, sizeof (list[i + 1].name), "%.31s", files[i].name);
    }
    request = (struct owner_request){.kind = OWNER_SUBMIT, .generation = generation->number};
    memcpy (request.job, generation->name, sizeof (request.job));
    for (size_t i = 1; i < words->count && request.word_count < OWNER_WORDS; i++)
        request.words[request.word_count++] = words->list[i];
    fault_point ("spawn");
    int code = service_submit (service, cluster->jobs[generation->job]->launch->owner, share,
                               &request, list, count + 1, err);
    fault_point ("spawned");
    free (list);
    return code;
}

/* Failures of this process concern all jobs; that an owner is not known now, only this job, and it is not its fault.  All
 * others come from what this job or its owner asks. */
static int submit_code (int code, bool known)
{
    if (!known && code != -ENOMEM && owner_code_is_transient (code))
        return -EAGAIN;
    return code == -EAGAIN                                    ? -EBUSY
           : owner_code_is_transient (code) || code == -EPIPE ? code
                                                              : -EINVAL;
}

static int service_submit_share (void *self, const struct cluster *cluster,
                                 struct carried_share *share, const struct slurm_file *files,
                                 int count, struct pollux_error *err)
{
    struct service *service = self;
    const struct job *job = cluster->jobs[share->generation->job];
    const struct service_account *account;
    struct words words = {0};
    char *script = NULL;
    int code = service_account (service, job->launch->owner, &account, err);
    bool known = code == 0;
    if (code == 0)
        code = build (service, cluster, share, account, &words, &script, err);
    if (code == 0)
        code = words_check (&words) < 0
                   ? fail (err, -ENOMEM, "not enough memory")
                   : send (service, cluster, share, &words, script, files, count, err);
    words_clear (&words);
    free (script);
    return code < 0 ? submit_code (code, known) : 0;
}

/* ---- Stopping ----------------------------------------------------------------------------- */

/* The job of a share, from JOB.GENERATION.SHARE. */
static void job_name (const char *share, char ret[NAME_SIZE])
{
    char text[SHARE_NAME_SIZE];
    snprintf (text, sizeof (text), "%s", share);
    for (int i = 0; i < 2; i++) {
        char *dot = strrchr (text, '.');
        if (dot)
            *dot = '\0';
    }
    snprintf (ret, NAME_SIZE, "%.63s", text);
}

static int stop_all (struct service *service, const struct carried_share *share, int signal)
{
    char job[NAME_SIZE];
    int code = 0;
    job_name (share->name, job);
    const char *owner = service_owner_of (service, job);
    for (int i = 0; i < share->listed_count; i++) {
        int rc = service_stop (service, owner, share->listed[i].id, signal);
        code = rc < 0 ? rc : code;
    }
    if (share->listed_count == 0 && share->id > 0)
        code = service_stop (service, owner, share->id, signal);
    return code;
}

static int service_signal (void *self, struct carried_share *share)
{
    return stop_all (self, share, SIGURG);
}

static int service_cancel (void *self, struct carried_share *share)
{
    return stop_all (self, share, 0);
}

/* ---- Listing ------------------------------------------------------------------------------ */

/* All users' jobs, those that ended recently, too. */
static void service_query (void *self, struct slurm_jobs_query *ret)
{
    (void)self;
    ret->ended = true;
}

static bool has_our_comment (const struct service *service, const struct slurm_job *job)
{
    char prefix[32];
    snprintf (prefix, sizeof (prefix), "pollux-%s:", service->id);
    return strncmp (job->comment, prefix, strlen (prefix)) == 0;
}

/* Other users may give their jobs any name and comment, but not another user. */
static bool service_owns (void *self, const struct carried_share *share,
                          const struct slurm_job *job)
{
    const struct service *service = self;
    char name[NAME_SIZE];
    if (strcmp (job->name, share->name) != 0 || !has_our_comment (service, job))
        return false;
    job_name (share->name, name);
    const char *owner = service_owner_of (service, name);
    for (int i = 0; i < service->account_count; i++)
        if (strcmp (service->accounts[i]->name, owner) == 0 && service->accounts[i]->environment)
            return job->uid == (int64_t)service->accounts[i]->account.uid;
    return strcmp (job->user, owner) == 0;
}

static const struct carried_share *find_share (const struct service *service,
                                               const struct slurm_job *job)
{
    for (int i = 0; i < service->slurm.count; i++)
        if (service_owns ((void *)service, service->slurm.shares[i], job))
            return service->slurm.shares[i];
    return NULL;
}

/* A share that Slurm does not start does not wait there any longer: its job continues on another node, or later, or has
 * failed.  One that is being configured has its node. */
static void check_waiting (struct service *service, struct carried_share *share,
                           const struct slurm_job *job)
{
    int64_t now_us = clock_monotonic_us ();
    if (job->phase != SLURM_COMING || strcmp (job->state, "CONFIGURING") == 0 ||
        !share->generation || share->stop_us > 0 || now_us < share->phase_us + WAIT_US)
        return;
    enum slurm_waiting waiting = slurm_waiting (job->reason);
    snprintf (share->why, sizeof (share->why), "Slurm does not start it: %.100s", job->reason);
    share->refused = waiting == SLURM_WAITS_IN_VAIN;
    share->excused = !share->refused;
    share->limited = waiting == SLURM_WAITS_FOR_LIMIT;
    share->stop_us = now_us; /* it is cancelled */
    if (waiting == SLURM_WAITS_FOR_NODE)
        service_limit_node (service, share->node);
}

/* Slurm took the share, and a later query does not have it: it cannot be watched, so it is cancelled, after every query
 * until Slurm has answered that.  As long as it has a command, the share stays in the table. */
static void check_hidden (struct service *service, struct carried_share *share)
{
    if (share->hidden && share->seen)
        share->command = 0;
    if (share->id == 0 || share->seen || share->id_us >= service->slurm.listed_us ||
        (share->hidden && share->command == 0) || service_cancel (service, share) < 0 ||
        share->hidden)
        return;
    share->hidden = share->excused = true;
    share->command = SERVICE_COMMAND;
    snprintf (share->why, sizeof (share->why),
              "Slurm does not show it: is PrivateData set in slurm.conf?");
    if (!service->hidden_logged)
        slurm_log (&service->slurm, LOG_ERR,
                   "Slurm does not show our jobs: is PrivateData set? Then polluxd's user must be "
                   "an operator of Slurm. Slurm job %lld (%s) is cancelled",
                   (long long)share->id, share->name);
    service->hidden_logged = true;
}

/* Jobs with our comment that no generation has are cancelled: of an earlier daemon, for example. */
static void service_listed (void *self, const struct slurm_jobs *jobs)
{
    struct service *service = self;
    for (int i = 0; i < service->slurm.count; i++)
        check_hidden (service, service->slurm.shares[i]);
    for (int i = 0; i < jobs->count; i++) {
        const struct slurm_job *job = &jobs->list[i];
        if (!has_our_comment (service, job) ||
            (job->phase != SLURM_COMING && job->phase != SLURM_HELD))
            continue;
        struct carried_share *share = (struct carried_share *)find_share (service, job);
        if (share) {
            check_waiting (service, share, job);
            continue;
        }
        char name[NAME_SIZE];
        job_name (job->name, name);
        if (strcmp (service_owner_of (service, name), job->user) != 0)
            continue; /* another user's job with a copied comment */
        slurm_log (&service->slurm, LOG_WARNING,
                   "Slurm job %lld (%s) is not wanted: it is cancelled", (long long)job->id,
                   job->name);
        service_stop (service, job->user, job->id, 0);
    }
    service_nodes_listed (service);
}

static void service_left (void *self, const struct carried_share *share)
{
    service_share_left (self, share->node);
}

/* ---- Files -------------------------------------------------------------------------------- */

/* The files of a share that has ended.  A status counts at once, that there is none only if it was asked for a second
 * after the end: file servers show new files late.  If they cannot be read, it is not known how its runs ended, and that is not the
 * job's fault. */
static int read_ended (struct service *service, const struct run_name *name,
                       struct carried_share *share, struct run_view *ret)
{
    int code = service_read (service, name, share->since_us, ret);
    int64_t visible_us = share->since_us + SLURM_FILES_US;
    if (code == 0 && !ret->has_status && !*ret->why.text)
        code = clock_monotonic_us () < visible_us ? -EAGAIN /* the next look asks */
                                                  : service_read (service, name, visible_us, ret);
    if (code == 0 && *ret->why.text && !share->excused && !share->refused &&
        share->cancel_us == 0) {
        share->excused = true;
        snprintf (share->why, sizeof (share->why), "%.200s", ret->why.text);
    }
    return code;
}

static int service_read_run (void *self, const struct run_name *name, struct run_view *ret,
                             struct pollux_error *err)
{
    struct service *service = self;
    const struct generation *generation = generation_find_run (&service->slurm.set, name);
    (void)err;
    *ret = (struct run_view){.state = RUN_NONE};
    if (!generation)
        return 0;
    const struct rank *rank = &generation->ranks[name->rank];
    struct carried_share *share = generation_share_of (generation, name->rank)->carried;
    if (!share)
        return 0;
    int64_t now_us = clock_monotonic_us ();
    if (share->state == CARRIED_GONE)
        return read_ended (service, name, share, ret);
    bool silent = !rank->command_runs && share->state == CARRIED_LISTED &&
                  share->phase == SLURM_HELD && now_us > share->phase_us + NEWS_US;
    struct run_view files = {.state = RUN_NONE};
    if (silent && service_read (service, name, now_us - NEWS_US, &files) == 0 &&
        files.state != RUN_NONE) {
        *ret = files;
        return 0;
    }
    if (rank->command_runs) {
        ret->state = RUN_BEGUN;
        ret->has_replica = true;
    }
    return 0;
}

/* A run never starts when its Slurm job is gone.  Until then: not yet. */
static int service_refuse (void *self, const struct run_name *name, const struct run_status *status,
                           struct pollux_error *err)
{
    const struct service *service = self;
    const struct generation *generation = generation_find_run (&service->slurm.set, name);
    const struct carried_share *share =
        generation ? generation_share_of (generation, name->rank)->carried : NULL;
    (void)status;
    if (!share || slurm_share_is_gone (&service->slurm, share))
        return 0;
    return fail (err, -EAGAIN, "its Slurm job is being cancelled");
}

/* The journal says that it has to stop. */
static void service_mark_stop (void *self, const struct generation *generation)
{
    (void)self;
    (void)generation;
}

/* Remember the first failure.  The next submission removes old generations of the job. */
static void service_clean_up (void *self, const struct cluster *cluster,
                              const struct generation *generation)
{
    struct service *service = self;
    (void)cluster;
    service_forget_reads (service, generation->name, generation->number);
    if (++service->old.exits % OLD_JOBS_EXITS == 0)
        service_begin_removal (service);
    for (int i = 0; i < generation->replicas; i++) {
        const struct run_status *status = &generation->exits[i].status;
        if (status->stopped || run_status_code (status) == 0)
            continue;
        struct service_failure *failure =
            &service->failures[service->failure_count++ %
                               (int)(sizeof (service->failures) / sizeof (service->failures[0]))];
        *failure = (struct service_failure){
            .generation = generation->number, .rank = i, .code = run_status_code (status)};
        memcpy (failure->job, generation->name, NAME_SIZE);
        return;
    }
}

static void service_remove (void *self, const char *job, int number)
{
    (void)self;
    (void)job;
    (void)number;
}

const struct slurm_way service_way = {
    .many_owners = true,
    .submit = service_submit_share,
    .signal = service_signal,
    .cancel = service_cancel,
    .query = service_query,
    .owns = service_owns,
    .listed = service_listed,
    .node_failed = service_node_failed,
    .left = service_left,
    .read = service_read_run,
    .refuse = service_refuse,
    .mark_stop = service_mark_stop,
    .clean_up = service_clean_up,
    .remove = service_remove,
    .spec = service_spec,
};
