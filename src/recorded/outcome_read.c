/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outcomes from files: a journal, or the RESULT.json of `pollux sim --json`.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "recorded/outcome.h"
#include "store/store.h"
#include "wire/member.h"

/* ---- A journal ---------------------------------------------------------------------------- */

static int read_recording (struct store *store, const char *path, struct recording *ret,
                           struct pollux_error *err)
{
    char *text = NULL, name[sizeof (struct file_name) + 32];
    int code = store_read_recording (store, &text, err);
    snprintf (name, sizeof (name), "%s, recording", file_name (path).text);
    if (code == 0 && text)
        code = wire_recording_decode (text, strlen (text), name, ret, err);
    free (text);
    return code;
}

static int fold (struct store *store, const char *path, struct outcome *outcome,
                 struct pollux_error *err)
{
    struct source source = store_source (store);
    struct event event;
    int code = store_restore (store, &outcome->cluster, NULL, NULL, err);
    if (code == 0)
        code = outcome_start (outcome, path, err);
    while (code == 0 && (code = source.next (source.self, &outcome->cluster, &event, err)) == 1)
        code = outcome_take (outcome, &event, err);
    return code;
}

int outcome_read_journal (const char *path, struct outcome *ret, struct pollux_error *err)
{
    struct outcome outcome = {0};
    struct recording recording = {.made_s = NAN};
    struct store *store = NULL;
    int code = store_open_recorded (path, &store, err);
    if (code == 0)
        code = read_recording (store, path, &recording, err);
    if (code == 0)
        code = fold (store, path, &outcome, err);
    if (code == 0)
        code = outcome_finish (&outcome, &recording, err);
    store_close (store, NULL);
    recording_clear (&recording);
    if (code == 0)
        *ret = outcome;
    else
        outcome_clear (&outcome);
    return code;
}

/* ---- A RESULT.json ------------------------------------------------------------------------ */

/* 256 MiB: a million completion times of 100 bytes under two policies. */
#define RESULT_LIMIT ((size_t)256 << 20)
/* As many as `pollux sim` runs: 64 policies, 1024 workloads. */
enum { RESULT_OUTCOMES = 64 * 1024 };

#define RESULT_NUMBER_LIMIT 1e12

struct result_list {
    const char *name; /* of the file */
    struct outcome *outcomes;
    int count, capacity;
};

static void free_list (struct result_list *list)
{
    for (int i = 0; i < list->count; i++)
        outcome_clear (&list->outcomes[i]);
    free (list->outcomes);
}

static int take_jct (void *self, const struct wire_place *place, double number,
                     struct pollux_error *err)
{
    struct outcome *outcome = self;
    struct outcome_job *job = &outcome->jobs[outcome->job_count++];
    (void)err;
    *job = (struct outcome_job){.jct_s = number, .phase = JOB_FINISHED, .rho = NAN};
    memcpy (job->name, place->key, strlen (place->key) + 1);
    return 0;
}

static int read_jcts (const struct wire_place *workload, struct outcome *outcome,
                      struct pollux_error *err)
{
    struct wire_place jcts = wire_field (workload, "jct");
    outcome->jobs = calloc (json_object_size (jcts.value) + 1, sizeof (outcome->jobs[0]));
    if (!outcome->jobs)
        return fail (err, -ENOMEM, "not enough memory");
    return wire_job_numbers (&jcts, RESULT_NUMBER_LIMIT, take_jct, outcome, err);
}

