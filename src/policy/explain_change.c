/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One more, one less.  Slots that a job would take come from free ones first, then, step by step,
 * from the job whose loss per slot is least; slots that it would give up go to the job whose gain is
 * largest.  Losses and gains are differences of the terms of the policy's objective.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "policy/explain_private.h"

/* Steps of other jobs that are looked for; a change that needs more counts as impossible. */
enum { EXPLAIN_STEPS = 256 };

static int impossible (struct explain_change *ret, const char *format, ...)
    __attribute__ ((format (printf, 2, 3)));
/* Always 0: "not possible" is an answer, not a failure. */
static int impossible (struct explain_change *ret, const char *format, ...)
{
    va_list arguments;
    va_start (arguments, format);
    vsnprintf (ret->why, sizeof (ret->why), format, arguments);
    va_end (arguments);
    return 0;
}

/* ---- Jobs with another count -------------------------------------------------------------- */

/* Could the job keep its current placement with that many replicas? */
static bool keeps (const struct view *view, const struct job *job, int replicas)
{
    if (replicas == 0 || placement_replicas (job->placement) != replicas)
        return false;
    for (int i = 0; i < job->placement.count; i++) {
        struct share share = job->placement.shares[i];
        if (!view->nodes[share.node].available || view->nodes[share.node].slots < share.replicas)
            return false;
    }
    return true;
}

/* The goodput and the value of a job with a count. */
static int state_with (const struct explainer *explainer, int index, int replicas,
                       struct explain_state *ret, struct job_value *ret_value,
                       struct pollux_error *err)
{
    const struct job *job = explainer->view->jobs[index];
    if (replicas == explainer->planned[index].replicas) {
        *ret = explainer->planned[index];
        *ret_value = explainer->planned_values[index];
        return 0;
    }
    bool stays = keeps (explainer->view, job, replicas);
    struct pollux_shape shape =
        stays ? placement_shape (job->placement) : explain_shape (explainer, index, replicas);
    struct pollux_best best;
    int rc = explain_best_on (explainer, index, shape, &best, err);
    if (rc < 0)
        return rc;
    double goodput = replicas > 0 ? best.goodput : 0;
    *ret = (struct explain_state){.replicas = replicas, .goodput = goodput, .step_to = -1};
    if (explainer->prepared)
        *ret_value = explain_value (explainer, index, shape, goodput, !stays);
    return 0;
}

static int change (struct explainer *explainer, int index, int replicas, struct pollux_error *err)
{
    return state_with (explainer, index, replicas, &explainer->changed[index],
                       &explainer->changed_values[index], err);
}

/* Begin with all jobs as planned. */
static void change_nothing (struct explainer *explainer)
{
    size_t count = (size_t)explainer->view->job_count;
    memcpy (explainer->changed, explainer->planned, count * sizeof (explainer->changed[0]));
    memcpy (explainer->changed_values, explainer->planned_values,
            count * sizeof (explainer->changed_values[0]));
}

/* ---- Other jobs --------------------------------------------------------------------------- */

/* Find the next smaller count of a job and the loss per slot; step_loss is infinite if it cannot
 * give up slots.  Kept for the planned count, which all explanations begin with. */
static int find_step (struct explainer *explainer, int index, struct pollux_error *err)
{
    struct explain_state *state = &explainer->changed[index], smaller;
    struct job_value value = {0};
    const struct job *job = explainer->view->jobs[index];
    if (state->step_to >= 0)
        return 0;
    state->step_to = state->replicas;
    state->step_loss = INFINITY;
    if (state->replicas > 0 && !job_pinned (job) && job->phase != JOB_CANCELLING) {
        int to = job_fit_replicas (job, state->replicas - 1);
        int rc = state_with (explainer, index, to, &smaller, &value, err);
        if (rc < 0)
            return rc;
        state->step_to = to;
        state->step_loss =
            (explainer->changed_values[index].term - value.term) / (state->replicas - to);
    }
    if (state->replicas == explainer->planned[index].replicas)
        explainer->planned[index] = *state;
    return 0;
}

