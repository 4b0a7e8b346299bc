/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions to measure and print, for the programs of this folder.  A program prints lines
 *
 *     NAME VALUE UNIT                          a measured value
 *     target NAME VALUE LIMIT met|missed       a measured value with an upper limit
 *
 * tools/bench makes a table of them; `make soak` fails if a target is missed.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double bench_now_s (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Processor time of this thread. */
static inline double bench_cpu_s (void)
{
    struct timespec now;
    clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline int bench_compare (const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of call (arg): the median of up to 101 repeats within a second, at least 5.  A repeat is
 * as many calls as take a millisecond: long compared with the clock's resolution, and short
 * compared with the time slices of other processes, so that most repeats are not interrupted. */
static inline double bench_seconds (void (*call) (void *arg), void *arg)
{
    enum { REPEATS = 101, LEAST = 5 };
    double repeat_s[REPEATS];
    long calls = 1;
    for (;;) {
        double start_s = bench_now_s ();
        for (long i = 0; i < calls; i++)
            call (arg);
        if (bench_now_s () - start_s >= 0.001)
            break;
        calls *= 2;
    }
    size_t repeats = 0;
    double first_s = bench_now_s ();
    while (repeats < REPEATS && (repeats < LEAST || bench_now_s () - first_s < 1)) {
        double start_s = bench_now_s ();
        for (long i = 0; i < calls; i++)
            call (arg);
        repeat_s[repeats++] = (bench_now_s () - start_s) / (double)calls;
    }
    qsort (repeat_s, repeats, sizeof (repeat_s[0]), bench_compare);
    return repeat_s[repeats / 2];
}

static inline void bench_print (const char *name, double value, const char *unit)
{
    printf ("%s %.4g %s\n", name, value, unit);
}

/* A target: the value is at most limit. */
static inline void bench_target (const char *name, double value, double limit)
{
    printf ("target %s %.4g %g %s\n", name, value, limit, value <= limit ? "met" : "missed");
}

/* Keep a result, so that the compiler cannot drop the work for it. */
static inline void bench_keep (double value)
{
    static volatile double kept;
    kept = value;
    (void)kept;
}

#endif
