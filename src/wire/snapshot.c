/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode and decode snapshots of a cluster.  Decoding and encoding use the same tables for jobs,
 * nodes and rounds.  The submission of a job is stored as its SUBMIT event.
 */
#include "wire/snapshot.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "wire/event_format.h"
#include "wire/job.h"
#include "wire/member.h"
#include "wire/policy_settings.h"
#include "wire/power.h"
#include "wire/spec.h"

/* ---- Tables ------------------------------------------------------------------------------- */

#define TIME_US .optional = true, .max = 0x1p53
#define SECONDS .optional = true, .max = MODEL_PROGRESS_LIMIT
#define NUMBER .optional = true, .missing = NAN, .min = -INFINITY, .max = INFINITY
#define COUNT .optional = true, .max = INT_MAX

static const struct wire_member past_members[] = {
    {WIRE_MEMBER (wire_past, now_us, WIRE_INT64), .max = 0x1p53},
    {WIRE_FIELD ("jobs", wire_past, job_count, WIRE_INT), .max = INT_MAX},
    {0},
};

static const struct wire_member round_members[] = {
    {WIRE_MEMBER (round_summary, seq, WIRE_INT64), .max = 0x1p53},
    {WIRE_MEMBER (round_summary, at_us, WIRE_INT64), .max = 0x1p53},
    {WIRE_MEMBER (round_summary, policy, WIRE_NAME)},
    {WIRE_MEMBER (round_summary, p, WIRE_DOUBLE), NUMBER},
    {WIRE_MEMBER (round_summary, fill, WIRE_BOOL), .optional = true},
    {WIRE_MEMBER (round_summary, fitness, WIRE_DOUBLE), NUMBER},
    {WIRE_MEMBER (round_summary, bound, WIRE_DOUBLE), NUMBER},
    {WIRE_MEMBER (round_summary, price, WIRE_DOUBLE), NUMBER},
    {WIRE_FIELD ("decide", round_summary, decide_s, WIRE_DOUBLE), NUMBER},
    {WIRE_MEMBER (round_summary, jobs, WIRE_INT), COUNT},
    {WIRE_MEMBER (round_summary, restarts, WIRE_INT), COUNT},
    {WIRE_MEMBER (round_summary, used_slots, WIRE_INT), COUNT},
    {WIRE_MEMBER (round_summary, changed, WIRE_INT), COUNT, .missing = -1},
    {WIRE_MEMBER (round_summary, text, WIRE_TEXT), .optional = true, .max = ROUND_TEXT_SIZE - 1},
    {0},
};

static const struct wire_member state_members[] = {
    {WIRE_MEMBER (job, phase, WIRE_CHOICE), .max = JOB_PHASES - 1, .names = job_phase_names},
    WIRE_LIMITS_ROWS (job, spec),
    {WIRE_FIELD ("m", job, batch.m, WIRE_INT64), .optional = true,
     .max = (double)POLLUX_BATCH_LIMIT},
    {WIRE_FIELD ("s", job, batch.s, WIRE_INT64), .optional = true,
     .max = (double)POLLUX_BATCH_LIMIT},
    {WIRE_FIELD ("oracle_remaining", job, oracle.remaining, WIRE_DOUBLE), .optional = true,
     .missing = NAN, .max = MODEL_PROGRESS_LIMIT},
    {WIRE_MEMBER (job, end_us, WIRE_INT64), TIME_US},
    {WIRE_FIELD ("age", job, age_s, WIRE_DOUBLE), SECONDS},
    {WIRE_MEMBER (job, age_us, WIRE_INT64), TIME_US},
    {WIRE_MEMBER (job, aged_us, WIRE_INT64), TIME_US},
    {WIRE_FIELD ("attained", job, attained_s, WIRE_DOUBLE), SECONDS},
    {WIRE_FIELD ("held", job, held_s, WIRE_DOUBLE), SECONDS},
    {WIRE_MEMBER (job, cost, WIRE_DOUBLE), .optional = true, .max = 1e30},
    {WIRE_MEMBER (job, charged_us, WIRE_INT64), TIME_US},
    {WIRE_MEMBER (job, generation, WIRE_INT), COUNT},
    {WIRE_MEMBER (job, restarts, WIRE_INT), COUNT},
    {WIRE_MEMBER (job, failed_last, WIRE_BOOL), .optional = true},
    {WIRE_MEMBER (job, failures, WIRE_INT), COUNT},
    {WIRE_MEMBER (job, retry_us, WIRE_INT64), TIME_US},
    {WIRE_MEMBER (job, start_us, WIRE_INT64), TIME_US},
    {WIRE_FIELD ("delay", job, delay_s, WIRE_DOUBLE), .optional = true, .missing = NAN,
     .max = MODEL_PROGRESS_LIMIT},
    {WIRE_MEMBER (job, detail, WIRE_TEXT), .optional = true, .max = DETAIL_SIZE - 1},
    {0},
};

