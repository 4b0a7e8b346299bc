/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Curves in a terminal.  A canvas has one cell per character; a cell has 2 x 4 dots in Braille
 * and one otherwise.  Lines are drawn dot by dot; a cell has its dots and the series that was drawn
 * last.  Series differ by colour, if there is one, and by pattern (solid, dashed, dotted) or letter.
 */
#include "cli/plot.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

/* ---- Axes --------------------------------------------------------------------------------- */

struct axis {
    double min, max, step; /* ticks at multiples of step; with log at 1, 2, 5 x 10^n */
    bool log;
};

/* The largest of 1, 2, 5 x 10^n that makes at least `ticks` steps of a span, or the next one. */
static double round_step (double span, int ticks)
{
    double least = span / ticks, power = pow (10, floor (log10 (least)));
    double digit = least / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static struct axis linear_axis (double least, double largest, int ticks)
{
    double min = fmin (least, 0), max = largest > min ? largest : min + 1;
    double step = round_step (max - min, ticks);
    if (!(step > 0) || !isfinite (step)) /* the span is too small to divide */
        return (struct axis){.min = min, .max = min + 1, .step = 1};
    return (struct axis){
        .min = floor (min / step) * step, .max = ceil (max / step - 1e-9) * step, .step = step};
}

/* The position of a value between the ends, 0..1. */
static double axis_at (const struct axis *axis, double value)
{
    if (axis->log)
        return axis->max > axis->min ? log (value / axis->min) / log (axis->max / axis->min) : 0.5;
    return (value - axis->min) / (axis->max - axis->min);
}

/* The first tick at or past a value; the next tick. */
static double axis_tick (const struct axis *axis, double value, bool behind)
{
    if (!axis->log) {
        double index = ceil (value / axis->step - 1e-9) + behind;
        return index * axis->step;
    }
    double power = pow (10, floor (log10 (value) - 1e-9));
    static const double digits[] = {1, 2, 5, 10, 20};
    for (size_t i = 0; i < sizeof (digits) / sizeof (digits[0]); i++) {
        double tick = digits[i] * power;
        if (behind ? tick > value * 1.0001 : tick > value * 0.9999)
            return tick;
    }
    return value * 10;
}

static bool shown (const struct plot *plot, const struct plot_series *series, size_t i)
{
    return isfinite (series->x[i]) && isfinite (series->y[i]) && (!plot->x_log || series->x[i] > 0);
}

/* Both axes for all points.  False if there are none. */
static bool find_axes (const struct plot *plot, const struct plot_series *series, size_t count,
                       int width, int height, struct axis *x, struct axis *y)
{
    double x_min = INFINITY, x_max = -INFINITY, y_min = INFINITY, y_max = -INFINITY;
    for (size_t s = 0; s < count; s++) {
        for (size_t i = 0; i < series[s].count; i++) {
            if (!shown (plot, &series[s], i))
                continue;
            x_min = fmin (x_min, series[s].x[i]);
            x_max = fmax (x_max, series[s].x[i]);
            y_min = fmin (y_min, series[s].y[i]);
            y_max = fmax (y_max, series[s].y[i]);
        }
    }
    if (x_min > x_max)
        return false;
    *x = plot->x_log ? (struct axis){.min = x_min, .max = x_max, .log = true}
                     : linear_axis (x_min, x_max, width / 8);
    *y = linear_axis (y_min, y_max, height / 3);
    return true;
}

/* ---- Canvas ------------------------------------------------------------------------------- */

struct cell {
    uint8_t dots, series;
};

struct canvas {
    int width, height;        /* cells */
    int dots_wide, dots_high; /* dots per cell */
    struct cell *cells;
};

static void canvas_dot (struct canvas *canvas, int x, int y, size_t series)
{
    /* Order of Braille dots: left column, right column, then the bottom row. */
    static const uint8_t braille[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int column = x / canvas->dots_wide, row = y / canvas->dots_high;
    if (x < 0 || y < 0 || column >= canvas->width || row >= canvas->height)
        return;
    struct cell *cell = &canvas->cells[row * canvas->width + column];
    cell->dots |= braille[y % canvas->dots_high][x % canvas->dots_wide];
    cell->series = (uint8_t)series;
}

/* True if the n-th dot of a line is drawn: series 0 is solid, then dashed, then dotted. */
static bool in_pattern (size_t series, long n, bool braille)
{
    static const struct {
        long on, period;
    } patterns[PLOT_SERIES_LIMIT] = {{1, 1}, {1, 3}, {5, 8}, {1, 6}, {3, 5}, {1, 9}};
    return !braille || n % patterns[series].period < patterns[series].on;
}

static void draw_series (struct canvas *canvas, const struct plot *plot,
                         const struct plot_series *series, size_t index, const struct axis *x,
                         const struct axis *y)
{
    int wide = canvas->width * canvas->dots_wide - 1, high = canvas->height * canvas->dots_high - 1;
    bool braille = canvas->dots_high > 1, joined = false;
    double last_x = 0, last_y = 0;
    long drawn = 0;
    for (size_t i = 0; i < series->count; i++) {
        if (!shown (plot, series, i)) {
            joined = false;
            continue;
        }
        double to_x = axis_at (x, series->x[i]) * wide;
        double to_y = high - axis_at (y, series->y[i]) * high;
        if (!joined) {
            last_x = to_x;
            last_y = to_y;
        }
        long steps = lround (ceil (fmax (fabs (to_x - last_x), fabs (to_y - last_y))));
        for (long step = joined ? 1 : 0; step <= steps; step++) {
            double part = steps ? (double)step / (double)steps : 0;
            if (in_pattern (index, drawn++, braille))
                canvas_dot (canvas, (int)lround (last_x + part * (to_x - last_x)),
                            (int)lround (last_y + part * (to_y - last_y)), index);
        }
        last_x = to_x;
        last_y = to_y;
        joined = true;
    }
}

/* ---- Printing ----------------------------------------------------------------------------- */

static const char marks[PLOT_SERIES_LIMIT + 1] = "*o+x#%";

static void print_cell (struct cell cell, struct terminal terminal, FILE *out)
{
    static const char *const colours[PLOT_SERIES_LIMIT] = {"36", "33", "35", "32", "34", "31"};
    if (!cell.dots) {
        fputc (' ', out);
        return;
    }
    if (terminal.colour)
        fprintf (out, "\033[%sm", colours[cell.series]);
    if (terminal.unicode)
        fprintf (out, "\xe2%c%c", 0xa0 | cell.dots >> 6, 0x80 | (cell.dots & 0x3f));
    else
        fputc (marks[cell.series], out);
    if (terminal.colour)
        fputs ("\033[0m", out);
}

/* The tick of the y axis that belongs to a line of the canvas, if there is one. */
static bool line_tick (const struct canvas *canvas, const struct axis *y, int line, double *ret)
{
    for (double tick = y->min; tick <= y->max + y->step / 2; tick = axis_tick (y, tick, true)) {
        double from_top = 1 - axis_at (y, tick);
        if ((int)lround (from_top * (canvas->height - 1)) == line) {
            *ret = tick;
            return true;
        }
    }
    return false;
}

struct label {
    char text[16];
};

static struct label tick_label (double tick)
{
    struct label label;
    /* Steps are round, so a tick next to 0 is 0 and six digits show any of them. */
    snprintf (label.text, sizeof (label.text), "%.6g", fabs (tick) < 1e-300 ? 0 : tick);
    return label;
}

static int label_width (const struct canvas *canvas, const struct axis *y)
{
    int width = 1;
    double tick;
    for (int line = 0; line < canvas->height; line++) {
        if (line_tick (canvas, y, line, &tick)) {
            int length = (int)strlen (tick_label (tick).text);
            width = length > width ? length : width;
        }
    }
    return width;
}

/* The x axis: a rule with ticks, and their labels below where there is room. */
static void print_x_axis (const struct canvas *canvas, const struct plot *plot,
                          const struct axis *x, int left, struct terminal terminal, FILE *out)
{
    char labels[256], rule[256];
    memset (labels, ' ', sizeof (labels));
    memset (rule, '-', sizeof (rule));
    int free_from = 0;
    for (double tick = axis_tick (x, x->min, false); tick <= x->max * (1 + 1e-9);
         tick = axis_tick (x, tick, true)) {
        int column = (int)lround (axis_at (x, tick) * (canvas->width - 1));
        struct label label = tick_label (tick);
        int length = (int)strlen (label.text), start = column - length / 2;
        start = start < 0 ? 0 : start;
        if (start < free_from || start + length > canvas->width + 4)
            continue;
        rule[column] = '+';
        memcpy (labels + start, label.text, (size_t)length);
        free_from = start + length + 2;
    }
    fprintf (out, "%*s %s", left, "", terminal.unicode ? "└" : "+");
    for (int i = 0; i < canvas->width; i++)
        fputs (!terminal.unicode ? (rule[i] == '+' ? "+" : "-") : rule[i] == '+' ? "┬" : "─", out);
    int end = free_from > 2 ? free_from - 2 : 0;
    fprintf (out, "\n%*s  %.*s  %s\n", left, "", end, labels, plot->x_label);
}

static void print_legend (const struct plot_series *series, size_t count, int left,
                          struct terminal terminal, FILE *out)
{
    fprintf (out, "%*s  ", left, "");
    for (size_t s = 0; s < count; s++) {
        fputs (s ? "    " : "", out);
        struct cell sample[4] = {{0}};
        struct canvas canvas = {.width = 4, .height = 1, .cells = sample};
        canvas.dots_wide = terminal.unicode ? 2 : 1;
        canvas.dots_high = terminal.unicode ? 4 : 1;
        for (int dot = 0; dot < canvas.width * canvas.dots_wide; dot++) {
            if (in_pattern (s, dot, terminal.unicode))
                canvas_dot (&canvas, dot, canvas.dots_high / 2, s);
        }
        for (int i = 0; i < canvas.width; i++)
            print_cell (sample[i], terminal, out);
        fprintf (out, " %s", series[s].name);
    }
    fputc ('\n', out);
}

static void print_canvas (const struct canvas *canvas, const struct plot *plot,
                          const struct axis *x, const struct axis *y, int left,
                          struct terminal terminal, FILE *out)
{
    fprintf (out, "%s\n", plot->y_label);
    for (int line = 0; line < canvas->height; line++) {
        double tick;
        if (line_tick (canvas, y, line, &tick))
            fprintf (out, "%*s %s", left, tick_label (tick).text, terminal.unicode ? "┤" : "+");
        else
            fprintf (out, "%*s %s", left, "", terminal.unicode ? "│" : "|");
        int last = canvas->width - 1;
        while (last >= 0 && !canvas->cells[line * canvas->width + last].dots)
            last--;
        for (int i = 0; i <= last; i++)
            print_cell (canvas->cells[line * canvas->width + i], terminal, out);
        fputc ('\n', out);
    }
    print_x_axis (canvas, plot, x, left, terminal, out);
}

int plot_print (const struct plot *plot, const struct plot_series *series, size_t count,
                struct terminal terminal, FILE *out, struct pollux_error *err)
{
    if (count > PLOT_SERIES_LIMIT)
        return fail (err, -EINVAL, "cannot draw %zu curves: expected at most %d", count,
                     PLOT_SERIES_LIMIT);
    struct canvas canvas = {
        .height = plot->height > 0 ? plot->height : 14,
        .dots_wide = terminal.unicode ? 2 : 1,
        .dots_high = terminal.unicode ? 4 : 1,
    };
    struct axis x, y;
    if (!find_axes (plot, series, count, terminal.width, canvas.height, &x, &y))
        return fail (err, -EINVAL, "cannot draw a plot without points");
    int left = label_width (&canvas, &y);
    /* The labels, the axis, and a margin for the last label of the x axis and its name. */
    canvas.width =
        terminal.width - left - 2 - 4 - (int)utf8_count (plot->x_label, strlen (plot->x_label));
    canvas.width = canvas.width < 16 ? 16 : canvas.width;
    canvas.cells = calloc ((size_t)canvas.width * (size_t)canvas.height, sizeof (*canvas.cells));
    if (!canvas.cells)
        return fail (err, -ENOMEM, "not enough memory for a plot");
    for (size_t s = 0; s < count; s++)
        draw_series (&canvas, plot, &series[s], s, &x, &y);
    print_canvas (&canvas, plot, &x, &y, left, terminal, out);
    print_legend (series, count, left, terminal, out);
    free (canvas.cells);
    return 0;
}
