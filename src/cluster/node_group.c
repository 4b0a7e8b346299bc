/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the nodes of a group, and which values are legal. */
#include "cluster/node_group.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* How the names of nodes are made: the prefix, then first + i with at least `width` digits. */
struct name_range {
    char prefix[NAME_SIZE];
    int first, last, width;
};

/* A number of 1 to 6 digits; its length, or 0. */
static int parse_number (const char *text, int *ret)
{
    int length = 0;
    *ret = 0;
    for (; length < 6 && isdigit ((unsigned char)text[length]); length++)
        *ret = 10 * *ret + (text[length] - '0');
    return length;
}

/* PREFIX[FIRST-LAST].  The prefix may have letters, digits, '.', '_' and '-': hooks and Slurm get lists of names. */
static bool parse_range (const char *text, struct name_range *ret)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t prefix = strspn (text, letters);
    if (prefix == 0 || text[0] == '-' || text[prefix] != '[' || prefix >= NAME_SIZE - 8)
        return false;
    memcpy (ret->prefix, text, prefix);
    ret->prefix[prefix] = '\0';
    const char *at = text + prefix + 1;
    int digits = parse_number (at, &ret->first);
    if (digits == 0 || at[digits] != '-')
        return false;
    ret->width = at[0] == '0' ? digits : 1;
    at += digits + 1;
    digits = parse_number (at, &ret->last);
    return digits > 0 && strcmp (at + digits, "]") == 0 && ret->last >= ret->first;
}

/* How many names belong to a group. */
static int name_count (const struct node_group *group)
{
    return group->max_nodes + group->surplus_names;
}

static struct name_range range_of (const struct node_group *group)
{
    struct name_range range = {.last = name_count (group) - 1, .width = 1};
    if (group->names[0])
        parse_range (group->names, &range);
    else
        snprintf (range.prefix, sizeof (range.prefix), "%.*s-", NAME_SIZE - 10, group->name);
    return range;
}

void node_group_node (const struct node_group *group, int i, char ret[NAME_SIZE])
{
    struct name_range range = range_of (group);
    snprintf (ret, NAME_SIZE, "%.*s%0*d", NAME_SIZE - 8, range.prefix, range.width,
              range.first + i);
}

int node_group_index (const struct node_group *group, const char *name)
{
    struct name_range range = range_of (group);
    size_t prefix = strlen (range.prefix);
    int number, digits;
    char same[NAME_SIZE];
    if (strncmp (name, range.prefix, prefix) != 0)
        return -1;
    digits = parse_number (name + prefix, &number);
    if (digits == 0 || name[prefix + (size_t)digits] != '\0' || number < range.first ||
        number - range.first >= name_count (group))
        return -1;
    node_group_node (group, number - range.first, same); /* the zeros in front count, too */
    return strcmp (name, same) == 0 ? number - range.first : -1;
}

int node_group_check (const struct node_group *group, const char **ret_field,
                      struct pollux_error *err)
{
    struct name_range range;
    const char *ignored = NULL, **field = ret_field ? ret_field : &ignored;
    *field = "name";
    if (strlen (group->name) > NAME_SIZE - 10)
        return fail (err, -EINVAL, "expected a name of at most %d bytes", NAME_SIZE - 10);
    *field = "min";
    if (group->min_nodes > group->max_nodes)
        return fail (err, -EINVAL, "expected min to be at most max, which is %d", group->max_nodes);
    if (group->retired && group->min_nodes > 0)
        return fail (err, -EINVAL, "expected min 0, because the group is retired");
    *field = "nodes";
    if (group->nodes < group->min_nodes || group->nodes > group->max_nodes)
        return fail (err, -EINVAL, "expected nodes to be between min and max, %d and %d",
                     group->min_nodes, group->max_nodes);
    *field = "names";
    if (group->names[0] && !parse_range (group->names, &range))
        return fail (err, -EINVAL, "expected names as PREFIX[FIRST-LAST], such as gpu[001-032]");
    if (group->names[0] && range.last - range.first + 1 < name_count (group))
        return fail (err, -EINVAL, "expected as many names as max, which is %d", group->max_nodes);
    *field = "surplus_names";
    if (group->surplus_names > NODES_LIMIT - group->max_nodes)
        return fail (err, -EINVAL, "expected at most %d names", NODES_LIMIT);
    *field = "revocable";
    if (!group->revocable && (group->notice_s > 0 || group->revocations_per_day > 0))
        return fail (err, -EINVAL, "expected revocable: true with notice_s or revocations_per_day");
    return 0;
}

/* True if a name of the first may be one of the second although their prefixes differ: "gpu1[0-5]" and "gpu[0-99]". */
static bool continues (const struct name_range *a, const struct name_range *b)
{
    size_t length = strlen (b->prefix);
    const char *rest = a->prefix + length;
    return strncmp (a->prefix, b->prefix, length) == 0 && *rest &&
           rest[strspn (rest, "0123456789")] == '\0';
}

bool node_groups_overlap (const struct node_group *a, const struct node_group *b)
{
    struct name_range x = range_of (a), y = range_of (b);
    if (continues (&y, &x))
        return node_groups_overlap (b, a);
    /* With the same prefix the last name of one of them is in both. */
    bool all = continues (&x, &y);
    if (!all && strcmp (x.prefix, y.prefix) != 0)
        return false;
    for (int i = all ? 0 : name_count (a) - 1; i >= 0 && i < name_count (a); i++) {
        char name[NAME_SIZE];
        node_group_node (a, i, name);
        if (node_group_index (b, name) >= 0)
            return true;
    }
    if (all || name_count (b) == 0)
        return false;
    char last[NAME_SIZE];
    node_group_node (b, name_count (b) - 1, last);
    return node_group_index (a, last) >= 0;
}

int node_group_most (const struct node_group *group)
{
    return group->retired ? 0 : group->max_nodes;
}

double node_group_revocations (const struct node_group *group)
{
    return group->revocations_per_day / 86400;
}

int node_groups_find_node (const struct node_group *groups, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (node_group_index (&groups[i], name) >= 0)
            return i;
    return -1;
}

int node_groups_find (const struct node_group *groups, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp (groups[i].name, name) == 0)
            return i;
    return -1;
}

int node_groups_check_types (const struct node_group *groups, int count, struct pollux_error *err)
{
    for (int i = 1; i < count; i++)
        if (!groups[i].type[0] != !groups[0].type[0])
            return fail (err, -EINVAL,
                         "group %s has %s and group %s %s: expected a type for all groups, or for "
                         "none",
                         groups[0].name, groups[0].type[0] ? "a type" : "no type", groups[i].name,
                         groups[i].type[0] ? "one" : "none");
    return 0;
}

int node_groups_check_prices (const struct node_group *groups, int count, const struct goal *goal,
                              struct pollux_error *err)
{
    for (int i = 0; goal->kind == GOAL_BUDGET && i < count; i++)
        if (!(groups[i].price_per_node_hour > 0))
            return fail (err, -EINVAL,
                         "group %s has no price: a budget needs price_per_node_hour of each group",
                         groups[i].name);
    return 0;
}
