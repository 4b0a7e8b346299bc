/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The primal simplex method.  The tableau has no columns for the slack variables: a pivot exchanges the variable of a
 * column with that of a row.  The largest coefficient enters; in the second half of the pivots the first positive one, by
 * Bland's rule, which cannot cycle.
 */
#include "policy/simplex.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Smaller coefficients are rounding errors. */
static const double tiny = 1e-9;

struct program {
    double *cells;
    int rows, columns;
};

static double *row_of (const struct program *program, int row)
{
    return program->cells + (size_t)row * ((size_t)program->columns + 1);
}

/* The column that enters; -1: the solution is optimal.  variables: those of the columns, for Bland's rule. */
static int entering (const struct program *program, const int *variables, bool first)
{
    const double *gains = row_of (program, program->rows);
    int best = -1;
    for (int c = 0; c < program->columns; c++) {
        if (gains[c] <= tiny)
            continue;
        if (best < 0 || (first ? variables[c] < variables[best] : gains[c] > gains[best]))
            best = c;
    }
    return best;
}

/* The row that leaves: the first to reach 0; -1: none does. */
static int leaving (const struct program *program, const int *basis, int column)
{
    int best = -1;
    double least = INFINITY;
    for (int r = 0; r < program->rows; r++) {
        const double *row = row_of (program, r);
        if (row[column] <= tiny)
            continue;
        double ratio = row[program->columns] / row[column];
        if (ratio < least || (ratio == least && basis[r] < basis[best])) {
            least = ratio;
            best = r;
        }
    }
    return best;
}

static void pivot (const struct program *program, int at, int column)
{
    double *row = row_of (program, at), factor = 1 / row[column];
    for (int c = 0; c <= program->columns; c++)
        row[c] *= factor;
    row[column] = factor;
    for (int r = 0; r <= program->rows; r++) {
        double *other = row_of (program, r), multiple = other[column];
        if (r == at || multiple == 0)
            continue;
        other[column] = 0;
        for (int c = 0; c <= program->columns; c++)
            other[c] -= multiple * row[c];
    }
}

int simplex_solve (double *tableau, int rows, int columns, int *basis, double *ret)
{
    struct program program = {tableau, rows, columns};
    int *variables = basis + rows; /* of the columns; those of the rows are from `columns` on */
    int64_t most = 50 * ((int64_t)rows + columns);
    for (int c = 0; c < columns; c++)
        variables[c] = c;
    for (int r = 0; r < rows; r++)
        basis[r] = columns + r;
    for (int64_t i = 0; i < most; i++) {
        int column = entering (&program, variables, i > most / 2);
        if (column < 0) {
            for (int c = 0; c < columns; c++)
                ret[c] = 0;
            for (int r = 0; r < rows; r++)
                if (basis[r] < columns)
                    ret[basis[r]] = row_of (&program, r)[columns];
            return 0;
        }
        int row = leaving (&program, basis, column);
        if (row < 0)
            return -EDOM;
        pivot (&program, row, column);
        int variable = basis[row];
        basis[row] = variables[column];
        variables[column] = variable;
    }
    return -EDOM;
}
