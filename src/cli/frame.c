/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of characters.
 */
#define _XOPEN_SOURCE 700 /* wcwidth */
#include "cli/frame.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/error.h"
#include "base/utf8.h"

int frame_new (int width, int height, struct frame *ret, struct pollux_error *err)
{
    struct frame frame = {.width = width < 1             ? 1
                                   : width > FRAME_LIMIT ? FRAME_LIMIT
                                                         : width,
                          .height = height < 1             ? 1
                                    : height > FRAME_LIMIT ? FRAME_LIMIT
                                                           : height};
    size_t count = (size_t)frame.width * (size_t)frame.height;
    frame.cells = calloc (count, sizeof (frame.cells[0]));
    if (!frame.cells)
        return fail (err, -ENOMEM, "not enough memory for the screen");
    for (size_t i = 0; i < count; i++)
        frame.cells[i].text[0] = ' ';
    *ret = frame;
    return 0;
}

void frame_clear (struct frame *frame)
{
    free (frame->cells);
    *frame = (struct frame){0};
}

static struct frame_cell *cell_at (const struct frame *frame, int line, int column)
{
    if (line < 0 || line >= frame->height || column < 0 || column >= frame->width)
        return NULL;
    return &frame->cells[(size_t)line * (size_t)frame->width + (size_t)column];
}

const struct frame_cell *frame_at (const struct frame *frame, int line, int column)
{
    return cell_at (frame, line, column);
}

/* Columns that a character takes; -1: none that could be shown.  In a locale that knows ASCII only,
 * other characters are not for its terminals. */
static int columns_of (const char *character, size_t length)
{
    wchar_t wide;
    mbstate_t state = {0};
    if (length == 1)
        return 1;
    size_t taken = mbrtowc (&wide, character, length, &state);
    return taken == length ? wcwidth (wide) : -1;
}

int frame_put (struct frame *frame, int line, int column, struct frame_style style,
               const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    utf8_disarm (text);
    size_t length = strlen (text);
    for (size_t at = 0, step; at < length; at += step) {
        step = utf8_skip (text + at, length - at, 1);
        int wide = columns_of (text + at, step);
        struct frame_cell *cell = cell_at (frame, line, column);
        if (wide == 0)
            continue; /* accents without a letter of their own are left out */
        if (!cell || (wide == 2 && !cell_at (frame, line, column + 1)))
            break;
        *cell = (struct frame_cell){.text = "?", .style = style};
        if (wide > 0)
            memcpy (cell->text, text + at, step < sizeof (cell->text) ? step : 1);
        if (wide == 2)
            *cell_at (frame, line, column + 1) = (struct frame_cell){.style = style};
        column += wide == 2 ? 2 : 1;
    }
    return column;
}

void frame_style_line (struct frame *frame, int line, struct frame_style style)
{
    for (int column = 0; column < frame->width; column++) {
        struct frame_cell *cell = cell_at (frame, line, column);
        if (cell)
            cell->style = style;
    }
}

/* The column behind the last cell that is not blank. */
static int end_of_line (const struct frame *frame, int line)
{
    int end = frame->width;
    while (end > 0 && strcmp (cell_at (frame, line, end - 1)->text, " ") == 0)
        end--;
    return end;
}

void frame_print (const struct frame *frame, FILE *out)
{
    int lines = frame->height;
    while (lines > 0 && end_of_line (frame, lines - 1) == 0)
        lines--;
    for (int line = 0; line < lines; line++) {
        int end = end_of_line (frame, line);
        for (int column = 0; column < end; column++)
            fputs (cell_at (frame, line, column)->text, out);
        fputc ('\n', out);
    }
}
