/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event at a time: check, append, apply, and at a ROUND decide; then reconcile, commit, act.
 * Every event is checked exactly once.
 */
#include "loop/loop.h"

#include <string.h>

#include "base/error.h"
#include "scaling/size.h"

/* Append, then apply, an event that has passed cluster_check. */
static int post_checked (struct loop *loop, const struct event *event, struct pollux_error *err)
{
    int rc = 0;
    if (loop->journal.append)
        rc = loop->journal.append (loop->journal.self, &loop->cluster, event, err);
    return rc < 0 ? rc : cluster_apply_checked (&loop->cluster, event, err);
}

int loop_post (struct loop *loop, const struct event *event, struct pollux_error *err)
{
    int rc = cluster_check (&loop->cluster, event, err);
    return rc < 0 ? rc : post_checked (loop, event, err);
}

/* A cold round starts with fresh memory.  On failure the memory is as it was. */
static int prepare_memory (struct loop *loop, const struct round *round, struct pollux_error *err)
{
    struct memory fresh;
    int rc = round->cold ? memory_new (loop->policy, &fresh, err) : 0;
    if (rc < 0 || !round->cold)
        return rc;
    memory_clear (&loop->memory);
    loop->memory = fresh;
    return 0;
}

/* Fill loop->plan, and measure how long it takes.  1: the PLAN is posted later. */
static int find_plan (struct loop *loop, const struct round *round, double *seconds,
                      struct pollux_error *err)
{
    const struct decision_timer *timer = &loop->timer;
    struct view view = cluster_view (&loop->cluster, round);
    int ready = prepare_memory (loop, round, err);
    if (ready == 0 && loop->decider_hook.begin)
        ready = loop->decider_hook.begin (loop->decider_hook.self, loop, &view, round, err);
    if (ready != 0)
        return ready;
    double from_s = timer->now_s ? timer->now_s () : 0;
    int rc = round->fill ? decide_fill (loop->policy, &view, &loop->plan, err)
                         : decide_full (loop->policy, &view, &loop->memory, &loop->plan, err);
    *seconds = timer->now_s ? timer->now_s () - from_s : 0;
    if (rc == 0 && timer->now_s)
        timer->decided (timer->self, &view, &loop->plan, *seconds);
    return rc;
}

int loop_post_size (struct loop *loop, const struct size_decision *size, struct pollux_error *err)
{
    struct event event = {.at_us = loop->cluster.now_us,
                          .type = EVENT_SIZE,
                          .job = -1,
                          .size = {.utility = size->utility, .resize = size->resize}};
    memcpy (event.size.nodes, size->nodes, sizeof (event.size.nodes));
    memcpy (event.size.reason, size->reason, sizeof (event.size.reason));
    return loop_post (loop, &event, err);
}

/* What size_decide returned for the plan of the round: post the SIZE, or say why there is none. */
static int finish_size (struct loop *loop, int rc, const struct size_decision *size,
                        const struct pollux_error *why, struct pollux_error *err)
{
    if (rc == 0)
        return loop_post_size (loop, size, err);
    if (!loop->failure_hook.unsized)
        return fail (err, rc, "the size of the cluster is not decided: %s", why->text);
    loop->failure_hook.unsized (loop->failure_hook.self, why);
    return 0;
}

static int decide_round (struct loop *loop, const struct round *round, struct pollux_error *err)
{
    struct pollux_error why = {.text = ""}, why_unsized = {.text = ""};
    struct size_decision size;
    double seconds = 0;
    bool sized = !round->fill && loop->cluster.power.count > 0;
    int rc = find_plan (loop, round, &seconds, &why), size_rc = 0;
    if (rc > 0)
        return 0;
    if (rc == 0 && sized) { /* before the PLAN, which changes what the view borrows */
        struct view view = cluster_view (&loop->cluster, round);
        size_rc = size_decide (loop->policy, &view, &loop->plan, &size, &why_unsized);
    }
    struct event event = {
        .at_us = loop->cluster.now_us, .type = EVENT_PLAN, .job = -1, .plan = &loop->plan};
    if (rc == 0)
        rc = cluster_check (&loop->cluster, &event, &why);
    if (rc == 0) {
        rc = post_checked (loop, &event, err);
        return rc == 0 && sized ? finish_size (loop, size_rc, &size, &why_unsized, err) : rc;
    }
    if (!loop->failure_hook.undecided)
        return fail (err, rc, "%s", why.text);
    loop->failure_hook.undecided (loop->failure_hook.self, &why, seconds);
    return 0;
}

int loop_begin (struct loop *loop, struct pollux_error *err)
{
    return memory_new (loop->policy, &loop->memory, err);
}

int loop_take_checked (struct loop *loop, const struct event *event, struct pollux_error *err)
{
    int rc = post_checked (loop, event, err);
    if (rc == 0 && event->type == EVENT_ROUND)
        rc = decide_round (loop, &event->round, err);
    return rc;
}

int loop_take (struct loop *loop, const struct event *event, struct pollux_error *err)
{
    int rc = cluster_check (&loop->cluster, event, err);
    return rc < 0 ? rc : loop_take_checked (loop, event, err);
}

int loop_settle (struct loop *loop, struct pollux_error *err)
{
    int rc = loop->backend.reconcile (loop->backend.self, loop, err);
    if (rc == 0 && loop->journal.commit)
        rc = loop->journal.commit (loop->journal.self, err);
    if (rc == 0 && loop->backend.act)
        rc = loop->backend.act (loop->backend.self, &loop->cluster, err);
    return rc;
}

int loop_run (struct loop *loop, struct pollux_error *err)
{
    int rc = loop_begin (loop, err);
    while (rc == 0) {
        struct event event;
        rc = loop->source.next (loop->source.self, &loop->cluster, &event, err);
        if (rc <= 0)
            break;
        rc = loop_take (loop, &event, err);
        if (rc == 0 && event.type == EVENT_ROUND)
            rc = loop_settle (loop, err);
    }
    return rc;
}

void loop_clear (struct loop *loop)
{
    cluster_clear (&loop->cluster);
    memory_clear (&loop->memory);
    plan_clear (&loop->plan);
}
