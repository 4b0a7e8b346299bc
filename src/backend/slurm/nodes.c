/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes, from sinfo -N.  A node is written once for each of its partitions; names of nodes come from
 * slurm.conf, so that their lines need no key.
 */
#define _GNU_SOURCE
#include "backend/slurm/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/slurm/lines.h"
#include "base/array.h"
#include "base/error.h"
#include "base/excerpt.h"
#include "base/file.h"
#include "wire/submission.h"

/* 300 bytes for each of NODES_LIMIT nodes in three partitions: the limit of command_set.h. */
enum { TEXT_LIMIT = 64 << 20 };

enum field {
    NAME,
    STATE,
    GRES,
    GRES_USED,
    ADDRESS,
    CPUS,
    MEMORY,
    MEMORY_USED,
    AVAILABLE, /* of the partition */
    REST,
    FIELD_COUNT
};

int slurm_nodes_words (const struct slurm_nodes_query *query, struct words *ret)
{
    struct words words = {.count = 0};
    words_add (&words, "sinfo");
    words_add (&words, "-h");
    words_add (&words, "-N");
    if (query->partition)
        words_add (&words, "--partition=%s", query->partition);
    if (query->nodes)
        words_add (&words, "--nodes=%s", query->nodes);
    words_add (&words, "-O");
    words_add (&words, "NodeList:|,StateLong:|,Gres:|,GresUsed:|,NodeAddr:|,CPUsState:|,Memory:|,"
                       "AllocMem:|,Available:|");
    int code = words_check (&words);
    if (code == 0)
        *ret = words;
    return code;
}

static int wrong (const struct slurm_lines *lines, const char *what, const char *field,
                  struct pollux_error *err)
{
    return fail (err, -EPROTO, "sinfo, line %d: %s: %s", lines->number, what, quote (field).text);
}

/* "allocated/idle/other/total" */
static bool parse_cpus (const char *field, struct slurm_node *node)
{
    int64_t numbers[4];
    char part[24];
    for (int i = 0; i < 4; i++) {
        size_t length = strcspn (field, "/");
        if (length == 0 || length >= sizeof (part) || (field[length] == '/') != (i < 3))
            return false;
        memcpy (part, field, length);
        part[length] = '\0';
        numbers[i] = slurm_field_number (part, INT32_MAX);
        if (numbers[i] < 0)
            return false;
        field += length + (i < 3);
    }
    node->cpus_used = (int)numbers[0];
    node->cpus = (int)numbers[3];
    return true;
}

static int parse_gres (const struct slurm_nodes_query *query, const struct slurm_lines *lines,
                       char **fields, struct slurm_node *node, struct pollux_error *err)
{
    const char *name = query->gres ? query->gres : "gpu", *type = query->type ? query->type : "";
    struct pollux_error why = {.text = ""};
    struct slurm_gres used;
    int code =
        slurm_gres_parse (fields[GRES], strlen (fields[GRES]), name, type, &node->gres, &why);
    if (code == 0)
        code = slurm_gres_parse (fields[GRES_USED], strlen (fields[GRES_USED]), name,
                                 node->gres.type, &used, &why);
    if (code < 0)
        return fail (err, code, "sinfo, line %d: node %s: %s", lines->number, node->name, why.text);
    /* Resources without a type on the node are used without a type. */
    node->gres_used = node->gres.type[0] ? used.count : used.count + used.others;
    return 0;
}

