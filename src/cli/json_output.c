/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON output: indented by two blanks, numbers with all digits, a line break at the end.
 */
#include "cli/json_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/text_output.h"

int output_json_file (json_t *document, const char *path, FILE *out, struct pollux_error *err)
{
    char *text = document ? json_dumps (document, JSON_INDENT (2)) : NULL;
    json_decref (document);
    if (!text)
        return fail (err, -ENOMEM, "not enough memory for the output");
    struct text_piece pieces[] = {{text, strlen (text)}, {"\n", 1}};
    int code = output_text_file (pieces, 2, path, out, err);
    free (text);
    return code;
}

int output_json (json_t *document, FILE *out, struct pollux_error *err)
{
    return output_json_file (document, "-", out, err);
}
