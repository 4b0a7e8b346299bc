/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of hosts.  "rack[1-2]-n[01-02],m1" is a list of patterns; each pair of brackets stands for
 * numbers and ranges; several brackets are nested loops, the last one the fastest.  Leading zeros are kept.
 */
#define _GNU_SOURCE
#include "backend/slurm/hostlist.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "cluster/node.h"
#include "wire/submission.h"

/* Three brackets and more are not known in practice; each one is a level of recursion. */
enum { BRACKETS_LIMIT = 4, DIGITS_LIMIT = 9 };

struct expansion {
    const char *text; /* the whole list, for messages */
    struct words *ret;
    struct pollux_error *err;
};

static int wrong (const struct expansion *expansion)
{
    return fail (expansion->err, -EPROTO, "%s is not a list of hosts such as n[0-3],m1",
                 quote (expansion->text).text);
}

/* A number of at most DIGITS_LIMIT digits at *at, which moves behind it; its width.  0: there is none. */
static int read_number (const char **at, const char *end, int64_t *ret)
{
    int width = 0;
    *ret = 0;
    for (; *at < end && **at >= '0' && **at <= '9' && width <= DIGITS_LIMIT; (*at)++, width++)
        *ret = *ret * 10 + (**at - '0');
    return width <= DIGITS_LIMIT ? width : 0;
}

static int expand (struct expansion *expansion, char name[NAME_SIZE], size_t length, const char *at,
                   const char *end, int level);

static int finish (struct expansion *expansion, char name[NAME_SIZE], size_t length)
{
    name[length] = '\0';
    if (!wire_is_job (name))
        return wrong (expansion);
    if (expansion->ret->count >= NODES_LIMIT)
        return fail (expansion->err, -E2BIG, "%s has more than %d hosts",
                     quote (expansion->text).text, NODES_LIMIT);
    words_add (expansion->ret, "%s", name);
    return expansion->ret->failed ? fail (expansion->err, -ENOMEM, "not enough memory") : 0;
}

/* All numbers of "0-3,7]rest": each with the rest of the pattern behind it. */
static int expand_bracket (struct expansion *expansion, char name[NAME_SIZE], size_t length,
                           const char *at, const char *end, int level)
{
    const char *close = memchr (at, ']', (size_t)(end - at));
    if (!close || level >= BRACKETS_LIMIT)
        return wrong (expansion);
    for (;;) {
        int64_t first, last;
        int width = read_number (&at, close, &first), last_width = width;
        last = first;
        if (width > 0 && at < close && *at == '-') {
            at++;
            last_width = read_number (&at, close, &last);
        }
        if (width == 0 || last_width == 0 || last < first || (at < close && *at != ','))
            return wrong (expansion);
        for (int64_t number = first; number <= last; number++) {
            int added =
                snprintf (name + length, NAME_SIZE - length, "%0*lld", width, (long long)number);
            if ((size_t)added >= NAME_SIZE - length)
                return wrong (expansion);
            int code = expand (expansion, name, length + (size_t)added, close + 1, end, level + 1);
            if (code < 0)
                return code;
        }
        if (at == close)
            return 0;
        at++;
    }
}

static int expand (struct expansion *expansion, char name[NAME_SIZE], size_t length, const char *at,
                   const char *end, int level)
{
    for (; at < end; at++) {
        if (*at == '[')
            return expand_bracket (expansion, name, length, at + 1, end, level);
        if (length + 1 >= NAME_SIZE)
            return wrong (expansion);
        name[length++] = *at;
    }
    return finish (expansion, name, length);
}

/* The end of the first pattern: a comma outside brackets, or the end of the text. */
static const char *pattern_end (const char *at)
{
    bool inside = false;
    for (; *at && (inside || *at != ','); at++)
        inside = *at == '[' || (inside && *at != ']');
    return at;
}

int slurm_hostlist_expand (const char *text, struct words *ret, struct pollux_error *err)
{
    struct words words = {.count = 0};
    struct expansion expansion = {.text = text, .ret = &words, .err = err};
    int code = 0;
    for (const char *at = text; code == 0;) {
        char name[NAME_SIZE];
        const char *end = pattern_end (at);
        code = expand (&expansion, name, 0, at, end, 0);
        if (!*end)
            break;
        at = end + 1;
    }
    if (code < 0)
        words_clear (&words);
    else
        *ret = words;
    return code;
}
