/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners: their accounts, and what is asked of the root process for them.  Requests that are under way
 * are kept by their number; each gets one answer.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "backend/slurm/service_private.h"
#include "base/clock.h"
#include "base/error.h"

#define SECOND_US INT64_C (1000000)
/* The times between lookups.  An account that was refused may be made later; one that exists rarely changes. */
#define REFUSED_US (60 * SECOND_US)
#define KNOWN_US (600 * SECOND_US)
#define SILENT_US (10 * SECOND_US)
/* How long a known account is used after the answer that there is no such user: NSS with `sss files` says so of all
 * users of a directory while sssd restarts.  The time is that of munge/user_names.h. */
#define GONE_US (300 * SECOND_US)

/* Room for one more item of `size` bytes; NULL: no memory, and the list is as it was. */
static void *grow (void *list, int count, size_t size)
{
    return realloc (list, ((size_t)count + 1) * size);
}

/* ---- Accounts ----------------------------------------------------------------------------- */

const char *service_owner_of (const struct service *service, const char *job)
{
    int index = service->slurm.cluster ? cluster_find_job (service->slurm.cluster, job) : -1;
    const struct job *found = index >= 0 ? service->slurm.cluster->jobs[index] : NULL;
    return found && found->launch ? found->launch->owner : "";
}

static struct service_account *find_account (struct service *service, const char *owner)
{
    for (int i = 0; i < service->account_count; i++)
        if (strcmp (service->accounts[i]->name, owner) == 0)
            return service->accounts[i];
    struct service_account *account = calloc (1, sizeof (*account));
    void *list = grow (service->accounts, service->account_count, sizeof (service->accounts[0]));
    if (list)
        service->accounts = list;
    if (!list || !account) {
        free (account);
        return NULL;
    }
    snprintf (account->name, sizeof (account->name), "%s", owner);
    service->accounts[service->account_count++] = account;
    return account;
}

static int look_up (struct service *service, struct service_account *account,
                    struct pollux_error *err)
{
    static struct owner_request request;
    request = (struct owner_request){.kind = OWNER_LOOKUP};
    memcpy (request.owner, account->name, sizeof (request.owner));
    return owner_client_send (service->client, &request, NULL, 0, &account->request, err);
}

int service_account (struct service *service, const char *owner, const struct service_account **ret,
                     struct pollux_error *err)
{
    if (!owner_name_is_valid (owner))
        return fail (err, -EINVAL, "job owner '%.63s' cannot be a user of this system", owner);
    struct service_account *account = find_account (service, owner);
    if (!account)
        return fail (err, -ENOMEM, "not enough memory");
    if (clock_monotonic_us () >= account->due_us && account->request == 0) {
        int code = look_up (service, account, err);
        if (code < 0)
            return code;
    }
    if (!account->answered)
        return fail (err, -EAGAIN, "owner %s is being looked up", owner);
    if (account->code < 0)
        return fail (err, account->code, "%s", account->why.text);
    *ret = account;
    return 0;
}

void service_retry_accounts (struct service *service)
{
    int64_t now_us = clock_monotonic_us ();
    for (int i = 0; i < service->account_count; i++) {
        struct service_account *account = service->accounts[i];
        bool unknown = !account->answered || owner_code_is_transient (account->code);
        if (unknown && account->request == 0 && now_us >= account->due_us)
            look_up (service, account, NULL);
    }
}

static void clear_account (struct service_account *account)
{
    run_spec_free (account->environment);
    free (account->checkpoints);
    account->environment = NULL;
    account->checkpoints = NULL;
}

/* PATH and the like of the owner's replicas. */
static int set_environment (struct service_account *account)
{
    const struct owner_account *known = &account->account;
    char **list = calloc (7, sizeof (list[0]));
    int code = list ? 0 : -1;
    if (list &&
        (asprintf (&list[0], "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") <
             0 ||
         asprintf (&list[1], "LANG=C.UTF-8") < 0 ||
         asprintf (&list[2], "HOME=%s", known->home) < 0 ||
         asprintf (&list[3], "USER=%s", account->name) < 0 ||
         asprintf (&list[4], "LOGNAME=%s", account->name) < 0 ||
         asprintf (&list[5], "SHELL=%s", known->shell) < 0))
        code = -1;
    if (asprintf (&account->checkpoints, "%s/checkpoints", known->directory) < 0) {
        account->checkpoints = NULL;
        code = -1;
    }
    account->environment = list;
    return code;
}

