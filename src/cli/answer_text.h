/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon answered, made readable: fields that may be missing, and numbers as people write
 * them.  An unknown value is a dash.
 */
#ifndef CLI_ANSWER_TEXT_H
#define CLI_ANSWER_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* Replace in all strings and keys what a terminal would obey; line ends and tabs become blanks.
 * Before anything of an answer is shown as text.  -ENOMEM. */
int answer_disarm (json_t *answer, struct pollux_error *err);

/* Print it as JSON, in ASCII, so that a terminal obeys nothing of it; or in one line.  It is taken
 * over. */
int answer_json (json_t *answer, FILE *out, struct pollux_error *err);
int answer_json_line (json_t *answer, FILE *out, struct pollux_error *err);

/* A field: "" if it is missing or no text; NaN if it is missing or no number. */
const char *answer_text (const json_t *object, const char *key);
double answer_number (const json_t *object, const char *key);
bool answer_true (const json_t *object, const char *key);

/* A short text of its own, as a value. */
struct answer_word {
    char text[64];
};
struct answer_word answer_or_dash (const char *text);   /* of 63 bytes at most */
struct answer_word answer_count (double count);         /* 12 */
struct answer_word answer_rate (double rate);           /* 1234, 56.7, 0.123 */
struct answer_word answer_share (double share);         /* 98.1 % */
struct answer_word answer_duration (double duration_s); /* 45 s, 12 min, 3.4 h, 5.6 d */
struct answer_word answer_time (double at);             /* 2026-11-15 23:15:05, local time */
struct answer_word answer_limits (const json_t *job);   /* 1-8 */
struct answer_word answer_batch (const json_t *job);    /* 512 */

/* {"n0": 2, "n1": 1} as "n0:2 n1:1", cut with dots where it is longer than width characters. */
struct answer_line {
    char text[512];
};
struct answer_line answer_placement (const json_t *placement, size_t width);

/* {"pending": 0, "running": 2, "failed": 1} as "2 running, 1 failed". */
struct answer_line answer_phases (const json_t *phases);

#endif
