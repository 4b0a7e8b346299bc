/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two lists under one lock: tasks for the thread, in which sources take turns, and answers for the caller.  An eventfd
 * tells the caller about answers, a condition variable tells the thread about tasks.
 *
 * The user's name is looked up by the thread, too (user_names.h): a directory service can be as slow as munged.
 */
#include "munge/worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "munge/used_claims.h"
#include "munge/user_names.h"

struct task {
    struct task *next;
    uint64_t ticket;
    char source[MUNGE_SOURCE_SIZE];
    uint64_t turn;    /* the list is in the order of turns; a source has one task in each */
    char *credential; /* NULL: sign */
    uid_t reader;
    char *method, *target, *body;
    size_t length;
    struct munge_answer *answer; /* allocated with the task, so that giving it cannot fail */
};

struct munge_worker {
    struct munge *munge;
    int fd;
    uint64_t tickets; /* of munge_worker_sign_now */
    bool started;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the rest of this block */
    pthread_cond_t wake;
    bool ending;
    bool busy;        /* the thread is in a call of munged */
    int64_t begin_us; /* since when */
    struct task *tasks;
    struct munge_answer *answers, **answers_end;
    int waiting;   /* tasks in the list */
    uint64_t turn; /* of the task that was taken last */
    /* of the thread: */
    struct used_claims *used;
    struct user_names *names;
};

/* ---- The thread ------------------------------------------------------------------------------- */

static void task_free (struct task *task)
{
    free (task->credential);
    free (task->method);
    free (task->target);
    free (task->body);
    munge_answer_free (task->answer);
    free (task);
}

/* *ret_silent: munged does not answer. */
static int decode (struct munge_worker *worker, const struct task *task,
                   struct munge_answer *answer, bool *ret_silent)
{
    struct pollux_error *err = &answer->err;
    int code =
        munge_decode_claim (worker->munge, task->credential, &answer->uid, &answer->claim, err);
    int64_t now_s = clock_monotonic_us () / 1000000;
    *ret_silent = code == -EAGAIN;
    if (code == 0 && used_claims_seen (worker->used, answer->uid, &answer->claim, now_s))
        code = fail (err, -EACCES,
                     "the munge credential was used before: each request needs a new one");
    if (code == 0)
        code =
            user_names_find (worker->names, answer->uid, now_s + 1 /* not 0 */, answer->name, err);
    return code;
}

/* True: munged does not answer, which holds for all tasks.  Other failures are of this one: a name service may fail
 * for one user only. */
static bool run_task (struct munge_worker *worker, const struct task *task)
{
    struct munge_answer *answer = task->answer;
    bool silent;
    if (task->credential != NULL) {
        answer->code = decode (worker, task, answer, &silent);
    } else {
        answer->code = munge_sign (worker->munge, task->reader, task->method, task->target,
                                   task->body, task->length, &answer->header, &answer->err);
        silent = answer->code == -EAGAIN;
    }
    return silent;
}

/* Put the task's answer into the list, and free the task.  The lock is held. */
static void give (struct munge_worker *worker, struct task *task)
{
    struct munge_answer *answer = task->answer;
    answer->ticket = task->ticket;
    *worker->answers_end = answer;
    worker->answers_end = &answer->next;
    eventfd_write (worker->fd, 1);
    task->answer = NULL;
    task_free (task);
}

/* The first task.  The lock is held. */
static struct task *take (struct munge_worker *worker)
{
    struct task *task = worker->tasks;
    worker->tasks = task->next;
    worker->turn = task->turn;
    worker->waiting--;
    return task;
}

static void destroy (struct munge_worker *worker)
{
    while (worker->tasks != NULL)
        task_free (take (worker));
    for (struct munge_answer *next, *at = worker->answers; at != NULL; at = next) {
        next = at->next;
        munge_answer_free (at);
    }
    if (worker->fd >= 0)
        close (worker->fd);
    used_claims_free (worker->used);
    user_names_free (worker->names);
    munge_close (worker->munge);
    pthread_cond_destroy (&worker->wake);
    pthread_mutex_destroy (&worker->lock);
    free (worker);
}

