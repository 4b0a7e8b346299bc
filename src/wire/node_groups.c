/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/node_groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "wire/keys.h"
#include "wire/member.h"
#include "wire/submission.h"
#include "wire/yaml.h"

/* A file of NODE_GROUPS_LIMIT groups has some kilobytes. */
#define FILE_LIMIT ((size_t)64 << 10)

struct groups {
    struct node_group list[NODE_GROUPS_LIMIT];
    int count;
};

static const struct node_group *find (const struct groups *groups, const char *type)
{
    for (int i = 0; i < groups->count; i++)
        if (strcmp (groups->list[i].type, type) == 0)
            return &groups->list[i];
    return NULL;
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
    *ret = (struct node_group){.nodes = (int)nodes, .slots_per_node = (int)slots};
    memcpy (ret->type, type, strlen (type));
    return true;
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
        if (find (ret, group.type))
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

static const struct wire_member group_members[] = {
    {WIRE_MEMBER (node_group, type, WIRE_NAME)},
    {WIRE_MEMBER (node_group, nodes, WIRE_INT), .min = 1, .max = NODES_LIMIT},
    {WIRE_FIELD ("gpus_per_node", node_group, slots_per_node, WIRE_INT), .min = 1,
     .max = SLOTS_LIMIT},
    {0},
};

static int decode_group (const struct wire_place *place, struct groups *ret,
                         struct pollux_error *err)
{
    static const char *const keys[] = {"type", "nodes", "gpus_per_node", NULL};
    struct node_group group = {.nodes = 0};
    struct wire_place type = wire_field (place, "type");
    int code = wire_expect_object (place, err);
    if (code == 0)
        code = wire_expect_keys (place, keys, err);
    if (code == 0)
        code = wire_members_decode (group_members, place, &group, err);
    if (code == 0 && !wire_is_job (group.type))
        code = wire_fail (&type, err, "expected letters, digits, '.', '_' and '-'");
    if (code == 0 && find (ret, group.type))
        code = wire_fail (&type, err, "expected one group for each type");
    if (code == 0)
        ret->list[ret->count++] = group;
    return code;
}

static int decode_groups (const struct wire_place *root, struct groups *ret,
                          struct pollux_error *err)
{
    static const char *const keys[] = {"groups", NULL};
    struct wire_place list = wire_field (root, "groups");
    size_t count = 0;
    int code = wire_expect_object (root, err);
    if (code == 0)
        code = wire_expect_keys (root, keys, err);
    if (code == 0)
        code = wire_count_elements (&list, NODE_GROUPS_LIMIT, "groups", &count, err);
    if (code == 0 && count == 0)
        code = wire_fail (&list, err, "expected at least one group");
    for (size_t i = 0; code == 0 && i < count; i++) {
        struct wire_place place = wire_element (&list, i);
        code = decode_group (&place, ret, err);
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
