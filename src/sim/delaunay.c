/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Qhull makes the simplices; this file finds the one that contains a point, by the rule of scipy's
 * find_simplex, e = 100 x 2^-52:
 *
 *  1. A point outside the bounding box, widened by e, is outside.
 *  2. Climb: lift the point to Qhull's paraboloid.  From simplex 0, move to neighbours whose plane
 *     is farther below the lifted point, until a plane is below it or no neighbour is better.
 *  3. Directed walk: at the first barycentric coordinate below -e hop to the neighbour that faces
 *     it (none: outside).  All four in [-e, 1+e]: found.
 *  4. Scan, if the walk meets a flat simplex, a coordinate above 1+e without a hop, or does not
 *     converge: take the simplices in Qhull's order.  One with volume contains the point if all
 *     coordinates are in [-e, 1+e].  At a flat one try its neighbours with volume in order, with
 *     -2^-26 instead of -e for the coordinate that faces the flat one.  The first hit is the result.
 *
 * The scan is a fixed sequence of trials, each a simplex with volume and a set of loosened
 * coordinates.  There are thousands of trials but few near any point: a grid over the first two
 * coordinates (nodes, replicas) lists for each cell the trials whose bounding box touches it,
 * in the order of the sequence, and the third coordinate is compared before the arithmetic:
 *
 *     cells   [0: first..] [1: first..] ...
 *     listed  |t3|t4|t9|    |t0|t3|      ...     ascending trials
 *     trials  |simplex 5, -|simplex 2, coordinate 1|simplex 7, -| ...
 *
 * Points on a lattice of integers have exact determinants, so that a point on a face has a
 * coordinate of exactly 0.
 */
#include "sim/delaunay.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libqhull_r/qhull_ra.h>

#include "base/error.h"

/* The tolerances of the published interpolation. */
static const double tolerance = 100 * DBL_EPSILON;
static const double loose_tolerance = 0x1p-26;
/* A simplex is flat if its edges' matrix has a reciprocal condition number below this. */
static const double flat_rcond = 1000 * DBL_EPSILON;
/* A box is widened by this share of its extent: more than all tolerances allow. */
static const double box_margin = 8 * 0x1p-26;
/* Cells along each of the two axes at most; one per integer where these suffice. */
enum { GRID_LIMIT = 64 };

/* The hyperplane of a simplex lifted to the paraboloid; the distance is positive above it. */
struct plane {
    double normal[4], offset;
    int neighbours[4]; /* facing the vertex of the same index; -1: outside */
};

struct simplex {
    int vertices[4];
    double origin[3]; /* the last vertex */
    double adjugate[3][3];
    double volume; /* determinant, > 0; 0: flat */
    double low[3], high[3];
};

struct trial {
    int simplex;
    unsigned loose;   /* bit i: coordinate i may be as low as -loose_tolerance */
    double low, high; /* of the box along the third axis */
};

struct grid {
    double origin[2], width[2];
    int size[2];
    int *first;  /* size[0] size[1] + 1: where a cell's list begins; the next one's is its end */
    int *listed; /* trials */
};

struct delaunay {
    struct simplex *simplices;
    struct plane *planes; /* one per simplex */
    int count, flat_count;
    double low[3], high[3]; /* bounding box of the points */
    double lift_scale,
        lift_shift; /* last coordinate on the paraboloid: |x|^2 lift_scale + lift_shift */
    struct trial *trials;
    int trial_count;
    struct grid grid;
};

/* ---- Simplices ---------------------------------------------------------------------------- */

static double one_norm (const double a[3][3])
{
    double norm = 0;
    for (int j = 0; j < 3; j++)
        norm = fmax (norm, fabs (a[0][j]) + fabs (a[1][j]) + fabs (a[2][j]));
    return norm;
}

