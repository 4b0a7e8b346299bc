/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_CREATE_H
#define STORE_CREATE_H

#include "pollux/pollux.h"

/* Make an empty journal, 0600.  It appears whole or not at all, whenever the program dies: an
 * empty or half-made file is never the journal of a first start, but a damaged one.  -EEXIST if
 * there is anything of that name. */
int store_create (const char *path, struct pollux_error *err);

#endif
