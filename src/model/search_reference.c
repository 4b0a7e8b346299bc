/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batch search of the published implementation, for comparison with its results: 50 total
 * batches in geometric progression from max (M0, lo K) to Mmax, each split over the replicas
 * with as few accumulation steps as possible.  Rounding m up may make M a little larger than Mmax; a
 * split with m outside [lo, hi] is ignored.
 *
 * The result is the same as from trying all 50, to the last bit, but with few powers.  One sample near
 * the best batch of the relaxed model gives a goodput to exceed; an upper bound on goodput excludes
 * most of the others, and a tangent of the overlapped time most of the rest.
 */
#include "model/model.h"

#include <math.h>

enum { SAMPLES = 50 };

struct search {
    const struct pollux_model *model;
    const struct pollux_limits *limits;
    struct pollux_grad grad;
    struct pollux_shape shape;
    /* Total batches: first, ..., 10^(log_first + i log_step), ..., last. */
    double first, last, log_first, log_step;
    /* The overlapped time of (grad_s, sync_s) is at least by_grad grad_s + by_sync sync_s. */
    double sync_s, by_grad, by_sync;
    struct pollux_best best;
};

static double sample_total (const struct search *search, int i)
{
    return i == 0             ? search->first
           : i == SAMPLES - 1 ? search->last
                              : pow (10, i * search->log_step + search->log_first);
}

/* Split a total batch; m may be outside of the limits.  False: a relative error of 1e-10 in the total
 * could change the result. */
static bool split (const struct search *search, double total, struct pollux_batch *ret)
{
    const struct pollux_limits *limits = search->limits;
    const double tolerance = 1e-8, doubt = 1e-9;
    double local = total / search->shape.replicas, s = 0;
    bool sure = true;
    if (limits->accumulation) {
        double steps = local / (double)limits->max_local - tolerance;
        /* At least 0, also if max_local is very large and only the tolerance remains. */
        s = fmax (ceil (steps) - 1, 0);
        sure = s + 1 - steps > doubt * steps && steps - s > doubt * steps;
        /* One sample of gradient noise needs two micro-batches. */
        if (search->shape.replicas == 1) {
            sure &= fabs (local - (double)limits->init_batch - tolerance) > doubt * local;
            if (local > (double)limits->init_batch + tolerance)
                s = fmax (s, 1);
        }
    }
    double exact = local / (s + 1) - tolerance, m = ceil (exact);
    sure &= m - exact > doubt * exact && exact - (m - 1) > doubt * exact;
    *ret = (struct pollux_batch){.m = (int64_t)m, .s = (int64_t)s};
    return sure;
}

/* True if this batch can be better than the best so far. */
static bool promising (const struct search *search, struct pollux_batch batch)
{
    const double rounding = 1 + 1e-9;
    double grad_s = pollux_grad_time (search->model, batch.m);
    double last_s = fmax (fmax (grad_s, search->sync_s),
                          search->by_grad * grad_s + search->by_sync * search->sync_s);
    double total = pollux_total_batch (search->shape, batch);
    double time_s = (double)batch.s * grad_s + last_s;
    return total * pollux_efficiency (search->grad, search->limits->init_batch, total) * rounding >=
           search->best.goodput * time_s;
}

static void consider (struct search *search, struct pollux_batch batch)
{
    const struct pollux_limits *limits = search->limits;
    if (batch.m < limits->min_local || batch.m > limits->max_local || !promising (search, batch))
        return;
    struct pollux_best option = {
        .batch = batch,
        .goodput =
            pollux_goodput (search->model, search->grad, limits->init_batch, search->shape, batch),
    };
    if (option.goodput > 0 && best_precedes (&option, &search->best))
        search->best = option;
}

/* The index of a total, rounded down and clipped to the samples. */
static int index_of (const struct search *search, double total)
{
    double index = (log10 (total) - search->log_first) / search->log_step;
    return index >= SAMPLES - 1 ? SAMPLES - 1 : index > 0 ? (int)index : 0;
}

/* The range of indices where a sample can be better than the best so far: where the upper bound is
 * larger,
 *
 *     M (v + q M0) > goodput (v + q M) (c + d M)
 *
 * which is between the roots of a quadratic in M.  M is the total after rounding m up; the sample
 * itself may be smaller. */
static void narrow (const struct search *search, const struct model_ceiling *ceiling, int *low,
                    int *high)
{
    const double slack = 1 - 1e-9;
    double v = ceiling->v, q = ceiling->q, c = ceiling->c, d = ceiling->d;
    double goodput = search->best.goodput * slack;
    double square = goodput * q * d, constant = goodput * v * c;
    double linear = goodput * (v * d + q * c) - (v + q * ceiling->m0);
    double discriminant = linear * linear - 4 * square * constant;
    if (!(linear < 0) || !(discriminant >= 0))
        return;
    double root = sqrt (discriminant) - linear; /* > 0 */
    double least = 2 * constant / root, most = root / (2 * square);
    least = (least - search->shape.replicas) / (1 + 1 / (double)search->limits->max_local);
    if (least > search->first)
        *low = index_of (search, least * slack);
    if (most < search->last)
        *high = index_of (search, most / slack) + 1;
    *high = *high < SAMPLES ? *high : SAMPLES - 1;
}

/* Try the sample nearest to the best batch of the upper bound, and take the tangent of the time
 * there: first derivatives of (x^gamma + y^gamma)^(1/gamma), which is convex and homogeneous. */
static void start (struct search *search, const struct model_ceiling *ceiling)
{
    struct pollux_batch batch;
    int i = search->log_step > 0 ? index_of (search, ceiling->touch) : 0;
    (void)split (search, sample_total (search, i), &batch);
    consider (search, batch);
    double grad_s = pollux_grad_time (search->model, batch.m), gamma = search->model->gamma;
    double last_s = model_overlap (grad_s, search->sync_s, gamma);
    const double rounding = 1 - 1e-12;
    if (last_s > 0) {
        search->by_grad = pow (grad_s / last_s, gamma - 1) * rounding;
        search->by_sync = pow (search->sync_s / last_s, gamma - 1) * rounding;
    }
}

struct pollux_best search_reference (const struct pollux_model *model, struct pollux_grad grad,
                                     const struct pollux_limits *limits, struct pollux_shape shape)
{
    struct search search = {
        .model = model,
        .limits = limits,
        .grad = grad,
        .shape = shape,
        .first = fmax ((double)limits->init_batch, (double)limits->min_local * shape.replicas),
        .last = (double)limits->max_batch,
        .sync_s = model_sync_time (model, shape),
    };
    search.log_first = log10 (search.first);
    search.log_step = (log10 (search.last) - search.log_first) / (SAMPLES - 1);
    struct model_ceiling ceiling =
        model_ceiling (model, grad, limits, shape.nodes, shape.replicas, shape.replicas,
                       sqrt (search.first * search.last));
    int low = 0, high = SAMPLES - 1;
    start (&search, &ceiling);
    if (search.best.goodput > 0 && search.log_step > 0)
        narrow (&search, &ceiling, &low, &high);

    struct pollux_batch batch, last = {0};
    double nearly = sample_total (&search, low), ratio = pow (10, search.log_step);
    for (int i = low; i <= high; i++, nearly *= ratio) {
        if (!split (&search, nearly, &batch))
            (void)split (&search, sample_total (&search, i), &batch);
        if (batch.m != last.m || batch.s != last.s)
            consider (&search, batch);
        last = batch;
    }
    return search.best;
}
