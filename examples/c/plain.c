/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data-parallel trainer without Pollux: stochastic gradient descent with a fixed batch, divided
 * among the replicas of an mpirun.  It cannot be stopped and resumed, and cannot use more replicas
 * than its batch allows.  trainer.c is the same program with Pollux; docs/agent.md explains the
 * difference.
 *
 *     mpirun -np 2 build/examples/plain mlp
 */
#include <cblas.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "options.h"
#include "step.h"

/* The order of the samples in a pass over the data (Fisher and Yates). */
static void shuffle (int64_t *order, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t j = (int64_t)(random_bits (&seed) % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
}

int main (int argc, char **argv)
{
    int rank, replicas;
    MPI_Init (&argc, &argv);
    MPI_Comm_rank (MPI_COMM_WORLD, &rank);
    MPI_Comm_size (MPI_COMM_WORLD, &replicas);
    openblas_set_num_threads (1);
    const struct options options = options_parse (argc, argv, false);
    const struct network *network = options.network;
    const int64_t s = options.accumulate, m = options.batch / (replicas * (s + 1));
    if (m * replicas * (s + 1) != options.batch || options.batch > options.samples) {
        fprintf (stderr, "--batch %lld cannot be divided by %d replicas x %lld micro-steps\n",
                 (long long)options.batch, replicas, (long long)s + 1);
        MPI_Abort (MPI_COMM_WORLD, 2);
    }

    struct data data = data_make (network, options.samples, options.seed);
    struct trace trace = trace_open (options.trace, rank);
    const size_t length = network->parameters;
    float *weights = allocate ((int64_t)length, sizeof (float));
    float *gradient = allocate ((int64_t)length, sizeof (float));
    float *part = allocate ((int64_t)length, sizeof (float));
    int64_t *order = allocate (options.samples, sizeof (int64_t));
    const int64_t updates_per_pass = options.samples / options.batch;
    network->init (options.seed, weights);

    for (int64_t update = 0; update < (int64_t)options.total; update++) {
        double begun_s = now_s (), loss = 0;
        int64_t at = update % updates_per_pass * options.batch + rank * (s + 1) * m;
        if (update % updates_per_pass == 0)
            shuffle (order, options.samples, options.seed + (uint64_t)(update / updates_per_pass));

        memset (gradient, 0, length * sizeof (float));
        for (int64_t i = 0; i <= s; i++, at += m) {
            loss += micro_step (network, &data, weights, order + at, m, &options.pace, part);
            cblas_saxpy ((int)length, 1, part, 1, gradient, 1);
            trace_samples (&trace, update, order + at, m);
        }
        sum_replicas (gradient, length, &loss, 1, &options.pace);
        const int64_t parts = replicas * (s + 1);
        cblas_saxpy ((int)length, (float)(-options.rate / (double)parts), gradient, 1, weights, 1);

        trace_update (&trace, &(struct trace_update){.update = update,
                                                     .m = m,
                                                     .s = s,
                                                     .replicas = replicas,
                                                     .loss = loss / (double)parts,
                                                     .factor = 1,
                                                     .gain = 1,
                                                     .progress = (double)update + 1,
                                                     .step_s = now_s () - begun_s});
        if ((update + 1) % (int64_t)options.evaluate_every == 0) {
            double held = held_out_loss (network, &data, weights);
            if (rank == 0)
                printf ("update %lld: held-out loss %.4f\n", (long long)update + 1, held);
            if (held <= options.target)
                break;
        }
    }

    trace_close (&trace);
    data_free (&data);
    free (order);
    free (part);
    free (gradient);
    free (weights);
    MPI_Finalize ();
    return 0;
}
