/* SPDX-License-Identifier: Apache-2.0 */
/* Cluster files that are refused, and what the sentence says. */
#include "unit.h"

#include <string.h>

#include "wire/node_groups.h"

/* why: a part of the message; NULL: the file is good. */
static const struct row {
    const char *groups, *why;
} rows[] = {
    {"{name: g, max: 1024, gpus_per_node: 1024}", NULL},
    {"{name: g, max: 1025, gpus_per_node: 1024}", "at most 1048576, got 1049600"},
    {"{name: g, max: 1024, gpus_per_node: 1024}, {name: h, max: 1, gpus_per_node: 1}",
     "at most 1048576, got 1048577"},
    {"{name: g, max: 2, min: 3, gpus_per_node: 1}",
     "groups[0].min: expected min to be at most max, which is 2, got '3'"},
    {"{name: g, max: 2, nodes: 3, gpus_per_node: 1}",
     "groups[0].nodes: expected nodes to be between min and max, 0 and 2, got '3'"},
    {"{name: g, max: 3, names: 'g[1-2]', gpus_per_node: 1}",
     "groups[0].names: expected as many names as max, which is 3, got ''g[1-2]''"},
    {"{name: g, max: 1, gpus_per_node: 1, boot_s: 60, boot_limit_s: 60}", NULL},
    {"{name: g, max: 1, gpus_per_node: 1, boot_s: 60, boot_limit_s: 59}",
     "groups[0].boot_limit_s: expected at least boot_s, which is 60, got '59'"},
    {"{type: g, max: 1, gpus_per_node: 1}, {type: h, max: 1, gpus_per_node: 1}", NULL},
    {"{type: g, max: 1, gpus_per_node: 1}, {name: h, max: 1, gpus_per_node: 1}",
     "groups: group g has a type and group h none"},
};

static void files (void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct node_group groups[NODE_GROUPS_LIMIT];
        struct pollux_error err = {.text = ""};
        char text[512];
        int count = 0, length = snprintf (text, sizeof (text), "groups: [%s]", rows[i].groups);
        int rc = wire_node_groups_parse_file ("f.yaml", text, (size_t)length, WIRE_YAML, groups,
                                              &count, &err);
        if (rows[i].why ? rc == 0 || !strstr (err.text, rows[i].why) : rc < 0)
            fail_msg ("%s: %d %s", rows[i].groups, rc, err.text);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test (files)};
    return cmocka_run_group_tests (tests, NULL, NULL);
}
