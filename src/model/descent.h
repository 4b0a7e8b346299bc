/* SPDX-License-Identifier: Apache-2.0 */
/* Minimise a function of a few bounded variables: Levenberg-Marquardt in a box. */
#ifndef MODEL_DESCENT_H
#define MODEL_DESCENT_H

/* The number of variables of the fit; constant, so that everything is on the stack. */
enum { DESCENT_DIM = 7 };

/* A function near one point: value + gradient d + d hessian d / 2.  Only the lower triangle of
 * the hessian is used; it may be any convex approximation.  scale (positive) is the weight of the
 * damping for each variable. */
struct expansion {
    double value;
    double gradient[DESCENT_DIM];
    double hessian[DESCENT_DIM][DESCENT_DIM];
    double scale[DESCENT_DIM];
};

/* Expand a function at x. */
typedef void expand_fn (const void *context, const double *x, struct expansion *ret);

/* Bounds, finite or infinite; equal ones fix a variable. */
struct box {
    double lower[DESCENT_DIM], upper[DESCENT_DIM];
};

/* Move x, which is in the box, downhill until the predicted gain of a step is below tolerance.  x
 * stays in the box, and its value never increases.  Deterministic; always terminates. */
void descend (expand_fn *expand, const void *context, const struct box *box, double tolerance,
              double *x);

#endif
