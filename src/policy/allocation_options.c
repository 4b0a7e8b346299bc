/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From hints to options.  Every evaluated replica count is an option, on one node and on several;
 * so is the current placement, the only one without a restart.  Counts between two samples are an
 * option WHERE_BEYOND with their upper bound.
 */
#include "policy/allocation_options.h"

#include <errno.h>

#include "base/error.h"
#include "policy/revocations.h"
#include "policy/speedup.h"

/* On nodes with more slots not every size is evaluated. */
enum { DENSE_MOST = 64 };

int options_context_make (const struct view *view, bool all, struct arena *arena,
                          struct options_context *ret)
{
    struct options_context context = {.view = view, .fair = fair_replicas (view), .all = all};
    if (pools_make (view->nodes, view->node_count, arena, &context.pools) < 0 ||
        type_ratios_make (view, &context.pools, arena, &context.ratios) < 0)
        return -ENOMEM;
    *ret = context;
    return 0;
}

/* Could the job keep its placement if it were alone in the cluster?  Nodes that have become nodes of
 * several types, or of one that it may not use, are left. */
static bool can_keep (const struct options_context *context, const struct job *job)
{
    const struct view *view = context->view;
    struct placement current = job->placement;
    int pool = pools_find (&context->pools, current);
    if (pool < 0 || !job_allows_type (job, context->pools.list[pool].type))
        return false;
    for (int i = 0; i < current.count; i++)
        if (view->nodes[current.shares[i].node].slots < current.shares[i].replicas)
            return false;
    return view_is_available (view, current);
}

/* Make room for `capacity` options, without keeping the old ones.  -ENOMEM. */
static int grow (struct allocation_options *options, int capacity, struct arena *arena)
{
    if (capacity <= options->capacity)
        return 0;
    capacity = capacity > 2 * options->capacity ? capacity : 2 * options->capacity;
    options->list = arena_take (arena, (size_t)capacity, sizeof (options->list[0]));
    options->speedups = arena_take (arena, (size_t)capacity, sizeof (options->speedups[0]));
    options->kept = arena_take (arena, (size_t)capacity, sizeof (options->kept[0]));
    options->capacity = capacity;
    return options->list && options->speedups && options->kept ? 0 : -ENOMEM;
}

double allocation_options_kept (const struct allocation_options *options, int pool,
                                struct pollux_shape shape)
{
    return revocations_leave (revocations_in (&options->pools[pool], shape), options->delay_s);
}

/* Add an option on one node or several, unless it has replicas and no goodput.  What revocations leave falls with the
 * replicas, so that of the fewest ones bounds a gap. */
static void add (struct allocation_options *options, int pool, int nodes, int replicas,
                 enum where where, double goodput)
{
    if (replicas > 0 && !(goodput > 0))
        return;
    struct pollux_shape shape = {.nodes = nodes, .replicas = replicas};
    options->list[options->count] =
        (struct solver_option){.replicas = replicas, .pool = pool, .where = where};
    options->kept[options->count] = allocation_options_kept (options, pool, shape);
    options->speedups[options->count++] = replicas > 0 ? goodput / options->fair : 0;
}

/* Add the options of sample i of a curve. */
static void add_sample (struct allocation_options *options, int pool,
                        const struct goodput_samples *curve, int i)
{
    const struct goodput_sample *sample = &curve->samples[i];
    struct pollux_shape keep = options->keep;
    if (options->keep_pool == pool && keep.replicas == sample->replicas &&
        (keep.nodes > 1) == (curve->nodes > 1))
        add (options, pool, curve->nodes, sample->replicas, WHERE_KEEP, sample->goodput);
    add (options, pool, curve->nodes, sample->replicas, curve->nodes > 1 ? WHERE_MANY : WHERE_ONE,
         sample->goodput);
}

/* Add the options of a pool: merge the samples and gaps of both curves by replicas. */
static void add_pool (struct allocation_options *options, int pool)
{
    struct cursor {
        const struct goodput_samples *curve;
        int sample;
        bool gap; /* at the gap after the sample */
    } cursors[] = {{&options->curves[pool].one, 0, false}, {&options->curves[pool].many, 0, false}};
    for (;;) {
        struct cursor *first = NULL;
        int least = 0;
        for (int i = 0; i < 2; i++) {
            struct cursor *at = &cursors[i];
            if (at->sample == at->curve->count)
                continue;
            int replicas = at->curve->samples[at->sample].replicas + at->gap;
            if (!first || replicas < least) {
                first = at;
                least = replicas;
            }
        }
        if (!first)
            return;
        const struct goodput_sample *sample = &first->curve->samples[first->sample];
        if (first->gap)
            add (options, pool, first->curve->nodes, least, WHERE_BEYOND, sample->bound);
        else
            add_sample (options, pool, first->curve, first->sample);
        first->gap = !first->gap && sample->bound > 0;
        first->sample += !first->gap;
    }
}

