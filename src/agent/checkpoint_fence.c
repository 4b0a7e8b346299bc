/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of fences, and the steps of writers and openers (checkpoint_fence.h).
 *
 * Each look at the directory opens it anew and lists it: NFS asks the server then, while a look at a single
 * name may be answered from a cache.
 */
#define _GNU_SOURCE
#include "agent/checkpoint_fence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/checkpoint_private.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fault.h"
#include "base/number.h"

#define FENCE ".generation-"

/* Fences that stay. */
enum { KEPT = 16 };

/* ---- Names -------------------------------------------------------------------------------- */

/* Take sixteen hexadecimal digits, a dash and a generation from PREFIX...; rest is what follows.  Only the form
 * that is written here is recognized. */
static bool parse (const char *name, const char *prefix, struct fence *ret, const char **ret_rest)
{
    size_t length = strlen (prefix);
    unsigned long long job;
    int generation, used = -1;
    char again[FENCE_NAME_SIZE];
    if (strncmp (name, prefix, length) != 0 ||
        sscanf (name + length, "%16llx-%9d%n", &job, &generation, &used) != 2 || generation < 1)
        return false;
    snprintf (again, sizeof (again), "%s%016llx-%d", prefix, job, generation);
    if (strncmp (name, again, length + (size_t)used) != 0 ||
        strlen (again) != length + (size_t)used)
        return false;
    *ret = (struct fence){job, generation};
    *ret_rest = name + length + used;
    return true;
}

static bool is_fence (const char *name, struct fence *ret)
{
    const char *rest;
    return parse (name, FENCE, ret, &rest) && !*rest;
}

static bool is_new (const char *name, struct fence *ret)
{
    const char *rest;
    return parse (name, CHECKPOINT_NEW, ret, &rest) && *rest == '-';
}

static void name_fence (struct fence fence, char ret[FENCE_NAME_SIZE])
{
    snprintf (ret, FENCE_NAME_SIZE, FENCE "%016llx-%d", (unsigned long long)fence.job,
              fence.generation);
}

int fence_name_new (const struct fence *fence, char ret[FENCE_NAME_SIZE], struct pollux_error *err)
{
    unsigned long long number;
    if (getrandom (&number, sizeof (number), 0) != sizeof (number))
        return fail (err, -EIO, "checkpoint: the system has no random numbers");
    snprintf (ret, FENCE_NAME_SIZE, CHECKPOINT_NEW "%016llx-%d-%016llx",
              (unsigned long long)fence->job, fence->generation, number);
    return 0;
}

bool fence_may_remove (const struct fence *fence, const char *name)
{
    struct fence other;
    if (!is_new (name, &other))
        return true; /* of a writer without a scheduler */
    return fence->generation > 0 && other.job == fence->job &&
           other.generation <= fence->generation;
}

/* ---- The environment ---------------------------------------------------------------------- */

int fence_read (struct fence *ret, struct pollux_error *err)
{
    const char *generation = getenv ("POLLUX_GENERATION"), *job = getenv ("POLLUX_JOB_ID");
    int64_t number = 0;
    if (!job)
        job = getenv ("POLLUX_JOB");
    if (!job)
        job = "";
    if (generation && (number_int64 (generation, &number) < 0 || number < 0 || number > 999999999))
        return fail (err, -EINVAL, "checkpoint: POLLUX_GENERATION: expected a number, got '%.40s'",
                     generation);
    *ret = (struct fence){.job = bytes_checksum ((const uint8_t *)job, strlen (job)),
                          .generation = (int)number};
    return 0;
}

