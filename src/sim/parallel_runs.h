/* SPDX-License-Identifier: Apache-2.0 */
/* Many simulations at once, on several threads, with the results of one by one. */
#ifndef SIM_PARALLEL_RUNS_H
#define SIM_PARALLEL_RUNS_H

#include "sim/sim.h"

/* One simulation: what to run, how far it is, what came out.  Fill the first part, zero the
 * rest. */
struct sim_task {
    struct sim_config config;
    const struct workload *workload;
    const struct policy *policy;

    struct sim_progress progress;
    _Atomic bool started, ended;
    int rc; /* 0 where result is there, which belongs to the caller (sim_result_clear) */
    struct sim_result result;
    struct pollux_error err;
};

/* While tasks run, the calling thread calls watch some times a second.  It may set
 * task->progress.stop. */
struct task_watcher {
    void (*watch) (void *self, struct sim_task *tasks, int count);
    void *self;
};

/* Run all tasks on at most so many threads (0: as many as the machine has), in order of the
 * array.  Returns when all have ended: 0, or the code and sentence of the first task, in
 * order, that failed; after a failure tasks that have not begun are left out. */
int sim_tasks_run (struct sim_task *tasks, int count, int threads, struct task_watcher watcher,
                   struct pollux_error *err);

#endif
