/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weighted means and their standard error.  Means are stored instead of sums: then ageing changes only
 * the weights, and the mean of one value is exactly that value.  The mean of q^2 is stored as its root,
 * so that squares do not overflow.
 */
#include "model/evidence.h"

#include <math.h>

/* Decay of the weights per update with batch M0. */
static const double decay = 0.999;

/* From this number of updates on, values are reduced to this multiple of their mean size. */
static const double sure_count = 4, outlier = 10;

/* Rounding looks like noise: a smaller part of sqr + var cannot be measured (model/noise.c). */
static const double var_floor = 1e-12;

static double reduce (double value, double mean_size)
{
    double most = outlier * mean_size;
    return most > 0 && fabs (value) > most ? copysign (most, value) : value;
}

void evidence_add (struct evidence *evidence, double sqr, double var, double scale)
{
    struct evidence old = *evidence;
    if (evidence_count (&old) >= sure_count) {
        sqr = reduce (sqr, old.size);
        var = reduce (var, old.var);
    }
    double weight = old.weight + scale, weight2 = old.weight2 + scale * scale;
    double take = scale / weight, take2 = scale * scale / weight2;
    double keep = old.weight / weight, keep2 = old.weight2 / weight2;
    *evidence = (struct evidence){
        .weight = weight,
        .weight2 = weight2,
        .sqr = keep * old.sqr + take * sqr,
        .var = keep * old.var + take * var,
        .size = keep * old.size + take * fabs (sqr),
        .sqr2 = keep2 * old.sqr2 + take2 * sqr,
        .root2 = hypot (sqrt (keep2) * old.root2, sqrt (take2) * sqr),
    };
}

void evidence_set_mean (struct evidence *evidence, double sqr, double var)
{
    evidence->sqr = evidence->sqr2 = sqr;
    evidence->size = evidence->root2 = fabs (sqr);
    evidence->var = var;
}

void evidence_age (struct evidence *evidence, double progress)
{
    double factor = pow (decay, progress);
    evidence->weight *= factor;
    evidence->weight2 *= factor * factor;
    if (!(evidence->weight2 > 0)) /* too long ago */
        *evidence = (struct evidence){0};
}

double evidence_count (const struct evidence *evidence)
{
    return evidence->weight2 > 0 ? evidence->weight / evidence->weight2 * evidence->weight : 0;
}

double evidence_error (const struct evidence *evidence)
{
    if (!(evidence->root2 > 0) || !(evidence->weight > 0))
        return 0;
    double mean = evidence->sqr / evidence->root2, mean2 = evidence->sqr2 / evidence->root2;
    double spread = fmax (1 - 2 * mean * mean2 + mean * mean, 0);
    return evidence->root2 * sqrt (spread * evidence->weight2) / evidence->weight;
}

struct pollux_grad evidence_grad (const struct evidence *evidence, int64_t init_batch,
                                  double samples)
{
    if (!(evidence->weight > 0))
        return (struct pollux_grad){.sqr = 1};
    double var = fmax (evidence->var, 0), data = 0;
    if (samples > 0)
        data = var * ((double)init_batch / samples);
    double sqr = fmax (evidence->sqr, 0) + evidence_error (evidence) + data;
    return (struct pollux_grad){.sqr = sqr, .var = fmax (var, var_floor * sqr + var_floor * var)};
}

double evidence_noise (const struct evidence *evidence, int64_t init_batch)
{
    if (!(evidence->weight > 0) || !(evidence->sqr > 0))
        return (double)NAN;
    return (double)init_batch * evidence->var / evidence->sqr;
}

bool evidence_is_legal (const struct evidence *evidence)
{
    const double values[] = {evidence->weight, evidence->weight2, evidence->sqr,  evidence->var,
                             evidence->size,   evidence->sqr2,    evidence->root2};
    for (size_t i = 0; i < sizeof (values) / sizeof (values[0]); i++)
        if (!isfinite (values[i]))
            return false;
    bool none = evidence->weight == 0;
    for (size_t i = 1; none && i < sizeof (values) / sizeof (values[0]); i++)
        none = values[i] == 0;
    double limit = 1e300; /* sums of two stay finite */
    return none ||
           (evidence->weight > 0 && evidence->weight <= limit && evidence->weight2 > 0 &&
            evidence->weight2 <= limit && evidence->size >= 0 && evidence->size <= limit &&
            fabs (evidence->sqr) <= limit && fabs (evidence->var) <= limit &&
            fabs (evidence->sqr2) <= limit && evidence->root2 >= 0 && evidence->root2 <= limit);
}
