/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules by which a job adapts its batch to the noise that it measures.  The agent of a training
 * program and the jobs of the simulator follow them:
 *
 *   - the batch is chosen once there is enough evidence of the noise, then after every
 *     ADAPTATION_UPDATES updates;
 *   - it at most doubles each time, so that a wrong estimate does little harm before it is corrected;
 *   - it changes only for 5 % more goodput (hysteresis), because every change has a cost, for example
 *     buffers;
 *   - the gain is limited (gain_limit.h); without evidence it is 1.
 */
#ifndef MODEL_ADAPTATION_H
#define MODEL_ADAPTATION_H

#include "model/evidence.h"
#include "model/gain_limit.h"
#include "model/probe.h"

/* Updates between two choices of the batch. */
enum { ADAPTATION_UPDATES = 50 };

/* What a training has learned about its noise. */
struct adaptation {
    int64_t init_batch, dataset_size; /* dataset_size 0: unknown, a stream */
    bool adam;                        /* not SGD */
    struct evidence evidence;
    bool had_evidence; /* after the last measurement: then less is enough */
    double age;        /* of the evidence since the last measurement */
    struct gain_limit gain_limit;
    uint64_t updates; /* since the training began */
    uint64_t waits;   /* updates until the next choice; 0: it is due */
};

struct adaptation adaptation_start (int64_t init_batch, int64_t dataset_size, bool adam);

/* The job has another placement: a choice is due. */
void adaptation_place (struct adaptation *adaptation);

/* Add the estimate of an update, scale = M/M0.  Ignored if it is not finite, and for the first updates
 * with Adam, whose averages are not usable yet. */
void adaptation_measure (struct adaptation *adaptation, struct pollux_grad grad, double scale);

/* An update with this gain was made. */
void adaptation_advance (struct adaptation *adaptation, double gain);

/* True if there is enough evidence to choose a batch.  Once there is, it is lost only far below. */
bool adaptation_has_evidence (const struct adaptation *adaptation);

/* The statistics to decide by: evidence_grad, with the largest gain that is used as gain_max.  The data count as
 * their number of samples times the factor by which the limit has risen: the estimate is trusted more. */
struct pollux_grad adaptation_grad (const struct adaptation *adaptation);

/* True if a batch is to be chosen now; the next time is ADAPTATION_UPDATES updates later. */
bool adaptation_take_turn (struct adaptation *adaptation);

/* Choose the best batch with at most twice the samples of *batch, if it has 5 % more goodput.
 * few_sizes: round its m down to 8 x 2^k samples before the comparison; smaller ones stay.
 * True: *batch has changed. */
bool adaptation_choose (const struct pollux_model *model, struct pollux_grad grad,
                        const struct pollux_limits *limits, struct pollux_shape shape,
                        bool few_sizes, struct pollux_batch *batch);

/* The first batch on a placement: a total batch of an earlier one, or M0 if it is not in M0..Mmax,
 * divided among the replicas as near as the limits allow; without accumulation in one micro-step.
 * few_sizes: m is rounded down in the same way, if that leaves M0 or more and m within the limits. */
struct pollux_batch adaptation_first_batch (const struct pollux_limits *limits, int64_t total_batch,
                                            int replicas, bool few_sizes);

#endif
