/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ops (backend.h) that only pass a call on to the generation set.  self is a backend whose first member is
 * its struct generation_set; each backend that uses them asserts that.
 */
#ifndef BACKEND_GENERATION_OPS_H
#define BACKEND_GENERATION_OPS_H

#include "backend/generation_set.h"

int64_t generation_ops_due_us (const void *self);
int generation_ops_next_event (void *self, const struct cluster *cluster, struct event *ret);
bool generation_ops_wants_settle (const void *self);
int generation_ops_reconcile (void *self, struct loop *loop, struct pollux_error *err);
int generation_ops_act (void *self, const struct cluster *cluster, struct pollux_error *err);
void generation_ops_reported (void *self, const struct cluster *cluster, int job);
int generation_ops_news (void *self, const struct cluster *cluster, int job,
                         const struct run_news *news, struct pollux_error *err);
void generation_ops_stop_all (void *self);
int generation_ops_count (const void *self);

/* For backends whose run directories are in the state directory: set.runs is not NULL. */
int generation_ops_open_log (void *self, const char *job, int generation, int rank, int number,
                             int *ret, struct pollux_error *err);
int generation_ops_oldest_log (void *self, const char *job, int last, int *ret);
char *generation_ops_checkpoint_dir (void *self, const struct job *job);

/* Rows for a backend's table of ops: those that all of these backends have, and those of backends with such run
 * directories. */
#define GENERATION_OPS                                                                             \
    .wants_settle = generation_ops_wants_settle, .reported = generation_ops_reported,              \
    .news = generation_ops_news, .stop_all = generation_ops_stop_all,                              \
    .count = generation_ops_count
#define GENERATION_FILE_OPS                                                                        \
    .open_log = generation_ops_open_log, .oldest_log = generation_ops_oldest_log,                  \
    .checkpoint_dir = generation_ops_checkpoint_dir

#endif
