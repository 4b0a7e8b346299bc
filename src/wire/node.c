/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parse the declaration of a node, in an option or in the configuration.
 */
#include "wire/node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/excerpt.h"
#include "base/number.h"
#include "wire/keys.h"
#include "wire/member.h"
#include "wire/submission.h"

static const struct wire_member node_members[] = {
    {WIRE_MEMBER (node, name, WIRE_NAME)},
    {WIRE_MEMBER (node, slots, WIRE_INT), .min = 1, .max = SLOTS_LIMIT},
    {WIRE_MEMBER (node, type, WIRE_NAME), .optional = true},
    {0},
};

/* Copy the text up to the next colon and move *text after it; false: too long for a name. */
static bool next_part (const char **text, char ret[NAME_SIZE])
{
    size_t length = strcspn (*text, ":");
    if (length >= NAME_SIZE)
        return false;
    memset (ret, 0, NAME_SIZE);
    memcpy (ret, *text, length);
    *text += length + ((*text)[length] == ':');
    return true;
}

static bool parse (const char *text, struct node *ret)
{
    const char *at = text;
    char slots[NAME_SIZE];
    int64_t count;
    *ret = (struct node){.available = true};
    if (!next_part (&at, ret->name) || !next_part (&at, slots) || !next_part (&at, ret->type) ||
        *at || at[-1] == ':')
        return false;
    if (!wire_is_job (ret->name) || (ret->type[0] && !wire_is_job (ret->type)))
        return false;
    if (number_int64 (slots, &count) < 0 || count < 1 || count > SLOTS_LIMIT)
        return false;
    ret->slots = (int)count;
    return true;
}

static const char expected[] = "expected NAME:SLOTS or NAME:SLOTS:TYPE with 1 to %d slots, such "
                               "as left:4";

int wire_node_parse (const char *text, struct node *ret, struct pollux_error *err)
{
    struct node node;
    char sentence[160];
    snprintf (sentence, sizeof (sentence), expected, SLOTS_LIMIT);
    if (!*text || !parse (text, &node))
        return fail (err, -EINVAL, "node %s: %s", quote (text).text, sentence);
    *ret = node;
    return 0;
}

int wire_node_decode (const struct wire_place *place, struct node *ret, struct pollux_error *err)
{
    static const char *const keys[] = {"name", "slots", "type", NULL};
    struct node node = {.available = true};
    const char *text = json_string_value (place->value);
    if (!json_is_object (place->value)) {
        if (!text || !*text || !parse (text, &node))
            return wire_fail (place, err, expected, SLOTS_LIMIT);
        *ret = node;
        return 0;
    }
    int code = wire_expect_keys (place, keys, err);
    int members = wire_members_decode (node_members, place, &node, err);
    if (members == 0 && (!wire_is_job (node.name) || (node.type[0] && !wire_is_job (node.type)))) {
        struct wire_place name = wire_field (place, wire_is_job (node.name) ? "type" : "name");
        members = wire_fail (&name, err, "expected letters, digits, '.', '_' and '-'");
    }
    code = wire_worse (code, members);
    if (code == 0)
        *ret = node;
    return code;
}
