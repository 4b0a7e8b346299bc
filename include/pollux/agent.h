/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent makes a training program an adaptive job.  It measures steps and gradient noise, fits the
 * throughput model, sends reports to its supervisor, and gives advice: the batch, the learning rate,
 * and when to stop.  In every replica:
 *
 *     pollux_agent_open (&setup, &agent, &err)
 *     pollux_agent_restore (agent, checkpoint, &err)      if a checkpoint exists
 *     pollux_agent_pass_begin (agent)                     at a start, and at each pass over the data
 *     ADVISE                                              m and s of the first update
 *     until advice.verdict is not POLLUX_GO
 *         pollux_agent_step_begin (agent)
 *         s+1 micro-steps of m samples
 *         pollux_agent_sync_begin (agent)
 *         mean of gradients and of squared norms over the replicas
 *         pollux_agent_sync_end (agent)
 *         pollux_agent_gradients (agent, ...)
 *         ADVISE                                          factors of this update, m and s of the next
 *         unless advice.skip, an optimizer step with rate x pollux_agent_factor (agent, group)
 *         pollux_agent_step_end (agent)
 *     pollux_agent_close (agent)
 *
 * Replica 0 decides; all replicas follow in the same step.  The caller transports the numbers.
 * ADVISE is
 *
 *     double *numbers = pollux_agent_decide (agent, &count)
 *     broadcast count doubles from replica 0, in place           not needed for one replica
 *     pollux_agent_follow (agent, &advice, &err)
 *
 * pollux/mpi.h has it as one call.  Evaluation and checkpoints belong between step_end and
 * step_begin, where nothing is measured.
 *
 * To save a message, a program may call pollux_agent_decide before it sums over the replicas, and sum
 * the numbers, too: replica 0 adds them, all others add zeros.  Such a decision uses the statistics of
 * the updates before.  If the gradient is then not finite, every replica calls pollux_agent_skip before
 * pollux_agent_follow.
 *
 * The agent has no thread of its own.  No call blocks on a daemon, a supervisor or a disk.  In a
 * child of fork() the agent is inert: calls do nothing and the advice does not change.  Only one
 * thread at a time may use an agent; distinct agents are independent.
 */
#ifndef POLLUX_AGENT_H
#define POLLUX_AGENT_H

#include <pollux/pollux.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct pollux_checkpoint;

/* ---- Where this process is -------------------------------------------------------------- */

/* Rank of this replica and number of replicas, from the environment of the launcher.  The first
 * launcher below whose variables for both are set is used:
 *
 *     polluxd, torchrun   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE; POLLUX_NODES or
 *                         GROUP_WORLD_SIZE
 *     Open MPI            OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
 *     Slurm               SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID,
 *                         SLURM_STEP_NUM_NODES or SLURM_NNODES
 *     nothing             one replica
 *
 * If no variable gives the number of nodes, it is replicas / local replicas, rounded up.  generation
 * is POLLUX_GENERATION; 0 without a daemon. */
struct pollux_world {
    int rank, local_rank;
    struct pollux_shape shape;
    int generation;
};

/* Read the environment.  -EINVAL: err names the variable with an impossible value. */
int pollux_world_read (struct pollux_world *ret, struct pollux_error *err);

/* ---- Opening ---------------------------------------------------------------------------- */

/* The description of the program.  Start with pollux_setup_default. */
struct pollux_setup {
    struct pollux_limits limits; /* M0 and the batches to choose from */
    int groups;                  /* parameter groups, 1 to POLLUX_GROUPS_LIMIT */
    const char *rule;            /* name of the learning-rate rule; NULL: adascale */
    double total;                /* length of the training in updates with batch M0; 0: unknown */
    double warmup_epochs;        /* legw only */
    int64_t dataset_size;        /* samples in a pass; 0: unknown, a stream */
    double beta2;                /* of Adam and AdamW; 0: another optimizer */
    struct pollux_batch fixed;   /* train with this batch; m = 0: choose the best */
    bool observe; /* only measure and report: all factors are 1, the batch does not change */
    /* Round m of a larger batch than M0 down to 8 x 2^k: the program is compiled again for every size. */
    bool few_sizes;
    double period_s; /* shortest time between fits, and between reports; at least 1 s; 0: 30 s */
    struct pollux_world world;       /* shape.replicas = 0: read the environment */
    double (*clock_s) (void *clock); /* seconds, never going back; NULL: the monotonic clock */
    void *clock;
};

/* Set the defaults: one group, adascale, only the batch M0 (max_batch and max_local are M0,
 * min_local is 1, no accumulation). */
void pollux_setup_default (int64_t init_batch, struct pollux_setup *ret);

struct pollux_agent;

