/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A counter hands out tasks to threads.  Tasks share only what never changes (world, workload,
 * policy), so the number of threads cannot be seen in any result.
 */
#include "sim/parallel_runs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

enum { THREADS_LIMIT = 256 };

struct crew {
    struct sim_task *tasks;
    int count;
    _Atomic int next;
    _Atomic bool failed;
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a worker has no more to do */
    int working;
};

static void *work (void *self)
{
    struct crew *crew = self;
    for (;;) {
        int i = atomic_fetch_add (&crew->next, 1);
        if (i >= crew->count || atomic_load (&crew->failed))
            break;
        struct sim_task *task = &crew->tasks[i];
        atomic_store (&task->started, true);
        task->rc = sim_run (&task->config, task->workload, task->policy, &task->progress,
                            &task->result, &task->err);
        if (task->rc < 0)
            atomic_store (&crew->failed, true);
        atomic_store (&task->ended, true);
    }
    pthread_mutex_lock (&crew->lock);
    crew->working--;
    pthread_cond_signal (&crew->ended);
    pthread_mutex_unlock (&crew->lock);
    return NULL;
}

/* Until all workers are done, look after them a few times a second. */
static void oversee (struct crew *crew, struct task_watcher watcher)
{
    pthread_mutex_lock (&crew->lock);
    while (crew->working > 0) {
        struct timespec until;
        clock_gettime (CLOCK_REALTIME, &until);
        until.tv_nsec += 100 * 1000 * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait (&crew->ended, &crew->lock, &until);
        if (watcher.watch) {
            pthread_mutex_unlock (&crew->lock);
            watcher.watch (watcher.self, crew->tasks, crew->count);
            pthread_mutex_lock (&crew->lock);
        }
    }
    pthread_mutex_unlock (&crew->lock);
}

int sim_tasks_run (struct sim_task *tasks, int count, int threads, struct task_watcher watcher,
                   struct pollux_error *err)
{
    if (threads <= 0)
        threads = (int)sysconf (_SC_NPROCESSORS_ONLN);
    threads = threads > THREADS_LIMIT ? THREADS_LIMIT : threads;
    threads = threads > count ? count : threads;
    struct crew crew = {.tasks = tasks, .count = count};
    pthread_mutex_init (&crew.lock, NULL);
    pthread_cond_init (&crew.ended, NULL);

    pthread_t workers[THREADS_LIMIT];
    int running = 0, rc = 0;
    for (; running < threads; running++) {
        pthread_mutex_lock (&crew.lock);
        crew.working++;
        pthread_mutex_unlock (&crew.lock);
        rc = -pthread_create (&workers[running], NULL, work, &crew);
        if (rc < 0) {
            crew.working--;
            break;
        }
    }
    oversee (&crew, watcher);
    for (int i = 0; i < running; i++)
        pthread_join (workers[i], NULL);
    pthread_mutex_destroy (&crew.lock);
    pthread_cond_destroy (&crew.ended);
    if (running == 0 && rc < 0)
        return fail (err, rc, "no thread could be started");
    for (int i = 0; i < count; i++)
        if (tasks[i].rc < 0)
            return fail (err, tasks[i].rc, "%s", tasks[i].err.text);
    return 0;
}