static void *work (void *self)
{
    struct munge_worker *worker = self;
    pthread_mutex_lock (&worker->lock);
    for (;;) {
        while (worker->tasks == NULL && !worker->ending)
            pthread_cond_wait (&worker->wake, &worker->lock);
        if (worker->ending)
            break;
        struct task *task = take (worker);
        worker->busy = true;
        worker->begin_us = clock_monotonic_us ();
        pthread_mutex_unlock (&worker->lock);
        bool silent = run_task (worker, task);
        pthread_mutex_lock (&worker->lock);
        worker->busy = false;
        if (worker->ending) {
            /* munge_worker_free has not waited: its work is left to this thread. */
            pthread_mutex_unlock (&worker->lock);
            task_free (task);
            destroy (worker);
            return NULL;
        }
        int code = task->answer->code;
        struct pollux_error err = task->answer->err;
        give (worker, task);
        while (silent && worker->tasks != NULL) {
            task = take (worker);
            task->answer->code = code;
            task->answer->err = err;
            give (worker, task);
        }
    }
    pthread_mutex_unlock (&worker->lock);
    return NULL;
}

/* ---- The caller ------------------------------------------------------------------------------- */

int munge_worker_new (struct munge *munge, struct munge_worker **ret, struct pollux_error *err)
{
    struct munge_worker *worker = calloc (1, sizeof (*worker));
    if (worker == NULL) {
        munge_close (munge);
        return fail (err, -ENOMEM, "no memory for munge");
    }
    worker->munge = munge;
    worker->answers_end = &worker->answers;
    pthread_mutex_init (&worker->lock, NULL);
    pthread_cond_init (&worker->wake, NULL);
    worker->used = used_claims_new ();
    worker->names = user_names_new ();
    worker->fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->used == NULL || worker->names == NULL || worker->fd < 0) {
        int code = worker->used == NULL || worker->names == NULL ? -ENOMEM : -errno;
        munge_worker_free (worker);
        return fail (err, code, "cannot start munge: %s", strerror (-code));
    }
    *ret = worker;
    return 0;
}

void munge_worker_free (struct munge_worker *worker)
{
    if (worker == NULL)
        return;
    if (!worker->started ||
        thread_end (worker->thread, &worker->lock, &worker->wake, &worker->busy, &worker->ending))
        destroy (worker);
}

static int start (struct munge_worker *worker, struct pollux_error *err)
{
    if (worker->started)
        return 0;
    int code = thread_start (&worker->thread, work, worker);
    worker->started = code == 0;
    return code == 0 ? 0 : fail (err, -EAGAIN, "no thread for munge: %s", strerror (code));
}

/* Put a task into the list, behind all of the same turn: the turn after the last one of its source, or the present
 * one.  False: its source has its share.  The lock is held. */
static bool insert (struct munge_worker *worker, struct task *task)
{
    struct task **at = &worker->tasks;
    int share = 0;
    task->turn = worker->turn;
    for (const struct task *other = worker->tasks; other != NULL; other = other->next)
        if (strcmp (other->source, task->source) == 0) {
            task->turn = other->turn + 1;
            share++;
        }
    if (share >= MUNGE_SHARE_MAX)
        return false;
    while (*at != NULL && (*at)->turn <= task->turn)
        at = &(*at)->next;
    task->next = *at;
    *at = task;
    worker->waiting++;
    return true;
}

static struct task *new_task (uint64_t ticket)
{
    struct task *task = calloc (1, sizeof (*task));
    if (task == NULL)
        return NULL;
    task->ticket = ticket;
    task->answer = calloc (1, sizeof (*task->answer));
    return task;
}

/* Put a task into the list; it is freed if that fails.  whole: nothing lacked memory. */
static int add (struct munge_worker *worker, struct task *task, bool whole,
                struct pollux_error *err)
{
    int code = -ENOMEM;
    if (whole && task && task->answer)
        code = start (worker, err);
    else
        fail (err, code, "not enough memory for munge");
    if (code == 0) {
        pthread_mutex_lock (&worker->lock);
        int64_t busy_us = worker->busy ? clock_monotonic_us () - worker->begin_us : 0;
        if (busy_us > MUNGE_PATIENCE_S * INT64_C (1000000)) {
            code = fail (err, -EAGAIN, "munged has not answered for %d seconds: is it stopped?",
                         (int)(busy_us / 1000000));
        } else if (worker->waiting >= MUNGE_WAITING_MAX || !insert (worker, task)) {
            code = fail (err, -EAGAIN, "too many requests wait for munge: try again later");
        } else {
            pthread_cond_signal (&worker->wake);
        }
        pthread_mutex_unlock (&worker->lock);
    }
    if (code < 0 && task != NULL)
        task_free (task);
    return code;
}

