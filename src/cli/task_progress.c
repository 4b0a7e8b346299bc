/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 3 of 12 runs, 812 of 1920 jobs, 14.2 h simulated, 5120 rounds/s, 4 s to go
 */
#include "cli/task_progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The one thing that a signal handler can do. */
static volatile sig_atomic_t interrupted;

static void on_interrupt (int number)
{
    (void)number;
    interrupted = 1;
}

static double now_s (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct task_progress task_progress_start (const struct sim_task *tasks, int count)
{
    struct task_progress progress = {.began_s = now_s (), .enabled = isatty (STDERR_FILENO)};
    for (int i = 0; i < count; i++)
        progress.jobs += tasks[i].workload->count;
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction (SIGINT, &action, NULL);
    return progress;
}

static void draw_bar (double share)
{
    enum { WIDTH = 24 };
    char bar[WIDTH + 1];
    int full = (int)(share * WIDTH);
    memset (bar, '.', WIDTH);
    memset (bar, '#', (size_t)(full > WIDTH ? WIDTH : full));
    bar[WIDTH] = '\0';
    fprintf (stderr, "\r[%s] ", bar);
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
    double passed_s = now_s () - progress->began_s;
    if (!progress->enabled || passed_s < 0.5)
        return;
    double share = (double)jobs_done / progress->jobs;
    draw_bar (share);
    fprintf (stderr, "%d of %d runs, %d of %d jobs, %.1f h simulated, %.0f rounds/s", ended, count,
             jobs_done, progress->jobs, simulated_s / 3600, rounds / passed_s);
    if (share > 0)
        fprintf (stderr, ", %.0f s to go", passed_s * (1 - share) / share);
    fputs ("\033[K", stderr);
    fflush (stderr);
    progress->shown = true;
}

struct task_watcher task_progress_watcher (struct task_progress *progress)
{
    return (struct task_watcher){.watch = watch, .self = progress};
}

void task_progress_end (struct task_progress *progress)
{
    if (progress->shown)
        fputs ("\r\033[K", stderr);
    signal (SIGINT, SIG_DFL);
}
