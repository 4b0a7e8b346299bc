/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON output: indented by two blanks, numbers with all digits, a line break at the end.
 */
#include "cli/json_output.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

/* The text of a document, to be freed; NULL: no memory.  Takes over the document. */
static char *encode (json_t *document)
{
    char *text = document ? json_dumps (document, JSON_INDENT (2)) : NULL;
    json_decref (document);
    return text;
}

static int fail_memory (struct pollux_error *err)
{
    return fail (err, -ENOMEM, "not enough memory for the output");
}

static int fail_write (const char *path, struct pollux_error *err)
{
    int code = errno ? errno : EIO;
    return fail (err, -code, "%s: cannot write: %s", file_name (path).text, strerror (code));
}

int output_json (json_t *document, FILE *out, struct pollux_error *err)
{
    char *text = encode (document);
    if (!text)
        return fail_memory (err);
    fprintf (out, "%s\n", text);
    free (text);
    return 0;
}

/* Write a line and close the file; false, with errno, if that fails. */
static bool write_line (FILE *file, const char *text)
{
    errno = 0;
    bool written = fprintf (file, "%s\n", text) > 0;
    return fclose (file) == 0 && written;
}

/* Write to path.XXXXXX beside it, then rename: a reader sees the old file or the whole new one. */
static int replace_file (const char *text, const char *path, struct pollux_error *err)
{
    char draft[PATH_MAX];
    if (snprintf (draft, sizeof (draft), "%s.XXXXXX", path) >= (int)sizeof (draft))
        return fail (err, -ENAMETOOLONG, "%s: the path is too long", file_name (path).text);
    int descriptor = mkstemp (draft);
    if (descriptor < 0)
        return fail_write (path, err);
    /* Permissions as by open(2); mkstemp gives 0600. */
    mode_t hidden = umask (0);
    umask (hidden);
    FILE *file = fdopen (descriptor, "w");
    if (!file)
        close (descriptor);
    if (!file || fchmod (descriptor, 0666 & ~hidden) < 0 || !write_line (file, text) ||
        rename (draft, path) < 0) {
        int code = fail_write (path, err);
        unlink (draft);
        return code;
    }
    return 0;
}

static int write_into (const char *text, const char *path, struct pollux_error *err)
{
    FILE *file = fopen (path, "w");
    return file && write_line (file, text) ? 0 : fail_write (path, err);
}

/* No file yet, or a regular file.  Devices, pipes and links are not replaced: a rename would remove
 * /dev/null. */
static bool is_replaceable (const char *path)
{
    struct stat status;
    return lstat (path, &status) < 0 || S_ISREG (status.st_mode);
}

int output_json_file (json_t *document, const char *path, FILE *out, struct pollux_error *err)
{
    if (strcmp (path, "-") == 0)
        return output_json (document, out, err);
    char *text = encode (document);
    if (!text)
        return fail_memory (err);
    int code =
        is_replaceable (path) ? replace_file (text, path, err) : write_into (text, path, err);
    free (text);
    return code;
}
