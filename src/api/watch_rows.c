/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows may have changed:
 *   the change log has a newer event for the job; or its agent has reported;
 *   after an event that may have changed who may have which slots, all waiting jobs: the sentence says why they
 *   wait;
 *   a pause after a failure is over;
 *   after a change of the fair share, all running jobs: their speedup is relative to it.
 * A row that was made again and is the same counts as unchanged.  Jobs without a row have ended and
 * do not change any more.
 */
#include "api/watch_rows.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Rows of ended jobs are dropped when there are so many more than are shown. */
enum { SPARE_ROWS = 1000 };

void watch_rows_clear (struct watch_rows *rows)
{
    for (int i = 0; i < rows->count; i++)
        free (rows->rows[i].text);
    free (rows->rows);
    free (rows->changed);
    free (rows->scratch.bytes);
    *rows = (struct watch_rows){0};
}

static int compare_jobs (const void *job, const void *row)
{
    int a = *(const int *)job, b = ((const struct watch_row *)row)->job;
    return (a > b) - (a < b);
}

void watch_rows_note (struct watch_rows *rows, int job)
{
    struct watch_row *row = rows->count > 0 ? bsearch (&job, rows->rows, (size_t)rows->count,
                                                       sizeof (*row), compare_jobs)
                                            : NULL;
    if (row) /* otherwise it is a new job, and the next refresh makes it */
        row->stale = true;
}

/* ---- Making rows ---------------------------------------------------------------------------- */

/* Is the new row the same, except for what time alone changes? */
static bool is_same (const struct watch_row *row, const char *text, size_t length,
                     const struct row_parts *parts)
{
    size_t middle = parts->made - parts->rest, end = length - parts->price;
    return row->text && row->parts.run == parts->run &&
           row->parts.made - row->parts.rest == middle && row->length - row->parts.price == end &&
           memcmp (row->text, text, parts->run) == 0 &&
           memcmp (row->text + row->parts.rest, text + parts->rest, middle) == 0 &&
           memcmp (row->text + row->parts.price, text + parts->price, end) == 0;
}

/* Make a row.  1: it has changed; 0: it is the same; -ENOMEM. */
static int make (struct watch_rows *rows, const struct present *present, struct watch_row *row)
{
    struct json_text *scratch = &rows->scratch;
    struct row_parts parts;
    scratch->length = 0;
    scratch->failed = false;
    row_put_job (scratch, present, row->job, &parts);
    if (scratch->failed)
        return -ENOMEM;
    row->stale = false;
    if (is_same (row, scratch->bytes, scratch->length, &parts))
        return 0;
    char *text = malloc (scratch->length);
    if (!text)
        return -ENOMEM;
    memcpy (text, scratch->bytes, scratch->length);
    free (row->text);
    row->text = text;
    row->length = (uint32_t)scratch->length;
    row->parts = parts;
    row->refresh = rows->refresh;
    return 1;
}

/* Append a row for a job, whose index is greater than all others. */
static int add (struct watch_rows *rows, const struct present *present, int job, int64_t changed)
{
    struct watch_row *grown =
        array_grow (rows->rows, rows->count, &rows->capacity, sizeof (grown[0]));
    if (!grown)
        return -ENOMEM;
    rows->rows = grown;
    grown[rows->count] = (struct watch_row){.job = job, .changed = changed};
    int rc = make (rows, present, &grown[rows->count]);
    if (rc < 0)
        return rc;
    rows->count++;
    return 0;
}

static int list_changed (struct watch_rows *rows, int place)
{
    return array_append (&rows->changed, &rows->changed_count, &rows->changed_capacity, &place,
                         sizeof (place));
}

static bool may_have_changed (const struct watch_rows *rows, const struct present *present,
                              const struct change_log *log, const struct watch_row *row)
{
    const struct job *job = present->cluster->jobs[row->job];
    return row->stale || change_log_job (log, row->job) > rows->seen ||
           (log->slots_number > rows->seen && job->phase == JOB_PENDING) ||
           wait_retry_us (job, rows->seen_us) != wait_retry_us (job, present->now_us) ||
           (present->fair != rows->fair && job_runs (job));
}

/* The first ended job that is shown. */
static int first_shown (const struct cluster *cluster)
{
    int first = cluster->job_count;
    for (int left = WATCH_ROWS - cluster->live.count; left > 0 && first > 0;)
        left -= !job_live (cluster->jobs[--first]);
    return first;
}

int watch_rows_omitted (const struct cluster *cluster)
{
    int ended = cluster->job_count - cluster->live.count;
    int room = WATCH_ROWS - cluster->live.count;
    room = room > 0 ? room : 0;
    return ended > room ? ended - room : 0;
}

