/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compaction: replaces events by a snapshot of the cluster; and reads the snapshot.
 *
 *     events  1 .. 90000      ->   snapshot  90000, the cluster without its jobs
 *     (other tables empty)         jobs      each job as it was submitted
 *                                  states    each job after event 90000
 *                                  history   the past of the cluster and of jobs
 *                                  events    none; the next is 90001
 *
 * All in one transaction: after a crash the file has the old or the new state.  A submission is copied
 * once, within the file, and the row of an ended job is not written again: so the cost depends on the
 * number of live jobs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "store/store_private.h"
#include "store/sql.h"
#include "wire/snapshot.h"

/* ---- Writing ------------------------------------------------------------------------------ */

bool store_compact_due (const struct store *store, int64_t keep_events)
{
    int64_t since = store->refused > store->snapshot ? store->refused : store->snapshot;
    return !store->deciding && keep_events > 0 &&
           (store->count - since > keep_events ||
            store->bytes > STORE_KEEP_BYTES + store->snapshot_bytes);
}

/* One compaction. */
struct compaction {
    struct store *store;
    const struct cluster *cluster;
    sqlite3_stmt *submitted, *ended, *state, *header;
    int64_t bytes;
    bool refused; /* the snapshot could not be encoded; the file is unchanged */
};

