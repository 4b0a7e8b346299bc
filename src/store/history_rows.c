/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table `history`: one row for each job with a past, and one for the cluster, as number
 * -1.  They belong to the snapshot and are written and read in its transactions; what came after it
 * follows from the events.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/sql.h"
#include "store/store_private.h"
#include "wire/history.h"

/* The number of the cluster's row. */
enum { CLUSTER_ROW = -1 };

/* ---- Writing ------------------------------------------------------------------------------ */

/* One write of all rows. */
struct rows {
    struct store *store;
    const struct cluster *cluster;
    const struct history *history;
    sqlite3_stmt *put, *drop;
    bool *written; /* by job: the table has a row of it */
    struct history_written *ret;
};

static int put_row (struct rows *rows, int job, struct pollux_error *err)
{
    struct store *store = rows->store;
    struct pollux_error why;
    int code = job == CLUSTER_ROW
                   ? wire_cluster_past_encode (&rows->history->past, &store->text, &why)
                   : wire_job_past_encode (rows->cluster, history_job (rows->history, job),
                                           &store->text, &why);
    if (code < 0) {
        rows->ret->refused = true;
        return fail (err, code, "%s: cannot compact it: history of job %d: %.150s",
                     store->name.text, job, why.text);
    }
    sqlite3_bind_int64 (rows->put, 1, job);
    sqlite3_bind_text64 (rows->put, 2, store->text.text, store->text.length, SQLITE_STATIC,
                         SQLITE_UTF8);
    rows->ret->bytes += (int64_t)store->text.length;
    return store_compact_step (rows->store, rows->put, err);
}

static int drop_row (struct rows *rows, int job, struct pollux_error *err)
{
    sqlite3_bind_int64 (rows->drop, 1, job);
    return store_compact_step (rows->store, rows->drop, err);
}

/* Which jobs have a row. */
static int find_written (struct rows *rows, struct pollux_error *err)
{
    struct store *store = rows->store;
    sqlite3_stmt *select = NULL;
    int code = 0, row = sqlite3_prepare_v2 (store->db, "SELECT job FROM history WHERE job >= 0", -1,
                                            &select, NULL);
    while (select && (row = sqlite3_step (select)) == SQLITE_ROW) {
        int64_t job = sqlite3_column_int64 (select, 0);
        if (job < rows->cluster->job_count)
            rows->written[job] = true;
    }
    if (row != SQLITE_DONE)
        code = sql_fail (store->db, store->name.text, "compact it", err);
    sqlite3_finalize (select);
    return code;
}

static int write_rows (struct rows *rows, struct pollux_error *err)
{
    const struct store *store = rows->store;
    int code = find_written (rows, err);
    for (int i = 0; code == 0 && i < rows->cluster->job_count; i++) {
        bool final = i < store->job_count && store->ended[i] && rows->written[i];
        if (history_job (rows->history, i))
            code = final ? 0 : put_row (rows, i, err);
        else if (rows->written[i])
            code = drop_row (rows, i, err);
    }
    return code < 0 ? code : put_row (rows, CLUSTER_ROW, err);
}

int history_rows_write (struct store *store, const struct cluster *cluster,
                        const struct history *history, struct history_written *ret,
                        struct pollux_error *err)
{
    struct rows rows = {.store = store, .cluster = cluster, .history = history, .ret = ret};
    sqlite3 *db = store->db;
    *ret = (struct history_written){0};
    if (!history)
        return sql_run (db, store->name.text, "compact it", "DELETE FROM history", err);
    rows.written = calloc ((size_t)cluster->job_count + 1, sizeof (rows.written[0]));
    int code = 0;
    if (!rows.written)
        code = fail (err, -ENOMEM, "%s: not enough memory for %d jobs", store->name.text,
                     cluster->job_count);
    else if (sqlite3_prepare_v2 (db, "INSERT OR REPLACE INTO history (job, body) VALUES (?1, ?2)",
                                 -1, &rows.put, NULL) != SQLITE_OK ||
             sqlite3_prepare_v2 (db, "DELETE FROM history WHERE job = ?1", -1, &rows.drop, NULL) !=
                 SQLITE_OK)
        code = sql_fail (db, store->name.text, "compact it", err);
    if (code == 0)
        code = write_rows (&rows, err);
    sqlite3_finalize (rows.put);
    sqlite3_finalize (rows.drop);
    free (rows.written);
    return code;
}

