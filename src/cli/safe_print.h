/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SAFE_PRINT_H
#define CLI_SAFE_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes that a stranger wrote, poured out as they come.  Onto a terminal nothing goes that it would
 * obey: control characters and malformed UTF-8 become question marks, a carriage return starts a
 * new line.  Elsewhere all bytes pass as they are. */
struct safe_print {
    FILE *out;
    bool tame;    /* out is a terminal */
    char rest[4]; /* the beginning of a character whose end is still to come */
    size_t rest_length;
    bool returned;   /* the last byte was a carriage return */
    bool line_begun; /* something stands on the current line */
};

struct safe_print safe_print_start (FILE *out, bool tame);
void safe_print_bytes (struct safe_print *pour, const char *bytes, size_t length);

/* What is left over, and on a terminal the end of an unfinished line. */
void safe_print_end (struct safe_print *pour);

#endif
