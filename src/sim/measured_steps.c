/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements of one application, as tables:
 *
 *     runs    |134: first, count|144: ...|           by placement, ascending, binary search
 *     knots   |m, step, sync|m, step, sync|...       of each run, ascending in m
 *     points  |nodes, replicas, m| with values       first the placements, averaged over equal
 *                                                    points and sorted, then the rest as given
 *
 * The order of the points is part of the published rule, because the triangulation depends on it.
 * Triangulation (tens of milliseconds) and fit are made at first need, under a lock, and kept.
 * They depend on the measurements alone, so the order of calls does not matter.
 */
#include "sim/measured_steps.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/delaunay.h"

/* Every number with this many digits fits in a uint64_t. */
enum { KEY_DIGITS = 18 };

enum readiness { UNPREPARED, READY, IMPOSSIBLE };

struct times {
    double step_s, sync_s;
};

struct run {
    uint64_t key;
    int first, count;
};

struct knot {
    double m;
    struct times times;
};

struct measured {
    struct run *runs;
    struct knot *knots;
    int run_count;
    int most_nodes; /* of all measurements */
    double (*points)[3];
    struct times *values;
    int point_count, placed_count; /* the first placed_count points are of placements */

    pthread_mutex_t lock; /* held while preparing */
    _Atomic int triangulated, fitted;
    struct delaunay *delaunay; /* when triangulated is READY */
    struct pollux_fit fit;     /* when fitted is READY */
};

uint64_t placement_key (const int *counts, int nodes)
{
    uint64_t key = 0, least = UINT64_MAX, top = 1;
    if (nodes < 1 || nodes > KEY_DIGITS)
        return 0;
    for (int i = 0; i < nodes; i++) {
        if (counts[i] < 1 || counts[i] > 9)
            return 0;
        key = 10 * key + (uint64_t)counts[i];
        top *= 10;
    }
    top /= 10;
    for (int i = 0; i < nodes; i++) {
        least = key < least ? key : least;
        key = key % top * 10 + key / top; /* the first digit goes to the end */
    }
    return least;
}

/* ---- Preparing ---------------------------------------------------------------------------- */

static int triangulate (struct measured *measured, struct pollux_error *err)
{
    int code = delaunay_new ((const double (*)[3])measured->points, measured->point_count,
                             &measured->delaunay, err);
    if (code == -EDOM || code == -E2BIG) { /* no volume between the points: the model is used */
        measured->triangulated = IMPOSSIBLE;
        return 0;
    }
    if (code == 0)
        measured->triangulated = READY;
    return code;
}

static int fit (struct measured *measured, struct pollux_error *err)
{
    struct pollux_sample *samples = calloc ((size_t)measured->point_count, sizeof *samples);
    if (!samples)
        return fail (err, -ENOMEM, "no memory to fit %d measurements", measured->point_count);
    for (int i = 0; i < measured->point_count; i++) {
        const double *point = measured->points[i];
        struct times times = measured->values[i];
        samples[i] = (struct pollux_sample){
            .shape = {.nodes = (int)point[0], .replicas = (int)point[1]},
            .m = (int64_t)point[2],
            .grad_s = fmax (times.step_s - times.sync_s, 1e-9),
            .step_s = times.step_s,
            .weight = 1,
        };
    }
    int code = pollux_fit (samples, (size_t)measured->point_count, NULL, &measured->fit, err);
    free (samples);
    if (code == 0)
        measured->fitted = READY;
    return code;
}

/* Prepare once.  The first check takes no lock, since the state is nearly always READY. */
static int ensure (struct measured *measured, _Atomic int *state,
                   int (*make) (struct measured *, struct pollux_error *), struct pollux_error *err)
{
    if (*state != UNPREPARED)
        return 0;
    int code = 0;
    pthread_mutex_lock (&measured->lock);
    if (*state == UNPREPARED)
        code = make (measured, err);
    pthread_mutex_unlock (&measured->lock);
    return code;
}

static int measured_prepare (void *self, struct pollux_error *err)
{
    struct measured *measured = self;
    return ensure (measured, &measured->triangulated, triangulate, err);
}

static int measured_model (void *self, struct pollux_model *ret, struct pollux_error *err)
{
    struct measured *measured = self;
    int code = ensure (measured, &measured->fitted, fit, err);
    if (code == 0)
        *ret = measured->fit.model;
    return code;
}

/* ---- Look-up ------------------------------------------------------------------------------ */

