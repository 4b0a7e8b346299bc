/* SPDX-License-Identifier: Apache-2.0 */
/* Splitting a total batch over replicas and micro-steps. */
#ifndef MODEL_MICRO_BATCHES_H
#define MODEL_MICRO_BATCHES_H

#include "pollux/pollux.h"

/* Split total >= 1 samples over K >= 1 replicas:
 *     local = ceil (total / K),  s + 1 = max (ceil (local / max_local), min_steps),
 *     m = ceil (local / (s + 1)).
 * So m <= max_local (>= 1), with as few micro-steps s + 1 as possible, at least min_steps.  The
 * batch K m (s + 1) is total or a little more. */
struct pollux_batch split_into_micro_batches (int64_t total, int replicas, int64_t max_local,
                                              int64_t min_steps);

#endif