/* Barycentric coordinates of x solve  edges c = x - origin,  c = adjugate (x - origin) / volume. */
static void simplex_measure (struct simplex *simplex, const double (*points)[3])
{
    double edges[3][3];
    memcpy (simplex->origin, points[simplex->vertices[3]], sizeof simplex->origin);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            edges[i][j] = points[simplex->vertices[j]][i] - simplex->origin[i];

    double (*adjugate)[3] = simplex->adjugate;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            adjugate[j][i] = edges[a][c] * edges[b][d] - edges[a][d] * edges[b][c];
        }
    double volume = 0;
    for (int j = 0; j < 3; j++)
        volume += edges[0][j] * adjugate[j][0];

    double rcond = fabs (volume) / (one_norm (edges) * one_norm (adjugate));
    if (!(rcond >= flat_rcond))
        volume = 0;
    if (volume < 0) {
        volume = -volume;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                adjugate[i][j] = -adjugate[i][j];
    }
    simplex->volume = volume;

    for (int i = 0; i < 3; i++) {
        double low = INFINITY, high = -INFINITY;
        for (int v = 0; v < 4; v++) {
            low = fmin (low, points[simplex->vertices[v]][i]);
            high = fmax (high, points[simplex->vertices[v]][i]);
        }
        double margin = box_margin * (high - low);
        simplex->low[i] = low - margin;
        simplex->high[i] = high + margin;
    }
}

/* The barycentric coordinate of d = x - origin that belongs to vertex k < 3. */
static double simplex_coordinate (const struct simplex *simplex, int k, const double d[3])
{
    const double *row = simplex->adjugate[k];
    return (row[0] * d[0] + row[1] * d[1] + row[2] * d[2]) / simplex->volume;
}

/* True if it contains the point, within tolerances.  Fills weights then. */
static bool simplex_contains (const struct simplex *simplex, unsigned loose, const double x[3],
                              double weights[4])
{
    double d[3] = {x[0] - simplex->origin[0], x[1] - simplex->origin[1], x[2] - simplex->origin[2]};
    double rest = 1;
    for (int i = 0; i < 3; i++) {
        double c = simplex_coordinate (simplex, i, d);
        if (!(c >= (loose & 1U << i ? -loose_tolerance : -tolerance) && c <= 1 + tolerance))
            return false;
        weights[i] = c;
        rest -= c;
    }
    weights[3] = rest;
    return rest >= (loose & 1U << 3 ? -loose_tolerance : -tolerance) && rest <= 1 + tolerance;
}

static bool trial_hits (const struct delaunay *delaunay, const struct trial *trial,
                        const double point[3], struct mixture *ret)
{
    const struct simplex *simplex = &delaunay->simplices[trial->simplex];
    struct mixture mixture;
    if (!simplex_contains (simplex, trial->loose, point, mixture.weights))
        return false;
    memcpy (mixture.vertices, simplex->vertices, sizeof mixture.vertices);
    *ret = mixture;
    return true;
}

/* ---- Qhull -------------------------------------------------------------------------------- */

/* Copy the simplices out of Qhull, numbered in its order. */
static int collect (qhT *qh, const double (*points)[3], struct delaunay *delaunay,
                    struct pollux_error *err)
{
    int count = 0;
    int *numbers = malloc (qh->facet_id * sizeof *numbers);
    if (!numbers)
        return fail (err, -ENOMEM, "no memory for %u facets", qh->facet_id);
    for (unsigned i = 0; i < qh->facet_id; i++)
        numbers[i] = -1;
    for (const facetT *facet = qh->facet_list; facet->next; facet = facet->next)
        if (!facet->upperdelaunay)
            numbers[facet->id] = count++;

    /* How Qhull scales the last coordinate (option Qbb). */
    delaunay->lift_scale = qh->last_newhigh / (qh->last_high - qh->last_low);
    delaunay->lift_shift = -qh->last_low * delaunay->lift_scale;

