/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain.c as a job for Pollux: it measures itself, uses the advised batch and learning rate, can be
 * stopped at any time, and continues with any number of replicas.  docs/agent.md explains the
 * difference.
 *
 *     build/examples/trainer mlp                        without a daemon: an adaptive batch only
 *     mpirun -np 2 build/examples/trainer mlp           the same with two replicas
 *     pollux submit --adaptive --launcher mpi -- build/examples/trainer mlp
 */
#include <cblas.h>
#include <mpi.h>
#include <pollux/mpi.h>
#include <pollux/pollux.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "options.h"
#include "step.h"

/* Exit status after saving on request: polluxd will resume the job. */
enum { EXIT_STOPPED = 143 };
enum { KEEP_CHECKPOINTS = 3 };

/* Everything that training changes, which is the content of a checkpoint. */
struct training {
    size_t length; /* of weights, gradients */
    float *weights;
    float *previous; /* the previous gradient, for n = 1 */
    struct pollux_agent *agent;
    struct position {
        int64_t update;
        struct pollux_sampler sampler;
    } position;
};

static void give_up (const struct pollux_error *err)
{
    fprintf (stderr, "trainer: %s\n", err->text);
    MPI_Abort (MPI_COMM_WORLD, 1);
}

static double read_clock (void *clock)
{
    return *(double *)clock;
}

static struct pollux_setup describe (const struct options *options, double *declared_s)
{
    struct pollux_setup setup;
    pollux_setup_default (options->batch, &setup);
    setup.limits.max_batch = options->max_batch;
    setup.limits.min_local = options->min_local;
    setup.limits.max_local = options->max_local;
    setup.limits.accumulation = options->accumulation;
    setup.rule = options->rule;
    setup.total = options->total;
    setup.dataset_size = options->samples;
    setup.fixed = (struct pollux_batch){options->fixed_m, options->fixed_s};
    setup.observe = options->observe;
    setup.period_s = options->report_s;
    if (options->declared) {
        setup.clock_s = read_clock;
        setup.clock = declared_s;
    }
    return setup;
}

/* ---- Checkpoints: what is saved is what is resumed, with whatever number of replicas ------------ */

static int save (const struct training *training, const char *directory, struct pollux_error *err)
{
    struct pollux_checkpoint *checkpoint;
    size_t size = training->length * sizeof (float);
    int code = pollux_checkpoint_begin (directory, &checkpoint, err);
    if (code < 0)
        return code;
    code = pollux_checkpoint_write (checkpoint, "weights", training->weights, size, err);
    if (code == 0)
        code = pollux_checkpoint_write (checkpoint, "previous", training->previous, size, err);
    if (code == 0)
        code = pollux_checkpoint_write (checkpoint, "position", &training->position,
                                        sizeof (training->position), err);
    if (code == 0)
        code = pollux_agent_save (training->agent, checkpoint, err);
    if (code == 0)
        code = pollux_checkpoint_commit (checkpoint, KEEP_CHECKPOINTS, err);
    pollux_checkpoint_close (checkpoint);
    return code;
}

/* -ENOENT if there is no checkpoint yet. */
static int resume (struct training *training, const char *directory, bool aloud,
                   struct pollux_error *err)
{
    struct pollux_checkpoint *checkpoint;
    struct pollux_error note;
    size_t size = training->length * sizeof (float);
    int code = pollux_checkpoint_open (directory, &checkpoint, &note, err);
    if (code < 0)
        return code;
    code = pollux_checkpoint_read (checkpoint, "weights", training->weights, size, err);
    if (code == 0)
        code = pollux_checkpoint_read (checkpoint, "previous", training->previous, size, err);
    if (code == 0)
        code = pollux_checkpoint_read (checkpoint, "position", &training->position,
                                       sizeof (training->position), err);
    if (code == 0)
        code = pollux_agent_restore (training->agent, checkpoint, err);
    if (code == 0 && aloud && *note.text)
        printf ("%s\n", note.text);
    if (code == 0 && aloud)
        printf ("resumed from checkpoint %lld: update %lld\n",
                (long long)pollux_checkpoint_number (checkpoint),
                (long long)training->position.update);
    pollux_checkpoint_close (checkpoint);
    return code;
}

/* ---- Noise: from norms of the gradients ------------------------------------------------------ */

/* gradient is the mean of all parts of the update, micro_sqr the mean of their squared norms.  An inf
 * or a NaN needs no check here: the advice will be to skip the update. */
static void measure (struct training *training, int64_t parts, int replicas, double micro_sqr,
                     const float *gradient)
{
    if (parts * replicas > 1) {
        double mean_sqr = pollux_sqr_f32 (gradient, training->length, NULL, NULL);
        pollux_agent_gradients (training->agent, parts, &micro_sqr, &mean_sqr, NULL);
        return;
    }
    struct pollux_pair pair = {0};
    bool paired = pollux_agent_paired (training->agent);
    if (paired)
        pair = pollux_pair_f32 (training->previous, gradient, training->length, NULL, NULL);
    pollux_agent_gradients_single (training->agent, paired ? &pair.dot : NULL,
                                   paired ? &pair.diff_sqr : NULL, NULL);
    memcpy (training->previous, gradient, training->length * sizeof (float));
}