/* Let other jobs give up slots, each time the one that loses least.  1 if they can, 0 if not. */
static int collect_slots (struct explainer *explainer, int taker, int needed,
                          struct pollux_error *err)
{
    const struct explain_state *changed = explainer->changed;
    const int *pool_of = explainer->pool_of;
    for (int steps = 0; needed > 0 && steps < EXPLAIN_STEPS; steps++) {
        int giver = -1;
        for (int i = 0; i < explainer->view->job_count; i++) {
            bool gives = i != taker && pool_of[i] == pool_of[taker];
            int rc = gives ? find_step (explainer, i, err) : 0;
            if (rc < 0)
                return rc;
            if (gives && isfinite (changed[i].step_loss) &&
                (giver < 0 || changed[i].step_loss < changed[giver].step_loss))
                giver = i;
        }
        if (giver < 0)
            return 0;
        int to = changed[giver].step_to;
        needed -= changed[giver].replicas - to;
        int rc = change (explainer, giver, to, err);
        if (rc < 0)
            return rc;
    }
    return needed <= 0;
}

/* Give up to that many slots to the job that gains most; to none if no job gains. */
static int give_slots (struct explainer *explainer, int giver, int slots, struct pollux_error *err)
{
    int taker = -1, taken = 0;
    double most = 0;
    for (int i = 0; i < explainer->view->job_count; i++) {
        const struct job *job = explainer->view->jobs[i];
        int from = explainer->planned[i].replicas, to = job_next_replicas (job, from);
        if (i == giver || explainer->pool_of[i] != explainer->pool_of[giver] || to == 0 ||
            to - from > slots || job_pinned (job) || job->phase == JOB_CANCELLING ||
            to > explain_trust_of (explainer, i).most)
            continue;
        struct explain_state larger;
        struct job_value value = {0};
        int rc = state_with (explainer, i, to, &larger, &value, err);
        if (rc < 0)
            return rc;
        double gain = value.term - explainer->planned_values[i].term;
        if (gain > most) {
            most = gain;
            taker = i;
            taken = to;
        }
    }
    return taker < 0 ? 0 : change (explainer, taker, taken, err);
}

/* List the other jobs that change, and compute the fitness afterwards. */
static void conclude (const struct explainer *explainer, int index, struct explain_change *ret)
{
    for (int i = 0; i < explainer->view->job_count; i++) {
        const struct job *job = explainer->view->jobs[i];
        const struct explain_state *changed = &explainer->changed[i];
        const struct explain_state *planned = &explainer->planned[i];
        if (i == index || changed->replicas == planned->replicas)
            continue;
        if (ret->other_count++ >= EXPLAIN_OTHERS)
            continue;
        struct explain_other *other = &ret->others[ret->other_count - 1];
        *other = (struct explain_other){
            .from = planned->replicas, .to = changed->replicas, .goodput = NAN};
        snprintf (other->name, sizeof (other->name), "%s", job->spec.name);
        if (job->hints.has_model && planned->goodput > 0)
            other->goodput = changed->goodput / planned->goodput;
    }
    if (explainer->prepared)
        ret->fitness =
            explainer->policy->values->fitness (explainer->prepared, explainer->changed_values);
}

/* ---- The job itself ----------------------------------------------------------------------- */

/* Change the count of the job that is explained, and of no other yet. */
static int change_self (struct explainer *explainer, int index, int replicas,
                        struct explain_change *ret, struct pollux_error *err)
{
    struct pollux_best best;
    int rc = explain_best_with (explainer, index, replicas, &best, err);
    if (rc < 0)
        return rc;
    ret->point = explain_point_of (explainer, index, replicas, best);
    double now = explainer->planned[index].goodput, fair = explainer->fair_goodput;
    ret->goodput = now > 0 ? ret->point.goodput / now : NAN;
    ret->speedup = fair > 0 && replicas > 0 ? best.goodput / fair : 0;
    change_nothing (explainer);
    return change (explainer, index, replicas, err);
}

