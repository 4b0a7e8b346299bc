/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upper bound on the goodput of a range of replicas, with a few evaluations instead of one for
 * each number of replicas.
 *
 * Let K in low..high replicas process L = A m samples each per update, M = K L in total.  With `high`
 * replicas each would process L' = M / high <= L.  The time for L' is smallest with as little
 * accumulation as hi, the largest micro-batch, allows (as a real number), and with the
 * synchronisation of `low` replicas:
 *
 *     tau(L) = R(L)                          L <= hi     R: the last micro-step, overlapped
 *            = (L/hi - 1) x(hi) + R(hi)      L > hi      x: a micro-step alone
 *
 * tau is convex.  Any tangent c + d L lies below it, and then
 *
 *     goodput <= max over M of  M (v + q M0) / ((v + q M) (c + d M / high))
 *
 * whose maximum is at M = sqrt (v c high / (q d)), within the limits of M.  (v = M0 var, q = sqr.)
 * The tangent at the best M gives the lowest bound, so the point of contact moves towards it.
 */
#include "model/model.h"

#include <float.h>
#include <math.h>

enum { CONTACTS = 5 };

/* tau near L: c + d L. */
struct line {
    double c, d;
};

static struct line tangent (const struct pollux_model *model, double sync_s, double hi, double l)
{
    double m = l < hi ? l : hi;
    double grad_s = model->alpha_grad + model->beta_grad * m;
    double last_s = model_overlap (grad_s, sync_s, model->gamma);
    double rho = last_s > 0 ? fmin (pow (grad_s / last_s, model->gamma - 1), 1) : 1;
    /* Above hi, each further hi samples take one more micro-step. */
    double d = l > hi ? grad_s / hi : model->beta_grad * rho;
    /* The tangent at 1e9 samples is also evaluated at 10: rounding must not lift it above the curve
     * there.  The error of a power grows with its exponent, that of a root with the logarithm of its
     * argument, which is below 710. */
    double rounding = (1e-12 + 4 * DBL_EPSILON * model->gamma) * last_s;
    return (struct line){.c = fmax (last_s - d * m - rounding, 0), .d = d};
}

struct model_ceiling model_ceiling (const struct pollux_model *model, struct pollux_grad grad,
                                    const struct pollux_limits *limits, int nodes, int low,
                                    int high, double guess)
{
    const double rounding = 1 + 1e-9;
    struct pollux_shape shape = {.nodes = low > 1 ? nodes : 1, .replicas = low};
    double sync_s = model_sync_time (model, shape);
    double hi = (double)limits->max_local, k = high, m0 = (double)limits->init_batch;
    /* The published search rounds m up, and starts at lo K even if that exceeds Mmax. */
    double most = fmax ((double)limits->max_batch, (double)limits->min_local * k);
    most = most * (1 + 1 / hi) + k;
    /* Beyond the limit of the gain a larger batch only takes longer. */
    most = fmin (most, model_gain_limit_total (grad, limits->init_batch));
    double statistics = grad.sqr + grad.var;
    double v = statistics > 0 ? m0 * (grad.var / statistics) : 0;
    double q = statistics > 0 ? grad.sqr / statistics : 1;

    struct model_ceiling best = {.v = v, .q = q, .m0 = m0, .bound = INFINITY};
    double total = fmin (fmax (guess, m0), most);
    for (int i = 0; i < CONTACTS; i++) {
        struct line line = tangent (model, sync_s, hi, total / k);
        double per_total = line.d / k;
        double summit = q * per_total > 0 ? sqrt (v * line.c / (q * per_total)) : INFINITY;
        summit = fmin (fmax (summit, m0), most);
        double time_s = line.c + per_total * summit;
        double bound = summit * (v + q * m0) / ((v + q * summit) * time_s) * rounding;
        if (bound < best.bound) {
            best.bound = bound;
            best.c = line.c;
            best.d = per_total;
            best.touch = total;
        }
        if (fabs (summit - total) <= 0.05 * total)
            break;
        /* Beyond the contact the curve is steeper than the tangent: the best M lies in between. */
        total = sqrt (total * summit);
    }
    return best;
}

double model_goodput_bound (const struct pollux_model *model, struct pollux_grad grad,
                            const struct pollux_limits *limits, int nodes, int low, int high,
                            double guess)
{
    return model_ceiling (model, grad, limits, nodes, low, high, guess).bound;
}
