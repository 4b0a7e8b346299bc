/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens a journal: checks the kind of the file, locks it against other writers, checks that it is
 * complete, and migrates old versions.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lock.h"
#include "store/create.h"
#include "store/schema.h"
#include "store/store_private.h"
#include "store/sql.h"

/* ---- Connecting -------------------------------------------------------------------------- */

/* Checks that SQLite does not make, or with a worse message: to SQLite an empty file is a new database. */
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

/* The file may come from anywhere: no code in it is run, and its sizes are limited. */
static void limit_trust (sqlite3 *db)
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
    bool alone = store->mode == STORE_ALONE;
    if (sqlite3_open_v2 (path, &store->db, flags | SQLITE_OPEN_NOMUTEX,
                         alone ? "unix-none" : NULL) != SQLITE_OK) {
        if (store->db)
            return sql_fail (store->db, store->name.text, "open it", err);
        return fail (err, -ENOMEM, "%s: not enough memory", store->name.text);
    }
    limit_trust (store->db);
    /* Exclusive from the first access on: then SQLite keeps the index of the log in its own memory. */
    int code = alone ? sql_run (store->db, store->name.text, "open it",
                                "PRAGMA locking_mode = EXCLUSIVE", err)
                     : 0;
    if (code < 0)
        return code;
    /* The first access: until here SQLite has not read the file. */
    return sql_run (store->db, store->name.text, "open it",
                    "PRAGMA cell_size_check = ON; SELECT count (*) FROM sqlite_schema", err);
}

/* Open a journal in a read-only folder that no program writes: SQLite needs "immutable", which is an
 * option of URIs only.  So the path is escaped. */
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

/* ---- One writer ------------------------------------------------------------------------- */

/* A byte that SQLite never locks: far beyond the end of every database. */
static const off_t LOCK_BYTE = (off_t)1 << 62;

/* SQLite permits several writers in turn.  A journal has one writer for the whole run, or the clusters of
 * two programs would differ. */
static int lock_writer (struct store *store, struct pollux_error *err)
{
    store->lock = open (store->path, O_RDWR | O_CLOEXEC);
    if (store->lock < 0)
        return 0; /* SQLite reports the error */
    if (lock_take (store->lock, LOCK_BYTE) == -EBUSY)
        return fail (err, -EBUSY, "%s: another program writes to it; stop that program first",
                     store->name.text);
    return 0; /* also without locks of the file system: SQLite's must be enough */
}

/* ---- Contents ------------------------------------------------------------------------ */

/* SQLite's check of pages and indices. */
static int check_pages (struct store *store, struct pollux_error *err)
{
    char *verdict = NULL;
    int code = sql_text (store->db, store->name.text, "PRAGMA quick_check (1)", &verdict, err);
    if (code == 0 && (!verdict || strcmp (verdict, "ok") != 0))
        code = fail (err, -EINVAL, "%s: damaged: %.*s; " SQL_REPAIR, store->name.text,
                     (int)strcspn (verdict ? verdict : "", "\n"), verdict ? verdict : "");
    free (verdict);
    return code;
}

int store_read_snapshot_seq (struct store *store, int64_t *ret, struct pollux_error *err)
{
    return sql_integer (store->db, store->name.text, "SELECT max (seq) FROM snapshot", 0, ret, err);
}

/* The sentence for a missing event. */
static int fail_missing (struct store *store, int64_t first, int64_t expected,
                         struct pollux_error *err)
{
    int64_t missing = expected;
    int code = 0;
    if (first < expected)
        return fail (err, -EINVAL,
                     "%s: damaged: it begins with event %lld, expected %lld; " SQL_REPAIR,
                     store->name.text, (long long)first, (long long)expected);
    if (first == expected)
        code = sql_integer (store->db, store->name.text,
                            "SELECT seq + 1 FROM events AS one WHERE NOT EXISTS"
                            " (SELECT 1 FROM events WHERE seq = one.seq + 1) ORDER BY seq LIMIT 1",
                            expected, &missing, err);
    return code < 0 ? code
                    : fail (err, -EINVAL, "%s: damaged: event %lld is missing; " SQL_REPAIR,
                            store->name.text, (long long)missing);
}

