/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `pollux sim` and `pollux capacity` have in common: loading inputs, running tasks, freeing
 * both.  The progress line:
 *
 *     3 of 12 runs, 812 of 1920 jobs, 14.2 h simulated, 5120 rounds/s, 4 s to go
 */
#include "cli/simulations.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/progress_line.h"

/* Set by the signal handler, read by watch. */
static volatile sig_atomic_t interrupted;

static void on_interrupt (int number)
{
    (void)number;
    interrupted = 1;
}

int simulations_new (const struct sim_config *config, const struct sim_inputs *inputs, int variants,
                     struct simulations *ret, struct pollux_error *err)
{
    int count = variants * inputs->count;
    struct sim_task *tasks = calloc ((size_t)count, sizeof (tasks[0]));
    if (!tasks)
        return fail (err, -ENOMEM, "no memory for %d simulations", count);
    for (int i = 0; i < count; i++) {
        tasks[i].config = *config;
        tasks[i].workload = &inputs->workloads[i % inputs->count].workload;
    }
    *ret = (struct simulations){.tasks = tasks, .count = count};
    return 0;
}

void simulations_clear (struct simulations *simulations)
{
    for (int i = 0; i < simulations->count; i++)
        sim_result_clear (&simulations->tasks[i].result);
    free (simulations->tasks);
    *simulations = (struct simulations){0};
}

struct watched {
    struct progress_line line;
    int jobs; /* in all tasks */
};

static void watch (void *self, struct sim_task *tasks, int count)
{
    struct watched *watched = self;
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
    if (progress_line_due (&watched->line))
        progress_line_draw (&watched->line, (double)jobs_done / watched->jobs,
                            "%d of %d runs, %d of %d jobs, %.1f h simulated, %.0f rounds/s", ended,
                            count, jobs_done, watched->jobs, simulated_s / 3600,
                            rounds / progress_line_passed (&watched->line));
}

int simulations_run (struct simulations *simulations, int threads, struct pollux_error *err)
{
    struct watched watched = {.line = progress_line_start ()};
    for (int i = 0; i < simulations->count; i++)
        watched.jobs += simulations->tasks[i].workload->count;
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction (SIGINT, &action, NULL);
    int rc = sim_tasks_run (simulations->tasks, simulations->count, threads,
                            (struct task_watcher){.watch = watch, .self = &watched}, err);
    progress_line_end (&watched.line);
    signal (SIGINT, SIG_DFL);
    return rc;
}

int with_sim_inputs (struct options *options, struct sim_input_files files,
                     int (*run) (void *self, const struct sim_inputs *inputs, FILE *out,
                                 struct pollux_error *err),
                     void *self, FILE *out, struct pollux_error *err)
{
    struct sim_inputs inputs;
    char **operands;
    int count = options_operands (options, &operands);
    int rc = sim_inputs_load (files, operands, count, &inputs, err);
    if (rc < 0)
        return rc;
    rc = run (self, &inputs, out, err);
    sim_inputs_clear (&inputs);
    return rc;
}
