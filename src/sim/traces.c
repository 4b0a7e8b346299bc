/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a folder of published traces, a subfolder per application:
 *
 *     APP/validation-B.csv   progress,iteration,metric,grad_sqr,grad_var    a row per epoch
 *     APP/placements.csv     placement,local_bsz,step_time,sync_time
 *     APP/scalability.csv    num_nodes,num_replicas,local_bsz,step_time,sync_time
 *
 * or placements-TYPE.csv and scalability-TYPE.csv for each type of nodes.
 *
 * M0 and Mmax are the smallest and largest B, the smallest and largest local batch those of
 * placements.csv.  A table below has what the files lack for the six published applications;
 * another application trains for as many epochs as its validation files have rows.
 * A subfolder without placements is ignored.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "sim/app.h"
#include "sim/measured_steps.h"

static const struct known {
    const char *name;
    int epochs;
    int64_t max_local; /* of nodes without a type; 0: the largest of placements.csv */
    struct app_pin pin;
    double restart_delay_s, slowdown; /* in clusters with types */
} known_apps[] = {
    {"bert", 2, 0, {0, 0}, 120, 1.2},        {"cifar10", 100, 0, {0, 0}, 50, 1.8},
    {"deepspeech2", 80, 0, {0, 0}, 25, 1.2}, {"imagenet", 90, 0, {0, 0}, 250, 1.2},
    {"ncf", 10, 0, {1, 32768}, 15, 1.5}, /* was published with 1 replica only */
    {"yolov3", 50, 8, {0, 0}, 80, 1.2},  /* 11 and 16 do not fit on larger placements */
};

/* The largest local batches that agents report where they are not the largest measured ones. */
static const struct known_type {
    const char *name, *type;
    int64_t max_local;
} known_types[] = {{"deepspeech2", "rtx2080ti", 57}};

static const struct known *find_known (const char *name)
{
    for (size_t i = 0; i < sizeof known_apps / sizeof *known_apps; i++)
        if (strcmp (known_apps[i].name, name) == 0)
            return &known_apps[i];
    return NULL;
}

/* dir/name; -ENAMETOOLONG if it exceeds PATH_MAX. */
static int join_path (const char *dir, const char *name, char ret[PATH_MAX],
                      struct pollux_error *err)
{
    int length = snprintf (ret, PATH_MAX, "%s/%s", dir, name);
    if (length < 0 || length >= PATH_MAX)
        return fail (err, -ENAMETOOLONG, "%s: the path is too long", file_name (dir).text);
    return 0;
}

static int columns (const struct csv *csv, const char *const *names, size_t count, size_t *ret,
                    struct pollux_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int code = csv_column (csv, names[i], &ret[i], err);
        if (code < 0)
            return code;
    }
    return 0;
}

/* ---- validation-B.csv --------------------------------------------------------------------- */

/* The batch in a file's name; 0 if it is no validation file. */
static int64_t validation_batch (const char *name)
{
    char digits[24];
    int64_t batch;
    size_t length = strlen (name), prefix = strlen ("validation-"), suffix = strlen (".csv");
    if (length <= prefix + suffix || length - prefix - suffix >= sizeof digits ||
        strncmp (name, "validation-", prefix) != 0 || strcmp (name + length - suffix, ".csv") != 0)
        return 0;
    memcpy (digits, name + prefix, length - prefix - suffix);
    digits[length - prefix - suffix] = '\0';
    if (number_int64 (digits, &batch) < 0 || batch < 1 || batch > POLLUX_BATCH_LIMIT)
        return 0;
    return batch;
}

