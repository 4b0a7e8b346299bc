/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Properties of the terminal or file behind a stream. */
struct terminal {
    int width;    /* columns: COLUMNS, or the terminal's, or 80; in 40..200 */
    bool unicode; /* the locale's encoding is UTF-8 */
    bool colour;  /* a terminal, neither NO_COLOR nor TERM=dumb */
};

/* Call setlocale (LC_CTYPE, "") first. */
struct terminal terminal_of (FILE *stream);

#endif
