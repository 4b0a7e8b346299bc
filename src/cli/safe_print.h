/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SAFE_PRINT_H
#define CLI_SAFE_PRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Prints untrusted bytes as they arrive.  On a terminal, control characters and malformed UTF-8 become
 * question marks, and a carriage return starts a new line.  Elsewhere bytes are unchanged. */
struct safe_print {
    FILE *out;
    bool to_terminal; /* out is a terminal */
    char rest[4];     /* first bytes of an incomplete character */
    size_t rest_length;
    bool returned;   /* the last byte was a carriage return */
    bool line_begun; /* the current line is not empty */
};

struct safe_print safe_print_start (FILE *out, bool to_terminal);
void safe_print_bytes (struct safe_print *print, const char *bytes, size_t length);

/* Print the kept bytes, and on a terminal the end of an unfinished line. */
void safe_print_end (struct safe_print *print);

#endif
