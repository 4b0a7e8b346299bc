/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of all versions. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>

#include "pollux/pollux.h"

/* Migrate the tables from a version (0: an empty file) to STORE_VERSION, in one transaction. */
int schema_migrate (sqlite3 *db, const char *name, int from, struct pollux_error *err);

/* The version of a file's tables.  -EINVAL: they differ from those of their version, or the version is
 * newer than STORE_VERSION. */
int schema_check (sqlite3 *db, const char *name, int *ret, struct pollux_error *err);

#endif
