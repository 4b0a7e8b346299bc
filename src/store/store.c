/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening, appending, committing and reading the journal.
 *
 * Writing is in transactions: the first append after a commit begins one.  The write-ahead log
 * makes a commit one write at the end of a file (and one fsync where it must be durable), and
 * lets others read meanwhile.
 */
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "store/create.h"
#include "store/schema.h"
#include "store/sql.h"
#include "wire/event.h"

struct store {
    sqlite3 *db;
    sqlite3_stmt *insert, *select;
    enum store_mode mode;
    struct file_name name;
    char path[PATH_MAX];
    int64_t seq;   /* of the last event read */
    int64_t count; /* events in all, appended ones too */
    int pending;   /* of these, not committed yet */
    bool failed;
    struct wire_text_buffer text;
    struct wire_event event;
};

/* ---- Opening ------------------------------------------------------------------------------ */

/* What SQLite would say less clearly, or not at all: an empty file is a fresh database to it. */
static int check_file (const char *path, struct pollux_error *err)
{
    struct stat status;
    struct file_name name = file_name (path);
    if (stat (path, &status) < 0)
        return fail (err, -errno, "%s: cannot open it: %s", name.text, strerror (errno));
    if (!S_ISREG (status.st_mode))
        return fail (err, -EINVAL, "%s: expected a file", name.text);
    if (status.st_size == 0)
        return fail (err, -EINVAL,
                     "%s: empty, which a journal never is; restore a copy, or remove it to begin "
                     "anew",
                     name.text);
    return 0;
}

