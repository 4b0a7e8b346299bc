/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: snapshots, in lines: the whole; then, for every job, a line with microseconds, name and
 * body of its SUBMIT, separated by one blank, and a line with its state.  An accepted snapshot is the
 * same text after decoding and encoding; a round and a plan can be applied to it, and it can be
 * encoded again.  A refusal has a message.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"
#include "wire/snapshot.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

enum { JOBS_LIMIT = 64 };

/* The lines of a snapshot; owns encoded text. */
struct lines {
    char *whole;
    struct wire_row submits[JOBS_LIMIT];
    char *states[JOBS_LIMIT];
    int count;
};

/* Cut off the next line or word; NULL: no more. */
static char *next (char **text, char separator)
{
    char *start = *text, *end = start ? strchr (start, separator) : NULL;
    if (!start)
        return NULL;
    *text = end ? end + 1 : NULL;
    if (end)
        *end = '\0';
    return start;
}

static struct lines split (char *text)
{
    struct lines lines = {.whole = next (&text, '\n')};
    while (lines.count < JOBS_LIMIT && text) {
        char *line = next (&text, '\n'), *at = next (&line, ' '), *name = next (&line, ' ');
        char *state = next (&text, '\n');
        if (!line || !state)
            break;
        lines.submits[lines.count] = (struct wire_row){.at_us = strtoll (at, NULL, 10),
                                                       .type = "SUBMIT",
                                                       .job = name,
                                                       .body = line,
                                                       .length = strlen (line)};
        lines.states[lines.count++] = state;
    }
    return lines;
}

static int restore (const struct lines *lines, struct cluster *cluster, struct wire_past *past,
                    struct pollux_error *err)
{
    struct wire_restored memory = {0};
    int code = wire_past_decode (lines->whole, strlen (lines->whole), "fuzz", cluster, past, err);
    for (int i = 0; code == 0 && i < lines->count; i++)
        code = wire_job_restore (cluster, &lines->submits[i], lines->states[i],
                                 strlen (lines->states[i]), "fuzz", past->now_us, &memory, err);
    if (code == 0)
        code = cluster_restore_time (cluster, past->now_us, err);
    wire_restored_clear (&memory);
    return code;
}

/* A copy of a buffer's text. */
static char *string (const struct wire_text_buffer *buffer)
{
    char *text = malloc (buffer->length + 1);
    if (!text)
        abort ();
    memcpy (text, buffer->text, buffer->length);
    text[buffer->length] = '\0';
    return text;
}

static void must (int code, const struct pollux_error *err)
{
    if (code == 0)
        return;
    fprintf (stderr, "%s\n", err->text);
    abort ();
}

/* Encode the cluster as lines; the SUBMIT lines are those of the input. */
static struct lines encode (const struct cluster *cluster, const struct wire_past *past,
                            const struct lines *before)
{
    struct lines lines = *before;
    struct wire_text_buffer buffer = {0};
    struct pollux_error err;
    must (wire_past_encode (cluster, past->rounds, past->round_count, &buffer, &err), &err);
    lines.whole = string (&buffer);
    for (int i = 0; i < lines.count; i++) {
        must (wire_state_encode (cluster, i, &buffer, &err), &err);
        lines.states[i] = string (&buffer);
    }
    wire_text_buffer_clear (&buffer);
    return lines;
}

static void lines_clear (struct lines *lines)
{
    free (lines->whole);
    for (int i = 0; i < lines->count; i++)
        free (lines->states[i]);
}

static void same (const struct lines *a, const struct lines *b)
{
    if (strcmp (a->whole, b->whole) != 0)
        abort ();
    for (int i = 0; i < a->count; i++)
        if (strcmp (a->states[i], b->states[i]) != 0)
            abort ();
}

/* One round with a simple policy: every accepted snapshot can be decided. */
static void decide_once (struct cluster *cluster)
{
    const struct policy *policy = NULL;
    struct memory memory = {0};
    struct plan plan = {0};
    struct pollux_error err;
    struct event round = {.at_us = cluster->now_us, .type = EVENT_ROUND, .job = -1};
    round.round = (struct round){.policy = "fifo", .interval_s = 60, .p = -1};
    must (policy_find ("fifo", &policy, &err), &err);
    must (memory_new (policy, &memory, &err), &err);
    must (cluster_apply (cluster, &round, &err), &err);
    struct view view = cluster_view (cluster, &round.round);
    if (decide (policy, &view, &memory, &plan, &err) == 0) {
        struct event answer = {
            .at_us = cluster->now_us, .type = EVENT_PLAN, .job = -1, .plan = &plan};
        must (cluster_apply (cluster, &answer, &err), &err);
    }
    plan_clear (&plan);
    memory_clear (&memory);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = malloc (size + 1);
    if (!text)
        return 0;
    memcpy (text, data, size);
    text[size] = '\0';
    struct lines lines = split (text);
    struct cluster first = {0}, second = {0};
    struct wire_past past = {0}, again = {0};
    struct pollux_error err = {""};
    if (restore (&lines, &first, &past, &err) < 0) {
        if (!err.text[0])
            abort ();
    } else {
        struct lines encoded = encode (&first, &past, &lines);
        must (restore (&encoded, &second, &again, &err), &err);
        struct lines twice = encode (&second, &again, &encoded);
        same (&encoded, &twice);
        lines_clear (&twice);
        decide_once (&second);
        twice = encode (&second, &again, &encoded);
        lines_clear (&twice);
        lines_clear (&encoded);
    }
    wire_past_clear (&past);
    wire_past_clear (&again);
    cluster_clear (&first);
    cluster_clear (&second);
    free (text);
    return 0;
}
