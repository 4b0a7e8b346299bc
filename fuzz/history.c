/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: rows of the table `history`.  Each text is read as the row of a cluster and as that
 * of a job.  What is accepted is the same text after encoding and decoding, and the fold of events
 * can go on with it.  A refusal has a reason.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/history.h"
#include "wire/history.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (int holds)
{
    if (!holds)
        abort ();
}

/* Nodes n0 and n1, and the running job a; the present is the last time that a row can have. */
static void make_cluster (struct cluster *cluster)
{
    struct job_spec spec = {.name = "a", .max_replicas = 8, .weight = 1, .preemptible = true};
    struct share share = {1, 2};
    struct event events[] = {
        {.type = EVENT_NODE, .job = -1, .node = {.name = "n0", .type = "t4", .slots = 4}},
        {.type = EVENT_NODE, .job = -1, .node = {.name = "n1", .type = "a100", .slots = 4}},
        {.type = EVENT_SUBMIT, .submit = {.spec = &spec, .hints = hints_unknown}},
        {.type = EVENT_START, .start = {.generation = 1, .placement = {&share, 1}}},
        {.at_us = CLUSTER_TIME_LIMIT_US, .type = EVENT_HINTS, .job = -1},
    };
    for (size_t i = 0; i < sizeof (events) / sizeof (events[0]); i++)
        must (cluster_apply (cluster, &events[i], NULL) == 0);
}

static void same_text (const struct wire_text_buffer *a, const struct wire_text_buffer *b)
{
    must (a->length == b->length && memcmp (a->text, b->text, a->length) == 0);
}

/* A step of the fold with what was restored. */
static void go_on (const struct cluster *cluster, struct history *history)
{
    struct event exit = {.at_us = cluster->now_us,
                         .type = EVENT_EXIT,
                         .exit = {.generation = 1, .kind = EXITED_FINISHED}};
    history_take (history, cluster, &exit);
    must (history->running == 0 && history->used == 0);
    history_clear (history);
}

static void read_cluster (const struct cluster *cluster, const char *text, size_t length)
{
    struct cluster_past past;
    struct wire_text_buffer once = {0}, twice = {0};
    struct pollux_error err = {""};
    if (wire_cluster_past_decode (text, length, "fuzz", &past, &err) < 0) {
        must (err.text[0] != '\0');
        return;
    }
    must (wire_cluster_past_encode (&past, &once, &err) == 0);
    cluster_past_clear (&past);
    must (wire_cluster_past_decode (once.text, once.length, "again", &past, &err) == 0);
    must (wire_cluster_past_encode (&past, &twice, &err) == 0);
    same_text (&once, &twice);
    struct history history;
    history_begin_without_jobs (&history, cluster);
    must (history_restore_past (&history, cluster, &past) == 0);
    cluster_past_clear (&past);
    go_on (cluster, &history);
    wire_text_buffer_clear (&once);
    wire_text_buffer_clear (&twice);
}

static void read_job (const struct cluster *cluster, const char *text, size_t length)
{
    struct job_past past;
    struct wire_text_buffer once = {0}, twice = {0};
    struct pollux_error err = {""};
    if (wire_job_past_decode (text, length, "fuzz", cluster, &past, &err) < 0) {
        must (err.text[0] != '\0');
        return;
    }
    must (wire_job_past_encode (cluster, &past, &once, &err) == 0);
    job_past_clear (&past);
    must (wire_job_past_decode (once.text, once.length, "again", cluster, &past, &err) == 0);
    must (wire_job_past_encode (cluster, &past, &twice, &err) == 0);
    same_text (&once, &twice);
    struct history history;
    history_begin_without_jobs (&history, cluster);
    if (history_restore_job (&history, cluster, 0, &past) < 0)
        history_begin_job (&history, cluster, 0);
    must (history_job (&history, 0) != NULL);
    job_past_clear (&past);
    go_on (cluster, &history);
    wire_text_buffer_clear (&once);
    wire_text_buffer_clear (&twice);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct cluster cluster = {0};
    make_cluster (&cluster);
    read_cluster (&cluster, (const char *)data, size);
    read_job (&cluster, (const char *)data, size);
    cluster_clear (&cluster);
    return 0;
}
