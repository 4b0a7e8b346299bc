/* SPDX-License-Identifier: Apache-2.0 */
/* A line on standard error that tells how far something is, where that is a terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

struct progress {
    double began_s, drawn_s; /* of the real clock */
    bool shown;              /* a line is on the terminal */
    bool enabled;
};

struct progress progress_start (void);

/* Seconds since the start. */
double progress_passed (const struct progress *progress);

/* Whether it is time for a new line: not for what ends at once, and ten times a second. */
bool progress_due (struct progress *progress);

/* A bar for a share of the whole, 0..1, a sentence, and how long the rest will take. */
void progress_draw (struct progress *progress, double share, const char *format, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Wipe the line. */
void progress_end (struct progress *progress);

#endif
