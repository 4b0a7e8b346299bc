/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode and decode the history of a cluster and of its jobs.  What is decoded obeys the rules that the fold of events
 * guarantees: times ascend, numbers are finite or NaN, counts are within their limits.
 */
#include "wire/history.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "wire/job.h"
#include "wire/member.h"
#include "wire/placement.h"

/* ---- Columns ------------------------------------------------------------------------------ */

/* Numbers of 4 or 8 bytes in an array of structs. */
struct column {
    void *first;
    size_t stride, bytes;
    int count;
};

static const char digits[] = "0123456789abcdef";

static uint64_t load (const struct column *column, int i)
{
    const char *at = (const char *)column->first + (size_t)i * column->stride;
    uint32_t half;
    uint64_t whole;
    memcpy (&half, at, sizeof (half));
    if (column->bytes == sizeof (half))
        return half;
    memcpy (&whole, at, sizeof (whole));
    return whole;
}

static void save (const struct column *column, int i, uint64_t bits)
{
    char *at = (char *)column->first + (size_t)i * column->stride;
    uint32_t half = (uint32_t)bits;
    memcpy (at, column->bytes == sizeof (half) ? (void *)&half : (void *)&bits, column->bytes);
}

static int put_column (json_t *object, const char *key, struct column column,
                       struct pollux_error *err)
{
    size_t width = 2 * column.bytes, length = width * (size_t)column.count;
    char *text = malloc (length + 1);
    for (int i = 0; text && i < column.count; i++) {
        uint64_t bits = load (&column, i);
        for (size_t j = 0; j < width; j++)
            text[(size_t)i * width + j] = digits[bits >> (4 * (width - 1 - j)) & 15];
    }
    int code = wire_put (object, key, text ? json_stringn_nocheck (text, length) : NULL, err);
    free (text);
    return code;
}