int main (int argc, char **argv)
{
    int rank, replicas;
    struct pollux_error err;
    MPI_Init (&argc, &argv);
    MPI_Comm_rank (MPI_COMM_WORLD, &rank);
    MPI_Comm_size (MPI_COMM_WORLD, &replicas);
    openblas_set_num_threads (1);
    const struct options options = options_parse (argc, argv, true);
    const struct network *network = options.network;
    double declared_s = 0;
    const struct pollux_setup setup = describe (&options, &declared_s);
    struct pace pace = options.pace;
    pace.declared_s = options.declared ? &declared_s : NULL;

    struct data data = data_make (network, options.samples, options.seed);
    struct trace trace = trace_open (options.trace, rank);
    const size_t length = network->parameters;
    float *weights = allocate ((int64_t)length, sizeof (float));
    float *gradient = allocate ((int64_t)length, sizeof (float));
    float *part = allocate ((int64_t)length, sizeof (float));
    float *previous = allocate ((int64_t)length, sizeof (float));
    int64_t most = options.fixed_m > options.max_local ? options.fixed_m : options.max_local;
    int64_t *indices = allocate (most, sizeof (int64_t));
    network->init (options.seed, weights);

    struct training training = {
        length, weights, previous,
        .position.sampler = {.seed = options.seed, .length = options.samples}};
    if (pollux_agent_open (&setup, &training.agent, &err) < 0 ||
        pollux_agent_catch (training.agent, SIGTERM, &err) < 0)
        give_up (&err);
    struct pollux_agent *agent = training.agent;
    struct position *at = &training.position;
    const struct pollux_world world = pollux_agent_world (agent);
    const char *directory = pollux_agent_checkpoint_dir (agent);
    if (!directory)
        directory = options.checkpoints;
    if (directory) {
        int code = resume (&training, directory, rank == 0, &err);
        if (code < 0 && code != -ENOENT)
            give_up (&err);
    }
    pollux_agent_pass_begin (agent);
    struct pollux_advice advice;
    if (pollux_mpi_advise (MPI_COMM_WORLD, agent, &advice, &err) < 0)
        give_up (&err);
    double saved_s = now_s ();

    while (advice.verdict == POLLUX_GO) {
        double begun_s = now_s (), sums[2] = {0}; /* loss, squared norms */
        const struct pollux_batch batch = advice.batch;
        pollux_agent_step_begin (agent);

        memset (gradient, 0, length * sizeof (float));
        for (int64_t i = 0; i <= batch.s; i++) {
            if (pollux_sampler_take (&at->sampler, replicas, rank, batch, i, indices, &err) < 0)
                give_up (&err);
            sums[0] += micro_step (network, &data, weights, indices, batch.m, &pace, part);
            sums[1] += pollux_sqr_f32 (part, length, NULL, NULL);
            cblas_saxpy ((int)length, 1, part, 1, gradient, 1);
            trace_samples (&trace, at->update, indices, batch.m);
        }
        pollux_agent_sync_begin (agent);
        sum_replicas (gradient, length, sums, 2, &pace);
        pollux_agent_sync_end (agent);
        const double parts = (double)(replicas * (batch.s + 1));
        cblas_sscal ((int)length, (float)(1 / parts), gradient, 1);

        measure (&training, batch.s + 1, replicas, sums[1] / parts, gradient);
        if (pollux_mpi_advise (MPI_COMM_WORLD, agent, &advice, &err) < 0)
            give_up (&err);
        const double factor = pollux_agent_factor (agent, 0);
        if (!advice.skip)
            cblas_saxpy ((int)length, (float)(-options.rate * factor), gradient, 1, weights, 1);
        pollux_agent_step_end (agent);

        struct pollux_status status;
        pollux_agent_status (agent, &status);
        trace_update (&trace, &(struct trace_update){.update = at->update,
                                                     .generation = world.generation,
                                                     .m = batch.m,
                                                     .s = batch.s,
                                                     .replicas = replicas,
                                                     .loss = sums[0] / parts,
                                                     .factor = factor,
                                                     .gain = advice.gain,
                                                     .progress = advice.progress,
                                                     .noise_scale = status.noise_scale,
                                                     .step_s = now_s () - begun_s});
        if (pollux_sampler_advance (&at->sampler, replicas, batch, &err) > 0)
            pollux_agent_pass_begin (agent);
        at->update++;

        const double before = advice.progress - advice.gain, every = options.evaluate_every;
        if (rank == 0 && (int64_t)(advice.progress / every) > (int64_t)(before / every)) {
            double held = held_out_loss (network, &data, weights);
            printf ("progress %.0f of %.0f, update %lld: batch %.0f = %d x %lld x %lld, noise "
                    "scale %.0f, rate x %.2f, held-out loss %.4f\n",
                    advice.progress, options.total, (long long)at->update, parts * (double)batch.m,
                    replicas, (long long)batch.m, (long long)batch.s + 1, status.noise_scale,
                    factor, held);
            fflush (stdout);
            if (held <= options.target)
                pollux_agent_set_total (agent, advice.progress);
        }
        if (rank == 0 && directory && now_s () - saved_s >= options.save_s) {
            if (save (&training, directory, &err) < 0)
                fprintf (stderr, "trainer: %s; going on without\n", err.text);
            saved_s = now_s ();
        }
    }

    int code = advice.verdict == POLLUX_STOP ? EXIT_STOPPED : 0;
    if (rank == 0 && directory && save (&training, directory, &err) < 0) {
        fprintf (stderr, "trainer: %s\n", err.text);
        code = 1;
    }
    if (rank == 0)
        printf ("%s at progress %.1f after %lld updates, held-out loss %.4f\n",
                code == 0 ? "finished" : "stopped", advice.progress, (long long)at->update,
                held_out_loss (network, &data, weights));
    pollux_agent_close (agent);
    trace_close (&trace);
    data_free (&data);
    free (indices);
    free (previous);
    free (part);
    free (gradient);
    free (weights);
    MPI_Finalize ();
    return code;
}
