/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the newest checkpoint that is whole.  All its files are read and compared with the
 * manifest before it is given out: training that starts from a damaged one is worse than one that
 * starts a little earlier.  Nothing is removed or repaired here; several replicas do this at once.
 */
#define _GNU_SOURCE
#include "agent/checkpoint.h"

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
    /* O_NONBLOCK: what is no regular file may make an opener wait. */
    if (fstatat (folder, MANIFEST_NAME, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return fail (err, -EBADMSG, MANIFEST_NAME ": %s", strerror (errno));
    if (!S_ISREG (stat.st_mode) || stat.st_size > (off_t)MANIFEST_LIMIT)
        return fail (err, -EBADMSG, MANIFEST_NAME ": not a file of at most 16 MiB");
    int64_t size = stat.st_size;
    uint64_t checksum;
    char *text = malloc ((size_t)size + 1);
    if (!text)
        return fail (err, -ENOMEM, MANIFEST_NAME ": no memory for %lld bytes", (long long)size);
    int code = checkpoint_sum (folder, MANIFEST_NAME, &size, &checksum, text, err);
    if (code == 0)
        code = manifest_parse (text, (size_t)size, ret, err);
    free (text);
    return code;
}

/* Size and checksum of a file, as the manifest has them. */
static int check_file (int folder, const struct manifest_file *file, void *ret,
                       struct pollux_error *err)
{
    int64_t size = file->size;
    uint64_t checksum;
    int code = checkpoint_sum (folder, file->name, &size, &checksum, ret, err);
    if (code == 0 && size != file->size)
        code = fail (err, -EBADMSG, "%s: %lld bytes of %lld are there", file->name, (long long)size,
                     (long long)file->size);
    if (code == 0 && checksum != file->checksum)
        code = fail (err, -EBADMSG, "%s: damaged (wrong checksum)", file->name);
    return code;
}

/* Open checkpoint-N and look at all of it. */
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
    for (size_t i = 0; code == 0 && i < checkpoint->manifest.count; i++)
        code = check_file (checkpoint->folder, &checkpoint->manifest.files[i], NULL, err);
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

/* The newest whole one among those listed; the first that is not, for the sentence. */
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
            return fail (err, code, "%s", why.text); /* no word on the checkpoint */
        if (i == 0)
            first = why;
    }
    if (count == 0)
        return fail (err, -ENOENT, "%s: there is no checkpoint", file_name (directory).text);
    return fail (err, -EBADMSG,
                 "%s: no checkpoint is whole (" CHECKPOINT_PREFIX
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
    int code = 0;
    checkpoint->parent = open (directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (checkpoint->parent < 0)
        code = fail (err, -errno, "%s: %s", file_name (directory).text, strerror (errno));
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
    int code = check_file (checkpoint->folder, file, ret, &why);
    return code < 0 ? fail (err, code, "%s: %s", file_name (path).text, why.text) : 0;
}
