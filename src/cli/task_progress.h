/* SPDX-License-Identifier: Apache-2.0 */
/* A line on standard error that tells how far simulations are, where that is a terminal. */
#ifndef CLI_TASK_PROGRESS_H
#define CLI_TASK_PROGRESS_H

#include "cli/progress.h"
#include "sim/tasks.h"

struct task_progress {
    struct progress line;
    int jobs; /* in all tasks */
};

/* Begin to watch tasks.  SIGINT makes them stop. */
struct task_progress task_progress_start (const struct sim_task *tasks, int count);
struct task_watcher task_progress_watcher (struct task_progress *progress);
void task_progress_end (struct task_progress *progress);

#endif