static const struct run *find_run (const struct measured *measured, uint64_t key)
{
    int low = 0, high = measured->run_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (measured->runs[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < measured->run_count && measured->runs[low].key == key ? &measured->runs[low]
                                                                       : NULL;
}

/* Piecewise linear in m.  False outside the measured range. */
static bool run_at (const struct measured *measured, const struct run *run, double m,
                    struct times *ret)
{
    const struct knot *knots = &measured->knots[run->first];
    if (m < knots[0].m || m > knots[run->count - 1].m)
        return false;
    int upper = 0;
    while (knots[upper].m < m)
        upper++;
    if (knots[upper].m == m) {
        *ret = knots[upper].times;
        return true;
    }
    const struct knot *a = &knots[upper - 1], *b = &knots[upper];
    double share = (m - a->m) / (b->m - a->m);
    ret->step_s = a->times.step_s + share * (b->times.step_s - a->times.step_s);
    ret->sync_s = a->times.sync_s + share * (b->times.sync_s - a->times.sync_s);
    return true;
}

static bool space_at (const struct measured *measured, const double point[3], struct times *ret)
{
    struct mixture mixture;
    if (measured->triangulated != READY || !delaunay_locate (measured->delaunay, point, &mixture))
        return false;
    struct times sum = {0, 0};
    for (int i = 0; i < 4; i++) {
        sum.step_s += mixture.weights[i] * measured->values[mixture.vertices[i]].step_s;
        sum.sync_s += mixture.weights[i] * measured->values[mixture.vertices[i]].sync_s;
    }
    *ret = sum;
    return true;
}

/* Of a placement, spread over fewer nodes if it has more than any measured one; NULL: it was not measured. */
static const struct run *run_of (const struct measured *measured, const int *counts, int nodes)
{
    int spread[KEY_DIGITS], replicas = 0;
    if (nodes <= measured->most_nodes || measured->most_nodes > KEY_DIGITS)
        return find_run (measured, placement_key (counts, nodes));
    for (int i = 0; i < nodes; i++)
        replicas += counts[i];
    int each = (replicas + measured->most_nodes - 1) / measured->most_nodes, used = 0;
    for (; replicas > 0; replicas -= each)
        spread[used++] = replicas < each ? replicas : each;
    return find_run (measured, placement_key (spread, used));
}

static int64_t measured_max_local (void *self, const int *counts, int nodes)
{
    struct measured *measured = self;
    const struct run *run = run_of (measured, counts, nodes);
    if (run)
        return (int64_t)measured->knots[run->first + run->count - 1].m;
    double most = 0, replicas = 0;
    for (int i = 0; i < nodes; i++)
        replicas += counts[i];
    double spread = nodes < measured->most_nodes ? nodes : measured->most_nodes;
    for (int i = measured->placed_count; i < measured->point_count; i++) {
        const double *point = measured->points[i];
        if (point[0] >= spread && point[1] >= replicas)
            most = fmax (most, point[2]);
    }
    for (int i = 0; most == 0 && i < measured->placed_count;
         i++) /* nothing comparable was measured */
        most = fmax (most, measured->points[i][2]);
    return (int64_t)most;
}

static int64_t measured_most_local (void *self, int replicas)
{
    const struct measured *measured = self;
    double most = 0;
    for (int i = 0; i < measured->placed_count; i++)
        if (measured->points[i][1] == replicas)
            most = fmax (most, measured->points[i][2]);
    return (int64_t)most;
}

static struct app_step measured_step (void *self, const int *counts, int nodes, int64_t m)
{
    static const struct app_step none = {.step_s = NAN, .sync_s = NAN};
    struct measured *measured = self;
    struct times times;
    bool known;
    const struct run *run = run_of (measured, counts, nodes);
    if (run) {
        known = run_at (measured, run, (double)m, &times);
    } else {
        double replicas = 0;
        for (int i = 0; i < nodes; i++)
            replicas += counts[i];
        double point[3] = {nodes < measured->most_nodes ? nodes : measured->most_nodes, replicas,
                           (double)m};
        if (ensure (measured, &measured->triangulated, triangulate, NULL) < 0)
            return none;
        known = space_at (measured, point, &times);
    }
    if (known)
        return (struct app_step){.step_s = times.step_s, .sync_s = times.sync_s};
    if (ensure (measured, &measured->fitted, fit, NULL) < 0)
        return none;
    struct app_step step = model_step (&measured->fit.model, counts, nodes, m);
    step.modelled = true;
    return step;
}

/* ---- Building ----------------------------------------------------------------------------- */

static int by_placement (const void *left, const void *right)
{
    const struct measurement *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->m > b->m) - (a->m < b->m);
}

static int by_point (const void *left, const void *right)
{
    const struct measurement *a = left, *b = right;
    if (a->shape.nodes != b->shape.nodes)
        return a->shape.nodes < b->shape.nodes ? -1 : 1;
    if (a->shape.replicas != b->shape.replicas)
        return a->shape.replicas < b->shape.replicas ? -1 : 1;
    if (a->m != b->m)
        return a->m < b->m ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key); /* a total order: sums do not depend on qsort */
}

