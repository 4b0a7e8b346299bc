/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and writes workloads.  Everything that could make a simulation fail later is refused
 * here, where file and line are known.
 *
 * A file that was cut off is noticed in its last row: by a field that is missing, or because the
 * row has no line break and its last field could go on.  A batch of 204 may be the beginning of
 * 2048; a batch of 4096 of at most 4096 is whole.
 */
#include "sim/workload.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"

enum column { NAME, TIME, APPLICATION, REPLICAS, BATCH, COLUMN_COUNT };

static const char *const column_names[] = {"name", "time", "application", "num_replicas",
                                           "batch_size"};
_Static_assert(sizeof column_names / sizeof *column_names == COLUMN_COUNT, "a name each");

void workload_clear (struct workload *workload)
{
    free (workload->jobs);
    *workload = (struct workload){0};
}

static int read_name (const struct csv *csv, size_t row, size_t column, char ret[NAME_SIZE],
                      struct pollux_error *err)
{
    const char *text = csv_string (csv, row, column);
    size_t length = strlen (text);
    if (length == 0 || length >= NAME_SIZE)
        return csv_fail (csv, row, column, err, "expected a name of 1 to %d bytes", NAME_SIZE - 1);
    memcpy (ret, text, length + 1);
    return 0;
}

static int unknown_app (const struct csv *csv, size_t row, size_t column,
                        const struct ground_truth *truth, struct pollux_error *err)
{
    char list[160];
    size_t used = 0;
    for (int i = 0; i < ground_truth_count (truth) && used < sizeof list; i++)
        used += (size_t)snprintf (list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                  app_name (ground_truth_at (truth, i)));
    if (used >= sizeof list)
        (void)snprintf (list + sizeof list - 4, 4, "...");
    return csv_fail (csv, row, column, err, "expected one of %s", list);
}

static int read_row (const struct csv *csv, size_t row, const size_t column[COLUMN_COUNT],
                     const struct ground_truth *truth, struct workload_job *job,
                     struct pollux_error *err)
{
    int64_t replicas;
    int code = read_name (csv, row, column[NAME], job->name, err);
    if (code == 0)
        code = csv_double (csv, row, column[TIME], 0, WORKLOAD_TIME_LIMIT, &job->submit_s, err);
    if (code < 0)
        return code;
    job->app = ground_truth_app (truth, csv_string (csv, row, column[APPLICATION]));
    if (!job->app)
        return unknown_app (csv, row, column[APPLICATION], truth, err);
    const struct pollux_limits *limits = app_limits (job->app);
    code = csv_int64 (csv, row, column[REPLICAS], 1, POLLUX_REPLICAS_LIMIT, &replicas, err);
    if (code == 0)
        code = csv_int64 (csv, row, column[BATCH], limits->init_batch, limits->max_batch,
                          &job->batch, err);
    if (code < 0)
        return code;
    job->replicas = (int)replicas;
    if (job->batch < replicas * limits->min_local)
        return csv_fail (csv, row, column[BATCH], err,
                         "expected at least %lld for %d replicas, since %s trains with %lld "
                         "samples or more on each",
                         (long long)(replicas * limits->min_local), job->replicas,
                         app_name (job->app), (long long)limits->min_local);
    return 0;
}

/* ---- Names that are used twice ------------------------------------------------------------ */

struct named {
    const char *name;
    size_t row;
};