static int prepare (struct compaction *work, struct pollux_error *err)
{
    /* Copy the SUBMIT rows of new jobs, with consecutive numbers.  Only SUBMIT bodies are read. */
    static const char submitted[] =
        "INSERT INTO jobs (job, at_us, name, ended, body) "
        "SELECT ?1 + row_number () OVER (ORDER BY seq) - 1, at_us, job, 0, body "
        "FROM events WHERE type = 'SUBMIT'";
    static const char ended[] = "UPDATE jobs SET ended = 1, body = json_remove (body, "
                                "'$.launch.environment', '$.oracle') WHERE job = ?1";
    static const char state[] = "INSERT OR REPLACE INTO states (job, body) VALUES (?1, ?2)";
    static const char header[] = "INSERT INTO snapshot (seq, body) VALUES (?1, ?2)";
    sqlite3 *db = work->store->db;
    if (sqlite3_prepare_v2 (db, submitted, -1, &work->submitted, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2 (db, ended, -1, &work->ended, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2 (db, state, -1, &work->state, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2 (db, header, -1, &work->header, NULL) == SQLITE_OK)
        return 0;
    return sql_fail (db, work->store->name.text, "compact it", err);
}

static void finalize (struct compaction *work)
{
    sqlite3_finalize (work->submitted);
    sqlite3_finalize (work->ended);
    sqlite3_finalize (work->state);
    sqlite3_finalize (work->header);
}

static void bind_text (sqlite3_stmt *statement, int at, const struct wire_text_buffer *text)
{
    sqlite3_bind_text64 (statement, at, text->text, text->length, SQLITE_STATIC, SQLITE_UTF8);
}

int store_compact_step (struct store *store, sqlite3_stmt *statement, struct pollux_error *err)
{
    int code = sqlite3_step (statement) == SQLITE_DONE
                   ? 0
                   : sql_fail (store->db, store->name.text, "compact it", err);
    sqlite3_reset (statement);
    sqlite3_clear_bindings (statement); /* they point to the text */
    return code;
}

/* The snapshot cannot be encoded: not an error of the file. */
static int refuse (struct compaction *work, int code, const struct pollux_error *why,
                   struct pollux_error *err)
{
    work->refused = true;
    return fail (err, code, "%s: cannot compact it: %.150s", work->store->name.text, why->text);
}

static int write_state (struct compaction *work, int job, struct pollux_error *err)
{
    struct store *store = work->store;
    struct pollux_error why;
    int code = wire_state_encode (work->cluster, job, &store->text, &why);
    if (code < 0)
        return refuse (work, code, &why, err);
    sqlite3_bind_int64 (work->state, 1, job);
    bind_text (work->state, 2, &store->text);
    work->bytes += (int64_t)store->text.length;
    return store_compact_step (work->store, work->state, err);
}

static int write_jobs (struct compaction *work, struct pollux_error *err)
{
    struct store *store = work->store;
    const struct cluster *cluster = work->cluster;
    sqlite3_bind_int64 (work->submitted, 1, store->job_count);
    int code = store_compact_step (work->store, work->submitted, err);
    if (code == 0 && store->job_count + sqlite3_changes (store->db) != cluster->job_count) {
        work->refused = true;
        return fail (err, -EINVAL, "%s: cannot compact it: %d jobs, and events of %d",
                     store->name.text, cluster->job_count,
                     store->job_count + sqlite3_changes (store->db));
    }
    for (int i = 0; code == 0 && i < cluster->job_count; i++) {
        bool ended = !job_live (cluster->jobs[i]);
        if (i < store->job_count && store->ended[i])
            continue; /* its row is final */
        code = write_state (work, i, err);
        sqlite3_bind_int64 (work->ended, 1, i);
        if (code == 0 && ended)
            code = store_compact_step (work->store, work->ended, err);
    }
    return code;
}

static int write_header (struct compaction *work, const struct round_summary *rounds,
                         int round_count, struct pollux_error *err)
{
    struct store *store = work->store;
    struct pollux_error why;
    int code = wire_past_encode (work->cluster, rounds, round_count, &store->text, &why);
    if (code < 0)
        return refuse (work, code, &why, err);
    code = sql_run (store->db, store->name.text, "compact it", "DELETE FROM snapshot", err);
    if (code < 0)
        return code;
    sqlite3_bind_int64 (work->header, 1, store->count);
    bind_text (work->header, 2, &store->text);
    return store_compact_step (work->store, work->header, err);
}

/* Grow store->ended. */
static int reserve (struct store *store, int job_count, struct pollux_error *err)
{
    if (job_count <= store->job_capacity)
        return 0;
    bool *ended = realloc (store->ended, 2 * (size_t)job_count * sizeof (ended[0]));
    if (!ended)
        return fail (err, -ENOMEM, "%s: not enough memory for %d jobs", store->name.text,
                     job_count);
    store->ended = ended;
    store->job_capacity = 2 * job_count;
    return 0;
}

/* Note which jobs of the snapshot have ended, for the next compaction. */
static void note_jobs (struct store *store, const struct cluster *cluster)
{
    for (int i = 0; i < cluster->job_count; i++)
        store->ended[i] = !job_live (cluster->jobs[i]);
    store->job_count = cluster->job_count;
}

static int write_history (struct compaction *work, const struct history *history,
                          struct pollux_error *err)
{
    struct history_written written;
    int code = history_rows_write (work->store, work->cluster, history, &written, err);
    work->bytes += written.bytes;
    work->refused |= written.refused;
    return code;
}

static int compact (struct compaction *work, const struct round_summary *rounds, int round_count,
                    const struct history *history, struct pollux_error *err)
{
    struct store *store = work->store;
    const char *name = store->name.text;
    int code = sql_run (store->db, name, "compact it", "BEGIN IMMEDIATE", err);
    if (code == 0)
        code = prepare (work, err);
    if (code == 0)
        code = write_jobs (work, err);
    if (code == 0)
        code = write_header (work, rounds, round_count, err);
    if (code == 0)
        code = write_history (work, history, err);
    fault_point ("compact");
    if (code == 0)
        code = sql_run (store->db, name, "compact it", "DELETE FROM events", err);
    finalize (work);
    fault_point ("compact-commit");
    if (code == 0)
        code = sql_run (store->db, name, "compact it", "COMMIT", err);
    fault_point ("compacted");
    return code;
}

int store_compact (struct store *store, const struct cluster *cluster,
                   const struct round_summary *rounds, int round_count,
                   const struct history *history, struct pollux_error *err)
{
    int code = store_commit (store, err);
    if (code < 0)
        return code;
    if (store->deciding)
        return fail (err, -EBUSY, "%s: cannot compact it: a round waits for its plan",
                     store->name.text);
    struct compaction work = {.store = store, .cluster = cluster};
    code = reserve (store, cluster->job_count, err);
    if (code < 0)
        return code;
    code = compact (&work, rounds, round_count, history, err);
    if (code < 0 && work.refused) {
        sqlite3_exec (store->db, "ROLLBACK", NULL, NULL, NULL);
        store->refused = store->count;
        store->bytes = 0;
        return code;
    }
    if (code < 0)
        return store_give_up (store, code);
    note_jobs (store, cluster);
    store->snapshot = store->count;
    store->bytes = 0;
    store->snapshot_bytes = work.bytes;
    return 0;
}

/* ---- Reading ------------------------------------------------------------------------------ */

/* A column of text that is not NULL and has no NUL bytes. */
static bool read_text (sqlite3_stmt *select, int column, const char **ret, size_t *length)
{
    *ret = (const char *)sqlite3_column_text (select, column);
    *length = *ret ? strlen (*ret) : 0;
    return *ret && *length == (size_t)sqlite3_column_bytes (select, column);
}

static int restore_job (struct store *store, sqlite3_stmt *select, struct cluster *cluster,
                        int64_t now_us, struct wire_restored *memory, struct pollux_error *err)
{
    char name[sizeof (store->name.text) + 32];
    const char *state;
    size_t unused, length;
    struct wire_row row = {.at_us = sqlite3_column_int64 (select, 1),
                           .type = event_names[EVENT_SUBMIT]};
    snprintf (name, sizeof (name), "%s, job %d", store->name.text, cluster->job_count);
    if (sqlite3_column_int64 (select, 0) != cluster->job_count ||
        !read_text (select, 2, &row.job, &unused) ||
        !read_text (select, 3, &row.body, &row.length) || !read_text (select, 4, &state, &length))
        return fail (err, -EINVAL, "%s: damaged: job %d of the snapshot is missing; " SQL_REPAIR,
                     store->name.text, cluster->job_count);
    store->snapshot_bytes += (int64_t)length;
    return wire_job_restore (cluster, &row, state, length, name, now_us, memory, err);
}

static int restore_jobs (struct store *store, const struct wire_past *past, struct cluster *cluster,
                         struct pollux_error *err)
{
    sqlite3_stmt *select = NULL;
    struct wire_restored memory = {0};
    int code = 0, row = sqlite3_prepare_v2 (store->db,
                                            "SELECT job, at_us, name, jobs.body, states.body "
                                            "FROM jobs LEFT JOIN states USING (job) ORDER BY job",
                                            -1, &select, NULL);
    while (code == 0 && select && (row = sqlite3_step (select)) == SQLITE_ROW)
        code = restore_job (store, select, cluster, past->now_us, &memory, err);
    if (code == 0 && row != SQLITE_DONE)
        code = sql_fail (store->db, store->name.text, "read it", err);
    if (code == 0 && cluster->job_count != past->job_count)
        code = fail (err, -EINVAL, "%s: damaged: %d jobs in the snapshot of %d; " SQL_REPAIR,
                     store->name.text, cluster->job_count, past->job_count);
    sqlite3_finalize (select);
    wire_restored_clear (&memory);
    if (code == 0)
        code = reserve (store, cluster->job_count, err);
    if (code == 0)
        note_jobs (store, cluster);
    return code;
}

static int restore (struct store *store, const char *text, size_t length, struct cluster *cluster,
                    struct wire_past *past, struct pollux_error *err)
{
    char name[sizeof (store->name.text) + 32];
    snprintf (name, sizeof (name), "%s, snapshot", store->name.text);
    int code = wire_past_decode (text, length, name, cluster, past, err);
    if (code == 0)
        code = restore_jobs (store, past, cluster, err);
    struct pollux_error why;
    if (code == 0 && cluster_restore_time (cluster, past->now_us, &why) < 0)
        code = fail (err, -EINVAL, "%s: %.160s", name, why.text);
    return code;
}

/* Reads in one transaction, which the caller ends. */
static int read_snapshot (struct store *store, struct cluster *cluster, struct wire_past *past,
                          struct pollux_error *err)
{
    sqlite3_stmt *select = NULL;
    const char *text;
    size_t length;
    int code = 0,
        row = sqlite3_prepare_v2 (store->db, "SELECT seq, body FROM snapshot ORDER BY seq DESC", -1,
                                  &select, NULL);
    if (row == SQLITE_OK)
        row = sqlite3_step (select);
    if (row == SQLITE_ROW && read_text (select, 1, &text, &length)) {
        store->snapshot_bytes = (int64_t)length;
        code = restore (store, text, length, cluster, past, err);
        if (code == 0)
            store->seq = store->snapshot = sqlite3_column_int64 (select, 0);
    } else if (row != SQLITE_DONE) {
        code = row == SQLITE_ROW
                   ? fail (err, -EINVAL, "%s: damaged: its snapshot is no text; " SQL_REPAIR,
                           store->name.text)
                   : sql_fail (store->db, store->name.text, "read it", err);
    }
    sqlite3_finalize (select);
    return code;
}

/* After a failure (code) the history is empty. */
static int begin_history (struct store *store, const struct cluster *cluster,
                          struct history *history, int code, struct pollux_error *err)
{
    static const struct cluster empty;
    if (code == 0)
        return history_rows_read (store, cluster, history, err);
    history_begin (history, &empty);
    return code;
}

int store_restore (struct store *store, struct cluster *cluster, struct wire_past *past,
                   struct history *history, struct pollux_error *err)
{
    struct wire_past ignored = {0};
    int code = sql_run (store->db, store->name.text, "read it", "BEGIN", err);
    if (code == 0)
        code = read_snapshot (store, cluster, past ? past : &ignored, err);
    if (history)
        code = begin_history (store, cluster, history, code, err);
    sqlite3_exec (store->db, "COMMIT", NULL, NULL, NULL);
    wire_past_clear (&ignored);
    if (code == 0 && store->count < store->snapshot)
        store->count = store->snapshot;
    return code;
}