/* Whoever made the file, it can neither run code nor make us allocate without limit. */
static void distrust (sqlite3 *db)
{
    sqlite3_extended_result_codes (db, 1);
    sqlite3_limit (db, SQLITE_LIMIT_LENGTH, (int)WIRE_EVENT_LIMIT + (1 << 16));
    sqlite3_db_config (db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config (db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config (db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config (db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_busy_timeout (db, 2000);
}

static int connect_to (struct store *store, const char *path, int flags, struct pollux_error *err)
{
    sqlite3_close (store->db);
    store->db = NULL;
    if (sqlite3_open_v2 (path, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        if (store->db)
            return sql_fail (store->db, store->name.text, "open it", err);
        return fail (err, -ENOMEM, "%s: not enough memory", store->name.text);
    }
    distrust (store->db);
    /* The first look at the file; until here SQLite has not read it. */
    return sql_run (store->db, store->name.text, "open it",
                    "PRAGMA cell_size_check = ON; SELECT count (*) FROM sqlite_schema", err);
}

/* A journal in a folder where nothing may be written, with nobody writing it: SQLite needs to be
 * told that it stays as it is.  Escaped, for this is a URI. */
static int connect_immutable (struct store *store, struct pollux_error *err)
{
    char uri[3 * PATH_MAX + 32];
    size_t used = (size_t)snprintf (uri, sizeof (uri), "file:");
    for (const char *at = store->path; *at; at++) {
        bool plain = strchr ("?#%", *at) == NULL;
        used += (size_t)snprintf (uri + used, sizeof (uri) - used, plain ? "%c" : "%%%02X",
                                  (unsigned char)*at);
    }
    snprintf (uri + used, sizeof (uri) - used, "?immutable=1");
    return connect_to (store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
}

static int connect_reader (struct store *store, struct pollux_error *err)
{
    int code = connect_to (store, store->path, SQLITE_OPEN_READONLY, err);
    int why = sqlite3_errcode (store->db) & 0xff;
    char log[PATH_MAX + 8];
    snprintf (log, sizeof (log), "%s-wal", store->path);
    bool refused = code < 0 && (why == SQLITE_CANTOPEN || why == SQLITE_READONLY);
    if (refused && access (store->path, R_OK) == 0 && access (log, F_OK) < 0)
        return connect_immutable (store, err);
    return code;
}

/* Pages that hang together, and rows that are where they should be. */
static int check_pages (struct store *store, struct pollux_error *err)
{
    char *verdict = NULL;
    int code = sql_text (store->db, store->name.text, "PRAGMA integrity_check (1)", &verdict, err);
    if (code == 0 && (!verdict || strcmp (verdict, "ok") != 0))
        code = fail (err, -EINVAL,
                     "%s: damaged: %.*s; restore a copy, or save what is left of it with "
                     "sqlite3's .recover",
                     store->name.text, (int)strcspn (verdict ? verdict : "", "\n"),
                     verdict ? verdict : "");
    free (verdict);
    return code;
}

static int check_content (struct store *store, struct pollux_error *err)
{
    const char *name = store->name.text;
    int version = 0;
    int64_t snapshots = 0;
    int code = check_pages (store, err);
    if (code == 0)
        code = schema_check (store->db, name, &version, err);
    if (code == 0 && version < STORE_VERSION && store->mode != STORE_READ)
        code = schema_migrate (store->db, name, version, err);
    if (code == 0)
        code = sql_integer (store->db, name, "SELECT count (*) FROM snapshot", 0, &snapshots, err);
    if (code == 0 && snapshots > 0)
        code = fail (err, -EINVAL, "%s: it begins with a snapshot, which this version cannot read",
                     name);
    if (code == 0)
        code = sql_integer (store->db, name, "SELECT max (seq) FROM events", 0, &store->count, err);
    return code;
}

static int prepare (struct store *store, struct pollux_error *err)
{
    static const char select[] =
        "SELECT seq, at_us, type, job, body FROM events WHERE seq > ? ORDER BY seq";
    static const char insert[] =
        "INSERT INTO events (seq, at_us, type, job, body) VALUES (?, ?, ?, ?, ?)";
    if (sqlite3_prepare_v2 (store->db, select, -1, &store->select, NULL) != SQLITE_OK)
        return sql_fail (store->db, store->name.text, "read it", err);
    if (store->mode == STORE_READ)
        return 0;
    if (sqlite3_prepare_v2 (store->db, insert, -1, &store->insert, NULL) != SQLITE_OK)
        return sql_fail (store->db, store->name.text, "write to it", err);
    return sql_run (store->db, store->name.text, "write to it",
                    store->mode == STORE_DURABLE
                        ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL"
                        : "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF",
                    err);
}

static int store_init (struct store *store, const char *path, struct pollux_error *err)
{
    /* A leading ./ keeps names like ":memory:" what they are here: names of files. */
    if (snprintf (store->path, sizeof (store->path), "%s%s", path[0] == '/' ? "" : "./", path) >=
        (int)sizeof (store->path))
        return fail (err, -ENAMETOOLONG, "%s: the path is too long", store->name.text);
    struct stat status;
    bool there = lstat (store->path, &status) == 0;
    int code = 0;
    if (store->mode == STORE_RECORD || (store->mode == STORE_DURABLE && !there && errno == ENOENT))
        code = store_create (store->path, err);
    if (code == 0)
        code = check_file (store->path, err);
    if (code == 0)
        code = store->mode == STORE_READ
                   ? connect_reader (store, err)
                   : connect_to (store, store->path, SQLITE_OPEN_READWRITE, err);
    if (code == 0)
        code = check_content (store, err);
    return code < 0 ? code : prepare (store, err);
}

static void store_free (struct store *store)
{
    sqlite3_finalize (store->select);
    sqlite3_finalize (store->insert);
    sqlite3_close (store->db);
    wire_text_buffer_clear (&store->text);
    wire_event_clear (&store->event);
    free (store);
}

int store_open (const char *path, enum store_mode mode, struct store **ret,
                struct pollux_error *err)
{
    struct store *store = calloc (1, sizeof (*store));
    if (!store)
        return fail (err, -ENOMEM, "%s: not enough memory", file_name (path).text);
    store->mode = mode;
    store->name = file_name (path);
    int code = store_init (store, path, err);
    if (code < 0)
        store_free (store);
    else
        *ret = store;
    return code;
}

/* ---- Writing ------------------------------------------------------------------------------ */

/* Nothing that was not committed is kept, and nothing comes after. */
static int give_up (struct store *store, int code)
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
    sqlite3_clear_bindings (insert); /* they borrow */
    return code;
}

int store_commit (struct store *store, struct pollux_error *err)
{
    if (store->failed)
        return fail (err, -EIO, "%s: an earlier event could not be written", store->name.text);
    if (store->pending == 0)
        return 0;
    int code = sql_run (store->db, store->name.text, "commit", "COMMIT", err);
    if (code < 0)
        return give_up (store, code);
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
        return fail (err, give_up (store, code), "%s: cannot append: %.150s", store->name.text,
                     why.text);
    if (store->pending == 0)
        code = sql_run (store->db, store->name.text, "append", "BEGIN IMMEDIATE", err);
    if (code == 0)
        code = insert_row (store, &row, err);
    if (code < 0)
        return give_up (store, code);
    store->count++;
    store->pending++;
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

int store_close (struct store *store, struct pollux_error *err)
{
    if (!store)
        return 0;
    int code = store->mode == STORE_READ ? 0 : store_commit (store, err);
    /* At rest a journal is one file, with nothing left in a log beside it.  Whoever reads a
     * journal in use prevents that, which does no harm; a recording is read by nobody yet. */
    if (code == 0 && store->mode != STORE_READ) {
        sqlite3_busy_timeout (store->db, 0);
        code = sql_run (store->db, store->name.text, "finish it",
                        "PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE", err);
        code = code == -EBUSY ? 0 : code;
    }
    store_free (store);
    return code;
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* A column of text without a NUL in it; NULL and true where the column is NULL. */
static bool read_text (sqlite3_stmt *select, int column, const char **ret)
{
    int type = sqlite3_column_type (select, column);
    *ret = type == SQLITE_TEXT ? (const char *)sqlite3_column_text (select, column) : NULL;
    return type == SQLITE_NULL ||
           (*ret && strlen (*ret) == (size_t)sqlite3_column_bytes (select, column));
}

static int read_row (struct store *store, struct wire_row *ret, struct pollux_error *err)
{
    sqlite3_stmt *select = store->select;
    int64_t seq = sqlite3_column_int64 (select, 0);
    if (seq != store->seq + 1)
        return fail (err, -EINVAL, "%s: damaged: event %lld is missing", store->name.text,
                     (long long)store->seq + 1);
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
        sqlite3_reset (store->select); /* or it would hold the log back */
        return code;
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
    store->seq++;
    *ret = store->event.event;
    return 1;
}

struct source store_source (struct store *store)
{
    return (struct source){.next = store_next, .self = store};
}

int64_t store_seq (const struct store *store)
{
    return store->seq;
}

int64_t store_count (const struct store *store)
{
    return store->count;
}
