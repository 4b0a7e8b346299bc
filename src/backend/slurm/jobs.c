/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs and steps, from squeue.  Fields that users choose come last: name, then comment.  A '|' in
 * a name shifts only the comment of the same job.
 */
#define _GNU_SOURCE
#include "backend/slurm/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "backend/slurm/lines.h"
#include "base/array.h"
#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"

enum { TEXT_LIMIT = 64 << 20 }; /* see COMMAND_OUTPUT_LIMIT */

enum job_field {
    JOB_ID,
    STATE,
    UID,
    USER,
    GRES,
    BEGIN,
    END,
    NODES,
    REASON,
    NAME,
    COMMENT,
    JOB_FIELDS
};
enum step_field { STEP_ID, STEP_USER, STEP_BEGIN, STEP_NODES, STEP_NAME, STEP_FIELDS };

int slurm_key_make (char ret[SLURM_KEY_SIZE], struct pollux_error *err)
{
    uint64_t random;
    if (getrandom (&random, sizeof (random), 0) != sizeof (random))
        return fail (err, -EIO, "no random numbers: %s", strerror (errno));
    snprintf (ret, SLURM_KEY_SIZE, "%016llx", (unsigned long long)random);
    return 0;
}

static void add_query (struct words *words, const struct slurm_jobs_query *query)
{
    if (query->user)
        words_add (words, "--user=%s", query->user);
    if (query->name)
        words_add (words, "--name=%s", query->name);
    if (query->ids)
        words_add (words, "--jobs=%s", query->ids);
    if (query->partition)
        words_add (words, "--partition=%s", query->partition);
}

static int finish_words (struct words *words, struct words *ret)
{
    int code = words_check (words);
    if (code == 0)
        *ret = *words;
    return code;
}

int slurm_jobs_words (const struct slurm_jobs_query *query, struct words *ret)
{
    struct words words = {.count = 0};
    words_add (&words, "squeue");
    words_add (&words, "-h");
    if (query->ended)
        words_add (&words, "--states=all");
    add_query (&words, query);
    return finish_words (&words, ret);
}

int slurm_steps_words (const struct slurm_jobs_query *query, struct words *ret)
{
    struct words words = {.count = 0};
    words_add (&words, "squeue");
    words_add (&words, "-h");
    words_add (&words, "-s");
    add_query (&words, query);
    words_add (&words, "-o"); /* with -s, squeue does not read its format from the environment */
    words_add (&words, "%s|%%i|%%u|%%S|%%N|%%j", query->key);
    return finish_words (&words, ret);
}

void slurm_jobs_format (const char *key, char ret[SLURM_FORMAT_SIZE])
{
    snprintf (ret, SLURM_FORMAT_SIZE,
              "SQUEUE_FORMAT=%.16s|%%A|%%T|%%U|%%u|%%b|%%S|%%e|%%N|%%r|%%j|%%k", key);
}

static int wrong (const struct slurm_lines *lines, const char *what, const char *field,
                  struct pollux_error *err)
{
    return fail (err, -EPROTO, "squeue, line %d: %s: %s", lines->number, what, quote (field).text);
}

/* SLURM_TIME_FORMAT=%s: seconds.  Without a time it is N/A. */
static int64_t parse_time (const char *field)
{
    int64_t seconds = slurm_field_number (field, INT64_MAX / 1000000);
    return seconds > 0 ? seconds : -1;
}

static int parse_job (const struct slurm_lines *lines, char **fields, struct slurm_job *ret,
                      struct pollux_error *err)
{
    struct slurm_job job = {
        .id = slurm_field_number (fields[JOB_ID], INT64_MAX),
        .step = "",
        .state = fields[STATE],
        .phase = slurm_phase (fields[STATE]),
        .uid = slurm_field_number (fields[UID], UINT32_MAX),
        .user = fields[USER],
        .reason = slurm_field_text (fields[REASON]),
        .nodes = slurm_field_text (fields[NODES]),
        .gres = fields[GRES],
        .begin_s = parse_time (fields[BEGIN]),
        .end_s = parse_time (fields[END]),
        .name = fields[NAME],
        .comment = slurm_field_text (fields[COMMENT]),
    };
    if (job.id <= 0)
        return wrong (lines, "not a job id", fields[JOB_ID], err);
    if (job.uid < 0)
        return wrong (lines, "not a user id", fields[UID], err);
    /* The expected start of a job that waits is no start. */
    if (job.phase == SLURM_COMING)
        job.begin_s = -1;
    *ret = job;
    return 0;
}

