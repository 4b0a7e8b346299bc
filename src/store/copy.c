/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies a journal that another host may still write.
 *
 * A journal is two files, the database and its write-ahead log, which a plain copy may catch at different
 * moments: the log before a checkpoint, the database after it.  So both are copied, and then both are read
 * again and compared with the copy:
 *
 *     copy database, copy log | compare database, compare log
 *                             ^
 *                             both files had these contents at this moment
 *
 * If anything has changed, the copy is made again.  SQLite recovers from the contents of any one moment, as
 * after a crash.  A writer that lost its epoch makes at most one more commit, so this ends.
 */
#include "store/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"

enum { CHUNK = 1 << 16, ATTEMPTS = 100 };

/* A file and its copy, open; the source is -1 if it does not exist, which is then part of the comparison. */
struct pair {
    const char *from, *to;
    char buffer[2][CHUNK];
};

static int copy_open (struct pair *pair, int from, int to)
{
    ssize_t got;
    int code = 0;
    while (code == 0 && (got = file_read_full (from, pair->buffer[0], CHUNK)) != 0)
        code = got < 0 ? (int)got : file_write_all (to, pair->buffer[0], (size_t)got);
    return code == 0 && fsync (to) < 0 ? -errno : code;
}

/* A missing source has no copy. */
static int copy_file (struct pair *pair)
{
    if (unlink (pair->to) < 0 && errno != ENOENT)
        return -errno;
    int from = open (pair->from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0)
        return errno == ENOENT ? 0 : -errno;
    int to = open (pair->to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int code = to < 0 ? -errno : copy_open (pair, from, to);
    close (from);
    if (to >= 0 && close (to) < 0 && code == 0)
        code = -errno;
    return code;
}

static int compare_open (struct pair *pair, int from, int to)
{
    for (;;) {
        ssize_t length = file_read_full (from, pair->buffer[0], CHUNK);
        ssize_t other = file_read_full (to, pair->buffer[1], CHUNK);
        if (length < 0 || other < 0)
            return (int)(length < 0 ? length : other);
        if (length != other || memcmp (pair->buffer[0], pair->buffer[1], (size_t)length) != 0)
            return 0;
        if (length == 0)
            return 1;
    }
}

/* 1: source and copy are equal, or both are missing; 0: they differ.  The source is opened again, so that
 * a shared file system looks whether it has changed. */
static int compare_file (struct pair *pair)
{
    int from = open (pair->from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int why = from < 0 ? errno : 0;
    int to = open (pair->to, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int code = 0;
    if (from < 0 && why != ENOENT)
        code = -why;
    else if (to < 0 && errno != ENOENT)
        code = -errno;
    else if (from < 0 || to < 0)
        code = from < 0 && to < 0;
    else
        code = compare_open (pair, from, to);
    if (from >= 0)
        close (from);
    if (to >= 0)
        close (to);
    return code;
}

static int sync_parent (const char *path)
{
    char folder[PATH_MAX];
    snprintf (folder, sizeof (folder), "%s", path);
    char *slash = strrchr (folder, '/');
    if (slash)
        slash[slash == folder ? 1 : 0] = '\0';
    int fd = open (slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* EINVAL: the file system has no sync of folders and does not need it. */
    int code = fd < 0 || (fsync (fd) < 0 && errno != EINVAL) ? -errno : 0;
    if (fd >= 0)
        close (fd);
    return code;
}

/* The database gets its name last: without it there is no journal. */
static int publish (const struct pair *database, const struct pair *log, const char *to,
                    const char *to_log)
{
    if (access (log->to, F_OK) == 0 && rename (log->to, to_log) < 0)
        return -errno;
    return rename (database->to, to) < 0 ? -errno : sync_parent (to);
}

static int copy_both (struct pair *database, struct pair *log)
{
    int equal = 0;
    for (int attempt = 0; equal == 0 && attempt < ATTEMPTS; attempt++) {
        int code = copy_file (database);
        fault_point ("copy-log");
        if (code == 0)
            code = copy_file (log);
        if (code < 0)
            return code;
        equal = compare_file (database);
        if (equal == 1)
            equal = compare_file (log);
    }
    if (equal <= 0)
        return equal < 0 ? equal : -EBUSY;
    return access (database->to, F_OK) < 0 ? -ENOENT : 0;
}

static void name_file (char ret[PATH_MAX], const char *path, const char *end)
{
    if (snprintf (ret, PATH_MAX, "%s%s", path, end) >= PATH_MAX)
        ret[0] = '\0'; /* open fails with ENOENT */
}

int store_copy (const char *from, const char *to, struct pollux_error *err)
{
    char names[4][PATH_MAX];
    name_file (names[0], from, "-wal");
    name_file (names[1], to, "-wal");
    name_file (names[2], to, ".copy");
    name_file (names[3], to, ".copy-wal");
    struct pair *pairs = calloc (2, sizeof (pairs[0]));
    if (!pairs)
        return fail (err, -ENOMEM, "%s: no memory to copy it", file_name (from).text);
    pairs[0].from = from;
    pairs[0].to = names[2];
    pairs[1].from = names[0];
    pairs[1].to = names[3];
    int code = copy_both (&pairs[0], &pairs[1]);
    if (code == 0)
        code = publish (&pairs[0], &pairs[1], to, names[1]);
    free (pairs);
    if (code == -EBUSY)
        return fail (err, code, "%s: cannot copy it: it changes all the time",
                     file_name (from).text);
    return code < 0
               ? fail (err, code, "%s: cannot copy it: %s", file_name (from).text, strerror (-code))
               : 0;
}
