/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check samples and merge them into configs.
 *
 * Every model predicts the same for samples with equal m, replicas and kind of placement.  For such
 * a group, sum w (x - log t_i)^2 = W (x - mean)^2 + sum w (log t_i - mean)^2, so the group
 * becomes one config with the mean; the last sum does not depend on the model and goes into a
 * constant.  The time of a fit depends on the number of configs: tens, also for 1e5 samples.
 * Sorting forms the groups and makes the result independent of the order of the samples.
 */
#include "model/fit.h"

#include "base/error.h"
#include "model/model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int fit_check (const struct pollux_sample *samples, size_t count, struct pollux_error *err)
{
    if (count == 0)
        return fail (err, -EINVAL, "no samples: a fit needs at least one");
    for (size_t i = 0; i < count; i++) {
        const struct pollux_sample *s = &samples[i];
        if (s->shape.nodes < 1 || s->shape.replicas < s->shape.nodes ||
            s->shape.replicas > POLLUX_REPLICAS_LIMIT)
            return fail (err, -EINVAL,
                         "sample %zu: expected 1 <= nodes <= replicas <= %d, got %d nodes and "
                         "%d replicas",
                         i + 1, POLLUX_REPLICAS_LIMIT, s->shape.nodes, s->shape.replicas);
        if (s->m < 1 || s->m > POLLUX_BATCH_LIMIT)
            return fail (err, -EINVAL,
                         "sample %zu: micro-batch must be in 1..%" PRId64 " samples, got %" PRId64,
                         i + 1, POLLUX_BATCH_LIMIT, s->m);
        const struct {
            const char *name, *unit;
            double value;
        } numbers[] = {
            {"time of a micro-step", " seconds", s->grad_s},
            {"time of a full step", " seconds", s->step_s},
            {"weight", "", s->weight},
        };
        for (size_t n = 0; n < sizeof (numbers) / sizeof (numbers[0]); n++)
            if (!(numbers[n].value >= FIT_LEAST && numbers[n].value <= FIT_MOST))
                return fail (err, -EINVAL, "sample %zu: %s must be in %g..%g%s, got %g", i + 1,
                             numbers[n].name, FIT_LEAST, FIT_MOST, numbers[n].unit,
                             numbers[n].value);
    }
    return 0;
}

static int compare_double (double a, double b)
{
    return (a > b) - (a < b);
}

/* Compare the fields that determine a sample's config. */
static int compare_config (const struct pollux_sample *a, const struct pollux_sample *b)
{
    int order = (a->shape.nodes > 1) - (b->shape.nodes > 1);
    if (order == 0)
        order = (a->shape.replicas > b->shape.replicas) - (a->shape.replicas < b->shape.replicas);
    if (order == 0)
        order = (a->m > b->m) - (a->m < b->m);
    return order;
}

/* A total order of samples; all numbers of nodes above one are equal. */
static int compare_sample (const void *left, const void *right)
{
    const struct pollux_sample *a = left, *b = right;
    int order = compare_config (a, b);
    if (order == 0)
        order = compare_double (a->grad_s, b->grad_s);
    if (order == 0)
        order = compare_double (a->step_s, b->step_s);
    if (order == 0)
        order = compare_double (a->weight, b->weight);
    return order;
}

/* The config of a placement.  T_sync is linear in its parameters, so three values of it give
 * the coefficients, and the formula stays in one place. */
static struct config config_of (struct pollux_shape shape, int64_t m)
{
    static const struct pollux_model zero = {.gamma = 1};
    static const struct pollux_model alphas = {.alpha_node = 1, .alpha_local = 1, .gamma = 1};
    static const struct pollux_model betas = {.beta_node = 1, .beta_local = 1, .gamma = 1};
    double fixed_s = model_sync_time (&zero, shape);
    return (struct config){
        .sync = shape.nodes > 1 ? ALPHA_NODE : ALPHA_LOCAL,
        .fixed_s = fixed_s,
        .on = model_sync_time (&alphas, shape) - fixed_s,
        .further = model_sync_time (&betas, shape) - fixed_s,
        .m = (double)m,
    };
}

struct fit_seen fit_seen (const struct pollux_sample *samples, size_t count)
{
    struct fit_seen seen = {0};
    for (size_t i = 0; i < count; i++) {
        struct pollux_shape shape = samples[i].shape;
        seen.batches |= samples[i].m != samples[0].m;
        seen.local |= shape.nodes == 1 && shape.replicas > 1;
        seen.node |= shape.nodes > 1;
        seen.third |= shape.replicas > 2;
    }
    return seen;
}

/* Merge sorted samples: weights are not normalised yet, spreads are sums. */
static void gather (struct fit_data *data, const struct pollux_sample *sorted, size_t count)
{
    struct config *config = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct pollux_sample *s = &sorted[i];
        if (i == 0 || compare_config (s, &sorted[i - 1]) != 0) {
            config = &data->configs[data->count++];
            *config = config_of (s->shape, s->m);
        }
        data->mean_grad_s += s->weight * s->grad_s;

        /* Welford's running mean and variance: exact for equal samples. */
        double before = config->weight;
        config->weight += s->weight;
        double share = s->weight / config->weight, others = before / config->weight;
        double grad_off = log (s->grad_s) - config->log_grad;
        double step_off = log (s->step_s) - config->log_step;
        config->log_grad += share * grad_off;
        config->log_step += share * step_off;
        data->grad_spread += s->weight * others * grad_off * grad_off;
        data->step_spread += s->weight * others * step_off * step_off;
    }
}

/* Divide by the total weight. */
static void normalise (struct fit_data *data)
{
    double total = 0;
    for (size_t i = 0; i < data->count; i++)
        total += data->configs[i].weight;
    for (size_t i = 0; i < data->count; i++)
        data->configs[i].weight /= total;
    data->mean_grad_s /= total;
    data->grad_spread /= total;
    data->step_spread /= total;
}

int fit_data_init (struct fit_data *ret, const struct pollux_sample *samples, size_t count,
                   struct pollux_error *err)
{
    struct pollux_sample *sorted = calloc (count, sizeof (*sorted));
    if (!sorted)
        return fail (err, -ENOMEM, "no memory to fit %zu samples", count);
    memcpy (sorted, samples, count * sizeof (*sorted));
    qsort (sorted, count, sizeof (*sorted), compare_sample);

    size_t configs = 1;
    for (size_t i = 1; i < count; i++)
        configs += compare_config (&sorted[i], &sorted[i - 1]) != 0;
    struct fit_data data = {.configs = calloc (configs, sizeof (*data.configs)),
                            .seen = fit_seen (samples, count)};
    if (!data.configs) {
        free (sorted);
        return fail (err, -ENOMEM, "no memory to fit %zu samples", count);
    }
    gather (&data, sorted, count);
    free (sorted);
    normalise (&data);
    *ret = data;
    return 0;
}

void fit_data_free (struct fit_data *data)
{
    free (data->configs);
    data->configs = NULL;
}
