/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the fit.  Illegal samples are refused by number.  Legal ones give a model within its
 * bounds, whose loss equals that of the reference formula.
 *
 * The first byte selects how the rest becomes samples: as structs in memory, which covers all special
 * numbers, or as eight bytes each mapped to the legal range, which covers unusual fits.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pollux/pollux.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* Few enough for thousands of fits per second. */
enum { SAMPLES = 16 };

static double spread (uint8_t byte, double low, double high)
{
    return fmin (low * pow (high / low, byte / 255.0), high);
}

static struct pollux_sample legal_sample (const uint8_t *b)
{
    int replicas = (int)spread (b[0], 1, POLLUX_REPLICAS_LIMIT);
    return (struct pollux_sample){
        .shape = {(int)spread (b[1], 1, replicas), replicas},
        .m = (int64_t)spread (b[2], 1, (double)POLLUX_BATCH_LIMIT),
        .grad_s = spread (b[3], 1e-9, 9e8) * (1 + 1e-4 * b[4]),
        .step_s = spread (b[5], 1e-9, 9e8) * (1 + 1e-4 * b[6]),
        .weight = spread (b[7], 1e-9, 1e9),
    };
}

static void check (const struct pollux_sample *samples, size_t count, const struct pollux_fit *fit)
{
    struct pollux_model model = fit->model;
    bool many_nodes = false;
    for (size_t i = 0; i < count; i++)
        many_nodes |= samples[i].shape.nodes > 1;
    if (!many_nodes) /* the loss is from before these were raised */
        model.alpha_node = model.beta_node = 1e-8;
    double loss = pollux_fit_loss (samples, count, &model);
    if (!(fabs (fit->loss - loss) <= 1e-8 * (1 + loss)))
        abort ();
    if (!(model.gamma >= 1 && model.gamma <= 10 && model.alpha_grad > 0 && model.beta_grad >= 1e-8))
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    struct pollux_sample samples[SAMPLES] = {0};
    bool raw = data[0] & 1;
    size_t each = raw ? sizeof (samples[0]) : 8, count = (size - 1) / each;
    if (count > SAMPLES)
        count = SAMPLES;
    for (size_t i = 0; i < count; i++) {
        if (raw)
            memcpy (&samples[i], data + 1 + i * each, each);
        else
            samples[i] = legal_sample (data + 1 + i * each);
    }
    struct pollux_fit fit;
    struct pollux_error err = {""};
    if (pollux_fit (samples, count, NULL, &fit, &err) == 0)
        check (samples, count, &fit);
    else if (strncmp (err.text, count == 0 ? "no samples" : "sample ", 7) != 0)
        abort ();
    return 0;
}
