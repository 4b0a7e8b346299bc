/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histories are compared as text, which keeps every bit.
 */
#include "unit.h"
#include "history_check.h"

#include "wire/history.h"

char *buffer_text (const struct wire_text_buffer *buffer)
{
    char *text = malloc (buffer->length + 1);
    assert_non_null (text);
    memcpy (text, buffer->text, buffer->length);
    text[buffer->length] = '\0';
    return text;
}

static char *text_of (const struct cluster *cluster, const struct history *history, int job)
{
    struct wire_text_buffer buffer = {0};
    struct pollux_error err = {""};
    int code = job < 0 ? wire_cluster_past_encode (&history->past, &buffer, &err)
                       : wire_job_past_encode (cluster, history_job (history, job), &buffer, &err);
    if (code < 0)
        fail_msg ("job %d: %s", job, err.text);
    char *text = buffer_text (&buffer);
    wire_text_buffer_clear (&buffer);
    return text;
}

void histories_equal (const struct cluster *cluster_a, const struct history *a,
                      const struct cluster *cluster_b, const struct history *b)
{
    assert_int_equal (cluster_a->job_count, cluster_b->job_count);
    assert_int_equal (a->past_count, b->past_count);
    for (int i = -1; i < cluster_a->job_count; i++) {
        bool has = i < 0 || history_job (a, i), other = i < 0 || history_job (b, i);
        assert_int_equal (has, other);
        if (!has)
            continue;
        char *x = text_of (cluster_a, a, i), *y = text_of (cluster_b, b, i);
        if (strcmp (x, y) != 0)
            fail_msg ("job %d:\n%s\n%s", i, x, y);
        free (x);
        free (y);
    }
    assert_true (a->slots == b->slots && a->used == b->used && a->running == b->running &&
                 a->waiting == b->waiting && a->goodput == b->goodput);
    assert_int_equal (a->ended_count, b->ended_count);
    for (int i = 0; i < a->ended_count; i++)
        assert_int_equal (a->ended[a->ended_first + i], b->ended[b->ended_first + i]);
}

void history_fits (const struct cluster *cluster, const struct history *history)
{
    struct history fresh;
    history_begin (&fresh, cluster);
    assert_int_equal (fresh.slots, history->slots);
    assert_int_equal (fresh.used, history->used);
    assert_int_equal (fresh.running, history->running);
    assert_int_equal (fresh.waiting, history->waiting);
    int64_t goodput = 0; /* not that of the fresh one: reports that were skipped are not in it */
    for (int i = 0; i < history->job_capacity; i++)
        goodput += history->jobs[i].goodput;
    assert_true (goodput == history->goodput);
    history_clear (&fresh);
}
