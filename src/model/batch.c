/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best batch for one placement, and for all numbers of replicas at once.  Inputs are checked
 * here; search_exact.c and search_reference.c do the search.
 */
#include "base/error.h"
#include "model/model.h"
#include "model/ranges.h"

#include <errno.h>
#include <math.h>

static int check_model (const struct pollux_model *model, struct pollux_error *err)
{
    const struct {
        const char *name;
        double value;
    } times[] = {
        {"alpha_grad", model->alpha_grad},   {"beta_grad", model->beta_grad},
        {"alpha_node", model->alpha_node},   {"beta_node", model->beta_node},
        {"alpha_local", model->alpha_local}, {"beta_local", model->beta_local},
    };
    for (size_t i = 0; i < sizeof (times) / sizeof (times[0]); i++)
        if (!(times[i].value >= 0) || !isfinite (times[i].value))
            return fail (err, -EINVAL, "model: %s must be a time in seconds, at least 0, got %g",
                         times[i].name, times[i].value);
    if (!model_takes_time (model))
        return fail (err, -EINVAL, "model: alpha_grad and beta_grad are both 0: a step takes time");
    if (!(model->gamma >= 1) || !isfinite (model->gamma))
        return fail (err, -EINVAL, "model: gamma must be at least 1, got %g", model->gamma);
    return 0;
}

/* 1 <= low <= high <= POLLUX_BATCH_LIMIT; the names are for the message. */
static int check_range (const char *low_name, int64_t low, const char *high_name, int64_t high,
                        struct pollux_error *err)
{
    if (low >= 1 && low <= high && high <= POLLUX_BATCH_LIMIT)
        return 0;
    return fail (err, -EINVAL, "limits: expected 1 <= %s <= %s <= %lld, got %s %lld and %s %lld",
                 low_name, high_name, (long long)POLLUX_BATCH_LIMIT, low_name, (long long)low,
                 high_name, (long long)high);
}

static int check_limits (const struct pollux_limits *limits, struct pollux_error *err)
{
    int rc = check_range ("init_batch", limits->init_batch, "max_batch", limits->max_batch, err);
    return rc < 0
               ? rc
               : check_range ("min_local", limits->min_local, "max_local", limits->max_local, err);
}

static int check_job (const struct pollux_model *model, struct pollux_grad grad,
                      const struct pollux_limits *limits, enum pollux_search search,
                      struct pollux_error *err)
{
    int rc = check_model (model, err);
    if (rc == 0)
        rc = check_limits (limits, err);
    if (rc < 0)
        return rc;
    if (!(grad.sqr >= 0) || !(grad.var >= 0) || !isfinite (grad.sqr + grad.var))
        return fail (err, -EINVAL, "grad: sqr and var must be at least 0 and finite, got %g and %g",
                     grad.sqr, grad.var);
    if (grad.gain_max != 0 && (!(grad.gain_max >= 1) || !isfinite (grad.gain_max)))
        return fail (err, -EINVAL, "grad: gain_max must be 0 (no limit) or at least 1, got %g",
                     grad.gain_max);
    if (search != POLLUX_EXACT && search != POLLUX_REFERENCE)
        return fail (err, -EINVAL, "search: expected exact or reference, got %d", (int)search);
    return 0;
}

static struct pollux_best find (const struct pollux_model *model, struct pollux_grad grad,
                                const struct pollux_limits *limits, enum pollux_search search,
                                struct pollux_shape shape, int64_t guess)
{
    return search == POLLUX_EXACT ? search_exact (model, grad, limits, shape, guess)
                                  : search_reference (model, grad, limits, shape);
}

/* The best batches on `nodes` nodes, for `nodes` to max_replicas replicas. */
static void find_all (const struct pollux_model *model, struct pollux_grad grad,
                      const struct pollux_limits *limits, enum pollux_search search, int nodes,
                      int max_replicas, struct pollux_best *ret)
{
    /* The best m changes smoothly with K: extrapolate a guess from the last two. */
    int64_t last = 0, before = 0;
    for (int k = nodes; k <= max_replicas; k++) {
        struct pollux_shape shape = {.nodes = nodes, .replicas = k};
        ret[k - 1] = find (model, grad, limits, search, shape, before ? 2 * last - before : last);
        before = last;
        last = ret[k - 1].batch.m;
    }
}

int pollux_best_batch (const struct pollux_model *model, struct pollux_grad grad,
                       const struct pollux_limits *limits, enum pollux_search search,
                       struct pollux_shape shape, struct pollux_best *ret, struct pollux_error *err)
{
    int rc = check_job (model, grad, limits, search, err);
    if (rc < 0)
        return rc;
    if (shape.nodes < 1 || shape.replicas < shape.nodes || shape.replicas > POLLUX_REPLICAS_LIMIT)
        return fail (err, -EINVAL, "shape: expected 1 <= nodes <= replicas <= %d, got %d and %d",
                     POLLUX_REPLICAS_LIMIT, shape.nodes, shape.replicas);
    *ret = find (model, grad, limits, search, shape, 0);
    return 0;
}

int pollux_curve (const struct pollux_model *model, struct pollux_grad grad,
                  const struct pollux_limits *limits, enum pollux_search search, int max_replicas,
                  struct pollux_best *one_node, struct pollux_best *many_nodes,
                  struct pollux_error *err)
{
    int rc = check_job (model, grad, limits, search, err);
    if (rc < 0)
        return rc;
    if (max_replicas < 1 || max_replicas > POLLUX_REPLICAS_LIMIT)
        return fail (err, -EINVAL, "curve: expected 1 <= max_replicas <= %d, got %d",
                     POLLUX_REPLICAS_LIMIT, max_replicas);
    if (one_node)
        find_all (model, grad, limits, search, 1, max_replicas, one_node);
    if (many_nodes) {
        many_nodes[0] = (struct pollux_best){0};
        find_all (model, grad, limits, search, 2, max_replicas, many_nodes);
    }
    return 0;
}
