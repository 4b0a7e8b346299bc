/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_CREATE_H
#define STORE_CREATE_H

#include "pollux/pollux.h"

/* Make an empty journal with mode 0600, atomically: if the program dies, there is a complete journal or
 * no file.  So an empty or incomplete file is always a damaged journal.  -EEXIST: the file exists. */
int store_create (const char *path, struct pollux_error *err);

#endif