static const struct wire_member ended_job_members[] = {
    {WIRE_MEMBER (ended_job, application, WIRE_UINT64)},
    {0},
};

/* A point of a noise curve. */
static const struct wire_member noise_members[] = {
    {WIRE_MEMBER (pollux_grad, sqr, WIRE_DOUBLE), .max = MODEL_GRAD_LIMIT},
    {WIRE_MEMBER (pollux_grad, var, WIRE_DOUBLE), .max = MODEL_GRAD_LIMIT},
    {WIRE_MEMBER (pollux_grad, gain_max, WIRE_DOUBLE), .optional = true, .min = 1,
     .max = MODEL_GAIN_LIMIT},
    {0},
};

/* ---- The whole ---------------------------------------------------------------------------- */

void wire_past_clear (struct wire_past *past)
{
    free (past->rounds);
    *past = (struct wire_past){0};
}

static int put_noise_point (const void *self, int index, json_t *object, struct pollux_error *err)
{
    const struct noise_curve *noise = self;
    return noise->points[index].sqr > 0
               ? wire_members_encode (noise_members, &noise->points[index], object, err)
               : 0;
}

/* A list with an object for every point, empty where nothing is known; absent if nothing is known at all. */
static int put_noise (const struct noise_curve *noise, json_t *object, struct pollux_error *err)
{
    bool known = false;
    for (int i = 0; i < NOISE_POINTS; i++)
        known |= noise->points[i].sqr > 0;
    return known ? wire_put_list (object, "noise", NOISE_POINTS, put_noise_point, noise, err) : 0;
}

static int decode_noise (const struct wire_place *object, struct noise_curve *ret,
                         struct pollux_error *err)
{
    struct wire_place list = wire_field (object, "noise");
    size_t count;
    *ret = (struct noise_curve){0};
    if (!wire_has (object, "noise"))
        return 0;
    int code = wire_count_elements (&list, NOISE_POINTS, "points", &count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place point = wire_element (&list, i);
        code = wire_expect_object (&point, err);
        if (code == 0 && json_object_size (point.value) > 0)
            code = wire_members_decode (noise_members, &point, &ret->points[i], err);
    }
    return code;
}

static int put_ended_job (const void *self, int index, json_t *object, struct pollux_error *err)
{
    const struct ended_job *job = &((const struct experience *)self)->jobs[index];
    json_t *hints = json_object ();
    int code = wire_put (object, "hints", hints, err);
    if (code == 0)
        code = wire_hints_put (&job->hints, hints, err);
    if (code == 0)
        code = wire_members_encode (ended_job_members, job, object, err);
    return code < 0 ? code : put_noise (&job->noise, object, err);
}

static int put_node (const void *self, int index, json_t *object, struct pollux_error *err)
{
    return wire_node_put (self, index, object, err);
}

static int put_round (const void *self, int index, json_t *object, struct pollux_error *err)
{
    const struct round_summary *round = (const struct round_summary *)self + index;
    int code = wire_members_encode (round_members, round, object, err);
    return code < 0 ? code
                    : wire_policy_settings_put (object, "policy_options", &round->settings, err);
}

