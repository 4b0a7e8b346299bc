/* SPDX-License-Identifier: Apache-2.0 */
/* A line on standard error that tells how far something is, where that is a terminal. */
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

/* Whether it is time for a new line: not for what ends at once, and ten times a second. */
bool progress_line_due (struct progress_line *progress);

/* A bar for a share of the whole, 0..1, a sentence, and how long the rest will take. */
void progress_line_draw (struct progress_line *progress, double share, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Wipe the line. */
void progress_line_end (struct progress_line *progress);

#endif
