/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer of character cells for pollux top.
 */
#define _XOPEN_SOURCE 700 /* wcwidth */
#include "cli/screen_buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/error.h"
#include "base/utf8.h"

int screen_buffer_new (int width, int height, struct screen_buffer *ret, struct pollux_error *err)
{
    struct screen_buffer screen = {.width = width < 1                     ? 1
                                            : width > SCREEN_BUFFER_LIMIT ? SCREEN_BUFFER_LIMIT
                                                                          : width,
                                   .height = height < 1                     ? 1
                                             : height > SCREEN_BUFFER_LIMIT ? SCREEN_BUFFER_LIMIT
                                                                            : height};
    size_t count = (size_t)screen.width * (size_t)screen.height;
    screen.cells = calloc (count, sizeof (screen.cells[0]));
    if (!screen.cells)
        return fail (err, -ENOMEM, "not enough memory for the screen");
    for (size_t i = 0; i < count; i++)
        screen.cells[i].text[0] = ' ';
    *ret = screen;
    return 0;
}

void screen_buffer_clear (struct screen_buffer *screen)
{
    free (screen->cells);
    *screen = (struct screen_buffer){0};
}

static struct screen_cell *cell_at (const struct screen_buffer *screen, int line, int column)
{
    if (line < 0 || line >= screen->height || column < 0 || column >= screen->width)
        return NULL;
    return &screen->cells[(size_t)line * (size_t)screen->width + (size_t)column];
}

const struct screen_cell *screen_buffer_at (const struct screen_buffer *screen, int line,
                                            int column)
{
    return cell_at (screen, line, column);
}

/* The width of a character in columns; -1: not printable.  An ASCII locale prints ASCII only. */
static int columns_of (const char *character, size_t length)
{
    wchar_t wide;
    mbstate_t state = {0};
    if (length == 1)
        return 1;
    size_t taken = mbrtowc (&wide, character, length, &state);
    return taken == length ? wcwidth (wide) : -1;
}

int screen_buffer_put (struct screen_buffer *screen, int line, int column,
                       struct screen_style style, const char *format, ...)
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
        struct screen_cell *cell = cell_at (screen, line, column);
        if (wide == 0)
            continue; /* a combining character without a base is left out */
        if (!cell || (wide == 2 && !cell_at (screen, line, column + 1)))
            break;
        *cell = (struct screen_cell){.text = "?", .style = style};
        if (wide > 0)
            memcpy (cell->text, text + at, step < sizeof (cell->text) ? step : 1);
        if (wide == 2)
            *cell_at (screen, line, column + 1) = (struct screen_cell){.style = style};
        column += wide == 2 ? 2 : 1;
    }
    return column;
}

void screen_buffer_style_line (struct screen_buffer *screen, int line, struct screen_style style)
{
    for (int column = 0; column < screen->width; column++) {
        struct screen_cell *cell = cell_at (screen, line, column);
        if (cell)
            cell->style = style;
    }
}

/* The column after the last non-blank cell. */
static int end_of_line (const struct screen_buffer *screen, int line)
{
    int end = screen->width;
    while (end > 0 && strcmp (cell_at (screen, line, end - 1)->text, " ") == 0)
        end--;
    return end;
}

void screen_buffer_print (const struct screen_buffer *screen, FILE *out)
{
    int lines = screen->height;
    while (lines > 0 && end_of_line (screen, lines - 1) == 0)
        lines--;
    for (int line = 0; line < lines; line++) {
        int end = end_of_line (screen, line);
        for (int column = 0; column < end; column++)
            fputs (cell_at (screen, line, column)->text, out);
        fputc ('\n', out);
    }
}