static int build_runs (struct measured *measured, struct measurement *placed, int count,
                       struct pollux_error *err)
{
    qsort (placed, (size_t)count, sizeof *placed, by_placement);
    struct run *run = NULL;
    for (int i = 0; i < count; i++) {
        if (!run || run->key != placed[i].key) {
            run = &measured->runs[measured->run_count++];
            *run = (struct run){.key = placed[i].key, .first = i};
        } else if (placed[i].m == placed[i - 1].m) {
            return fail (err, -EINVAL, "placement %llu has the local batch %lld twice",
                         (unsigned long long)run->key, (long long)placed[i].m);
        }
        run->count++;
        measured->knots[i].m = (double)placed[i].m;
        measured->knots[i].times = (struct times){placed[i].step_s, placed[i].sync_s};
    }
    return 0;
}

static void add_point (struct measured *measured, const struct measurement *at, struct times times)
{
    double *point = measured->points[measured->point_count];
    if (at->shape.nodes > measured->most_nodes)
        measured->most_nodes = at->shape.nodes;
    point[0] = at->shape.nodes;
    point[1] = at->shape.replicas;
    point[2] = (double)at->m;
    measured->values[measured->point_count++] = times;
}

static void build_points (struct measured *measured, struct measurement *placed, int placed_count,
                          const struct measurement *shaped, int shaped_count)
{
    qsort (placed, (size_t)placed_count, sizeof *placed, by_point);
    for (int i = 0, next; i < placed_count; i = next) {
        const struct measurement *at = &placed[i];
        struct times sum = {0, 0};
        for (next = i; next < placed_count; next++) {
            const struct measurement *other = &placed[next];
            if (other->shape.nodes != at->shape.nodes ||
                other->shape.replicas != at->shape.replicas || other->m != at->m)
                break;
            sum.step_s += other->step_s;
            sum.sync_s += other->sync_s;
        }
        add_point (measured, at, (struct times){sum.step_s / (next - i), sum.sync_s / (next - i)});
    }
    measured->placed_count = measured->point_count;
    for (int i = 0; i < shaped_count; i++)
        add_point (measured, &shaped[i], (struct times){shaped[i].step_s, shaped[i].sync_s});
}

static void measured_free (void *self)
{
    struct measured *measured = self;
    if (!measured)
        return;
    delaunay_free (measured->delaunay);
    pthread_mutex_destroy (&measured->lock);
    free (measured->runs);
    free (measured->knots);
    free (measured->points);
    free (measured->values);
    free (measured);
}

int measured_new (struct measurement *placed, int placed_count, const struct measurement *shaped,
                  int shaped_count, void **ret, struct pollux_error *err)
{
    size_t count = (size_t)placed_count + (size_t)shaped_count;
    struct measured *measured = calloc (1, sizeof *measured);
    if (!measured)
        return fail (err, -ENOMEM, "no memory for %zu measurements", count);
    pthread_mutex_init (&measured->lock, NULL);
    measured->runs = calloc ((size_t)placed_count, sizeof *measured->runs);
    measured->knots = calloc ((size_t)placed_count, sizeof *measured->knots);
    measured->points = calloc (count, sizeof *measured->points);
    measured->values = calloc (count, sizeof *measured->values);
    int code = 0;
    if (!measured->runs || !measured->knots || !measured->points || !measured->values)
        code = fail (err, -ENOMEM, "no memory for %zu measurements", count);
    if (code == 0)
        code = build_runs (measured, placed, placed_count, err);
    if (code < 0) {
        measured_free (measured);
        return code;
    }
    build_points (measured, placed, placed_count, shaped, shaped_count);
    *ret = measured;
    return 0;
}

const struct timing timing_measured = {
    .step = measured_step,
    .max_local = measured_max_local,
    .most_local = measured_most_local,
    .prepare = measured_prepare,
    .model = measured_model,
    .free = measured_free,
};
