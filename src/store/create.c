/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new journal is made as PATH.XXXXXX and renamed to PATH when it is complete.
 */
#define _GNU_SOURCE /* renameat2 */

#include "store/create.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "store/schema.h"
#include "store/sql.h"

static int refuse (const char *path, int code, struct pollux_error *err)
{
    struct file_name name = file_name (path);
    if (code == EEXIST)
        return fail (err, -code, "%s: there is a file of that name; choose another, or remove it",
                     name.text);
    return fail (err, -code, "%s: cannot create it: %s", name.text, strerror (code));
}

static int fill (const char *draft, const char *path, struct pollux_error *err)
{
    sqlite3 *db = NULL;
    struct file_name name = file_name (path);
    int code = 0;
    /* No other program knows the draft: no locks, which some shared file systems do not have. */
    if (sqlite3_open_v2 (draft, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix-none") !=
        SQLITE_OK)
        code = sql_fail (db, name.text, "create it", err);
    if (code == 0)
        code = schema_migrate (db, name.text, 0, err);
    sqlite3_close (db);
    return code;
}

/* Sync the folder, so that the new name is durable. */
static int sync_folder (const char *path, struct pollux_error *err)
{
    char folder[PATH_MAX];
    snprintf (folder, sizeof (folder), "%s", path);
    char *slash = strrchr (folder, '/');
    slash[slash == folder ? 1 : 0] = '\0';
    int descriptor = open (folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* EINVAL: the file system has no sync of folders and does not need it. */
    int code = descriptor < 0 || (fsync (descriptor) < 0 && errno != EINVAL) ? errno : 0;
    if (descriptor >= 0)
        close (descriptor);
    return code ? refuse (path, code, err) : 0;
}

/* Rename without replacing an existing file. */
static int move (const char *draft, const char *path, struct pollux_error *err)
{
    if (renameat2 (AT_FDCWD, draft, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    /* The file system has no such flag: the check before must be enough. */
    if ((errno == EINVAL || errno == ENOSYS) && rename (draft, path) == 0)
        return 0;
    return refuse (path, errno, err);
}

int store_create (const char *path, struct pollux_error *err)
{
    struct stat status;
    char draft[PATH_MAX];
    if (lstat (path, &status) == 0)
        return refuse (path, EEXIST, err);
    if (snprintf (draft, sizeof (draft), "%s.XXXXXX", path) >= (int)sizeof (draft))
        return refuse (path, ENAMETOOLONG, err);
    int descriptor = mkostemp (draft, O_CLOEXEC); /* 0600 */
    if (descriptor < 0)
        return refuse (path, errno, err);
    close (descriptor);
    int code = fill (draft, path, err);
    if (code == 0)
        code = move (draft, path, err);
    if (code < 0)
        unlink (draft);
    return code < 0 ? code : sync_folder (path, err);
}
