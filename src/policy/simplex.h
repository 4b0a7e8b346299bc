/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small linear programs: maximise c x subject to A x <= b and x >= 0, where b >= 0, so that x = 0 is a start.
 *
 *     tableau, row by row, `columns` + 1 numbers each:   a row of A, then its b   (rows of them)
 *                                                        c, then 0                (the last row)
 */
#ifndef POLICY_SIMPLEX_H
#define POLICY_SIMPLEX_H

/* Solve it in place.  basis, of rows + columns numbers, is scratch; ret gets the `columns` values of x.  Takes
 * rows x columns steps per pivot.  0; -EDOM: no end within 50 (rows + columns) pivots, or no bound. */
int simplex_solve (double *tableau, int rows, int columns, int *basis, double *ret);

#endif
