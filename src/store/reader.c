/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second, read-only connection to the journal, or the connection of its store.  Only committed events
 * are read, so a client never gets an event that is lost in a crash: a second connection sees no others,
 * and in the store's connection the numbers are limited.  Statements are reset after each use: an open one would prevent
 * checkpoints of the write-ahead log.
 */
#include "store/reader.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "store/sql.h"
#include "store/store_private.h"

struct reader {
    sqlite3 *db;
    sqlite3_stmt *rows, *range, *plan, *before;
    const struct store *store; /* whose connection it is; NULL: an own one */
    struct file_name name;
    char path[PATH_MAX];
};

void reader_close (struct reader *reader)
{
    if (!reader)
        return;
    sqlite3_finalize (reader->rows);
    sqlite3_finalize (reader->range);
    sqlite3_finalize (reader->plan);
    sqlite3_finalize (reader->before);
    if (!reader->store)
        sqlite3_close (reader->db);
    free (reader);
}

static int prepare (struct reader *reader, const char *sql, sqlite3_stmt **ret,
                    struct pollux_error *err)
{
    if (sqlite3_prepare_v3 (reader->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) == SQLITE_OK)
        return 0;
    return sql_fail (reader->db, reader->name.text, "read it", err);
}

static int prepare_all (struct reader *reader, struct pollux_error *err)
{
    int code = prepare (reader,
                        "SELECT seq, at_us, type, job, body FROM events "
                        "WHERE seq > ?1 AND seq <= ?3 ORDER BY seq LIMIT ?2",
                        &reader->rows, err);
    if (code == 0)
        code = prepare (reader,
                        "SELECT (SELECT min (seq) FROM events), "
                        "(SELECT max (seq) FROM events), (SELECT max (seq) FROM snapshot)",
                        &reader->range, err);
    /* The ROUND itself must be there: else its PLAN could be another one's. */
    if (code == 0)
        code = prepare (reader,
                        "SELECT CASE type WHEN 'PLAN' THEN body END FROM events "
                        "WHERE seq > ?1 AND seq <= ?2 AND type IN ('ROUND', 'PLAN') AND EXISTS "
                        "(SELECT 1 FROM events WHERE seq = ?1 AND type = 'ROUND') "
                        "ORDER BY seq LIMIT 1",
                        &reader->plan, err);
    return code < 0 ? code
                    : prepare (reader,
                               "SELECT body FROM events WHERE seq < ?1 AND seq <= ?2 "
                               "AND type = 'PLAN' ORDER BY seq DESC LIMIT 1",
                               &reader->before, err);
}