/* Older versions may not have written all of them. */
#define RESULT_NUMBER .optional = true, .missing = NAN, .max = RESULT_NUMBER_LIMIT
static const struct wire_member number_members[] = {
    {WIRE_FIELD ("avg_jct", outcome_numbers, mean_jct_s, WIRE_DOUBLE), RESULT_NUMBER},
    {WIRE_FIELD ("p50_jct", outcome_numbers, median_jct_s, WIRE_DOUBLE), RESULT_NUMBER},
    {WIRE_FIELD ("p99_jct", outcome_numbers, p99_jct_s, WIRE_DOUBLE), RESULT_NUMBER},
    {WIRE_FIELD ("makespan", outcome_numbers, makespan_s, WIRE_DOUBLE), RESULT_NUMBER},
    {WIRE_FIELD ("gpu_hours_per_job", outcome_numbers, slot_hours_per_job, WIRE_DOUBLE),
     RESULT_NUMBER},
    {WIRE_MEMBER (outcome_numbers, restarts_per_job, WIRE_DOUBLE), RESULT_NUMBER},
    {WIRE_MEMBER (outcome_numbers, utilisation, WIRE_DOUBLE), RESULT_NUMBER},
    {WIRE_MEMBER (outcome_numbers, worst_rho, WIRE_DOUBLE), RESULT_NUMBER},
    {WIRE_FIELD ("unfair_fraction", outcome_numbers, unfair, WIRE_DOUBLE), RESULT_NUMBER},
    {WIRE_MEMBER (outcome_numbers, rounds, WIRE_INT), .optional = true, .max = INT32_MAX},
    {0},
};

static int read_workload (const struct wire_place *workload, const char *policy,
                          struct result_list *list, struct pollux_error *err)
{
    if (!wire_is_name (workload->key))
        return wire_fail_key (workload, err, "expected the name of a workload");
    if (list->count == RESULT_OUTCOMES)
        return wire_fail (workload, err, "expected at most %d results", RESULT_OUTCOMES);
    struct outcome *outcomes =
        realloc (list->outcomes, ((size_t)list->count + 1) * sizeof (outcomes[0]));
    if (!outcomes)
        return fail (err, -ENOMEM, "not enough memory");
    list->outcomes = outcomes;
    struct outcome *outcome = &outcomes[list->count++];
    *outcome = (struct outcome){.recording = {.made_s = NAN}};
    const char *slash = strrchr (list->name, '/');
    snprintf (outcome->source, sizeof (outcome->source), "%s", slash ? slash + 1 : list->name);
    memcpy (outcome->policy, policy, strlen (policy) + 1);
    memcpy (outcome->recording.workload, workload->key, strlen (workload->key) + 1);
    int code = wire_expect_object (workload, err);
    if (code == 0)
        code = wire_members_decode (number_members, workload, &outcome->numbers, err);
    if (code == 0)
        code = read_jcts (workload, outcome, err);
    outcome->numbers.jobs = outcome->numbers.finished = outcome->job_count;
    return code;
}

static int read_policies (const struct wire_place *root, void *ret, struct pollux_error *err)
{
    struct result_list *list = ret;
    struct wire_place all = wire_field (root, "policies"), policy, workload;
    int code = wire_expect_object (root, err);
    if (code == 0)
        code = wire_expect_object (&all, err);
    for (void *at = NULL; code == 0 && wire_each (&all, &at, &policy);) {
        struct wire_place workloads = wire_field (&policy, "workloads");
        if (!wire_is_name (policy.key))
            return wire_fail_key (&policy, err, "expected the name of a policy");
        code = wire_expect_object (&workloads, err);
        for (void *next = NULL; code == 0 && wire_each (&workloads, &next, &workload);)
            code = read_workload (&workload, policy.key, list, err);
    }
    return code == 0 && list->count == 0 ? wire_fail (&all, err, "expected results") : code;
}

int outcome_parse_result (const char *name, const char *text, size_t length, struct outcome **ret,
                          int *ret_count, struct pollux_error *err)
{
    struct result_list list = {.name = name};
    int code = wire_document_decode (name, text, length, RESULT_LIMIT, read_policies, &list, err);
    if (code < 0) {
        free_list (&list);
        return code;
    }
    *ret = list.outcomes;
    *ret_count = list.count;
    return 0;
}

int outcome_read_result (const char *path, struct outcome **ret, int *ret_count,
                         struct pollux_error *err)
{
    char *text = NULL;
    size_t length = 0;
    int code = file_read (path, RESULT_LIMIT, &text, &length, err);
    if (code == 0)
        code = outcome_parse_result (path, text, length, ret, ret_count, err);
    free (text);
    return code;
}
