/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From hints to offers.  Every count of replicas that was looked at is on offer, on one node and on
 * several; so is the current placement, which alone needs no restart.  What was not looked at is
 * there too, as a bound.
 */
#include "policy/outlook.h"

#include <errno.h>

#include "base/error.h"
#include "policy/speedup.h"

/* Of a node with more slots than that, not every size is looked at. */
enum { DENSE_MOST = 64 };

struct survey survey_make (const struct view *view, bool all)
{
    struct survey survey = {
        .view = view,
        .slots = view_slots (view),
        .nodes = view_nodes (view),
        .fair = fair_replicas (view),
        .all = all,
    };
    for (int i = 0; i < view->node_count; i++)
        if (view->nodes[i].available && view->nodes[i].slots > survey.node_most)
            survey.node_most = view->nodes[i].slots;
    return survey;
}

/* Are the nodes of a placement there?  Not even a pinned job can stay where they are not. */
static bool on_available (const struct view *view, struct placement current)
{
    for (int i = 0; i < current.count; i++)
        if (!view->nodes[current.shares[i].node].available)
            return false;
    return current.count > 0;
}

/* Could the job stay where it is, alone in the cluster? */
static bool can_keep (const struct view *view, struct placement current)
{
    for (int i = 0; i < current.count; i++)
        if (view->nodes[current.shares[i].node].slots < current.shares[i].replicas)
            return false;
    return on_available (view, current);
}

/* Room for so many offers. */
static int grow (struct outlook *outlook, int capacity, struct arena *arena)
{
    if (capacity <= outlook->capacity)
        return 0;
    capacity = capacity > 2 * outlook->capacity ? capacity : 2 * outlook->capacity;
    outlook->offers = arena_take (arena, (size_t)capacity, sizeof (outlook->offers[0]));
    outlook->speedups = arena_take (arena, (size_t)capacity, sizeof (outlook->speedups[0]));
    outlook->capacity = capacity;
    return outlook->offers && outlook->speedups ? 0 : -ENOMEM;
}

static void add (struct outlook *outlook, int replicas, enum where where, double goodput)
{
    if (replicas > 0 && !(goodput > 0))
        return;
    outlook->offers[outlook->count] = (struct offer){.replicas = replicas, .where = where};
    outlook->speedups[outlook->count++] = replicas > 0 ? goodput / outlook->fair : 0;
}

/* The offers of one curve at sample i, and what is unknown behind it. */
static void add_sample (struct outlook *outlook, const struct goodputs *curve, int i)
{
    const struct sample *sample = &curve->samples[i];
    struct pollux_shape keep = outlook->keep;
    if (keep.replicas == sample->replicas && (keep.nodes > 1) == (curve->nodes > 1))
        add (outlook, sample->replicas, WHERE_KEEP, sample->goodput);
    add (outlook, sample->replicas, curve->nodes > 1 ? WHERE_MANY : WHERE_ONE, sample->goodput);
}

int outlook_offers (struct outlook *outlook, struct arena *arena)
{
    const struct goodputs *one = &outlook->one, *many = &outlook->many;
    if (outlook->pinned)
        return 0;
    if (grow (outlook, 2 * (one->count + many->count) + 2, arena) < 0)
        return -ENOMEM;
    outlook->count = 0;
    add (outlook, 0, WHERE_NONE, 0);
    if (!(outlook->fair > 0))
        return 0;
    /* Merge the two curves, each with its samples and its gaps, by replicas. */
    struct cursor {
        const struct goodputs *curve;
        int sample;
        bool gap; /* at the gap behind the sample */
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
        const struct sample *sample = &first->curve->samples[first->sample];
        if (first->gap)
            add (outlook, least, WHERE_BEYOND, sample->bound);
        else
            add_sample (outlook, first->curve, first->sample);
        first->gap = !first->gap && sample->bound > 0;
        first->sample += !first->gap;
    }
}

static int make_pinned (const struct survey *survey, const struct job *job, struct arena *arena,
                        struct outlook *outlook, struct pollux_error *err)
{
    double goodput = 0;
    struct pollux_shape shape = placement_shape (job->placement);
    int rc = goodputs_at (job, survey->view->search, shape, &goodput, err);
    if (rc < 0)
        return rc;
    if (grow (outlook, 1, arena) < 0)
        return fail (err, -ENOMEM, "no memory for the offers of job %s", job->spec.name);
    outlook->offers[0] = (struct offer){.replicas = shape.replicas, .where = WHERE_KEEP};
    outlook->speedups[0] = outlook->fair > 0 ? goodput / outlook->fair : 0;
    outlook->count = 1;
    return 0;
}

int outlook_make (const struct survey *survey, const struct job *job, struct arena *arena,
                  struct outlook *ret, struct pollux_error *err)
{
    const struct view *view = survey->view;
    struct outlook outlook = {
        .fair = fair_goodput (job, view->search, survey->fair),
        .restart = restart_factor (view, job),
        .pinned = job_pinned (job) && on_available (view, job->placement),
    };
    int rc = 0;
    if (outlook.pinned) {
        rc = make_pinned (survey, job, arena, &outlook, err);
    } else {
        int most = job_trusted_replicas (job);
        most = most < survey->slots ? most : survey->slots;
        int one_most = most < survey->node_most ? most : survey->node_most;
        if (can_keep (view, job->placement))
            outlook.keep = placement_shape (job->placement);
        /* Sizes up to that of a node are what packing is made of. */
        int dense = survey->node_most < DENSE_MOST ? survey->node_most : DENSE_MOST;
        dense = survey->all ? most : dense;
        int also = outlook.keep.replicas;
        rc = goodputs_make (job, view->search, 1, 1, one_most, dense, also, arena, &outlook.one,
                            err);
        if (rc == 0)
            rc = goodputs_make (job, view->search, 2, 2, survey->nodes > 1 ? most : 0, dense, also,
                                arena, &outlook.many, err);
        if (rc == 0 && outlook_offers (&outlook, arena) < 0)
            rc = fail (err, -ENOMEM, "no memory for the offers of job %s", job->spec.name);
    }
    if (rc == 0)
        *ret = outlook;
    return rc;
}
