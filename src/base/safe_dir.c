/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of run directories.  A replica may have put anything there: links to files of other users,
 * pipes, endless files.  So links are not followed, no call blocks, everything has a limit, and each
 * step starts from a descriptor, which cannot be replaced by another file.
 */
#include "base/safe_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

/* Largest depth of subdirectories that are removed. */
enum { DEPTH_LIMIT = 64 };

static int fail_errno (const char *name, int code, struct pollux_error *err)
{
    if (code == ELOOP)
        return fail (err, -code, "%s: a symbolic link: expected our own file or directory",
                     file_name (name).text);
    return fail (err, -code, "%s: %s", file_name (name).text, strerror (code));
}

/* ---- Directories -------------------------------------------------------------------------- */

/* Other users must not be able to write to the directory. */
static int check_directory (int directory, const char *name, struct pollux_error *err)
{
    struct stat stat;
    if (fstat (directory, &stat) < 0)
        return fail_errno (name, errno, err);
    if (stat.st_uid != geteuid ())
        return fail (err, -EPERM, "%s: belongs to user %u: expected this user, %u",
                     file_name (name).text, stat.st_uid, geteuid ());
    if (stat.st_mode & 022)
        return fail (err, -EPERM, "%s: others may write to it: chmod 700 repairs that",
                     file_name (name).text);
    return 0;
}

static int open_checked (int parent, const char *name, int flags, int *ret,
                         struct pollux_error *err)
{
    int directory = openat (parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (directory < 0) {
        struct stat stat; /* with O_DIRECTORY a link gives ENOTDIR */
        int code = errno;
        if (code == ENOTDIR && fstatat (parent, name, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISLNK (stat.st_mode))
            code = ELOOP;
        return fail_errno (name, code, err);
    }
    int code = check_directory (directory, name, err);
    if (code < 0)
        close (directory);
    else
        *ret = directory;
    return code;
}

int safe_dir_open_root (const char *path, int *ret, struct pollux_error *err)
{
    return open_checked (AT_FDCWD, path, 0, ret, err);
}

int safe_dir_open (int directory, const char *name, int *ret, struct pollux_error *err)
{
    return open_checked (directory, name, O_NOFOLLOW, ret, err);
}

int safe_dir_make (int directory, const char *name, struct pollux_error *err)
{
    if (mkdirat (directory, name, 0700) < 0 && errno != EEXIST)
        return fail_errno (name, errno, err);
    /* Also if it existed: its creator may have died before syncing it. */
    return fsync (directory) < 0 ? fail_errno (name, errno, err) : 0;
}

int safe_dir_list (int directory, DIR **ret, struct pollux_error *err)
{
    int copy = openat (directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir (copy);
    if (!list) {
        int code = fail_errno (".", errno, err);
        if (copy >= 0)
            close (copy);
        return code;
    }
    *ret = list;
    return 0;
}

const char *safe_dir_next (DIR *list)
{
    struct dirent *entry;
    do {
        /* readdir is thread-safe in glibc for distinct lists. */
        entry = readdir (list); /* cppcheck-suppress readdirCalled */
    } while (entry && (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

/* ---- Files -------------------------------------------------------------------------------- */

int safe_dir_open_file (int directory, const char *name, int *ret, struct pollux_error *err)
{
    struct stat stat;
    int file = openat (directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return fail_errno (name, errno == ENXIO ? EINVAL : errno, err);
    if (fstat (file, &stat) == 0 && S_ISREG (stat.st_mode)) {
        *ret = file;
        return 0;
    }
    close (file);
    return fail (err, -EINVAL, "%s: expected a regular file", file_name (name).text);
}

int safe_dir_read (int directory, const char *name, size_t limit, char **ret, size_t *ret_length,
                   struct pollux_error *err)
{
    int file;
    int code = safe_dir_open_file (directory, name, &file, err);
    if (code < 0)
        return code;
    size_t length = 0;
    char *text = malloc (limit + 2); /* one to detect a longer file, and the NUL */
    ssize_t got = text ? 1 : -1;
    while (got > 0 && length <= limit) {
        got = read (file, text + length, limit + 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    if (!text)
        code = fail (err, -ENOMEM, "%s: not enough memory", file_name (name).text);
    else if (got < 0)
        code = fail_errno (name, errno, err);
    else if (length > limit)
        code = fail (err, -EFBIG, "%s: too large: expected at most %zu bytes",
                     file_name (name).text, limit);
    close (file);
    if (code < 0) {
        free (text);
        return code;
    }
    text[length] = '\0';
    *ret = text;
    *ret_length = length;
    return 0;
}

int safe_dir_write (int directory, const char *name, const char *text, size_t length,
                    struct pollux_error *err)
{
    int file =
        openat (directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file < 0)
        return fail_errno (name, errno, err);
    struct stat stat;
    int code = fstat (file, &stat) < 0 ? -errno : S_ISREG (stat.st_mode) ? 0 : -EINVAL;
    if (code == 0)
        code = file_write_all (file, text, length);
    if (code == 0 && (ftruncate (file, (off_t)length) < 0 || fsync (file) < 0))
        code = -errno;
    if (close (file) < 0 && code == 0)
        code = -errno;
    return code < 0 ? fail_errno (name, -code, err) : 0;
}

int safe_dir_replace (int directory, const char *name, const char *text, size_t length,
                      struct pollux_error *err)
{
    char fresh[NAME_MAX + 1];
    if (snprintf (fresh, sizeof (fresh), "%s.new", name) >= (int)sizeof (fresh))
        return fail_errno (name, ENAMETOOLONG, err);
    int code = safe_dir_write (directory, fresh, text, length, err);
    if (code < 0)
        return code;
    if (renameat (directory, fresh, directory, name) < 0 || fsync (directory) < 0)
        return fail_errno (name, errno, err);
    return 0;
}

/* ---- Removing ----------------------------------------------------------------------------- */

static int remove_at (int directory, const char *name, int depth, struct pollux_error *err);

static int remove_content (int directory, int depth, struct pollux_error *err)
{
    DIR *list;
    int code = safe_dir_list (directory, &list, err);
    if (code < 0)
        return code;
    const char *name;
    while (code == 0 && (name = safe_dir_next (list))) {
        if (unlinkat (directory, name, 0) < 0 && errno != ENOENT)
            code = errno == EISDIR || errno == EPERM ? remove_at (directory, name, depth + 1, err)
                                                     : fail_errno (name, errno, err);
    }
    closedir (list);
    return code;
}

static int remove_at (int directory, const char *name, int depth, struct pollux_error *err)
{
    if (depth > DEPTH_LIMIT)
        return fail (err, -ELOOP, "%s: too many directories in each other", file_name (name).text);
    int inner = openat (directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (inner < 0)
        return fail_errno (name, errno, err);
    int code = remove_content (inner, depth, err);
    close (inner);
    if (code == 0 && unlinkat (directory, name, AT_REMOVEDIR) < 0)
        code = fail_errno (name, errno, err);
    return code;
}

int safe_dir_remove (int directory, const char *name, struct pollux_error *err)
{
    return remove_at (directory, name, 0, err);
}