/* An agent for this process.  The caller owns *ret (pollux_agent_close).  Replica 0 of a generation
 * sends reports to the socket POLLUX_SOCKET; without a socket the agent works without reports.  Step times are
 * kept, saved and reported for each type of nodes (POLLUX_NODE_TYPE, at most 8 types), also of earlier generations.
 * -EINVAL for an illegal setup or environment, -ENOENT for an unknown rule, -ENOMEM. */
int pollux_agent_open (const struct pollux_setup *setup, struct pollux_agent **ret,
                       struct pollux_error *err);

/* Send a last report, remove the signal handler and free the agent.  Accepts NULL. */
void pollux_agent_close (struct pollux_agent *agent);

struct pollux_world pollux_agent_world (const struct pollux_agent *agent);

/* The value of POLLUX_CHECKPOINT_DIR when the agent was opened; NULL: not set.  Owned by the agent. */
const char *pollux_agent_checkpoint_dir (const struct pollux_agent *agent);

/* Turn a signal, for example SIGTERM, into advice to stop.  The handler sets a flag and calls the
 * previous handler, if that is a function.  Optional; one signal per agent.  -EINVAL for a signal
 * that cannot be caught, -EBUSY if this agent has a signal already. */
int pollux_agent_catch (struct pollux_agent *agent, int signal, struct pollux_error *err);

/* True if this replica was asked to stop.  The advice is POLLUX_STOP once replica 0 was asked. */
bool pollux_agent_stopping (const struct pollux_agent *agent);

/* Ask to stop.  On replica 0, the next decision is POLLUX_STOP. */
void pollux_agent_stop (struct pollux_agent *agent);

/* Set the total work in updates with batch M0: epochs x (dataset / M0, rounded up).  0: unknown. */
void pollux_agent_set_total (struct pollux_agent *agent, double total);

/* Set the batch that an observed program trains with, or a fixed batch; m = 0: choose again.
 * -EINVAL for m < 0, s < 0, or more than POLLUX_BATCH_LIMIT samples. */
int pollux_agent_set_fixed (struct pollux_agent *agent, struct pollux_batch batch,
                            struct pollux_error *err);

/* ---- Measuring -------------------------------------------------------------------------- */

/* A pass over the data begins, or continues after a restart: its first step is not measured. */
void pollux_agent_pass_begin (struct pollux_agent *agent);

/* Begin and end of one update of the parameters, with the last advised batch. */
void pollux_agent_step_begin (struct pollux_agent *agent);
void pollux_agent_step_end (struct pollux_agent *agent);

/* Give up a step before its advice is followed, for example if the program leaves its loop: it is neither
 * counted nor measured. */
void pollux_agent_step_drop (struct pollux_agent *agent);

/* Begin and end of waiting for the other replicas, any number of times in a step. */
void pollux_agent_sync_begin (struct pollux_agent *agent);
void pollux_agent_sync_end (struct pollux_agent *agent);
/* Add waiting time that was measured elsewhere; negative values are ignored. */
void pollux_agent_sync_time (struct pollux_agent *agent, double seconds);

/* Optional: the end of each of the s micro-steps without synchronisation.  For programs whose
 * synchronisation overlaps with computation and cannot be measured alone. */
void pollux_agent_micro_end (struct pollux_agent *agent);

/* Optional: the times of this step by another clock, for example by events of an accelerator, which
 * works later than the program that starts it.  Call it within the step; these times then replace those
 * by the clock.  grad_s: a micro-step without synchronisation.  step_s: the last micro-step, with
 * synchronisation and the optimizer's step.  Ignored unless both are positive and finite. */
void pollux_agent_step_times (struct pollux_agent *agent, double grad_s, double step_s);

/* This update has `samples` samples instead of K m (s+1): the last one of a pass, or a total that is
 * not a multiple of K.  Call it within a step, before its decision; it applies to this step only.
 * Gain, progress, factors and statistics then use this size, parts may be less than s + 1, and the
 * step is not measured, unless the difference comes from rounding m up.  Required on replica 0 only:
 * the others get the result with the advice.
 * -EINVAL outside of a step, after its decision, or for samples outside 1..POLLUX_BATCH_LIMIT. */
int pollux_agent_samples (struct pollux_agent *agent, int64_t samples, struct pollux_error *err);

/* The statistics of this update (pollux_noise_update), per group: the mean of the squared norms of
 * n = replicas x parts micro-gradients, and the squared norm of their mean.  parts is s + 1, or 1 if
 * only the mean of a replica's micro-steps is known.  Has an effect on replica 0 only.
 * -EDOM: not finite; the advice will be to skip this update.  -EINVAL: impossible values, or n = 1;
 * training can continue, the estimate does not change. */
int pollux_agent_gradients (struct pollux_agent *agent, int64_t parts, const double *micro_sqr,
                            const double *mean_sqr, struct pollux_error *err);

/* For Adam, optional: the squared norm of this update's mean gradient as it is, without P and before
 * clipping.  With it the factors follow what Adam's averages remember more exactly; every eighth update
 * is enough.  Call it within a step.  Has an effect on replica 0 only. */
