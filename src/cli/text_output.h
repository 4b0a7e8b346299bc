/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TEXT_OUTPUT_H
#define CLI_TEXT_OUTPUT_H

#include <stdio.h>

#include "pollux/pollux.h"

/* May a command write its output here?  -EEXIST: not over a database, which may be a journal, and not over one of the
 * command's own inputs. */
int output_check (const char *path, char *const *inputs, int input_count, struct pollux_error *err);

/* Write pieces of text one after the other to a file; "-": to out.  A regular file is replaced by
 * rename, after all is written, unless output_check refuses; a device, pipe or link is opened and written. */
struct text_piece {
    const char *text;
    size_t length;
};
int output_text_file (const struct text_piece *pieces, int count, const char *path, FILE *out,
                      struct pollux_error *err);

#endif
