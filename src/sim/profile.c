/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applications from profiles.  The few numbers of a profile fill the same tables as traces do:
 * every epoch needs the same progress, the noise between two knots is interpolated
 * geometrically, and iterations at a batch follow from its gain.
 */
#include "sim/profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/app.h"

/* ---- Step times of a model ---------------------------------------------------------------- */

static struct app_step modelled_step (void *self, const int *counts, int nodes, int64_t m)
{
    return model_step (self, counts, nodes, m);
}

static int modelled_model (void *self, struct pollux_model *ret, struct pollux_error *err)
{
    (void)err;
    memcpy (ret, self, sizeof *ret);
    return 0;
}

static const struct timing timing_modelled = {
    .step = modelled_step,
    .model = modelled_model,
    .free = free,
};

/* ---- The training curve ------------------------------------------------------------------- */

/* var / sqr of a batch when a share x of training is done. */
static double noise_at (const struct profile *profile, int batch, double x)
{
    const double *progress = profile->progress, *ratio = profile->ratio[batch];
    int last = profile->knot_count - 1, upper = 1;
    if (x <= progress[0])
        return ratio[0];
    if (x >= progress[last])
        return ratio[last];
    while (progress[upper] < x)
        upper++;
    double a = ratio[upper - 1], b = ratio[upper];
    double share = (x - progress[upper - 1]) / (progress[upper] - progress[upper - 1]);
    return a > 0 && b > 0 ? a * pow (b / a, share) : a + share * (b - a);
}

static int spread (const struct profile *profile, struct training_curve *curve,
                   struct pollux_error *err)
{
    int code = training_curve_alloc (curve, profile->epochs, profile->batch_count, err);
    if (code < 0)
        return code;
    for (int e = 0; e <= profile->epochs; e++)
        curve->need[e] = e * profile->epoch_iterations;
    for (int i = 0; i < profile->batch_count; i++) {
        double scale = profile->batches[i] / (double)profile->limits.init_batch, iterations = 0;
        curve->batches[i] = profile->batches[i];
        for (int e = 0; e < profile->epochs; e++) {
            struct training_curve_cell *cell = training_curve_cell (curve, e, i);
            cell->grad.sqr = 1;
            cell->grad.var = noise_at (profile, i, (e + 0.5) / profile->epochs);
            iterations += profile->epoch_iterations / pollux_gain (cell->grad, scale);
            cell->iterations = iterations;
        }
    }
    return 0;
}

static int set_model (const struct pollux_model *model, struct app *app, struct pollux_error *err)
{
    struct pollux_model *copy = malloc (sizeof *copy);
    if (!copy)
        return fail (err, -ENOMEM, "no memory for the profile of %s", app->name);
    *copy = *model;
    app->timing = &timing_modelled;
    app->times = copy;
    return 0;
}

static int app_of_profile (const struct profile *profile, struct app *app, struct pollux_error *err)
{
    *app = app_start ();
    memcpy (app->name, profile->name, sizeof app->name);
    app->limits = profile->limits;
    app->pin = (struct app_pin){profile->pinned_replicas, profile->pinned_batch};
    app->restart_delay_s = profile->restart_delay_s;
    app->slowdown = profile->slowdown;
    app->parts = calloc (PROFILE_TYPES, sizeof *app->parts);
    int code = app->parts ? set_model (&profile->model, app, err)
                          : fail (err, -ENOMEM, "no memory for the types of %s", profile->name);
    for (int i = 0; code == 0 && i < profile->type_count; i++) {
        const struct profile_type *type = &profile->types[i];
        struct app *part = &app->parts[app->part_count++];
        *part = app_start ();
        memcpy (part->type, type->name, sizeof part->type);
        part->limits.min_local = type->min_local;
        part->limits.max_local = type->max_local;
        part->speed = type->one_gpu;
        code = set_model (&type->model, part, err);
    }
    if (code == 0)
        code = spread (profile, &app->curve, err);
    app_finish (app);
    return code;
}

int ground_truth_of_profiles (const struct profile *profiles, int count, struct ground_truth **ret,
                              struct pollux_error *err)
{
    struct app *apps = calloc ((size_t)count, sizeof *apps);
    if (!apps)
        return fail (err, -ENOMEM, "no memory for %d applications", count);
    int code = 0;
    for (int i = 0; code == 0 && i < count; i++)
        code = app_of_profile (&profiles[i], &apps[i], err);
    if (code == 0)
        return ground_truth_new (apps, count, ret, err);
    for (int i = 0; i < count; i++)
        app_clear (&apps[i]);
    free (apps);
    return code;
}

int profiles_load (const char *path, struct profile **ret, int *count, struct pollux_error *err)
{
    if (path)
        return profiles_read (path, ret, count, err);
    const char *text = builtin_profiles ();
    return profiles_parse ("built-in profiles", text, strlen (text), ret, count, err);
}

int ground_truth_from_profiles (const char *path, struct ground_truth **ret,
                                struct pollux_error *err)
{
    struct profile *profiles;
    int count, code = profiles_load (path, &profiles, &count, err);
    if (code < 0)
        return code;
    code = ground_truth_of_profiles (profiles, count, ret, err);
    free (profiles);
    return code;
}
