/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: profiles.  Accepted profiles make a ground truth that returns numbers, and can be
 * written and read again.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/profile.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void expect (int truth)
{
    if (!truth)
        abort ();
}

static void ask (const struct app *app)
{
    int last = app_max_epochs (app) - 1, counts[] = {1, 2, 3};
    const struct pollux_limits *limits = app_limits (app);
    double batch = (double)limits->max_batch;
    struct pollux_grad grad = app_grad (app, last, batch);
    expect (grad.sqr >= 0 && grad.var >= 0 && isfinite (grad.sqr + grad.var));
    expect (isfinite (app_iterations (app, last, batch)) && app_iterations (app, last, batch) > 0);
    expect (app_need (app, 0) == 0 && app_need (app, last + 1) > app_need (app, last));
    for (int nodes = 1; nodes <= 3; nodes++) {
        struct app_step step = app_step (app, counts, nodes, limits->max_local);
        expect (step.step_s > 0 && isfinite (step.step_s) && isfinite (step.sync_s));
    }
}

static void write_and_read (const struct profile *profiles, int count)
{
    char *text;
    size_t length;
    struct profile *again;
    int again_count;
    struct pollux_error err;
    FILE *out = open_memstream (&text, &length);
    expect (out && profiles_write (profiles, count, out, NULL) == 0);
    fclose (out);
    /* Rounding to six digits can make two knots equal, or a number exceed its limit: only then may
     * it be refused. */
    if (profiles_parse ("again", text, length, &again, &again_count, &err) == 0) {
        expect (again_count == count);
        for (int i = 0; i < count; i++)
            expect (strcmp (again[i].name, profiles[i].name) == 0);
        free (again);
    } else {
        expect (strncmp (err.text, "again", 5) == 0);
    }
    free (text);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct profile *profiles;
    struct ground_truth *truth;
    struct pollux_error err = {.text = ""};
    int count;
    if (profiles_parse ("fuzz", (const char *)data, size, &profiles, &count, &err) < 0) {
        expect (strncmp (err.text, "fuzz", 4) == 0);
        return 0;
    }
    write_and_read (profiles, count);
    for (int i = 0; i < count; i++) /* long training curves take time and test nothing new */
        profiles[i].epochs = profiles[i].epochs < 100 ? profiles[i].epochs : 100;
    expect (ground_truth_of_profiles (profiles, count, &truth, &err) == 0);
    expect (ground_truth_count (truth) == count);
    for (int i = 0; i < count; i++)
        ask (ground_truth_at (truth, i));
    ground_truth_free (truth);
    free (profiles);
    return 0;
}
