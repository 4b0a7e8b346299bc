/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_STOPWATCH_H
#define AGENT_STOPWATCH_H

#include "pollux/pollux.h"

/* Measures one step from begin to end, on any monotonic clock in seconds.  Starts zeroed.  Calls in
 * the wrong order do nothing. */
struct stopwatch {
    bool open;                 /* between begin and end */
    struct pollux_batch batch; /* of this step */
    double begin_s, sync_s;
    bool syncing;
    double sync_begin_s;
    int64_t micro_steps;  /* ended micro-steps without synchronisation */
    double micro_end_s;   /* end of the last of them */
    bool has_given_times; /* grad_s and step_s were measured elsewhere */
    double grad_s, step_s;
};

/* Times of a step that has ended. */
struct stopwatch_step {
    double grad_s, step_s; /* as in struct pollux_sample */
};

void stopwatch_begin (struct stopwatch *watch, struct pollux_batch batch, double now_s);
void stopwatch_sync_begin (struct stopwatch *watch, double now_s);
void stopwatch_sync_end (struct stopwatch *watch, double now_s);
void stopwatch_sync (struct stopwatch *watch, double seconds);
void stopwatch_micro_end (struct stopwatch *watch, double now_s);

/* The times of this step by another clock, instead of those by this one.  Ignored unless they are
 * positive and finite. */
void stopwatch_times (struct stopwatch *watch, double grad_s, double step_s);

/* False if no step was open. */
bool stopwatch_end (struct stopwatch *watch, double now_s, struct stopwatch_step *ret);

#endif
