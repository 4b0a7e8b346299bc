/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the newest complete checkpoint.  All its files are read and compared with the manifest before
 * it is returned: an older checkpoint costs some progress, a damaged one spoils the training.
 * Nothing is removed or repaired here: several replicas read at the same time.  Under a scheduler, older
 * generations are fenced off first (checkpoint_fence.h), so that all replicas find the same checkpoint.
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

#include "base/error.h"
#include "base/file.h"

static int read_manifest (int folder, struct manifest *ret, struct pollux_error *err)
{
    struct stat stat;
    if (fstatat (folder, MANIFEST_NAME, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return fail (err, -EBADMSG, MANIFEST_NAME ": %s", strerror (errno));
    if (!S_ISREG (stat.st_mode) || stat.st_size > (off_t)MANIFEST_LIMIT)
        return fail (err, -EBADMSG, MANIFEST_NAME ": not a file of at most 16 MiB");
    int64_t size = stat.st_size;
    uint64_t checksum;
    char *text = malloc ((size_t)size + 1);
    if (!text)
        return fail (err, -ENOMEM, MANIFEST_NAME ": no memory for %lld bytes", (long long)size);
    int code =
        checkpoint_sum (folder, MANIFEST_NAME, CHECKSUM_XXH3_64, &size, &checksum, text, err);
    if (code == 0)
        code = manifest_parse (text, (size_t)size, ret, err);
    free (text);
    return code;
}

/* Compare size and checksum of a file with the manifest; copy the content to ret if not NULL. */
static int check_file (int folder, const struct manifest_file *file,
                       enum checksum_algorithm algorithm, void *ret, struct pollux_error *err)
{
    int64_t size = file->size;
    uint64_t checksum;
    int code = checkpoint_sum (folder, file->name, algorithm, &size, &checksum, ret, err);
    if (code == 0 && size != file->size)
        code = fail (err, -EBADMSG, "%s: has %lld bytes, expected %lld", file->name,
                     (long long)size, (long long)file->size);
    if (code == 0 && checksum != file->checksum)
        code = fail (err, -EBADMSG, "%s: damaged (wrong checksum)", file->name);
    return code;
}

/* Open checkpoint-N and check all its files. */
static int try_number (struct pollux_checkpoint *checkpoint, int64_t number,
                       struct pollux_error *err)
{
    char name[48];
    snprintf (name, sizeof (name), CHECKPOINT_PREFIX "%lld", (long long)number);
    checkpoint->folder =
        openat (checkpoint->parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (checkpoint->folder < 0)
        return fail (err, -EBADMSG, "%s", strerror (errno));
    int code = read_manifest (checkpoint->folder, &checkpoint->manifest, err);
    const struct manifest *manifest = &checkpoint->manifest;
    for (size_t i = 0; code == 0 && i < manifest->count; i++)
        code = check_file (checkpoint->folder, &manifest->files[i], manifest->algorithm, NULL, err);
    if (code == 0)
        code = checkpoint_set_path (checkpoint, name, err);
    if (code == 0) {
        checkpoint->number = number;
        return 0;
    }
    close (checkpoint->folder);
    checkpoint->folder = -1;
    manifest_free (&checkpoint->manifest);
    return code;
}

/* Open the first complete one of the numbers; note gets the reason why the newest was not taken. */
static int try_all (struct pollux_checkpoint *checkpoint, const int64_t *numbers, size_t count,
                    struct pollux_error *note, struct pollux_error *err)
{
    struct pollux_error first = {.text = ""}, why = {.text = ""};
    const char *directory = checkpoint->directory;
    for (size_t i = 0; i < count; i++) {
        int code = try_number (checkpoint, numbers[i], &why);
        if (code == 0) {
            if (i > 0)
                fail (note, 0,
                      "%s: fell back to " CHECKPOINT_PREFIX
                      "%lld: %zu newer passed over, " CHECKPOINT_PREFIX "%lld: %s",
                      file_name (directory).text, (long long)numbers[i], i, (long long)numbers[0],
                      first.text);
            return 0;
        }
        if (code == -ENOMEM || code == -EMFILE || code == -ENFILE)
            return fail (err, code, "%s", why.text); /* says nothing about the checkpoint */
        if (i == 0)
            first = why;
    }
    if (count == 0)
        return fail (err, -ENOENT, "%s: there is no checkpoint", file_name (directory).text);
    return fail (err, -EBADMSG,
                 "%s: no checkpoint is complete (" CHECKPOINT_PREFIX
                 "%lld: %s); move them away to begin anew",
                 file_name (directory).text, (long long)numbers[0], first.text);
}

int pollux_checkpoint_open (const char *directory, struct pollux_checkpoint **ret,
                            struct pollux_error *note, struct pollux_error *err)
{
    int64_t *numbers = NULL;
    size_t count = 0;
    if (note)
        note->text[0] = '\0';
    struct pollux_checkpoint *checkpoint = checkpoint_new (directory);
    if (!checkpoint)
        return fail (err, -ENOMEM, "checkpoint: no memory");
    int code = fence_read (&checkpoint->fence, err);
    bool covers = code == 0 && fence_covers (&checkpoint->fence, directory);
    if (code == 0)
        checkpoint->parent = open (directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (code == 0 && checkpoint->parent < 0)
        code = fail (err, -errno, "%s: %s", file_name (directory).text, strerror (errno));
    /* A directory that this process cannot write to is read without a fence. */
    if (code == 0 && covers && fence_raise (&checkpoint->fence, checkpoint->parent, err) == -ESTALE)
        code = -ESTALE;
    if (code == 0)
        code = checkpoint_list (checkpoint->parent, &numbers, &count, err);
    if (code == 0)
        code = try_all (checkpoint, numbers, count, note, err);
    free (numbers);
    if (code < 0)
        pollux_checkpoint_close (checkpoint);
    else
        *ret = checkpoint;
    return code;
}

int64_t pollux_checkpoint_size (const struct pollux_checkpoint *checkpoint, const char *name)
{
    const struct manifest_file *file = manifest_find (&checkpoint->manifest, name);
    return file ? file->size : -ENOENT;
}

int pollux_checkpoint_read (const struct pollux_checkpoint *checkpoint, const char *name, void *ret,
                            size_t size, struct pollux_error *err)
{
    struct pollux_error why;
    const struct manifest_file *file = manifest_find (&checkpoint->manifest, name);
    const char *path = checkpoint->path;
    if (!file)
        return fail (err, -ENOENT, "%s: there is no file '%.40s'", file_name (path).text, name);
    if (file->size < 0 || (uint64_t)file->size != size)
        return fail (err, -EINVAL, "%s: %s has %lld bytes, asked for %zu", file_name (path).text,
                     file->name, (long long)file->size, size);
    int code = check_file (checkpoint->folder, file, checkpoint->manifest.algorithm, ret, &why);
    return code < 0 ? fail (err, code, "%s: %s", file_name (path).text, why.text) : 0;
}
