/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKEND_LOG_H
#define BACKEND_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The output of a replica: out.log in a directory, rotated to out.log.1, out.log.2 and so on.  A line
 * is never split between files if it is shorter than an eighth of a file.  No function fails: bytes
 * that cannot be written, on a full disk for example, are lost, and when there is space again a mark
 * says how many. */
struct log {
    int directory; /* borrowed */
    int file;      /* -1: it could not be opened so far */
    int64_t size, limit;
    int files;
    bool in_line; /* the last byte written was no newline */
    int64_t lost; /* bytes since the last mark */
    int why;      /* errno of that loss */
};

/* limit: bytes per file; files: rotated files to keep. */
struct log log_open (int directory, int64_t limit, int files);
void log_write (struct log *log, const char *text, size_t length);
/* Write a line of the supervisor: "pollux: ...". */
void log_mark (struct log *log, const char *format, ...) __attribute__ ((format (printf, 2, 3)));
void log_close (struct log *log);

#endif
