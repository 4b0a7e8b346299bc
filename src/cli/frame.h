/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of characters: lines of cells, each with a character and how it is shown.  It is drawn
 * without knowing where it will be shown; pollux top puts it on a screen, or prints it as text.
 */
#ifndef CLI_FRAME_H
#define CLI_FRAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* How a cell is shown.  Colours are numbers from 1 on; 0 is the terminal's own. */
struct frame_style {
    uint8_t colour;
    bool bold, reverse;
};

struct frame_cell {
    char text[8]; /* one character with what combines with it; "": the right half of a wide one */
    struct frame_style style;
};

struct frame {
    int width, height;
    struct frame_cell *cells; /* line by line */
};

/* An empty frame; the caller's (frame_clear).  At most FRAME_LIMIT cells each way. */
enum { FRAME_LIMIT = 4096 };
int frame_new (int width, int height, struct frame *ret, struct pollux_error *err);
void frame_clear (struct frame *frame);

/* Write text from a cell on, cut at the right edge, and return the column behind it.  What is
 * outside of the frame is left out. */
int frame_put (struct frame *frame, int line, int column, struct frame_style style,
               const char *format, ...) __attribute__ ((format (printf, 5, 6)));

/* Give a whole line a style. */
void frame_style_line (struct frame *frame, int line, struct frame_style style);

const struct frame_cell *frame_at (const struct frame *frame, int line, int column);

/* Print it as plain text, without blanks at the ends of lines and without empty lines at its end. */
void frame_print (const struct frame *frame, FILE *out);

#endif
