/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of all jobs that GET /v1/watch shows, kept as text: a row is made again only if its job may
 * have changed, and a snapshot for the next client is a concatenation.
 *
 *     rows     |job 3|job 7|job 8|job 9| ...     live jobs and the newest ended ones, by index
 *     changed  1, 3                              places of those that the last refresh has changed
 */
#ifndef API_WATCH_ROWS_H
#define API_WATCH_ROWS_H

#include "api/rows.h"

/* All live jobs have rows, and the newest ended ones as long as there are fewer than this: 5000 rows of
 * 200 bytes are 1 MB, 200 KB when compressed. */
enum { WATCH_ROWS = 5000 };

/* What a client has: all rows up to a refresh, or, if that is -1, up to an event.  At this event rows
 * may have changed again, by reports. */
struct watch_known {
    int64_t refresh, number;
};

/* Zero to begin with. */
struct watch_rows {
    struct watch_row {
        int job;
        bool stale; /* its job has reported */
        char *text;
        uint32_t length;
        struct row_parts parts;
        int64_t changed; /* the last event when it changed */
        int64_t refresh; /* the refresh that has changed it */
    } * rows;
    int count, capacity;
    int *changed;
    int changed_count, changed_capacity;
    bool begun;
    int64_t refresh; /* the number of the last refresh, from 1 */
    int64_t seen;    /* its last event */
    int64_t seen_us; /* its time */
    int job_count;   /* jobs then */
    int fair;        /* replicas of a fair share then */
    /* The newest change of jobs whose rows were dropped: a client that may not have it needs a
     * snapshot. */
    struct watch_known dropped;
    struct json_text scratch;
};
void watch_rows_clear (struct watch_rows *rows);

/* The job has sent a report: its rates and its progress may have changed. */
void watch_rows_note (struct watch_rows *rows, int job);

/* Make the rows again whose jobs may have changed, and list those that have.  The first time: all rows,
 * and none is listed.  Takes time in proportion to live and new jobs.  -ENOMEM: some rows are made, and
 * none is listed. */
int watch_rows_refresh (struct watch_rows *rows, const struct present *present,
                        const struct change_log *log);

/* Append all rows, those that the last refresh has changed, or those that a client does not have, with
 * commas in between. */
void watch_rows_put_all (const struct watch_rows *rows, const struct cluster *cluster,
                         struct json_text *text);
void watch_rows_put_changed (const struct watch_rows *rows, struct json_text *text);
void watch_rows_put_since (const struct watch_rows *rows, const struct watch_known *known,
                           struct json_text *text);

/* The number of rows that watch_rows_put_since appends; INT_MAX: some of them were dropped. */
int watch_rows_count_since (const struct watch_rows *rows, const struct watch_known *known);

/* Ended jobs without a row in watch_rows_put_all. */
int watch_rows_omitted (const struct cluster *cluster);

#endif
