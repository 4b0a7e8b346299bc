/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_LOG_H
#define BACKEND_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a replica wrote: out.log in a directory, rotated to out.log.1, out.log.2 and so on.  A line
 * stays whole if it is shorter than an eighth of a file.  Nothing here fails: what cannot be written, on a
 * full disk for one, is lost, and a mark says how much as soon as there is room again. */
struct log {
    int directory; /* borrowed */
    int file;      /* -1: could not be opened yet */
    int64_t size, limit;
    int files;
    bool in_line; /* the last byte written was no newline */
    int64_t lost; /* bytes since the last mark */
    int why;      /* errno of the loss */
};

/* limit: bytes per file; files: rotated ones that are kept. */
struct log log_open (int directory, int64_t limit, int files);
void log_write (struct log *log, const char *text, size_t length);
/* A line of the supervisor's own: "pollux: ...". */
void log_mark (struct log *log, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
void log_close (struct log *log);

#endif
