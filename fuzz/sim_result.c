/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: results of `pollux sim --json`, as `pollux report` reads them.  A refusal has a
 * reason; an accepted one can be shown.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorded/outcome.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void must (int holds)
{
    if (!holds)
        abort ();
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct outcome *outcomes;
    struct pollux_error err = {""};
    int count;
    if (outcome_parse_result ("fuzz", (const char *)data, size, &outcomes, &count, &err) < 0) {
        must (strncmp (err.text, "fuzz:", 5) == 0);
        return 0;
    }
    json_t *json = outcomes_json (outcomes, count, NULL, 0);
    must (count > 0 && json != NULL);
    json_decref (json);
    for (int i = 0; i < count; i++)
        outcome_clear (&outcomes[i]);
    free (outcomes);
    return 0;
}
