/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From agents' reports to applications for the simulator.  The model is the last one fitted, from
 * the most samples.  The noise is a table over equal parts of a job's progress, with the geometric
 * mean of the reports in each part, because the simulator interpolates geometrically.
 */
#include "sim/journal_profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The simulator ends epochs on whole seconds: rounding is small for epochs of 10 s. */
static const double epoch_s = 10;
/* The least that the format allows (wire/profiles.c). */
static const double least_iterations = 1e-3;

static int grow (struct journal_profile *recorded, int count, struct pollux_error *err)
{
    if (count > recorded->capacity) {
        int capacity = count > 2 * recorded->capacity ? count : 2 * recorded->capacity;
        struct recorded_job *more = realloc (recorded->jobs, (size_t)capacity * sizeof *more);
        if (!more)
            return fail (err, -ENOMEM, "no memory for %d jobs", count);
        recorded->jobs = more;
        recorded->capacity = capacity;
    }
    for (; recorded->count < count; recorded->count++)
        memset (&recorded->jobs[recorded->count], 0, sizeof (recorded->jobs[0]));
    return 0;
}

static void take (struct recorded_job *job, const struct hints *hints)
{
    if (!hints->has_model)
        return;
    job->hints = *hints;
    double share = hints->progress / hints->total, ratio = hints->grad.var / hints->grad.sqr;
    if (!(share >= 0 && share <= 1 && ratio > 0 && isfinite (ratio)))
        return;
    int at = (int)(share * PROFILE_KNOTS);
    struct recorded_knot *knot = &job->knots[at < PROFILE_KNOTS ? at : PROFILE_KNOTS - 1];
    knot->share += share;
    knot->log_ratio += log (ratio);
    knot->count++;
}

int journal_profile_begin (struct journal_profile *recorded, const struct cluster *cluster,
                           struct pollux_error *err)
{
    int code = grow (recorded, cluster->job_count, err);
    for (int i = 0; code == 0 && i < cluster->job_count; i++)
        take (&recorded->jobs[i], &cluster->jobs[i]->hints);
    return code;
}

int journal_profile_event (struct journal_profile *recorded, const struct cluster *cluster,
                           const struct event *event, struct pollux_error *err)
{
    int code = grow (recorded, cluster->job_count, err);
    if (code < 0)
        return code;
    if (event->type == EVENT_HINTS) {
        for (int i = 0; i < event->hints.count; i++)
            take (&recorded->jobs[event->hints.reports[i].job], &event->hints.reports[i].hints);
    } else if (event->type == EVENT_ROUND && !event->round.fill) {
        recorded->round = event->round;
    } else if (event->type == EVENT_STARTED && isfinite (cluster->jobs[event->job]->delay_s)) {
        recorded->delay_s += cluster->jobs[event->job]->delay_s;
        recorded->delays++;
    }
    return 0;
}

/* Epochs of about ten seconds each, as the job ran. */
static int epochs_of (const struct job *job, double total)
{
    double done = job->hints.progress > 0 ? fmin (job->hints.progress / total, 1) : 1;
    double epochs = floor (fmin (job->held_s / done / epoch_s, total / least_iterations));
    return (int)fmax (1, fmin (epochs, PROFILE_EPOCHS_LIMIT));
}

/* The types of nodes that it has models of, the one that it trained on last among them. */
static int take_types (const struct job *job, const struct hints *hints,
                       struct profile_type ret[PROFILE_TYPES])
{
    int count = 0;
    for (int i = 0; i < hints_model_count (hints) && count < PROFILE_TYPES; i++) {
        struct type_model model = hints_model_at (hints, i);
        double speed = job_type_speed (job, model.type);
        if (!model.type[0])
            continue;
        ret[count] = (struct profile_type){.min_local = hints->limits.min_local,
                                           .max_local = model.max_local,
                                           .one_gpu = isnan (speed) ? 0 : speed,
                                           .model = model.model};
        memcpy (ret[count++].name, model.type, NAME_SIZE);
    }
    return count;
}

int journal_profile_of (const struct journal_profile *recorded, const struct cluster *cluster,
                        int index, struct profile *ret, struct pollux_error *err)
{
    const struct recorded_job *seen = &recorded->jobs[index];
    const struct job *job = cluster->jobs[index];
    double total = seen->hints.total;
    struct profile profile = {.restart_delay_s = NAN,
                              .slowdown = 1,
                              .limits = seen->hints.limits,
                              .model = seen->hints.model,
                              .batch_count = 1,
                              .batches = {(double)seen->hints.limits.init_batch}};
    if (!seen->hints.has_model)
        return fail (err, -ENODATA, "it reported no model");
    if (!(total >= least_iterations && total <= 0x1p53))
        return fail (err, -ENODATA, "it reported no total amount of work");
    memcpy (profile.name, job->spec.name, sizeof (profile.name));
    profile.epochs = epochs_of (job, total);
    profile.epoch_iterations = total / profile.epochs;
    profile.type_count = take_types (job, &seen->hints, profile.types);
    for (int i = 0; i < PROFILE_KNOTS; i++) {
        const struct recorded_knot *knot = &seen->knots[i];
        if (knot->count == 0)
            continue;
        profile.progress[profile.knot_count] = knot->share / knot->count;
        profile.ratio[0][profile.knot_count++] = fmin (exp (knot->log_ratio / knot->count), 1e12);
    }
    if (profile.knot_count == 0)
        return fail (err, -ENODATA, "it reported no gradient noise");
    *ret = profile;
    return 0;
}

void journal_profile_clear (struct journal_profile *recorded)
{
    free (recorded->jobs);
    memset (recorded, 0, sizeof (*recorded));
}
