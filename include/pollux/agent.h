/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent: what a training program adds to become a job that adapts.  It measures steps and
 * gradient noise, fits the throughput model, reports to its supervisor, and advises: which batch,
 * which learning rate, and when to stop.  In every replica:
 *
 *     pollux_agent_open (&setup, &agent, &err)
 *     pollux_agent_restore (agent, checkpoint, &err)      if there is one
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
 * Replica 0 decides and all follow in the same step.  How the numbers travel is the caller's
 * business; ADVISE is
 *
 *     double *numbers = pollux_agent_decide (agent, &count)
 *     broadcast count doubles from replica 0, in place           nothing to do for one replica
 *     pollux_agent_follow (agent, &advice, &err)
 *
 * which pollux/mpi.h has as one call.  Evaluation and checkpoints go between step_end and
 * step_begin, where nothing is measured.
 *
 * The agent has no thread.  None of these calls waits for anybody: not for a daemon, a supervisor
 * or a disk.  In a child of fork() an agent is inert: calls do nothing and the advice stays.
 * One agent belongs to one thread at a time; distinct agents are independent.
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

/* A replica among replicas, as its launcher says.  The first of these that is there counts, rank
 * and number of replicas together:
 *
 *     polluxd, torchrun   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE; POLLUX_NODES or
 *                         GROUP_WORLD_SIZE
 *     Open MPI            OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
 *     Slurm               SLURM_PROCID, SLURM_STEP_NUM_TASKS or SLURM_NTASKS, SLURM_LOCALID,
 *                         SLURM_STEP_NUM_NODES or SLURM_NNODES
 *     nothing             one replica
 *
 * Where nobody tells the number of nodes it is replicas / local replicas, rounded up.  generation
 * is POLLUX_GENERATION, 0 without a daemon. */
struct pollux_world {
    int rank, local_rank;
    struct pollux_shape shape;
    int generation;
};

/* -EINVAL names the variable that cannot be. */
int pollux_world_read (struct pollux_world *ret, struct pollux_error *err);

/* ---- Opening ---------------------------------------------------------------------------- */

/* What the program says of itself.  Start with pollux_setup_default. */
struct pollux_setup {
    struct pollux_limits limits; /* M0 and what to choose from */
    int groups;                  /* parameter groups, 1 to POLLUX_GROUPS_LIMIT */
    const char *rule;            /* learning-rate rule by name; NULL: adascale */
    double total;                /* updates with batch M0 to train for; 0: unknown */
    double warmup_epochs;        /* legw only */
    int64_t dataset_size;        /* samples in a pass; legw only */
    struct pollux_batch fixed;   /* train with this batch; m = 0: choose */
    bool observe;                /* measure and report only: all factors are 1, the batch stays */
    double period_s;             /* refit and report at most so often, at least 1 s; 0: 30 s */
    struct pollux_world world;   /* shape.replicas = 0: as the environment says */
};

/* Everything optional off: one group, adascale, M0 alone (max_batch, max_local are M0, min_local
 * 1, no accumulation). */
void pollux_setup_default (int64_t init_batch, struct pollux_setup *ret);

struct pollux_agent;

/* An agent for this process.  *ret belongs to the caller (pollux_agent_close).  It reports to the
 * socket POLLUX_SOCKET if it is replica 0 of a generation; without one it adapts alone.
 * -EINVAL for a setup or an environment that cannot be, -ENOENT for an unknown rule, -ENOMEM. */
int pollux_agent_open (const struct pollux_setup *setup, struct pollux_agent **ret,
                       struct pollux_error *err);

/* Sends a last report and takes back the signal handler.  Takes NULL too. */
void pollux_agent_close (struct pollux_agent *agent);

struct pollux_world pollux_agent_world (const struct pollux_agent *agent);

/* POLLUX_CHECKPOINT_DIR when the agent was opened; NULL if nobody has said.  The agent's. */
const char *pollux_agent_checkpoint_dir (const struct pollux_agent *agent);

/* Let a signal, SIGTERM say, become advice to stop: the handler remembers it and calls the handler
 * of before, if that is a function.  Opt-in; one signal per agent.  -EINVAL for a signal that
 * cannot be caught, -EBUSY if this agent has one. */
int pollux_agent_catch (struct pollux_agent *agent, int signal, struct pollux_error *err);

/* Whether this replica was asked to stop; the advice tells so once replica 0 knows. */
bool pollux_agent_stopping (const struct pollux_agent *agent);

/* Ask to stop: the next decision will, if this is replica 0. */
void pollux_agent_stop (struct pollux_agent *agent);

/* The work in all, in updates with batch M0: epochs x dataset / M0.  0: unknown. */
void pollux_agent_set_total (struct pollux_agent *agent, double total);

/* The batch that an observed program trains with, or another fixed one; m = 0: choose again.
 * -EINVAL for m < 0 or s < 0, or more than POLLUX_BATCH_LIMIT samples. */
int pollux_agent_set_fixed (struct pollux_agent *agent, struct pollux_batch batch,
                            struct pollux_error *err);

/* ---- Measuring -------------------------------------------------------------------------- */

/* A pass over the data begins, or goes on after a start: the next decision chooses the batch, and
 * the first step is not measured.  A program that never calls this has its batch chosen every period instead. */
void pollux_agent_pass_begin (struct pollux_agent *agent);

/* Around one update of the parameters with the batch last advised. */
void pollux_agent_step_begin (struct pollux_agent *agent);
void pollux_agent_step_end (struct pollux_agent *agent);