static int value_of (char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The text of a column, and the number of its numbers. */
static int column_text (const struct wire_place *object, const char *key, size_t bytes, int most,
                        const char **ret, int *ret_count, struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    int code = wire_text (object, key, ret, err);
    if (code < 0)
        return code;
    size_t length = strlen (*ret), width = 2 * bytes;
    if (length % width != 0 || length / width > (size_t)most)
        return wire_fail (&place, err, "expected at most %d numbers of %zu digits", most, width);
    *ret_count = (int)(length / width);
    return 0;
}

/* Read exactly column.count numbers. */
static int read_column (const struct wire_place *object, const char *key, struct column column,
                        struct pollux_error *err)
{
    struct wire_place place = wire_field (object, key);
    const char *text;
    int count = 0;
    int code = column_text (object, key, column.bytes, column.count, &text, &count, err);
    if (code < 0)
        return code;
    if (count != column.count)
        return wire_fail (&place, err, "expected %d numbers", column.count);
    for (int i = 0; i < count; i++) {
        uint64_t bits = 0;
        for (size_t j = 0; j < 2 * column.bytes; j++) {
            int value = value_of (*text++);
            if (value < 0)
                return wire_fail (&place, err, "expected digits from 0 to f");
            bits = bits << 4 | (uint64_t)value;
        }
        save (&column, i, bits);
    }
    return 0;
}

/* The same for floats, which are finite or NaN. */
static int read_floats (const struct wire_place *object, const char *key, struct column column,
                        struct pollux_error *err)
{
    int code = read_column (object, key, column, err);
    for (int i = 0; code == 0 && i < column.count; i++) {
        float value;
        memcpy (&value, (char *)column.first + (size_t)i * column.stride, sizeof (value));
        struct wire_place place = wire_field (object, key);
        if (isinf (value))
            code = wire_fail (&place, err, "expected finite numbers");
    }
    return code;
}

#define TIME_US .max = 0x1p53
#define LATER_US .optional = true, .missing = -1, .min = -1, .max = 0x1p53
#define NUMBER .optional = true, .missing = NAN, .min = -INFINITY, .max = INFINITY

/* Add an empty object to an object; NULL: no memory. */
static json_t *put_object (json_t *object, const char *key, struct pollux_error *err)
{
    json_t *inner = json_object ();
    return wire_put (object, key, inner, err) == 0 ? inner : NULL;
}

/* The column of a member of `count` structs in an array, and of an array of numbers. */
#define MEMBER_COLUMN(structs, count, member)                                                      \
    ((struct column){&(structs)->member, sizeof (*(structs)), sizeof ((structs)->member), count})
#define ARRAY_COLUMN(numbers, count)                                                               \
    ((struct column){numbers, sizeof ((numbers)[0]), sizeof ((numbers)[0]), count})

/* The columns of points: their times, and their values, which are floats in an array; `values` is the first one's. */
struct point_columns {
    struct column at, values;
    const char *const *names; /* of the values */
    int value_count;
};
#define POINT_COLUMNS(points, count, value_names, value_counts)                                    \
    ((struct point_columns){MEMBER_COLUMN (points, count, at_us),                                  \
                            MEMBER_COLUMN (points, count, values[0]), value_names, value_counts})

static struct column value_column (const struct point_columns *columns, int value)
{
    struct column column = columns->values;
    column.first = (float *)column.first + value;
    return column;
}

static int put_points (json_t *object, struct point_columns columns, struct pollux_error *err)
{
    int code = put_column (object, "at", columns.at, err);
    for (int i = 0; code == 0 && i < columns.value_count; i++)
        code = put_column (object, columns.names[i], value_column (&columns, i), err);
    return code;
}

static int read_points (const struct wire_place *object, struct point_columns columns,
                        struct pollux_error *err)
{
    int code = read_column (object, "at", columns.at, err);
    for (int i = 0; code == 0 && i < columns.value_count; i++)
        code = read_floats (object, columns.names[i], value_column (&columns, i), err);
    return code;
}

/* ---- The cluster -------------------------------------------------------------------------- */

static const struct wire_member cluster_members[] = {
    {WIRE_MEMBER (cluster_past, until_us, WIRE_INT64), LATER_US},
    {WIRE_MEMBER (cluster_past, hints_us, WIRE_INT64), LATER_US},
    {WIRE_MEMBER (cluster_past, price, WIRE_DOUBLE), NUMBER},
    {0},
};

static const struct wire_member series_members[] = {
    {WIRE_MEMBER (series, open_us, WIRE_INT64), TIME_US},
    {0},
};

static int put_series (const struct series *series, json_t *object, struct pollux_error *err)
{
    struct series_point *points = calloc ((size_t)series->count + 1, sizeof (points[0]));
    struct series copy = *series;
    if (!points)
        return fail (err, -ENOMEM, "not enough memory");
    for (int i = 0; i < series->count; i++)
        points[i] = series_get (series, i);
    int code = put_points (object,
                           POINT_COLUMNS (points, series->count, series_names, SERIES_VALUES), err);
    free (points);
    if (code == 0)
        code = wire_members_encode (series_members, series, object, err);
    if (code == 0)
        code = put_column (object, "sums", ARRAY_COLUMN (copy.sums, SERIES_VALUES), err);
    return code < 0 ? code
                    : put_column (object, "known", ARRAY_COLUMN (copy.known_s, SERIES_VALUES), err);
}

int wire_cluster_past_encode (const struct cluster_past *past, struct wire_text_buffer *buffer,
                              struct pollux_error *err)
{
    json_t *object = json_object (), *minutes = NULL, *hours = NULL;
    int code = wire_put (object, "version", json_integer (WIRE_HISTORY_VERSION), err);
    if (code == 0)
        code = wire_members_encode (cluster_members, past, object, err);
    if (code == 0 && !((minutes = put_object (object, "minutes", err)) &&
                       (hours = put_object (object, "hours", err))))
        code = -ENOMEM;
    if (code == 0)
        code = put_series (&past->minutes, minutes, err);
    if (code == 0)
        code = put_series (&past->hours, hours, err);
    if (code == 0)
        code = wire_text_dump (object, WIRE_HISTORY_LIMIT, buffer, err);
    json_decref (object);
    return code;
}

/* The points one after the other, as they were added. */
static int restore_points (const struct wire_place *place, const struct series_point *points,
                           int count, struct series *ret, struct pollux_error *err)
{
    int code = 0;
    for (int i = 0; code == 0 && i < count; i++)
        code = series_restore (ret, &points[i]);
    if (code == -EINVAL)
        return wire_fail (place, err, "expected ascending multiples of %lld us",
                          (long long)ret->period_us);
    return code < 0 ? fail (err, code, "not enough memory") : 0;
}

static int decode_points (const struct wire_place *object, struct series *ret,
                          struct pollux_error *err)
{
    struct wire_place at = wire_field (object, "at");
    const char *unused;
    int count = 0;
    int code = column_text (object, "at", 8, ret->limit, &unused, &count, err);
    if (code < 0)
        return code;
    struct series_point *points = calloc ((size_t)count + 1, sizeof (points[0]));
    if (!points)
        return fail (err, -ENOMEM, "not enough memory for %d points", count);
    code = read_points (object, POINT_COLUMNS (points, count, series_names, SERIES_VALUES), err);
    if (code == 0)
        code = restore_points (&at, points, count, ret, err);
    free (points);
    return code;
}

/* The period that is not over. */
static int decode_open (const struct wire_place *object, struct series *ret,
                        struct pollux_error *err)
{
    struct wire_place open = wire_field (object, "open_us"), known = wire_field (object, "known");
    int code = wire_members_decode (series_members, object, ret, err);
    if (code == 0)
        code = read_column (object, "sums", ARRAY_COLUMN (ret->sums, SERIES_VALUES), err);
    if (code == 0)
        code = read_column (object, "known", ARRAY_COLUMN (ret->known_s, SERIES_VALUES), err);
    if (code < 0)
        return code;
    bool later = ret->count == 0 || ret->open_us > series_get (ret, ret->count - 1).at_us;
    if (ret->open_us % ret->period_us != 0 || !later)
        return wire_fail (&open, err, "expected a later multiple of %lld us",
                          (long long)ret->period_us);
    for (int i = 0; i < SERIES_VALUES; i++)
        if (!isfinite (ret->sums[i]) || !(ret->known_s[i] >= 0) ||
            ret->known_s[i] > 1.001e-6 * (double)ret->period_us)
            return wire_fail (&known, err, "expected times of at most one period");
    return 0;
}

static int decode_series (const struct wire_place *root, const char *key, struct series *ret,
                          struct pollux_error *err)
{
    struct wire_place object = wire_field (root, key);
    int code = wire_expect_object (&object, err);
    if (code == 0)
        code = decode_points (&object, ret, err);
    return code < 0 ? code : decode_open (&object, ret, err);
}

int wire_cluster_past_decode (const char *text, size_t length, const char *name,
                              struct cluster_past *ret, struct pollux_error *err)
{
    struct wire_document *document = NULL;
    struct cluster_past past = cluster_past_make ();
    int version = 0;
    int code = wire_document_parse (name, text, length, WIRE_HISTORY_LIMIT, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    code = wire_version (&root, 1, WIRE_HISTORY_VERSION, &version, err);
    if (code == 0)
        code = wire_members_decode (cluster_members, &root, &past, err);
    if (code == 0)
        code = decode_series (&root, "minutes", &past.minutes, err);
    if (code == 0)
        code = decode_series (&root, "hours", &past.hours, err);
    wire_document_free (document);
    if (code < 0)
        cluster_past_clear (&past);
    else
        *ret = past;
    return code;
}

/* ---- A job -------------------------------------------------------------------------------- */

static const struct wire_member job_members[] = {
    {WIRE_MEMBER (job_past, until_us, WIRE_INT64), TIME_US},
    {WIRE_MEMBER (job_past, resolution_us, WIRE_INT64), .optional = true, .max = 0x1p53},
    {WIRE_MEMBER (job_past, next_report_us, WIRE_INT64), .optional = true, .max = 0x1p53},
    {WIRE_MEMBER (job_past, goodput, WIRE_INT64), .optional = true, .max = 0x1p53},
    {WIRE_FIELD ("one_replica_m", job_past, one_replica_batch.m, WIRE_INT64), .optional = true,
     .max = (double)POLLUX_BATCH_LIMIT},
    {WIRE_FIELD ("one_replica_s", job_past, one_replica_batch.s, WIRE_INT64), .optional = true,
     .max = (double)POLLUX_BATCH_LIMIT},
    {WIRE_MEMBER (job_past, next_search_us, WIRE_INT64), .optional = true, .max = 0x1p53},
    {0},
};

static const struct wire_member generation_members[] = {
    {WIRE_MEMBER (past_generation, generation, WIRE_INT), .min = 1, .max = INT_MAX},
    {WIRE_MEMBER (past_generation, started_us, WIRE_INT64), TIME_US},
    {WIRE_MEMBER (past_generation, ready_us, WIRE_INT64), LATER_US},
    {WIRE_MEMBER (past_generation, ended_us, WIRE_INT64), LATER_US},
    {WIRE_MEMBER (past_generation, replicas, WIRE_INT), .min = 1, .max = POLLUX_REPLICAS_LIMIT},
    {WIRE_MEMBER (past_generation, nodes, WIRE_INT), .min = 1, .max = POLLUX_REPLICAS_LIMIT},
    {0},
};

static const struct wire_member measured_members[] = {
    {WIRE_MEMBER (measured_step, nodes, WIRE_INT), .min = 1, .max = POLLUX_REPLICAS_LIMIT},
    {WIRE_MEMBER (measured_step, replicas, WIRE_INT), .min = 1, .max = POLLUX_REPLICAS_LIMIT},
    {WIRE_MEMBER (measured_step, m, WIRE_INT64), .min = 1, .max = (double)POLLUX_BATCH_LIMIT},
    {WIRE_MEMBER (measured_step, at_us, WIRE_INT64), TIME_US},
    {WIRE_MEMBER (measured_step, step_s, WIRE_DOUBLE), .max = MODEL_TIME_LIMIT},
    {WIRE_MEMBER (measured_step, predicted_s, WIRE_DOUBLE), NUMBER},
    {0},
};

static int put_job_points (const struct job_past *past, json_t *object, struct pollux_error *err)
{
    struct job_point none = {0}, *points = past->point_count > 0 ? past->points : &none;
    return put_points (object, POINT_COLUMNS (points, past->point_count, point_names, POINT_VALUES),
                       err);
}

/* A job's past and the cluster whose nodes it names, for lists. */
struct past_of_cluster {
    const struct cluster *cluster;
    const struct job_past *past;
};

static int put_generation (const void *self, int index, json_t *object, struct pollux_error *err)
{
    const struct past_of_cluster *of = self;
    const struct past_generation *past = &of->past->generations[index];
    struct placement placement = {.shares = past->shares, .count = past->share_count};
    int code = wire_members_encode (generation_members, past, object, err);
    if (code == 0 && past->kind >= 0)
        code = wire_put (object, "kind", json_string (exit_names[past->kind]), err);
    if (code == 0 && past->detail)
        code = wire_put (object, "detail", json_string (past->detail), err);
    return code < 0 ? code : wire_placement_put (of->cluster, placement, object, "placement", err);
}

static int put_measured (const void *self, int index, json_t *object, struct pollux_error *err)
{
    const struct past_of_cluster *of = self;
    const struct measured_step *step = &of->past->measured[index];
    int code = wire_put (object, "node", json_string (of->cluster->nodes[step->node].name), err);
    return code < 0 ? code : wire_members_encode (measured_members, step, object, err);
}

/* All but the points. */
static int put_lists (const struct cluster *cluster, const struct job_past *past, json_t *object,
                      struct pollux_error *err)
{
    struct past_of_cluster of = {cluster, past};
    int code =
        wire_put_list (object, "generations", past->generation_count, put_generation, &of, err);
    return code < 0
               ? code
               : wire_put_list (object, "measured", past->measured_count, put_measured, &of, err);
}

int wire_job_past_encode (const struct cluster *cluster, const struct job_past *past,
                          struct wire_text_buffer *buffer, struct pollux_error *err)
{
    json_t *object = json_object (), *points = NULL;
    float present[POINT_VALUES];
    memcpy (present, past->present, sizeof (present));
    int code = wire_put (object, "version", json_integer (WIRE_HISTORY_VERSION), err);
    if (code == 0)
        code = wire_members_encode (job_members, past, object, err);
    if (code == 0)
        code = put_column (object, "present", ARRAY_COLUMN (present, POINT_VALUES), err);
    if (code == 0 && !(points = put_object (object, "points", err)))
        code = -ENOMEM;
    if (code == 0)
        code = put_job_points (past, points, err);
    if (code == 0)
        code = put_lists (cluster, past, object, err);
    if (code == 0)
        code = wire_text_dump (object, WIRE_HISTORY_LIMIT, buffer, err);
    json_decref (object);
    return code;
}

static int decode_job_points (const struct wire_place *root, struct job_past *ret,
                              struct pollux_error *err)
{
    struct wire_place object = wire_field (root, "points"), at = wire_field (&object, "at");
    const char *unused;
    int count = 0;
    int code = wire_expect_object (&object, err);
    if (code == 0)
        code = column_text (&object, "at", 8, JOB_POINTS_LIMIT, &unused, &count, err);
    if (code < 0)
        return code;
    ret->points = calloc ((size_t)count + 1, sizeof (ret->points[0]));
    if (!ret->points)
        return fail (err, -ENOMEM, "not enough memory for %d points", count);
    ret->point_count = count;
    ret->point_capacity = count + 1;
    code =
        read_points (&object, POINT_COLUMNS (ret->points, count, point_names, POINT_VALUES), err);
    for (int i = 0; code == 0 && i < count; i++) {
        int64_t end_us = i + 1 < count ? ret->points[i + 1].at_us : ret->until_us;
        if (ret->points[i].at_us < 0 || ret->points[i].at_us >= end_us)
            code = wire_fail (&at, err, "expected ascending times before until_us");
    }
    return code;
}

static int decode_generation (const struct wire_place *place, const struct cluster *cluster,
                              struct wire_shares *memory, struct job_past *past,
                              struct pollux_error *err)
{
    struct past_generation generation = {.kind = -1};
    struct wire_place shares = wire_field (place, "placement"), text = wire_field (place, "detail");
    struct placement placement = {0};
    const char *detail = NULL;
    int code = wire_members_decode (generation_members, place, &generation, err);
    if (code == 0)
        code = wire_placement_decode (&shares, cluster, memory, &placement, err);
    if (code == 0 && wire_has (place, "kind"))
        code = wire_choice (place, "kind", exit_names, EXIT_KINDS, &generation.kind, err);
    if (code == 0 && wire_has (place, "detail"))
        code = wire_text (place, "detail", &detail, err);
    if (code == 0 && detail && !wire_is_line (detail, DETAIL_SIZE - 1))
        code = wire_fail (&text, err, "expected a line of at most %d bytes", DETAIL_SIZE - 1);
    if (code == 0 && (placement.count < 1 || placement.count > GENERATION_SHARES_LIMIT))
        code = wire_fail (&shares, err, "expected 1 to %d nodes", GENERATION_SHARES_LIMIT);
    if (code < 0)
        return code;
    if (job_past_start (past, generation.generation, generation.started_us, placement) < 0)
        return fail (err, -ENOMEM, "not enough memory for a generation");
    struct past_generation *added = &past->generations[past->generation_count - 1];
    added->ready_us = generation.ready_us;
    added->ended_us = generation.ended_us;
    added->kind = generation.kind;
    added->replicas = generation.replicas;
    added->nodes = generation.nodes;
    added->detail = detail ? strdup (detail) : NULL;
    return detail && !added->detail ? fail (err, -ENOMEM, "not enough memory") : 0;
}

static int decode_generations (const struct wire_place *root, const struct cluster *cluster,
                               struct job_past *ret, struct pollux_error *err)
{
    struct wire_place list = wire_field (root, "generations");
    struct wire_shares memory = {0};
    size_t count = 0;
    int code = wire_count_elements (&list, GENERATIONS_LIMIT, "generations", &count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place place = wire_element (&list, i);
        if (i > 0 && ret->generations[i - 1].ended_us < 0)
            code = wire_fail (&place, err, "expected only the last one to run");
        else
            code = decode_generation (&place, cluster, &memory, ret, err);
    }
    free (memory.shares);
    return code;
}

static int decode_measured (const struct wire_place *root, const struct cluster *cluster,
                            struct job_past *ret, struct pollux_error *err)
{
    struct wire_place list = wire_field (root, "measured");
    size_t count = 0;
    int code = wire_count_elements (&list, MEASURED_STEPS_LIMIT, "steps", &count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place place = wire_element (&list, i), node = wire_field (&place, "node");
        struct measured_step step = {0};
        char name[NAME_SIZE];
        code = wire_name (&place, "node", name, err);
        if (code == 0)
            code = wire_members_decode (measured_members, &place, &step, err);
        if (code < 0)
            break;
        step.node = cluster_find_node (cluster, name);
        if (step.node < 0)
            code = wire_fail (&node, err, "expected a node of the cluster");
        else if (job_past_measure (ret, cluster->nodes, &step) < 0)
            code = fail (err, -ENOMEM, "not enough memory for a step");
    }
    return code;
}

static int decode_job (const struct wire_place *root, const struct cluster *cluster,
                       struct job_past *ret, struct pollux_error *err)
{
    int version = 0;
    int code = wire_version (root, 1, WIRE_HISTORY_VERSION, &version, err);
    if (code == 0)
        code = wire_members_decode (job_members, root, ret, err);
    if (code == 0)
        code = read_floats (root, "present", ARRAY_COLUMN (ret->present, POINT_VALUES), err);
    if (code == 0)
        code = decode_job_points (root, ret, err);
    if (code == 0)
        code = decode_generations (root, cluster, ret, err);
    return code < 0 ? code : decode_measured (root, cluster, ret, err);
}

int wire_job_past_decode (const char *text, size_t length, const char *name,
                          const struct cluster *cluster, struct job_past *ret,
                          struct pollux_error *err)
{
    struct wire_document *document = NULL;
    struct job_past past = {0};
    int code = wire_document_parse (name, text, length, WIRE_HISTORY_LIMIT, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    code = decode_job (&root, cluster, &past, err);
    wire_document_free (document);
    if (code < 0)
        job_past_clear (&past);
    else
        *ret = past;
    return code;
}
