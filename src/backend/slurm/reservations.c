/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reservations, from scontrol: a line of words KEY=VALUE for each.  The state of a node (sinfo) is not enough: a
 * reserved node on which a job runs is "mixed" or "allocated", and the state says nothing about whose reservation it is.
 */
#include "backend/slurm/reservations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/slurm/slurm_settings.h"
#include "backend/slurm/hostlist.h"
#include "base/error.h"
#include "base/excerpt.h"

/* A node is rarely in more than one reservation at a time. */
enum { RESERVED_LIMIT = 4 * NODES_LIMIT };
/* A list of 16,384 nodes without brackets has some hundred thousand bytes. */
enum { TEXT_LIMIT = 64 << 20, LIST_SIZE = 1 << 20 };

int slurm_reservations_words (struct words *ret)
{
    struct words words = {.count = 0};
    words_add (&words, "scontrol");
    words_add (&words, "-o");
    words_add (&words, "show");
    words_add (&words, "reservation");
    int code = words_check (&words);
    if (code == 0)
        *ret = words;
    return code;
}

static int add_node (struct slurm_reservations *reservations, const char *reservation,
                     const char *node, struct pollux_error *err)
{
    if (reservations->count >= RESERVED_LIMIT)
        return fail (err, -E2BIG, "scontrol: more than %d nodes in reservations", RESERVED_LIMIT);
    /* The capacity is the power of two above count. */
    if ((reservations->count & (reservations->count + 1)) == 0) {
        size_t capacity = 2 * ((size_t)reservations->count + 1);
        struct slurm_reserved_node *list =
            realloc (reservations->list, capacity * sizeof (list[0]));
        if (!list)
            return fail (err, -ENOMEM, "not enough memory");
        reservations->list = list;
    }
    struct slurm_reserved_node *added = &reservations->list[reservations->count++];
    *added = (struct slurm_reserved_node){.node = ""};
    memcpy (added->node, node, strlen (node) + 1); /* slurm_hostlist_expand limits it */
    if (strlen (reservation) < NAME_SIZE)
        memcpy (added->reservation, reservation, strlen (reservation) + 1);
    return 0;
}

static int parse_nodes (struct slurm_reservations *reservations, const char *reservation,
                        const char *nodes, int number, struct pollux_error *err)
{
    struct pollux_error why = {.text = ""};
    struct words words;
    if (strlen (nodes) == LIST_SIZE - 1)
        return fail (err, -E2BIG, "scontrol, line %d: the list of nodes is too long", number);
    int code = slurm_hostlist_expand (nodes, &words, &why);
    if (code < 0)
        return fail (err, code, "scontrol, line %d: reservation %s: %s", number,
                     quote (reservation).text, why.text);
    for (size_t i = 0; code == 0 && i < words.count; i++)
        code = add_node (reservations, reservation, words.list[i], err);
    words_clear (&words);
    return code;
}

static int parse_line (struct slurm_reservations *reservations, const char *line, size_t length,
                       int number, char *nodes, struct pollux_error *err)
{
    static const char none[] = "No reservations in the system", first[] = "ReservationName=";
    char name[2 * NAME_SIZE], state[32];
    if (length == strlen (none) && memcmp (line, none, length) == 0)
        return 0;
    if (length < strlen (first) || memcmp (line, first, strlen (first)) != 0 ||
        !slurm_word_value (line, length, "ReservationName", name, sizeof (name)) || !name[0] ||
        !slurm_word_value (line, length, "State", state, sizeof (state)) ||
        !slurm_word_value (line, length, "Nodes", nodes, LIST_SIZE))
        return fail (err, -EPROTO,
                     "scontrol, line %d: expected ReservationName=, Nodes= and State= of a "
                     "reservation",
                     number);
    if (strcmp (state, "ACTIVE") != 0 || !nodes[0])
        return 0;
    return parse_nodes (reservations, name, nodes, number, err);
}

static int compare (const void *a, const void *b)
{
    return strcmp (((const struct slurm_reserved_node *)a)->node,
                   ((const struct slurm_reserved_node *)b)->node);
}

int slurm_reservations_parse (const char *text, size_t length, struct slurm_reservations *ret,
                              struct pollux_error *err)
{
    struct slurm_reservations reservations = {.count = 0};
    if (length > TEXT_LIMIT)
        return fail (err, -EPROTO, "scontrol: the list of reservations is too long");
    char *nodes = malloc (LIST_SIZE);
    int code = nodes ? 0 : fail (err, -ENOMEM, "not enough memory"), number = 0;
    for (const char *line = text, *end = text + length; code == 0 && line < end;) {
        const char *line_end = memchr (line, '\n', (size_t)(end - line));
        line_end = line_end ? line_end : end;
        number++;
        if (line_end > line)
            code = parse_line (&reservations, line, (size_t)(line_end - line), number, nodes, err);
        line = line_end < end ? line_end + 1 : end;
    }
    free (nodes);
    if (reservations.count > 0)
        qsort (reservations.list, (size_t)reservations.count, sizeof (reservations.list[0]),
               compare);
    if (code < 0)
        slurm_reservations_clear (&reservations);
    else
        *ret = reservations;
    return code;
}

void slurm_reservations_clear (struct slurm_reservations *reservations)
{
    free (reservations->list);
    *reservations = (struct slurm_reservations){0};
}

/* The first entry whose node is not before this one. */
static int first_of (const struct slurm_reservations *reservations, const char *node)
{
    int low = 0, high = reservations->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp (reservations->list[middle].node, node) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum slurm_reserved slurm_reservations_find (const struct slurm_reservations *reservations,
                                             const char *ours, const char *node)
{
    enum slurm_reserved found = SLURM_NOT_RESERVED;
    for (int i = first_of (reservations, node);
         i < reservations->count && strcmp (reservations->list[i].node, node) == 0; i++) {
        if (*ours && strcmp (reservations->list[i].reservation, ours) == 0)
            return SLURM_RESERVED_FOR_US;
        found = SLURM_RESERVED_FOR_OTHERS;
    }
    return found;
}