/* Check that events are numbered without a gap, starting after the snapshot. */
static int check_chain (struct store *store, struct pollux_error *err)
{
    const char *name = store->name.text;
    int64_t first = 0, last = 0, count = 0, snapshot = 0;
    int code = sql_run (store->db, name, "read it", "BEGIN", err);
    if (code == 0)
        code = store_read_snapshot_seq (store, &snapshot, err);
    if (code == 0)
        code = sql_integer (store->db, name, "SELECT min (seq) FROM events", snapshot + 1, &first,
                            err);
    if (code == 0)
        code = sql_integer (store->db, name, "SELECT max (seq) FROM events", snapshot, &last, err);
    if (code == 0)
        code = sql_integer (store->db, name, "SELECT count (*) FROM events", 0, &count, err);
    sqlite3_exec (store->db, "COMMIT", NULL, NULL, NULL);
    if (code == 0 && (first != snapshot + 1 || last != snapshot + count))
        code = fail_missing (store, first, snapshot + 1, err);
    if (code == 0) {
        store->snapshot = snapshot;
        store->count = last;
    }
    return code;
}

static int check_content (struct store *store, struct pollux_error *err)
{
    const char *name = store->name.text;
    int code = check_pages (store, err);
    if (code == 0)
        code = schema_check (store->db, name, &store->version, err);
    if (code == 0 && store->version < STORE_VERSION && store->mode != STORE_READ) {
        code = schema_migrate (store->db, name, store->version, err);
        store->version = STORE_VERSION;
    }
    return code < 0 ? code : check_chain (store, err);
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
    /* The limit truncates a write-ahead log that a compaction has made long. */
    return sql_run (store->db, store->name.text, "write to it",
                    store->mode != STORE_RECORD
                        ? "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                          "PRAGMA journal_size_limit = 16777216"
                        : "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF",
                    err);
}

static int store_init (struct store *store, const char *path, struct pollux_error *err)
{
    /* A leading ./ makes names like ":memory:" names of files. */
    if (snprintf (store->path, sizeof (store->path), "%s%s", path[0] == '/' ? "" : "./", path) >=
        (int)sizeof (store->path))
        return fail (err, -ENAMETOOLONG, "%s: the path is too long", store->name.text);
    struct stat status;
    bool there = lstat (store->path, &status) == 0;
    int code = 0;
    bool keeps = store->mode == STORE_DURABLE || store->mode == STORE_ALONE;
    if (store->mode == STORE_RECORD || (keeps && !there && errno == ENOENT))
        code = store_create (store->path, err);
    if (code == 0)
        code = check_file (store->path, err);
    if (code == 0 && store->mode != STORE_READ && store->mode != STORE_ALONE)
        code = lock_writer (store, err);
    if (code == 0)
        code = store->mode == STORE_READ
                   ? connect_reader (store, err)
                   : connect_to (store, store->path, SQLITE_OPEN_READWRITE, err);
    if (code == 0)
        code = check_content (store, err);
    return code < 0 ? code : prepare (store, err);
}

void store_free (struct store *store)
{
    sqlite3_finalize (store->select);
    sqlite3_finalize (store->insert);
    sqlite3_close (store->db);
    /* After SQLite's close: closing any descriptor of a file releases all its POSIX locks. */
    if (store->lock >= 0)
        close (store->lock);
    free (store->ended);
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
    store->lock = -1;
    store->name = file_name (path);
    int code = store_init (store, path, err);
    if (code < 0)
        store_free (store);
    else
        *ret = store;
    return code;
}

int store_open_recorded (const char *path, struct store **ret, struct pollux_error *err)
{
    struct store *store;
    int code = store_open (path, STORE_READ, &store, err);
    if (code == 0 && store_count (store) == 0) {
        code =
            fail (err, -ENODATA,
                  "%s: no events; of a journal that is in use, copy the -wal file beside it, too",
                  file_name (path).text);
        store_close (store, NULL);
    }
    if (code == 0)
        *ret = store;
    return code;
}
