/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How one simulated job trains over time: epochs, progress, restart delays, and what its agent
 * measures.  It knows nothing of policies.
 *
 *     struct training job;
 *     training_init (&job, app, requested_batch, false, submit_s);
 *     training_place (&job, app, counts, nodes, restart_delay_s, NULL, err);    its slots changed
 *     training_advance (&job, 60, interference, NULL, err);                60 s pass
 *     if (training_done (&job)) ... job.completed_s
 *     training_clear (&job);
 */
#ifndef SIM_TRAINING_H
#define SIM_TRAINING_H

#include "sim/ground_truth.h"

/* What the agent has measured on nodes of one type: one sample per (nodes, replicas, m) trained with so far, in the
 * order of first use, with weight 1. */
struct type_samples {
    struct pollux_sample *list;
    size_t count, capacity;
    int max_replicas; /* largest K of the samples, 0 before the first */
};

/* How a job differs from its application: factors of all step times, of synchronisation beyond that, and of the noise. */
struct job_factors {
    double time, sync, noise;
};

/* One job's training.  Open for reading; written by the functions below only. */
struct training {
    const struct app *app;
    const struct app *here;     /* on the type of its nodes; the last ones if it has no slots */
    struct job_factors factors; /* 1 unless set after training_init */
    bool typed;                 /* follow the rules for clusters with types (SEMANTICS of types) */
    int64_t requested_batch;    /* total batch that the owner fixed; 0: the job adapts */
    int epochs;                 /* completed */
    double progress;            /* iterations of batch M0 */
    double clock_s;
    double delay_s;     /* restart delay still to be served */
    double attained_s;  /* slot-seconds used so far, restart delays included */
    double completed_s; /* when training was done; NaN before */
    bool modelled;      /* some step time was taken from the model (struct app_step) */

    /* The placement, replicas = 0: without slots; and the batch chosen for it. */
    int *counts;
    int nodes, replicas, counts_capacity;
    struct pollux_limits limits; /* there */
    struct pollux_batch batch;

    /* What the agent knows: its measurements, by app_index; the latest gradient statistics, NaN before the first. */
    struct type_samples samples[APP_TYPES + 1];
    struct pollux_grad grad;

    /* Step times of the current placement and batch; valid while step.step_s > 0. */
    struct app_step step;
    double update_share; /* of the present update that is done, if updates are counted */

    /* What the chooser saw at its last call. */
    struct pollux_grad chosen_grad;
    size_t chosen_count;
};

/* An update of a job that counts them. */
struct training_update {
    struct pollux_batch batch; /* the job's, or a probe's */
    struct pollux_grad grad;   /* gradient statistics of that batch */
    double gain, counted_gain; /* progress that it makes, and that the agent counts */
};

/* Chooses the batch of an adaptive job for its current placement.  Called whenever the job is
 * placed, and after every epoch and interval in which the samples or the gradient statistics have
 * changed.  The result is limited by Mmax with batch_limit.  A failure ends training_place or
 * training_advance with the same code. */
struct batch_chooser {
    int (*choose) (void *self, const struct training *training, struct pollux_batch *ret,
                   struct pollux_error *err);
    /* For an agent that counts updates, else NULL; then `choose` is called at placements only.  `begin`
     * describes the next update; it is called again if an interval or an epoch ends during it.  `end`
     * is called after it and may change *ret, the batch. */
    struct training_update (*begin) (void *self, const struct training *training);
    int (*end) (void *self, const struct training *training, const struct training_update *update,
                struct pollux_batch *ret, struct pollux_error *err);
    void *self;
};

/* The usual chooser: the best batch by the model fitted to the samples; each new sample causes a
 * new fit.  Before the first sample: max (M0, smallest local batch x K). */
struct batch_adapter {
    enum pollux_search search;
    struct batch_fit {
        struct pollux_fit fit; /* of the first `count` samples; valid if that is > 0 */
        size_t count;
    } fits[APP_TYPES + 1]; /* by app_index */
};
int batch_adapt (void *adapter, const struct training *training, struct pollux_batch *ret,
                 struct pollux_error *err);

/* Its fit of the type of the job's nodes. */
struct batch_fit *batch_adapter_here (struct batch_adapter *adapter,
                                      const struct training *training);

/* Fit again if there are new samples of the type of the job's nodes. */
int batch_adapter_refit (struct batch_adapter *adapter, const struct training *training,
                         struct pollux_error *err);

/* Split a requested total batch over K replicas; m is then limited by Mmax.  The resulting
 * M = K m (s+1) may differ from the request. */
struct pollux_batch batch_split (const struct pollux_limits *limits, int64_t total_batch,
                                 int replicas);

/* m limited to floor (Mmax / (K (s+1))). */
struct pollux_batch batch_limit (const struct pollux_limits *limits, struct pollux_batch batch,
                                 int replicas);

/* Start a job at clock_s, without slots.  requested_batch 0: it adapts, and the functions below
 * need a chooser; otherwise chooser is ignored.  typed: by the rules for clusters with types, in which the placement
 * limits the local batch, and training is slower than its step times say. */
void training_init (struct training *training, const struct app *app, int64_t requested_batch,
                    bool typed, double clock_s);

/* What it has measured on nodes of the present type. */
static inline const struct type_samples *training_samples (const struct training *training)
{
    return &training->samples[app_index (training->here)];
}

/* Its gradient statistics in the present epoch, with a total batch. */
struct pollux_grad training_grad (const struct training *training, double total_batch);

/* Change its placement (nodes 0: none), on nodes where `here` is the application (app_on).  Chooses a new batch and sets the restart delay, which
 * replaces the rest of the last one.  0, -ENOMEM, or the chooser's failure. */
int training_place (struct training *training, const struct app *here, const int *counts, int nodes,
                    double delay_s, const struct batch_chooser *chooser, struct pollux_error *err);

/* Advance by some seconds.  interference in [0, 1] slows training by that share.  A job that is
 * done stays as it is.  0, -ENOMEM, or the chooser's failure. */
int training_advance (struct training *training, double seconds, double interference,
                      const struct batch_chooser *chooser, struct pollux_error *err);

bool training_done (const struct training *training);

/* Free its contents. */
void training_clear (struct training *training);

#endif
