/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of owners: how runs ended, and their logs.  polluxd has no rights there; the root process reads
 * them as the owner.  Nothing waits: what is not there yet is -EAGAIN, and asked again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "backend/old_jobs.h"
#include "backend/slurm/service_private.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "wire/submission.h"

#define SECOND_US INT64_C (1000000)
/* How long an answer is kept, and how long no other one is asked for if there were no bytes: `logs -f` starts a process
 * about once per second. */
#define LOG_US (2 * SECOND_US)
#define EMPTY_US SECOND_US
/* How long the files of a run are asked for: if requests fail, and if they get no answer.  The root process gives a
 * request 30 s; a process that waits in the kernel cannot be killed, and the owner's other requests wait for it. */
#define FAILING_US (120 * SECOND_US)
#define SILENT_US (600 * SECOND_US)
enum { FAILURES = 3 };
/* Limits of logs that are being read: in total, and per owner, so that one owner cannot use all of them. */
enum { LOGS_LIMIT = 256, LOGS_OF_ONE = 64 };

static bool same_run (const struct run_name *a, const struct run_name *b)
{
    return a->rank == b->rank && a->generation == b->generation && strcmp (a->job, b->job) == 0;
}

static struct owner_request request_for (const struct service *service,
                                         enum owner_request_kind kind, const struct run_name *name,
                                         const char *file)
{
    struct owner_request request = {
        .kind = kind, .generation = name->generation, .rank = name->rank};
    memcpy (request.job, name->job, sizeof (request.job));
    snprintf (request.owner, sizeof (request.owner), "%s", service_owner_of (service, name->job));
    snprintf (request.file, sizeof (request.file), "%s", file);
    return request;
}

static int ask (struct service *service, enum owner_request_kind kind, const struct run_name *name,
                const char *file, uint64_t *ret, struct pollux_error *err)
{
    static struct owner_request request;
    request = request_for (service, kind, name, file);
    return owner_client_send (service->client, &request, NULL, 0, ret, err);
}

/* ---- Runs --------------------------------------------------------------------------------- */

static struct service_read *find_read (struct service *service, const struct run_name *name)
{
    for (int i = 0; i < service->read_count; i++)
        if (same_run (&service->reads[i]->name, name))
            return service->reads[i];
    void *list =
        realloc (service->reads, ((size_t)service->read_count + 1) * sizeof (service->reads[0]));
    struct service_read *read = calloc (1, sizeof (*read));
    if (list)
        service->reads = list;
    if (!list || !read) {
        free (read);
        return NULL;
    }
    read->name = *name;
    service->reads[service->read_count++] = read;
    return read;
}

static bool is_unreadable (const struct service_read *read, int64_t now_us)
{
    return now_us >= read->asked_us + SILENT_US ||
           (now_us >= read->asked_us + FAILING_US && read->failures >= FAILURES);
}

int service_read (struct service *service, const struct run_name *name, int64_t newer_us,
                  struct run_view *ret)
{
    struct service_read *read = find_read (service, name);
    int64_t now_us = clock_monotonic_us ();
    if (!read)
        return -ENOMEM;
    if (read->request == 0 && read->at_us >= newer_us && read->at_us > 0) {
        ret->state = read->state;
        ret->has_status = read->has_status;
        ret->has_replica = read->state != RUN_NONE;
        ret->status = read->status;
        return 0;
    }
    if (read->asked_us < newer_us || read->asked_us == 0) {
        read->asked_us = now_us;
        read->failures = 0;
    }
    if (is_unreadable (read, now_us)) {
        *ret = (struct run_view){.state = RUN_BEGUN, .has_replica = true};
        return fail (&ret->why, 0, "it is not known how it ended: its files cannot be read");
    }
    if (read->request != 0)
        return -EAGAIN;
    read->info = false;
    read->sent_us = now_us;
    int code = ask (service, OWNER_READ, name, "status", &read->request, NULL);
    return code < 0 && code != -EAGAIN ? code : -EAGAIN;
}

static void look_again (struct service *service, const struct run_name *name)
{
    struct generation *generation = generation_find_run (&service->slurm.set, name);
    if (generation)
        generation->due_us = 0;
}

