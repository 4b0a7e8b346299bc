/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Delaunay triangulation of points in space, to interpolate between measurements: a point as a
 * mixture of four of the given ones.
 *
 * Measurements lie on a lattice, so many points share a sphere and the triangulation is not
 * unique: some simplices are flat, and some points lie in several.  Which one is taken decides
 * the value.  The rule is that of the published simulator, which uses scipy: see delaunay.c.
 */
#ifndef SIM_DELAUNAY_H
#define SIM_DELAUNAY_H

#include "pollux/pollux.h"

struct delaunay;

/* 2^16 points: lattices of this size make about 6 simplices for each of them, and 2^16 x 6 of
 * 200 bytes are 80 MB. */
#define DELAUNAY_POINTS_LIMIT (1 << 16)

/* Triangulate count points, which are copied.  On success *ret belongs to the caller
 * (delaunay_free) and is constant: threads may share it.  -EDOM where there is no space between
 * the points: fewer than five, or all in one plane. */
int delaunay_new (const double (*points)[3], int count, struct delaunay **ret,
                  struct pollux_error *err);

void delaunay_free (struct delaunay *delaunay);

/* A point as a mixture of four given ones: sum weights[i] points[vertices[i]], sum weights 1. */
struct mixture {
    int vertices[4];
    double weights[4];
};

/* Find a point.  False if it lies outside; *ret is untouched then. */
bool delaunay_locate (const struct delaunay *delaunay, const double point[3], struct mixture *ret);

/* Only the scan of simplices, which decides where the walk fails: with the grid, and without it
 * as the tests' reference. */
bool delaunay_scan (const struct delaunay *delaunay, const double point[3], struct mixture *ret);
bool delaunay_scan_plain (const struct delaunay *delaunay, const double point[3],
                          struct mixture *ret);

/* Simplices in all, and flat ones among them. */
int delaunay_count (const struct delaunay *delaunay);
int delaunay_flat_count (const struct delaunay *delaunay);

#endif