static int by_name (const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = strcmp (a->name, b->name);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* Refuse the first row whose name an earlier row has. */
static int check_names (const struct csv *csv, size_t column, const struct workload *workload,
                        struct pollux_error *err)
{
    size_t count = (size_t)workload->count, first = SIZE_MAX;
    struct named *names = malloc (count * sizeof *names);
    if (!names)
        return fail (err, -ENOMEM, "no memory for %zu names", count);
    for (size_t row = 0; row < count; row++)
        names[row] = (struct named){.name = workload->jobs[row].name, .row = row};
    qsort (names, count, sizeof *names, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp (names[i].name, names[i - 1].name) == 0 && names[i].row < first)
            first = names[i].row;
    free (names);
    if (first == SIZE_MAX)
        return 0;
    return csv_fail (csv, first, column, err, "expected a name that no other job has");
}

/* ---- Files -------------------------------------------------------------------------------- */

/* The last row has no line break: is it whole nevertheless?  Only a batch can be known to be: a
 * digit more would make it too large. */
static int check_end (const struct csv *csv, const size_t column[COLUMN_COUNT],
                      const struct workload *workload, struct pollux_error *err)
{
    const struct workload_job *last = &workload->jobs[workload->count - 1];
    if (column[BATCH] + 1 == csv_columns (csv) &&
        last->batch > app_limits (last->app)->max_batch / 10)
        return 0;
    return csv_fail (csv, csv_rows (csv) - 1, csv_columns (csv) - 1, err,
                     "expected a line break, since a file without may be cut off here; add one "
                     "if it is whole, after");
}

static int read_table (const struct csv *csv, bool ends, const struct ground_truth *truth,
                       struct workload *workload, struct pollux_error *err)
{
    size_t column[COLUMN_COUNT], rows = csv_rows (csv);
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        int code = csv_column (csv, column_names[i], &column[i], err);
        if (code < 0)
            return code;
    }
    workload->jobs = calloc (rows, sizeof *workload->jobs);
    if (!workload->jobs)
        return fail (err, -ENOMEM, "no memory for %zu jobs", rows);
    for (size_t row = 0; row < rows; row++) {
        int code = read_row (csv, row, column, truth, &workload->jobs[row], err);
        if (code < 0)
            return code;
    }
    workload->count = (int)rows;
    int code = check_names (csv, column[NAME], workload, err);
    if (code == 0 && !ends)
        code = check_end (csv, column, workload, err);
    return code;
}

int workload_parse (const char *name, const char *text, size_t length,
                    const struct ground_truth *truth, struct workload *ret,
                    struct pollux_error *err)
{
    struct workload workload = {0};
    struct csv *csv;
    int code = csv_parse (name, text, length, &csv, err);
    if (code < 0)
        return code;
    if (csv_rows (csv) == 0)
        code = fail (err, -EINVAL,
                     "%s: no jobs; expected a row for each below the names of the "
                     "columns",
                     file_name (name).text);
    else if (csv_rows (csv) > WORKLOAD_JOBS_LIMIT)
        code = fail (err, -EFBIG, "%s: %zu jobs are too many: at most %d", file_name (name).text,
                     csv_rows (csv), WORKLOAD_JOBS_LIMIT);
    else
        code = read_table (csv, text[length - 1] == '\n', truth, &workload, err);
    csv_free (csv);
    if (code < 0) {
        workload_clear (&workload);
        return code;
    }
    *ret = workload;
    return 0;
}

int workload_read (const char *path, const struct ground_truth *truth, struct workload *ret,
                   struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = file_read (path, CSV_FILE_LIMIT, &text, &length, err);
    if (code < 0)
        return code;
    code = workload_parse (path, text, length, truth, ret, err);
    free (text);
    return code;
}

/* A field in quotes if it needs them. */
static void write_field (const char *text, FILE *out)
{
    size_t length = strlen (text);
    bool blank = length > 0 && (text[0] == ' ' || text[length - 1] == ' ');
    if (!blank && !strpbrk (text, ",\"\t")) {
        (void)fputs (text, out);
        return;
    }
    (void)fputc ('"', out);
    for (; *text; text++) {
        if (*text == '"')
            (void)fputc ('"', out);
        (void)fputc (*text, out);
    }
    (void)fputc ('"', out);
}

int workload_write (const struct workload *workload, FILE *out, struct pollux_error *err)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        (void)fprintf (out, "%s%s", i ? "," : "", column_names[i]);
    (void)fputc ('\n', out);
    for (int i = 0; i < workload->count; i++) {
        const struct workload_job *job = &workload->jobs[i];
        write_field (job->name, out);
        (void)fprintf (out, ",%.17g,", job->submit_s);
        write_field (app_name (job->app), out);
        (void)fprintf (out, ",%d,%lld\n", job->replicas, (long long)job->batch);
    }
    if (fflush (out) != 0 || ferror (out))
        return fail (err, errno ? -errno : -EIO, "the workload was not written: %s",
                     strerror (errno ? errno : EIO));
    return 0;
}
