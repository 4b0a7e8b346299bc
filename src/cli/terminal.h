/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* What can be shown where a stream ends. */
struct terminal {
    int width;    /* columns: COLUMNS, or the terminal's, or 80; in 40..200 */
    bool unicode; /* the locale's encoding is UTF-8 */
    bool colour;  /* a terminal, neither NO_COLOR nor TERM=dumb */
};

/* Needs setlocale (LC_CTYPE, "") before. */
struct terminal terminal_of (FILE *stream);

#endif
