/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "pollux/pollux.h"

/* A path for messages: "-" becomes "standard input"; of a long path only the end is kept, so that the
 * message fits. */
struct file_name {
    char text[88];
};
struct file_name file_name (const char *path);

/* Read a whole file ("-": standard input).  On success *ret has *ret_length bytes and a NUL after
 * them; the caller frees it.  -EFBIG: more than limit bytes (no more are read); else the error of
 * open(2) or read(2). */
int file_read (const char *path, size_t limit, char **ret, size_t *ret_length,
               struct pollux_error *err);

/* Copy a text with a NUL after it, for parsers that own their text.  The caller frees *ret.  -EFBIG:
 * more than limit bytes; -ENOMEM. */
int file_copy_text (const char *name, const char *text, size_t length, size_t limit, char **ret,
                    struct pollux_error *err);

/* Read until the buffer is full or the file ends.  Bytes read, or -errno. */
ssize_t file_read_full (int file, void *ret, size_t size);
/* Write all bytes, also after signals and short writes.  0 or -errno. */
int file_write_all (int file, const void *data, size_t length);

/* Open /dev/null for each of the descriptors 0, 1 and 2 that is closed: otherwise the next file that the
 * program opens would get its number, and the program's output would be written into that file. */
int file_open_standard (struct pollux_error *err);

#endif
