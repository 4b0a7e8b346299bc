/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON for other programs: two blanks per level, numbers with all their digits, a line end.
 */
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

int output_json (json_t *document, FILE *out, struct pollux_error *err)
{
    char *text = document ? json_dumps (document, JSON_INDENT (2)) : NULL;
    json_decref (document);
    if (!text)
        return fail (err, -ENOMEM, "not enough memory for the output");
    fprintf (out, "%s\n", text);
    free (text);
    return 0;
}
