/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long decisions, in a thread of their own: on a copy of the view, so that the daemon goes on
 * answering.  Short ones are left to the loop, since a thread would cost more than they do.
 *
 *     loop.thinker = thinking_thinker (thinking);
 *     ... when thinking_fd (thinking) is readable:
 *     rc = thinking_finish (thinking, &plan, &seconds, err);      a PLAN event of that
 */
#ifndef DAEMON_THINKER_H
#define DAEMON_THINKER_H

#include "loop/loop.h"

struct thinking;

/* Views of at least so many slots times jobs are long; 0: all. */
int thinking_new (int64_t threshold, struct thinking **ret, struct pollux_error *err);
/* Waits for a decision that is being made. */
void thinking_free (struct thinking *thinking);

struct thinker thinking_thinker (struct thinking *thinking);

/* A decision, made here or in the loop, has taken so long.  After a long one the next are expected
 * to be long, too, whatever their size: some policies search for a second among a few jobs. */
void thinking_took (struct thinking *thinking, double seconds);

/* Is a decision being made, or has it not been taken?  No ROUND may be posted then. */
bool thinking_busy (const struct thinking *thinking);

/* Readable once a decision has been made. */
int thinking_fd (const struct thinking *thinking);

/* Take the decision: its plan, borrowed until the next one, and how long it took. */
int thinking_finish (struct thinking *thinking, const struct plan **ret, double *seconds,
                     struct pollux_error *err);

#endif
