/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_TARGET_H
#define HTTP_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "http/http.h"

/* What a request line asks for, taken apart: /SEGMENT/SEGMENT?NAME=VALUE&... */
enum { TARGET_SEGMENTS_MAX = 8 };
struct target {
    int segment_count, query_count;
    const char *segments[TARGET_SEGMENTS_MAX]; /* decoded */
    struct target_query {
        const char *name, *value; /* decoded */
    } queries[HTTP_QUERIES_MAX];
};

/* Decode %XX in place (and + as a blank, where plus), and put a NUL behind the result.  False if
 * it is malformed, no UTF-8, or has a control character. */
bool target_decode (char *text, size_t length, bool plus);

/* Take text apart in place; *ret points into it.  False, with a sentence, if it is no path from
 * the root, a segment is empty, too long, "." or "..", or hides a slash; or if a query parameter
 * has no name or is there twice. */
bool target_parse (char *text, struct target *ret, struct pollux_error *err);

/* Does the path match the pattern?  A pattern's {parameter} matches any one segment. */
bool target_matches (const struct target *target, const char *pattern);

/* The segment that stands at {name} in the pattern that matched; NULL if there is none. */
const char *target_param (const struct target *target, const char *pattern, const char *name);

/* A query's value; NULL if it is not there. */
const char *target_query (const struct target *target, const char *name);

/* The first query parameter that is not among the words; NULL if all are known.  words may be
 * NULL: then none is. */
const char *target_unknown (const struct target *target, const char *words);

/* A pattern of a route that can be matched: "/" and segments, each of plain characters or one
 * {parameter}. */
bool target_is_pattern (const char *pattern);

/* Is the word of that length among the words, which are separated by blanks? */
bool target_has_word (const char *words, const char *word, size_t length);

#endif