/* True if the path is the folder or below it. */
static bool is_below (const char *path, const char *folder)
{
    size_t length = strlen (folder);
    while (length > 0 && folder[length - 1] == '/')
        length--;
    return strncmp (path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* ---- Listing ------------------------------------------------------------------------------ */

static int compare_falling (const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x < y) - (x > y);
}

/* The greatest generations with a fence of this job, falling, at most KEPT + 1: their number, or an error. */
static int list_fences (const struct fence *fence, int directory, int ret[KEPT + 1])
{
    struct fence found;
    int count = 0;
    DIR *folder = checkpoint_folder (directory, ".");
    if (!folder)
        return -errno;
    for (const char *name; (name = checkpoint_next (folder));) {
        if (!is_fence (name, &found) || found.job != fence->job)
            continue;
        if (count <= KEPT) {
            ret[count++] = found.generation;
        } else if (found.generation > ret[KEPT]) {
            ret[KEPT] = found.generation;
        }
        qsort (ret, (size_t)count, sizeof (ret[0]), compare_falling);
    }
    closedir (folder);
    return count;
}

bool fence_covers (const struct fence *fence, const char *directory)
{
    const char *own = getenv ("POLLUX_CHECKPOINT_DIR");
    int generations[KEPT + 1];
    if (fence->generation == 0)
        return false;
    if (own && is_below (directory, own)) {
        mkdir (directory, 0777); /* exists, or the caller sees that it does not */
        return true;
    }
    char *real = realpath (directory, NULL), *real_own = own ? realpath (own, NULL) : NULL;
    bool covers = real && real_own && is_below (real, real_own);
    free (real);
    free (real_own);
    if (covers)
        return true;
    int fd = open (directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    covers = fd >= 0 && list_fences (fence, fd, generations) > 0;
    if (fd >= 0)
        close (fd);
    return covers;
}

/* ---- Steps -------------------------------------------------------------------------------- */

int fence_check (const struct fence *fence, int directory, struct pollux_error *err)
{
    int generations[KEPT + 1];
    if (fence->generation == 0)
        return 0;
    int count = list_fences (fence, directory, generations);
    if (count < 0)
        return fail (err, count, "checkpoint: cannot look for newer generations: %s",
                     strerror (-count));
    if (count > 0 && generations[0] > fence->generation)
        return fail (
            err, -ESTALE,
            "checkpoint: generation %d of this job was replaced by generation %d, which uses the "
            "directory now; this process must end",
            fence->generation, generations[0]);
    return 0;
}

/* ESTALE means "replaced" here, but NFS has it for other reasons. */
static int code_of (int error)
{
    return error == ESTALE ? -EIO : -error;
}

static int publish (const struct fence *fence, int directory, struct pollux_error *err)
{
    char name[FENCE_NAME_SIZE];
    name_fence (*fence, name);
    int file =
        openat (directory, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    int error = file < 0 ? errno : 0;
    if (file >= 0 && close (file) < 0)
        error = errno;
    if (error == 0 && fsync (directory) < 0 && errno != EINVAL)
        error = errno;
    return error ? fail (err, code_of (error), "checkpoint: cannot make %s: %s", name,
                         strerror (error))
                 : 0;
}

/* Rename what older generations of this job write.  Their names are never used again. */
static int sweep (const struct fence *fence, int directory, struct pollux_error *err)
{
    struct fence found;
    int error = 0;
    DIR *folder = checkpoint_folder (directory, ".");
    if (!folder)
        return fail (err, -errno, "checkpoint: cannot list the directory: %s", strerror (errno));
    for (const char *name; error == 0 && (name = checkpoint_next (folder));) {
        char old[NAME_MAX + 1];
        if (!is_new (name, &found) || found.job != fence->job ||
            found.generation >= fence->generation)
            continue;
        snprintf (old, sizeof (old), CHECKPOINT_OLD "%s", name + strlen (CHECKPOINT_NEW));
        fault_point ("fence-sweep");
        if (renameat (directory, name, directory, old) < 0 && errno != ENOENT)
            error = errno;
    }
    closedir (folder);
    return error ? fail (err, code_of (error),
                         "checkpoint: cannot rename what an older generation wrote: %s",
                         strerror (error))
                 : 0;
}

/* Remove all fences but the KEPT newest, the lowest of a listing first. */
static void tidy (const struct fence *fence, int directory)
{
    char name[FENCE_NAME_SIZE];
    int generations[KEPT + 1];
    while (list_fences (fence, directory, generations) > KEPT) {
        name_fence ((struct fence){fence->job, generations[KEPT]}, name);
        if (unlinkat (directory, name, 0) < 0 && errno != ENOENT)
            return;
    }
}

int fence_raise (const struct fence *fence, int directory, struct pollux_error *err)
{
    struct pollux_error why;
    if (fence->generation == 0)
        return 0;
    fault_point ("fence-publish");
    int code = publish (fence, directory, err);
    fault_point ("fence-published");
    int swept = sweep (fence, directory, &why);
    if (swept < 0 && code == 0)
        code = fail (err, swept, "%s", why.text);
    fault_point ("fence-swept");
    int checked = fence_check (fence, directory, &why);
    if (checked < 0 && (code == 0 || checked == -ESTALE))
        code = fail (err, checked, "%s", why.text);
    if (code == 0)
        tidy (fence, directory);
    return code;
}
