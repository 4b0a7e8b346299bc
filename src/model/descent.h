/* SPDX-License-Identifier: Apache-2.0 */
/* Minimising a function of a few bounded variables: Levenberg-Marquardt in a box. */
#ifndef MODEL_DESCENT_H
#define MODEL_DESCENT_H

/* Known when compiling, so that everything lives on the stack: the variables of the fit. */
enum { DESCENT_DIM = 7 };

/* A function near one point: value + gradient d + d hessian d / 2.  Only the lower triangle of
 * the hessian counts; it may be any convex stand-in for the true one.  scale (positive) says how
 * much a step along each variable is to be mistrusted, per square of its length. */
struct expansion {
    double value;
    double gradient[DESCENT_DIM];
    double hessian[DESCENT_DIM][DESCENT_DIM];
    double scale[DESCENT_DIM];
};

/* Expand a function, whatever its context, at x. */
typedef void expand_fn (const void *context, const double *x, struct expansion *ret);

/* Bounds, finite or infinite; equal ones fix a variable. */
struct box {
    double lower[DESCENT_DIM], upper[DESCENT_DIM];
};

/* Move x, which is in the box, downhill until a step promises less than tolerance.  x never
 * leaves the box, and its value never grows.  Deterministic, and always ends. */
void descend (expand_fn *expand, const void *context, const struct box *box, double tolerance,
              double *x);

#endif
