/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COMMAND_LINE_H
#define CLI_COMMAND_LINE_H

#include <stddef.h>

/* The words of a command as a line for a shell, "pollux sim 'my day.csv' --seed 1", to be freed by
 * the caller. A longer line than limit bytes is cut and ends with " ...".  Malformed UTF-8 and
 * control characters become question marks.  NULL: no memory. */
char *command_line (int argc, char *const *argv, size_t limit);

#endif