/* Is an account that was found before used further, after this answer? */
static bool is_kept (struct service_account *account, int code, int64_t now_us)
{
    if (!account->environment || account->code < 0)
        return false;
    if (code != OWNER_NO_ACCOUNT)
        return owner_code_is_transient (code) || code == OWNER_COMMAND_FAILED; /* no answer */
    account->gone_us = account->gone_us > 0 ? account->gone_us : now_us;
    return now_us < account->gone_us + GONE_US;
}

static void account_answer (struct service *service, struct service_account *account,
                            const struct owner_answer *answer)
{
    int64_t now_us = clock_monotonic_us ();
    bool kept = is_kept (account, answer->code, now_us);
    bool silent = kept || owner_code_is_transient (answer->code);
    account->request = 0;
    account->answered = true;
    account->due_us = now_us + (silent ? SILENT_US : answer->code < 0 ? REFUSED_US : KNOWN_US);
    service->slurm.set.wants_settle = true; /* starts may have waited for this */
    if (kept)
        return;
    account->gone_us = 0;
    account->code = answer->code;
    fail (&account->why, 0, "%s", answer->text);
    if (account->code < 0)
        return;
    clear_account (account);
    if (owner_account_decode (answer->output, &account->account) < 0 ||
        set_environment (account) < 0)
        account->code =
            fail (&account->why, -EPERM, "owner %s: the account cannot be used", account->name);
}

/* ---- Shares ------------------------------------------------------------------------------- */

int service_submit (struct service *service, const char *owner, struct carried_share *share,
                    struct owner_request *request, const struct owner_file *files, int count,
                    struct pollux_error *err)
{
    uint64_t number;
    void *list = grow (service->submits, service->submit_count, sizeof (service->submits[0]));
    if (!list)
        return fail (err, -ENOMEM, "not enough memory");
    service->submits = list;
    snprintf (request->owner, sizeof (request->owner), "%s", owner);
    int code = owner_client_send (service->client, request, files, count, &number, err);
    if (code < 0)
        return code;
    service->submits[service->submit_count++] =
        (struct service_submit){.number = number, .share = share};
    share->command = number | SERVICE_COMMAND;
    return 0;
}

/* The child of a submission found no such user.  Is the account used nevertheless?  The next lookup is made at once. */
static bool is_known (struct service *service, const struct carried_share *share)
{
    const char *owner =
        share->generation ? service_owner_of (service, share->generation->name) : "";
    struct service_account *account = *owner ? find_account (service, owner) : NULL;
    const struct service_account *known;
    if (!account)
        return false;
    account->due_us = 0;
    return service_account (service, owner, &known, NULL) == 0;
}

/* True if the failure does not count as the job's: Slurm, the owner's file server or the name service did not answer, or
 * memory or sbatch was missing, as during an upgrade of Slurm.  The owner controls what sbatch prints, so after some of
 * these failures the job waits longer each time, and they never delay other jobs. */
static bool is_excused (struct service *service, const struct carried_share *share, int code)
{
    return code == OWNER_UNREACHABLE || code == -ENOEXEC || owner_code_is_transient (code) ||
           (code == OWNER_NO_ACCOUNT && is_known (service, share)) ||
           service->slurm.poll_failures > 0;
}

static void submit_answer (struct service *service, struct carried_share *share,
                           const struct owner_answer *answer)
{
    struct command_result result = {.error = "", .output = "", .exit_code = -1};
    struct pollux_error err = {.text = ""};
    int64_t id;
    share->command = 0;
    if (answer->code == 0 &&
        slurm_submitted_parse (answer->output, strlen (answer->output), &id, &err) == 0) {
        share->id = id;
        share->id_us = clock_monotonic_us ();
        slurm_poll_soon (&service->slurm); /* it is listed from now on */
        return;
    }
    if (answer->code == -ETIMEDOUT || answer->code == -EINTR || answer->code == 0) {
        /* Slurm may have taken it: the next list tells. */
        snprintf (share->why, sizeof (share->why), "sbatch did not answer: %.200s",
                  answer->code == 0 ? err.text : answer->text);
        share->unanswered = true;
        slurm_poll_soon (&service->slurm);
        return;
    }
    result.code = answer->code;
    result.exit_code = 1;
    share->no_process = answer->code == OWNER_NO_PROCESS;
    share->limited = answer->code == OWNER_NOT_NOW;
    share->excused =
        share->limited || (!share->no_process && is_excused (service, share, answer->code));
    share->refused = !share->no_process && !share->excused;
    slurm_share_ended (&service->slurm, share, &result);
    snprintf (share->why, sizeof (share->why), "%s%.200s",
              share->limited || answer->code == OWNER_COMMAND_FAILED ? "Slurm did not take it: "
                                                                     : "",
              answer->text);
}

