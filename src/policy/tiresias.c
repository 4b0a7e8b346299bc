/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiresias, as published with Pollux: jobs run as requested, in two queues.  A job enters the
 * first one; once it has had QUANTUM slot-seconds it goes to the back of the second, for good.
 * Each round serves the first queue, then the second, and preempts whoever is not served.
 *
 * Memory, one record per job of the last round:
 *
 *     queue 0, entered as   3  5  6          records of a b c d e, in the order of the view:
 *     queue 1, entered as   2  4             (0,3) (1,2) (1,4) (0,5) (0,6)
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "policy/policies.h"
#include "policy/name_index.h"
#include "policy/priority_order.h"

static const double QUANTUM = 57600; /* slot-seconds */

struct record {
    double executed_s; /* with slots, restart delays included */
    int queue;
    int64_t entry; /* when it entered that queue, counted in entries */
};

struct queues {
    struct name_index names;
    struct record *records; /* by index in the roster */
    int64_t entries;
    double last_s; /* time of the last round */
};

static int queues_new (void **ret, struct pollux_error *err)
{
    struct queues *queues = calloc (1, sizeof (*queues));
    if (!queues)
        return fail (err, -ENOMEM, "no memory for the queues of tiresias");
    *ret = queues;
    return 0;
}

static void queues_free (void *memory)
{
    struct queues *queues = memory;
    if (!queues)
        return;
    name_index_clear (&queues->names);
    free (queues->records);
    free (queues);
}

/* A job that is met for the first time: at the back of queue 0.  What it has had already,
 * where that happened before this memory began, counts. */
static struct record record_enter (struct queues *queues, const struct job *job)
{
    int request = job_request (job);
    return (struct record){
        .executed_s = request > 0 ? job->attained_s / request : 0,
        .entry = queues->entries++,
    };
}

/* Bring the memory to this round: records by the view's jobs, running ones executed for longer. */
static int queues_follow (struct queues *queues, const struct view *view, struct pollux_error *err)
{
    struct record *records = malloc (((size_t)view->job_count + 1) * sizeof (records[0]));
    if (!records)
        return fail (err, -ENOMEM, "no memory for the queues of %d jobs", view->job_count);
    int next = 0;
    for (int i = 0; i < view->job_count; i++) {
        const struct job *job = view->jobs[i];
        int last = name_index_seek (&queues->names, job->spec.name, &next);
        records[i] = last >= 0 ? queues->records[last] : record_enter (queues, job);
        if (last >= 0 && job->placement.count > 0)
            records[i].executed_s += view->now_s - queues->last_s;
    }
    int rc = name_index_set_jobs (&queues->names, view, err);
    if (rc < 0) {
        free (records);
        return rc;
    }
    free (queues->records);
    queues->records = records;
    queues->last_s = view->now_s;
    return 0;
}

static int tiresias_decide (const struct view *view, void *memory, struct plan *plan,
                            struct pollux_error *err)
{
    struct queues *queues = memory;
    struct turn *turns;
    int rc = priority_order_new (view, &turns, err);
    if (rc < 0)
        return rc;
    rc = queues_follow (queues, view, err);
    if (rc < 0) {
        free (turns);
        return rc;
    }
    struct record *records = queues->records;
    for (int i = 0; i < view->job_count; i++)
        turn_as_requested (&turns[i], view, records[i].queue, (double)records[i].entry);
    priority_order_sort (turns, view->job_count);
    /* Several that are due enter queue 1 in the order of queue 0. */
    for (int i = 0; i < view->job_count; i++) {
        int job = turns[i].job;
        struct record *record = &records[job];
        if (record->queue == 0 && record->executed_s * job_request (view->jobs[job]) >= QUANTUM) {
            record->queue = 1;
            record->entry = queues->entries++;
            turn_as_requested (&turns[i], view, record->queue, (double)record->entry);
        }
    }
    rc = priority_order_serve (turns, view->job_count, view, plan, err);
    free (turns);
    return rc;
}

const struct policy policy_tiresias = {
    .name = "tiresias",
    .summary = "two queues by attained service; jobs run as requested",
    .memory_new = queues_new,
    .memory_free = queues_free,
    .decide = tiresias_decide,
};