/* The status; without one, whether there is a run directory.  A failure that passes, as of a file system that does not
 * answer, says neither: the next look asks again. */
static void take_read (struct service *service, struct service_read *read,
                       const struct owner_answer *answer)
{
    read->request = 0;
    if (!read->info && answer->code == 0 &&
        run_status_decode ("status", answer->output, strlen (answer->output), &read->status,
                           NULL) == 0) {
        read->state = RUN_ENDED;
        read->has_status = true;
    } else if (answer->code < 0 && !run_is_damage (answer->code)) {
        read->failures++;
        return;
    } else if (read->info) {
        read->state = answer->code == -ENOENT ? RUN_NONE : RUN_BEGUN;
        read->has_status = false;
    } else {
        read->info = true;
        if (ask (service, OWNER_READ, &read->name, "info", &read->request, NULL) == 0)
            return;
        read->request = 0;
        return;
    }
    read->at_us = read->sent_us;
    look_again (service, &read->name);
}

bool service_read_answer (struct service *service, const struct owner_answer *answer)
{
    for (int i = 0; i < service->read_count; i++)
        if (service->reads[i]->request == answer->number) {
            take_read (service, service->reads[i], answer);
            return true;
        }
    return false;
}

void service_forget_reads (struct service *service, const char *job, int generation)
{
    for (int i = service->read_count - 1; i >= 0; i--) {
        struct service_read *read = service->reads[i];
        if (read->name.generation != generation || strcmp (read->name.job, job) != 0)
            continue;
        free (read); /* a later answer has no entry here and is ignored */
        service->reads[i] = service->reads[--service->read_count];
    }
}

/* ---- Logs --------------------------------------------------------------------------------- */

static void drop_log (struct service *service, int index)
{
    if (service->logs[index]->file >= 0)
        close (service->logs[index]->file);
    free (service->logs[index]);
    service->logs[index] = service->logs[--service->log_count];
}

static void drop_old_logs (struct service *service)
{
    int64_t now_us = clock_monotonic_us ();
    for (int i = service->log_count - 1; i >= 0; i--) {
        const struct service_log *log = service->logs[i];
        bool empty = log->code == 0 && log->file < 0;
        if (log->request == 0 && now_us > log->at_us + (empty ? EMPTY_US : LOG_US))
            drop_log (service, i);
    }
}

/* The number of logs of jobs of the same owner. */
static int count_logs (const struct service *service, const char *job)
{
    const char *owner = service_owner_of (service, job);
    int count = 0;
    for (int i = 0; i < service->log_count; i++)
        count += strcmp (service_owner_of (service, service->logs[i]->name.job), owner) == 0;
    return count;
}

static struct service_log *find_log (const struct service *service, const struct service_log *key)
{
    for (int i = 0; i < service->log_count; i++) {
        struct service_log *log = service->logs[i];
        if (same_run (&log->name, &key->name) && log->lines == key->lines &&
            log->from.device == key->from.device && log->from.inode == key->from.inode &&
            log->from.born_ns == key->from.born_ns && log->from.offset == key->from.offset)
            return log;
    }
    return NULL;
}

/* Ask for a piece; -EAGAIN: it will come. */
static int ask_log (struct service *service, const struct service_log *key,
                    struct pollux_error *err)
{
    static struct owner_request request;
    const struct run_name *name = &key->name;
    if (service->log_count >= LOGS_LIMIT || count_logs (service, name->job) >= LOGS_OF_ONE)
        return fail (err, -EAGAIN, "too many logs are being read");
    void *list =
        realloc (service->logs, ((size_t)service->log_count + 1) * sizeof (service->logs[0]));
    if (list)
        service->logs = list;
    struct service_log *log = list ? calloc (1, sizeof (*log)) : NULL;
    if (!log)
        return fail (err, -ENOMEM, "not enough memory");
    *log = *key;
    request = request_for (service, OWNER_LOG, name, name->rank < 0 ? OWNER_OLDEST : "out.log");
    request.lines = key->lines;
    request.from = key->from;
    int code = owner_client_send (service->client, &request, NULL, 0, &log->request, err);
    if (code < 0) {
        free (log);
        return code;
    }
    service->logs[service->log_count++] = log;
    return fail (err, -EAGAIN, "the log is being read");
}