/* "123.0", "123.batch", or "123_4.0" of an array whose own id squeue does not tell: its first number. */
static int parse_step (const struct slurm_lines *lines, char **fields, struct slurm_job *ret,
                       struct pollux_error *err)
{
    struct slurm_job step = {
        .state = "",
        .phase = SLURM_HELD,
        .uid = -1,
        .user = fields[STEP_USER],
        .reason = "",
        .nodes = slurm_field_text (fields[STEP_NODES]),
        .gres = "",
        .begin_s = parse_time (fields[STEP_BEGIN]),
        .end_s = -1,
        .name = fields[STEP_NAME],
        .comment = "",
    };
    char *dot = strrchr (fields[STEP_ID], '.');
    if (!dot || !dot[1])
        return wrong (lines, "not the id of a step", fields[STEP_ID], err);
    *dot = '\0';
    fields[STEP_ID][strcspn (fields[STEP_ID], "_+")] = '\0';
    step.step = dot + 1;
    step.id = slurm_field_number (fields[STEP_ID], INT64_MAX);
    if (step.id <= 0)
        return wrong (lines, "not a job id", fields[STEP_ID], err);
    *ret = step;
    return 0;
}

static int add_job (struct slurm_jobs *jobs, const struct slurm_job *job)
{
    return array_append (&jobs->list, &jobs->count, &jobs->capacity, job, sizeof (*job));
}

static int parse (const char *key, const char *text, size_t length, bool steps,
                  struct slurm_jobs *ret, struct pollux_error *err)
{
    struct slurm_jobs jobs = {.count = 0};
    struct slurm_job job;
    char *fields[JOB_FIELDS];
    int count = steps ? STEP_FIELDS : JOB_FIELDS, more;
    /* A new line in the name cuts the comment off. */
    int least = steps ? STEP_FIELDS : JOB_FIELDS - 1;
    int code = file_copy_text ("squeue", text, length, TEXT_LIMIT, &jobs.text, err);
    if (code < 0)
        return code;
    struct slurm_lines lines = {.at = jobs.text, .end = jobs.text + length, .key = key};
    while (code == 0 && (more = slurm_lines_next (&lines, fields, least, count)) != 0) {
        if (more < 0)
            code = fail (err, -EPROTO, "squeue, line %d: expected %d fields with '|' between them",
                         lines.number, least + 1);
        else if (steps)
            code = parse_step (&lines, fields, &job, err);
        else
            code = parse_job (&lines, fields, &job, err);
        if (code == 0 && add_job (&jobs, &job) < 0)
            code = fail (err, -ENOMEM, "not enough memory");
    }
    /* Every answer to this query begins with its key. */
    if (code == 0 && jobs.count == 0 && lines.number > 0)
        code = fail (err, -EPROTO, "squeue wrote something else: %s", excerpt (text, length).text);
    if (code < 0)
        slurm_jobs_clear (&jobs);
    else
        *ret = jobs;
    return code;
}

int slurm_jobs_parse (const char *key, const char *text, size_t length, struct slurm_jobs *ret,
                      struct pollux_error *err)
{
    return parse (key, text, length, false, ret, err);
}

int slurm_steps_parse (const char *key, const char *text, size_t length, struct slurm_jobs *ret,
                       struct pollux_error *err)
{
    return parse (key, text, length, true, ret, err);
}

void slurm_jobs_clear (struct slurm_jobs *jobs)
{
    free (jobs->list);
    free (jobs->text);
    *jobs = (struct slurm_jobs){0};
}

const struct slurm_job *slurm_jobs_find (const struct slurm_jobs *jobs, const char *name)
{
    for (int i = 0; i < jobs->count; i++)
        if (strcmp (jobs->list[i].name, name) == 0)
            return &jobs->list[i];
    return NULL;
}

const struct slurm_job *slurm_jobs_find_id (const struct slurm_jobs *jobs, int64_t id,
                                            const char *step)
{
    for (int i = 0; i < jobs->count; i++)
        if (jobs->list[i].id == id && strcmp (jobs->list[i].step, step) == 0)
            return &jobs->list[i];
    return NULL;
}

int slurm_submitted_parse (const char *text, size_t length, int64_t *ret_id,
                           struct pollux_error *err)
{
    char number[24];
    size_t digits = 0;
    while (digits < length && text[digits] >= '0' && text[digits] <= '9')
        digits++;
    /* One line: the id, and in a federation the cluster's name. */
    const char *end = memchr (text, '\n', length);
    bool good = digits > 0 && digits < sizeof (number) && end == text + length - 1 &&
                (text[digits] == '\n' || text[digits] == ';');
    if (good) {
        memcpy (number, text, digits);
        number[digits] = '\0';
        int64_t id = slurm_field_number (number, INT64_MAX);
        good = id > 0;
        if (good)
            *ret_id = id;
    }
    return good ? 0
                : fail (err, -EPROTO, "sbatch answered %s instead of a job id",
                        excerpt (text, length).text);
}

bool slurm_unknown_job (const char *error)
{
    return strstr (error, "Invalid job id specified") != NULL;
}