static void note_dropped (struct watch_rows *rows, int64_t changed, int64_t refresh)
{
    struct watch_known *dropped = &rows->dropped;
    dropped->number = changed > dropped->number ? changed : dropped->number;
    dropped->refresh = refresh > dropped->refresh ? refresh : dropped->refresh;
}

/* Drop rows of jobs that ended long ago. */
static void drop_old (struct watch_rows *rows, const struct cluster *cluster)
{
    int first = first_shown (cluster), kept = 0;
    for (int i = 0; i < rows->count; i++) {
        struct watch_row *row = &rows->rows[i];
        if (row->job >= first || job_live (cluster->jobs[row->job])) {
            rows->rows[kept++] = *row;
            continue;
        }
        note_dropped (rows, row->changed, row->refresh);
        free (row->text);
    }
    rows->count = kept;
}

/* The first rows.  What live jobs have reported before a restart of polluxd is not known, so they count
 * as changed now. */
static int begin (struct watch_rows *rows, const struct present *present,
                  const struct change_log *log)
{
    const struct cluster *cluster = present->cluster;
    int rc = 0, first = first_shown (cluster);
    for (int i = 0; i < cluster->job_count && rc == 0; i++) {
        bool live = job_live (cluster->jobs[i]);
        if (live || i >= first)
            rc = add (rows, present, i, live ? log->number : change_log_job (log, i));
        else
            note_dropped (rows, change_log_job (log, i), rows->refresh);
    }
    if (rc < 0)
        watch_rows_clear (rows);
    rows->begun = rc == 0;
    return rc;
}

static int make_changed (struct watch_rows *rows, const struct present *present,
                         const struct change_log *log)
{
    int rc = 0;
    for (int i = 0; i < rows->count && rc == 0; i++) {
        struct watch_row *row = &rows->rows[i];
        if (!may_have_changed (rows, present, log, row))
            continue;
        rc = make (rows, present, row);
        if (rc == 1) {
            row->changed = log->number;
            rc = list_changed (rows, i);
        }
    }
    for (int job = rows->job_count; job < present->cluster->job_count && rc == 0; job++) {
        rc = add (rows, present, job, log->number);
        if (rc == 0) {
            rows->job_count = job + 1;
            rc = list_changed (rows, rows->count - 1);
        }
    }
    return rc;
}

int watch_rows_refresh (struct watch_rows *rows, const struct present *present,
                        const struct change_log *log)
{
    rows->changed_count = 0;
    rows->refresh++;
    if (rows->count > WATCH_ROWS + SPARE_ROWS)
        drop_old (rows, present->cluster);
    int rc = rows->begun ? make_changed (rows, present, log) : begin (rows, present, log);
    if (rc < 0) {
        rows->changed_count = 0;
        return rc;
    }
    rows->seen = log->number;
    rows->seen_us = present->now_us;
    rows->job_count = present->cluster->job_count;
    rows->fair = present->fair;
    return 0;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void put (const struct watch_row *row, bool *first, struct json_text *text)
{
    if (!*first)
        json_text_add (text, ",", 1);
    *first = false;
    json_text_add (text, row->text, row->length);
}

void watch_rows_put_all (const struct watch_rows *rows, const struct cluster *cluster,
                         struct json_text *text)
{
    int oldest = first_shown (cluster);
    bool first = true;
    for (int i = 0; i < rows->count; i++)
        if (rows->rows[i].job >= oldest || job_live (cluster->jobs[rows->rows[i].job]))
            put (&rows->rows[i], &first, text);
}

void watch_rows_put_changed (const struct watch_rows *rows, struct json_text *text)
{
    bool first = true;
    for (int i = 0; i < rows->changed_count; i++)
        put (&rows->rows[rows->changed[i]], &first, text);
}

/* Did something that changed at this refresh and event come after what the client has? */
static bool is_newer (int64_t refresh, int64_t changed, const struct watch_known *known)
{
    return known->refresh >= 0 ? refresh > known->refresh : changed >= known->number;
}

void watch_rows_put_since (const struct watch_rows *rows, const struct watch_known *known,
                           struct json_text *text)
{
    bool first = true;
    for (int i = 0; i < rows->count; i++)
        if (is_newer (rows->rows[i].refresh, rows->rows[i].changed, known))
            put (&rows->rows[i], &first, text);
}

int watch_rows_count_since (const struct watch_rows *rows, const struct watch_known *known)
{
    int count = 0;
    if (is_newer (rows->dropped.refresh, rows->dropped.number, known))
        return INT_MAX;
    for (int i = 0; i < rows->count; i++)
        count += is_newer (rows->rows[i].refresh, rows->rows[i].changed, known);
    return count;
}
