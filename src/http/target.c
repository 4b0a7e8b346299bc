/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the target of a request, /v1/jobs/resnet?limit=3, and matches it with patterns of routes.
 *
 * The path is split at its slashes first and decoded after, so that %2F never makes two segments of
 * one.  Path traversal ("..", an encoded slash) is refused here for all routes.
 */
#include "http/target.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

static int hex (char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool target_decode (char *text, size_t length, bool plus)
{
    size_t to = 0;
    for (size_t at = 0; at < length; at++) {
        unsigned char c = (unsigned char)text[at];
        if (c == '%') {
            if (length - at < 3 || hex (text[at + 1]) < 0 || hex (text[at + 2]) < 0)
                return false;
            c = (unsigned char)(hex (text[at + 1]) * 16 + hex (text[at + 2]));
            at += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c < 0x20 || c == 0x7f)
            return false;
        text[to++] = (char)c;
    }
    text[to] = '\0';
    return utf8_valid (text, to) == to;
}

static bool parse_segment (char *text, size_t length, struct target *ret)
{
    if (ret->segment_count == TARGET_SEGMENTS_MAX || !target_decode (text, length, false))
        return false;
    length = strlen (text);
    if (length == 0 || length >= HTTP_PARAM_SIZE || strchr (text, '/') != NULL ||
        strcmp (text, ".") == 0 || strcmp (text, "..") == 0)
        return false;
    ret->segments[ret->segment_count++] = text;
    return true;
}

static bool parse_path (char *text, struct target *ret)
{
    if (text[0] != '/')
        return false;
    if (text[1] == '\0')
        return true;
    for (char *at = text + 1, *next; at != NULL; at = next) {
        size_t length = strcspn (at, "/");
        next = at[length] == '/' ? at + length + 1 : NULL;
        if (!parse_segment (at, length, ret))
            return false;
    }
    return true;
}

static bool parse_queries (char *text, struct target *ret)
{
    for (char *at = text, *next; at != NULL; at = next) {
        size_t length = strcspn (at, "&");
        next = at[length] == '&' ? at + length + 1 : NULL;
        if (length == 0)
            continue;
        at[length] = '\0';
        char *value = strchr (at, '=');
        size_t name_length = value != NULL ? (size_t)(value - at) : length;
        if (value == NULL)
            value = at + length; /* the NUL: an empty value */
        else
            value++;
        if (!target_decode (value, strlen (value), true) || !target_decode (at, name_length, true))
            return false;
        if (at[0] == '\0' || target_query (ret, at) != NULL || ret->query_count == HTTP_QUERIES_MAX)
            return false;
        ret->queries[ret->query_count++] = (struct target_query){.name = at, .value = value};
    }
    return true;
}

bool target_parse (char *text, struct target *ret, struct pollux_error *err)
{
    *ret = (struct target){.segment_count = 0};
    char *query = strchr (text, '?');
    if (query != NULL)
        *query++ = '\0';
    if (!parse_path (text, ret)) {
        fail (err, -EINVAL,
              "the path is malformed: it starts with a slash, has no empty, dotted or hidden "
              "segments, and percent signs stand before two hexadecimal digits");
        return false;
    }
    if (!parse_queries (query, ret)) {
        fail (err, -EINVAL,
              "the query is malformed: NAME=VALUE joined by &, each name once, at most %d of them",
              HTTP_QUERIES_MAX);
        return false;
    }
    return true;
}

/* Move *pattern to its next segment and return the segment's length; 0 at the end. */
static size_t next_segment (const char **pattern)
{
    if (**pattern == '/')
        ++*pattern;
    return strcspn (*pattern, "/");
}

bool target_matches (const struct target *target, const char *pattern)
{
    for (int i = 0; i < target->segment_count; i++) {
        size_t length = next_segment (&pattern);
        const char *segment = target->segments[i];
        if (length == 0)
            return false;
        if (pattern[0] != '{' &&
            (strncmp (pattern, segment, length) != 0 || segment[length] != '\0'))
            return false;
        pattern += length;
    }
    return next_segment (&pattern) == 0;
}

const char *target_param (const struct target *target, const char *pattern, const char *name)
{
    size_t name_length = strlen (name);
    for (int i = 0; i < target->segment_count; i++) {
        size_t length = next_segment (&pattern);
        if (length == name_length + 2 && pattern[0] == '{' &&
            strncmp (pattern + 1, name, name_length) == 0)
            return target->segments[i];
        pattern += length;
    }
    return NULL;
}

const char *target_query (const struct target *target, const char *name)
{
    for (int i = 0; i < target->query_count; i++)
        if (strcmp (target->queries[i].name, name) == 0)
            return target->queries[i].value;
    return NULL;
}

bool target_has_word (const char *words, const char *word, size_t length)
{
    for (size_t size; *words != '\0'; words += size) {
        words += strspn (words, " ");
        size = strcspn (words, " ");
        if (size > 0 && size == length && strncmp (words, word, size) == 0)
            return true;
    }
    return false;
}

const char *target_unknown (const struct target *target, const char *words)
{
    for (int i = 0; i < target->query_count; i++) {
        const char *name = target->queries[i].name;
        if (words == NULL || !target_has_word (words, name, strlen (name)))
            return name;
    }
    return NULL;
}

bool target_is_pattern (const char *pattern)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (pattern[0] != '/')
        return false;
    if (pattern[1] == '\0')
        return true;
    for (int count = 0; *pattern != '\0'; count++) {
        size_t length = next_segment (&pattern);
        bool param = length > 2 && pattern[0] == '{' && pattern[length - 1] == '}';
        if (count == TARGET_SEGMENTS_MAX || length == 0 ||
            strspn (pattern + param, plain) != length - 2 * (size_t)param)
            return false;
        pattern += length;
    }
    return true;
}
