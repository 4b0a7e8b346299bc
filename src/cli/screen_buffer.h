/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer of character cells with styles.  pollux top draws into it, then copies it to the screen or
 * prints it as text.
 */
#ifndef CLI_SCREEN_BUFFER_H
#define CLI_SCREEN_BUFFER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* Colours are numbered from 1; 0 is the terminal's default. */
struct screen_style {
    uint8_t colour;
    bool bold, reverse;
};

struct screen_cell {
    char text[8]; /* a character with its combining ones; "": right half of a wide one */
    struct screen_style style;
};

struct screen_buffer {
    int width, height;
    struct screen_cell *cells; /* line by line */
};

/* Make an empty buffer, at most SCREEN_BUFFER_LIMIT cells each way.  On success *ret belongs to the
 * caller (screen_buffer_clear). */
enum { SCREEN_BUFFER_LIMIT = 4096 };
int screen_buffer_new (int width, int height, struct screen_buffer *ret, struct pollux_error *err);
void screen_buffer_clear (struct screen_buffer *screen);

/* Write text from a cell on, cut at the right edge.  Text outside the buffer is left out.  Returns
 * the column after the text. */
int screen_buffer_put (struct screen_buffer *screen, int line, int column,
                       struct screen_style style, const char *format, ...)
    __attribute__ ((format (printf, 5, 6)));

/* Give a whole line a style. */
void screen_buffer_style_line (struct screen_buffer *screen, int line, struct screen_style style);

const struct screen_cell *screen_buffer_at (const struct screen_buffer *screen, int line,
                                            int column);

/* Print it as plain text without trailing blanks and trailing empty lines. */
void screen_buffer_print (const struct screen_buffer *screen, FILE *out);

#endif
