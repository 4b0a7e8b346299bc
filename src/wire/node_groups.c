/* SPDX-License-Identifier: Apache-2.0 */
/* Reads groups of nodes from an option or a file, and checks their fields against each other. */
#include "wire/node_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "wire/keys.h"
#include "wire/member.h"
#include "wire/problem.h"
#include "wire/submission.h"
#include "wire/yaml.h"

/* A file of NODE_GROUPS_LIMIT groups has some kilobytes. */
#define FILE_LIMIT ((size_t)64 << 10)

struct groups {
    struct node_group list[NODE_GROUPS_LIMIT];
    int count;
};

static bool has (const struct groups *groups, const char *name)
{
    return node_groups_find (groups->list, groups->count, name) >= 0;
}

/* ---- An option ---------------------------------------------------------------------------- */

/* TYPE:NxGPUS; false: it is something else. */
static bool parse_group (const char *text, struct node_group *ret)
{
    char type[NAME_SIZE], number[2][24];
    int64_t nodes, slots;
    if (sscanf (text, "%63[^:]:%20[0-9]x%20[0-9]", type, number[0], number[1]) != 3 ||
        strlen (text) != strlen (type) + strlen (number[0]) + strlen (number[1]) + 2 ||
        !wire_is_job (type) || number_int64 (number[0], &nodes) < 0 ||
        number_int64 (number[1], &slots) < 0 || nodes < 1 || nodes > NODES_LIMIT || slots < 1 ||
        slots > SLOTS_LIMIT)
        return false;
    *ret = (struct node_group){.nodes = (int)nodes,
                               .min_nodes = (int)nodes,
                               .max_nodes = (int)nodes,
                               .slots_per_node = (int)slots};
    memcpy (ret->type, type, strlen (type));
    memcpy (ret->name, type, strlen (type));
    return node_group_check (ret, NULL, NULL) == 0;
}

static int parse_groups (char *text, struct groups *ret, struct pollux_error *err)
{
    while (text) {
        const char *word = strsep (&text, ",");
        struct node_group group;
        if (!parse_group (word, &group))
            return fail (err, -EINVAL,
                         "expected TYPE:NODESxGPUS, such as t4:6x4, with 1 to %d nodes of 1 to %d "
                         "GPUs, got %s",
                         NODES_LIMIT, SLOTS_LIMIT, quote (word).text);
        if (has (ret, group.name))
            return fail (err, -EINVAL, "type %s: expected one group of nodes, got two", group.type);
        if (ret->count == NODE_GROUPS_LIMIT)
            return fail (err, -EINVAL, "more than %d types of nodes", NODE_GROUPS_LIMIT);
        ret->list[ret->count++] = group;
    }
    return 0;
}

static void give (const struct groups *groups, struct node_group ret[NODE_GROUPS_LIMIT], int *count)
{
    memcpy (ret, groups->list, sizeof (groups->list));
    *count = groups->count;
}

int wire_node_groups_parse (const char *text, struct node_group ret[NODE_GROUPS_LIMIT], int *count,
                            struct pollux_error *err)
{
    struct groups groups = {.count = 0};
    char *copy = strdup (text);
    int code = copy ? parse_groups (copy, &groups, err)
                    : fail (err, -ENOMEM, "no memory for the groups of nodes");
    free (copy);
    if (code == 0)
        give (&groups, ret, count);
    return code;
}

/* ---- A file ------------------------------------------------------------------------------- */

/* -1 means absent. */
#define NODES .optional = true, .missing = -1, .max = NODES_LIMIT
static const struct wire_member group_members[] = {
    {WIRE_MEMBER (node_group, name, WIRE_NAME), .optional = true},
    {WIRE_MEMBER (node_group, type, WIRE_NAME), .optional = true},
    {WIRE_MEMBER (node_group, names, WIRE_NAME), .optional = true},
    {WIRE_MEMBER (node_group, nodes, WIRE_INT), NODES},
    {WIRE_FIELD ("min", node_group, min_nodes, WIRE_INT), NODES},
    {WIRE_FIELD ("max", node_group, max_nodes, WIRE_INT), NODES},
    {WIRE_FIELD ("gpus_per_node", node_group, slots_per_node, WIRE_INT), .min = 1,
     .max = SLOTS_LIMIT},
    {WIRE_MEMBER (node_group, boot_s, WIRE_DOUBLE), .optional = true, .max = 86400},
    {WIRE_MEMBER (node_group, boot_limit_s, WIRE_DOUBLE), .optional = true, .max = 86400},
    {WIRE_MEMBER (node_group, price_per_node_hour, WIRE_DOUBLE), .optional = true, .max = 1e9},
    {WIRE_MEMBER (node_group, revocable, WIRE_BOOL), .optional = true},
    {WIRE_MEMBER (node_group, notice_s, WIRE_DOUBLE), .optional = true, .max = 86400},
    {WIRE_MEMBER (node_group, revocations_per_day, WIRE_DOUBLE), .optional = true, .max = 1e4},
    {WIRE_MEMBER (node_group, surplus_names, WIRE_INT), .optional = true, .max = NODES_LIMIT},
    {WIRE_MEMBER (node_group, retired, WIRE_BOOL), .optional = true},
    {0},
};
static const char *const group_keys[] = {"name",
                                         "type",
                                         "names",
                                         "nodes",
                                         "min",
                                         "max",
                                         "gpus_per_node",
                                         "boot_s",
                                         "boot_limit_s",
                                         "price_per_node_hour",
                                         "revocable",
                                         "notice_s",
                                         "revocations_per_day",
                                         "surplus_names",
                                         "retired",
                                         NULL};

