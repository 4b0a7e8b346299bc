/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write a checkpoint so that it is complete or absent if the program or the machine stops at any time:
 *
 *     files in .new-X, synced --> MANIFEST, synced --> .new-X synced --> rename to checkpoint-N
 *     --> directory synced --> older ones renamed to .old-N, then removed
 *
 * The writer holds a lock on .new-X.  A .new-X without a lock belongs to a writer that died: the
 * next writer removes it.  On file systems that cannot lock folders it stays.  Under a scheduler, an older
 * generation cannot publish once a newer one has opened the directory (checkpoint_fence.h).
 */
#define _GNU_SOURCE
#include "agent/checkpoint_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/checksum.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/file.h"

static int fail_at (const struct pollux_checkpoint *checkpoint, const char *what, int error,
                    struct pollux_error *err)
{
    return fail (err, -error, "checkpoint %s: %s: %s", file_name (checkpoint->path).text, what,
                 strerror (error));
}

/* A failure may come from a newer generation, which renames and removes what this one writes: then say that. */
static int explain (const struct pollux_checkpoint *checkpoint, int code, struct pollux_error *err)
{
    struct pollux_error why;
    if (code == 0 || fence_check (&checkpoint->fence, checkpoint->parent, &why) != -ESTALE)
        return code;
    return fail (err, -ESTALE, "%s", why.text);
}

/* ---- Removing ----------------------------------------------------------------------------- */

/* Remove a folder and its files.  Errors are ignored: the next commit tries again. */
static void remove_folder (int parent, const char *name)
{
    DIR *folder = checkpoint_folder (parent, name);
    if (!folder)
        return;
    for (const char *file; (file = checkpoint_next (folder));) {
        unlinkat (dirfd (folder), file, 0);
        fault_point ("checkpoint-remove");
    }
    unlinkat (parent, name, AT_REMOVEDIR);
    closedir (folder);
}

/* Remove the folder of a writer that died; a running writer holds the lock. */
static void remove_abandoned (int parent, const char *name)
{
    int folder = openat (parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && flock (folder, LOCK_EX | LOCK_NB) == 0)
        remove_folder (parent, name);
    if (folder >= 0)
        close (folder);
}

static void remove_leftovers (int parent, const struct fence *fence)
{
    DIR *folder = checkpoint_folder (parent, ".");
    if (!folder)
        return;
    for (const char *name; (name = checkpoint_next (folder));) {
        if (strncmp (name, CHECKPOINT_OLD, sizeof (CHECKPOINT_OLD) - 1) == 0)
            remove_folder (parent, name);
        else if (strncmp (name, CHECKPOINT_NEW, sizeof (CHECKPOINT_NEW) - 1) == 0 &&
                 fence_may_remove (fence, name))
            remove_abandoned (parent, name);
    }
    closedir (folder);
}

/* Remove all but the `keep` newest up to this number.  Newer ones belong to another writer: perhaps this
 * one was suspended, and a newer generation runs.  Each is renamed first, so that readers never see a
 * checkpoint that is half removed. */
static void remove_older (int parent, int64_t number, int keep)
{
    int64_t *numbers = NULL;
    size_t count = 0, first = 0;
    if (checkpoint_list (parent, &numbers, &count, NULL) < 0)
        return;
    while (first < count && numbers[first] > number)
        first++;
    for (size_t i = first + (size_t)keep; i < count; i++) {
        char name[48], old[48];
        snprintf (name, sizeof (name), CHECKPOINT_PREFIX "%lld", (long long)numbers[i]);
        snprintf (old, sizeof (old), CHECKPOINT_OLD "%lld", (long long)numbers[i]);
        if (renameat (parent, name, parent, old) == 0)
            remove_folder (parent, old);
    }
    free (numbers);
}

/* ---- Beginning ---------------------------------------------------------------------------- */

/* Open and lock the folder that was just made.  -EAGAIN: another writer removed it in between,
 * because it was not locked yet. */
