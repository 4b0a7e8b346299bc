/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves in a terminal: Braille dots where the locale is UTF-8, letters otherwise.
 *
 *     goodput
 *     400 |                      ______
 *         |            __________
 *     200 |     _______                    o o o  many nodes
 *         | ____
 *       0 +--------+--------+--------+
 *         0       16       32       48  GPUs
 */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/terminal.h"
#include "pollux/pollux.h"

/* Number of distinguishable series; more are refused. */
#define PLOT_SERIES_LIMIT 6

/* Points in the order in which a line joins them.  A point that is not finite breaks the line. */
struct plot_series {
    const char *name;
    const double *x, *y;
    size_t count;
};

/* Axes reach from 0 (or the least value if that is negative) to a round number above the largest
 * one.  With x_log they reach from the least positive x to the largest; other points are left out. */
struct plot {
    const char *x_label, *y_label;
    int height; /* lines between the axes; 0: 14 */
    bool x_log;
};

/* Draw the series, the later ones above the earlier ones, with axes and a legend.  -EINVAL if no
 * point can be shown or there are too many series, -ENOMEM. */
int plot_print (const struct plot *plot, const struct plot_series *series, size_t count,
                struct terminal terminal, FILE *out, struct pollux_error *err);

#endif
