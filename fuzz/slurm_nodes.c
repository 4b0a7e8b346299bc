/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what sinfo and scontrol write (nodes, settings, reservations), lists of resources and lists of hosts; the first byte selects
 * which.
 * A refusal has a message; what is accepted is within its limits.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend/slurm/slurm_settings.h"
#include "backend/slurm/hostlist.h"
#include "backend/slurm/nodes.h"
#include "backend/slurm/reservations.h"
#include "wire/submission.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool holds)
{
    if (!holds)
        abort ();
}

static void check_gres (const struct slurm_gres *gres)
{
    must (gres->count >= 0 && gres->count <= SLOTS_LIMIT);
    must (gres->others >= 0 && gres->others <= SLOTS_LIMIT);
    must (gres->type[0] == '\0' || wire_is_job (gres->type));
}

static void try_nodes (const char *text, size_t length)
{
    static const struct slurm_nodes_query query = {0};
    struct slurm_nodes nodes;
    struct pollux_error err = {.text = ""};
    int code = slurm_nodes_parse (&query, text, length, &nodes, &err);
    if (code < 0) {
        must (code == -EPROTO && strncmp (err.text, "sinfo", 5) == 0);
        return;
    }
    for (int i = 0; i < nodes.count; i++) {
        const struct slurm_node *node = &nodes.list[i];
        must (wire_is_job (node->name) && node->address[0] && node->state[0]);
        must (i == 0 || strcmp (nodes.list[i - 1].name, node->name) < 0);
        must (slurm_nodes_find (&nodes, node->name) == node);
        must (node->cpus >= 0 && node->memory_mb >= 0 && node->memory_used_mb >= 0);
        must (node->gres_used >= 0);
        must (slurm_node_use (node->state, false) < SLURM_NODE_USE_COUNT);
        check_gres (&node->gres);
    }
    slurm_nodes_clear (&nodes);
}

static void try_gres (const char *text, size_t length, const char *type)
{
    struct slurm_gres gres;
    struct pollux_error err = {.text = ""};
    int code = slurm_gres_parse (text, length, "gpu", type, &gres, &err);
    if (code < 0)
        must (code == -EPROTO && err.text[0]);
    else
        check_gres (&gres);
}

static void try_hosts (const char *text, size_t length)
{
    struct words words;
    struct pollux_error err = {.text = ""};
    char *copy = strndup (text, length);
    if (!copy)
        return;
    int code = slurm_hostlist_expand (copy, &words, &err);
    free (copy);
    if (code < 0) {
        must ((code == -EPROTO || code == -E2BIG) && err.text[0]);
        return;
    }
    must (words.count >= 1 && words.count <= NODES_LIMIT && words.list[words.count] == NULL);
    for (size_t i = 0; i < words.count; i++)
        must (wire_is_job (words.list[i]));
    words_clear (&words);
}

static void try_reservations (const char *text, size_t length)
{
    struct slurm_reservations found;
    struct pollux_error err = {.text = ""};
    int code = slurm_reservations_parse (text, length, &found, &err);
    if (code < 0) {
        must ((code == -EPROTO || code == -E2BIG) && strncmp (err.text, "scontrol", 8) == 0);
        return;
    }
    for (int i = 0; i < found.count; i++) {
        const struct slurm_reserved_node *node = &found.list[i];
        must (wire_is_job (node->node));
        must (i == 0 || strcmp (found.list[i - 1].node, node->node) <= 0);
        must (slurm_reservations_find (&found, "", node->node) == SLURM_RESERVED_FOR_OTHERS);
        must (slurm_reservations_find (&found, node->reservation, node->node) ==
              (node->reservation[0] ? SLURM_RESERVED_FOR_US : SLURM_RESERVED_FOR_OTHERS));
    }
    slurm_reservations_clear (&found);
}

static void try_config (const char *text, size_t length)
{
    char value[8], part[8];
    int version = slurm_version (text, length);
    must (version >= 0 && version <= 9999);
    if (slurm_config_value (text, length, "Key", value, sizeof (value)))
        slurm_list_value (value, "a", part, sizeof (part));
    must (strlen (value) < sizeof (value));
    slurm_word_value (text, length, "Key", value, sizeof (value));
    must (strlen (value) < sizeof (value) && !strpbrk (value, " \n"));
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    switch (data[0] % 6) {
    case 0:
        try_nodes (text, size - 1);
        break;
    case 1:
        try_gres (text, size - 1, "");
        break;
    case 2:
        try_gres (text, size - 1, "a100");
        break;
    case 3:
        try_config (text, size - 1);
        break;
    case 5:
        try_reservations (text, size - 1);
        break;
    default:
        try_hosts (text, size - 1);
    }
    return 0;
}
