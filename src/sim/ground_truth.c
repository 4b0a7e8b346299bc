/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ground truth is a sorted array of applications.  An application has a training curve (the
 * progress and gradient statistics of each epoch), which is always a table, and a timing (step
 * times), which is a table of functions: measured_steps.c or profile.c.
 */
#include "sim/ground_truth.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sim/app.h"

struct ground_truth {
    struct app *apps;
    int count;
};

static int by_name (const void *left, const void *right)
{
    const struct app *a = left, *b = right;
    return strcmp (a->name, b->name);
}

struct app app_start (void)
{
    return (struct app){.restart_delay_s = NAN, .slowdown = 1};
}

static void clear_times (struct app *app)
{
    if (app->times)
        app->timing->free (app->times);
    app->times = NULL;
}

void app_clear (struct app *app)
{
    for (int i = 0; i < app->part_count; i++)
        clear_times (&app->parts[i]);
    free (app->parts);
    clear_times (app);
    training_curve_clear (&app->curve);
}

void app_finish (struct app *app)
{
    for (int i = 0; i < app->part_count; i++) {
        struct app *part = &app->parts[i];
        memcpy (part->name, app->name, sizeof (part->name));
        part->limits.init_batch = app->limits.init_batch;
        part->limits.max_batch = app->limits.max_batch;
        part->limits.accumulation = app->limits.accumulation;
        part->curve = app->curve;
        part->restart_delay_s = app->restart_delay_s;
        part->slowdown = app->slowdown;
        part->index = i + 1;
    }
}

static void clear_all (struct app *apps, int count)
{
    for (int i = 0; i < count; i++)
        app_clear (&apps[i]);
    free (apps);
}

int ground_truth_new (struct app *apps, int count, struct ground_truth **ret,
                      struct pollux_error *err)
{
    struct ground_truth *truth = malloc (sizeof *truth);
    if (!truth) {
        clear_all (apps, count);
        return fail (err, -ENOMEM, "no memory for %d applications", count);
    }
    qsort (apps, (size_t)count, sizeof *apps, by_name);
    *truth = (struct ground_truth){.apps = apps, .count = count};
    *ret = truth;
    return 0;
}

void ground_truth_free (struct ground_truth *truth)
{
    if (!truth)
        return;
    clear_all (truth->apps, truth->count);
    free (truth);
}

int ground_truth_count (const struct ground_truth *truth)
{
    return truth->count;
}

const struct app *ground_truth_at (const struct ground_truth *truth, int index)
{
    return &truth->apps[index];
}

const struct app *ground_truth_app (const struct ground_truth *truth, const char *name)
{
    int low = 0, high = truth->count;
    while (low < high) {
        int middle = (low + high) / 2, order = strcmp (truth->apps[middle].name, name);
        if (order == 0)
            return &truth->apps[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- Preparing on all processors ---------------------------------------------------------- */

enum { THREADS_LIMIT = 16 };

struct preparation {
    const struct ground_truth *truth;
    const bool *wanted;
    atomic_int next;
    atomic_int code;
};

static int prepare_times (const struct app *app)
{
    return app->timing && app->timing->prepare ? app->timing->prepare (app->times, NULL) : 0;
}

/* Each thread takes the next application until none is left.  An application pinned to one replica
 * rarely needs its triangulation; it is made on demand. */
static void *prepare_some (void *self)
{
    struct preparation *preparation = self;
    for (;;) {
        int i = atomic_fetch_add (&preparation->next, 1);
        if (i >= preparation->truth->count)
            return NULL;
        const struct app *app = &preparation->truth->apps[i];
        if (preparation->wanted && !preparation->wanted[i])
            continue;
        int code = app->timing && app->pin.replicas == 1 ? 0 : prepare_times (app);
        for (int part = 0; code == 0 && part < app->part_count; part++)
            code = prepare_times (&app->parts[part]);
        if (code < 0)
            preparation->code = code;
    }
}

int ground_truth_prepare (const struct ground_truth *truth, const bool *wanted,
                          struct pollux_error *err)
{
    struct preparation preparation = {.truth = truth, .wanted = wanted};
    pthread_t threads[THREADS_LIMIT];
    int started = 0, others = (int)sysconf (_SC_NPROCESSORS_ONLN) - 1;
    while (started < others && started < THREADS_LIMIT && started < truth->count - 1 &&
           pthread_create (&threads[started], NULL, prepare_some, &preparation) == 0)
        started++;
    prepare_some (&preparation);
    for (int i = 0; i < started; i++)
        pthread_join (threads[i], NULL);
    if (preparation.code < 0)
        return fail (err, preparation.code, "no memory to triangulate the measurements");
    return 0;
}

/* ---- Applications ------------------------------------------------------------------------- */

const char *app_name (const struct app *app)
{
    return app->name;
}

int app_max_epochs (const struct app *app)
{
    return app->curve.epochs;
}

const struct pollux_limits *app_limits (const struct app *app)
{
    return &app->limits;
}

struct app_pin app_pin (const struct app *app)
{
    return app->pin;
}

double app_need (const struct app *app, int e)
{
    return app->curve.need[e];
}

int64_t app_dataset_size (const struct app *app)
{
    double samples = rint (app->curve.need[1] * (double)app->limits.init_batch);
    return samples >= 1 && samples <= (double)POLLUX_BATCH_LIMIT ? (int64_t)samples : 0;
}

struct pollux_grad app_grad (const struct app *app, int e, double total_batch)
{
    return training_curve_at (&app->curve, e, total_batch).grad;
}

double app_iterations (const struct app *app, int e, double total_batch)
{
    return training_curve_at (&app->curve, e, total_batch).iterations;
}

struct app_step app_step (const struct app *app, const int *counts, int nodes, int64_t m)
{
    return app->timing->step (app->times, counts, nodes, m);
}

const struct app *app_on (const struct app *app, const char *type)
{
    for (int i = 0; i < app->part_count; i++)
        if (strcmp (app->parts[i].type, type) == 0)
            return &app->parts[i];
    return app->timing && (app->part_count == 0 || !type[0]) ? app : NULL;
}

int app_index (const struct app *app)
{
    return app->index;
}

double app_speed (const struct app *app)
{
    return app->speed;
}

const char *app_type (const struct app *app, int index)
{
    return index < app->part_count ? app->parts[index].type : NULL;
}

double app_restart_delay (const struct app *app)
{
    return app->restart_delay_s;
}

double app_slowdown (const struct app *app)
{
    return app->slowdown;
}

int64_t app_max_local (const struct app *app, const int *counts, int nodes)
{
    return app->timing->max_local ? app->timing->max_local (app->times, counts, nodes)
                                  : app->limits.max_local;
}

int64_t app_most_local (const struct app *app, int replicas)
{
    return app->timing->most_local ? app->timing->most_local (app->times, replicas) : 0;
}

double app_iter_time (struct app_step step, int64_t s)
{
    return step.step_s + (double)s * (step.step_s - step.sync_s);
}

struct app_step model_step (const struct pollux_model *model, const int *counts, int nodes,
                            int64_t m)
{
    struct pollux_shape shape = {.nodes = nodes};
    for (int i = 0; i < nodes; i++)
        shape.replicas += counts[i];
    double step_s = pollux_iter_time (model, shape, (struct pollux_batch){.m = m});
    return (struct app_step){.step_s = step_s, .sync_s = step_s - pollux_grad_time (model, m)};
}
