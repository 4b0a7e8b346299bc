/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends, commits and reads events.
 *
 * The first append after a commit begins a transaction.  With the write-ahead log a commit is one write
 * at the end of a file, and one fsync if it must be durable; other programs can read meanwhile.
 */
#include "store/store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "store/store_private.h"
#include "store/sql.h"

/* In the table meta: how a recording was made. */
#define RECORDING_KEY "recording"

/* ---- Writing ------------------------------------------------------------------------------ */

int store_give_up (struct store *store, int code)
{
    store->failed = true;
    if (!sqlite3_get_autocommit (store->db))
        sqlite3_exec (store->db, "ROLLBACK", NULL, NULL, NULL);
    store->count -= store->pending;
    store->pending = 0;
    return code;
}

static int insert_row (struct store *store, const struct wire_row *row, struct pollux_error *err)
{
    sqlite3_stmt *insert = store->insert;
    bool bound = sqlite3_bind_int64 (insert, 1, store->count + 1) == SQLITE_OK &&
                 sqlite3_bind_int64 (insert, 2, row->at_us) == SQLITE_OK &&
                 sqlite3_bind_text (insert, 3, row->type, -1, SQLITE_STATIC) == SQLITE_OK &&
                 sqlite3_bind_text (insert, 4, row->job, -1, SQLITE_STATIC) == SQLITE_OK &&
                 sqlite3_bind_text64 (insert, 5, row->body, row->length, SQLITE_STATIC,
                                      SQLITE_UTF8) == SQLITE_OK;
    bool done = bound && sqlite3_step (insert) == SQLITE_DONE;
    int code = done ? 0 : sql_fail (store->db, store->name.text, "append", err);
    sqlite3_reset (insert);
    sqlite3_clear_bindings (insert); /* they point to the row */
    return code;
}

void store_guard (struct store *store, store_check *check, void *self)
{
    store->check = check;
    store->check_self = self;
}

static int run_check (struct store *store, struct pollux_error *err)
{
    return store->check ? store->check (store->check_self, err) : 0;
}

static int commit_checked (struct store *store, struct pollux_error *err)
{
    fault_point ("commit");
    int code = sql_run (store->db, store->name.text, "commit", "COMMIT", err);
    fault_point ("committed");
    return code < 0 ? code : run_check (store, err);
}

int store_commit (struct store *store, struct pollux_error *err)
{
    if (store->failed)
        return fail (err, -EIO, "%s: an earlier event could not be written", store->name.text);
    int code = run_check (store, err);
    if (code == 0 && store->pending == 0)
        return 0;
    if (code == 0)
        code = commit_checked (store, err);
    if (code < 0)
        return store_give_up (store, code);
    store->pending = 0;
    return 0;
}

static int store_append (void *self, const struct cluster *cluster, const struct event *event,
                         struct pollux_error *err)
{
    struct store *store = self;
    if (store->failed)
        return store_commit (store, err);
    struct wire_row row;
    struct pollux_error why;
    int code = wire_event_encode (cluster, event, &store->text, &row, &why);
    if (code < 0)
        return fail (err, store_give_up (store, code), "%s: cannot append: %.150s",
                     store->name.text, why.text);
    if (store->pending == 0)
        code = sql_run (store->db, store->name.text, "append", "BEGIN IMMEDIATE", err);
    if (code == 0)
        code = insert_row (store, &row, err);
    if (code < 0)
        return store_give_up (store, code);
    fault_point ("append");
    store->count++;
    store->pending++;
    store->bytes += (int64_t)row.length;
    if (event->type == EVENT_ROUND || event->type == EVENT_PLAN)
        store->deciding = event->type == EVENT_ROUND;
    if (store->mode == STORE_RECORD && store->pending == STORE_RECORD_EVENTS)
        return store_commit (store, err);
    return 0;
}

static int commit_events (void *self, struct pollux_error *err)
{
    return store_commit (self, err);
}

struct journal store_journal (struct store *store)
{
    bool by_count = store->mode == STORE_RECORD;
    return (struct journal){
        .append = store_append, .commit = by_count ? NULL : commit_events, .self = store};
}

int store_write_recording (struct store *store, const char *text, size_t length,
                           struct pollux_error *err)
{
    sqlite3_stmt *insert = NULL;
    int code = store_commit (store, err);
    if (code < 0)
        return code;
    bool done =
        sqlite3_prepare_v2 (store->db,
                            "INSERT OR REPLACE INTO meta VALUES ('" RECORDING_KEY "', ?)", -1,
                            &insert, NULL) == SQLITE_OK &&
        sqlite3_bind_text64 (insert, 1, text, length, SQLITE_STATIC, SQLITE_UTF8) == SQLITE_OK &&
        sqlite3_step (insert) == SQLITE_DONE;
    if (!done)
        code = store_give_up (store, sql_fail (store->db, store->name.text, "write to it", err));
    sqlite3_finalize (insert);
    return code;
}

