/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiresias, as published with Pollux: jobs run as requested, in two queues.  A new job enters the
 * first queue; after `quantum` slot-seconds it moves to the end of the second one and stays there.
 * Each round serves the first queue, then the second; running jobs that are not served are
 * preempted.
 *
 * Memory, one record per job of the last round:
 *
 *     queue 0, entered as   3  5  6          records of a b c d e, in the order of the view:
 *     queue 1, entered as   2  4             (0,3) (1,2) (1,4) (0,5) (0,6)
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "policy/policy_list.h"
#include "policy/name_index.h"
#include "policy/policy_options.h"
#include "policy/priority_order.h"

static const struct policy_option tiresias_options[] = {
    {.name = "quantum",
     .min = 1,
     .max = 1e12,
     .usual = 57600,
     .help = "slot-seconds after which a job moves to the second queue"},
    {0},
};

struct record {
    double executed_s; /* with slots, restart delays included */
    int queue;
    int64_t entry; /* number of the entry into that queue; smaller is earlier */
};

struct queues {
    struct name_index names;
    struct record *records; /* by index in names */
    int64_t entries;
    double last_s; /* time of the last round */
};

static void queues_clear (void *memory)
{
    struct queues *queues = memory;
    name_index_clear (&queues->names);
    free (queues->records);
}

/* The record of a new job, at the end of queue 0.  Service that it had before this memory was
 * made counts. */
static struct record record_enter (struct queues *queues, const struct job *job)
{
    int request = job_request (job);
    return (struct record){
        .executed_s = request > 0 ? job->attained_s / request : 0,
        .entry = queues->entries++,
    };
}

/* Update the memory to this round: one record per job of the view, with the time since the last
 * round added for running jobs. */
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

static int tiresias_rank (const struct view *view, void *memory, struct priority *priorities,
                          struct pollux_error *err)
{
    struct queues *queues = memory;
    double quantum = policy_option_value (view, &tiresias_options[0]);
    int rc = queues_follow (queues, view, err);
    if (rc < 0)
        return rc;
    struct record *records = queues->records;
    for (int i = 0; i < view->job_count; i++)
        priority_as_requested (&priorities[i], view, records[i].queue, (double)records[i].entry);
    priority_order_sort (priorities, view->job_count);
    /* Jobs that are due at the same time enter queue 1 in the order of queue 0. */
    for (int i = 0; i < view->job_count; i++) {
        int job = priorities[i].job;
        struct record *record = &records[job];
        if (record->queue == 0 && record->executed_s * job_request (view->jobs[job]) >= quantum) {
            record->queue = 1;
            record->entry = queues->entries++;
            priority_as_requested (&priorities[i], view, record->queue, (double)record->entry);
        }
    }
    return view->job_count;
}

const struct policy policy_tiresias = {
    .name = "tiresias",
    .summary = "two queues by attained service; jobs run as requested",
    .options = tiresias_options,
    .memory_size = sizeof (struct queues),
    .memory_clear = queues_clear,
    .rank = tiresias_rank,
};
