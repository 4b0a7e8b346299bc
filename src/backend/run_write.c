/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's side of a run directory: making, publishing and writing it.
 *
 *     run_create      mkdir .RANK.XXXX; lock; reserve space for the status
 *     run_publish     info; rename .RANK.XXXX -> RANK, which fails if RANK exists
 *     run_write_...   NAME.new; fsync; rename NAME.new -> NAME; fsync of the directory
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/safe_dir.h"
#include "backend/run_open.h"
#include "base/error.h"

/* Reserved for the status: its longest, with a sentence of 255 control characters, is 1.7 KiB. */
#define STATUS_RESERVE 4096

/* ---- Making a run ------------------------------------------------------------------------- */

/* A lock of the process (F_SETLK): a fork does not inherit it, so it is held exactly as long as the
 * supervisor lives.  It is also released when this process opens the file again and closes it: a
 * supervisor must not call run_look on its own run.  On file systems without
 * locks the run has none: for runs on shared file systems run_read is used, which ignores the lock. */
static int take_lock (struct run *run, struct pollux_error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    run->lock =
        openat (run->directory, RUN_LOCK, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (run->lock < 0 || (fcntl (run->lock, F_SETLK, &lock) < 0 && errno != ENOLCK &&
                          errno != EOPNOTSUPP && errno != ENOSYS))
        return fail (err, -errno, "cannot take the lock of the run: %s", strerror (errno));
    return 0;
}

static int reserve_status (struct run *run, struct pollux_error *err)
{
    char blanks[STATUS_RESERVE];
    memset (blanks, ' ', sizeof (blanks));
    return safe_dir_write (run->directory, RUN_STATUS ".new", blanks, sizeof (blanks), err);
}

int run_create (int root, const struct run_name *name, struct run *ret, struct pollux_error *err)
{
    struct run run = {.generation = -1, .directory = -1, .lock = -1};
    uint32_t random;
    if (name->rank < 0)
        return fail (err, -EINVAL, "rank %d: expected 0 or more", name->rank);
    int code = run_open_generation (root, name->job, name->generation, &run.generation, err);
    if (code == 0 && getrandom (&random, sizeof (random), 0) != sizeof (random))
        code = fail (err, -errno, "no random number: %s", strerror (errno));
    if (code < 0)
        goto out;
    snprintf (run.temporary, sizeof (run.temporary), ".%d.%08" PRIx32, name->rank, random);
    if (mkdirat (run.generation, run.temporary, 0700) < 0) {
        code = fail (err, -errno, "%s: cannot make a directory: %s", run_path (name).text,
                     strerror (errno));
        run.temporary[0] = '\0';
        goto out;
    }
    code = safe_dir_open (run.generation, run.temporary, &run.directory, err);
    if (code == 0)
        code = take_lock (&run, err);
    if (code == 0)
        code = reserve_status (&run, err);
out:
    if (code < 0)
        run_close (&run);
    else
        *ret = run;
    return code;
}

/* Rename it to its final name; rename(2) never replaces a directory with files in it. */
static int publish (const struct run_name *name, struct run *run, struct pollux_error *err)
{
    char number[16];
    snprintf (number, sizeof (number), "%d", name->rank);
    if (fsync (run->directory) < 0)
        return fail (err, -errno, "%s: %s", run_path (name).text, strerror (errno));
    if (renameat (run->generation, run->temporary, run->generation, number) < 0) {
        bool taken = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
        return fail (err, taken ? -EEXIST : -errno, "%s: %s", run_path (name).text,
                     taken ? "this run has been started before" : strerror (errno));
    }
    run->temporary[0] = '\0';
    if (fsync (run->generation) < 0)
        return fail (err, -errno, "%s: %s", run_path (name).text, strerror (errno));
    return 0;
}

/* Write a file of the run from a text, which is freed. */
static int write_text (const struct run *run, const char *file, char *text, size_t length,
                       struct pollux_error *err)
{
    int code = safe_dir_replace (run->directory, file, text, length, err);
    free (text);
    return code;
}

int run_publish (struct run *run, const struct run_name *name, const struct run_info *info,
                 struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = run_info_encode (info, &text, &length, err);
    if (code == 0)
        code = write_text (run, RUN_INFO, text, length, err);
    return code < 0 ? code : publish (name, run, err);
}

int run_write_replica (struct run *run, const struct run_process *replica, struct pollux_error *err)
{
    char *text;
    size_t length;
    int code = run_replica_encode (replica, &text, &length, err);
    return code < 0 ? code : write_text (run, RUN_REPLICA, text, length, err);
}

/* A job has put a directory, a pipe or a link in the place of its status, or has closed the
 * directory.  Its own files of that name are removed, too: they are written again. */
static void clear_status (const struct run *run)
{
    static const char *const names[] = {RUN_STATUS ".new", RUN_STATUS};
    fchmod (run->directory, 0700);
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        if (unlinkat (run->directory, names[i], 0) < 0)
            safe_dir_remove (run->directory, names[i], NULL);
}

int run_write_status (struct run *run, const struct run_status *status, struct pollux_error *err)
{
    char *text;
    size_t length;
    struct stat stat;
    int code = run_status_encode (status, &text, &length, err);
    if (code < 0)
        return code;
    code = safe_dir_replace (run->directory, RUN_STATUS, text, length, err);
    if (code < 0 && code != -ENOSPC && code != -EDQUOT && code != -EIO) {
        clear_status (run);
        code = safe_dir_replace (run->directory, RUN_STATUS, text, length, err);
    }
    if (code < 0 && fstat (run->directory, &stat) == 0 && stat.st_nlink == 0)
        code = fail (err, -ENOENT, "the run directory was removed");
    free (text);
    return code;
}

static void close_if_open (int *descriptor)
{
    if (*descriptor >= 0)
        close (*descriptor);
    *descriptor = -1;
}

void run_close (struct run *run)
{
    if (run->temporary[0])
        safe_dir_remove (run->generation, run->temporary, NULL);
    close_if_open (&run->directory);
    close_if_open (&run->lock);
    close_if_open (&run->generation);
}

int run_settle (int root, const struct run_name *name, const struct run_status *status,
                struct pollux_error *err)
{
    struct run run = {.generation = -1, .directory = -1, .lock = -1};
    int code = run_open_directory (root, name, &run.directory, err);
    if (code == 0)
        code = run_write_status (&run, status, err);
    run_close (&run);
    return code;
}

int run_refuse (int root, const struct run_name *name, const struct run_status *status,
                struct pollux_error *err)
{
    struct run run;
    int code = run_create (root, name, &run, err);
    if (code < 0)
        return code;
    code = run_write_status (&run, status, err);
    if (code == 0)
        code = publish (name, &run, err);
    run_close (&run);
    return code;
}
