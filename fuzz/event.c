/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: rows of a journal, one per line: microseconds, type, job (-: none) and body, separated
 * by one blank.  Rows are applied and rounds decided again, as in a replay.  An accepted row is the
 * same text after decoding and encoding; a refusal names the row.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop/replay.h"
#include "wire/event.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* Cut off the next word of a line; NULL: no more. */
static char *word (char **line)
{
    char *start = *line, *end = start ? strchr (start, ' ') : NULL;
    if (!end)
        return NULL;
    *end = '\0';
    *line = end + 1;
    return start;
}

static void check_round_trip (const struct cluster *cluster, const struct event *event)
{
    struct wire_text_buffer first = {0}, second = {0};
    struct wire_event box = {0};
    struct wire_row row, again;
    struct pollux_error err;
    if (wire_event_encode (cluster, event, &first, &row, &err) < 0 ||
        wire_event_decode (cluster, &row, "fuzz", &box, &err) < 0 ||
        wire_event_encode (cluster, &box.event, &second, &again, &err) < 0) {
        fprintf (stderr, "%s\n", err.text);
        abort ();
    }
    if (row.length != again.length || memcmp (row.body, again.body, row.length) != 0)
        abort ();
    wire_event_clear (&box);
    wire_text_buffer_clear (&first);
    wire_text_buffer_clear (&second);
}

/* Only few rounds, and none with the genetic search, whose decision takes a second here. */
static bool too_slow (const struct replay *replay, const struct event *event)
{
    return event->type == EVENT_ROUND &&
           (replay->rounds == 4 || strcmp (event->round.policy, "pollux-ga") == 0);
}

static void take (struct replay *replay, char *line, struct wire_event *box)
{
    const struct cluster *cluster = &replay->cluster;
    const char *at = word (&line), *type = word (&line), *job = word (&line);
    if (!job)
        return;
    struct wire_row row = {.at_us = strtoll (at, NULL, 10),
                           .type = type,
                           .job = strcmp (job, "-") == 0 ? NULL : job,
                           .body = line,
                           .length = strlen (line)};
    struct pollux_error err = {""};
    if (wire_event_decode (cluster, &row, "fuzz", box, &err) < 0) {
        if (strncmp (err.text, "fuzz", 4) != 0)
            abort ();
        return;
    }
    check_round_trip (cluster, &box->event);
    if (!too_slow (replay, &box->event) && replay_event (replay, &box->event, &err) < 0 &&
        !err.text[0])
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = malloc (size + 1);
    if (!text)
        return 0;
    memcpy (text, data, size);
    text[size] = '\0';
    struct replay replay = {0};
    struct wire_event box = {0};
    for (char *line = text, *next; line && !replay.differs; line = next) {
        next = strchr (line, '\n');
        if (next)
            *next++ = '\0';
        take (&replay, line, &box);
    }
    wire_event_clear (&box);
    replay_clear (&replay);
    free (text);
    return 0;
}