    int code = 0;
    delaunay->simplices = calloc ((size_t)count + 1, sizeof *delaunay->simplices);
    delaunay->planes = calloc ((size_t)count + 1, sizeof *delaunay->planes);
    if (!delaunay->simplices || !delaunay->planes)
        code = fail (err, -ENOMEM, "no memory for %d simplices", count);
    for (const facetT *facet = qh->facet_list; facet->next; facet = facet->next) {
        if (code < 0 || facet->upperdelaunay)
            continue;
        if (!facet->simplicial || qh_setsize (qh, facet->vertices) != 4 ||
            qh_setsize (qh, facet->neighbors) != 4) {
            code = fail (err, -EDOM, "the points have no triangulation");
            continue;
        }
        struct plane *plane = &delaunay->planes[delaunay->count];
        struct simplex *simplex = &delaunay->simplices[delaunay->count++];
        memcpy (plane->normal, facet->normal, sizeof plane->normal);
        plane->offset = facet->offset;
        for (int i = 0; i < 4; i++) {
            const vertexT *vertex = SETelemt_ (facet->vertices, i, vertexT);
            const facetT *neighbour = SETelemt_ (facet->neighbors, i, facetT);
            simplex->vertices[i] = qh_pointid (qh, vertex->point);
            plane->neighbours[i] = numbers[neighbour->id];
        }
        simplex_measure (simplex, points);
        delaunay->flat_count += simplex->volume == 0;
    }
    free (numbers);
    return code;
}

/* The first line of what Qhull says, without its code. */
static int qhull_fail (struct pollux_error *err, const char *text)
{
    size_t length = strcspn (text, "\n");
    return fail (err, -EDOM, "the points have no triangulation: %.*s", (int)length, text);
}

static int triangulate (const double (*points)[3], int count, struct delaunay *delaunay,
                        struct pollux_error *err)
{
    char options[] = "qhull d Qt Qbb Qc Qz Q12";
    char *said = NULL;
    size_t said_length = 0;
    int code = 0, rest_count, rest_size;
    qhT *qh = malloc (sizeof *qh);
    double *copy = malloc ((size_t)count * sizeof *points);
    FILE *speech = open_memstream (&said, &said_length);
    if (!qh || !copy || !speech) {
        code = fail (err, -ENOMEM, "no memory to triangulate %d points", count);
        goto out;
    }
    memcpy (copy, points, (size_t)count * sizeof *points);
    qh_zero (qh, speech);
    if (qh_new_qhull (qh, 3, count, copy, False, options, NULL, speech) != 0) {
        (void)fflush (speech);
        code = qhull_fail (err, said ? said : "");
    } else {
        code = collect (qh, points, delaunay, err);
    }
    qh_freeqhull (qh, !qh_ALL);
    qh_memfreeshort (qh, &rest_count, &rest_size);
out:
    if (speech)
        (void)fclose (speech);
    free (said);
    free (copy);
    free (qh);
    return code;
}

/* ---- Trials and grid ---------------------------------------------------------------------- */

static void add_trial (struct delaunay *delaunay, int number, unsigned loose)
{
    const struct simplex *simplex = &delaunay->simplices[number];
    delaunay->trials[delaunay->trial_count++] = (struct trial){
        .simplex = number, .loose = loose, .low = simplex->low[2], .high = simplex->high[2]};
}

static int list_trials (struct delaunay *delaunay, struct pollux_error *err)
{
    delaunay->trials = malloc (4 * (size_t)delaunay->count * sizeof *delaunay->trials);
    if (!delaunay->trials)
        return fail (err, -ENOMEM, "no memory for %d simplices", delaunay->count);
    for (int i = 0; i < delaunay->count; i++) {
        const struct simplex *simplex = &delaunay->simplices[i];
        if (simplex->volume > 0) {
            add_trial (delaunay, i, 0);
            continue;
        }
        for (int k = 0; k < 4; k++) {
            int number = delaunay->planes[i].neighbours[k];
            if (number < 0 || delaunay->simplices[number].volume == 0)
                continue;
            unsigned loose = 0;
            for (unsigned j = 0; j < 4; j++)
                if (delaunay->planes[number].neighbours[j] == i)
                    loose |= 1U << j;
            add_trial (delaunay, number, loose);
        }
    }
    return 0;
}

/* The cell along one axis, not limited to the grid. */
static double grid_cell (const struct grid *grid, int axis, double x)
{
    return floor ((x - grid->origin[axis]) / grid->width[axis]);
}

struct cells {
    int low[2], high[2];
};

static struct cells simplex_cells (const struct grid *grid, const struct simplex *simplex)
{
    struct cells cells;
    for (int axis = 0; axis < 2; axis++) {
        double last = grid->size[axis] - 1;
        cells.low[axis] = (int)fmax (0, fmin (last, grid_cell (grid, axis, simplex->low[axis])));
        cells.high[axis] = (int)fmax (0, fmin (last, grid_cell (grid, axis, simplex->high[axis])));
    }
    return cells;
}

