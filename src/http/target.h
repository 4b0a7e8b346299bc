/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "http/http.h"

/* The parsed target of a request line: /SEGMENT/SEGMENT?NAME=VALUE&... */
enum { TARGET_SEGMENTS_MAX = 8 };
struct target {
    int segment_count, query_count;
    const char *segments[TARGET_SEGMENTS_MAX]; /* decoded */
    struct target_query {
        const char *name, *value; /* decoded */
    } queries[HTTP_QUERIES_MAX];
};

/* Decode %XX in place (with plus: + as a space) and end the result with a NUL.  False if it is
 * malformed, no UTF-8, or has a control character. */
bool target_decode (char *text, size_t length, bool plus);

/* Parse the text in place; *ret points into it.  False, with a sentence, if the path does not start with
 * a slash, a segment is empty, too long, "." or "..", or contains an encoded slash; or if a query
 * parameter has no name or is repeated. */
bool target_parse (char *text, struct target *ret, struct pollux_error *err);

/* Does the path match the pattern?  A pattern's {parameter} matches any one segment. */
bool target_matches (const struct target *target, const char *pattern);

/* The segment at {name} of the matching pattern; NULL if the pattern has no {name}. */
const char *target_param (const struct target *target, const char *pattern, const char *name);

/* The value of a query parameter; NULL if it is not given. */
const char *target_query (const struct target *target, const char *name);

/* The first query parameter that is not one of the words (separated by spaces; NULL: no word); NULL if
 * all are. */
const char *target_unknown (const struct target *target, const char *words);

/* Is this a valid pattern of a route: "/" and segments, each of plain characters or one {parameter}? */
bool target_is_pattern (const char *pattern);

/* Is the word of that length one of the words, which are separated by spaces? */
bool target_has_word (const char *words, const char *word, size_t length);

#endif