/* Hand a piece out.  Its bytes are given once: a later request reads what has been written since. */
static int give_log (struct service *service, struct service_log *log, struct log_piece *ret,
                     struct pollux_error *err)
{
    struct owner_piece piece;
    struct stat stat;
    if (pread (log->file, &piece, sizeof (piece), 0) != (ssize_t)sizeof (piece) ||
        fstat (log->file, &stat) < 0) /* both in memory */
        return fail (err, -EIO, "the piece of the log is damaged");
    *ret = (struct log_piece){
        .file = log->file, .offset = sizeof (piece), .next = piece.next, .end = piece.end != 0};
    log->file = -1;
    if (stat.st_size == (off_t)sizeof (piece))
        return 0; /* the entry stays, and delays the next request */
    int at = 0;
    while (service->logs[at] != log)
        at++;
    drop_log (service, at);
    return 0;
}

int service_read_log (void *self, const char *job, int generation, int rank, int64_t lines,
                      const struct log_position *from, struct log_piece *ret,
                      struct pollux_error *err)
{
    struct service *service = self;
    struct service_log key = {.name = {.generation = generation, .rank = rank},
                              .lines = from->inode == 0 ? lines : 0,
                              .from = *from,
                              .file = -1};
    if (!wire_is_job (job) || !owner_name_is_valid (service_owner_of (service, job)))
        return fail (err, -ENOENT, "there are no logs of job %.63s", job);
    snprintf (key.name.job, sizeof (key.name.job), "%s", job);
    drop_old_logs (service);
    struct service_log *log = find_log (service, &key);
    if (!log)
        return ask_log (service, &key, err);
    if (log->request != 0)
        return fail (err, -EAGAIN, "the log is being read");
    if (from->inode != 0 && owner_code_is_transient (log->code))
        return fail (err, -EAGAIN, "%s", log->why.text); /* a reader goes on where it was */
    if (log->code < 0)
        return fail (err, log->code, "%s", log->why.text);
    return log->file < 0 ? fail (err, -EAGAIN, "the log was read a moment ago")
                         : give_log (service, log, ret, err);
}

/* From what the owner's process wrote when it made the last generation.  A generation of an older
 * version has no such file: these versions kept three.  The answer is used until it is old. */
int service_oldest_log (void *self, const char *job, int last, int *ret)
{
    struct service *service = self;
    char text[16] = "";
    int64_t number;
    struct service_log key = {.name = {.generation = last, .rank = -1}, .lines = -1, .file = -1};
    *ret = last > 2 ? last - 2 : 1;
    if (!wire_is_job (job) || !owner_name_is_valid (service_owner_of (service, job)))
        return 0;
    snprintf (key.name.job, sizeof (key.name.job), "%s", job);
    drop_old_logs (service);
    const struct service_log *log = find_log (service, &key);
    if (!log)
        return ask_log (service, &key, NULL);
    if (log->request != 0)
        return -EAGAIN;
    if (log->code < 0)
        return log->code == -ENOENT ? 0 : log->code;
    ssize_t length = pread (log->file, text, sizeof (text) - 1, sizeof (struct owner_piece));
    text[length > 0 ? length : 0] = '\0';
    text[strcspn (text, "\n")] = '\0';
    if (number_int64 (text, &number) == 0 && number >= 1 && number <= last)
        *ret = (int)number;
    return 0;
}

bool service_log_answer (struct service *service, const struct owner_answer *answer, int file)
{
    for (int i = 0; i < service->log_count; i++) {
        struct service_log *log = service->logs[i];
        if (log->request != answer->number)
            continue;
        log->request = 0;
        log->code = answer->code == 0 && file < 0 ? -EIO : answer->code;
        fail (&log->why, 0, "%s", answer->code < 0 ? answer->text : "the log was not handed over");
        log->file = file;
        log->at_us = clock_monotonic_us ();
        return true;
    }
    if (file >= 0)
        close (file);
    return false;
}