/* What is not given follows from the rest.  False: neither nodes nor max is given. */
static bool complete (struct node_group *group)
{
    bool given = group->nodes >= 0 || group->max_nodes >= 0;
    if (group->max_nodes < 0)
        group->max_nodes = group->nodes;
    if (group->min_nodes < 0)
        group->min_nodes = group->nodes < 0 || group->max_nodes != group->nodes ? 0 : group->nodes;
    if (group->nodes < 0)
        group->nodes = group->min_nodes;
    if (!group->name[0])
        memcpy (group->name, group->type, sizeof (group->name));
    return given;
}

static const char letters[] = "expected letters, digits, '.', '_' and '-'";

int wire_node_group_decode (const struct wire_place *place, struct node_group *ret,
                            struct pollux_error *err)
{
    struct node_group group = {.nodes = 0};
    struct wire_place type = wire_field (place, "type"), name = wire_field (place, "name");
    int code = wire_expect_object (place, err);
    if (code == 0)
        code = wire_expect_keys (place, group_keys, err);
    if (code == 0)
        code = wire_members_decode (group_members, place, &group, err);
    if (code == 0 && !complete (&group))
        code = wire_fail (place, err, "expected nodes or max");
    if (code == 0 && !group.name[0])
        code = wire_fail (place, err, "expected a name or a type");
    if (code == 0 && group.type[0] && !wire_is_job (group.type))
        code = wire_fail (&type, err, "%s", letters);
    if (code == 0 && !wire_is_job (group.name))
        code = wire_fail (name.value ? &name : &type, err, "%s", letters);
    const char *wrong;
    struct pollux_error why;
    if (code == 0 && node_group_check (&group, &wrong, &why) < 0) {
        struct wire_place field = wire_field (place, wrong);
        code = wire_fail (field.value ? &field : place, err, "%s", why.text);
    }
    if (code == 0)
        *ret = group;
    return code;
}

int wire_node_group_put (const struct node_group *group, json_t *object, struct pollux_error *err)
{
    struct pollux_error why = {""};
    int code = node_group_check (group, NULL, &why);
    if (!wire_is_job (group->name) || (group->type[0] && !wire_is_job (group->type)))
        code = fail (&why, -EINVAL, "%s", letters);
    if (code < 0)
        return fail (err, code, "group %s: %s", quote (group->name).text, why.text);
    return wire_members_encode (group_members, group, object, err);
}

static int decode_group (const struct wire_place *place, struct groups *ret,
                         struct pollux_error *err)
{
    struct node_group group;
    int code = wire_node_group_decode (place, &group, err);
    if (code == 0 && has (ret, group.name))
        code = wire_fail (place, err, "expected one group for each name (without name: the type)");
    for (int i = 0; code == 0 && i < ret->count; i++)
        if (node_groups_overlap (&group, &ret->list[i]))
            code = wire_fail (place, err, "expected nodes of other names than those of group %s",
                              ret->list[i].name);
    if (code == 0)
        ret->list[ret->count++] = group;
    return code;
}

/* Any number of groups. */
static int decode_list (const struct wire_place *object, struct groups *ret,
                        struct pollux_error *err)
{
    struct wire_place list = wire_field (object, "groups");
    size_t count = 0;
    int code = wire_count_elements (&list, NODE_GROUPS_LIMIT, "groups", &count, err);
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place place = wire_element (&list, i);
        code = decode_group (&place, ret, err);
    }
    return code;
}

/* What the policies can decide on: the largest size is one that they are asked about. */
static int check_slots (const struct groups *groups, struct pollux_error *err)
{
    int64_t slots = 0;
    for (int i = 0; i < groups->count; i++)
        slots += (int64_t)groups->list[i].max_nodes * groups->list[i].slots_per_node;
    return slots <= PROBLEM_SLOTS_LIMIT
               ? 0
               : fail (err, -EINVAL,
                       "expected a sum of max x gpus_per_node of at most %d, got %" PRId64,
                       PROBLEM_SLOTS_LIMIT, slots);
}

