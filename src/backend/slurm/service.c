/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ops of the backend `slurm`: the generation set above Slurm jobs of several users.
 */
#define _GNU_SOURCE
#include "backend/slurm/service.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "backend/generation_ops.h"
#include "backend/old_jobs.h"
#include "backend/run_spec.h"
#include "backend/slurm/power_words.h"
#include "backend/slurm/service_private.h"
#include "base/error.h"
#include "base/file.h"
#include "base/safe_dir.h"

/* ---- Opening and freeing ------------------------------------------------------------------ */

/* STATE/slurm.id: 16 hexadecimal digits, made once.  Two daemons may have jobs of one name. */
static int read_id (struct service *service, const char *state, struct pollux_error *err)
{
    static const char file[] = "slurm.id";
    uint64_t random;
    char *text = NULL;
    size_t length;
    int directory;
    int code = safe_dir_open_root (state, &directory, err);
    if (code < 0)
        return code;
    code = safe_dir_read (directory, file, 64, &text, &length, err);
    if (code == 0 && (length < 16 || strspn (text, "0123456789abcdef") < 16))
        code = fail (err, -EBADMSG, "%s/%s: expected 16 hexadecimal digits", state, file);
    if (code == 0) {
        memcpy (service->id, text, 16);
    } else if (code == -ENOENT) {
        code = getrandom (&random, sizeof (random), 0) == sizeof (random)
                   ? 0
                   : fail (err, -EIO, "no random numbers");
        snprintf (service->id, sizeof (service->id), "%016llx", (unsigned long long)random);
        if (code == 0)
            code = safe_dir_replace (directory, file, service->id, 16, err);
    }
    free (text);
    close (directory);
    return code;
}

static int set_texts (struct service *service, const struct backend_options *options,
                      struct pollux_error *err)
{
    char program[PATH_MAX];
    if (!realpath (options->program, program))
        return fail (err, -errno, "%s: %s", file_name (options->program).text, strerror (errno));
    service->program = strdup (program);
    service->url = options->url ? strdup (options->url) : NULL;
    service->ca = options->ca ? strdup (options->ca) : NULL;
    if (!service->program || (options->url && !service->url) || (options->ca && !service->ca))
        return fail (err, -ENOMEM, "no memory for the backend slurm");
    return 0;
}

/* One descriptor for the daemon: commands, and answers of the root process. */
static int watch (struct service *service, struct pollux_error *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    int files[] = {command_set_descriptor (service->slurm.commands),
                   owner_client_fd (service->client)};
    service->epoll = epoll_create1 (EPOLL_CLOEXEC);
    if (service->epoll < 0)
        return fail (err, -errno, "epoll: %s", strerror (errno));
    for (int i = 0; i < 2; i++)
        if (epoll_ctl (service->epoll, EPOLL_CTL_ADD, files[i], &event) < 0)
            return fail (err, -errno, "epoll: %s", strerror (errno));
    return 0;
}

static void service_free (void *self)
{
    struct service *service = self;
    if (!service)
        return;
    slurm_clear (&service->slurm);
    service_owners_clear (service);
    service_files_clear (service);
    service_nodes_clear (service);
    free (service->program);
    free (service->url);
    free (service->ca);
    explicit_bzero (service->token_text, sizeof (service->token_text));
    if (service->epoll >= 0)
        close (service->epoll);
    free (service);
}

/* The account of a job's owner is looked up before its first start.  A start for an owner who is not served
 * fails: that is the job's own fault. */
static bool may_start (void *self, const struct job *job)
{
    const struct service_account *account;
    return !owner_code_is_transient (service_account (self, job->launch->owner, &account, NULL));
}

static int service_open (const struct backend_options *options, void **ret,
                         struct pollux_error *err)
{
    if (!options->slurm || options->owner_socket < 0)
        return fail (err, -EINVAL, "the backend slurm needs the process that acts for owners");
    struct service *service = calloc (1, sizeof (*service));
    if (!service)
        return fail (err, -ENOMEM, "no memory for the backend slurm");
    service->epoll = -1;
    service->config = *options->slurm;
    service->munge = options->munge;
    service->token = options->token;
    service->old.keep = options->keep_jobs ? options->keep_jobs : OLD_JOBS_KEEP;
    service->old.before_us = INT64_MIN;
    service->self = options->self;
    int code = owner_client_new (options->owner_socket, &service->client, err);
    if (code == 0)
        code = slurm_init (&service->slurm, &service_way, service, options, err);
    service->slurm.set.may_start = may_start;
    service->slurm.set.may_start_self = service;
    if (code == 0)
        code = set_texts (service, options, err);
    if (code == 0)
        code = read_id (service, options->state, err);
    if (code == 0)
        code = watch (service, err);
    if (code < 0)
        service_free (service);
    else
        *ret = service;
    return code;
}

