/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long decisions, in a thread of their own: on a copy of the view, so that the daemon goes on
 * answering.  Short ones are left to the loop, since a thread would cost more than they do.
 *
 *     loop.thinker = thinking_thinker (thinking);
 *     ... when thinking_fd (thinking) is readable:
 *     rc = thinking_finish (thinking, &plan, &seconds, err);      a PLAN event of that
 */
#ifndef DAEMON_ASYNC_DECIDER_H
#define DAEMON_ASYNC_DECIDER_H

#include "loop/loop.h"

struct async_decider;

/* Views of at least so many slots times jobs are long; 0: all. */
int async_decider_new (int64_t threshold, struct async_decider **ret, struct pollux_error *err);
/* Waits for a decision that is being made. */
void async_decider_free (struct async_decider *decider);

struct decider_hook async_decider_hook (struct async_decider *decider);

/* A decision, made here or in the loop, has taken so long.  After a long one the next are expected
 * to be long, too, whatever their size: some policies search for a second among a few jobs. */
void async_decider_took (struct async_decider *decider, double seconds);

/* Is a decision being made, or has it not been taken?  No ROUND may be posted then. */
bool async_decider_busy (const struct async_decider *decider);

/* Readable once a decision has been made. */
int async_decider_fd (const struct async_decider *decider);

/* Take the decision: its plan, borrowed until the next one, and how long it took. */
int async_decider_finish (struct async_decider *decider, const struct plan **ret, double *seconds,
                          struct pollux_error *err);

#endif
