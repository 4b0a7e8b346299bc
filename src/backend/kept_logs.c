/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures and selects.  Where a job is at its limit, an eighth of it is freed at once: all files are
 * measured once per eighth, not at every end.
 */
#include "backend/kept_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/run.h"
#include "base/error.h"
#include "base/safe_dir.h"

enum { ENTRY_LEAST = 16 << 10, BLOCK_SIZE = 512 };

/* ---- Sizes -------------------------------------------------------------------------------- */

/* Bytes of the entries of a directory, and of those in its subdirectories if deep.  Stops beyond the
 * limit: a job can make many files. */
static int64_t size_below (int directory, bool deep, int64_t limit)
{
    int64_t size = 0;
    DIR *list;
    const char *name;
    if (safe_dir_list (directory, &list, NULL) < 0)
        return 0;
    while (size <= limit && (name = safe_dir_next (list))) {
        struct stat stat;
        int inner;
        if (fstatat (directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
            continue; /* it was removed */
        int64_t own = (int64_t)stat.st_blocks * BLOCK_SIZE;
        size += own > ENTRY_LEAST ? own : ENTRY_LEAST;
        if (deep && S_ISDIR (stat.st_mode) && safe_dir_open (directory, name, &inner, NULL) == 0) {
            size += size_below (inner, false, limit - size);
            close (inner);
        }
    }
    closedir (list);
    return size;
}

static int64_t size_of (int directory, int generation, int64_t limit)
{
    char name[16];
    int inner;
    snprintf (name, sizeof (name), "%d", generation);
    if (safe_dir_open (directory, name, &inner, NULL) < 0)
        return ENTRY_LEAST;
    int64_t size = ENTRY_LEAST + size_below (inner, true, limit);
    close (inner);
    return size;
}

/* ---- Generations -------------------------------------------------------------------------- */

static int compare (const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

int kept_logs_list (int directory, int **ret, struct pollux_error *err)
{
    int *numbers = NULL;
    size_t count = 0, room = 0;
    DIR *list;
    const char *name;
    int code = safe_dir_list (directory, &list, err);
    if (code < 0)
        return code;
    while (code == 0 && (name = safe_dir_next (list))) {
        int number = run_number (name);
        if (number < 0)
            continue;
        if (count == room) {
            room = 2 * room + 16;
            int *more = realloc (numbers, room * sizeof (numbers[0]));
            numbers = more ? more : numbers;
            code = more ? 0 : fail (err, -ENOMEM, "not enough memory");
        }
        if (code == 0)
            numbers[count++] = number;
    }
    closedir (list);
    if (code < 0) {
        free (numbers);
        return code;
    }
    if (count > 0)
        qsort (numbers, count, sizeof (numbers[0]), compare);
    *ret = numbers;
    return (int)count;
}

int kept_logs_first (int directory, int newest, int64_t limit, int *ret, int64_t *ret_used,
                     struct pollux_error *err)
{
    int *numbers = NULL;
    int64_t used = 0;
    int count = kept_logs_list (directory, &numbers, err), first = newest;
    if (count < 0)
        return count;
    for (int i = count - 1; i >= 0; i--) {
        if (numbers[i] > newest)
            continue;
        int64_t size = size_of (directory, numbers[i], limit - used);
        if (numbers[i] < newest && used + size > limit)
            break;
        used += size;
        first = numbers[i];
    }
    free (numbers);
    *ret = first;
    *ret_used = used;
    return 0;
}

int kept_logs_oldest (int root, const char *job, int *ret, struct pollux_error *err)
{
    int directory, *numbers = NULL;
    int code = safe_dir_open (root, job, &directory, err);
    if (code < 0)
        return code;
    int count = kept_logs_list (directory, &numbers, err);
    close (directory);
    if (count > 0)
        *ret = numbers[0];
    free (numbers);
    return count > 0 ? 0 : count < 0 ? count : fail (err, -ENOENT, "job %s has no files", job);
}

/* ---- The limit ---------------------------------------------------------------------------- */

void kept_logs_clear (struct kept_logs *kept)
{
    free (kept->used);
    kept->used = NULL;
    kept->count = 0;
}

/* The place of a job's number; NULL: no memory, so that it is measured at every end. */
static int64_t *used_by (struct kept_logs *kept, int index)
{
    if (index >= kept->count) {
        int count = 2 * index + 16;
        int64_t *more = realloc (kept->used, (size_t)count * sizeof (more[0]));
        if (!more)
            return NULL;
        for (int i = kept->count; i < count; i++)
            more[i] = -1;
        kept->used = more;
        kept->count = count;
    }
    return &kept->used[index];
}

/* Remove all generations before `first`. */
static void remove_before (int directory, const char *job, int first,
                           void (*remove) (void *self, const char *job, int generation), void *self)
{
    int *numbers = NULL;
    int count = kept_logs_list (directory, &numbers, NULL);
    for (int i = 0; i < count && numbers[i] < first; i++)
        remove (self, job, numbers[i]);
    free (numbers);
}

void kept_logs_ended (struct kept_logs *kept, int root, const char *job, int index, int generation,
                      void (*remove) (void *self, const char *job, int generation), void *self)
{
    int directory, first = 0;
    int64_t *used = used_by (kept, index), total = 0;
    if (safe_dir_open (root, job, &directory, NULL) < 0)
        return; /* the job has removed it */
    if (used && *used >= 0)
        *used += size_of (directory, generation, kept->limit);
    if (!used || *used < 0 || *used > kept->limit) {
        bool over = used && *used > kept->limit;
        int64_t limit = over ? kept->limit - kept->limit / 8 : kept->limit;
        if (kept_logs_first (directory, generation, limit, &first, &total, NULL) == 0) {
            remove_before (directory, job, first, remove, self);
            if (used)
                *used = total;
        }
    }
    close (directory);
}