/* ---- Reading ------------------------------------------------------------------------------ */

static int take_cluster (const struct wire_row *row, const char *name,
                         const struct cluster *cluster, struct history *history,
                         struct pollux_error *err)
{
    struct cluster_past past;
    int code = wire_cluster_past_decode (row->body, row->length, name, &past, err);
    if (code < 0)
        return code;
    code = history_restore_past (history, cluster, &past);
    cluster_past_clear (&past);
    return code < 0 ? fail (err, code, "%s: it is not of this snapshot", name) : 0;
}

static int take_job (const struct wire_row *row, const char *name, const struct cluster *cluster,
                     int job, struct history *history, struct pollux_error *err)
{
    struct job_past past;
    int code = wire_job_past_decode (row->body, row->length, name, cluster, &past, err);
    if (code < 0)
        return code;
    code = history_restore_job (history, cluster, job, &past);
    job_past_clear (&past);
    if (code == -ENOMEM)
        return fail (err, code, "%s: not enough memory", name);
    return code < 0 ? fail (err, code, "%s: it is not of this snapshot", name) : 0;
}

/* A row that cannot be read is lost: charts show less, and all else goes on. */
static void note_loss (struct history *history, const struct cluster *cluster, int64_t job,
                       const struct pollux_error *why)
{
    if (history->lost_rows++ == 0)
        history->lost_why = *why;
    if (job >= 0 && job < cluster->job_count)
        history_begin_job (history, cluster, (int)job);
}

static int take_row (struct store *store, sqlite3_stmt *select, const struct cluster *cluster,
                     struct history *history, struct pollux_error *err)
{
    char name[sizeof (store->name.text) + 40];
    int64_t job = sqlite3_column_int64 (select, 0);
    struct wire_row row = {.body = (const char *)sqlite3_column_text (select, 1)};
    struct pollux_error why = {""};
    row.length = row.body ? strlen (row.body) : 0;
    snprintf (name, sizeof (name), "%s, history %lld", store->name.text, (long long)job);
    int code = 0;
    if (!row.body || row.length != (size_t)sqlite3_column_bytes (select, 1))
        code = fail (&why, -EINVAL, "%s: it is no text", name);
    else if (job == CLUSTER_ROW)
        code = take_cluster (&row, name, cluster, history, &why);
    else if (job < 0 || job >= cluster->job_count)
        code = fail (&why, -EINVAL, "%s: there is no such job", name);
    else
        code = take_job (&row, name, cluster, (int)job, history, &why);
    if (code == -ENOMEM)
        return fail (err, code, "%s", why.text);
    if (code < 0)
        note_loss (history, cluster, job, &why);
    /* Final rows are not written again, and do not count. */
    if (job < 0 || (job < cluster->job_count && job_live (cluster->jobs[job])))
        store->snapshot_bytes += (int64_t)row.length;
    return 0;
}

int history_rows_read (struct store *store, const struct cluster *cluster, struct history *history,
                       struct pollux_error *err)
{
    enum { FIRST_VERSION = 3 }; /* with this table */
    sqlite3_stmt *select = NULL;
    int code = 0, count = 0, row = SQLITE_DONE;
    history_begin_without_jobs (history, cluster);
    if (store->version >= FIRST_VERSION && store->snapshot > 0)
        row = sqlite3_prepare_v2 (store->db, "SELECT job, body FROM history ORDER BY job", -1,
                                  &select, NULL);
    for (; code == 0 && select && (row = sqlite3_step (select)) == SQLITE_ROW; count++)
        code = take_row (store, select, cluster, history, err);
    if (code == 0 && row != SQLITE_DONE)
        code = sql_fail (store->db, store->name.text, "read it", err);
    sqlite3_finalize (select);
    /* An older version, or a snapshot without a history: it begins now. */
    for (int i = 0; code == 0 && count == 0 && i < cluster->job_count; i++)
        history_begin_job (history, cluster, i);
    return code;
}
