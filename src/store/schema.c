/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of all versions.  A new version is one more migration at the end; a released migration is
 * never changed.
 *
 * A file may come from anywhere, and SQL in it (views, triggers) would run in our queries.  So a file's
 * schema must be exactly what these statements make; they are run in memory to compare.
 */
#include "store/schema.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "store/sql.h"
#include "store/store.h"

/* The application id in the file's header, "Pllx", which file(1) shows. */
#define APPLICATION_ID "1349282936"

/* meta never changes: each version reads the version of a file from it. */
#define META "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"

/* [N]: from version N to N + 1. */
static const char *const migrations[] = {
    [0] = "PRAGMA application_id = " APPLICATION_ID ";" META ";"
          "CREATE TABLE events (seq INTEGER PRIMARY KEY, at_us INTEGER NOT NULL,"
          " type TEXT NOT NULL, job TEXT, body TEXT NOT NULL) STRICT;"
          "CREATE TABLE snapshot (seq INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;"
          "INSERT INTO meta VALUES ('created_by', 'pollux " POLLUX_VERSION "');",
    [1] = "CREATE TABLE jobs (job INTEGER PRIMARY KEY, at_us INTEGER NOT NULL, name TEXT NOT NULL,"
          " ended INTEGER NOT NULL, body TEXT NOT NULL) STRICT;"
          "CREATE TABLE states (job INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;",
    [2] = "CREATE TABLE history (job INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;",
    /* The same tables; GROUPS, SIZE and POWER among the events, and what follows from them in snapshots.  Programs that
     * know version 3 refuse the file, or they would lose costs and nodes. */
    [3] = "",
};
_Static_assert(sizeof (migrations) / sizeof (migrations[0]) == STORE_VERSION,
               "a migration to each version");

static int migrate (sqlite3 *db, const char *name, int from, int to, struct pollux_error *err)
{
    const char *doing = "make its tables";
    char note[96];
    sqlite3_snprintf (sizeof (note), note, "INSERT OR REPLACE INTO meta VALUES ('version', '%d')",
                      to);
    int code = sql_run (db, name, doing, "BEGIN IMMEDIATE", err);
    for (int version = from; code == 0 && version < to; version++)
        code = sql_run (db, name, doing, migrations[version], err);
    if (code == 0)
        code = sql_run (db, name, doing, note, err);
    if (code == 0)
        code = sql_run (db, name, doing, "COMMIT", err);
    if (code < 0)
        sqlite3_exec (db, "ROLLBACK", NULL, NULL, NULL);
    return code;
}

int schema_migrate (sqlite3 *db, const char *name, int from, struct pollux_error *err)
{
    return migrate (db, name, from, STORE_VERSION, err);
}

/* ---- Checking ----------------------------------------------------------------------------- */

/* The SQL of all tables of a file. */
static int statements (sqlite3 *db, const char *name, char **ret, struct pollux_error *err)
{
    return sql_text (db, name,
                     "SELECT group_concat (type || ' ' || name || ' ' || coalesce (sql, ''), '\n')"
                     " FROM (SELECT * FROM sqlite_schema ORDER BY type, name)",
                     ret, err);
}

/* The SQL of all tables of a version, from a database in memory. */
static int expected_statements (const char *name, int version, char **ret, struct pollux_error *err)
{
    sqlite3 *memory = NULL;
    int code = 0;
    if (sqlite3_open (":memory:", &memory) != SQLITE_OK)
        code = fail (err, -ENOMEM, "%s: not enough memory to check its tables", name);
    if (code == 0)
        code = migrate (memory, name, 0, version, err);
    if (code == 0)
        code = statements (memory, name, ret, err);
    sqlite3_close (memory);
    return code;
}

/* The version in the table meta, after a check that meta is our table. */
static int read_version (sqlite3 *db, const char *name, int *ret, struct pollux_error *err)
{
    char *sql = NULL, *text = NULL;
    int code = sql_text (db, name, "SELECT sql FROM sqlite_schema WHERE name = 'meta'", &sql, err);
    if (code == 0 && (!sql || strcmp (sql, META) != 0))
        code = fail (err, -EINVAL, "%s: an SQLite database, but no journal of pollux", name);
    if (code == 0)
        code = sql_text (db, name, "SELECT value FROM meta WHERE key = 'version'", &text, err);
    int64_t version = 0;
    if (code == 0 && (!text || number_int64 (text, &version) < 0 || version < 1))
        code = fail (err, -EINVAL, "%s: damaged: it has no version", name);
    if (code == 0 && version > STORE_VERSION)
        code = fail (err, -EINVAL,
                     "%s: its version is %lld, and this is pollux " POLLUX_VERSION
                     ", which reads versions up to %d; use a newer one",
                     name, (long long)version, STORE_VERSION);
    if (code == 0)
        *ret = (int)version;
    free (sql);
    free (text);
    return code;
}

int schema_check (sqlite3 *db, const char *name, int *ret, struct pollux_error *err)
{
    int version = 0;
    char *found = NULL, *expected = NULL;
    int code = read_version (db, name, &version, err);
    if (code == 0)
        code = statements (db, name, &found, err);
    if (code == 0)
        code = expected_statements (name, version, &expected, err);
    if (code == 0 && (!found || strcmp (found, expected) != 0))
        code = fail (err, -EINVAL,
                     "%s: its tables are not those of a journal of version %d; they were "
                     "changed",
                     name, version);
    free (found);
    free (expected);
    if (code == 0)
        *ret = version;
    return code;
}