/* True if the job cannot have that larger count, whatever other jobs have; ret->why says why. */
static bool exceeds_limits (const struct explainer *explainer, int index, int from, int to,
                            struct explain_change *ret)
{
    const struct job *job = explainer->view->jobs[index];
    const struct pool *pool = &explainer->pools.list[explainer->pool_of[index]];
    struct explain_trust trust = explain_trust_of (explainer, index);
    if (to == 0)
        impossible (ret, "its limits allow no more than %d replica%s", from, explain_plural (from));
    else if (job_pinned (job))
        impossible (ret, "it is not preemptible, so it stays as it is until it ends");
    else if (!job_allows_type (job, pool->type))
        impossible (ret, "no node that takes replicas has a type that it may use");
    else if (to > pool->slots && explainer->pools.count > explainer->pools.type_count)
        impossible (ret,
                    "the nodes like its own, of one type and equally often taken back, have %d "
                    "slots in all",
                    pool->slots);
    else if (to > pool->slots && explainer->pools.count > 1)
        impossible (ret, "the nodes of type %s that take replicas have %d slots in all",
                    pool->type[0] ? pool->type : "''", pool->slots);
    else if (to > pool->slots)
        impossible (ret, "the nodes that take replicas have %d slots in all", pool->slots);
    else if (to > trust.trusted && trust.profiled == 0)
        impossible (ret, "it is not measured yet");
    else if (to > trust.trusted)
        impossible (ret,
                    "it has been measured with up to %d replica%s, and its model is trusted up to "
                    "twice that",
                    trust.profiled, explain_plural (trust.profiled));
    else if (to > trust.most)
        impossible (ret, "with %d replicas its batch limits leave too few samples for each", to);
    else
        return false;
    return true;
}

int explain_more (struct explainer *explainer, int index, struct explain_change *ret,
                  struct pollux_error *err)
{
    const struct job *job = explainer->view->jobs[index];
    int from = explainer->planned[index].replicas, to = job_next_replicas (job, from);
    *ret = (struct explain_change){
        .goodput = NAN, .speedup = NAN, .fitness = NAN, .point.replicas = to};
    if (exceeds_limits (explainer, index, from, to, ret))
        return 0;
    int rc = change_self (explainer, index, to, ret, err);
    if (rc < 0)
        return rc;
    int needed = to - from, free = explainer->free[explainer->pool_of[index]];
    ret->free = needed < free ? needed : free;
    if (ret->free < needed && !explainer->prepared)
        return impossible (ret,
                           "%d of the %d slots are free, and policy %s has no objective by which "
                           "another job would give up the rest",
                           ret->free, needed, explainer->policy->name);
    rc = collect_slots (explainer, index, needed - ret->free, err);
    if (rc < 0)
        return rc;
    ret->possible = rc == 1;
    if (!ret->possible)
        return impossible (ret, "%d of the %d slots are free, and no other job can give any",
                           ret->free, needed);
    conclude (explainer, index, ret);
    return 0;
}

int explain_less (struct explainer *explainer, int index, struct explain_change *ret,
                  struct pollux_error *err)
{
    const struct job *job = explainer->view->jobs[index];
    int from = explainer->planned[index].replicas;
    *ret = (struct explain_change){.goodput = NAN, .speedup = NAN, .fitness = NAN};
    if (from == 0)
        return impossible (ret, "it has no slots");
    if (job_pinned (job))
        return impossible (ret, "it is not preemptible, so it stays as it is until it ends");
    int to = job_fit_replicas (job, from - 1);
    int rc = change_self (explainer, index, to, ret, err);
    if (rc == 0 && explainer->prepared)
        rc = give_slots (explainer, index, from - to + explainer->free[explainer->pool_of[index]],
                         err);
    if (rc < 0)
        return rc;
    ret->possible = true;
    conclude (explainer, index, ret);
    return 0;
}
