/* SPDX-License-Identifier: Apache-2.0 */
/* The tables, version by version. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>

#include "pollux/pollux.h"

/* Bring the tables from a version, 0 for an empty file, to STORE_VERSION, all at once or not at
 * all. */
int schema_migrate (sqlite3 *db, const char *name, int from, struct pollux_error *err);

/* The version of a file's tables.  Refused: tables that are not exactly ours, versions to come. */
int schema_check (sqlite3 *db, const char *name, int *ret, struct pollux_error *err);

#endif
