/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by unit tests: the includes that cmocka requires in order, case counts, golden files. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"

#define COUNT(array) (sizeof (array) / sizeof ((array)[0]))

/* Number of random cases: all with POLLUX_SOAK=1, few with POLLUX_BRIEF=1 (slow tools), some with
 * POLLUX_BRIEF=some (sanitizers), else a tenth. */
static inline int soak_count (int full)
{
    const char *soak = getenv ("POLLUX_SOAK"), *brief = getenv ("POLLUX_BRIEF");
    if (brief && strcmp (brief, "1") == 0)
        return full / 1000 + 1;
    if (soak && strcmp (soak, "1") == 0)
        return full;
    return brief && strcmp (brief, "some") == 0 ? full / 40 + 1 : full / 10;
}

/* The folder for temporary files: TMPDIR, or /tmp if that is unset, or too long for the paths of the tests. */
static inline const char *temporary_folder (void)
{
    const char *folder = getenv ("TMPDIR");
    return folder && folder[0] == '/' && strlen (folder) <= 32 ? folder : "/tmp";
}

/* A random number, log-uniform between low and high. */
static inline double log_uniform (struct rng *rng, double low, double high)
{
    return low * pow (high / low, rng_uniform (rng));
}

/* Relative difference, 0 for equal values (infinities too). */
static inline double relative (double a, double b)
{
    return a == b ? 0 : fabs (a - b) / fmax (fabs (a), fabs (b));
}

/* Values of the published implementation, its traces and its results: see tests/data/README.md.
 * The path is relative to the root of the repository, where tests are started. */
#define TEST_DATA "tests/data/"

/* Open a file of TEST_DATA.  The test fails if the file cannot be opened. */
static inline FILE *golden_open (const char *path)
{
    FILE *file = fopen (path, "r");
    if (!file)
        fail_msg ("%s: cannot open; start the test in the root of the repository", path);
    return file;
}

/* One row of comma-separated numbers; false at the end of the file. */
static inline bool golden_row (FILE *file, double *values, size_t count)
{
    char line[4096];
    if (!fgets (line, sizeof (line), file))
        return false;
    char *at = line;
    for (size_t i = 0; i < count; i++) {
        char *end;
        values[i] = strtod (at, &end);
        if (end == at)
            fail_msg ("golden row: want %zu numbers in: %s", count, line);
        at = end + (*end == ',');
    }
    return true;
}

#endif
