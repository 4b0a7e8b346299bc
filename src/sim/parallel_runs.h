/* SPDX-License-Identifier: Apache-2.0 */
/* Run many simulations in parallel.  Results are the same as one after the other. */
#ifndef SIM_PARALLEL_RUNS_H
#define SIM_PARALLEL_RUNS_H

#include "sim/sim.h"

/* One simulation: its inputs, its progress, its result.  The caller fills the first part and
 * zeroes the rest. */
struct sim_task {
    struct sim_config config;
    const struct workload *workload;
    const struct policy *policy;
    const char *name; /* of the variant, for names of files; NULL: the policy's */
    /* Called by the task's thread before the run, where it may set config.journal, and after the
     * run, with task->rc and task->result; finish also after a failure of either.  NULL: nothing to
     * do. */
    int (*prepare) (struct sim_task *task, struct pollux_error *err);
    int (*finish) (struct sim_task *task, struct pollux_error *err);
    void *self; /* for prepare and finish */

    struct sim_progress progress;
    _Atomic bool started, ended;
    int rc; /* 0: result is valid and belongs to the caller (sim_result_clear) */
    struct sim_result result;
    struct pollux_error err;
};

/* While tasks run, the calling thread calls watch ten times a second.  It may set
 * task->progress.stop. */
struct task_watcher {
    void (*watch) (void *self, struct sim_task *tasks, int count);
    void *self;
};

/* Run all tasks on at most `threads` threads (0: one per processor), in the order of the array.
 * Returns when all have ended: 0, or the code and sentence of the first failed task in array order.
 * After a failure no further task starts. */
int sim_tasks_run (struct sim_task *tasks, int count, int threads, struct task_watcher watcher,
                   struct pollux_error *err);

#endif
