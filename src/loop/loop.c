/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event at a time: remember, believe, and at a round decide and act.
 */
#include "loop/loop.h"

int loop_post (struct loop *loop, const struct event *event, struct pollux_error *err)
{
    if (loop->journal.append) {
        int rc = loop->journal.append (loop->journal.self, &loop->cluster, event, err);
        if (rc < 0)
            return rc;
    }
    return cluster_apply (&loop->cluster, event, err);
}

static int decide_and_act (struct loop *loop, const struct round *round, struct pollux_error *err)
{
    const struct stopwatch *stopwatch = &loop->stopwatch;
    struct view view = cluster_view (&loop->cluster, round);
    double from_s = stopwatch->now_s ? stopwatch->now_s () : 0;
    int rc = decide (loop->policy, &view, &loop->memory, &loop->plan, err);
    if (rc < 0)
        return rc;
    if (stopwatch->now_s)
        stopwatch->decided (stopwatch->self, &view, &loop->plan, stopwatch->now_s () - from_s);

    struct event event = {
        .at_us = loop->cluster.now_us, .type = EVENT_PLAN, .job = -1, .plan = &loop->plan};
    rc = loop_post (loop, &event, err);
    if (rc < 0)
        return rc;
    return loop->backend.reconcile (loop->backend.self, loop, &loop->plan, err);
}

int loop_run (struct loop *loop, struct pollux_error *err)
{
    int rc = memory_new (loop->policy, &loop->memory, err);
    while (rc == 0) {
        struct event event;
        rc = loop->source.next (loop->source.self, &loop->cluster, &event, err);
        if (rc <= 0)
            break;
        rc = loop_post (loop, &event, err);
        if (rc == 0 && event.type == EVENT_ROUND)
            rc = decide_and_act (loop, &event.round, err);
    }
    return rc;
}

void loop_clear (struct loop *loop)
{
    cluster_clear (&loop->cluster);
    memory_clear (&loop->memory);
    plan_clear (&loop->plan);
}
