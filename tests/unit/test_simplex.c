/* SPDX-License-Identifier: Apache-2.0 */
/* Linear programs: random ones against all their vertices, degenerate ones, and one without a bound. */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "policy/simplex.h"

enum { VARIABLES = 2, MOST_ROWS = 5, WIDTH = VARIABLES + 1 };

struct program {
    double rows[MOST_ROWS][WIDTH], gains[VARIABLES]; /* a x + b y <= c */
    int count;
};

static double value_of (const struct program *program, const double x[VARIABLES])
{
    return program->gains[0] * x[0] + program->gains[1] * x[1];
}

static bool is_feasible (const struct program *program, const double x[VARIABLES])
{
    bool feasible = x[0] >= -1e-9 && x[1] >= -1e-9;
    for (int i = 0; i < program->count; i++) {
        const double *row = program->rows[i];
        feasible &= row[0] * x[0] + row[1] * x[1] <= row[2] + 1e-9;
    }
    return feasible;
}

/* The largest value of all crossings of two lines, among them the axes. */
static double best_vertex (const struct program *program)
{
    double lines[MOST_ROWS + 2][WIDTH] = {{1, 0, 0}, {0, 1, 0}}, best = 0;
    memcpy (lines[2], program->rows, (size_t)program->count * sizeof (lines[0]));
    for (int i = 0; i < program->count + 2; i++)
        for (int j = 0; j < i; j++) {
            const double *a = lines[i], *b = lines[j], det = a[0] * b[1] - a[1] * b[0];
            double x[VARIABLES] = {(a[2] * b[1] - a[1] * b[2]) / det,
                                   (a[0] * b[2] - a[2] * b[0]) / det};
            if (fabs (det) > 1e-9 && is_feasible (program, x))
                best = fmax (best, value_of (program, x));
        }
    return best;
}

static int solve (const struct program *program, double ret[VARIABLES])
{
    double tableau[(MOST_ROWS + 1) * WIDTH];
    int basis[SIMPLEX_SCRATCH (MOST_ROWS, VARIABLES)];
    memcpy (tableau, program->rows, (size_t)program->count * sizeof (program->rows[0]));
    double *last = tableau + program->count * WIDTH;
    memcpy (last, program->gains, sizeof (program->gains));
    last[VARIABLES] = 0;
    return simplex_solve (tableau, program->count, VARIABLES, basis, ret);
}

static void test_random (void **state)
{
    (void)state;
    struct rng rng = rng_seed (1);
    for (int i = 0; i < soak_count (100000); i++) {
        struct program program = {.count = 2 + (int)rng_below (&rng, MOST_ROWS - 1)};
        double x[VARIABLES];
        for (int r = 0; r < program.count; r++)
            for (int c = 0; c < WIDTH; c++) /* whole numbers: ties and degenerate vertices occur */
                program.rows[r][c] = (double)rng_below (&rng, 5) - (r > 1 && c < VARIABLES ? 2 : 0);
        program.rows[0][0] += 1; /* the first two rows bound both variables */
        program.rows[1][1] += 1;
        program.gains[0] = (double)rng_below (&rng, 9) - 4;
        program.gains[1] = (double)rng_below (&rng, 9) - 4;
        assert_int_equal (solve (&program, x), 0);
        assert_true (is_feasible (&program, x));
        assert_true (fabs (value_of (&program, x) - best_vertex (&program)) < 1e-7);
    }
}

static void test_unbounded (void **state)
{
    (void)state;
    struct program program = {.rows = {{1, -1, 3}}, .gains = {1, 1}, .count = 1};
    double x[VARIABLES];
    assert_int_equal (solve (&program, x), -EDOM);
    program.gains[1] = -2;
    assert_int_equal (solve (&program, x), 0);
    assert_true (x[0] == 3 && x[1] == 0);
    program.count = 0;
    program.gains[0] = 0;
    assert_int_equal (solve (&program, x), 0);
    assert_true (x[0] == 0 && x[1] == 0);
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (test_random),
                                       cmocka_unit_test (test_unbounded)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
