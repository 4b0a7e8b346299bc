/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Worker threads take tasks from a shared counter.  Tasks share only constant data (ground truth,
 * workload, policy), so results do not depend on the number of threads.
 */
#include "sim/parallel_runs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

enum { THREADS_LIMIT = 256 };

struct workers {
    struct sim_task *tasks;
    int count;
    _Atomic int next;
    _Atomic bool failed;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a worker has ended */
    int working;
};

static void run_task (struct sim_task *task)
{
    if (task->prepare)
        task->rc = task->prepare (task, &task->err);
    if (task->rc == 0)
        task->rc = sim_run (&task->config, task->workload, task->policy, &task->progress,
                            &task->result, &task->err);
    int finished = task->finish ? task->finish (task, task->rc == 0 ? &task->err : NULL) : 0;
    task->rc = task->rc == 0 ? finished : task->rc;
}

static void *work (void *self)
{
    struct workers *workers = self;
    for (;;) {
        int i = atomic_fetch_add (&workers->next, 1);
        if (i >= workers->count || atomic_load (&workers->failed))
            break;
        struct sim_task *task = &workers->tasks[i];
        atomic_store (&task->started, true);
        run_task (task);
        if (task->rc < 0)
            atomic_store (&workers->failed, true);
        atomic_store (&task->ended, true);
    }
    pthread_mutex_lock (&workers->lock);
    workers->working--;
    pthread_cond_signal (&workers->ended);
    pthread_mutex_unlock (&workers->lock);
    return NULL;
}

/* Wait until all workers have ended; call the watcher ten times a second. */
static void wait_for_workers (struct workers *workers, struct task_watcher watcher)
{
    pthread_mutex_lock (&workers->lock);
    while (workers->working > 0) {
        struct timespec until;
        clock_gettime (CLOCK_REALTIME, &until);
        until.tv_nsec += 100 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait (&workers->ended, &workers->lock, &until);
        if (watcher.watch) {
            pthread_mutex_unlock (&workers->lock);
            watcher.watch (watcher.self, workers->tasks, workers->count);
            pthread_mutex_lock (&workers->lock);
        }
    }
    pthread_mutex_unlock (&workers->lock);
}

int sim_tasks_run (struct sim_task *tasks, int count, int threads, struct task_watcher watcher,
                   struct pollux_error *err)
{
    if (threads <= 0)
        threads = (int)sysconf (_SC_NPROCESSORS_ONLN);
    threads = threads > THREADS_LIMIT ? THREADS_LIMIT : threads;
    threads = threads > count ? count : threads;
    struct workers workers = {.tasks = tasks, .count = count};
    pthread_mutex_init (&workers.lock, NULL);
    pthread_cond_init (&workers.ended, NULL);

    pthread_t threads_started[THREADS_LIMIT];
    int running = 0, rc = 0;
    for (; running < threads; running++) {
        pthread_mutex_lock (&workers.lock);
        workers.working++;
        pthread_mutex_unlock (&workers.lock);
        rc = -pthread_create (&threads_started[running], NULL, work, &workers);
        if (rc < 0) {
            workers.working--;
            break;
        }
    }
    wait_for_workers (&workers, watcher);
    for (int i = 0; i < running; i++)
        pthread_join (threads_started[i], NULL);
    pthread_mutex_destroy (&workers.lock);
    pthread_cond_destroy (&workers.ended);
    if (running == 0 && rc < 0)
        return fail (err, rc, "no thread could be started");
    for (int i = 0; i < count; i++)
        if (tasks[i].rc < 0)
            return fail (err, tasks[i].rc, "%s", tasks[i].err.text);
    return 0;
}
