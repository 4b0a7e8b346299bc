/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levenberg-Marquardt in a box.
 *
 * Each step minimises the local quadratic, made more convex by damping x scale, within the
 * bounds, exactly, by an active-set method, because a clipped step need not go downhill.  A step with
 * the predicted gain lowers the damping; a step without gain is undone and raises it.  For seven
 * variables this takes less than a microsecond, little compared with one evaluation of the function.
 */
#include "model/descent.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { DIM = DESCENT_DIM };

/* Twice the number of steps that fits of measured times took. */
enum { STEPS_LIMIT = 200 };

/* State of a variable during one step. */
enum side { FREE, AT_LOWER, AT_UPPER, FIXED };

/* Solve matrix[ids][ids] p = -gradient[ids] by Cholesky's method.  False if the matrix is not
 * clearly positive definite. */
static bool newton_step (double matrix[DIM][DIM], const double *gradient, const int *ids, int count,
                         double *p)
{
    double root[DIM][DIM], y[DIM];
    for (int i = 0; i < count; i++) {
        double rest = -gradient[ids[i]];
        for (int j = 0; j < i; j++) {
            double sum = matrix[ids[i]][ids[j]];
            for (int k = 0; k < j; k++)
                sum -= root[i][k] * root[j][k];
            root[i][j] = sum / root[j][j];
            rest -= root[i][j] * y[j];
        }
        double pivot = matrix[ids[i]][ids[i]];
        double least = 1e-12 * pivot;
        for (int k = 0; k < i; k++)
            pivot -= root[i][k] * root[i][k];
        if (!(pivot > least))
            return false;
        root[i][i] = sqrt (pivot);
        y[i] = rest / root[i][i];
    }
    for (int i = count - 1; i >= 0; i--) {
        double sum = y[i];
        for (int k = i + 1; k < count; k++)
            sum -= root[k][i] * p[k];
        p[i] = sum / root[i][i];
    }
    return true;
}

/* The variable at a bound whose release lowers the quadratic most; -1: none. */
static int find_release (double matrix[DIM][DIM], const double *slope, const enum side *side)
{
    int found = -1;
    double most = 1e-14;
    for (int i = 0; i < DIM; i++) {
        if (side[i] != AT_LOWER && side[i] != AT_UPPER)
            continue;
        double inward = side[i] == AT_UPPER ? slope[i] : -slope[i];
        double pull = inward / sqrt (matrix[i][i]);
        if (pull > most) {
            most = pull;
            found = i;
        }
    }
    return found;
}

/* Minimise gradient d + d matrix d / 2 over x + d in the box; ret = x + d.  Returns the gain,
 * or -1 if the matrix is not positive definite.
 *
 * Primal active set: step to the minimum over the free variables, or to the first bound on the way,
 * which then fixes its variable; at a minimum, release the variable that lowers the quadratic most.
 * Every step lowers the quadratic, so stopping early is safe; usually a few steps suffice. */
static double box_step (double matrix[DIM][DIM], const double *gradient, const struct box *box,
                        const double *x, double *ret)
{
    enum side side[DIM];
    double d[DIM] = {0}, slope[DIM];
    for (int i = 0; i < DIM; i++) {
        slope[i] = gradient[i];
        side[i] = FREE;
        if (!(box->lower[i] < box->upper[i]))
            side[i] = FIXED;
        else if (x[i] <= box->lower[i] && gradient[i] >= 0)
            side[i] = AT_LOWER;
        else if (x[i] >= box->upper[i] && gradient[i] <= 0)
            side[i] = AT_UPPER;
    }

    for (int round = 0; round < 4 * DIM; round++) {
        int ids[DIM], count = 0, blocking = -1;
        double p[DIM], length = 1;
        for (int i = 0; i < DIM; i++)
            if (side[i] == FREE)
                ids[count++] = i;
        if (!newton_step (matrix, slope, ids, count, p))
            return -1;
        for (int i = 0; i < count; i++) {
            double bound = p[i] < 0 ? box->lower[ids[i]] : box->upper[ids[i]];
            double room = fabs (bound - x[ids[i]] - d[ids[i]]);
            if (fabs (p[i]) * length > room) {
                length = room / fabs (p[i]);
                blocking = i;
            }
        }
        for (int i = 0; i < count; i++)
            d[ids[i]] += length * p[i];
        if (blocking >= 0) {
            int held = ids[blocking];
            side[held] = p[blocking] < 0 ? AT_LOWER : AT_UPPER;
            d[held] = (p[blocking] < 0 ? box->lower[held] : box->upper[held]) - x[held];
        }
        for (int i = 0; i < DIM; i++) {
            slope[i] = gradient[i];
            for (int j = 0; j < DIM; j++)
                slope[i] += matrix[i][j] * d[j];
        }
        if (blocking >= 0)
            continue;
        int release = find_release (matrix, slope, side);
        if (release < 0)
            break;
        side[release] = FREE;
    }

    /* x + (bound - x) may differ from the bound by rounding: set it exactly. */
    double gain = 0;
    for (int i = 0; i < DIM; i++) {
        gain -= (gradient[i] + slope[i]) * d[i] / 2;
        ret[i] = fmin (fmax (x[i] + d[i], box->lower[i]), box->upper[i]);
        if (side[i] == AT_LOWER)
            ret[i] = box->lower[i];
        else if (side[i] == AT_UPPER)
            ret[i] = box->upper[i];
    }
    return gain;
}

void descend (expand_fn *expand, const void *context, const struct box *box, double tolerance,
              double *x)
{
    struct expansion here, there;
    double damping = 1e-3;
    bool failed = false; /* the last step had too little gain */
    expand (context, x, &here);
    for (int step = 0; step < STEPS_LIMIT; step++) {
        double matrix[DIM][DIM], next[DIM];
        for (int i = 0; i < DIM; i++) {
            for (int j = 0; j <= i; j++)
                matrix[i][j] = matrix[j][i] = here.hessian[i][j];
            matrix[i][i] += damping * here.scale[i];
        }
        double predicted = box_step (matrix, here.gradient, box, x, next);
        if (predicted < 0) {
            damping = fmax (10 * damping, 1e-6);
            continue;
        }
        /* After many failed steps the damping makes the predicted gain small: this ends them too. */
        if (!(predicted >= tolerance))
            return;
        expand (context, next, &there);
        double gain = here.value - there.value;
        if (!(gain > 0)) {
            damping = 8 * fmax (damping, 1e-5);
            failed = true;
            continue;
        }
        memcpy (x, next, sizeof (next));
        here = there;
        /* Right after it was raised, the damping is lowered slowly: otherwise every second step
         * would fail along a curved valley. */
        if (gain > 0.6 * predicted)
            damping = fmax (damping / (failed ? 2 : 10), 1e-9);
        else if (gain < 0.25 * predicted)
            damping *= 3;
        failed = false;
    }
}