int allocation_options_list (struct allocation_options *options, struct arena *arena)
{
    if (options->pinned)
        return 0;
    int samples = 0;
    for (int i = 0; i < options->pool_count; i++)
        samples += options->curves[i].one.count + options->curves[i].many.count;
    if (grow (options, 2 * samples + 2, arena) < 0)
        return -ENOMEM;
    options->count = 0;
    add (options, 0, 0, 0, WHERE_NONE, 0);
    for (int i = 0; i < options->pool_count && options->fair > 0; i++)
        add_pool (options, i);
    return 0;
}

static int make_pinned (const struct options_context *context, const struct job *job,
                        struct arena *arena, struct allocation_options *options,
                        struct pollux_error *err)
{
    double goodput = 0;
    struct pollux_shape shape = placement_shape (job->placement);
    int pool = context->pools.of_node[job->placement.shares[0].node];
    int rc = goodput_samples_at (job, &options->models[pool], context->view->search, shape,
                                 &goodput, err);
    if (rc < 0)
        return rc;
    if (grow (options, 1, arena) < 0)
        return fail (err, -ENOMEM, "no memory for the options of job %s", job->spec.name);
    options->list[0] =
        (struct solver_option){.replicas = shape.replicas, .pool = pool, .where = WHERE_KEEP};
    options->speedups[0] = options->fair > 0 ? goodput / options->fair : 0;
    options->kept[0] = allocation_options_kept (options, pool, shape);
    options->count = 1;
    return 0;
}

/* Evaluate the job's goodput in a pool. */
static int make_curves (const struct options_context *context, const struct job *job, int pool,
                        struct arena *arena, struct allocation_options *options,
                        struct pollux_error *err)
{
    const struct pool *size = &context->pools.list[pool];
    enum pollux_search search = context->view->search;
    struct pool_curves *ret = &options->curves[pool];
    const struct job_model *model = &options->models[pool];
    int most = model->most_replicas;
    most = most < size->slots ? most : size->slots;
    int one_most = most < size->node_slots ? most : size->node_slots;
    /* Packing depends most on sizes up to that of a node: these are all evaluated. */
    int dense = size->node_slots < DENSE_MOST ? size->node_slots : DENSE_MOST;
    dense = context->all ? most : dense;
    int also = pool == options->keep_pool ? options->keep.replicas : 0;
    int rc = goodput_samples_make (job, model, search, 1, 1, one_most, dense, also, arena,
                                   &ret->one, err);
    if (rc == 0)
        rc = goodput_samples_make (job, model, search, 2, 2, size->nodes > 1 ? most : 0, dense,
                                   also, arena, &ret->many, err);
    return rc;
}

int allocation_options_make (const struct options_context *context, const struct job *job,
                             struct arena *arena, struct allocation_options *ret,
                             struct pollux_error *err)
{
    const struct view *view = context->view;
    struct allocation_options options = {
        .curves = arena_take (arena, (size_t)context->pools.count, sizeof (options.curves[0])),
        .models = arena_take (arena, (size_t)context->pools.count, sizeof (options.models[0])),
        .pools = context->pools.list,
        .pool_count = context->pools.count,
        .delay_s = view_restart_delay (view, job),
        .restart = restart_factor (view, job),
        .keep_pool = pools_find (&context->pools, job->placement),
        .pinned = view_is_fixed (view, job),
    };
    int rc = 0;
    if (!options.curves || !options.models)
        return fail (err, -ENOMEM, "no memory for the options of job %s", job->spec.name);
    for (int i = 0; i < options.pool_count; i++) {
        int like = options.pools[i].like;
        options.models[i] = like < i ? options.models[like]
                                     : job_model_on (job, &context->pools, i, &context->ratios);
    }
    options.fair = fair_goodput (options.models, &context->pools, view->search, context->fair);
    if (options.pinned) {
        rc = make_pinned (context, job, arena, &options, err);
    } else {
        if (can_keep (context, job))
            options.keep = placement_shape (job->placement);
        for (int i = 0; i < options.pool_count && rc == 0; i++)
            rc = make_curves (context, job, i, arena, &options, err);
        if (rc == 0 && allocation_options_list (&options, arena) < 0)
            rc = fail (err, -ENOMEM, "no memory for the options of job %s", job->spec.name);
    }
    if (rc == 0)
        *ret = options;
    return rc;
}