int munge_worker_decode (struct munge_worker *worker, uint64_t ticket, const char *source,
                         const char *credential, struct pollux_error *err)
{
    if (strnlen (credential, MUNGE_CREDENTIAL_SIZE) >= MUNGE_CREDENTIAL_SIZE)
        return fail (err, -EACCES, "the munge credential is too long: at most %d characters",
                     MUNGE_CREDENTIAL_SIZE - 1);
    struct task *task = new_task (ticket);
    if (task != NULL) {
        snprintf (task->source, sizeof (task->source), "%s", source);
        task->credential = strdup (credential);
    }
    return add (worker, task, task != NULL && task->credential != NULL, err);
}

int munge_worker_sign (struct munge_worker *worker, uint64_t ticket, uid_t reader,
                       const char *method, const char *target, const void *body, size_t length,
                       struct pollux_error *err)
{
    struct task *task = new_task (ticket);
    if (task != NULL) {
        task->reader = reader;
        task->method = strdup (method);
        task->target = strdup (target);
        task->body = malloc (length + 1);
        task->length = length;
        if (task->body != NULL && length > 0)
            memcpy (task->body, body, length);
    }
    return add (worker, task, task && task->method && task->target && task->body, err);
}

/* The answer with this ticket; answers for earlier ones come too late.  NULL: not in time. */
static struct munge_answer *await (struct munge_worker *worker, uint64_t ticket, int wait_ms)
{
    int64_t until_us = clock_monotonic_us () + wait_ms * INT64_C (1000);
    struct pollfd ready = {.fd = worker->fd, .events = POLLIN};
    for (;;) {
        struct munge_answer *answer;
        while ((answer = munge_worker_next (worker)) != NULL && answer->ticket != ticket)
            munge_answer_free (answer);
        int64_t left_us = until_us - clock_monotonic_us ();
        if (answer != NULL || left_us <= 0)
            return answer;
        poll (&ready, 1, (int)(left_us / 1000) + 1);
    }
}

int munge_worker_sign_now (struct munge_worker *worker, int wait_ms, uid_t reader,
                           const char *method, const char *target, const void *body, size_t length,
                           char *ret, size_t size, struct pollux_error *err)
{
    uint64_t ticket = ++worker->tickets;
    int code = munge_worker_sign (worker, ticket, reader, method, target, body, length, err);
    if (code < 0)
        return code;
    struct munge_answer *answer = await (worker, ticket, wait_ms);
    if (answer == NULL)
        return fail (err, -EAGAIN, "munged does not answer within %d ms", wait_ms);
    code = answer->code;
    if (code < 0)
        fail (err, code, "%s", answer->err.text);
    else if (strlen (answer->header) >= size)
        code = fail (err, -ENOBUFS, "the munge credential is too long");
    else
        memcpy (ret, answer->header, strlen (answer->header) + 1);
    munge_answer_free (answer);
    return code;
}

int munge_worker_fd (const struct munge_worker *worker)
{
    return worker->fd;
}

struct munge_answer *munge_worker_next (struct munge_worker *worker)
{
    eventfd_t count;
    pthread_mutex_lock (&worker->lock);
    struct munge_answer *answer = worker->answers;
    if (answer != NULL) {
        worker->answers = answer->next;
        if (worker->answers == NULL)
            worker->answers_end = &worker->answers;
    } else {
        eventfd_read (worker->fd, &count);
    }
    pthread_mutex_unlock (&worker->lock);
    return answer;
}

void munge_answer_free (struct munge_answer *answer)
{
    if (answer == NULL)
        return;
    free (answer->header);
    free (answer);
}
