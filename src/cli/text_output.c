/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that a command writes at once: a reader sees the old file or the whole new one.
 */
#include "cli/text_output.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

static int fail_write (const char *path, struct pollux_error *err)
{
    int code = errno ? errno : EIO;
    return fail (err, -code, "%s: cannot write: %s", file_name (path).text, strerror (code));
}

static bool write_pieces (const struct text_piece *pieces, int count, FILE *file)
{
    bool written = true;
    for (int i = 0; i < count; i++)
        written = written && fwrite (pieces[i].text, 1, pieces[i].length, file) == pieces[i].length;
    return written;
}

/* Write all and close the file; false, with errno, if that fails. */
static bool write_all (const struct text_piece *pieces, int count, FILE *file)
{
    errno = 0;
    bool written = write_pieces (pieces, count, file);
    return fclose (file) == 0 && written;
}

/* Write to path.XXXXXX beside it, then rename. */
static int replace_file (const struct text_piece *pieces, int count, const char *path,
                         struct pollux_error *err)
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
    if (!file || fchmod (descriptor, 0666 & ~hidden) < 0 || !write_all (pieces, count, file) ||
        rename (draft, path) < 0) {
        int code = fail_write (path, err);
        unlink (draft);
        return code;
    }
    return 0;
}

static int write_into (const struct text_piece *pieces, int count, const char *path,
                       struct pollux_error *err)
{
    FILE *file = fopen (path, "w");
    return file && write_all (pieces, count, file) ? 0 : fail_write (path, err);
}

/* No file yet, or a regular file.  Devices, pipes and links are not replaced: a rename would remove
 * /dev/null. */
static bool is_replaceable (const char *path)
{
    struct stat status;
    return lstat (path, &status) < 0 || S_ISREG (status.st_mode);
}

/* The first bytes of every database of SQLite. */
static bool is_database (const char *path)
{
    char head[16] = "";
    FILE *file = fopen (path, "re");
    bool whole = file && fread (head, 1, sizeof (head), file) == sizeof (head);
    if (file)
        fclose (file);
    return whole && memcmp (head, "SQLite format 3", sizeof (head)) == 0;
}

int output_check (const char *path, char *const *inputs, int input_count, struct pollux_error *err)
{
    struct stat output, input;
    if (strcmp (path, "-") == 0 || stat (path, &output) < 0 || !S_ISREG (output.st_mode))
        return 0;
    for (int i = 0; i < input_count; i++)
        if (stat (inputs[i], &input) == 0 && input.st_dev == output.st_dev &&
            input.st_ino == output.st_ino)
            return fail (err, -EEXIST, "%s: it is an input: give the output another name",
                         file_name (path).text);
    if (is_database (path))
        return fail (err, -EEXIST,
                     "%s: it is a database, perhaps a journal: give the output another name",
                     file_name (path).text);
    return 0;
}

int output_text_file (const struct text_piece *pieces, int count, const char *path, FILE *out,
                      struct pollux_error *err)
{
    if (strcmp (path, "-") == 0) {
        write_pieces (pieces, count, out); /* main checks the stream */
        return 0;
    }
    int code = output_check (path, NULL, 0, err);
    if (code < 0)
        return code;
    return is_replaceable (path) ? replace_file (pieces, count, path, err)
                                 : write_into (pieces, count, path, err);
}
