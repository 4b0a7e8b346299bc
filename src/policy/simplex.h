/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small linear programs: maximise c x subject to A x <= b and x >= 0, where b >= 0, so that x = 0 is a start.
 *
 *     tableau, row by row, `columns` + 1 numbers each:   a row of A, then its b   (rows of them)
 *                                                        c, then 0                (the last row)
 */
#ifndef POLICY_SIMPLEX_H
#define POLICY_SIMPLEX_H

#include <stddef.h>

/* Numbers of scratch memory that simplex_solve needs. */
#define SIMPLEX_SCRATCH(rows, columns) (2 * ((size_t)(rows) + (size_t)(columns)) + 3)

/* Solve it in place.  basis, of SIMPLEX_SCRATCH numbers, is scratch; ret gets the `columns` values of x.  A pivot takes
 * rows + columns steps, and one for each cell that it changes, at most rows x columns.  0; -EDOM: no end within 50 (rows + columns) pivots, or no bound. */
int simplex_solve (double *tableau, int rows, int columns, int *basis, double *ret);

#endif
