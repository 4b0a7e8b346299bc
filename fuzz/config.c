/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: configurations.  A refusal names the file; an accepted configuration is the same after
 * encoding and parsing.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/config.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (bool holds)
{
    if (!holds)
        abort ();
}

static char *encode (const struct wire_config *config)
{
    struct pollux_error err;
    json_t *object = wire_config_encode (config, &err);
    char *text = json_dumps (object, JSON_COMPACT);
    json_decref (object);
    must (text != NULL);
    return text;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const char *const policies[] = {"pollux", "fifo", NULL}, *const backends[] = {"local",
                                                                                         NULL};
    static const struct wire_config_names names = {policies, backends};
    struct wire_config config, back;
    struct pollux_error err = {""};
    int code = wire_config_parse ("fuzz", (const char *)data, size, &names, NULL, &config, &err);
    if (code < 0) {
        must ((code == -EINVAL || code == -EFBIG) && strncmp (err.text, "fuzz:", 5) == 0);
        return 0;
    }
    must (config.state[0] == '/' && config.listen[0] && config.node_count <= WIRE_CONFIG_NODES);
    for (int i = 0; i < config.node_count; i++)
        must (config.nodes[i].slots >= 1 && config.nodes[i].name[0]);
    char *text = encode (&config);
    if (strlen (text) <= WIRE_CONFIG_LIMIT) {
        must (wire_config_parse ("c.json", text, strlen (text), &names, NULL, &back, &err) == 0);
        char *again = encode (&back);
        must (strcmp (text, again) == 0);
        free (again);
        wire_config_clear (&back);
    }
    free (text);
    wire_config_clear (&config);
    return 0;
}
