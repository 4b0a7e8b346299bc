/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error messages for SQLite's codes, with the repair, and short forms of its most used calls.
 */
#include "store/sql.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

int sql_fail (sqlite3 *db, const char *name, const char *doing, struct pollux_error *err)
{
    int system = sqlite3_system_errno (db);
    /* SQLite knows the reason of a failed write for a full disk only, not for a size limit or a quota. */
    if (sqlite3_extended_errcode (db) == SQLITE_IOERR_WRITE)
        return fail (
            err, -EIO,
            "%s: cannot %s: writing failed; check the disk, and limits and quotas of files", name,
            doing);
    int why = sqlite3_errcode (db) & 0xff;
    if (system == ENOSPC && (why == SQLITE_IOERR || why == SQLITE_CANTOPEN))
        why = SQLITE_FULL; /* also if the file's log could not be made */
    switch (why) {
    case SQLITE_NOMEM:
        return fail (err, -ENOMEM, "%s: cannot %s: not enough memory", name, doing);
    case SQLITE_FULL:
        return fail (err, -ENOSPC, "%s: cannot %s: the disk is full; make room and try again", name,
                     doing);
    case SQLITE_READONLY:
        return fail (err, -EROFS,
                     "%s: cannot %s: it may only be read; check the permissions of the file and "
                     "its folder",
                     name, doing);
    case SQLITE_NOTADB:
        return fail (err, -EINVAL, "%s: no journal: expected an SQLite database", name);
    case SQLITE_CORRUPT:
        return fail (err, -EINVAL, "%s: damaged: %.60s; " SQL_REPAIR, name, sqlite3_errmsg (db));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CONSTRAINT:
        return fail (err, -EBUSY, "%s: cannot %s: another program writes to it", name, doing);
    case SQLITE_TOOBIG:
        return fail (err, -EFBIG, "%s: cannot %s: a row is too large", name, doing);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_IOERR:
        return fail (err, system ? -system : -EIO, "%s: cannot %s: %s", name, doing,
                     system ? strerror (system) : sqlite3_errmsg (db));
    default:
        return fail (err, -EIO, "%s: cannot %s: %.100s", name, doing, sqlite3_errmsg (db));
    }
}

int sql_run (sqlite3 *db, const char *name, const char *doing, const char *sql,
             struct pollux_error *err)
{
    return sqlite3_exec (db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0
                                                                 : sql_fail (db, name, doing, err);
}

/* Step to the first row: 1, 0 without one, or a negative errno value.  Always finalize the statement. */
static int one_row (sqlite3 *db, const char *name, const char *sql, sqlite3_stmt **ret,
                    struct pollux_error *err)
{
    *ret = NULL;
    int step = sqlite3_prepare_v2 (db, sql, -1, ret, NULL);
    if (step == SQLITE_OK)
        step = sqlite3_step (*ret);
    if (step == SQLITE_ROW || step == SQLITE_DONE)
        return step == SQLITE_ROW;
    return sql_fail (db, name, "read it", err);
}

int sql_integer (sqlite3 *db, const char *name, const char *sql, int64_t missing, int64_t *ret,
                 struct pollux_error *err)
{
    sqlite3_stmt *statement;
    int code = one_row (db, name, sql, &statement, err);
    if (code >= 0) {
        bool there = code == 1 && sqlite3_column_type (statement, 0) != SQLITE_NULL;
        *ret = there ? sqlite3_column_int64 (statement, 0) : missing;
        code = 0;
    }
    sqlite3_finalize (statement);
    return code;
}

int sql_text (sqlite3 *db, const char *name, const char *sql, char **ret, struct pollux_error *err)
{
    sqlite3_stmt *statement;
    int code = one_row (db, name, sql, &statement, err);
    if (code >= 0) {
        const char *text = code == 1 ? (const char *)sqlite3_column_text (statement, 0) : NULL;
        bool there = code == 1 && sqlite3_column_type (statement, 0) != SQLITE_NULL;
        *ret = text ? strdup (text) : NULL;
        code = there && !*ret ? fail (err, -ENOMEM, "%s: not enough memory", name) : 0;
    }
    sqlite3_finalize (statement);
    return code;
}
