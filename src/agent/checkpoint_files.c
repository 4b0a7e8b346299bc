/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by writing and reading checkpoints: the object, the list of checkpoints, and the checksum
 * of a file.  Files are opened with O_NOFOLLOW and O_NONBLOCK: a directory may contain links, pipes
 * and devices.
 */
#define _GNU_SOURCE
#include "agent/checkpoint_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/checksum.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"

struct pollux_checkpoint *checkpoint_new (const char *directory)
{
    struct pollux_checkpoint *checkpoint = calloc (1, sizeof (*checkpoint));
    if (!checkpoint)
        return NULL;
    checkpoint->parent = checkpoint->folder = -1;
    checkpoint->directory = strdup (directory);
    if (!checkpoint->directory) {
        free (checkpoint);
        return NULL;
    }
    return checkpoint;
}

int checkpoint_set_path (struct pollux_checkpoint *checkpoint, const char *name,
                         struct pollux_error *err)
{
    char *path;
    if (asprintf (&path, "%s/%s", checkpoint->directory, name) < 0)
        return fail (err, -ENOMEM, "checkpoint: no memory");
    free (checkpoint->path);
    checkpoint->path = path;
    return 0;
}

const char *pollux_checkpoint_path (const struct pollux_checkpoint *checkpoint)
{
    return checkpoint->path;
}

int64_t pollux_checkpoint_number (const struct pollux_checkpoint *checkpoint)
{
    return checkpoint->number;
}

int64_t checkpoint_number (const char *name)
{
    const size_t prefix = sizeof (CHECKPOINT_PREFIX) - 1;
    int64_t number;
    if (strncmp (name, CHECKPOINT_PREFIX, prefix) != 0 || name[prefix] < '1' ||
        name[prefix] > '9' || number_int64 (name + prefix, &number) < 0 || number == INT64_MAX)
        return 0;
    return number;
}

DIR *checkpoint_folder (int parent, const char *name)
{
    int file = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = file < 0 ? NULL : fdopendir (file);
    if (!folder && file >= 0) {
        int error = errno;
        close (file);
        errno = error;
    }
    return folder;
}

const char *checkpoint_next (DIR *folder)
{
    const struct dirent *entry;
    do
        entry = readdir (folder); /* cppcheck-suppress readdirCalled */
    while (entry && (strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

static int compare_falling (const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static int list_from (DIR *folder, int64_t **ret, size_t *ret_count, struct pollux_error *err)
{
    int64_t *numbers = NULL;
    size_t count = 0, capacity = 0;
    for (const char *name; (name = checkpoint_next (folder));) {
        int64_t number = checkpoint_number (name);
        if (number < 1)
            continue;
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 16;
            int64_t *more = realloc (numbers, capacity * sizeof (more[0]));
            if (!more) {
                free (numbers);
                return fail (err, -ENOMEM, "checkpoint: no memory");
            }
            numbers = more;
        }
        numbers[count++] = number;
    }
    if (count > 0)
        qsort (numbers, count, sizeof (numbers[0]), compare_falling);
    *ret = numbers;
    *ret_count = count;
    return 0;
}

int checkpoint_list (int parent, int64_t **ret, size_t *ret_count, struct pollux_error *err)
{
    DIR *folder = checkpoint_folder (parent, ".");
    if (!folder)
        return fail (err, -errno, "checkpoint: cannot list them: %s", strerror (errno));
    int code = list_from (folder, ret, ret_count, err);
    closedir (folder);
    return code;
}

/* Read a file to its end.  If ret is not NULL, a file longer than *size is an error. */
static int sum_pieces (int file, const char *name, struct checksum *checksum, int64_t *size,
                       uint8_t *ret, struct pollux_error *err)
{
    uint8_t *piece = malloc (CHECKPOINT_PIECE);
    if (!piece)
        return fail (err, -ENOMEM, "%s: no memory", name);
    int code = 0;
    int64_t total = 0;
    ssize_t got = CHECKPOINT_PIECE;
    while (code == 0 && got == CHECKPOINT_PIECE) {
        got = file_read_full (file, piece, CHECKPOINT_PIECE);
        if (got < 0)
            code = fail (err, (int)got, "%s: cannot read: %s", name, strerror ((int)-got));
        else if (ret && total + got > *size)
            code = fail (err, -EBADMSG, "%s: longer than %lld bytes", name, (long long)*size);
        if (code < 0)
            break;
        if (ret)
            memcpy (ret + total, piece, (size_t)got);
        checksum_add (checksum, piece, (size_t)got);
        total += got;
    }
    free (piece);
    if (code == 0)
        *size = total;
    return code;
}

int checkpoint_sum (int folder, const char *name, enum checksum_algorithm algorithm, int64_t *size,
                    uint64_t *ret_checksum, void *ret, struct pollux_error *err)
{
    struct stat stat;
    int file = openat (folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return fail (err, -errno, "%s: %s", name, strerror (errno));
    int code = fstat (file, &stat) < 0 ? fail (err, -errno, "%s: %s", name, strerror (errno)) : 0;
    if (code == 0 && !S_ISREG (stat.st_mode))
        code = fail (err, -EBADMSG, "%s: not a regular file", name);
    struct checksum *checksum = checksum_new (algorithm);
    if (code == 0 && !checksum)
        code = fail (err, -ENOMEM, "%s: no memory", name);
    if (code == 0)
        code = sum_pieces (file, name, checksum, size, ret, err);
    if (code == 0)
        *ret_checksum = checksum_end (checksum);
    checksum_free (checksum);
    close (file);
    return code;
}
