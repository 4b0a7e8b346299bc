/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicas under mpirun that follow one agent, for tests/house/mpi.sh:
 *
 *     replicas STEPS DIR [SIGNALLED]
 *
 * resume from DIR, make at most STEPS updates in all on samples of a generated dataset, and save.  The
 * replica of rank SIGNALLED gets SIGTERM half-way.  Each prints
 * `RANK of K: UPDATES updates, VERDICT, progress P, checksum C, seen N`; the checksum is over all
 * advice that it has followed, and N the sum of the indices it has trained on.
 */
#include <pollux/mpi.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 64, LENGTH = 1000, PATH_SIZE = 256 };

struct run {
    int rank, replicas;
    struct pollux_agent *agent;
    struct pollux_sampler sampler;
    int64_t updates, seen;
    double checksum;
};

static void must (int code, const struct pollux_error *err)
{
    if (code < 0) {
        fprintf (stderr, "%s\n", err->text);
        MPI_Abort (MPI_COMM_WORLD, 1);
    }
}

/* The gradient of a sample: one of the dataset's, the same for every replica that asks. */
static void add_gradient (int64_t index, float *sum)
{
    uint64_t state = (uint64_t)index * 0x9e3779b97f4a7c15u + 1;
    for (int d = 0; d < DIM; d++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum[d] += 1 + 8 * ((float)(state >> 40) / (1 << 23) - 1);
    }
}

static void update (struct run *run, struct pollux_advice *advice, struct pollux_error *err)
{
    struct pollux_batch batch = advice->batch;
    float mean[DIM] = {0};
    double micro_sqr = 0;
    int64_t *indices = malloc ((size_t)batch.m * sizeof (indices[0])), parts = batch.s + 1;
    pollux_agent_step_begin (run->agent);
    for (int64_t step = 0; step < parts; step++) {
        float g[DIM] = {0};
        must (pollux_sampler_take (&run->sampler, run->replicas, run->rank, batch, step, indices,
                                   err),
              err);
        for (int64_t i = 0; i < batch.m; i++) {
            add_gradient (indices[i], g);
            run->seen += indices[i];
        }
        for (int d = 0; d < DIM; d++) {
            g[d] /= (float)batch.m;
            mean[d] += g[d] / (float)(parts * run->replicas);
        }
        micro_sqr += pollux_sqr_f32 (g, DIM, NULL, NULL) / (double)parts;
    }
    free (indices);
    pollux_agent_sync_begin (run->agent);
    MPI_Allreduce (MPI_IN_PLACE, mean, DIM, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    pollux_mpi_mean (MPI_COMM_WORLD, &micro_sqr, 1);
    pollux_agent_sync_end (run->agent);
    double mean_sqr = pollux_sqr_f32 (mean, DIM, NULL, NULL);
    if (run->replicas * parts > 1)
        must (pollux_agent_gradients (run->agent, parts, &micro_sqr, &mean_sqr, err), err);
    else
        must (pollux_agent_gradients_single (run->agent, NULL, NULL, err), err);
    must (pollux_mpi_advise (MPI_COMM_WORLD, run->agent, advice, err), err);
    pollux_agent_step_end (run->agent);
    run->updates++;
    run->checksum = 0.5 * run->checksum + (double)(advice->batch.m * (advice->batch.s + 1)) +
                    advice->progress + pollux_agent_factor (run->agent, 0);
    int64_t passes = pollux_sampler_advance (&run->sampler, run->replicas, batch, err);
    must (passes < 0 ? -1 : 0, err);
    if (passes > 0) {
        pollux_agent_pass_begin (run->agent);
        must (pollux_mpi_advise (MPI_COMM_WORLD, run->agent, advice, err), err);
    }
}

static void resume (struct run *run, const char *directory, struct pollux_error *err)
{
    struct pollux_checkpoint *checkpoint;
    int64_t saved[3];
    if (pollux_checkpoint_open (directory, &checkpoint, NULL, err) < 0)
        return;
    must (pollux_agent_restore (run->agent, checkpoint, err), err);
    must (pollux_checkpoint_read (checkpoint, "position", saved, sizeof (saved), err), err);
    run->sampler.pass = saved[0];
    run->sampler.offset = saved[1];
    run->updates = saved[2];
    pollux_checkpoint_close (checkpoint);
}

static void save (const struct run *run, const char *directory, struct pollux_error *err)
{
    struct pollux_checkpoint *checkpoint;
    int64_t saved[3] = {run->sampler.pass, run->sampler.offset, run->updates};
    must (pollux_checkpoint_begin (directory, &checkpoint, err), err);
    must (pollux_agent_save (run->agent, checkpoint, err), err);
    must (pollux_checkpoint_write (checkpoint, "position", saved, sizeof (saved), err), err);
    must (pollux_checkpoint_commit (checkpoint, 2, err), err);
    pollux_checkpoint_close (checkpoint);
}

int main (int count, char **words)
{
    static const char *const verdicts[] = {"go", "stop", "done"};
    struct pollux_error err = {.text = ""};
    struct pollux_setup setup;
    struct pollux_advice advice;
    struct run run = {.sampler = {.seed = 1, .length = LENGTH}};
    MPI_Init (&count, &words);
    if (count < 3)
        MPI_Abort (MPI_COMM_WORLD, 2);
    int64_t steps = atoll (words[1]);
    int signalled = count > 3 ? atoi (words[3]) : -1;
    pollux_setup_default (32, &setup);
    setup.limits = (struct pollux_limits){32, 512, 1, 128, true};
    setup.period_s = 1;
    must (pollux_mpi_world (MPI_COMM_WORLD, &setup.world, &err), &err);
    must (pollux_agent_open (&setup, &run.agent, &err), &err);
    must (pollux_agent_catch (run.agent, SIGTERM, &err), &err);
    run.rank = setup.world.rank;
    run.replicas = setup.world.shape.replicas;
    resume (&run, words[2], &err);
    MPI_Barrier (MPI_COMM_WORLD);
    pollux_agent_pass_begin (run.agent);
    must (pollux_mpi_advise (MPI_COMM_WORLD, run.agent, &advice, &err), &err);
    while (advice.verdict == POLLUX_GO && run.updates < steps) {
        if (run.rank == signalled && run.updates == steps / 2)
            raise (SIGTERM);
        update (&run, &advice, &err);
    }
    if (run.rank == 0)
        save (&run, words[2], &err);
    printf ("%d of %d: %lld updates, %s, progress %.17g, checksum %.17g, seen %lld\n", run.rank,
            run.replicas, (long long)run.updates, verdicts[advice.verdict], advice.progress,
            run.checksum, (long long)run.seen);
    fflush (stdout);
    pollux_agent_close (run.agent);
    MPI_Finalize ();
    return 0;
}