static int reader_connect (struct reader *reader, const char *path, struct pollux_error *err)
{
    if (sqlite3_open_v2 (path, &reader->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        return reader->db ? sql_fail (reader->db, reader->name.text, "open it", err) : -ENOMEM;
    sqlite3_extended_result_codes (reader->db, 1);
    sqlite3_limit (reader->db, SQLITE_LIMIT_LENGTH, (int)WIRE_EVENT_LIMIT + (1 << 16));
    /* 200 pages: enough for the end of the journal. */
    return sql_run (reader->db, reader->name.text, "open it", "PRAGMA cache_size = 200", err);
}

/* store NULL: connect to the path. */
static int reader_new (const char *path, struct store *store, struct reader **ret,
                       struct pollux_error *err)
{
    struct reader *reader = calloc (1, sizeof (*reader));
    if (!reader)
        return fail (err, -ENOMEM, "no memory to read a journal");
    reader->name = file_name (path);
    int code = 0;
    if ((size_t)snprintf (reader->path, sizeof (reader->path), "%s", path) >= sizeof (reader->path))
        code = fail (err, -ENAMETOOLONG, "%s: the path is too long", reader->name.text);
    else if (store) {
        reader->store = store;
        reader->db = store->db;
    } else {
        code = reader_connect (reader, path, err);
    }
    if (code == 0)
        code = prepare_all (reader, err);
    if (code < 0) {
        reader_close (reader);
        return code;
    }
    *ret = reader;
    return 0;
}

int reader_open (const char *path, struct reader **ret, struct pollux_error *err)
{
    return reader_new (path, NULL, ret, err);
}

int reader_open_store (struct store *store, struct reader **ret, struct pollux_error *err)
{
    return reader_new (store->path, store, ret, err);
}

/* The number of the last event to show. */
static int64_t last_shown (const struct reader *reader)
{
    return reader->store ? store_committed (reader->store) : INT64_MAX;
}

static const char *text_of (sqlite3_stmt *rows, int column)
{
    return (const char *)sqlite3_column_text (rows, column);
}

int reader_rows (struct reader *reader, int64_t after, int most, reader_each *each, void *self,
                 struct pollux_error *err)
{
    sqlite3_stmt *rows = reader->rows;
    int taken = 0, step = SQLITE_ROW;
    sqlite3_bind_int64 (rows, 1, after);
    sqlite3_bind_int (rows, 2, most);
    sqlite3_bind_int64 (rows, 3, last_shown (reader));
    while ((step = sqlite3_step (rows)) == SQLITE_ROW) {
        struct wire_row row = {.at_us = sqlite3_column_int64 (rows, 1),
                               .type = text_of (rows, 2),
                               .job = text_of (rows, 3),
                               .body = text_of (rows, 4)};
        row.length = (size_t)sqlite3_column_bytes (rows, 4);
        if (!row.type || !row.body || !each (self, sqlite3_column_int64 (rows, 0), &row))
            break;
        taken++;
    }
    int code = step == SQLITE_ROW || step == SQLITE_DONE
                   ? taken
                   : sql_fail (reader->db, reader->name.text, "read it", err);
    sqlite3_reset (rows);
    return code;
}

int reader_range (struct reader *reader, int64_t *ret_first, int64_t *ret_last,
                  struct pollux_error *err)
{
    sqlite3_stmt *range = reader->range;
    int code = 0;
    if (sqlite3_step (range) == SQLITE_ROW) {
        bool some = sqlite3_column_type (range, 0) == SQLITE_INTEGER;
        int64_t snapshot = sqlite3_column_int64 (range, 2); /* 0 for NULL */
        *ret_first = some ? sqlite3_column_int64 (range, 0) : snapshot + 1;
        int64_t last = some ? sqlite3_column_int64 (range, 1) : snapshot;
        *ret_last = last < last_shown (reader) ? last : last_shown (reader);
    } else {
        code = sql_fail (reader->db, reader->name.text, "read it", err);
    }
    sqlite3_reset (range);
    return code;
}

/* The first column of the statement's first row, copied; NULL: there is none. */
static int read_body (struct reader *reader, sqlite3_stmt *statement, int64_t round, char **ret,
                      struct pollux_error *err)
{
    sqlite3_bind_int64 (statement, 1, round);
    sqlite3_bind_int64 (statement, 2, last_shown (reader));
    int step = sqlite3_step (statement), code = 0;
    const char *body = step == SQLITE_ROW ? text_of (statement, 0) : NULL;
    *ret = body ? strdup (body) : NULL;
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        code = sql_fail (reader->db, reader->name.text, "read it", err);
    else if (body && !*ret)
        code = fail (err, -ENOMEM, "%s: not enough memory for a plan", reader->name.text);
    sqlite3_reset (statement);
    return code;
}

void reader_plans_clear (struct reader_plans *plans)
{
    free (plans->plan);
    free (plans->before);
    *plans = (struct reader_plans){0};
}

int reader_find_plans (struct reader *reader, int64_t round, struct reader_plans *ret,
                       struct pollux_error *err)
{
    struct reader_plans plans = {0};
    int64_t first = 0, last = 0;
    int code = reader_range (reader, &first, &last, err);
    if (code == 0)
        code = read_body (reader, reader->plan, round, &plans.plan, err);
    if (code == 0)
        code = read_body (reader, reader->before, round, &plans.before, err);
    plans.first = first == 1 && !plans.before;
    if (code < 0)
        reader_plans_clear (&plans);
    else
        *ret = plans;
    return code;
}

static int64_t size_of (const char *path)
{
    struct stat status;
    return stat (path, &status) == 0 ? (int64_t)status.st_size : 0;
}

int64_t reader_bytes (const struct reader *reader)
{
    char log[PATH_MAX + 8];
    snprintf (log, sizeof (log), "%s-wal", reader->path);
    return size_of (reader->path) + size_of (log);
}
