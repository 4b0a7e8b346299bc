/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress line on a terminal:
 *
 *     [#########...............] 512 of 1200 events, 4 s to go
 */
#include "cli/progress_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_s (void)
{
    struct timespec now;
    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct progress_line progress_line_start (void)
{
    double now = now_s ();
    return (struct progress_line){
        .began_s = now, .drawn_s = now + 0.4, .enabled = isatty (STDERR_FILENO)};
}

double progress_line_passed (const struct progress_line *progress)
{
    return now_s () - progress->began_s;
}

bool progress_line_due (struct progress_line *progress)
{
    double now = progress->enabled ? now_s () : 0;
    if (!progress->enabled || now < progress->drawn_s + 0.1)
        return false;
    progress->drawn_s = now;
    return true;
}

void progress_line_draw (struct progress_line *progress, double share, const char *format, ...)
{
    enum { WIDTH = 24 };
    char bar[WIDTH + 1];
    int full = (int)(share * WIDTH);
    memset (bar, '.', WIDTH);
    memset (bar, '#', (size_t)(full > WIDTH ? WIDTH : full));
    bar[WIDTH] = '\0';
    fprintf (stderr, "\r[%s] ", bar);
    va_list args;
    va_start (args, format);
    vfprintf (stderr, format, args);
    va_end (args);
    if (share > 0)
        fprintf (stderr, ", %.0f s to go", progress_line_passed (progress) * (1 - share) / share);
    fputs ("\033[K", stderr);
    fflush (stderr);
    progress->shown = true;
}

void progress_line_end (struct progress_line *progress)
{
    if (progress->shown)
        fputs ("\r\033[K", stderr);
    progress->shown = false;
}