/* ---- Old jobs ----------------------------------------------------------------------------- */

/* A byte per job: what became of its removal. */
enum removal { REMOVAL_DUE, REMOVAL_FAILED, REMOVAL_DONE };

static bool grow_removals (struct service *service, int count)
{
    uint8_t *removals = realloc (service->old.removals, (size_t)count + 1);
    if (!removals)
        return false;
    service->old.removals = removals;
    for (; service->old.removal_count < count; service->old.removal_count++)
        removals[service->old.removal_count] = REMOVAL_DUE;
    return true;
}

/* A removal that failed is tried again. */
void service_begin_removal (struct service *service)
{
    const struct cluster *cluster = service->slurm.cluster;
    if (service->old.next < service->old.end || service->old.request != 0)
        return; /* the last one is not done */
    service->old.before_us = old_jobs_before_us (cluster, service->old.keep);
    service->old.next = service->old.end = 0;
    service->old.silent_count = 0;
    if (service->old.before_us > INT64_MIN && grow_removals (service, cluster->job_count))
        service->old.end = cluster->job_count;
}

/* Did the files of another job of this owner not answer? */
static bool is_silent (const struct service *service, const char *owner)
{
    for (int i = 0; i < service->old.silent_count; i++)
        if (strcmp (service->slurm.cluster->jobs[service->old.silent[i]]->launch->owner, owner) ==
            0)
            return true;
    return false;
}

static bool is_due (const struct service *service, int index)
{
    const struct job *job = service->slurm.cluster->jobs[index];
    return service->old.removals[index] != REMOVAL_DONE &&
           job_is_old (job, service->old.before_us) && job->generation > 0 && job->launch &&
           owner_name_is_valid (job->launch->owner) && !is_silent (service, job->launch->owner);
}

/* One at a time: other requests of the owner do not wait for many of these. */
void service_remove_next (struct service *service)
{
    while (service->old.request == 0 && service->old.next < service->old.end) {
        const struct job *job = service->slurm.cluster->jobs[service->old.next];
        struct run_name name = {.generation = job->generation};
        memcpy (name.job, job->spec.name, sizeof (name.job));
        if (is_due (service, service->old.next) &&
            ask (service, OWNER_REMOVE, &name, "", &service->old.request, NULL) == -EAGAIN)
            return; /* too many requests wait */
        service->old.next++;
    }
}

/* The owner's file system does not answer, which took half a minute: the owner's other jobs are left for the next
 * round, so that jobs of other owners do not wait for each of them. */
static void skip_owner (struct service *service, int job)
{
    int *silent = array_grow (service->old.silent, service->old.silent_count,
                              &service->old.silent_capacity, sizeof (silent[0]));
    if (!silent)
        return;
    service->old.silent = silent;
    silent[service->old.silent_count++] = job;
}

bool service_removal_answer (struct service *service, const struct owner_answer *answer)
{
    int index = service->old.next - 1; /* the job that was asked for */
    if (service->old.request == 0 || answer->number != service->old.request)
        return false;
    const struct job *job = service->slurm.cluster->jobs[index];
    bool removed = answer->code == 0 || answer->code == -ENOENT;
    if (!removed && service->old.removals[index] == REMOVAL_DUE) /* it is said once */
        slurm_log (&service->slurm, LOG_WARNING,
                   "job %s of %s: its old logs are not removed: %s; tried again later",
                   job->spec.name, job->launch->owner, answer->text);
    service->old.removals[index] = removed ? REMOVAL_DONE : REMOVAL_FAILED;
    if (answer->code == -ETIMEDOUT)
        skip_owner (service, index);
    service->old.request = 0;
    service_remove_next (service);
    return true;
}

void service_files_clear (struct service *service)
{
    while (service->log_count > 0)
        drop_log (service, 0);
    for (int i = 0; i < service->read_count; i++)
        free (service->reads[i]);
    free (service->logs);
    free (service->reads);
    free (service->old.removals);
    free (service->old.silent);
}
