/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as the manifest of a checkpoint, as they are and with the checksum made right.  What is
 * accepted is written again as the same bytes, and has only names that are safe in a folder.
 */
#include "agent/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void demand (bool truth)
{
    if (!truth)
        abort ();
}

static void parse (const char *text, size_t length)
{
    struct manifest manifest;
    struct pollux_error err = {.text = ""};
    int code = manifest_parse (text, length, &manifest, &err);
    demand (code == 0 || *err.text);
    if (code < 0)
        return;
    for (size_t i = 0; i < manifest.count; i++) {
        demand (manifest_is_name (manifest.files[i].name) && manifest.files[i].size >= 0);
        demand (!strchr (manifest.files[i].name, '/'));
    }
    char *again;
    size_t again_length;
    demand (manifest_encode (&manifest, &again, &again_length, &err) == 0);
    demand (again_length == length && memcmp (again, text, length) == 0);
    free (again);
    manifest_free (&manifest);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    parse ((const char *)data, size);
    if (size >= 17) {
        char *right = malloc (size + 1);
        if (!right)
            return 0;
        memcpy (right, data, size);
        snprintf (right + size - 17, 18, "%016llx\n",
                  (unsigned long long)bytes_checksum ((uint8_t *)right, size - 17));
        parse (right, size);
        free (right);
    }
    return 0;
}
