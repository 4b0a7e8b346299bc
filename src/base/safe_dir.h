/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in directories that other users may know.  A file is opened by one name in an open directory,
 * never through a symbolic link, and only if this user owns it.  Failures are negative errno values:
 * -ELOOP for a symbolic link, -EPERM for a file that others own or can write.
 */
#ifndef BASE_SAFE_DIR_H
#define BASE_SAFE_DIR_H

#include <dirent.h>
#include <stddef.h>

#include "pollux/pollux.h"

/* Open a directory by a path that is trusted: from the command line or the configuration. */
int safe_dir_open_root (const char *path, int *ret, struct pollux_error *err);

/* Open a subdirectory. */
int safe_dir_open (int directory, const char *name, int *ret, struct pollux_error *err);

/* Create a subdirectory and sync it; no error if it exists. */
int safe_dir_make (int directory, const char *name, struct pollux_error *err);

/* Open a regular file for reading. */
int safe_dir_open_file (int directory, const char *name, int *ret, struct pollux_error *err);

/* Read a regular file of at most limit bytes.  *ret ends with a NUL; the caller frees it. */
int safe_dir_read (int directory, const char *name, size_t limit, char **ret, size_t *ret_length,
                   struct pollux_error *err);

/* Write a file and sync it.  An existing file is overwritten in place, without freeing its disk
 * space first. */
int safe_dir_write (int directory, const char *name, const char *text, size_t length,
                    struct pollux_error *err);

/* The same atomically: write NAME.new, then rename it. */
int safe_dir_replace (int directory, const char *name, const char *text, size_t length,
                      struct pollux_error *err);

/* List a directory; the caller owns *ret (closedir). */
int safe_dir_list (int directory, DIR **ret, struct pollux_error *err);

/* The next name, without "." and ".."; NULL at the end. */
const char *safe_dir_next (DIR *list);

/* Remove a directory with its contents.  -ENOTEMPTY: files were added at the same time. */
int safe_dir_remove (int directory, const char *name, struct pollux_error *err);

#endif
