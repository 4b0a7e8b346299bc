/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 3 of 12 runs, 812 of 1920 jobs, 14.2 h simulated, 5120 rounds/s, 4 s to go
 */
#include "cli/task_progress.h"

#include <signal.h>

/* The one thing that a signal handler can do. */
static volatile sig_atomic_t interrupted;

static void on_interrupt (int number)
{
    (void)number;
    interrupted = 1;
}

struct task_progress task_progress_start (const struct sim_task *tasks, int count)
{
    struct task_progress progress = {.line = progress_start ()};
    for (int i = 0; i < count; i++)
        progress.jobs += tasks[i].workload->count;
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction (SIGINT, &action, NULL);
    return progress;
}

static void watch (void *self, struct sim_task *tasks, int count)
{
    struct task_progress *progress = self;
    int ended = 0, jobs_done = 0, rounds = 0;
    double simulated_s = 0;
    for (int i = 0; i < count; i++) {
        if (interrupted)
            atomic_store (&tasks[i].progress.stop, true);
        ended += atomic_load (&tasks[i].ended);
        jobs_done += atomic_load (&tasks[i].progress.jobs_done);
        rounds += atomic_load (&tasks[i].progress.rounds);
        simulated_s += (double)atomic_load (&tasks[i].progress.now_us) * 1e-6;
    }
    if (progress_due (&progress->line))
        progress_draw (&progress->line, (double)jobs_done / progress->jobs,
                       "%d of %d runs, %d of %d jobs, %.1f h simulated, %.0f rounds/s", ended,
                       count, jobs_done, progress->jobs, simulated_s / 3600,
                       rounds / progress_passed (&progress->line));
}

struct task_watcher task_progress_watcher (struct task_progress *progress)
{
    return (struct task_watcher){.watch = watch, .self = progress};
}

void task_progress_end (struct task_progress *progress)
{
    progress_end (&progress->line);
    signal (SIGINT, SIG_DFL);
}