static int service_recover (void *self, const struct cluster *cluster, struct pollux_error *err)
{
    struct service *service = self;
    const struct service_account *account;
    service->slurm.cluster = cluster;
    int code = slurm_recover (&service->slurm, cluster, -1, err);
    struct generation_set *set = &service->slurm.set;
    for (int i = 0; code == 0 && i < set->count; i++) {
        set->items[i]->started = true; /* STARTED may be in the journal already */
        service_account (service, service_owner_of (service, set->items[i]->name), &account, NULL);
    }
    if (code == 0)
        service_begin_removal (service);
    return code;
}

static int service_check (void *self, const struct launch *launch, struct pollux_error *err)
{
    struct service *service = self;
    const struct service_account *account;
    if (strcmp (launch->owner, "root") == 0)
        return fail (err, -EPERM, "jobs of root are not run: submit as an ordinary user");
    int code = service_account (service, launch->owner, &account, err);
    return owner_code_is_transient (code) ? 0 : code; /* a start waits for it */
}

/* ---- Steps and events --------------------------------------------------------------------- */

static int service_fd (const void *self)
{
    return ((const struct service *)self)->epoll;
}

static void service_step (void *self, const struct cluster *cluster)
{
    struct service *service = self;
    service->slurm.cluster = cluster;
    service_take_answers (service);
    service_retry_accounts (service);
    service_query_nodes (service);
    service_remove_next (service);
    slurm_step (&service->slurm, cluster);
}

static int service_next_event (void *self, const struct cluster *cluster, struct event *ret)
{
    struct service *service = self;
    int code = generation_set_next_event (&service->slurm.set, cluster, ret);
    return code != 0 ? code : service_next_node (service, cluster, ret);
}

static int service_act (void *self, const struct cluster *cluster, struct pollux_error *err)
{
    struct service *service = self;
    if (service->client_ended)
        return fail (err, -EPIPE,
                     "the root process, which acts for owners, has ended; restart polluxd: jobs go "
                     "on meanwhile");
    service->slurm.cluster = cluster;
    generation_set_act (&service->slurm.set, cluster);
    return 0;
}

static char *service_checkpoint_dir (void *self, const struct job *job)
{
    const struct service_account *account = NULL;
    bool known = job->launch && service_account (self, job->launch->owner, &account, NULL) == 0;
    return run_spec_checkpoint_dir (known ? account->checkpoints : NULL, job);
}

static int service_first_failure (void *self, const char *job, int generation, int *ret_rank)
{
    const struct service *service = self;
    int limit = (int)(sizeof (service->failures) / sizeof (service->failures[0]));
    *ret_rank = 0;
    for (int i = 0; i < service->failure_count && i < limit; i++) {
        const struct service_failure *failure = &service->failures[i];
        if (failure->generation == generation && strcmp (failure->job, job) == 0) {
            *ret_rank = failure->rank;
            return failure->code;
        }
    }
    return 0;
}

/* For generation_ops.h. */
_Static_assert(offsetof (struct service, slurm.set) == 0, "the set is the first member");

const struct backend_ops slurm_backend = {
    .name = "slurm",
    .summary = "jobs of Slurm, for several users",
    .for_owners = true,
    .groups = true,
    .power_words = slurm_power_words,
    .open = service_open,
    .free = service_free,
    .recover = service_recover,
    .check = service_check,
    .fd = service_fd,
    SLURM_OPS,
    GENERATION_OPS,
    .step = service_step,
    .next_event = service_next_event,
    .act = service_act,
    .read_log = service_read_log,
    .oldest_log = service_oldest_log,
    .checkpoint_dir = service_checkpoint_dir,
    .first_failure = service_first_failure,
};
