/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON for other programs: two blanks per level, numbers with all their digits, a line end.
 */
#include "cli/output.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

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

/* Write to path.XXXXXX beside it, then rename: a reader sees the old file or the whole new one. */
static int replace_file (const char *text, const char *path, struct pollux_error *err)
{
    char draft[PATH_MAX];
    if (snprintf (draft, sizeof (draft), "%s.XXXXXX", path) >= (int)sizeof (draft))
        return fail (err, -ENAMETOOLONG, "%s: the path is too long", file_name (path).text);
    int descriptor = mkstemp (draft);
    FILE *file = descriptor < 0 ? NULL : fdopen (descriptor, "w");
    if (!file)
        return fail (err, -errno, "%s: %s", file_name (path).text, strerror (errno));
    bool written = fprintf (file, "%s\n", text) > 0 && fchmod (descriptor, 0644) == 0;
    written = fclose (file) == 0 && written;
    if (!written || rename (draft, path) < 0) {
        int code = errno ? -errno : -EIO;
        unlink (draft);
        return fail (err, code, "%s: %s", file_name (path).text, strerror (-code));
    }
    return 0;
}

int output_json_file (json_t *document, const char *path, FILE *out, struct pollux_error *err)
{
    if (strcmp (path, "-") == 0)
        return output_json (document, out, err);
    char *text = document ? json_dumps (document, JSON_INDENT (2)) : NULL;
    json_decref (document);
    if (!text)
        return fail (err, -ENOMEM, "not enough memory for the output");
    int code = replace_file (text, path, err);
    free (text);
    return code;
}
