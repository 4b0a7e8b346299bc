/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a job with a resolution that adapts: at first every change makes a point; when there
 * are too many, each pair of neighbours becomes one, and from then on the last point grows until it
 * is as long as those.
 *
 *     |1|1|2|2|2|4|4|4|      full
 *     |1  |2  |2,4|4  |      merged: means weighted by time, so the area below the curve stays
 */
#include "cluster/job_past.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cluster/cluster_past.h"

const char *const point_names[] = {
    [POINT_REPLICAS] = "replicas",
    [POINT_NODES] = "nodes",
    [POINT_BATCH] = "batch",
    [POINT_RATE_FACTOR] = "rate_factor",
    [POINT_NOISE_SCALE] = "noise_scale",
    [POINT_THROUGHPUT] = "throughput",
    [POINT_EFFICIENCY] = "efficiency",
    [POINT_GOODPUT] = "goodput",
    [POINT_PROGRESS] = "progress",
    [POINT_STEP_S] = "step_s",
};
_Static_assert(sizeof (point_names) / sizeof (point_names[0]) == POINT_VALUES,
               "a name for each value");

/* ---- Points ------------------------------------------------------------------------------- */

/* Values over the first part of a time, then over a second part, which takes this share of the
 * whole. */
static void merge_values (float values[POINT_VALUES], const float later[POINT_VALUES], double share)
{
    for (int i = 0; i < POINT_VALUES; i++) {
        if (isnan (values[i]))
            values[i] = later[i];
        else if (!isnan (later[i]) && i != POINT_PROGRESS)
            values[i] = chart_number (values[i] + ((double)later[i] - values[i]) * share);
    }
}

/* The end of a point. */
static int64_t point_end (const struct job_past *past, int point)
{
    return point + 1 < past->point_count ? past->points[point + 1].at_us : past->until_us;
}

static void merge_neighbours (struct job_past *past)
{
    int count = 0;
    for (int i = 0; i < past->point_count; i += 2) {
        struct job_point point = past->points[i];
        if (i + 1 < past->point_count) {
            int64_t middle_us = past->points[i + 1].at_us, end_us = point_end (past, i + 1);
            merge_values (point.values, past->points[i + 1].values,
                          (double)(end_us - middle_us) / (double)(end_us - point.at_us));
        }
        past->points[count++] = point;
    }
    past->point_count = count;
    past->resolution_us = (past->until_us - past->points[0].at_us) / count;
}

/* The present values held until this time. */
static int advance (struct job_past *past, int64_t at_us)
{
    int64_t from_us = past->until_us;
    if (at_us <= from_us)
        return 0;
    struct job_point *last = past->point_count > 0 ? &past->points[past->point_count - 1] : NULL;
    if (last && from_us - last->at_us < past->resolution_us) {
        merge_values (last->values, past->present,
                      (double)(at_us - from_us) / (double)(at_us - last->at_us));
        past->until_us = at_us;
        return 0;
    }
    if (past->point_count == JOB_POINTS_LIMIT)
        merge_neighbours (past);
    struct job_point *points =
        array_grow (past->points, past->point_count, &past->point_capacity, sizeof (points[0]));
    past->until_us = at_us;
    if (!points)
        return -ENOMEM;
    past->points = points;
    points[past->point_count].at_us = from_us;
    memcpy (points[past->point_count++].values, past->present, sizeof (past->present));
    return 0;
}

void job_past_begin (struct job_past *past, int64_t at_us, const float values[POINT_VALUES])
{
    past->until_us = at_us;
    memcpy (past->present, values, sizeof (past->present));
}

int job_past_set (struct job_past *past, int64_t at_us, const float values[POINT_VALUES])
{
    int rc = advance (past, at_us);
    memcpy (past->present, values, sizeof (past->present));
    return rc;
}

/* ---- Generations -------------------------------------------------------------------------- */

static void generation_clear (struct past_generation *generation)
{
    free (generation->detail);
    free (generation->shares);
}

/* The oldest one after the first ones. */
static void forget_generation (struct job_past *past)
{
    struct past_generation *gone = &past->generations[GENERATIONS_FIRST];
    generation_clear (gone);
    past->generation_count--;
    memmove (gone, gone + 1,
             (size_t)(past->generation_count - GENERATIONS_FIRST) * sizeof (gone[0]));
}