static void bound (struct delaunay *delaunay, const double (*points)[3], int count)
{
    for (int axis = 0; axis < 3; axis++) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < count; i++) {
            low = fmin (low, points[i][axis]);
            high = fmax (high, points[i][axis]);
        }
        delaunay->low[axis] = low;
        delaunay->high[axis] = high;
    }
}

/* Integers are in the middle of their cells, so that a box that ends at one, widened, does not
 * reach into the next cell. */
static void span_grid (struct delaunay *delaunay)
{
    struct grid *grid = &delaunay->grid;
    for (int axis = 0; axis < 2; axis++) {
        double extent = ceil (delaunay->high[axis] - delaunay->low[axis]) + 1;
        grid->origin[axis] = delaunay->low[axis] - 0.5;
        grid->size[axis] = (int)fmin (extent, GRID_LIMIT);
        grid->width[axis] = fmax (1, extent / GRID_LIMIT);
    }
}

static int build_grid (struct delaunay *delaunay, struct pollux_error *err)
{
    struct grid *grid = &delaunay->grid;
    int cell_count = grid->size[0] * grid->size[1];
    int *place = calloc ((size_t)cell_count + 1, sizeof *place);
    grid->first = place;
    if (!place)
        return fail (err, -ENOMEM, "no memory for a grid of %d cells", cell_count);

    /* Count first, then turn counts into ends, then fill from behind. */
    for (int pass = 0; pass < 2; pass++) {
        for (int t = delaunay->trial_count - 1; t >= 0; t--) {
            const struct simplex *simplex = &delaunay->simplices[delaunay->trials[t].simplex];
            struct cells cells = simplex_cells (grid, simplex);
            for (int a = cells.low[0]; a <= cells.high[0]; a++)
                for (int b = cells.low[1]; b <= cells.high[1]; b++) {
                    int cell = a * grid->size[1] + b;
                    if (pass == 0)
                        place[cell]++;
                    else
                        grid->listed[--place[cell]] = t;
                }
        }
        if (pass == 1)
            break;
        int64_t total = 0;
        for (int cell = 0; cell <= cell_count; cell++) {
            total += place[cell];
            if (total > INT32_MAX)
                return fail (err, -ENOMEM, "too many simplices for a grid");
            place[cell] = (int)total;
        }
        grid->listed = malloc ((size_t)(total + 1) * sizeof *grid->listed);
        if (!grid->listed)
            return fail (err, -ENOMEM, "no memory for %d simplices", delaunay->count);
    }
    return 0;
}

/* ---- The walk ----------------------------------------------------------------------------- */

static bool in_box (const struct delaunay *delaunay, const double x[3])
{
    for (int i = 0; i < 3; i++)
        if (!(x[i] >= delaunay->low[i] - tolerance && x[i] <= delaunay->high[i] + tolerance))
            return false;
    return true;
}

static double plane_distance (const struct plane *plane, const double lifted[4])
{
    double distance = plane->offset;
    for (int i = 0; i < 4; i++)
        distance += plane->normal[i] * lifted[i];
    return distance;
}

/* Climb from simplex 0.  A move within a sweep keeps its place k, as in scipy.  Returns the simplex
 * where the directed walk starts. */
static int climb (const struct delaunay *delaunay, const double x[3])
{
    double square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    double lifted[4] = {x[0], x[1], x[2], square * delaunay->lift_scale + delaunay->lift_shift};
    const struct plane *planes = delaunay->planes;
    int at = 0;
    double best = plane_distance (&planes[0], lifted);
    bool moved = true;
    while (moved && best <= 0) {
        moved = false;
        for (int k = 0; k < 4; k++) {
            int next = planes[at].neighbours[k];
            if (next < 0)
                continue;
            double distance = plane_distance (&planes[next], lifted);
            if (distance > best + tolerance * (1 + fabs (best))) {
                at = next;
                best = distance;
                moved = true;
            }
        }
    }
    return at;
}

enum walk_end { FOUND, OUTSIDE, LOST };