static int parse_node (const struct slurm_nodes_query *query, const struct slurm_lines *lines,
                       char **fields, struct slurm_node *ret, struct pollux_error *err)
{
    struct slurm_node node = {.name = ""};
    if (!wire_is_job (fields[NAME]))
        return wrong (lines, "not a name of a node", fields[NAME], err);
    strcpy (node.name, fields[NAME]);
    if (strlen (fields[STATE]) >= sizeof (node.state) || !fields[STATE][0])
        return wrong (lines, "not a state of a node", fields[STATE], err);
    strcpy (node.state, fields[STATE]);
    const char *address = slurm_field_text (fields[ADDRESS]);
    if (!*address)
        address = node.name;
    /* Host names, and addresses of both kinds; it is given to programs as an argument. */
    if (strlen (address) >= SLURM_ADDRESS_SIZE || *address == '-' ||
        strspn (address, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:%[]") !=
            strlen (address))
        return wrong (lines, "not an address", address, err);
    strcpy (node.address, address);
    if (!parse_cpus (fields[CPUS], &node))
        return wrong (lines, "not numbers of CPUs", fields[CPUS], err);
    node.memory_mb = slurm_field_number (fields[MEMORY], INT64_MAX);
    node.memory_used_mb = slurm_field_number (fields[MEMORY_USED], INT64_MAX);
    if (node.memory_mb < 0)
        return wrong (lines, "not a size of memory", fields[MEMORY], err);
    if (node.memory_used_mb < 0)
        return wrong (lines, "not a size of memory", fields[MEMORY_USED], err);
    node.closed = strcmp (fields[AVAILABLE], "up") != 0;
    int code = parse_gres (query, lines, fields, &node, err);
    if (code == 0)
        *ret = node;
    return code;
}

static int compare (const void *a, const void *b)
{
    return strcmp (((const struct slurm_node *)a)->name, ((const struct slurm_node *)b)->name);
}

/* Sort, and remove repetitions: a node is open if one of its partitions is. */
static void sort_nodes (struct slurm_nodes *nodes)
{
    int kept = 0;
    if (nodes->count > 0)
        qsort (nodes->list, (size_t)nodes->count, sizeof (*nodes->list), compare);
    for (int i = 0; i < nodes->count; i++)
        if (i == 0 || strcmp (nodes->list[kept - 1].name, nodes->list[i].name) != 0)
            nodes->list[kept++] = nodes->list[i];
        else
            nodes->list[kept - 1].closed &= nodes->list[i].closed;
    nodes->count = kept;
}

static int add_node (struct slurm_nodes *nodes, const struct slurm_node *node)
{
    return array_append (&nodes->list, &nodes->count, &nodes->capacity, node, sizeof (*node));
}

int slurm_nodes_parse (const struct slurm_nodes_query *query, const char *text, size_t length,
                       struct slurm_nodes *ret, struct pollux_error *err)
{
    struct slurm_nodes nodes = {.count = 0};
    struct slurm_node node;
    char *copy, *fields[FIELD_COUNT];
    int code = file_copy_text ("sinfo", text, length, TEXT_LIMIT, &copy, err), more;
    if (code < 0)
        return code;
    struct slurm_lines lines = {.at = copy, .end = copy + length, .key = ""};
    while (code == 0 && (more = slurm_lines_next (&lines, fields, FIELD_COUNT, FIELD_COUNT)) != 0) {
        if (more < 0)
            code = fail (err, -EPROTO, "sinfo, line %d: expected %d fields with '|' behind each",
                         lines.number, REST);
        else
            code = parse_node (query, &lines, fields, &node, err);
        if (code == 0 && add_node (&nodes, &node) < 0)
            code = fail (err, -ENOMEM, "not enough memory");
    }
    free (copy);
    sort_nodes (&nodes);
    if (code == 0 && nodes.count > NODES_LIMIT)
        code = fail (err, -EPROTO, "sinfo: more than %d nodes", NODES_LIMIT);
    if (code < 0)
        slurm_nodes_clear (&nodes);
    else
        *ret = nodes;
    return code;
}

void slurm_nodes_clear (struct slurm_nodes *nodes)
{
    free (nodes->list);
    *nodes = (struct slurm_nodes){0};
}

const struct slurm_node *slurm_nodes_find (const struct slurm_nodes *nodes, const char *name)
{
    struct slurm_node key = {.name = ""};
    if (nodes->count == 0 || strlen (name) >= sizeof (key.name))
        return NULL;
    strcpy (key.name, name);
    return bsearch (&key, nodes->list, (size_t)nodes->count, sizeof (key), compare);
}
