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

/* The row that leaves: the first to reach 0; -1: none does.  touched: the rows that are not 0 in the column, ended by -1;
 * the cells of a column are far apart in memory, so they are looked at once. */
static int leaving (const struct program *program, const int *basis, int column, int *touched)
{
    int best = -1, count = 0;
    double least = INFINITY;
    for (int r = 0; r < program->rows; r++) {
        const double *row = row_of (program, r);
        if (row[column] != 0)
            touched[count++] = r;
        if (row[column] <= tiny)
            continue;
        double ratio = row[program->columns] / row[column];
        if (ratio < least || (ratio == least && basis[r] < basis[best])) {
            least = ratio;
            best = r;
        }
    }
    touched[count++] = program->rows; /* the gains: a column that enters has one */
    touched[count] = -1;
    return best;
}

/* filled: scratch, the columns where the row is not 0: most are 0 in the programs of a policy. */
static void pivot (const struct program *program, int at, int column, const int *touched,
                   int *filled)
{
    double *row = row_of (program, at), factor = 1 / row[column];
    int count = 0;
    for (int c = 0; c <= program->columns; c++) {
        row[c] *= factor;
        if (row[c] != 0)
            filled[count++] = c;
    }
    row[column] = factor;
    for (; *touched >= 0; touched++) {
        double *other = row_of (program, *touched), multiple = other[column];
        if (*touched == at)
            continue;
        other[column] = 0;
        for (int i = 0; i < count; i++)
            other[filled[i]] -= multiple * row[filled[i]];
    }
}

int simplex_solve (double *tableau, int rows, int columns, int *basis, double *ret)
{
    struct program program = {tableau, rows, columns};
    int *variables = basis + rows; /* of the columns; those of the rows are from `columns` on */
    int *filled = variables + columns, *touched = filled + columns + 1;
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
        int row = leaving (&program, basis, column, touched);
        if (row < 0)
            return -EDOM;
        pivot (&program, row, column, touched, filled);
        int variable = basis[row];
        basis[row] = variables[column];
        variables[column] = variable;
    }
    return -EDOM;
}