int wire_past_encode (const struct cluster *cluster, const struct round_summary *rounds,
                      int round_count, struct wire_text_buffer *buffer, struct pollux_error *err)
{
    struct wire_past past = {.now_us = cluster->now_us, .job_count = cluster->job_count};
    if (round_count > WIRE_ROUNDS_LIMIT) { /* the last ones */
        rounds += round_count - WIRE_ROUNDS_LIMIT;
        round_count = WIRE_ROUNDS_LIMIT;
    }
    json_t *object = json_object ();
    int code = wire_members_encode (past_members, &past, object, err);
    if (code == 0)
        code = wire_put_list (object, "nodes", cluster->node_count, put_node, cluster, err);
    if (code == 0)
        code = wire_put_list (object, "rounds", round_count, put_round, rounds, err);
    if (code == 0 && cluster->experience.count > 0)
        code = wire_put_list (object, "experience", cluster->experience.count, put_ended_job,
                              &cluster->experience, err);
    if (code == 0)
        code = wire_groups_put (cluster, object, err);
    if (code == 0)
        code = wire_ledger_put (cluster, object, err);
    if (code == 0)
        code = wire_text_dump (object, WIRE_EVENT_LIMIT, buffer, err);
    json_decref (object);
    return code;
}

static int decode_nodes (const struct wire_place *list, struct cluster *cluster, int64_t now_us,
                         struct pollux_error *err)
{
    int code = wire_expect_array (list, err);
    for (size_t i = 0; code == 0 && i < json_array_size (list->value); i++) {
        struct wire_place place = wire_element (list, i);
        code = wire_node_restore (&place, cluster, now_us, err);
    }
    return code;
}

static int decode_rounds (const struct wire_place *list, struct wire_past *ret,
                          struct pollux_error *err)
{
    size_t count;
    int code = wire_count_elements (list, WIRE_ROUNDS_LIMIT, "rounds", &count, err);
    if (code < 0)
        return code;
    ret->rounds = calloc (count + 1, sizeof (ret->rounds[0]));
    if (!ret->rounds)
        return fail (err, -ENOMEM, "not enough memory for %zu rounds", count);
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place place = wire_element (list, i);
        code = wire_members_decode (round_members, &place, &ret->rounds[i], err);
        if (code == 0)
            code = wire_policy_settings_decode (&place, "policy_options", &ret->rounds[i].settings,
                                                err);
    }
    ret->round_count = (int)count;
    return code;
}

static int decode_experience (const struct wire_place *root, struct cluster *cluster,
                              struct pollux_error *err)
{
    struct wire_place list = wire_field (root, "experience");
    size_t count;
    if (!wire_has (root, "experience"))
        return 0;
    int code = wire_count_elements (&list, EXPERIENCE_LIMIT, "jobs", &count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct ended_job job = {0};
        struct wire_place place = wire_element (&list, i), hints = wire_field (&place, "hints");
        struct pollux_error why;
        code = wire_members_decode (ended_job_members, &place, &job, err);
        if (code == 0)
            code = wire_hints_decode (&hints, &job.hints, err);
        if (code == 0)
            code = decode_noise (&place, &job.noise, err);
        if (code == 0 && cluster_restore_experience (cluster, &job, &why) < 0)
            code = wire_fail (&place, err, "%s", why.text);
    }
    return code;
}

int wire_past_decode (const char *text, size_t length, const char *name, struct cluster *cluster,
                      struct wire_past *ret, struct pollux_error *err)
{
    struct wire_document *document = NULL;
    *ret = (struct wire_past){0};
    int code = wire_document_parse (name, text, length, WIRE_EVENT_LIMIT, &document, err);
    if (code < 0)
        return code;
    struct wire_place root = wire_root (document);
    struct wire_place nodes = wire_field (&root, "nodes"), rounds = wire_field (&root, "rounds");
    code = wire_members_decode (past_members, &root, ret, err);
    if (code == 0)
        code = wire_groups_restore (&root, cluster, ret->now_us, err);
    if (code == 0)
        code = decode_nodes (&nodes, cluster, ret->now_us, err);
    if (code == 0)
        code = decode_rounds (&rounds, ret, err);
    if (code == 0)
        code = decode_experience (&root, cluster, err);
    if (code == 0)
        code = wire_ledger_restore (&root, cluster, ret->now_us, err);
    wire_document_free (document);
    return code;
}

