/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stddef.h>

#include "pollux/pollux.h"

/* A path as messages show it: "-" is the standard input, and of a long path the end is kept,
 * so that the rest of a sentence still fits into an error. */
struct file_name {
    char text[88];
};
struct file_name file_name (const char *path);

/* Read a whole file, or the standard input where path is "-".  On success *ret holds *ret_length
 * bytes and one NUL after them, and belongs to the caller (free).  -EFBIG for more than limit
 * bytes, however large the file is: reading stops there.  -EISDIR and the like as open(2) and
 * read(2) say. */
int file_read (const char *path, size_t limit, char **ret, size_t *ret_length,
               struct pollux_error *err);

#endif
