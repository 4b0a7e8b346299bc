/* SPDX-License-Identifier: Apache-2.0 */
/* A progress line on standard error; nothing is printed if that is not a terminal. */
#ifndef CLI_PROGRESS_LINE_H
#define CLI_PROGRESS_LINE_H

#include <stdbool.h>

struct progress_line {
    double began_s, drawn_s; /* of the real clock */
    bool shown;              /* a line is on the terminal */
    bool enabled;
};

struct progress_line progress_line_start (void);

/* Seconds since the start. */
double progress_line_passed (const struct progress_line *progress);

/* True if it is time to draw: first after half a second, then ten times a second. */
bool progress_line_due (struct progress_line *progress);

/* Draw a bar for a share of 0..1, a text, and the estimated time left. */
void progress_line_draw (struct progress_line *progress, double share, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Erase the line. */
void progress_line_end (struct progress_line *progress);

#endif