static int by_batch (const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The entries of a folder in alphabetical order: their number, or an error.  The caller frees each, and
 * the array. */
static int list_folder (const char *dir, struct dirent ***ret, struct pollux_error *err)
{
    int count = scandir (dir, ret, NULL, alphasort);
    return count < 0 ? fail (err, -errno, "%s: %s", file_name (dir).text, strerror (errno)) : count;
}

static int list_batches (const char *dir, int64_t batches[TRAINING_CURVE_BATCHES_LIMIT], int *ret,
                         struct pollux_error *err)
{
    struct dirent **entries;
    int count = 0, code = 0, entry_count = list_folder (dir, &entries, err);
    if (entry_count < 0)
        return entry_count;
    for (int i = 0; i < entry_count; i++) {
        int64_t batch = validation_batch (entries[i]->d_name);
        free (entries[i]);
        if (batch == 0)
            continue;
        if (count == TRAINING_CURVE_BATCHES_LIMIT)
            code = fail (err, -EFBIG, "%s: more than %d validation files", file_name (dir).text,
                         TRAINING_CURVE_BATCHES_LIMIT);
        else
            batches[count++] = batch;
    }
    free (entries);
    if (code < 0)
        return code;
    if (count == 0)
        return fail (err, -EINVAL, "%s: no validation-B.csv; expected one for each total batch B",
                     file_name (dir).text);
    qsort (batches, (size_t)count, sizeof *batches, by_batch);
    for (int i = 1; i < count; i++)
        if (batches[i] == batches[i - 1])
            return fail (err, -EINVAL, "%s: two validation files for batch %lld",
                         file_name (dir).text, (long long)batches[i]);
    *ret = count;
    return 0;
}

/* One column of the training curve from one file. */
static int read_validation (const struct csv *csv, struct training_curve *curve, int batch,
                            struct pollux_error *err)
{
    static const char *const names[] = {"progress", "iteration", "grad_sqr", "grad_var"};
    /* Sums of a few statistics stay finite; counts are exact in a double. */
    const double most[] = {0x1p53, 0x1p53, 1e300, 1e300};
    size_t column[4];
    double last[4] = {0, 0, 0, 0}, value[4];
    int code = columns (csv, names, 4, column, err);
    for (int row = 0; code == 0 && row < curve->epochs; row++) {
        for (size_t i = 0; code == 0 && i < 4; i++) {
            double least = i < 2 ? last[i] : 0; /* both counts only grow */
            code = csv_double (csv, (size_t)row, column[i], least, most[i], &value[i], err);
        }
        if (code < 0)
            return code;
        if (!(value[0] > last[0]))
            return csv_fail (csv, (size_t)row, column[0], err,
                             "expected more progress than before");
        memcpy (last, value, sizeof last);
        struct training_curve_cell *cell = training_curve_cell (curve, row, batch);
        cell->iterations = value[1];
        cell->grad = (struct pollux_grad){.sqr = value[2], .var = value[3]};
        double *need = &curve->need[row + 1];
        *need = batch == 0 ? value[0] : fmin (*need, value[0]);
    }
    return code;
}

static int training_curve_epochs (const char *path, const struct csv *csv,
                                  const struct known *known, int *ret, struct pollux_error *err)
{
    size_t rows = csv_rows (csv);
    if (known && rows < (size_t)known->epochs)
        return fail (err, -EINVAL, "%s: %zu rows, but %s trains for %d epochs",
                     file_name (path).text, rows, known->name, known->epochs);
    if (rows == 0)
        return fail (err, -EINVAL, "%s: no rows; expected one per epoch", file_name (path).text);
    if (!known && rows > TRAINING_CURVE_EPOCHS_LIMIT)
        return fail (err, -EFBIG, "%s: more than %d epochs", file_name (path).text,
                     TRAINING_CURVE_EPOCHS_LIMIT);
    *ret = known ? known->epochs : (int)rows;
    return 0;
}

static int read_course (const char *dir, const struct known *known, struct app *app,
                        struct pollux_error *err)
{
    int64_t batches[TRAINING_CURVE_BATCHES_LIMIT];
    int count = 0, code = list_batches (dir, batches, &count, err);
    for (int i = 0; code == 0 && i < count; i++) {
        char name[64], path[PATH_MAX];
        struct csv *csv = NULL;
        int epochs = 0;
        (void)snprintf (name, sizeof name, "validation-%lld.csv", (long long)batches[i]);
        code = join_path (dir, name, path, err);
        if (code == 0)
            code = csv_read (path, &csv, err);
        if (code == 0)
            code = training_curve_epochs (path, csv, known, &epochs, err);
        if (code == 0 && i == 0)
            code = training_curve_alloc (&app->curve, epochs, count, err);
        else if (code == 0 && epochs != app->curve.epochs)
            code = fail (err, -EINVAL, "%s: %d rows, but validation-%lld.csv has %d",
                         file_name (path).text, epochs, (long long)batches[0], app->curve.epochs);
        if (code == 0) {
            app->curve.batches[i] = (double)batches[i];
            code = read_validation (csv, &app->curve, i, err);
        }
        csv_free (csv);
    }
    if (code == 0) {
        app->limits.init_batch = batches[0];
        app->limits.max_batch = batches[count - 1];
        app->limits.accumulation = true;
    }
    return code;
}

/* ---- placements.csv and scalability.csv --------------------------------------------------- */

/* local_bsz, step_time, sync_time; times in the range that a model can be fitted to. */
static int read_times (const struct csv *csv, size_t row, const size_t column[3],
                       struct measurement *ret, struct pollux_error *err)
{
    int code = csv_int64 (csv, row, column[0], 1, POLLUX_BATCH_LIMIT, &ret->m, err);
    if (code == 0)
        code = csv_double (csv, row, column[1], 1e-9, 1e9, &ret->step_s, err);
    if (code == 0)
        code = csv_double (csv, row, column[2], 0, 1e9, &ret->sync_s, err);
    if (code == 0 && !(ret->sync_s < ret->step_s))
        code = csv_fail (csv, row, column[2], err, "expected less than the step_time of %g",
                         ret->step_s);
    return code;
}

/* Digits, one per node. */
static int read_placement (const struct csv *csv, size_t row, size_t column,
                           struct measurement *ret, struct pollux_error *err)
{
    const char *text = csv_string (csv, row, column);
    int counts[32], nodes = 0, replicas = 0;
    for (; text[nodes] >= '1' && text[nodes] <= '9' && nodes < 32; nodes++) {
        counts[nodes] = text[nodes] - '0';
        replicas += counts[nodes];
    }
    ret->key = nodes < 32 && text[nodes] == '\0' ? placement_key (counts, nodes) : 0;
    if (ret->key == 0)
        return csv_fail (csv, row, column, err,
                         "expected the GPUs of each node as digits from 1 to 9, like 134");
    ret->shape = (struct pollux_shape){.nodes = nodes, .replicas = replicas};
    return 0;
}

static int read_shape (const struct csv *csv, size_t row, const size_t column[2],
                       struct measurement *ret, struct pollux_error *err)
{
    int64_t nodes, replicas;
    int code = csv_int64 (csv, row, column[0], 1, POLLUX_REPLICAS_LIMIT, &nodes, err);
    if (code == 0)
        code = csv_int64 (csv, row, column[1], nodes, POLLUX_REPLICAS_LIMIT, &replicas, err);
    if (code == 0)
        ret->shape = (struct pollux_shape){.nodes = (int)nodes, .replicas = (int)replicas};
    return code;
}

/* All rows of a file, by placement if placed, else by shape.  *ret belongs to the caller. */
static int read_measurements (const char *path, bool placed, struct measurement **ret, int *count,
                              struct pollux_error *err)
{
    static const char *const placed_names[] = {"placement", "local_bsz", "step_time", "sync_time"};
    static const char *const shaped_names[] = {"num_nodes", "num_replicas", "local_bsz",
                                               "step_time", "sync_time"};
    struct csv *csv;
    struct measurement *list = NULL;
    size_t column[5];
    int code = csv_read (path, &csv, err);
    if (code < 0)
        return code;
    code = placed ? columns (csv, placed_names, 4, column, err)
                  : columns (csv, shaped_names, 5, column, err);
    size_t rows = csv_rows (csv);
    if (code == 0 && (rows == 0 || rows > INT_MAX / 2))
        code = fail (err, -EINVAL, "%s: %s rows", file_name (path).text, rows ? "too many" : "no");
    if (code == 0 && !(list = calloc (rows, sizeof *list)))
        code = fail (err, -ENOMEM, "%s: no memory for %zu rows", file_name (path).text, rows);
    for (size_t row = 0; code == 0 && row < rows; row++) {
        code = placed ? read_placement (csv, row, column[0], &list[row], err)
                      : read_shape (csv, row, column, &list[row], err);
        if (code == 0)
            code = read_times (csv, row, &column[placed ? 1 : 2], &list[row], err);
    }
    csv_free (csv);
    if (code < 0) {
        free (list);
        return code;
    }
    *ret = list;
    *count = (int)rows;
    return 0;
}

/* dir/NAME.csv, or dir/NAME-TYPE.csv. */
static int measurement_path (const char *dir, const char *name, const char *type,
                             char ret[PATH_MAX], struct pollux_error *err)
{
    char file[NAME_SIZE + 32];
    (void)snprintf (file, sizeof file, "%s%s%s.csv", name, type[0] ? "-" : "", type);
    return join_path (dir, file, ret, err);
}

/* Local batches and the speed of one replica, by the rows of placements. */
static void find_limits (const struct measurement *placed, int count, struct app *app)
{
    double one_step_s = 0, one_m = 0;
    app->limits.min_local = app->limits.max_local = placed[0].m;
    for (int i = 0; i < count; i++) {
        if (placed[i].m < app->limits.min_local)
            app->limits.min_local = placed[i].m;
        if (placed[i].m > app->limits.max_local)
            app->limits.max_local = placed[i].m;
        if (placed[i].shape.replicas == 1) {
            one_m = fmax (one_m, (double)placed[i].m);
            one_step_s = fmax (one_step_s, placed[i].step_s);
        }
    }
    app->speed = one_step_s > 0 ? one_m / one_step_s : 0;
}

/* Step times of nodes of app->type. */
static int read_timing (const char *dir, struct app *app, struct pollux_error *err)
{
    char path[PATH_MAX];
    struct pollux_error why;
    struct measurement *placed = NULL, *shaped = NULL;
    int placed_count = 0, shaped_count = 0;
    int code = measurement_path (dir, "scalability", app->type, path, err);
    if (code == 0)
        code = read_measurements (path, false, &shaped, &shaped_count, err);
    if (code == 0)
        code = measurement_path (dir, "placements", app->type, path, err);
    if (code == 0)
        code = read_measurements (path, true, &placed, &placed_count, err);
    if (code < 0)
        goto out;
    find_limits (placed, placed_count, app);
    app->timing = &timing_measured;
    code = measured_new (placed, placed_count, shaped, shaped_count, &app->times, &why);
    if (code < 0)
        code = fail (err, code, "%s: %s", file_name (path).text, why.text);
out:
    free (placed);
    free (shaped);
    return code;
}

/* ---- Folders ------------------------------------------------------------------------------ */

/* The type in the name of a placements file: "" in placements.csv; NULL: it is no such file. */
static const char *placements_type (const char *name, char ret[NAME_SIZE])
{
    size_t prefix = strlen ("placements"), length = strlen (name), suffix = strlen (".csv");
    if (strncmp (name, "placements", prefix) != 0 || length < prefix + suffix ||
        strcmp (name + length - suffix, ".csv") != 0)
        return NULL;
    size_t rest = length - prefix - suffix;
    ret[0] = '\0';
    if (rest == 0)
        return ret;
    if (name[prefix] != '-' || rest == 1 || rest > NAME_SIZE)
        return NULL;
    (void)snprintf (ret, NAME_SIZE, "%.*s", (int)rest - 1, name + prefix + 1);
    return ret;
}

static void limit_known (struct app *app, const struct known *known)
{
    int64_t most = known && !app->type[0] ? known->max_local : 0;
    for (size_t i = 0; i < sizeof known_types / sizeof *known_types; i++)
        if (strcmp (known_types[i].name, app->name) == 0 &&
            strcmp (known_types[i].type, app->type) == 0)
            most = known_types[i].max_local;
    if (most >= app->limits.min_local)
        app->limits.max_local = most;
}

/* Add the step times of one file: of the application, or of a new part of it. */
static int read_part (const char *dir, const char *type, const struct known *known, struct app *app,
                      struct pollux_error *err)
{
    struct app *part = type[0] ? &app->parts[app->part_count] : app;
    if (type[0] && app->part_count == APP_TYPES)
        return fail (err, -EFBIG, "%s: placements of more than %d types", file_name (dir).text,
                     APP_TYPES);
    if (type[0]) {
        *part = app_start ();
        app->part_count++;
    }
    (void)snprintf (part->type, sizeof part->type, "%s", type);
    memcpy (part->name, app->name, sizeof part->name);
    int code = read_timing (dir, part, err);
    if (code == 0)
        limit_known (part, known);
    return code;
}

static int read_parts (const char *dir, const struct known *known, struct app *app,
                       struct pollux_error *err)
{
    struct dirent **entries;
    int code = 0, count = list_folder (dir, &entries, err);
    if (count < 0)
        return count;
    app->parts = calloc (APP_TYPES, sizeof *app->parts);
    if (!app->parts)
        code = fail (err, -ENOMEM, "%s: no memory for its types", file_name (dir).text);
    for (int i = 0; i < count; i++) {
        char type[NAME_SIZE];
        if (code == 0 && placements_type (entries[i]->d_name, type))
            code = read_part (dir, type, known, app, err);
        free (entries[i]);
    }
    free (entries);
    return code;
}

/* The local batches of an application that only has parts. */
static void join_limits (struct app *app)
{
    for (int i = 0; !app->timing && i < app->part_count; i++) {
        const struct pollux_limits *part = &app->parts[i].limits;
        if (i == 0 || part->min_local < app->limits.min_local)
            app->limits.min_local = part->min_local;
        if (part->max_local > app->limits.max_local)
            app->limits.max_local = part->max_local;
    }
}

static int read_app (const char *dir, const char *name, struct app *app, struct pollux_error *err)
{
    char path[PATH_MAX];
    const struct known *known = find_known (name);
    *app = app_start ();
    (void)snprintf (app->name, sizeof app->name, "%s", name);
    int code = join_path (dir, name, path, err);
    if (code == 0)
        code = read_course (path, known, app, err);
    if (code == 0)
        code = read_parts (path, known, app, err);
    if (code < 0)
        return code;
    join_limits (app);
    if (known && app->timing && known->pin.batch <= app->limits.max_batch)
        app->pin = known->pin;
    if (known) {
        app->restart_delay_s = known->restart_delay_s;
        app->slowdown = known->slowdown;
    }
    app_finish (app);
    return 0;
}

/* Is dir/name a subfolder with placements? */
static bool is_app (const char *dir, const char *name)
{
    char path[PATH_MAX], type[NAME_SIZE];
    struct dirent **entries;
    if (name[0] == '.' || strlen (name) >= NAME_SIZE || join_path (dir, name, path, NULL) < 0)
        return false;
    int count = list_folder (path, &entries, NULL);
    bool found = false;
    for (int i = 0; i < count; i++) {
        found |= placements_type (entries[i]->d_name, type) != NULL;
        free (entries[i]);
    }
    if (count >= 0)
        free (entries);
    return found;
}

int ground_truth_from_traces (const char *dir, struct ground_truth **ret, struct pollux_error *err)
{
    struct dirent **entries;
    int count = 0, code = 0, entry_count = list_folder (dir, &entries, err);
    if (entry_count < 0)
        return entry_count;
    struct app *apps = calloc ((size_t)entry_count + 1, sizeof *apps);
    if (!apps)
        code = fail (err, -ENOMEM, "%s: no memory for its applications", file_name (dir).text);
    for (int i = 0; i < entry_count; i++) {
        if (code == 0 && is_app (dir, entries[i]->d_name))
            code = read_app (dir, entries[i]->d_name, &apps[count++], err);
        free (entries[i]);
    }
    free (entries);
    if (code == 0 && count == 0)
        code = fail (err, -EINVAL,
                     "%s: no traces here; expected a folder per application with placements.csv",
                     file_name (dir).text);
    if (code == 0)
        return ground_truth_new (apps, count, ret, err);
    for (int i = 0; i < count; i++)
        app_clear (&apps[i]);
    free (apps);
    return code;
}
