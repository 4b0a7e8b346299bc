/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a node, and the sentence about it, from the fields of the daemon's JSON. */
#include "cli/node_text.h"

#include <string.h>

#include "cli/answer_text.h"

const char *node_state (const json_t *node)
{
    const char *power = answer_text (node, "power");
    if (power[0] && strcmp (power, "up") != 0)
        return power;
    if (answer_number (node, "slots") == 0)
        return "gone";
    return answer_true (node, "available") ? "available" : "drained";
}

bool node_is_off (const json_t *node)
{
    return strcmp (answer_text (node, "power"), "off") == 0;
}

int node_print (const json_t *node, FILE *out, struct pollux_error *err)
{
    (void)err;
    fprintf (out, "%s: %s", answer_text (node, "name"), node_state (node));
    if (answer_number (node, "slots") > 0)
        fprintf (out, ", %s of %s slots in use", answer_count (answer_number (node, "used")).text,
                 answer_count (answer_number (node, "slots")).text);
    fputc ('\n', out);
    return 0;
}