static struct past_generation *last_generation (struct job_past *past)
{
    return past->generation_count > 0 ? &past->generations[past->generation_count - 1] : NULL;
}

int job_past_start (struct job_past *past, int generation, int64_t at_us,
                    struct placement placement)
{
    struct past_generation *last = last_generation (past);
    if (last && last->ended_us < 0)
        last->ended_us = at_us;
    if (past->generation_count == GENERATIONS_LIMIT)
        forget_generation (past);
    struct past_generation *list = array_grow (past->generations, past->generation_count,
                                               &past->generation_capacity, sizeof (*list));
    if (list)
        past->generations = list;
    int count =
        placement.count < GENERATION_SHARES_LIMIT ? placement.count : GENERATION_SHARES_LIMIT;
    struct share *shares = malloc (((size_t)count + !count) * sizeof (shares[0]));
    if (!list || !shares) {
        free (shares);
        return -ENOMEM;
    }
    if (count > 0)
        memcpy (shares, placement.shares, (size_t)count * sizeof (shares[0]));
    list[past->generation_count++] = (struct past_generation){
        .generation = generation,
        .started_us = at_us,
        .ready_us = -1,
        .ended_us = -1,
        .kind = -1,
        .replicas = placement_replicas (placement),
        .nodes = placement.count,
        .shares = shares,
        .share_count = count,
    };
    return 0;
}

void job_past_ready (struct job_past *past, int64_t at_us)
{
    struct past_generation *last = last_generation (past);
    if (last && last->ended_us < 0)
        last->ready_us = at_us;
}

void job_past_exit (struct job_past *past, int64_t at_us, int kind, const char *detail)
{
    struct past_generation *last = last_generation (past);
    if (!last || last->ended_us >= 0)
        return;
    last->ended_us = at_us;
    last->kind = kind;
    last->detail = detail && detail[0] ? strdup (detail) : NULL; /* NULL without memory */
}

/* ---- Measured steps ----------------------------------------------------------------------- */

static bool same_configuration (const struct node *nodes, const struct measured_step *a,
                                const struct measured_step *b)
{
    return a->nodes == b->nodes && a->replicas == b->replicas && a->m == b->m &&
           (a->node == b->node || strcmp (nodes[a->node].type, nodes[b->node].type) == 0);
}

int job_past_measure (struct job_past *past, const struct node *nodes,
                      const struct measured_step *step)
{
    int gone = 0;
    while (gone < past->measured_count && !same_configuration (nodes, &past->measured[gone], step))
        gone++;
    if (gone == past->measured_count && past->measured_count == MEASURED_STEPS_LIMIT)
        gone = 0;
    if (gone < past->measured_count) {
        past->measured_count--;
        memmove (past->measured + gone, past->measured + gone + 1,
                 (size_t)(past->measured_count - gone) * sizeof (past->measured[0]));
    }
    struct measured_step *list =
        array_grow (past->measured, past->measured_count, &past->measured_capacity, sizeof (*list));
    if (!list)
        return -ENOMEM;
    past->measured = list;
    list[past->measured_count++] = *step;
    return 0;
}

/* ---- Memory ------------------------------------------------------------------------------- */

static void *shrink (void *array, int count, int *capacity, size_t size)
{
    void *smaller = count > 0 ? realloc (array, (size_t)count * size) : NULL;
    if (smaller)
        *capacity = count;
    return smaller ? smaller : array;
}

void job_past_shrink (struct job_past *past)
{
    past->points =
        shrink (past->points, past->point_count, &past->point_capacity, sizeof (past->points[0]));
    past->generations = shrink (past->generations, past->generation_count,
                                &past->generation_capacity, sizeof (past->generations[0]));
    past->measured = shrink (past->measured, past->measured_count, &past->measured_capacity,
                             sizeof (past->measured[0]));
}

void job_past_clear (struct job_past *past)
{
    for (int i = 0; i < past->generation_count; i++)
        generation_clear (&past->generations[i]);
    free (past->points);
    free (past->generations);
    free (past->measured);
    *past = (struct job_past){0};
}
