/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of the daemon's answers as text: numbers with units, a dash for a missing value.
 */
#ifndef CLI_ANSWER_TEXT_H
#define CLI_ANSWER_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "pollux/pollux.h"

/* Disarm an answer: replace control characters in all strings and keys; line ends and tabs become
 * blanks.  Required before any of it is printed as text.  0 or -ENOMEM. */
int answer_disarm (json_t *answer, struct pollux_error *err);

/* Print an answer as indented JSON, or in one line, in ASCII, so that it has no control characters.
 * Takes over the answer. */
int answer_json (json_t *answer, FILE *out, struct pollux_error *err);
int answer_json_line (json_t *answer, FILE *out, struct pollux_error *err);

/* A field: "" if it is missing or not a string; NaN if it is missing or not a number. */
const char *answer_text (const json_t *object, const char *key);
double answer_number (const json_t *object, const char *key);
bool answer_true (const json_t *object, const char *key);

/* A short text, returned by value. */
struct answer_word {
    char text[64];
};
struct answer_word answer_or_dash (const char *text);   /* of 63 bytes at most */
struct answer_word answer_count (double count);         /* 12 */
struct answer_word answer_rate (double rate);           /* 1234, 56.7, 0.123 */
struct answer_word answer_money (double money);         /* 1234.50 */
struct answer_word answer_share (double share);         /* 98.1 % */
struct answer_word answer_duration (double duration_s); /* 45 s, 12 min, 3.4 h, 5.6 d */
struct answer_word answer_time (double at);             /* 2026-11-15 23:15:05, local time */
struct answer_word answer_limits (const json_t *job);   /* 1-8 */
struct answer_word answer_batch (const json_t *job);    /* 512 */

/* Add a number of an answer to a table, as one of the functions above writes it. */
struct table;
void answer_cell (struct table *table, const json_t *object, const char *key,
                  struct answer_word (*format) (double));

/* {"n0": 2, "n1": 1} as "n0:2 n1:1", cut with dots where it is longer than width characters. */
struct answer_line {
    char text[512];
};
struct answer_line answer_placement (const json_t *placement, size_t width);

/* {"pending": 0, "running": 2, "failed": 1} as "2 running, 1 failed". */
struct answer_line answer_phases (const json_t *phases);

#endif