int service_stop (struct service *service, const char *owner, int64_t id, int signal)
{
    static struct owner_request request;
    struct pollux_error err = {.text = ""};
    uint64_t number;
    for (int i = 0; i < service->stop_count; i++)
        if (service->stops[i].id == id) /* the last request for it is not answered yet */
            return signal == 0 && service->stops[i].signal != 0 ? -EAGAIN : 0;
    void *list = grow (service->stops, service->stop_count, sizeof (service->stops[0]));
    if (!list || id <= 0 || id > UINT32_MAX || !owner_name_is_valid (owner))
        return -EINVAL;
    service->stops = list;
    request = (struct owner_request){
        .kind = signal ? OWNER_SIGNAL : OWNER_CANCEL, .slurm_job = (uint32_t)id, .signal = signal};
    snprintf (request.owner, sizeof (request.owner), "%s", owner);
    int code = owner_client_send (service->client, &request, NULL, 0, &number, &err);
    if (code == 0)
        service->stops[service->stop_count++] =
            (struct service_stop){.number = number, .id = id, .signal = signal};
    return code;
}

/* The answer to a cancel.  A hidden Slurm job is cancelled again after the next list, unless it has ended or its owner
 * has no account any more. */
static void cancel_answer (struct service *service, int64_t id, const struct owner_answer *answer)
{
    if (answer->code < 0 && answer->code != -EPERM && answer->code != OWNER_NO_ACCOUNT &&
        !slurm_unknown_job (answer->text))
        return;
    for (int i = 0; i < service->slurm.count; i++) {
        struct carried_share *share = service->slurm.shares[i];
        if (share->hidden && share->id == id)
            share->command = 0;
    }
}

/* A job that has just ended cannot be signalled; the next list tells. */
static void stop_answer (struct service *service, const struct service_stop *stop,
                         const struct owner_answer *answer)
{
    if (stop->signal == 0)
        cancel_answer (service, stop->id, answer);
    if (answer->code < 0)
        slurm_log (&service->slurm, LOG_DEBUG, "Slurm job %lld was not signalled: %s",
                   (long long)stop->id, answer->text);
    slurm_poll_soon (&service->slurm);
}

/* ---- Answers ------------------------------------------------------------------------------ */

static void take_answer (struct service *service, const struct owner_answer *answer, int file)
{
    for (int i = 0; i < service->account_count; i++)
        if (service->accounts[i]->request == answer->number) {
            account_answer (service, service->accounts[i], answer);
            return;
        }
    for (int i = 0; i < service->submit_count; i++)
        if (service->submits[i].number == answer->number) {
            struct carried_share *share = service->submits[i].share;
            service->submits[i] = service->submits[--service->submit_count];
            submit_answer (service, share, answer);
            return;
        }
    for (int i = 0; i < service->stop_count; i++)
        if (service->stops[i].number == answer->number) {
            struct service_stop stop = service->stops[i];
            service->stops[i] = service->stops[--service->stop_count];
            stop_answer (service, &stop, answer);
            return;
        }
    if (!service_removal_answer (service, answer) && !service_read_answer (service, answer))
        service_log_answer (service, answer, file);
}

void service_take_answers (struct service *service)
{
    static struct owner_answer answer;
    int file, code;
    if (service->client_ended)
        return;
    while ((code = owner_client_next (service->client, &answer, &file)) == 1)
        take_answer (service, &answer, file);
    if (code < 0) {
        service->client_ended = true;
        service->slurm.set.wants_settle = true; /* service_act fails then */
        slurm_log (&service->slurm, LOG_ERR,
                   "the root process, which acts for owners, has ended: polluxd ends, too");
    }
}

void service_owners_clear (struct service *service)
{
    owner_client_free (service->client);
    for (int i = 0; i < service->account_count; i++) {
        clear_account (service->accounts[i]);
        free (service->accounts[i]);
    }
    free (service->accounts);
    free (service->submits);
    free (service->stops);
}
