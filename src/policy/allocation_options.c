/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From hints to options.  Every evaluated replica count is an option, on one node and on several;
 * so is the current placement, the only one without a restart.  Counts between two samples are an
 * option WHERE_BEYOND with their upper bound.
 */
#include "policy/allocation_options.h"

#include <errno.h>

#include "base/error.h"
#include "policy/speedup.h"

/* On nodes with more slots not every size is evaluated. */
enum { DENSE_MOST = 64 };

struct options_context options_context_make (const struct view *view, bool all)
{
    struct options_context context = {
        .view = view,
        .slots = view_slots (view),
        .nodes = view_nodes (view),
        .fair = fair_replicas (view),
        .all = all,
    };
    for (int i = 0; i < view->node_count; i++)
        if (view->nodes[i].available && view->nodes[i].slots > context.node_most)
            context.node_most = view->nodes[i].slots;
    return context;
}

/* Could the job keep its placement if it were alone in the cluster? */
static bool can_keep (const struct view *view, struct placement current)
{
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
    options->capacity = capacity;
    return options->list && options->speedups ? 0 : -ENOMEM;
}

/* Add an option, unless it has replicas and no goodput. */
static void add (struct allocation_options *options, int replicas, enum where where, double goodput)
{
    if (replicas > 0 && !(goodput > 0))
        return;
    options->list[options->count] = (struct solver_option){.replicas = replicas, .where = where};
    options->speedups[options->count++] = replicas > 0 ? goodput / options->fair : 0;
}

/* Add the options of sample i of a curve. */
static void add_sample (struct allocation_options *options, const struct goodput_samples *curve,
                        int i)
{
    const struct goodput_sample *sample = &curve->samples[i];
    struct pollux_shape keep = options->keep;
    if (keep.replicas == sample->replicas && (keep.nodes > 1) == (curve->nodes > 1))
        add (options, sample->replicas, WHERE_KEEP, sample->goodput);
    add (options, sample->replicas, curve->nodes > 1 ? WHERE_MANY : WHERE_ONE, sample->goodput);
}

int allocation_options_list (struct allocation_options *options, struct arena *arena)
{
    const struct goodput_samples *one = &options->one, *many = &options->many;
    if (options->pinned)
        return 0;
    if (grow (options, 2 * (one->count + many->count) + 2, arena) < 0)
        return -ENOMEM;
    options->count = 0;
    add (options, 0, WHERE_NONE, 0);
    if (!(options->fair > 0))
        return 0;
    /* Merge the samples and gaps of both curves by replicas. */
    struct cursor {
        const struct goodput_samples *curve;
        int sample;
        bool gap; /* at the gap after the sample */
    } cursors[] = {{one, 0, false}, {many, 0, false}};
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
            return 0;
        const struct goodput_sample *sample = &first->curve->samples[first->sample];
        if (first->gap)
            add (options, least, WHERE_BEYOND, sample->bound);
        else
            add_sample (options, first->curve, first->sample);
        first->gap = !first->gap && sample->bound > 0;
        first->sample += !first->gap;
    }
}

static int make_pinned (const struct options_context *context, const struct job *job,
                        struct arena *arena, struct allocation_options *options,
                        struct pollux_error *err)
{
    double goodput = 0;
    struct pollux_shape shape = placement_shape (job->placement);
    int rc = goodput_samples_at (job, context->view->search, shape, &goodput, err);
    if (rc < 0)
        return rc;
    if (grow (options, 1, arena) < 0)
        return fail (err, -ENOMEM, "no memory for the options of job %s", job->spec.name);
    options->list[0] = (struct solver_option){.replicas = shape.replicas, .where = WHERE_KEEP};
    options->speedups[0] = options->fair > 0 ? goodput / options->fair : 0;
    options->count = 1;
    return 0;
}

int allocation_options_make (const struct options_context *context, const struct job *job,
                             struct arena *arena, struct allocation_options *ret,
                             struct pollux_error *err)
{
    const struct view *view = context->view;
    struct allocation_options options = {
        .fair = fair_goodput (job, view->search, context->fair),
        .restart = restart_factor (view, job),
        .pinned = job_pinned (job) && view_is_available (view, job->placement),
    };
    int rc = 0;
    if (options.pinned) {
        rc = make_pinned (context, job, arena, &options, err);
    } else {
        int most = job_trusted_replicas (job);
        most = most < context->slots ? most : context->slots;
        int one_most = most < context->node_most ? most : context->node_most;
        if (can_keep (view, job->placement))
            options.keep = placement_shape (job->placement);
        /* Packing depends most on sizes up to that of a node: these are all evaluated. */
        int dense = context->node_most < DENSE_MOST ? context->node_most : DENSE_MOST;
        dense = context->all ? most : dense;
        int also = options.keep.replicas;
        rc = goodput_samples_make (job, view->search, 1, 1, one_most, dense, also, arena,
                                   &options.one, err);
        if (rc == 0)
            rc = goodput_samples_make (job, view->search, 2, 2, context->nodes > 1 ? most : 0,
                                       dense, also, arena, &options.many, err);
        if (rc == 0 && allocation_options_list (&options, arena) < 0)
            rc = fail (err, -ENOMEM, "no memory for the options of job %s", job->spec.name);
    }
    if (rc == 0)
        *ret = options;
    return rc;
}
