/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which counter an event raises.  Events are counted before they are applied, because some counters
 * depend on the job's phase before the event.
 */
#include "loop/event_counts.h"

static void add_exit (struct event_counts *counts, const struct job *job, enum exit_kind kind)
{
    counts->failures += kind == EXITED_FAILED || kind == EXITED_GAVE_UP;
    if (kind == EXITED_FINISHED)
        counts->ends[JOB_FINISHED]++;
    else if (job && job->phase == JOB_CANCELLING)
        counts->ends[JOB_CANCELLED]++;
    else if (kind == EXITED_GAVE_UP)
        counts->ends[JOB_FAILED]++;
}

void event_counts_add (struct event_counts *counts, const struct cluster *cluster,
                       const struct event *event)
{
    const struct job *job =
        event->job >= 0 && event->job < cluster->job_count ? cluster->jobs[event->job] : NULL;
    counts->events++;
    switch (event->type) {
    case EVENT_SUBMIT:
        counts->submits++;
        break;
    case EVENT_CANCEL:
        counts->ends[JOB_CANCELLED] += job && !job_runs (job);
        break;
    case EVENT_ROUND:
        counts->rounds[event->round.fill]++;
        break;
    case EVENT_START:
        counts->starts++;
        counts->restarts +=
            job && event->start.generation > 1 && !job->failed_last && !event->start.relocated;
        break;
    case EVENT_EXIT:
        add_exit (counts, job, event->exit.kind);
        break;
    default:
        break;
    }
}
