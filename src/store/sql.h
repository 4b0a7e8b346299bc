/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers around SQLite.  name stands for the file in messages. */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <sqlite3.h>
#include <stdint.h>

#include "pollux/pollux.h"

/* The repair of a damaged file, as the end of a sentence. */
#define SQL_REPAIR                                                                                 \
    "restore a copy, save what is left with sqlite3's .recover, or move it away to begin anew"

/* The sentence for SQLite's last error: "NAME: cannot DOING: why; the repair".  Returns the
 * corresponding errno value, negative. */
int sql_fail (sqlite3 *db, const char *name, const char *doing, struct pollux_error *err);

/* Run statements that return no rows. */
int sql_run (sqlite3 *db, const char *name, const char *doing, const char *sql,
             struct pollux_error *err);

/* The first column of the first row as an integer, or as text, which the caller frees.  Without a row,
 * or if the column is NULL: `missing`, or a NULL pointer. */
int sql_integer (sqlite3 *db, const char *name, const char *sql, int64_t missing, int64_t *ret,
                 struct pollux_error *err);
int sql_text (sqlite3 *db, const char *name, const char *sql, char **ret, struct pollux_error *err);

#endif
