/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: manifests of checkpoints.  The bytes are parsed unchanged, and with the checksum at
 * the end corrected for version 1 and for version 2.  An accepted manifest of version 2 is encoded to
 * the same bytes; one of version 1 is not encoded.  All names are safe in a folder.
 */
#include "agent/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

static void demand (bool condition)
{
    if (!condition)
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
    char *again = NULL;
    size_t again_length;
    code = manifest_encode (&manifest, &again, &again_length, &err);
    demand (code == (manifest.algorithm == CHECKSUM_VERSION1 ? -EINVAL : 0));
    if (code == 0)
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
        const uint64_t sums[] = {checksum_of (right, size - 17),
                                 bytes_checksum ((uint8_t *)right, size - 17)};
        for (int i = 0; i < 2; i++) {
            snprintf (right + size - 17, 18, "%016llx\n", (unsigned long long)sums[i]);
            parse (right, size);
        }
        free (right);
    }
    return 0;
}