/* The directed walk from a simplex.  FOUND fills *ret; LOST: the scan decides. */
static enum walk_end walk (const struct delaunay *delaunay, int at, const double x[3],
                           struct mixture *ret)
{
    for (int hops = 0; hops < 1 + delaunay->count / 4; hops++) {
        const struct simplex *simplex = &delaunay->simplices[at];
        if (simplex->volume == 0)
            return LOST;
        const double *origin = simplex->origin;
        double d[3] = {x[0] - origin[0], x[1] - origin[1], x[2] - origin[2]};
        double c[4], rest = 1;
        bool inside = true;
        int k;
        for (k = 0; k < 4; k++) {
            c[k] = k < 3 ? simplex_coordinate (simplex, k, d) : rest;
            if (c[k] < -tolerance)
                break;
            inside &= c[k] <= 1 + tolerance;
            rest -= c[k];
        }
        if (k < 4) {
            at = delaunay->planes[at].neighbours[k];
            if (at < 0)
                return OUTSIDE;
        } else if (inside) {
            memcpy (ret->vertices, simplex->vertices, sizeof ret->vertices);
            memcpy (ret->weights, c, sizeof ret->weights);
            return FOUND;
        } else {
            return LOST;
        }
    }
    return LOST;
}

/* ---- The contract ------------------------------------------------------------------------- */

int delaunay_new (const double (*points)[3], int count, struct delaunay **ret,
                  struct pollux_error *err)
{
    if (count < 5)
        return fail (err, -EDOM, "%d points have no triangulation: at least 5 are needed", count);
    if (count > DELAUNAY_POINTS_LIMIT)
        return fail (err, -E2BIG, "%d points are too many: at most %d", count,
                     DELAUNAY_POINTS_LIMIT);
    struct delaunay *delaunay = calloc (1, sizeof *delaunay);
    if (!delaunay)
        return fail (err, -ENOMEM, "no memory to triangulate %d points", count);
    bound (delaunay, points, count);
    span_grid (delaunay);
    int code = triangulate (points, count, delaunay, err);
    if (code == 0)
        code = list_trials (delaunay, err);
    if (code == 0)
        code = build_grid (delaunay, err);
    if (code < 0) {
        delaunay_free (delaunay);
        return code;
    }
    *ret = delaunay;
    return 0;
}

void delaunay_free (struct delaunay *delaunay)
{
    if (!delaunay)
        return;
    free (delaunay->grid.first);
    free (delaunay->grid.listed);
    free (delaunay->trials);
    free (delaunay->planes);
    free (delaunay->simplices);
    free (delaunay);
}

bool delaunay_locate (const struct delaunay *delaunay, const double point[3], struct mixture *ret)
{
    if (!in_box (delaunay, point))
        return false;
    enum walk_end end = walk (delaunay, climb (delaunay, point), point, ret);
    return end == FOUND || (end == LOST && delaunay_scan (delaunay, point, ret));
}

bool delaunay_scan (const struct delaunay *delaunay, const double point[3], struct mixture *ret)
{
    const struct grid *grid = &delaunay->grid;
    double a = grid_cell (grid, 0, point[0]), b = grid_cell (grid, 1, point[1]);
    if (!(a >= 0 && a < grid->size[0] && b >= 0 && b < grid->size[1]))
        return false;
    int cell = (int)a * grid->size[1] + (int)b;
    for (int i = grid->first[cell]; i < grid->first[cell + 1]; i++) {
        const struct trial *trial = &delaunay->trials[grid->listed[i]];
        if (point[2] >= trial->low && point[2] <= trial->high &&
            trial_hits (delaunay, trial, point, ret))
            return true;
    }
    return false;
}

bool delaunay_scan_plain (const struct delaunay *delaunay, const double point[3],
                          struct mixture *ret)
{
    for (int t = 0; t < delaunay->trial_count; t++)
        if (trial_hits (delaunay, &delaunay->trials[t], point, ret))
            return true;
    return false;
}

int delaunay_count (const struct delaunay *delaunay)
{
    return delaunay->count;
}

int delaunay_flat_count (const struct delaunay *delaunay)
{
    return delaunay->flat_count;
}