/* What journals of earlier versions may have, and files must not. */
static int check_file (const struct wire_place *list, const struct groups *groups,
                       struct pollux_error *err)
{
    struct pollux_error why = {""};
    for (int i = 0; i < groups->count; i++) {
        const struct node_group *group = &groups->list[i];
        struct wire_place place = wire_element (list, (size_t)i);
        struct wire_place limit = wire_field (&place, "boot_limit_s");
        if (group->boot_limit_s > 0 && group->boot_limit_s < group->boot_s)
            return wire_fail (&limit, err, "expected at least boot_s, which is %g", group->boot_s);
    }
    int code = check_slots (groups, &why);
    if (code == 0)
        code = node_groups_check_types (groups->list, groups->count, &why);
    return code < 0 ? wire_fail_key (list, err, "%s", why.text) : 0;
}

static int decode_groups (const struct wire_place *root, struct groups *ret,
                          struct pollux_error *err)
{
    static const char *const keys[] = {"groups", NULL};
    struct wire_place list = wire_field (root, "groups");
    int code = wire_expect_object (root, err);
    if (code == 0)
        code = wire_expect_keys (root, keys, err);
    if (code == 0)
        code = decode_list (root, ret, err);
    if (code == 0 && ret->count == 0)
        code = wire_fail (&list, err, "expected at least one group");
    if (code == 0)
        code = check_file (&list, ret, err);
    return code;
}

/* ---- With a goal, in journals ------------------------------------------------------------- */

int wire_goal_groups_decode (const struct wire_place *object, struct goal *goal,
                             struct node_group ret[NODE_GROUPS_LIMIT], int *count,
                             struct pollux_error *err)
{
    struct wire_place place = wire_field (object, "goal");
    struct groups groups = {.count = 0};
    struct pollux_error why = {""};
    const char *text;
    int code = wire_expect_object (object, err);
    if (code == 0)
        code = wire_text (object, "goal", &text, err);
    if (code == 0 && goal_parse (text, goal, &why) < 0)
        code = wire_fail (&place, err, "%s", why.text);
    if (code == 0)
        code = decode_list (object, &groups, err);
    if (code == 0)
        give (&groups, ret, count);
    return code;
}

int wire_goal_groups_put (const struct goal *goal, const struct node_group *groups, int count,
                          json_t *object, struct pollux_error *err)
{
    char text[GOAL_SIZE];
    struct goal same;
    goal_format (goal, text);
    int code = goal_parse (text, &same, err);
    if (code == 0)
        code = wire_put (object, "goal", json_string (text), err);
    if (code < 0)
        return code;
    json_t *list = json_array ();
    code = wire_put (object, "groups", list, err);
    for (int i = 0; code == 0 && i < count; i++) {
        json_t *group = json_object ();
        code = json_array_append_new (list, group) < 0
                   ? fail (err, -ENOMEM, "not enough memory")
                   : wire_node_group_put (&groups[i], group, err);
    }
    return code;
}

/* Decode and free a document that was opened with this code. */
static int finish (struct wire_document *document, int code, struct wire_diagnostics *diagnostics,
                   const char *name, struct node_group ret[NODE_GROUPS_LIMIT], int *count,
                   struct pollux_error *err)
{
    struct groups groups = {.count = 0};
    if (code == 0) {
        struct wire_place root = wire_root (document);
        code = decode_groups (&root, &groups, err);
        wire_document_free (document);
    }
    code = wire_diagnostics_conclude (diagnostics, code, name, err);
    if (code == 0)
        give (&groups, ret, count);
    return code;
}

int wire_node_groups_parse_file (const char *name, const char *text, size_t length,
                                 enum wire_syntax syntax, struct node_group ret[NODE_GROUPS_LIMIT],
                                 int *count, struct pollux_error *err)
{
    struct wire_document *document = NULL;
    struct wire_diagnostics diagnostics = {0};
    int code = wire_document_open_text (name, text, length, FILE_LIMIT, syntax, &diagnostics,
                                        &document, err);
    return finish (document, code, &diagnostics, name, ret, count, err);
}

int wire_node_groups_read (const char *path, struct node_group ret[NODE_GROUPS_LIMIT], int *count,
                           struct pollux_error *err)
{
    struct wire_document *document = NULL;
    struct wire_diagnostics diagnostics = {0};
    int code = wire_document_open (path, FILE_LIMIT, wire_syntax_of_path (path), &diagnostics,
                                   &document, err);
    return finish (document, code, &diagnostics, path, ret, count, err);
}
