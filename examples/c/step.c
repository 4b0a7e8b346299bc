/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of an update.  A replica that waits for others polls and sleeps, where MPI would spin: on
 * a machine with fewer cores than replicas, spinning would slow down the others.
 */
#include "step.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOK_NS = 100000 };

double now_s (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void sleep_until (double at_s)
{
    struct timespec at = {.tv_sec = (time_t)at_s};
    at.tv_nsec = (long)((at_s - (double)at.tv_sec) * 1e9);
    while (at_s > now_s () && clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

/* Let this time pass since begun_s. */
static void spend (const struct pace *pace, double begun_s, double seconds)
{
    if (pace->declared_s)
        *pace->declared_s += seconds;
    else
        sleep_until (begun_s + seconds);
}

double micro_step (const struct network *network, const struct data *data, const float *weights,
                   const int64_t *indices, int64_t m, const struct pace *pace, float *ret_gradient)
{
    double begun_s = now_s ();
    float *x = allocate (m * network->inputs, sizeof (float));
    int *labels = allocate (m, sizeof (int));
    data_gather (data, indices, m, x, labels);
    double loss = network->loss (weights, x, labels, m, ret_gradient);
    free (x);
    free (labels);
    spend (pace, begun_s, pace->step_s + pace->sample_s * (double)m);
    return loss;
}

static void wait_for (MPI_Request *request)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    int done = 0;
    while (MPI_Test (request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        nanosleep (&pause, NULL);
}

void sum_replicas (float *gradient, size_t length, double *numbers, int count,
                   const struct pace *pace)
{
    int replicas;
    double begun_s = now_s ();
    MPI_Request request;
    MPI_Comm_size (MPI_COMM_WORLD, &replicas);
    if (replicas == 1)
        return;
    MPI_Iallreduce (MPI_IN_PLACE, gradient, (int)length, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                    &request);
    wait_for (&request);
    MPI_Iallreduce (MPI_IN_PLACE, numbers, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    wait_for (&request);
    spend (pace, begun_s, pace->sync_s);
}

double held_out_loss (const struct network *network, const struct data *data, const float *weights)
{
    return network->loss (weights, data->x + data->count * data->inputs, data->labels + data->count,
                          data->held, NULL);
}

/* ---- Records ------------------------------------------------------------------------------ */

static FILE *open_record (const char *directory, const char *name)
{
    char path[4096];
    snprintf (path, sizeof (path), "%s/%s", directory, name);
    FILE *file = fopen (path, "a");
    if (!file)
        fprintf (stderr, "%s: %s; nothing is recorded\n", path, strerror (errno));
    return file;
}

struct trace trace_open (const char *directory, int rank)
{
    struct trace trace = {0};
    char name[32];
    if (!directory)
        return trace;
    snprintf (name, sizeof (name), "samples.%d", rank);
    trace.samples = open_record (directory, name);
    trace.updates = rank == 0 ? open_record (directory, "updates.csv") : NULL;
    if (trace.updates && ftell (trace.updates) == 0)
        fputs ("update,generation,replicas,m,s,loss,factor,gain,progress,noise_scale,step_s\n",
               trace.updates);
    return trace;
}

void trace_samples (struct trace *trace, int64_t update, const int64_t *indices, int64_t m)
{
    if (!trace->samples)
        return;
    fprintf (trace->samples, "%lld", (long long)update);
    for (int64_t i = 0; i < m; i++)
        fprintf (trace->samples, " %lld", (long long)indices[i]);
    fputc ('\n', trace->samples);
    fflush (trace->samples);
}

void trace_update (struct trace *trace, const struct trace_update *at)
{
    if (!trace->updates)
        return;
    fprintf (trace->updates, "%lld,%d,%d,%lld,%lld,%.9g,%.9g,%.9g,%.9g,%.9g,%.6f\n",
             (long long)at->update, at->generation, at->replicas, (long long)at->m,
             (long long)at->s, at->loss, at->factor, at->gain, at->progress, at->noise_scale,
             at->step_s);
    fflush (trace->updates);
}

void trace_close (struct trace *trace)
{
    if (trace->samples)
        fclose (trace->samples);
    if (trace->updates)
        fclose (trace->updates);
}
