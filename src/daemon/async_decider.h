/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes long decisions in a helper thread, on a copy of the view, so that the daemon answers requests
 * meanwhile.  Short decisions are left to the loop: a thread would take longer to start.
 *
 *     loop.decider_hook = async_decider_hook (decider);
 *     ... when async_decider_fd (decider) is readable:
 *     rc = async_decider_finish (decider, &plan, &seconds, err);      then post plan as PLAN
 */
#ifndef DAEMON_ASYNC_DECIDER_H
#define DAEMON_ASYNC_DECIDER_H

#include "loop/loop.h"
#include "scaling/size.h"

struct async_decider;

/* Decisions with slots x jobs >= threshold are expected to be long; 0: all. */
int async_decider_new (int64_t threshold, struct async_decider **ret, struct pollux_error *err);
/* Waits for a running decision.  NULL is fine. */
void async_decider_free (struct async_decider *decider);

struct decider_hook async_decider_hook (struct async_decider *decider);

/* A decision, made here or in the loop, took this long.  After a long one the next ones are expected to
 * be long too, whatever their size: some policies search for a second with few jobs. */
void async_decider_measured (struct async_decider *decider, double seconds);

/* True from begin to async_decider_finish.  No ROUND may be posted then. */
bool async_decider_busy (const struct async_decider *decider);

/* Readable once a decision has been made. */
int async_decider_fd (const struct async_decider *decider);

/* End the decision: *ret is its plan, borrowed until the next decision, *seconds how long it took.
 * Fails with the policy's error, also after *seconds. */
int async_decider_finish (struct async_decider *decider, const struct plan **ret, double *seconds,
                          struct pollux_error *err);

/* The groups of nodes have changed: the size that the thread decides on is of no use. */
void async_decider_drop_size (struct async_decider *decider);

/* After async_decider_finish: 1 and the size that the thread decided on after the plan; 0: it was not asked, in a prompt
 * round or without groups of nodes, or it would change what has begun to change on the cluster since the view; or the error of
 * size_decide. */
int async_decider_size (const struct async_decider *decider, const struct cluster *cluster,
                        struct size_decision *ret, struct pollux_error *err);

#endif
