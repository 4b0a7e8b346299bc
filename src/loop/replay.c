/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies events; decides at every ROUND and compares at every PLAN.
 */
#include "loop/replay.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/error.h"

const char *const replay_names[] = {"placement", "speedup", "fitness", "bound", "price"};
_Static_assert(sizeof (replay_names) / sizeof (replay_names[0]) == REPLAY_PARTS, "a name each");

static bool same (const struct replay *replay, double a, double b)
{
    return a == b || (isnan (a) && isnan (b)) ||
           fabs (a - b) <= replay->tolerance * fmax (fabs (a), fabs (b));
}

static void number_differs (struct replay *replay, enum replay_part part, const struct job *job,
                            double recorded, double decided)
{
    if (replay->differs || same (replay, recorded, decided))
        return;
    replay->differs = true;
    replay->difference = (struct replay_difference){
        .part = part, .job = job, .recorded_value = recorded, .decided_value = decided};
}

/* Placements first: if they differ, the numbers differ as a consequence. */
static void compare (struct replay *replay, const struct plan *recorded)
{
    const struct plan *decided = &replay->plan;
    for (int i = 0; i < recorded->job_count; i++) {
        struct placement a = plan_placement (recorded, i), b = plan_placement (decided, i);
        if (placement_equal (a, b))
            continue;
        replay->differs = true;
        replay->difference = (struct replay_difference){.part = REPLAY_PLACEMENT,
                                                        .job = replay->cluster.active.jobs[i],
                                                        .recorded = a,
                                                        .decided = b};
        return;
    }
    for (int i = 0; i < recorded->job_count; i++)
        number_differs (replay, REPLAY_SPEEDUP, replay->cluster.active.jobs[i],
                        recorded->speedups[i], decided->speedups[i]);
    number_differs (replay, REPLAY_FITNESS, NULL, recorded->fitness, decided->fitness);
    number_differs (replay, REPLAY_BOUND, NULL, recorded->bound, decided->bound);
    number_differs (replay, REPLAY_PRICE, NULL, recorded->price, decided->price);
}

static int take_plan (struct replay *replay, const struct plan *plan, struct pollux_error *err)
{
    if (!replay->waiting)
        return fail (err, -EINVAL, "PLAN without a ROUND before it");
    replay->waiting = false;
    if (replay->undecided.text[0])
        return fail (err, -EINVAL, "%s", replay->undecided.text);
    compare (replay, plan);
    return 0;
}

/* Find the round's policy.  Its memory of earlier rounds is kept unless the policy changes or the round
 * is cold. */
static int find_policy (struct replay *replay, const struct round *round, const struct policy **ret,
                        struct pollux_error *err)
{
    int rc = policy_find (round->policy, ret, err);
    bool other = replay->memory.policy != *ret;
    if (rc < 0 || (!other && !round->cold))
        return rc;
    replay->mixed |= other && replay->memory.policy != NULL;
    memory_clear (&replay->memory);
    return memory_new (*ret, &replay->memory, err);
}

static int take_round (struct replay *replay, const struct event *event, struct pollux_error *err)
{
    const struct round *round = &event->round;
    replay->unanswered += replay->waiting;
    replay->rounds++;
    replay->round = *round;
    replay->round_us = event->at_us;
    if (round->software[0] && strcmp (round->software, POLLUX_VERSION) != 0) {
        replay->foreign++;
        memcpy (replay->software, round->software, sizeof (replay->software));
    }
    const struct policy *policy = NULL;
    int rc = find_policy (replay, round, &policy, err);
    if (rc < 0)
        return rc;
    struct view view = cluster_view (&replay->cluster, round);
    struct pollux_error why;
    rc = round->fill ? decide_fill (policy, &view, &replay->plan, &why)
                     : decide_full (policy, &view, &replay->memory, &replay->plan, &why);
    replay->waiting = true;
    replay->undecided.text[0] = '\0';
    if (rc < 0) /* no error: the daemon may have found none either, and gone on */
        replay->undecided = why;
    return 0;
}

int replay_event (struct replay *replay, const struct event *event, struct pollux_error *err)
{
    int rc = cluster_apply (&replay->cluster, event, err);
    if (rc == 0 && event->type == EVENT_ROUND)
        rc = take_round (replay, event, err);
    if (rc == 0 && event->type == EVENT_PLAN)
        rc = take_plan (replay, event->plan, err);
    return rc;
}

void replay_clear (struct replay *replay)
{
    cluster_clear (&replay->cluster);
    memory_clear (&replay->memory);
    plan_clear (&replay->plan);
    *replay = (struct replay){0};
}