/* ---- A job -------------------------------------------------------------------------------- */

static struct hints summary_of_hints (const struct job *job)
{
    struct hints hints = job->hints;
    if (!job_live (job)) {
        hints = hints_unknown;
        hints.progress = job->hints.progress;
        hints.total = job->hints.total;
    }
    return hints;
}

static int put_state (const struct cluster *cluster, const struct job *job, json_t *object,
                      struct pollux_error *err)
{
    struct hints hints = summary_of_hints (job);
    json_t *inner = json_object ();
    int code = wire_put (object, "hints", inner, err);
    if (code == 0)
        code = wire_hints_put (&hints, inner, err);
    if (code == 0)
        code = wire_members_encode (state_members, job, object, err);
    if (code == 0 && job_live (job))
        code = put_noise (&job->noise, object, err);
    if (code == 0 && job->placement.count > 0)
        code = wire_placement_put (cluster, job->placement, object, "placement", err);
    if (code == 0 && job->desired.count > 0)
        code = wire_placement_put (cluster, job->desired, object, "desired", err);
    return code;
}

int wire_state_encode (const struct cluster *cluster, int job, struct wire_text_buffer *buffer,
                       struct pollux_error *err)
{
    struct pollux_error why = {""};
    json_t *object = json_object ();
    int code = put_state (cluster, cluster->jobs[job], object, &why);
    if (code == 0)
        code = wire_text_dump (object, WIRE_EVENT_LIMIT, buffer, &why);
    json_decref (object);
    return code < 0 ? fail (err, code, "job %s: %.160s", cluster->jobs[job]->spec.name, why.text)
                    : 0;
}

void wire_restored_clear (struct wire_restored *restored)
{
    wire_event_clear (&restored->submit);
    free (restored->placement.shares);
    free (restored->desired.shares);
    *restored = (struct wire_restored){0};
}

static int decode_state (const struct wire_place *root, const struct cluster *cluster,
                         struct wire_restored *memory, struct job *ret, struct pollux_error *err)
{
    struct wire_place hints = wire_field (root, "hints");
    struct wire_place placement = wire_field (root, "placement");
    struct wire_place desired = wire_field (root, "desired");
    int code = wire_members_decode (state_members, root, ret, err);
    if (code == 0)
        code = wire_hints_decode (&hints, &ret->hints, err);
    if (code == 0)
        code = decode_noise (root, &ret->noise, err);
    if (code == 0 && wire_has (root, "placement"))
        code =
            wire_placement_decode (&placement, cluster, &memory->placement, &ret->placement, err);
    if (code == 0 && wire_has (root, "desired"))
        code = wire_placement_decode (&desired, cluster, &memory->desired, &ret->desired, err);
    return code;
}

int wire_job_restore (struct cluster *cluster, const struct wire_row *submit, const char *state,
                      size_t length, const char *name, int64_t now_us, struct wire_restored *memory,
                      struct pollux_error *err)
{
    struct job job = {0};
    struct wire_document *document = NULL;
    int code = wire_event_decode (cluster, submit, name, &memory->submit, err);
    if (code == 0)
        code = wire_document_parse (name, state, length, WIRE_EVENT_LIMIT, &document, err);
    if (code == 0) {
        struct wire_place root = wire_root (document);
        code = decode_state (&root, cluster, memory, &job, err);
    }
    wire_document_free (document);
    if (code < 0)
        return code;
    struct pollux_error why;
    code = cluster_restore_job (cluster, &memory->submit.event, &job, now_us, &why);
    return code < 0 ? fail (err, code, "%s: %.160s", name, why.text) : 0;
}
