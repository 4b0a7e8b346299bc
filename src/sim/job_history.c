/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the job history of a cluster.  Timestamps have no time zone: only differences and the time
 * of day matter.
 */
#include "sim/job_history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"

/* Shorter jobs failed at once. */
static const double short_s = 60;

/* The number of two or four digits; -1 if another character occurs. */
static int digits (const char *text, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = 10 * value + (text[i] - '0');
    }
    return value;
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, years from March on. */
static int64_t civil_days (int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = y / 400, of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool parse_timestamp (const char *text, int64_t *ret)
{
    /* YYYY-MM-DD HH:MM:SS */
    if (strlen (text) != 19 || text[4] != '-' || text[7] != '-' ||
        (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':')
        return false;
    int year = digits (text, 4), month = digits (text + 5, 2), day = digits (text + 8, 2);
    int hour = digits (text + 11, 2), minute = digits (text + 14, 2), s = digits (text + 17, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59 || s < 0 || s > 60)
        return false;
    *ret = ((civil_days (year, month, day) * 24 + hour) * 60 + minute) * 60 + s;
    return true;
}

static int read_rows (const struct csv *csv, struct job_history *history, struct pollux_error *err)
{
    static const char *const names[] = {"timestamp", "duration", "gpu_time"};
    size_t column[3];
    for (size_t i = 0; i < 3; i++) {
        int code = csv_column (csv, names[i], &column[i], err);
        if (code < 0)
            return code;
    }
    for (size_t row = 0; row < csv_rows (csv); row++) {
        struct past_job *job = &history->jobs[history->count];
        double duration;
        if (!parse_timestamp (csv_string (csv, row, column[0]), &job->at_s))
            return csv_fail (csv, row, column[0], err, "expected a time like 2017-10-09 07:01:55");
        int code = csv_double (csv, row, column[1], 0, 1e12, &duration, err);
        if (code == 0)
            code = csv_double (csv, row, column[2], 0, 1e18, &job->slot_s, err);
        if (code < 0)
            return code;
        if (duration >= short_s && job->slot_s > 0)
            history->count++;
    }
    return 0;
}

int job_history_read (const char *path, struct job_history *ret, struct pollux_error *err)
{
    struct job_history history = {0};
    struct csv *csv;
    int code = csv_read (path, &csv, err);
    if (code < 0)
        return code;
    size_t rows = csv_rows (csv);
    history.jobs = calloc (rows + 1, sizeof *history.jobs);
    if (!history.jobs)
        code = fail (err, -ENOMEM, "%s: no memory for %zu jobs", file_name (path).text, rows);
    else
        code = read_rows (csv, &history, err);
    csv_free (csv);
    if (code == 0 && history.count == 0)
        code = fail (err, -EINVAL, "%s: no jobs of a minute or more", file_name (path).text);
    if (code < 0) {
        job_history_clear (&history);
        return code;
    }
    *ret = history;
    return 0;
}

void job_history_clear (struct job_history *history)
{
    free (history->jobs);
    *history = (struct job_history){0};
}