int store_close (struct store *store, struct pollux_error *err)
{
    if (!store)
        return 0;
    int code = store->mode == STORE_READ ? 0 : store_commit (store, err);
    /* Write the write-ahead log back, so that a closed journal is one file.  A reader of a durable
     * journal prevents that, which does no harm; a recording has no reader yet. */
    if (code == 0 && store->mode != STORE_READ) {
        sqlite3_busy_timeout (store->db, 0);
        code = sql_run (store->db, store->name.text, "finish it",
                        "PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE", err);
        code = code == -EBUSY ? 0 : code;
    }
    store_free (store);
    return code;
}

void store_drop (struct store *store)
{
    if (!store)
        return;
    sqlite3_db_config (store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    store_free (store);
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* A column of text without NUL bytes.  True, and *ret NULL, if the column is NULL. */
static bool read_text (sqlite3_stmt *select, int column, const char **ret)
{
    int type = sqlite3_column_type (select, column);
    *ret = type == SQLITE_TEXT ? (const char *)sqlite3_column_text (select, column) : NULL;
    return type == SQLITE_NULL ||
           (*ret && strlen (*ret) == (size_t)sqlite3_column_bytes (select, column));
}

/* The next event is missing: a snapshot has replaced it, or the journal is damaged. */
static int fail_gap (struct store *store, struct pollux_error *err)
{
    int64_t snapshot = 0;
    int code = store_read_snapshot_seq (store, &snapshot, err);
    if (code < 0)
        return code;
    if (snapshot > store->seq)
        return fail (err, -ESTALE, "%s: events up to %lld are in a snapshot now; begin with that",
                     store->name.text, (long long)snapshot);
    return fail (err, -EINVAL, "%s: damaged: event %lld is missing; " SQL_REPAIR, store->name.text,
                 (long long)store->seq + 1);
}

/* The end of the rows: 0, unless another program has compacted the next events. */
static int check_end (struct store *store, struct pollux_error *err)
{
    int64_t snapshot = store->snapshot;
    int code = store->mode == STORE_READ ? store_read_snapshot_seq (store, &snapshot, err) : 0;
    return code < 0 || snapshot <= store->seq ? code : fail_gap (store, err);
}

static int read_row (struct store *store, struct wire_row *ret, struct pollux_error *err)
{
    sqlite3_stmt *select = store->select;
    int64_t seq = sqlite3_column_int64 (select, 0);
    if (seq != store->seq + 1)
        return fail_gap (store, err);
    ret->at_us = sqlite3_column_int64 (select, 1);
    if (sqlite3_column_type (select, 1) != SQLITE_INTEGER || !read_text (select, 2, &ret->type) ||
        !ret->type || !read_text (select, 3, &ret->job) || !read_text (select, 4, &ret->body) ||
        !ret->body)
        return fail (err, -EINVAL, "%s: damaged: event %lld is no event", store->name.text,
                     (long long)seq);
    ret->length = (size_t)sqlite3_column_bytes (select, 4);
    return 0;
}

static int store_next (void *self, const struct cluster *cluster, struct event *ret,
                       struct pollux_error *err)
{
    struct store *store = self;
    if (!sqlite3_stmt_busy (store->select))
        sqlite3_bind_int64 (store->select, 1, store->seq);
    int step = sqlite3_step (store->select);
    if (step != SQLITE_ROW) {
        int code = step == SQLITE_DONE ? 0 : sql_fail (store->db, store->name.text, "read it", err);
        sqlite3_reset (store->select); /* an open statement prevents checkpoints of the log */
        return code < 0 ? code : check_end (store, err);
    }
    struct wire_row row;
    int code = read_row (store, &row, err);
    if (code < 0)
        return code;
    char name[sizeof (store->name.text) + 32];
    snprintf (name, sizeof (name), "%s, event %lld", store->name.text, (long long)store->seq + 1);
    code = wire_event_decode (cluster, &row, name, &store->event, err);
    if (code < 0)
        return code;
    struct pollux_error why;
    if (cluster_check (cluster, &store->event.event, &why) < 0)
        return fail (err, -EINVAL, "%s: damaged: it does not fit those before: %.80s; " SQL_REPAIR,
                     name, why.text);
    store->seq++;
    store->bytes += (int64_t)row.length;
    *ret = store->event.event;
    return 1;
}

void store_pause (struct store *store)
{
    sqlite3_reset (store->select); /* store_next goes on after seq */
}

void store_rewind (struct store *store)
{
    store_pause (store);
    store->seq = 0;
}

int store_last_us (struct store *store, int64_t *ret, struct pollux_error *err)
{
    return sql_integer (store->db, store->name.text,
                        "SELECT at_us FROM events ORDER BY seq DESC LIMIT 1", 0, ret, err);
}

int store_read_recording (struct store *store, char **ret, struct pollux_error *err)
{
    return sql_text (store->db, store->name.text,
                     "SELECT value FROM meta WHERE key = '" RECORDING_KEY "'", ret, err);
}

struct source store_source (struct store *store)
{
    return (struct source){.next = store_next, .self = store};
}

int64_t store_seq (const struct store *store)
{
    return store->seq;
}

int64_t store_snapshot (const struct store *store)
{
    return store->snapshot;
}

int64_t store_count (const struct store *store)
{
    return store->count;
}