/* Around waiting for the other replicas, any number of times in a step. */
void pollux_agent_sync_begin (struct pollux_agent *agent);
void pollux_agent_sync_end (struct pollux_agent *agent);
/* The same where somebody else has measured it.  Nothing below 0. */
void pollux_agent_sync_time (struct pollux_agent *agent, double seconds);

/* Optional, after each of the s micro-steps without synchronisation, for programs whose
 * synchronisation overlaps with computing and cannot be told apart. */
void pollux_agent_micro_end (struct pollux_agent *agent);

/* This update has so many samples, not K m (s+1): the last of a pass, or a total that K does not
 * divide.  Within a step, before its decision, and for that step alone: gain, progress, factors and
 * statistics are those of its size, parts may be fewer than s + 1, and its times are left out of
 * the profile, unless rounding m up explains the difference.  Only replica 0 needs to be told: what
 * follows from it travels with the advice; others may be.
 * -EINVAL outside of a step or after its decision, and for samples outside 1..POLLUX_BATCH_LIMIT. */
int pollux_agent_samples (struct pollux_agent *agent, int64_t samples, struct pollux_error *err);

/* The statistics of this update (pollux_noise_update): per group, mean over n = replicas x parts
 * micro-gradients of their squared norms, and squared norm of the mean.  parts is s + 1; or 1
 * where only the mean of a replica's micro-steps is seen.  Nothing to do but for replica 0.
 * -EDOM: not finite; the advice will be to skip this update.  -EINVAL for what cannot be, and for
 * n = 1; then training can go on, and the estimate is as before. */
int pollux_agent_gradients (struct pollux_agent *agent, int64_t parts, const double *micro_sqr,
                            const double *mean_sqr, struct pollux_error *err);

/* The same for n = 1 (pollux_noise_update_single): against the gradient of the update before, or
 * NULL twice if there is none. */
int pollux_agent_gradients_single (struct pollux_agent *agent, const double *dot,
                                   const double *diff_sqr, struct pollux_error *err);

/* Skip this update, for a reason that its statistics do not tell: the program's gradient scaler met
 * an inf, say.  Within a step, in the place of its statistics, before its decision.  Nothing to do
 * but for replica 0. */
void pollux_agent_skip (struct pollux_agent *agent);

/* Whether a kept gradient of the update before can be compared with. */
bool pollux_agent_paired (const struct pollux_agent *agent);

/* ---- Advice ----------------------------------------------------------------------------- */

enum pollux_verdict {
    POLLUX_GO,
    POLLUX_STOP, /* save a checkpoint after this update and leave */
    POLLUX_DONE, /* progress has reached the total */
};

/* Equal on all replicas.  batch is for the next update. */
struct pollux_advice {
    struct pollux_batch batch;
    int verdict;     /* enum pollux_verdict */
    bool skip;       /* an inf or a NaN, or pollux_agent_skip: no optimizer step */
    double gain;     /* progress of this update; 0 outside a step, or if it is skipped */
    double progress; /* updates with batch M0, this one included */
};

/* Replica 0 decides, inside a step on its update and on the next batch, outside on the batch alone.
 * Returns the numbers to broadcast, *ret_count of them, in a buffer of the agent that is the same
 * on all replicas, 7 + groups of them; others than replica 0 decide nothing. */
double *pollux_agent_decide (struct pollux_agent *agent, size_t *ret_count);

/* Take the numbers in, on every replica, replica 0 included.  -EINVAL if they are no advice: they
 * were not broadcast, or from another program.  The advice is then as before. */
int pollux_agent_follow (struct pollux_agent *agent, struct pollux_advice *ret,
                         struct pollux_error *err);

/* The factor on the learning rate of a group, for this update: as of the last advice.  1 for a
 * group that does not exist. */
double pollux_agent_factor (const struct pollux_agent *agent, int group);

/* ---- Looking ---------------------------------------------------------------------------- */

/* What the agent knows.  Only replica 0 measures. */
struct pollux_status {
    struct pollux_batch batch;
    double progress, total; /* total 0: unknown */
    struct pollux_grad grad;
    double noise_scale;  /* samples; NaN: unknown */
    double noise_weight; /* pollux_noise_weight */
    bool noise_biased;
    bool fitted; /* whether there is a fit, and a best batch */
    struct pollux_fit fit;
    struct pollux_best best; /* predicted for this placement, as of the last fit or choice */
    int samples;             /* configurations measured */
    int max_profiled_replicas;
    int64_t reports_sent, reports_lost;
    int report_error; /* errno value of the last one lost; 0: none was */
};
void pollux_agent_status (const struct pollux_agent *agent, struct pollux_status *ret);

/* ---- Saving ----------------------------------------------------------------------------- */

/* Progress, noise averages, measured times and the model as pollux_agent_state_size bytes, equal
 * on all machines; -ENOSPC where size is less. */
size_t pollux_agent_state_size (const struct pollux_agent *agent);
int pollux_agent_state_save (const struct pollux_agent *agent, void *ret, size_t size,
                             struct pollux_error *err);

/* The state of an agent with equal groups and M0, at any number of replicas.  Any bytes may be
 * offered: -EINVAL says what is wrong, and the agent is as before. */
int pollux_agent_state_restore (struct pollux_agent *agent, const void *data, size_t size,
                                struct pollux_error *err);

/* The same as a file "pollux-agent" of a checkpoint (pollux/checkpoint.h). */
int pollux_agent_save (const struct pollux_agent *agent, struct pollux_checkpoint *checkpoint,
                       struct pollux_error *err);
int pollux_agent_restore (struct pollux_agent *agent, const struct pollux_checkpoint *checkpoint,
                          struct pollux_error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
