/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several logs in one text, each after a line of its own:
 *
 *     ==> job a, generation 2, rank 0 <==
 *
 * A line that begins with "==>" is such a line and no other: lines of a log that begin so get a space in
 * front.
 */
#ifndef API_LOG_HEADERS_H
#define API_LOG_HEADERS_H

#include <stddef.h>

/* How much of "==>" was held back at the start of a line, 0 to 2; -1: inside a line.  All 0: at the
 * start. */
struct log_lines {
    int held;
};

/* Copy bytes of a log, with spaces where they are needed.  ret has room for length + length / 3 + 3
 * bytes.  Returns the number of bytes written; up to two are held back. */
size_t log_lines_copy (struct log_lines *lines, const char *bytes, size_t length, char *ret);

/* The log has ended: write what was held back, and a newline if the last line has none.  ret has room
 * for 3 bytes. */
size_t log_lines_end (struct log_lines *lines, char *ret);

#endif
