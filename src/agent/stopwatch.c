/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The times of one update: s micro-steps, then one with synchronisation.
 *
 *     |-- micro --|-- micro --|-- micro -->|== sync ==>|       T = end - begin
 *
 * If the ends of the first s micro-steps were marked, their mean is the computing time, and the rest
 * of T is the last micro-step.  Otherwise T minus the waiting time is divided by s+1, which includes
 * a share of the optimizer's time.
 */
#include "agent/stopwatch.h"

#include <math.h>

void stopwatch_begin (struct stopwatch *watch, struct pollux_batch batch, double now_s)
{
    *watch = (struct stopwatch){.open = true, .batch = batch, .begin_s = now_s};
}

void stopwatch_sync_begin (struct stopwatch *watch, double now_s)
{
    if (!watch->open || watch->syncing)
        return;
    watch->syncing = true;
    watch->sync_begin_s = now_s;
}

void stopwatch_sync_end (struct stopwatch *watch, double now_s)
{
    if (!watch->open || !watch->syncing)
        return;
    watch->syncing = false;
    stopwatch_sync (watch, now_s - watch->sync_begin_s);
}

void stopwatch_sync (struct stopwatch *watch, double seconds)
{
    if (watch->open && seconds > 0)
        watch->sync_s += seconds;
}

void stopwatch_micro_end (struct stopwatch *watch, double now_s)
{
    if (!watch->open)
        return;
    watch->micro_steps++;
    watch->micro_end_s = now_s;
}

void stopwatch_times (struct stopwatch *watch, double grad_s, double step_s)
{
    if (!watch->open || !(grad_s > 0 && step_s > 0 && isfinite (grad_s + step_s)))
        return;
    watch->has_given_times = true;
    watch->grad_s = grad_s;
    watch->step_s = step_s;
}

bool stopwatch_end (struct stopwatch *watch, double now_s, struct stopwatch_step *ret)
{
    if (!watch->open)
        return false;
    stopwatch_sync_end (watch, now_s);
    watch->open = false;
    double whole_s = now_s - watch->begin_s, extra = (double)watch->batch.s;
    if (watch->has_given_times) {
        *ret = (struct stopwatch_step){watch->grad_s, watch->step_s};
    } else if (watch->batch.s > 0 && watch->micro_steps == watch->batch.s) {
        double micro_s = watch->micro_end_s - watch->begin_s;
        *ret = (struct stopwatch_step){micro_s / extra, whole_s - micro_s};
    } else {
        /* Waiting time from another clock may exceed the step. */
        double sync_s = fmin (watch->sync_s, whole_s);
        double grad_s = (whole_s - sync_s) / (extra + 1);
        *ret = (struct stopwatch_step){grad_s, grad_s + sync_s};
    }
    return true;
}