void pollux_agent_energy (struct pollux_agent *agent, double mean_sqr);

/* pollux_agent_gradients for n = 1 (pollux_noise_update_single): compared with the gradient of the
 * previous update; NULL for both arrays if there is none.  Such statistics are shown, but nothing is
 * decided by them. */
int pollux_agent_gradients_single (struct pollux_agent *agent, const double *dot,
                                   const double *diff_sqr, struct pollux_error *err);

/* Skip this update for a reason outside of its statistics, for example an inf that the program's
 * gradient scaler found.  Call it within a step, instead of pollux_agent_gradients: before the decision
 * on replica 0, or between the broadcast of the decision and pollux_agent_follow on every replica. */
void pollux_agent_skip (struct pollux_agent *agent);

/* True if the kept gradient of the previous update can be compared with (pollux_noise_paired). */
bool pollux_agent_paired (const struct pollux_agent *agent);

/* ---- Advice ----------------------------------------------------------------------------- */

enum pollux_verdict {
    POLLUX_GO,
    POLLUX_STOP, /* save a checkpoint after this update, then exit */
    POLLUX_DONE, /* progress has reached the total */
};

/* Advice, equal on all replicas.  batch is for the next update. */
struct pollux_advice {
    struct pollux_batch batch;
    int verdict;     /* enum pollux_verdict */
    bool skip;       /* no optimizer step: an inf, a NaN, or pollux_agent_skip */
    double gain;     /* progress of this update; 0 outside of a step, or if it is skipped */
    double progress; /* updates with batch M0, including this one */
};

/* The batch of an update, counted from 0 since the training began (pollux_status), if the present choice
 * stays: programs that prepare data in advance ask for it.  Without probes it is always the same. */
struct pollux_batch pollux_agent_batch_at (const struct pollux_agent *agent, int64_t update);

/* Decide on replica 0: within a step on its update and on the next batch, outside of a step on the
 * batch only.  Returns a buffer of the agent with the *ret_count = 8 + groups numbers to broadcast.
 * On other replicas it only returns the buffer. */
double *pollux_agent_decide (struct pollux_agent *agent, size_t *ret_count);

/* Use the numbers, on every replica including 0.  -EINVAL, with no change of the advice: they are not
 * advice, because they were not broadcast or come from another program. */
int pollux_agent_follow (struct pollux_agent *agent, struct pollux_advice *ret,
                         struct pollux_error *err);

/* The factor on the learning rate of a group for this update, from the last advice.  1 for a group
 * that does not exist.  Two numbers of Adam follow the gain instead: beta1^gain is its beta1, and the weights
 * of AdamW decay by rate x gain x decay. */
double pollux_agent_factor (const struct pollux_agent *agent, int group);

/* ---- Status ----------------------------------------------------------------------------- */

/* The state of the agent.  Only replica 0 measures. */
struct pollux_status {
    struct pollux_batch batch; /* the choice; a probe divides it */
    int64_t updates;           /* since the training began */
    double progress, total;    /* total 0: unknown */
    struct pollux_grad grad;   /* averages of what was measured */
    struct pollux_grad
        decision_grad;   /* the estimate that decides: batch, gain, progress and reports */
    double noise_scale;  /* samples, by grad; NaN: unknown */
    double noise_weight; /* pollux_noise_weight */
    bool noise_biased;
    double noise_unbiased; /* samples: of what decides, without allowances; NaN: unknown */
    bool fitted;           /* fit and best are set */
    struct pollux_fit fit;
    struct pollux_best best; /* for this placement, at the last fit or choice */
    int samples;             /* configurations measured */
    int max_profiled_replicas;
    int64_t reports_sent, reports_lost;
    int report_error; /* errno value of the last lost report; 0: none */
};
void pollux_agent_status (const struct pollux_agent *agent, struct pollux_status *ret);

/* ---- Saving ----------------------------------------------------------------------------- */

/* Progress, noise averages, measured times and the model as pollux_agent_state_size bytes, equal
 * on all machines.  -ENOSPC: size is smaller. */
size_t pollux_agent_state_size (const struct pollux_agent *agent);
int pollux_agent_state_save (const struct pollux_agent *agent, void *ret, size_t size,
                             struct pollux_error *err);

/* Restore a state that was saved with equal groups and M0, with any number of replicas.  Accepts any
 * bytes.  -EINVAL, with no change: err says what is wrong with them. */
int pollux_agent_state_restore (struct pollux_agent *agent, const void *data, size_t size,
                                struct pollux_error *err);

/* The same in the file "pollux-agent" of a checkpoint (pollux/checkpoint.h). */
int pollux_agent_save (const struct pollux_agent *agent, struct pollux_checkpoint *checkpoint,
                       struct pollux_error *err);
int pollux_agent_restore (struct pollux_agent *agent, const struct pollux_checkpoint *checkpoint,
                          struct pollux_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
