/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files inside of directories that strangers know: reached from the descriptor of a directory by
 * one name, never through a symbolic link, and only if they are ours.  Failures are negative errno
 * values: -ELOOP for a symbolic link, -EPERM for what belongs to, or can be written by, others.
 */
#ifndef BASE_SAFE_DIR_H
#define BASE_SAFE_DIR_H

#include <dirent.h>
#include <stddef.h>

#include "pollux/pollux.h"

/* A directory by any path, which whoever started this program has chosen. */
int safe_dir_open_root (const char *path, int *ret, struct pollux_error *err);

/* A directory in a directory. */
int safe_dir_open (int directory, const char *name, int *ret, struct pollux_error *err);

/* Make one, durably; fine if it is there. */
int safe_dir_make (int directory, const char *name, struct pollux_error *err);

/* A regular file, for reading. */
int safe_dir_open_file (int directory, const char *name, int *ret, struct pollux_error *err);

/* All of a regular file of at most limit bytes; *ret has a NUL behind it and is the caller's
 * (free). */
int safe_dir_read (int directory, const char *name, size_t limit, char **ret, size_t *ret_length,
                   struct pollux_error *err);

/* Write a file of exactly this text, durably; one that is there is overwritten in place, without
 * giving its room back first. */
int safe_dir_write (int directory, const char *name, const char *text, size_t length,
                    struct pollux_error *err);

/* The same atomically: into NAME.new, which then takes the name. */
int safe_dir_replace (int directory, const char *name, const char *text, size_t length,
                      struct pollux_error *err);

/* A list of the names in a directory, the caller's (closedir). */
int safe_dir_list (int directory, DIR **ret, struct pollux_error *err);

/* The next name in it, without "." and ".."; NULL behind the last. */
const char *safe_dir_next (DIR *list);

/* Remove a directory and all that is in it.  -ENOTEMPTY if others put files into it meanwhile. */
int safe_dir_remove (int directory, const char *name, struct pollux_error *err);

#endif
