/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of generic resources.  An item is NAME[:TYPE][:no_consume][:COUNT][(DETAILS)], without a count
 * it is 1.  DETAILS are sockets "(S:0-1)" or indices "(IDX:0,2-3)" and may hold commas.  A type that is
 * not given is "(null)" in lists of used resources.  squeue puts "gres:" (22.05) or "gres/" before the name.
 */
#define _GNU_SOURCE
#include "backend/slurm/gres.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "wire/submission.h"

struct part {
    const char *text;
    size_t length;
};

static bool same (struct part part, const char *text)
{
    return part.length == strlen (text) && memcmp (part.text, text, part.length) == 0;
}

/* Remove the text up to a separator from the front of *rest.  Separators in parentheses do not count.
 * False: the parentheses do not match. */
static bool next_part (struct part *rest, char separator, struct part *ret)
{
    size_t length = 0;
    int depth = 0;
    for (; length < rest->length; length++) {
        char c = rest->text[length];
        if (c == separator && depth == 0)
            break;
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        if (depth < 0 || depth > 1)
            return false;
    }
    *ret = (struct part){rest->text, length};
    size_t skipped = length < rest->length ? length + 1 : length;
    rest->text += skipped;
    rest->length -= skipped;
    return depth == 0;
}

/* Cut "(DETAILS)" off the end of an item, but not a type "(null)", which follows a colon. */
static void cut_details (struct part *item)
{
    const char *open = memrchr (item->text, '(', item->length);
    if (open && open > item->text && open[-1] != ':')
        item->length = (size_t)(open - item->text);
}

/* A count with an optional factor of 1024: 0..limit.  False: it is no count. */
static bool parse_count (struct part part, int *ret)
{
    static const char factors[] = "KMGT";
    int64_t count = 0;
    size_t digits = 0;
    for (; digits < part.length && part.text[digits] >= '0' && part.text[digits] <= '9'; digits++)
        count = count > INT32_MAX ? count : count * 10 + (part.text[digits] - '0');
    if (digits == 0 || part.length > digits + 1)
        return false;
    if (part.length == digits + 1) {
        const char *factor = part.text[digits] ? strchr (factors, part.text[digits]) : NULL;
        if (!factor)
            return false;
        for (const char *at = factors; at <= factor; at++)
            count = count > INT32_MAX ? count : count * 1024;
    }
    *ret = count > INT32_MAX ? INT32_MAX : (int)count;
    return true;
}

static int wrong (struct part item, struct pollux_error *err)
{
    return fail (err, -EPROTO, "%s is not a resource of Slurm such as gpu:a100:4",
                 excerpt (item.text, item.length).text);
}

/* The type and the count of an item whose name was read. */
static int parse_item (struct part item, struct part rest, char type[NAME_SIZE], int *ret_count,
                       struct pollux_error *err)
{
    struct part part;
    bool counted = false;
    type[0] = '\0';
    *ret_count = 1;
    while (rest.length > 0) {
        if (counted || !next_part (&rest, ':', &part))
            return wrong (item, err);
        if (rest.length == 0 && parse_count (part, ret_count)) {
            counted = true;
        } else if (!same (part, "no_consume") && !same (part, "(null)")) {
            if (type[0] || part.length >= NAME_SIZE)
                return wrong (item, err);
            memcpy (type, part.text, part.length);
            type[part.length] = '\0';
            if (!wire_is_job (type))
                return wrong (item, err);
        }
    }
    return 0;
}

int slurm_gres_parse (const char *text, size_t length, const char *name, const char *type,
                      struct slurm_gres *ret, struct pollux_error *err)
{
    struct slurm_gres sum = {.count = 0};
    struct part rest = {text, length}, item, head;
    char item_type[NAME_SIZE];
    int count;
    bool chosen = type[0] != '\0';
    if (same (rest, "(null)") || same (rest, "N/A"))
        rest.length = 0;
    if (chosen && strlen (type) < NAME_SIZE)
        strcpy (sum.type, type);
    while (rest.length > 0) {
        if (!next_part (&rest, ',', &item) || item.length == 0)
            return wrong ((struct part){text, length}, err);
        struct part inside = item;
        cut_details (&inside);
        if (inside.length > 5 &&
            (memcmp (inside.text, "gres:", 5) == 0 || memcmp (inside.text, "gres/", 5) == 0)) {
            inside.text += 5;
            inside.length -= 5;
        }
        if (!next_part (&inside, ':', &head) || head.length == 0)
            return wrong (item, err);
        if (!same (head, name))
            continue;
        int code = parse_item (item, inside, item_type, &count, err);
        if (code < 0)
            return code;
        if (!chosen && count > 0) {
            strcpy (sum.type, item_type);
            chosen = true;
        }
        int *part = strcmp (item_type, sum.type) == 0 ? &sum.count : &sum.others;
        if (count > SLOTS_LIMIT - *part)
            return fail (err, -EPROTO, "%s: a node has at most %d slots",
                         excerpt (item.text, item.length).text, SLOTS_LIMIT);
        *part += count;
    }
    *ret = sum;
    return 0;
}
