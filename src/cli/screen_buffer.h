/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of characters: lines of cells, each with a character and how it is shown.  It is drawn
 * without knowing where it will be shown; pollux top puts it on a screen, or prints it as text.
 */
#ifndef CLI_SCREEN_BUFFER_H
#define CLI_SCREEN_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* How a cell is shown.  Colours are numbers from 1 on; 0 is the terminal's own. */
struct screen_style {
    uint8_t colour;
    bool bold, reverse;
};

struct screen_cell {
    char text[8]; /* one character with what combines with it; "": the right half of a wide one */
    struct screen_style style;
};

struct screen_buffer {
    int width, height;
    struct screen_cell *cells; /* line by line */
};

/* An empty frame; the caller's (frame_clear).  At most FRAME_LIMIT cells each way. */
enum { SCREEN_BUFFER_LIMIT = 4096 };
int screen_buffer_new (int width, int height, struct screen_buffer *ret, struct pollux_error *err);
void screen_buffer_clear (struct screen_buffer *screen);

/* Write text from a cell on, cut at the right edge, and return the column behind it.  What is
 * outside of the frame is left out. */
int screen_buffer_put (struct screen_buffer *screen, int line, int column,
                       struct screen_style style, const char *format, ...)
    __attribute__ ((format (printf, 5, 6)));

/* Give a whole line a style. */
void screen_buffer_style_line (struct screen_buffer *screen, int line, struct screen_style style);

const struct screen_cell *screen_buffer_at (const struct screen_buffer *screen, int line,
                                            int column);

/* Print it as plain text, without blanks at the ends of lines and without empty lines at its end. */
void screen_buffer_print (const struct screen_buffer *screen, FILE *out);

#endif