static int lock_folder (struct pollux_checkpoint *checkpoint, const char *name)
{
    struct stat ours, there;
    int folder = openat (checkpoint->parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOENT ? -EAGAIN : -errno;
    /* A file system without locks: no writer can remove the folder, so go on without. */
    bool busy = flock (folder, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (busy || fstat (folder, &ours) < 0 ||
        fstatat (checkpoint->parent, name, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
        ours.st_ino != there.st_ino) {
        close (folder);
        return -EAGAIN;
    }
    checkpoint->folder = folder;
    return 0;
}

static int make_folder (struct pollux_checkpoint *checkpoint, struct pollux_error *err)
{
    char name[FENCE_NAME_SIZE];
    int code = -EAGAIN;
    for (int i = 0; code == -EAGAIN && i < 1000; i++) {
        snprintf (name, sizeof (name), CHECKPOINT_NEW "%lld-%d", (long long)getpid (), i);
        if (checkpoint->fence.generation > 0 && fence_name_new (&checkpoint->fence, name, err) < 0)
            return -EIO;
        if (mkdirat (checkpoint->parent, name, 0777) == 0)
            code = lock_folder (checkpoint, name);
        else if (errno != EEXIST)
            code = -errno;
    }
    if (code < 0)
        return fail (err, code, "checkpoint: cannot make %s/%s: %s",
                     file_name (checkpoint->directory).text, name, strerror (-code));
    checkpoint->writing = true;
    checkpoint->pid = getpid ();
    return checkpoint_set_path (checkpoint, name, err);
}

int pollux_checkpoint_begin (const char *directory, struct pollux_checkpoint **ret,
                             struct pollux_error *err)
{
    struct pollux_checkpoint *checkpoint = checkpoint_new (directory);
    if (!checkpoint)
        return fail (err, -ENOMEM, "checkpoint: no memory");
    int code = 0;
    if (mkdir (directory, 0777) < 0 && errno != EEXIST)
        code = fail (err, -errno, "checkpoint: cannot make %s: %s", file_name (directory).text,
                     strerror (errno));
    if (code == 0) {
        checkpoint->parent = open (directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (checkpoint->parent < 0)
            code = fail (err, -errno, "checkpoint: cannot open %s: %s", file_name (directory).text,
                         strerror (errno));
    }
    if (code == 0)
        code = fence_read (&checkpoint->fence, err);
    if (code == 0)
        code = fence_raise (&checkpoint->fence, checkpoint->parent, err);
    if (code == 0) {
        remove_leftovers (checkpoint->parent, &checkpoint->fence);
        code = make_folder (checkpoint, err);
    }
    fault_point ("checkpoint-made");
    /* After the folder was made: see checkpoint_fence.h. */
    if (code == 0)
        code = fence_check (&checkpoint->fence, checkpoint->parent, err);
    fault_point ("checkpoint-begun");
    code = explain (checkpoint, code, err);
    if (code < 0)
        pollux_checkpoint_close (checkpoint);
    else
        *ret = checkpoint;
    return code;
}

void pollux_checkpoint_close (struct pollux_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    /* A child of fork has a copy of this, and nothing to remove. */
    if (checkpoint->writing && checkpoint->path && checkpoint->pid == getpid ())
        remove_folder (checkpoint->parent, strrchr (checkpoint->path, '/') + 1);
    if (checkpoint->folder >= 0)
        close (checkpoint->folder);
    if (checkpoint->parent >= 0)
        close (checkpoint->parent);
    manifest_free (&checkpoint->manifest);
    free (checkpoint->directory);
    free (checkpoint->path);
    free (checkpoint);
}

/* ---- Files -------------------------------------------------------------------------------- */

/* Write a file, or replace it.  Not synced. */
static int put_file (struct pollux_checkpoint *checkpoint, const char *name, const void *data,
                     size_t size, struct pollux_error *err)
{
    int file = openat (checkpoint->folder, name,
                       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0)
        return fail_at (checkpoint, name, errno, err);
    int error = -file_write_all (file, data, size);
    if (close (file) < 0 && error == 0)
        error = errno;
    fault_point ("checkpoint-write");
    return error ? fail_at (checkpoint, name, error, err) : 0;
}

int pollux_checkpoint_write (struct pollux_checkpoint *checkpoint, const char *name,
                             const void *data, size_t size, struct pollux_error *err)
{
    if (!checkpoint->writing)
        return fail (err, -EINVAL, "checkpoint %s: it is complete; begin another",
                     file_name (checkpoint->path).text);
    if (!manifest_is_name (name))
        return fail (err, -EINVAL,
                     "checkpoint: a file cannot be called '%.140s': 1..%d of A-Z a-z 0-9 . _ -, no "
                     "dot first, and not " MANIFEST_NAME,
                     name, MANIFEST_NAME_LIMIT);
    int code = put_file (checkpoint, name, data, size, err);
    if (code < 0)
        return explain (checkpoint, code, err);
    return manifest_set (&checkpoint->manifest, name, (int64_t)size, checksum_of (data, size), err);
}

/* ---- Committing --------------------------------------------------------------------------- */

static int sync_file (const struct pollux_checkpoint *checkpoint, const char *name,
                      struct pollux_error *err)
{
    int file = openat (checkpoint->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return fail_at (checkpoint, name, errno, err);
    int error = fsync (file) < 0 ? errno : 0;
    close (file);
    return error ? fail_at (checkpoint, name, error, err) : 0;
}

/* Add a file of the folder to the manifest, or check it if pollux_checkpoint_write wrote it; sync it. */
static int take_file (struct pollux_checkpoint *checkpoint, const char *name,
                      struct pollux_error *err)
{
    struct pollux_error why;
    const struct manifest_file *known = manifest_find (&checkpoint->manifest, name);
    int64_t size;
    uint64_t checksum;
    if (!manifest_is_name (name))
        return fail (err, -EINVAL,
                     "checkpoint %s: a file cannot be called '%.60s': 1..%d of A-Z a-z 0-9 . _ -",
                     file_name (checkpoint->path).text, name, MANIFEST_NAME_LIMIT);
    int code =
        checkpoint_sum (checkpoint->folder, name, CHECKSUM_XXH3_64, &size, &checksum, NULL, &why);
    if (code < 0)
        return fail (err, code, "checkpoint %s: %s", file_name (checkpoint->path).text, why.text);
    if (!known)
        code = manifest_set (&checkpoint->manifest, name, size, checksum, err);
    else if (known->size != size || known->checksum != checksum)
        code = fail (err, -EBADMSG, "checkpoint %s: %s has changed since it was written",
                     file_name (checkpoint->path).text, name);
    return code < 0 ? code : sync_file (checkpoint, name, err);
}

static int take_files (struct pollux_checkpoint *checkpoint, struct pollux_error *err)
{
    DIR *folder = checkpoint_folder (checkpoint->folder, ".");
    if (!folder)
        return fail_at (checkpoint, "cannot list it", errno, err);
    int code = 0;
    size_t taken = 0;
    for (const char *name; code == 0 && (name = checkpoint_next (folder));)
        if (strcmp (name, MANIFEST_NAME) != 0) {
            code = take_file (checkpoint, name, err);
            taken++;
        }
    closedir (folder);
    if (code == 0 && taken != checkpoint->manifest.count)
        code =
            fail (err, -EBADMSG, "checkpoint %s: %zu files were written, but %zu are in its folder",
                  file_name (checkpoint->path).text, checkpoint->manifest.count, taken);
    return code;
}

static int put_manifest (struct pollux_checkpoint *checkpoint, struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = manifest_encode (&checkpoint->manifest, &text, &length, err);
    if (code < 0)
        return code;
    code = put_file (checkpoint, MANIFEST_NAME, text, length, err);
    free (text);
    if (code == 0)
        code = sync_file (checkpoint, MANIFEST_NAME, err);
    fault_point ("checkpoint-manifest");
    if (code == 0 && fsync (checkpoint->folder) < 0)
        code = fail_at (checkpoint, "cannot be synced", errno, err);
    return code;
}

/* Rename to the next free number.  If another writer took that number, rename fails and the next
 * number is tried. */
static int give_name (struct pollux_checkpoint *checkpoint, struct pollux_error *err)
{
    int64_t *numbers = NULL;
    size_t count = 0;
    char name[48], *from = strrchr (checkpoint->path, '/') + 1;
    int code = checkpoint_list (checkpoint->parent, &numbers, &count, err);
    if (code < 0)
        return code;
    int64_t number = count > 0 ? numbers[0] : 0;
    free (numbers);
    fault_point ("checkpoint-rename");
    do {
        if (++number >= INT64_MAX)
            return fail_at (checkpoint, "no number is left", ERANGE, err);
        snprintf (name, sizeof (name), CHECKPOINT_PREFIX "%lld", (long long)number);
        code = renameat (checkpoint->parent, from, checkpoint->parent, name) < 0 ? errno : 0;
    } while (code == EEXIST || code == ENOTEMPTY || code == ENOTDIR);
    if (code)
        return fail_at (checkpoint, "cannot be renamed", code, err);
    fault_point ("checkpoint-renamed");
    checkpoint->number = number;
    checkpoint->writing = false;
    code = checkpoint_set_path (checkpoint, name, err);
    if (code == 0 && fsync (checkpoint->parent) < 0)
        code = fail_at (checkpoint, "its directory cannot be synced", errno, err);
    return code;
}

int pollux_checkpoint_commit (struct pollux_checkpoint *checkpoint, int keep,
                              struct pollux_error *err)
{
    if (!checkpoint->writing)
        return fail (err, -EINVAL, "checkpoint %s: it is complete already",
                     file_name (checkpoint->path).text);
    if (keep < 1)
        return fail (err, -EINVAL, "checkpoint: keep must be at least 1, got %d", keep);
    /* Before all the work; the rename would fail, too. */
    int code = fence_check (&checkpoint->fence, checkpoint->parent, err);
    if (code == 0)
        code = take_files (checkpoint, err);
    if (code == 0)
        code = put_manifest (checkpoint, err);
    if (code == 0)
        code = give_name (checkpoint, err);
    if (code == 0)
        remove_older (checkpoint->parent, checkpoint->number, keep);
    return explain (checkpoint, code, err);
}
